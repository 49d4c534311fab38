use std::collections::HashMap;

use crate::Error;
use crate::codec::{Format, damaged, push};

/// A document's dense number inside one space; the slot of a removed document is reused.
pub type Slot = u32;

const FORMAT: Format = Format { magic: *b"WPRs", version: 1 };

/// Marks a slot without a document. Ids are below 2^53, so it is never an id.
const FREE: u64 = u64::MAX;

/// The mapping between a space's document ids and slots.
#[derive(Debug, Clone, Default)]
pub struct Slots {
    ids: Vec<u64>,
    by_id: HashMap<u64, Slot>,
    free: Vec<Slot>,
}

impl Slots {
    /// Returns the document's slot; assigns one if it has none. The slot may have belonged to a
    /// removed document: the caller must reset everything that it stores by slot.
    ///
    /// # Panics
    /// If the space has 2^32 documents, or `id` is `u64::MAX`.
    pub fn assign(&mut self, id: u64) -> Slot {
        assert!(id != FREE, "the largest u64 marks a free slot");
        if let Some(&slot) = self.by_id.get(&id) {
            return slot;
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.ids.push(FREE);
            Slot::try_from(self.ids.len() - 1).expect("a space holds fewer than 2^32 documents")
        });
        self.ids[slot as usize] = id;
        self.by_id.insert(id, slot);
        slot
    }

    /// Removes the document and returns its former slot. Remove it from the indexes as well.
    pub fn remove(&mut self, id: u64) -> Option<Slot> {
        let slot = self.by_id.remove(&id)?;
        self.ids[slot as usize] = FREE;
        self.free.push(slot);
        Some(slot)
    }

    /// The slot of a document.
    pub fn slot(&self, id: u64) -> Option<Slot> {
        self.by_id.get(&id).copied()
    }

    /// The id of the document in a slot.
    pub fn id(&self, slot: Slot) -> Option<u64> {
        self.ids.get(slot as usize).copied().filter(|&id| id != FREE)
    }

    /// The number of documents.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether there are no documents.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// One more than the largest slot ever used: the length that an array by slot needs.
    pub fn bound(&self) -> usize {
        self.ids.len()
    }

    /// Every document's slot and id, by slot.
    pub fn iter(&self) -> impl Iterator<Item = (Slot, u64)> + '_ {
        self.ids.iter().enumerate().filter(|&(_, &id)| id != FREE).map(|(at, &id)| (at as Slot, id))
    }

    /// Encodes the numbering.
    pub fn encode(&self) -> Vec<u8> {
        FORMAT.encode(|bytes| {
            push(bytes, self.ids.len() as u64);
            for id in &self.ids {
                push(bytes, if *id == FREE { 0 } else { id + 1 });
            }
        })
    }

    /// Decodes the bytes from [`encode`](Self::encode); free slots are reused from the lowest.
    ///
    /// # Errors
    /// [`Error::NotASnapshot`], [`Error::SnapshotTooNew`], [`Error::SnapshotDamaged`].
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = FORMAT.decode(bytes)?;
        let mut slots = Self::default();
        for at in 0..reader.count()? {
            let slot = Slot::try_from(at).map_err(|_| damaged("it has too many slots"))?;
            match reader.number()?.checked_sub(1) {
                None => {
                    slots.ids.push(FREE);
                    slots.free.push(slot);
                }
                Some(id) => {
                    slots.ids.push(id);
                    if slots.by_id.insert(id, slot).is_some() {
                        return Err(damaged("an id has two slots"));
                    }
                }
            }
        }
        reader.end()?;
        slots.free.reverse();
        Ok(slots)
    }
}
