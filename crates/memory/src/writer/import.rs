//! Decides an import: maps each memory of the file to a memory of the store.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use waypost_ranking::Document;

use crate::body::Body;
use crate::limits::IMPORT_ID_GAP_MAX;
use crate::record::{Done, Edge, KeyRecord, Record};
use crate::state::keys::StoredKey;
use crate::writer::batch::Batch;
use crate::{
    Error, ImportIds, ImportResult, LineProblem, MappedId, MemoryId, RequestKey, Result, Timestamp,
};

/// An atomic unit of an import: a memory with its history, or a link.
#[derive(Debug)]
pub(crate) enum ImportUnit {
    Memory {
        id: MemoryId,
        versions: Vec<ImportVersion>,
        deletion: Option<(u64, Timestamp)>,
        /// The document of the last version, computed in advance.
        document: Option<Arc<Document>>,
    },
    Link {
        line: u64,
        edge: Edge,
        at: Timestamp,
    },
}

/// One version of an imported memory.
#[derive(Debug)]
pub(crate) struct ImportVersion {
    pub(crate) line: u64,
    pub(crate) version: u32,
    pub(crate) valid_from: Timestamp,
    pub(crate) body: Body,
    /// When the memory was deleted as this version, if the next one restored it.
    pub(crate) deleted_at: Option<Timestamp>,
}

/// The memory of the store for each memory of the file, for one import.
#[derive(Debug, Default)]
pub(crate) struct FileIds {
    policy: ImportIds,
    /// By the id in the file; only memories that were imported or already existed.
    here: HashMap<MemoryId, MemoryId>,
    /// The ids in the store, so that no two memories of the file become one.
    used: HashSet<MemoryId>,
    /// The ids that the current batch has added: in the file and in the store.
    batch: Vec<(MemoryId, MemoryId)>,
}

impl FileIds {
    pub(crate) fn new(policy: ImportIds) -> Self {
        Self { policy, ..Self::default() }
    }

    /// Starts the next batch: the previous one has been written.
    pub(crate) fn next_batch(&mut self) {
        self.batch.clear();
    }

    /// Removes what the batch added when it was decided before.
    fn restart_batch(&mut self) {
        for (file, here) in self.batch.drain(..) {
            self.here.remove(&file);
            self.used.remove(&here);
        }
    }

    fn note(&mut self, file: MemoryId, here: MemoryId) {
        if self.here.insert(file, here).is_none() {
            self.used.insert(here);
            self.batch.push((file, here));
        }
    }
}

/// A rejected line.
pub(crate) fn problem(line: u64, message: impl Into<String>) -> LineProblem {
    LineProblem { line, message: message.into(), id_taken: false }
}

/// A line that [`ImportIds::Map`] would accept.
fn taken(line: u64, message: String) -> LineProblem {
    LineProblem { line, message, id_taken: true }
}

/// The outcome of a memory.
enum Took {
    New(MemoryId),
    Existing(MemoryId),
    /// A deletion that leaves nothing to store.
    Nothing,
}

/// How a memory of the file relates to the memory with an id in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// The id was never used.
    Free,
    /// The store has the same memory up to this version, which the file also contains.
    Continues(u32),
    /// The store has all of it.
    Same,
    /// The id belongs to another memory, or to another history of it.
    Other,
}

/// A memory of the file.
struct FileMemory<'a> {
    id: MemoryId,
    versions: &'a [ImportVersion],
    deletion: Option<(u64, Timestamp)>,
}

impl FileMemory<'_> {
    fn line(&self) -> u64 {
        self.versions
            .first()
            .map(|version| version.line)
            .or(self.deletion.map(|deletion| deletion.0))
            .unwrap_or(0)
    }

    fn deleted_at(&self) -> Option<Timestamp> {
        self.deletion.map(|deletion| deletion.1)
    }
}

/// Decides a batch on top of the store.
pub(crate) fn decide(
    units: &[(ImportUnit, Option<RequestKey>)],
    at: Timestamp,
    ids: &mut FileIds,
    batch: &mut Batch<'_>,
) -> Result<ImportResult> {
    ids.restart_batch();
    // First all keys, so that a batch is refused before it changes anything.
    let mut known = Vec::with_capacity(units.len());
    for (_, key) in units {
        let Some(key) = key else {
            known.push(None);
            continue;
        };
        known.push(match batch.txn.request(key.id)? {
            Some(stored) if !stored.is_of(key) => return Err(Error::KeyReused),
            Some(StoredKey { done: Done::Imported { is_new, here }, .. }) => Some((is_new, here)),
            _ => None,
        });
    }
    let mut done = ImportResult::default();
    for ((unit, key), known) in units.iter().zip(known) {
        let taken = match known {
            Some(before) => Ok(before),
            None => import_unit(unit, ids, batch)?,
        };
        let (is_new, here) = match taken {
            Ok(taken) => taken,
            Err(problem) => {
                done.problems.push(problem);
                continue;
            }
        };
        match unit {
            ImportUnit::Memory { id, .. } => {
                done.memories += u64::from(is_new);
                if let Some(here) = here {
                    ids.note(*id, here);
                    if here != *id {
                        done.mapped.push(MappedId { from: *id, to: here });
                    }
                }
            }
            ImportUnit::Link { .. } => done.links += u64::from(is_new),
        }
        done.existing += u64::from(!is_new);
        if let Some(key) = key.filter(|_| known.is_none()) {
            let done = Some(Done::Imported { is_new, here });
            batch.push(&Record::Key(KeyRecord { key, at, done }))?;
        }
    }
    Ok(done)
}

/// Whether a unit was new, and the id of its memory in the store, if it is a memory and has one.
type Unit = (bool, Option<MemoryId>);

fn import_unit(
    unit: &ImportUnit,
    ids: &FileIds,
    batch: &mut Batch<'_>,
) -> Result<std::result::Result<Unit, LineProblem>> {
    match unit {
        ImportUnit::Memory { id, versions, deletion, document } => {
            let memory = FileMemory { id: *id, versions, deletion: *deletion };
            Ok(import_memory(&memory, ids, batch)?.map(|took| match took {
                Took::New(here) => {
                    batch.has_document(here, document.clone());
                    (true, Some(here))
                }
                Took::Existing(here) => (false, Some(here)),
                Took::Nothing => (false, None),
            }))
        }
        ImportUnit::Link { line, edge, at } => {
            Ok(import_link(*line, *edge, *at, ids, batch)?.map(|is_new| (is_new, None)))
        }
    }
}

fn import_memory(
    memory: &FileMemory<'_>,
    ids: &FileIds,
    batch: &mut Batch<'_>,
) -> Result<std::result::Result<Took, LineProblem>> {
    // No export has that, and nothing would tell whether the store has the memory.
    if memory.deletion.is_none()
        && memory.versions.last().is_some_and(|version| version.body.text.is_none())
    {
        let message = "the newest version is purged, but the memory is not deleted";
        return Ok(Err(problem(memory.line(), message)));
    }
    if memory.versions.last().is_some_and(|version| version.deleted_at.is_some()) {
        let message = "`deletedAt` needs a later version; use a line with the record `deletion`";
        return Ok(Err(problem(memory.line(), message)));
    }
    let taken = place(memory, ids, batch)?;
    Ok(Ok(match taken {
        Ok((here, Fit::Same)) => Took::Existing(here),
        Ok((_, Fit::Other)) => Took::Nothing,
        Ok((here, fit)) => {
            let newest = if let Fit::Continues(newest) = fit { newest } else { 0 };
            push_memory(memory, here, newest, batch)?;
            Took::New(here)
        }
        Err(problem) => return Ok(Err(problem)),
    }))
}

/// The id of the memory in the store, existing or new. [`Fit::Other`] means that there is nothing
/// to store.
fn place(
    memory: &FileMemory<'_>,
    ids: &FileIds,
    batch: &mut Batch<'_>,
) -> Result<std::result::Result<(MemoryId, Fit), LineProblem>> {
    let known = ids.here.get(&memory.id).copied();
    let here = known.unwrap_or(memory.id);
    // An id that another memory of the file was mapped to does not belong to this one.
    let fit = if known.is_none() && ids.used.contains(&here) {
        Fit::Other
    } else {
        fit(memory, here, batch)?
    };
    let highest = batch.txn.next_id()?.saturating_add(IMPORT_ID_GAP_MAX - 1);
    let is_beyond = fit == Fit::Free && here.get() > highest;
    if fit != Fit::Other && !is_beyond {
        return Ok(Ok((here, fit)));
    }
    if ids.policy == ImportIds::Keep || known.is_some() {
        let message = if is_beyond {
            format!("id {here} is too far above the ids in use; expected 1 to {highest}")
        } else {
            format!("id {here} belongs to another memory")
        };
        return Ok(Err(taken(memory.line(), message)));
    }
    if memory.versions.is_empty() {
        return Ok(Ok((here, Fit::Other)));
    }
    // An earlier import may have mapped it already, if only its older versions.
    for version in memory.versions.iter().rev() {
        for copy in batch.txn.duplicates(&version.body)? {
            let fit = self::fit(memory, copy, batch)?;
            if !ids.used.contains(&copy) && matches!(fit, Fit::Same | Fit::Continues(_)) {
                return Ok(Ok((copy, fit)));
            }
        }
    }
    let fresh = MemoryId::new(batch.txn.next_id()?)
        .ok_or_else(|| Error::Unavailable("no ids left below 2^53".into()))?;
    Ok(Ok((fresh, Fit::Free)))
}

fn fit(memory: &FileMemory<'_>, here: MemoryId, batch: &Batch<'_>) -> Result<Fit> {
    let Some(head) = batch.txn.head(here)? else { return Ok(Fit::Free) };
    // Versions that exist in both must be the same.
    for it in memory.versions.iter().filter(|version| version.version <= head.version) {
        let there = batch.txn.version(here, it.version)?;
        let body = batch.body(here, it.version)?;
        let is_same = body.is_some_and(|body| is_same_version(&body, &it.body));
        if !is_same || there.as_ref().map(|there| there.valid_from) != Some(it.valid_from) {
            return Ok(Fit::Other);
        }
        // Of two deletions of one version, one has another history.
        let ended = there.and_then(|there| there.deleted_at);
        if ended.is_some() && it.deleted_at.is_some() && ended != it.deleted_at {
            return Ok(Fit::Other);
        }
    }
    let newest = memory.versions.last().map_or(0, |version| version.version);
    let continues =
        if is_continued(memory, head.version) { Fit::Continues(head.version) } else { Fit::Other };
    // The file may have what restored the memory since, and the store may have restored it.
    let restored = memory.versions.iter().find(|version| version.version == head.version);
    let restored = restored.and_then(|restored| restored.deleted_at);
    let ended = batch.txn.version(here, newest)?.and_then(|version| version.deleted_at);
    Ok(match (head.deleted_at, memory.deleted_at()) {
        (Some(here), _) if restored == Some(here) => continues,
        (_, Some(there)) if ended == Some(there) => Fit::Same,
        // Only the same time of deletion shows that it is the same memory.
        (Some(here), Some(there)) if here == there => Fit::Same,
        (Some(_), Some(_)) => Fit::Other,
        (Some(_), None) if newest <= head.version => Fit::Same,
        (Some(_), None) => Fit::Other,
        (None, Some(_)) => continues,
        // The memory may have been changed in the store since the export: there is nothing to add.
        (None, None) if newest <= head.version => Fit::Same,
        (None, None) => continues,
    })
}

/// Whether the file contains the store's newest version, whose text a compaction may have removed,
/// and only valid changes after it: a change keeps the space and the time of creation.
fn is_continued(memory: &FileMemory<'_>, newest: u32) -> bool {
    let mut since = memory.versions.iter().skip_while(|version| version.version < newest);
    since.next().is_some_and(|first| {
        let same = |body: &Body| {
            (&body.space, body.created_at) == (&first.body.space, first.body.created_at)
        };
        first.version == newest && since.all(|since| same(&since.body))
    })
}

/// Adds the versions above `newest`, and the deletion.
fn push_memory(
    memory: &FileMemory<'_>,
    here: MemoryId,
    newest: u32,
    batch: &mut Batch<'_>,
) -> Result<()> {
    let mut restores = false;
    for it in memory.versions.iter().filter(|version| version.version >= newest) {
        let (id, version, at, body) = (here, it.version, it.valid_from, Cow::Borrowed(&it.body));
        if version > newest {
            let record = match version {
                1 => Record::Add { id, at, body },
                _ => Record::Update { id, version, at, restores, body },
            };
            batch.push(&record)?;
        }
        restores = it.deleted_at.is_some();
        if let Some(at) = it.deleted_at
            && batch.txn.live_head(id)?.is_some()
        {
            batch.push(&Record::Delete { id, at })?;
        }
        // The newest version of a memory has a text, unless it is deleted.
        if it.body.text.is_some() {
            batch.may_end_append();
        }
    }
    match memory.deleted_at() {
        // A deletion without versions prevents that the id is reused.
        Some(at) => batch.push(&Record::Delete { id: here, at }),
        None => Ok(()),
    }
}

/// Whether two bodies are of the same version; a compaction may have removed the text of either.
fn is_same_version(a: &Body, b: &Body) -> bool {
    (&a.space, a.created_at) == (&b.space, b.created_at)
        && (a.text == b.text || a.text.is_none() || b.text.is_none())
}

fn import_link(
    line: u64,
    edge: Edge,
    at: Timestamp,
    ids: &FileIds,
    batch: &mut Batch<'_>,
) -> Result<std::result::Result<bool, LineProblem>> {
    let mut ends = [edge.from, edge.to];
    for end in &mut ends {
        let Some(here) = ids.here.get(end).copied() else {
            let message = format!("memory {end} of the link is not in the file, or was rejected");
            return Ok(Err(problem(line, message)));
        };
        if batch.txn.live_head(here)?.is_none() {
            let message = format!("memory {end} of the link is deleted");
            return Ok(Err(problem(line, message)));
        }
        *end = here;
    }
    let [from, to] = ends;
    let edge = Edge { from, to, ..edge };
    if batch.txn.link(edge)?.is_some() {
        return Ok(Ok(false));
    }
    batch.push(&Record::Link { edge, at })?;
    Ok(Ok(true))
}
