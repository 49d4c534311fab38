use std::hash::Hash;
use std::ops::Range;

use similar::{Algorithm, DiffTag, capture_diff_slices};

/// A place where two sequences differ: what one has instead of what the other has. One of them may
/// be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Site {
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
}

/// The places where two sequences differ, in order, by a shortest edit script; `None` if it would
/// take more than `edits_max` insertions and deletions.
pub(super) fn sites<T: Eq + Hash>(old: &[T], new: &[T], edits_max: usize) -> Option<Vec<Site>> {
    let ops = capture_diff_slices(Algorithm::Myers, old, new);
    let changes = ops.iter().filter(|op| op.tag() != DiffTag::Equal);
    let sites: Vec<Site> =
        changes.map(|op| Site { old: op.old_range(), new: op.new_range() }).collect();
    let edits: usize = sites.iter().map(|site| site.old.len() + site.new.len()).sum();
    (edits <= edits_max).then_some(sites)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The length of the longest common subsequence.
    fn common(old: &[u8], new: &[u8]) -> usize {
        let mut row = vec![0; new.len() + 1];
        for one in old {
            let mut corner = 0;
            for (at, other) in new.iter().enumerate() {
                let best = if one == other { corner + 1 } else { row[at].max(row[at + 1]) };
                corner = std::mem::replace(&mut row[at + 1], best);
            }
        }
        row[new.len()]
    }

    proptest! {
        #[test]
        fn sites_turn_one_sequence_into_the_other_with_the_fewest_edits(
            old in prop::collection::vec(0u8..4, 0..12),
            new in prop::collection::vec(0u8..4, 0..12),
            edits_max in 0usize..24,
        ) {
            let fewest = old.len() + new.len() - 2 * common(&old, &new);
            let Some(sites) = sites(&old, &new, edits_max) else {
                prop_assert!(fewest > edits_max);
                return Ok(());
            };
            let edits: usize = sites.iter().map(|it| it.old.len() + it.new.len()).sum();
            prop_assert_eq!(edits, fewest);
            prop_assert!(fewest <= edits_max);
            let (mut made, mut at) = (Vec::new(), 0);
            for site in &sites {
                made.extend_from_slice(&old[at..site.old.start]);
                made.extend_from_slice(&new[site.new.clone()]);
                at = site.old.end;
            }
            made.extend_from_slice(&old[at..]);
            prop_assert_eq!(made, new);
        }
    }
}
