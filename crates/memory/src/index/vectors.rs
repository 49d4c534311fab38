//! The stored vectors: a separate log of derived data, discarded if it is damaged.
//!
//! An entry consists of the memory's id, the hash of the embedded text, the hash of the model's
//! fingerprint, and the vector in f32. It is used only while the memory still has that text and the
//! model is the current one, so stale entries are harmless.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};
use waypost_log::{Damage, DamageKind, Keep, Log, OnDamage, Options, Record, Snapshot};

use crate::codec::{Malformed, Reader, Writer};
use crate::limits::DIMENSIONS_MAX;
use crate::log_error::vectors_error;
use crate::record::read_id;
use crate::{Error, MemoryId, Result, StoreOptions};

const KIND: u8 = 1;
const VERSION: u8 = 1;
const SEGMENT_BYTES: u64 = 16 * 1024 * 1024;

/// The vectors on disk.
#[derive(Debug)]
pub(crate) struct VectorLog {
    log: Log,
}

/// A stored vector.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StoredVector {
    pub(crate) id: MemoryId,
    pub(crate) text_hash: u64,
    pub(crate) model: [u8; 16],
    pub(crate) vector: Vec<f32>,
}

/// Size of a vector on disk, including its frame.
pub(crate) fn stored_bytes(dimensions: usize) -> u64 {
    // The log's frame, then id, text, model and length.
    (32 + 36 + 4 * dimensions as u64).next_multiple_of(8)
}

/// The hash that identifies a model in the entries.
pub(crate) fn model_hash(fingerprint: &str) -> [u8; 16] {
    Sha256::digest(fingerprint.as_bytes()).first_chunk().copied().unwrap_or_default()
}

/// Whether something else is in the place of a file.
fn is_foreign(error: &waypost_log::Error) -> bool {
    let waypost_log::Error::Damaged(damage) = error else { return false };
    damage.iter().any(|damage| damage.what == DamageKind::NotAFile)
}

impl VectorLog {
    /// Opens the vectors in `dir`. Removes damaged ones, and returns the reason.
    pub(crate) fn open(dir: &Path, options: &StoreOptions) -> Result<(Self, Option<String>)> {
        let options = Options::default()
            .with_segment_bytes(SEGMENT_BYTES)
            .with_on_damage(OnDamage::Refuse)
            .with_free_bytes_min(options.free_bytes_min)
            .with_on_change(options.on_change);
        match Log::open(dir, &options) {
            Ok((log, _)) => Ok((Self { log }, None)),
            // What is in the place of a file is not removed, but set aside.
            Err(error @ waypost_log::Error::Damaged(_)) if is_foreign(&error) => {
                let options = options.with_on_damage(OnDamage::Salvage);
                let (log, _) =
                    Log::open(dir, &options).map_err(|error| vectors_error(&error, dir))?;
                Ok((Self { log }, Some(error.to_string())))
            }
            Err(error @ waypost_log::Error::Damaged(_)) => {
                fs::remove_dir_all(dir).map_err(|error| Error::io(dir, error))?;
                let (log, _) =
                    Log::open(dir, &options).map_err(|error| vectors_error(&error, dir))?;
                Ok((Self { log }, Some(error.to_string())))
            }
            Err(error) => Err(vectors_error(&error, dir)),
        }
    }

    /// Appends vectors; they are synced later.
    pub(crate) fn append(
        &self,
        vectors: &[StoredVector],
    ) -> std::result::Result<(), waypost_log::Error> {
        let payloads: Vec<Vec<u8>> = vectors.iter().map(StoredVector::encode).collect();
        let records: Vec<Record<'_>> = payloads
            .iter()
            .map(|payload| Record { kind: KIND, version: VERSION, payload })
            .collect();
        self.log.append_batch_unsynced(&records).map(|_| ())
    }

    pub(crate) fn sync(&self) -> std::result::Result<(), waypost_log::Error> {
        self.log.sync()
    }

    pub(crate) fn damage(&self) -> Vec<Damage> {
        self.log.damage()
    }

    pub(crate) fn snapshot(&self) -> std::result::Result<Snapshot, waypost_log::Error> {
        self.log.snapshot()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.log.bytes()
    }

    /// Every stored vector, oldest first. Stops at the first unreadable one: the rest is computed
    /// again.
    pub(crate) fn iter(&self) -> impl Iterator<Item = StoredVector> + '_ {
        let entries = self.log.entries_after(0).map_while(std::result::Result::ok);
        entries
            .filter(|entry| entry.kind == KIND && entry.version == VERSION)
            .filter_map(|entry| StoredVector::decode(&entry.payload).ok())
    }

    /// Drops the vectors for which `wanted` returns false.
    pub(crate) fn compact(
        &self,
        wanted: &dyn Fn(&StoredVector) -> bool,
    ) -> std::result::Result<(), waypost_log::Error> {
        let mut seen = BTreeSet::new();
        let compacted = self.log.compact(&mut |entry| {
            if (entry.kind, entry.version) != (KIND, VERSION) {
                // A newer release wrote it; this one does not use it.
                return Keep::Yes;
            }
            let Ok(vector) = StoredVector::decode(&entry.payload) else { return Keep::No };
            let is_first = seen.insert((vector.id, vector.text_hash, vector.model));
            if is_first && wanted(&vector) { Keep::Yes } else { Keep::No }
        });
        compacted.map(|_| ())
    }
}

impl StoredVector {
    fn encode(&self) -> Vec<u8> {
        let mut out = Writer::new();
        out.u64(self.id.get());
        out.u64(self.text_hash);
        out.raw(&self.model);
        out.u32(u32::try_from(self.vector.len()).expect("the limits keep vectors short"));
        for value in &self.vector {
            out.raw(&value.to_le_bytes());
        }
        out.into_bytes()
    }

    fn decode(payload: &[u8]) -> std::result::Result<Self, Malformed> {
        let mut input = Reader::new(payload);
        let (id, text_hash, model) = (read_id(&mut input)?, input.u64()?, input.array()?);
        let dimensions = input.u32()? as usize;
        if dimensions > DIMENSIONS_MAX {
            return Err(Malformed("a vector is too long"));
        }
        let vector = (0..dimensions)
            .map(|_| input.array().map(f32::from_le_bytes))
            .collect::<std::result::Result<_, _>>()?;
        input.end()?;
        Ok(Self { id, text_hash, model, vector })
    }
}
