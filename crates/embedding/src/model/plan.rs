//! Which texts run together.

use std::ops::Range;

/// Tokens run together without padding: enough rows for each pass over the weights, few enough that
/// intermediate results stay in the processor's second-level cache.
const GROUP_TERMS: usize = 192;

/// Rows in order, in groups of about equal numbers of tokens. No vector depends on the grouping.
pub(super) fn groups(lengths: &[usize]) -> Vec<Range<usize>> {
    let terms: usize = lengths.iter().sum();
    let count = terms.div_ceil(GROUP_TERMS).max(1);
    let mut groups: Vec<Range<usize>> = Vec::with_capacity(count);
    let (mut start, mut seen) = (0, 0);
    for (row, length) in lengths.iter().enumerate() {
        seen += length;
        // The end of the next of `count` equal groups.
        if seen * count >= terms * (groups.len() + 1) {
            groups.push(start..row + 1);
            start = row + 1;
        }
    }
    groups
}

/// Tokens in one batch, including padding, where rows must be of one length. A larger batch is no
/// faster, and its scores (heads × length² numbers a text) leave the processor's cache.
const BATCH_TERMS_MAX: usize = 4096;

/// A batch's longest text may be longer than its shortest by one part in this many: at worst this
/// share of the work is padding, and in return texts of many lengths share the weights.
const PADDING_PART: usize = 8;

/// Positions of rows, by their lengths, in batches of about equal length, shortest first.
pub(super) fn batches(lengths: &[usize]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    // Stable, so that equal lengths keep the texts' order and the plan depends only on them.
    order.sort_by_key(|&row| lengths[row]);
    let mut batches: Vec<Vec<usize>> = Vec::new();
    for row in order {
        let length = lengths[row];
        match batches.last_mut() {
            Some(batch) if fits(lengths[batch[0]], length, batch.len()) => batch.push(row),
            _ => batches.push(vec![row]),
        }
    }
    batches
}

fn fits(shortest: usize, length: usize, count: usize) -> bool {
    length - shortest <= shortest / PADDING_PART && (count + 1) * length <= BATCH_TERMS_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lengths: &[usize]) {
        let batches = batches(lengths);
        let mut seen: Vec<usize> = batches.concat();
        seen.sort_unstable();
        assert_eq!(seen, (0..lengths.len()).collect::<Vec<_>>(), "each row once");
        for batch in batches {
            let longest = batch.iter().map(|&row| lengths[row]).max().unwrap();
            let shortest = batch.iter().map(|&row| lengths[row]).min().unwrap();
            assert!(batch.len() == 1 || batch.len() * longest <= BATCH_TERMS_MAX);
            assert!(longest - shortest <= shortest / PADDING_PART);
        }
    }

    #[test]
    fn every_row_is_in_one_batch_of_like_length() {
        check(&[]);
        check(&[5000]);
        check(&[12; 1000]);
        check(&[3, 256, 7, 8, 9, 9, 100, 105, 110, 115, 256, 2, 2]);
        check(&(1..=600).collect::<Vec<_>>());
    }

    #[test]
    fn groups_are_whole_rows_in_order_and_about_equal() {
        for lengths in [&[][..], &[5000], &[20; 32], &[97; 32], &[2, 512, 3, 3, 512, 1, 180, 7]] {
            let groups = groups(lengths);
            let seen: Vec<usize> = groups.iter().cloned().flatten().collect();
            assert_eq!(seen, (0..lengths.len()).collect::<Vec<_>>(), "each row once, in order");
            let longest = lengths.iter().max().copied().unwrap_or(0);
            for group in groups {
                let terms: usize = lengths[group].iter().sum();
                assert!(terms > 0 && terms < GROUP_TERMS + longest, "{terms} of {lengths:?}");
            }
        }
    }
}
