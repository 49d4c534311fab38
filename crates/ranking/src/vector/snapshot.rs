use half::f16;

use super::VectorIndex;
use crate::codec::{Format, damaged, push};
use crate::{Error, Slot};

const FORMAT: Format = Format { magic: *b"WPRv", version: 1 };

impl VectorIndex {
    /// Encodes the vectors, by slot; the same vectors give the same bytes, whatever the index's
    /// history.
    pub fn encode(&self) -> Vec<u8> {
        let mut rows: Vec<(Slot, u32)> =
            self.places.iter().map(|(slot, row)| (*slot, *row)).collect();
        rows.sort_unstable();
        FORMAT.encode(|bytes| {
            bytes.reserve(rows.len() * (4 + 2 * self.dimensions()) + 32);
            push(bytes, self.dimensions() as u64);
            push(bytes, rows.len() as u64);
            for (slot, row) in rows {
                bytes.extend(slot.to_le_bytes());
                bytes.extend(
                    self.rows.halves(row as usize).iter().flat_map(|half| half.to_le_bytes()),
                );
            }
        })
    }

    /// Decodes the bytes from [`encode`](Self::encode).
    ///
    /// # Errors
    /// [`Error::NotASnapshot`], [`Error::SnapshotTooNew`], [`Error::SnapshotDamaged`]: embed again.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = FORMAT.decode(bytes)?;
        let dimensions = reader.number_u32()? as usize;
        let mut index =
            Self::new(dimensions).map_err(|_| damaged("its dimensions are out of range"))?;
        let mut last: Option<Slot> = None;
        for _ in 0..reader.count()? {
            let slot = reader.take(4)?;
            let slot = Slot::from_le_bytes([slot[0], slot[1], slot[2], slot[3]]);
            if last.is_some_and(|last| last >= slot) {
                return Err(damaged("its slots are not in order"));
            }
            last = Some(slot);
            let pairs = reader.take(2 * dimensions)?.as_chunks::<2>().0;
            let halves: Vec<f16> = pairs.iter().map(|pair| f16::from_le_bytes(*pair)).collect();
            let square: f64 = halves.iter().map(|half| half.to_f64_const().powi(2)).sum();
            // NaN is not in the range, either.
            if !(0.99..1.01).contains(&square) {
                return Err(damaged("a vector is not of length 1"));
            }
            index.push(slot, &halves);
        }
        reader.end()?;
        Ok(index)
    }
}
