//! Differences between two contents, line by line.

use similar::{Algorithm, DiffTag, capture_diff_slices};

/// A line in the comparison of two contents, with the `\n` that ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffLine<'a> {
    /// In both.
    Same(&'a [u8]),
    /// Only in the first one.
    Removed(&'a [u8]),
    /// Only in the second one.
    Added(&'a [u8]),
}

/// All lines of both contents, in order: those only in the first, those only in the second, and those
/// in both. Every byte of both is in a line, `\r` and the final `\n` included, so that contents which
/// differ have lines which differ.
pub fn diff<'a>(before: &'a [u8], after: &'a [u8]) -> Vec<DiffLine<'a>> {
    let lines = |text: &'a [u8]| text.split_inclusive(|byte| *byte == b'\n').collect::<Vec<_>>();
    let (old, new) = (lines(before), lines(after));
    let mut lines = Vec::with_capacity(old.len().max(new.len()));
    for op in capture_diff_slices(Algorithm::Myers, &old, &new) {
        let (removed, added) = (&old[op.old_range()], &new[op.new_range()]);
        if op.tag() == DiffTag::Equal {
            lines.extend(added.iter().map(|line| DiffLine::Same(line)));
        } else {
            lines.extend(removed.iter().map(|line| DiffLine::Removed(line)));
            lines.extend(added.iter().map(|line| DiffLine::Added(line)));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(before: &str, after: &str) -> String {
        let line = |sign: char, it: &[u8]| format!("{sign}{}", it.escape_ascii());
        let lines = diff(before.as_bytes(), after.as_bytes()).into_iter().map(|it| match it {
            DiffLine::Same(text) => line(' ', text),
            DiffLine::Removed(text) => line('-', text),
            DiffLine::Added(text) => line('+', text),
        });
        lines.collect::<Vec<_>>().join("|")
    }

    #[test]
    fn what_is_in_both_stays_together() {
        for (before, after, wanted) in [
            ("", "", ""),
            ("", "a", "+a"),
            ("a", "", "-a"),
            ("a\nb\nc", "a\nc", r" a\n|-b\n| c"),
            ("a\nb\nc", "a\nx\nc", r" a\n|-b\n|+x\n| c"),
            ("a\nb\nc\nd", "b\nx\nd\ne", r"-a\n| b\n|-c\n|-d|+x\n|+d\n|+e"),
            ("a\na\n", "a\na\na\n", r" a\n| a\n|+a\n"),
            // A difference at a line's end is one.
            ("a \\\nb\n", "a \\\r\nb\n", r"-a \\\n|+a \\\r\n| b\n"),
            ("a\n", "a", r"-a\n|+a"),
            ("a\rb\n", "a\nb\n", r"-a\rb\n|+a\n|+b\n"),
        ] {
            assert_eq!(shown(before, after), wanted, "{before:?} {after:?}");
        }
        let (long, other) = ("x\n".repeat(5000), "y\n".repeat(5000));
        let lines = diff(long.as_bytes(), other.as_bytes());
        assert_eq!((lines.len(), lines[0]), (10_000, DiffLine::Removed(b"x\n")));
    }

    proptest! {
        #[test]
        fn every_byte_of_both_is_in_it(before in "[ab\r\n]{0,40}", after in "[ab\r\n]{0,40}") {
            let lines = diff(before.as_bytes(), after.as_bytes());
            let side = |is_old: bool| -> Vec<u8> {
                let lines = lines.iter().filter_map(|it| match it {
                    DiffLine::Same(text) => Some(*text),
                    DiffLine::Removed(text) => is_old.then_some(*text),
                    DiffLine::Added(text) => (!is_old).then_some(*text),
                });
                lines.flatten().copied().collect()
            };
            prop_assert_eq!(side(true), before.as_bytes());
            prop_assert_eq!(side(false), after.as_bytes());
        }
    }
}
