//! The log and the state that is derived from it: what is true, and how it is read.

use std::collections::BTreeSet;
use std::path::PathBuf;

use waypost_log::{Log, OnDamage, Options};

use crate::log_error::log_error;
use crate::record::{Body, Record, can_read, text_of};
use crate::state::keys::{self, Head, StoredVersion};
use crate::state::{State, damaged};
use crate::{Error, MemoryId, Result};

/// The log and the state.
#[derive(Debug)]
pub(crate) struct Records {
    /// The folder of both, for errors.
    pub(crate) dir: PathBuf,
    pub(crate) log: Log,
    pub(crate) state: State,
}

impl Records {
    pub(crate) fn head(&self, id: MemoryId) -> Result<Option<Head>> {
        self.state.get(&keys::head(id))?.map(|it| Head::decode(&it).map_err(damaged)).transpose()
    }

    pub(crate) fn live_head(&self, id: MemoryId) -> Result<Option<Head>> {
        Ok(self.head(id)?.filter(|it| it.deleted_at.is_none()))
    }

    /// A version of a memory with its content, wherever that is.
    pub(crate) fn body(&self, id: MemoryId, version: u32) -> Result<Option<Body>> {
        let Some(value) = self.state.get(&keys::version(id, version))? else { return Ok(None) };
        self.whole_body(StoredVersion::decode(&value).map_err(damaged)?).map(Some)
    }

    pub(crate) fn whole_body(&self, stored: StoredVersion) -> Result<Body> {
        let Some(sequence) = stored.sequence else { return Ok(stored.into_body(None)) };
        let entry = self.log.read(sequence).map_err(|it| log_error(&it, &self.dir))?;
        let entry = entry.ok_or_else(|| {
            Error::Damaged(format!(
                "record {sequence} of the log is missing: the state refers to it"
            ))
        })?;
        let text = text_of(entry.kind, entry.version, &entry.payload);
        Ok(stored.into_body(text.map_err(|it| it.of(sequence))?))
    }

    /// The versions of a memory without their texts, oldest first.
    pub(crate) fn stored_versions(&self, id: MemoryId) -> Result<Vec<(u32, StoredVersion)>> {
        let mut versions = Vec::new();
        self.state.scan(&keys::versions_of(id), &mut |key, value| {
            let number = key.last_chunk().copied().map_or(0, u32::from_be_bytes);
            versions.push((number, StoredVersion::decode(value).map_err(damaged)?));
            Ok(())
        })?;
        Ok(versions)
    }

    /// The memories that the log has added, changed or deleted after a record.
    pub(crate) fn changed_after(&self, sequence: u64) -> Result<BTreeSet<MemoryId>> {
        let mut changed = BTreeSet::new();
        for entry in self.log.entries_after(sequence) {
            let entry = entry.map_err(|it| log_error(&it, &self.dir))?;
            if let Ok(
                Record::Add { id, .. } | Record::Update { id, .. } | Record::Delete { id, .. },
            ) = Record::decode(entry.kind, entry.version, &entry.payload)
            {
                changed.insert(id);
            }
        }
        Ok(changed)
    }
}

/// How the log of the memories is opened when something else knows of the sequences up to `reached`.
pub(crate) fn log_options(reached: u64) -> Options {
    Options { on_damage: OnDamage::Refuse, reached, can_read, ..Options::default() }
}
