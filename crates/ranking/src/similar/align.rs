use std::ops::Range;

/// A place where two sequences differ: what one has instead of what the other has. One of them may
/// be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Site {
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
}

/// The places where two sequences differ, in order, by a shortest edit script; `None` if it would
/// take more than `edits_max` insertions and deletions. Takes time in proportion to the lengths and
/// to the edits: Eugene Myers, *An O(ND) Difference Algorithm and Its Variations*, 1986.
pub(super) fn sites<T: PartialEq>(old: &[T], new: &[T], edits_max: usize) -> Option<Vec<Site>> {
    let prefix = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (&old[prefix..], &new[prefix..]);
    let ends = old_rest.iter().rev().zip(new_rest.iter().rev());
    let suffix = ends.take_while(|(old, new)| old == new).count();
    let old_rest = &old_rest[..old_rest.len() - suffix];
    let new_rest = &new_rest[..new_rest.len() - suffix];
    let matches = Edits::find(old_rest, new_rest, edits_max)?.matches();

    let mut sites = Vec::new();
    let mut at = (0, 0);
    let end = (old_rest.len(), new_rest.len());
    for next in matches.into_iter().chain([end]) {
        if at != next {
            let range = |from: usize, to: usize| from + prefix..to + prefix;
            sites.push(Site { old: range(at.0, next.0), new: range(at.1, next.1) });
        }
        at = (next.0 + 1, next.1 + 1);
    }
    Some(sites)
}

/// The furthest points on each diagonal, before each number of edits.
struct Edits {
    furthest: Vec<Vec<isize>>,
    /// The index of diagonal 0.
    middle: isize,
    end: (isize, isize),
}

impl Edits {
    fn find<T: PartialEq>(old: &[T], new: &[T], edits_max: usize) -> Option<Self> {
        let end = (old.len().cast_signed(), new.len().cast_signed());
        let edits_max = edits_max.min(old.len() + new.len()).cast_signed();
        if (end.0 - end.1).abs() > edits_max {
            return None;
        }
        let middle = edits_max + 1;
        let mut edits = Self { furthest: Vec::new(), middle, end };
        let mut furthest = vec![0; (2 * middle + 1).cast_unsigned()];
        for count in 0..=edits_max {
            edits.furthest.push(furthest.clone());
            for diagonal in (-count..=count).step_by(2) {
                let mut x = edits.step(count, diagonal).1;
                while let (Some(one), Some(other)) = (at(old, x), at(new, x - diagonal))
                    && one == other
                {
                    x += 1;
                }
                furthest[(middle + diagonal).cast_unsigned()] = x;
                if x >= end.0 && x - diagonal >= end.1 {
                    return Some(edits);
                }
            }
            // The next number of edits reads what this one has reached.
        }
        None
    }

    /// The diagonal from which the last of `count` edits comes, and the `x` after it.
    fn step(&self, count: isize, diagonal: isize) -> (isize, isize) {
        let furthest = &self.furthest[count.cast_unsigned()];
        let reached = |it: isize| furthest[(self.middle + it).cast_unsigned()];
        let (below, above) = (diagonal - 1, diagonal + 1);
        if count == 0 {
            (diagonal, 0)
        } else if diagonal == -count || (diagonal != count && reached(below) < reached(above)) {
            (above, reached(above))
        } else {
            (below, reached(below) + 1)
        }
    }

    /// The places of equal elements, in order.
    fn matches(&self) -> Vec<(usize, usize)> {
        let mut matches = Vec::new();
        let (mut x, mut diagonal) = (self.end.0, self.end.0 - self.end.1);
        for count in (0..self.furthest.len().cast_signed()).rev() {
            let (from, start) = self.step(count, diagonal);
            while x > start {
                x -= 1;
                matches.push((x.cast_unsigned(), (x - diagonal).cast_unsigned()));
            }
            // Before a deletion, `x` is one less; before an insertion, the same.
            x = if from < diagonal { start - 1 } else { start };
            diagonal = from;
        }
        matches.reverse();
        matches
    }
}

fn at<T>(elements: &[T], place: isize) -> Option<&T> {
    usize::try_from(place).ok().and_then(|it| elements.get(it))
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
