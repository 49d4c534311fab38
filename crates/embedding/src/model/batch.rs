//! The tokens of texts, as the networks read them.

use candle_core::{Device, Result, Tensor};

/// Added to a score, it leaves nothing of it. Not minus infinity: a padding token that may attend to
/// no other would have no number at all.
pub(super) const MASKED: f32 = -1e30;

/// The tokens of one text or pair of texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) words: Vec<u32>,
    /// Which text of a pair each token is of.
    pub(super) types: Vec<u32>,
    pub(super) positions: Vec<u32>,
}

impl Row {
    /// Positions count from 0, or from the one behind `padding`, which then has no other position.
    pub(super) fn new(words: Vec<u32>, types: Vec<u32>, padding: Option<u32>) -> Self {
        let mut last = padding;
        let position = |&word: &u32| {
            if padding == Some(word) {
                return word;
            }
            let here = last.map_or(0, |it| it.saturating_add(1));
            last = Some(here);
            here
        };
        let positions = words.iter().map(position).collect();
        Self { words, types, positions }
    }

    pub(super) fn len(&self) -> usize {
        self.words.len()
    }
}

/// Rows padded to one length.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) words: Tensor,
    pub(super) types: Tensor,
    pub(super) positions: Tensor,
    /// To be added to scores of (rows, heads, tokens, tokens): 0, or for padding [`MASKED`].
    pub(super) mask: Tensor,
    pub(super) length: usize,
}

impl Batch {
    pub(super) fn new(rows: &[&Row]) -> Result<Self> {
        let length = rows.iter().map(|row| row.len()).max().unwrap_or(0);
        let padded = |numbers: fn(&Row) -> &[u32]| {
            let all = rows.iter().flat_map(|row| {
                let numbers = numbers(row);
                let padding = std::iter::repeat_n(0, length - row.len());
                numbers.iter().copied().chain(padding)
            });
            Tensor::from_vec(all.collect::<Vec<u32>>(), (rows.len(), length), &Device::Cpu)
        };
        let mask = rows
            .iter()
            .flat_map(|row| (0..length).map(|at| if at < row.len() { 0.0 } else { MASKED }));
        let shape = (rows.len(), 1, 1, length);
        Ok(Self {
            words: padded(|row| &row.words)?,
            types: padded(|row| &row.types)?,
            positions: padded(|row| &row.positions)?,
            mask: Tensor::from_vec(mask.collect::<Vec<f32>>(), shape, &Device::Cpu)?,
            length,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_from_behind_the_padding_and_leave_it_out() {
        let positions = |padding| Row::new(vec![0, 1, 7, 1, 9], vec![0; 5], padding).positions;
        assert_eq!(positions(None), [0, 1, 2, 3, 4]);
        assert_eq!(positions(Some(1)), [2, 1, 3, 1, 4]);
        assert_eq!(positions(Some(5)), [6, 7, 8, 9, 10]);
    }
}
