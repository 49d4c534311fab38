//! The journal and the state derived from it, and reading memories from both.

use std::path::PathBuf;

use waypost_log::{Entry, Pinned};

use crate::body::Body;
use crate::journal::Journal;
use crate::record::text_of;
use crate::state::cells::Cells;
use crate::state::keys::{self, Head, StoredVersion};
use crate::state::{State, damaged};
use crate::{Error, Memory, MemoryId, Outline, Result};

/// The journal and the state.
#[derive(Debug)]
pub(crate) struct Records {
    /// The folder of both, for errors.
    pub(crate) dir: PathBuf,
    pub(crate) journal: Journal,
    pub(crate) state: State,
}

impl Records {
    pub(crate) fn head(&self, id: MemoryId) -> Result<Option<Head>> {
        self.state
            .get(&keys::head(id))?
            .map(|state| Head::decode(&state).map_err(damaged))
            .transpose()
    }

    pub(crate) fn live_head(&self, id: MemoryId) -> Result<Option<Head>> {
        Ok(self.head(id)?.filter(|head| head.deleted_at.is_none()))
    }

    /// A version of a memory with its content.
    pub(crate) fn body(&self, id: MemoryId, version: u32) -> Result<Option<Body>> {
        self.stored_version(id, version)?.map(|version| self.whole_body(version)).transpose()
    }

    /// The memory of an outline, in the version that the outline has; `None` if its text was removed.
    pub(crate) fn read_text(&self, outline: Outline) -> Result<Option<Memory>> {
        let Outline { id, version, updated_at, embedded, superseded_by } = outline;
        let body = self.body(id, version)?.filter(|body| body.text.is_some());
        let memory = body.map(|body| body.memory(id, version, updated_at));
        Ok(memory.map(|memory| Memory { embedded, superseded_by, ..memory }))
    }

    /// A version of a memory without its text.
    pub(crate) fn stored_version(
        &self,
        id: MemoryId,
        version: u32,
    ) -> Result<Option<StoredVersion>> {
        let value = self.state.get(&keys::version(id, version))?;
        value.map(|value| StoredVersion::decode(&value).map_err(damaged)).transpose()
    }

    pub(crate) fn whole_body(&self, stored: StoredVersion) -> Result<Body> {
        Self::body_by(stored, |sequence| self.journal.read(sequence))
    }

    /// The same, as of the time when the records were frozen.
    pub(crate) fn whole_body_at(&self, frozen: &Frozen, stored: StoredVersion) -> Result<Body> {
        Self::body_by(stored, |sequence| self.journal.read_pinned(&frozen.pinned, sequence))
    }

    fn body_by(
        stored: StoredVersion,
        read: impl FnOnce(u64) -> Result<Option<Entry>>,
    ) -> Result<Body> {
        let Some(sequence) = stored.sequence else { return Ok(stored.into_body(None)) };
        let entry = read(sequence)?.ok_or_else(|| {
            Error::Damaged(format!(
                "record {sequence} of the log is missing: the state refers to it"
            ))
        })?;
        let text = text_of(entry.kind, entry.version, &entry.payload);
        Ok(stored.into_body(text.map_err(|error| error.of(sequence))?))
    }

    /// The versions of a memory without their texts, oldest first.
    pub(crate) fn stored_versions(&self, id: MemoryId) -> Result<Vec<(u32, StoredVersion)>> {
        let mut versions = Vec::new();
        let each = &mut |key: &[u8], value: &[u8]| collect(&mut versions, key, value);
        self.state.scan(&keys::versions_of(id), each)?;
        Ok(versions)
    }

    /// The same, as of the time when the records were frozen. Only texts of earlier versions that were
    /// removed since are missing.
    pub(crate) fn stored_versions_at(
        &self,
        frozen: &Frozen,
        id: MemoryId,
    ) -> Result<Vec<(u32, StoredVersion)>> {
        let mut versions = Vec::new();
        let each = &mut |key: &[u8], value: &[u8]| collect(&mut versions, key, value);
        self.state.scan_at(&frozen.cells, &keys::versions_of(id), each)?;
        Ok(versions)
    }

    /// What reads of one moment need. The caller holds the writer's lock; afterwards, nothing waits for
    /// those reads.
    pub(crate) fn freeze(&self) -> Frozen {
        Frozen { cells: self.state.frozen(), pinned: self.journal.pin() }
    }
}

/// The records of one moment: the memories with their newest versions, and the log.
#[derive(Debug)]
pub(crate) struct Frozen {
    pub(crate) cells: Cells,
    pinned: Pinned,
}

fn collect(versions: &mut Vec<(u32, StoredVersion)>, key: &[u8], value: &[u8]) -> Result<()> {
    let number = key.last_chunk().copied().map_or(0, u32::from_be_bytes);
    versions.push((number, StoredVersion::decode(value).map_err(damaged)?));
    Ok(())
}
