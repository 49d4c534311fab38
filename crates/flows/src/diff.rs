//! Differences between two texts, line by line.

/// A line in the comparison of two texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffLine<'a> {
    /// In both.
    Same(&'a str),
    /// Only in the first one.
    Removed(&'a str),
    /// Only in the second one.
    Added(&'a str),
}

/// The most comparisons of lines: beyond it, everything between the common beginning and the common
/// end counts as changed.
const CELLS_MAX: usize = 4 << 20;

/// All lines of both texts, in order: those only in the first, those only in the second, and those
/// in both. The longest common subsequence stays (Wagner and Fischer, "The String-to-String
/// Correction Problem", 1974). Lines are unchanged, control characters included.
pub fn diff<'a>(before: &'a str, after: &'a str) -> Vec<DiffLine<'a>> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
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
fn changed<'a>(old: &[&'a str], new: &[&'a str], lines: &mut Vec<DiffLine<'a>>) {
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
        let lines = diff(before, after).into_iter().map(|it| match it {
            DiffLine::Same(text) => format!(" {text}"),
            DiffLine::Removed(text) => format!("-{text}"),
            DiffLine::Added(text) => format!("+{text}"),
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn what_is_in_both_stays_together() {
        for (before, after, wanted) in [
            ("", "", ""),
            ("", "a", "+a"),
            ("a", "", "-a"),
            ("a\nb\nc", "a\nc", " a\n-b\n c"),
            ("a\nb\nc", "a\nx\nc", " a\n-b\n+x\n c"),
            ("a\nb\nc\nd", "b\nx\nd\ne", "-a\n b\n-c\n+x\n d\n+e"),
            ("a\na", "a\na\na", " a\n a\n+a"),
        ] {
            assert_eq!(shown(before, after), wanted, "{before:?} {after:?}");
        }
        let (long, other) = ("x\n".repeat(5000), "y\n".repeat(5000));
        let lines = diff(&long, &other);
        assert_eq!((lines.len(), lines[0]), (10_000, DiffLine::Removed("x")));
    }

    proptest! {
        #[test]
        fn both_texts_are_in_it(before in "[ab\n]{0,40}", after in "[ab\n]{0,40}") {
            let lines = diff(&before, &after);
            let side = |is_old: bool| -> Vec<&str> {
                let lines = lines.iter().filter_map(|it| match it {
                    DiffLine::Same(text) => Some(*text),
                    DiffLine::Removed(text) => is_old.then_some(*text),
                    DiffLine::Added(text) => (!is_old).then_some(*text),
                });
                lines.collect()
            };
            prop_assert_eq!(side(true), before.lines().collect::<Vec<_>>());
            prop_assert_eq!(side(false), after.lines().collect::<Vec<_>>());
        }
    }
}
