use std::collections::BTreeSet;
use std::ops::Bound;

use super::signature::{BANDS, BYTES, Signature};
use crate::codec::{Format, damaged, push};
use crate::{Error, Slot};

const FORMAT: Format = Format { magic: *b"WPRm", version: 1 };

/// How many documents with the same band are considered, on each side of a slot.
const BAND_DOCUMENTS_MAX: usize = 16;

/// The signatures of one space, to find similar documents without comparing all pairs: documents
/// that have a band of their signatures in common (locality-sensitive hashing).
#[derive(Debug, Clone, Default)]
pub struct SimilarIndex {
    /// By slot.
    signatures: Vec<Option<Signature>>,
    bands: BTreeSet<(u32, Slot)>,
}

/// A document that is likely similar to another one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Similar {
    /// Its slot.
    pub slot: Slot,
    /// The estimated [similarity](Signature::similarity) of the two.
    pub similarity: f32,
}

impl SimilarIndex {
    /// Sets the signature of a document; `None` removes it.
    pub fn insert(&mut self, slot: Slot, signature: Option<Signature>) {
        self.remove(slot);
        let Some(signature) = signature else { return };
        let at = slot as usize;
        if self.signatures.len() <= at {
            self.signatures.resize(at + 1, None);
        }
        self.signatures[at] = Some(signature);
        self.bands.extend(signature.bands().map(|band| (band, slot)));
    }

    /// Removes a document, if it has a signature.
    pub fn remove(&mut self, slot: Slot) {
        let Some(old) = self.signatures.get_mut(slot as usize).and_then(Option::take) else {
            return;
        };
        for band in old.bands() {
            self.bands.remove(&(band, slot));
        }
    }

    /// The signature of a document.
    pub fn signature(&self, slot: Slot) -> Option<&Signature> {
        self.signatures.get(slot as usize)?.as_ref()
    }

    /// The documents with an estimated similarity of at least `least` to that in a slot, the most
    /// similar first, and whether there may be more. It considers at most 512: of each band, the 16
    /// documents with the next lower slots and the 16 with the next higher ones.
    pub fn similar(&self, slot: Slot, least: f32) -> (Vec<Similar>, bool) {
        let Some(own) = self.signature(slot) else { return (Vec::new(), false) };
        let mut slots: Vec<Slot> = Vec::new();
        let mut is_cut = false;
        for band in own.bands() {
            let slots_of = |range: (Bound<Slot>, Bound<Slot>)| {
                self.bands
                    .range((range.0.map(|range| (band, range)), range.1.map(|range| (band, range))))
            };
            let mut below = slots_of((Bound::Included(0), Bound::Excluded(slot))).rev();
            let mut above = slots_of((Bound::Excluded(slot), Bound::Included(Slot::MAX)));
            slots.extend(below.by_ref().take(BAND_DOCUMENTS_MAX).map(|(_, slot)| *slot));
            slots.extend(above.by_ref().take(BAND_DOCUMENTS_MAX).map(|(_, slot)| *slot));
            is_cut |= below.next().is_some() || above.next().is_some();
        }
        slots.sort_unstable();
        slots.dedup();
        let similarity =
            |slot| self.signature(slot).map_or(0.0, |signature| signature.similarity(own));
        let all = slots.into_iter().map(|slot| Similar { slot, similarity: similarity(slot) });
        let mut similar: Vec<Similar> = all.filter(|item| item.similarity >= least).collect();
        similar.sort_by(|one, other| other.similarity.total_cmp(&one.similarity));
        (similar, is_cut)
    }

    /// Approximate memory use.
    pub fn bytes(&self) -> u64 {
        let signatures = self.signatures.len() * size_of::<Option<Signature>>();
        // A B-tree's nodes are about two thirds full.
        (signatures + self.bands.len() * size_of::<(u32, Slot)>() * 3 / 2) as u64
    }

    /// Encodes the signatures, by slot.
    pub fn encode(&self) -> Vec<u8> {
        FORMAT.encode(|bytes| {
            push(bytes, (self.bands.len() / BANDS) as u64);
            for (slot, signature) in self.signatures.iter().enumerate() {
                let Some(signature) = signature else { continue };
                bytes.extend((slot as Slot).to_le_bytes());
                bytes.extend(signature.to_bytes());
            }
        })
    }

    /// Decodes the bytes from [`encode`](Self::encode), for documents in slots below `bound`.
    ///
    /// # Errors
    /// [`Error::NotASnapshot`], [`Error::SnapshotTooNew`], [`Error::SnapshotDamaged`]: compute the
    /// signatures again.
    pub fn decode(bytes: &[u8], bound: usize) -> Result<Self, Error> {
        let mut reader = FORMAT.decode(bytes)?;
        let mut index = Self { signatures: vec![None; bound], bands: BTreeSet::new() };
        let mut bands = Vec::new();
        for _ in 0..reader.number()? {
            let slot = reader.take(4)?;
            let slot = Slot::from_le_bytes([slot[0], slot[1], slot[2], slot[3]]);
            let found = reader.take(BYTES)?.first_chunk();
            let signature = Signature::from_bytes(*found.ok_or(damaged("it ends too early"))?);
            match index.signatures.get_mut(slot as usize) {
                Some(place @ None) => *place = Some(signature),
                _ => return Err(damaged("a slot is out of range or repeated")),
            }
            bands.extend(signature.bands().map(|band| (band, slot)));
        }
        reader.end()?;
        // Sorted and built at once, which is much faster than one by one.
        index.bands = bands.into_iter().collect();
        Ok(index)
    }
}
