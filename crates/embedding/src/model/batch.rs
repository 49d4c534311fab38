//! Rows of tokens as tensors, for candle's operations.

use candle_core::{Device, Result, Tensor};
use waypost_encoder::Row;

/// Added to a score, it leaves nothing of it. Not minus infinity: a padding token that may attend to
/// no other would have no number at all.
pub(super) const MASKED: f32 = -1e30;

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
