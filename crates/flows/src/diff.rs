//! Differences between two contents, line by line.

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

/// The most comparisons of lines: beyond it, everything between the common beginning and the common
/// end counts as changed.
const CELLS_MAX: usize = 4 << 20;

/// All lines of both contents, in order: those only in the first, those only in the second, and those
/// in both. The longest common subsequence stays (Wagner and Fischer, "The String-to-String
/// Correction Problem", 1974). Every byte of both is in a line, `\r` and the final `\n` included, so
/// that contents which differ have lines which differ.
pub fn diff<'a>(before: &'a [u8], after: &'a [u8]) -> Vec<DiffLine<'a>> {
    let lines = |it: &'a [u8]| it.split_inclusive(|byte| *byte == b'\n').collect::<Vec<_>>();
    let (old, new) = (lines(before), lines(after));
    let head = old.iter().zip(&new).take_while(|(left, right)| left == right).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let pairs = old_rest.iter().rev().zip(new_rest.iter().rev());
    let tail = pairs.take_while(|(left, right)| left == right).count();
    let (old_middle, new_middle) =
        (&old_rest[..old_rest.len() - tail], &new_rest[..new_rest.len() - tail]);

    let mut lines: Vec<DiffLine<'a>> = old[..head].iter().map(|it| DiffLine::Same(it)).collect();
    changed(old_middle, new_middle, &mut lines);
    lines.extend(old[old.len() - tail..].iter().map(|it| DiffLine::Same(it)));
    lines
}

/// The lines between the common beginning and the common end.
fn changed<'a>(old: &[&'a [u8]], new: &[&'a [u8]], lines: &mut Vec<DiffLine<'a>>) {
    let width = new.len() + 1;
    let cells = (old.len() + 1).saturating_mul(width);
    // How many lines the remainders from here on have in common.
    let mut common = vec![0_u32; if cells <= CELLS_MAX { cells } else { 0 }];
    if !common.is_empty() {
        for left in (0..old.len()).rev() {
            for right in (0..new.len()).rev() {
                let at = left * width + right;
                common[at] = if old[left] == new[right] {
                    common[at + width + 1] + 1
                } else {
                    common[at + width].max(common[at + 1])
                };
            }
        }
    }
    let count = |left: usize, right: usize| common.get(left * width + right).copied();
    let (mut left, mut right) = (0, 0);
    while left < old.len() || right < new.len() {
        let both = left < old.len() && right < new.len();
        if both && old[left] == new[right] && !common.is_empty() {
            lines.push(DiffLine::Same(old[left]));
            (left, right) = (left + 1, right + 1);
        } else if right == new.len()
            || (left < old.len() && count(left + 1, right) >= count(left, right + 1))
        {
            lines.push(DiffLine::Removed(old[left]));
            left += 1;
        } else {
            lines.push(DiffLine::Added(new[right]));
            right += 1;
        }
    }
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
