//! Compares two sequences, of which only the start may be known.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;

use similar::{Algorithm, DiffTag, capture_diff_slices};

/// How a sequence differs from an earlier one.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Delta {
    /// The indices of the additional entries of the new sequence, ascending.
    pub(super) added: Vec<usize>,
    /// The indices of the entries of the old sequence that the new one lacks, ascending.
    pub(super) removed: Vec<usize>,
    /// The entries of both are in another order.
    pub(super) is_moved: bool,
}

/// Compares two sequences as multisets, and their order. If one of them was cut, entries that may
/// be beyond its end are neither added nor removed.
pub(super) fn compare<T: Eq + Hash>(old: &[T], new: &[T], cut: (bool, bool)) -> Delta {
    let (old, new) = comparable(old, new, cut);
    let mut counts: HashMap<&T, usize> = HashMap::new();
    for it in old {
        *counts.entry(it).or_default() += 1;
    }
    let mut take = |it: &T| match counts.get_mut(it) {
        Some(left) if *left > 0 => {
            *left -= 1;
            true
        }
        _ => false,
    };
    let added: Vec<usize> = (0..new.len()).filter(|at| !take(&new[*at])).collect();
    // What is left of the counts is removed: of equal entries, the last ones.
    let mut removed: Vec<usize> = (0..old.len()).rev().filter(|at| take(&old[*at])).collect();
    removed.reverse();
    // The entries of both are in another order.
    let in_order: usize = common(old, new).map(|(old, _)| old.len()).sum();
    let is_moved = in_order < new.len() - added.len();
    Delta { added, removed, is_moved }
}

/// The starts of both sequences that can be compared.
fn comparable<'a, T: Eq + Hash>(
    old: &'a [T],
    new: &'a [T],
    (is_old_cut, is_new_cut): (bool, bool),
) -> (&'a [T], &'a [T]) {
    if !is_old_cut && !is_new_cut {
        return (old, new);
    }
    let last = common(old, new).last();
    let (old_end, new_end) = last.map_or((0, 0), |(old, new)| (old.end, new.end));
    // What replaced the end of the old sequence is as long as that at most; the rest may have been
    // beyond the end.
    let replaced = (new_end + old.len() - old_end).min(new.len());
    let new_to = if is_old_cut { replaced } else { new.len() };
    let old_to = if is_new_cut { old_end } else { old.len() };
    (&old[..old_to], &new[..new_to])
}

fn same_start<T: Eq>(old: &[T], new: &[T]) -> usize {
    old.iter().zip(new).take_while(|(old, new)| old == new).count()
}

/// The runs of entries that both sequences have in the same order: the longest ones, or, in long
/// sequences, those between entries that occur once in each.
fn common<T: Eq + Hash>(
    old: &[T],
    new: &[T],
) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
    const PAIRS_MAX: usize = 2_000_000;
    let is_long = old.len().saturating_mul(new.len()) > PAIRS_MAX;
    let algorithm = if is_long { Algorithm::Patience } else { Algorithm::RawMyers };
    let ops = capture_diff_slices(algorithm, old, new).into_iter();
    ops.filter(|op| op.tag() == DiffTag::Equal).map(|op| (op.old_range(), op.new_range()))
}

/// How a text differs from an earlier one: the added lines, the removed ones, and whether the others
/// are in another order.
pub(super) fn compare_texts<'a>(
    old: &'a str,
    new: &'a str,
    cut: (bool, bool),
) -> (Vec<&'a str>, Vec<&'a str>, bool) {
    let split = |text: &'a str, is_cut: bool| {
        let mut lines: Vec<&str> = text.lines().collect();
        // The last line of a cut text may be the start of one.
        let start = if is_cut { lines.pop() } else { None };
        (lines, start)
    };
    let ((old, old_start), (new, new_start)) = (split(old, cut.0), split(new, cut.1));
    let delta = compare(&old, &new, cut);
    let mut added: Vec<&str> = delta.added.iter().map(|added| new[*added]).collect();
    let mut removed: Vec<&str> = delta.removed.iter().map(|removed| old[*removed]).collect();
    // The line at which one of the texts ends, if all lines before it are equal.
    let at = same_start(&old, &new);
    let next = |of: &[&'a str], start: Option<&'a str>| of.get(at).copied().or(start);
    let is_there =
        (old_start.is_some() && at == old.len()) || (new_start.is_some() && at == new.len());
    if is_there
        && let (Some(before), Some(now)) = (next(&old, old_start), next(&new, new_start))
        && !before.starts_with(now)
        && !now.starts_with(before)
    {
        if !removed.contains(&before) {
            removed.push(before);
        }
        if !added.contains(&now) {
            added.push(now);
        }
    }
    (added, removed, delta.is_moved)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::{Delta, compare, compare_texts};

    const WHOLE: (bool, bool) = (false, false);

    #[test]
    fn equal_entries_are_counted_and_their_order_is_compared() {
        let delta = |added: &[usize], removed: &[usize], is_moved| Delta {
            added: added.to_vec(),
            removed: removed.to_vec(),
            is_moved,
        };
        assert_eq!(compare(&["a"], &["a", "a"], WHOLE), delta(&[1], &[], false));
        assert_eq!(compare(&["a", "a"], &["a"], WHOLE), delta(&[], &[1], false));
        assert_eq!(compare(&["a", "b"], &["b", "a"], WHOLE), delta(&[], &[], true));
        assert_eq!(compare(&["b", "a"], &["a", "b", "a"], WHOLE), delta(&[2], &[], false));
        // Too long for all pairs.
        let long: Vec<u32> = (0..3000).collect();
        let back: Vec<u32> = (0..3000).rev().collect();
        assert_eq!(compare(&long, &back, WHOLE), delta(&[], &[], true));
        assert_eq!(compare(&long, &back[1..], WHOLE), delta(&[], &[2999], true));
    }

    #[test]
    fn what_is_beyond_the_end_of_a_cut_text_is_neither_new_nor_gone() {
        let none = (Vec::<&str>::new(), Vec::<&str>::new(), false);
        assert_eq!(compare_texts("a\nb\nc", "a\nb\ncd\na\nb", (true, false)), none);
        assert_eq!(compare_texts("a\nb\ncd\na\nb", "a\nb\nc", (false, true)), none);
        assert_eq!(compare_texts("abc", "abcdef", (true, true)), none);
        assert_eq!(
            compare_texts("abc", "xbcdef", (true, true)),
            (vec!["xbcdef"], vec!["abc"], false)
        );
        assert_eq!(
            compare_texts("a\nb\nc", "done", (true, false)),
            (vec!["done"], vec!["a", "b"], false)
        );
    }

    proptest! {
        #[test]
        fn a_delta_leads_from_the_old_entries_to_the_new_ones(
            old in vec(0_u8..6, 0..40),
            new in vec(0_u8..6, 0..40),
        ) {
            let delta = compare(&old, &new, WHOLE);
            let mut made = old.clone();
            for at in delta.removed.iter().rev() {
                made.remove(*at);
            }
            made.extend(delta.added.iter().map(|it| new[*it]));
            let mut wanted = new.clone();
            made.sort_unstable();
            wanted.sort_unstable();
            prop_assert_eq!(made, wanted);
            let is_none = delta == Delta::default();
            prop_assert_eq!(is_none, old == new);
        }

        #[test]
        fn equal_texts_are_equal_however_they_are_cut(
            lines in vec("[ab]{1,3}", 0..40),
            cuts in (0_usize..120, 0_usize..120),
        ) {
            let text = lines.join("\n");
            let cut = |at: usize| (&text[..at.min(text.len())], at < text.len());
            let ((old, is_old_cut), (new, is_new_cut)) = (cut(cuts.0), cut(cuts.1));
            let found = compare_texts(old, new, (is_old_cut, is_new_cut));
            prop_assert_eq!(found, (vec![], vec![], false));
        }
    }
}
