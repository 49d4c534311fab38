//! Writing: the commands of a batch are decided, each on top of the ones before it, written to the
//! log at once, and applied.

use std::borrow::Cow;
use std::collections::BTreeMap;

use waypost_ranking::Document;

use crate::check;
use crate::import::{self, FileIds, ImportDone, ImportUnit};
use crate::open::{self, Folders, FoundState};
use crate::outbox::{Notice, Summary};
use crate::queue::{Queued, Reply};
use crate::record::{Body, BodyText, Edge, RECORD_VERSION, Record, Unreadable};
use crate::store::Store;
use crate::txn::{Touched, Txn, apply};
use crate::vectors::log_error;
use crate::view::Prepared;
use crate::{Error, Memory, MemoryId, OpenReport, Patch, Result, Timestamp};

/// One batch of commands stops when it has so many bytes.
const BATCH_BYTES_MAX: usize = 8 * 1024 * 1024;

/// A wish to change the state.
#[derive(Debug)]
pub(crate) enum Command {
    /// The document is made by the thread that asks, so that many threads analyse at once.
    Add {
        body: Body,
        document: Box<Document>,
        at: Timestamp,
        note: Option<Vec<u8>>,
    },
    Update {
        id: MemoryId,
        patch: Patch,
        at: Timestamp,
    },
    Delete {
        id: MemoryId,
        at: Timestamp,
    },
    Link {
        edge: Edge,
        at: Timestamp,
        note: Option<Vec<u8>>,
    },
    Unlink {
        edge: Edge,
        at: Timestamp,
    },
    Import {
        units: Vec<ImportUnit>,
        ids: FileIds,
    },
    Purge {
        ids: Vec<MemoryId>,
    },
    Forget {
        below: Vec<(MemoryId, u32)>,
    },
    /// Notices up to this sequence have been told.
    Told {
        through: u64,
    },
}

/// What became of a [`Command`].
#[derive(Debug)]
pub(crate) enum Outcome {
    Added(Memory),
    Existing(Memory),
    Updated(Memory),
    Deleted,
    Linked {
        is_new: bool,
        at: Timestamp,
    },
    Unlinked(bool),
    Imported(ImportDone),
    /// Also for what was forgotten.
    Purged,
    Told,
}

/// What only the thread that writes may touch.
#[derive(Debug, Default)]
pub(crate) struct WriterState {
    /// Why nothing is written any more.
    pub(crate) fault: Option<String>,
    /// While a batch is written, the log's last sequence before it. It stays when that panics, and
    /// then the state and the index may lack what the log has.
    pub(crate) writing_after: Option<u64>,
}

/// The changes of one batch while they are decided.
#[derive(Debug)]
pub(crate) struct Batch<'a> {
    pub(crate) store: &'a Store,
    pub(crate) txn: Txn<'a>,
    /// The records so far: kind and payload.
    records: Vec<(u8, Vec<u8>)>,
    first_sequence: u64,
    bytes: usize,
    /// The bodies that were written, so that the index need not read them back.
    bodies: BTreeMap<MemoryId, Body>,
    /// What of them was analysed already.
    documents: BTreeMap<MemoryId, Document>,
    /// Its notes, for whoever tells of them.
    notices: Vec<Notice>,
    /// How far was told and the record that says so, if one does.
    told: Option<(u64, u64)>,
}

impl Batch<'_> {
    /// Makes a record a part of the batch.
    pub(crate) fn push(&mut self, record: &Record<'_>) -> Result<()> {
        let sequence = self.first_sequence + self.records.len() as u64;
        let payload = record.encode();
        apply(record, sequence, &mut self.txn)?;
        self.bytes += payload.len();
        self.records.push((record.kind(), payload));
        match record {
            Record::Add { id, body, .. } | Record::Update { id, body, .. } => {
                self.bodies.insert(*id, body.clone().into_owned());
                self.documents.remove(id);
            }
            Record::Delete { id, .. } => {
                self.bodies.remove(id);
            }
            Record::Link { .. }
            | Record::Unlink { .. }
            | Record::Purge { .. }
            | Record::Forget { .. }
            | Record::Taken { .. } => {}
            Record::Notice { id, note } => {
                let body = id.and_then(|id| Some((id, self.bodies.get(&id)?)));
                let added = body.map(|(id, it)| Summary::new(id, &it.space, it.text.as_ref()));
                self.notices.push(Notice { sequence, note: note.clone(), added });
            }
            Record::Told { through } => self.told = Some((*through, sequence)),
        }
        Ok(())
    }

    /// What of a memory was analysed already, if this batch has its newest version.
    pub(crate) fn has_document(&mut self, id: MemoryId, document: Option<Document>) {
        if let Some(document) = document.filter(|_| self.bodies.contains_key(&id)) {
            self.documents.insert(id, document);
        }
    }

    /// A version of a memory with its content, wherever that is.
    pub(crate) fn body(&self, id: MemoryId, version: u32) -> Result<Option<Body>> {
        let Some(stored) = self.txn.version(id, version)? else { return Ok(None) };
        let Some(sequence) = stored.sequence else { return Ok(Some(stored.into_body(None))) };
        match sequence.checked_sub(self.first_sequence) {
            Some(idx) => {
                let (kind, payload) = &self.records[idx as usize];
                let text = text_of(*kind, RECORD_VERSION, payload).map_err(|it| it.of(sequence))?;
                Ok(Some(stored.into_body(text)))
            }
            None => self.store.whole_body(stored).map(Some),
        }
    }

    fn decide(&mut self, command: Command) -> Result<Outcome> {
        match command {
            Command::Add { body, document, at, note } => self.add(body, *document, at, note),
            Command::Update { id, patch, at } => self.update(id, &patch, at),
            Command::Delete { id, at } => {
                self.txn.live_head(id)?.ok_or(Error::NotFound(id))?;
                self.push(&Record::Delete { id, at })?;
                Ok(Outcome::Deleted)
            }
            Command::Link { edge, at, note } => {
                for id in [edge.from, edge.to] {
                    self.txn.live_head(id)?.ok_or(Error::NotFound(id))?;
                }
                if edge.from == edge.to {
                    return Err(Error::invalid("to", "is the same memory as `from`"));
                }
                if let Some(at) = self.txn.link(edge)? {
                    return Ok(Outcome::Linked { is_new: false, at });
                }
                self.push(&Record::Link { edge, at })?;
                self.note(None, note)?;
                Ok(Outcome::Linked { is_new: true, at })
            }
            Command::Unlink { edge, at } => {
                for id in [edge.from, edge.to] {
                    self.txn.live_head(id)?.ok_or(Error::NotFound(id))?;
                }
                if self.txn.link(edge)?.is_none() {
                    return Ok(Outcome::Unlinked(false));
                }
                self.push(&Record::Unlink { edge, at })?;
                Ok(Outcome::Unlinked(true))
            }
            Command::Import { units, ids } => {
                import::decide(units, ids, self).map(Outcome::Imported)
            }
            Command::Purge { ids } => {
                self.push(&Record::Purge { ids })?;
                Ok(Outcome::Purged)
            }
            Command::Forget { below } => {
                self.push(&Record::Forget { below })?;
                Ok(Outcome::Purged)
            }
            Command::Told { through } => {
                self.push(&Record::Told { through })?;
                Ok(Outcome::Told)
            }
        }
    }

    fn note(&mut self, id: Option<MemoryId>, note: Option<Vec<u8>>) -> Result<()> {
        note.map_or(Ok(()), |note| self.push(&Record::Notice { id, note }))
    }

    fn add(
        &mut self,
        body: Body,
        document: Document,
        at: Timestamp,
        note: Option<Vec<u8>>,
    ) -> Result<Outcome> {
        if let Some(id) = self.txn.duplicate(&body)? {
            let head = self.txn.live_head(id)?.ok_or(Error::NotFound(id))?;
            let body = self.body(id, head.version)?.ok_or(Error::NotFound(id))?;
            return Ok(Outcome::Existing(memory(id, head.version, head.updated_at, body)));
        }
        let number = self.txn.next_id()?;
        let id = MemoryId::new(number)
            .ok_or_else(|| Error::Unavailable("no ids left below 2^53".into()))?;
        self.push(&Record::Add { id, at, body: Cow::Borrowed(&body) })?;
        self.note(Some(id), note)?;
        self.documents.insert(id, document);
        Ok(Outcome::Added(memory(id, 1, at, body)))
    }

    fn update(&mut self, id: MemoryId, patch: &Patch, at: Timestamp) -> Result<Outcome> {
        let head = self.txn.live_head(id)?.ok_or(Error::NotFound(id))?;
        if let Some(expected) = patch.if_version.filter(|it| *it != head.version) {
            return Err(Error::Conflict { expected, found: head.version });
        }
        let body = self.body(id, head.version)?.ok_or(Error::NotFound(id))?;
        let before = body.text.as_ref().ok_or(Error::NotFound(id))?;
        let after = check::patched(before, patch)?;
        if after == *before {
            return Ok(Outcome::Updated(memory(id, head.version, head.updated_at, body)));
        }
        let version = head.version + 1;
        let body = Body { text: Some(after), ..body };
        self.push(&Record::Update { id, version, at, body: Cow::Borrowed(&body) })?;
        Ok(Outcome::Updated(memory(id, version, at, body)))
    }
}

impl Store {
    pub(crate) fn write_batch(
        &self,
        queued: &mut dyn Iterator<Item = Queued>,
        writer: &mut WriterState,
    ) {
        let mut batch = Batch {
            store: self,
            txn: Txn::new(&self.state),
            records: Vec::new(),
            first_sequence: self.log.last_sequence() + 1,
            bytes: 0,
            bodies: BTreeMap::new(),
            documents: BTreeMap::new(),
            notices: Vec::new(),
            told: None,
        };
        let mut answers: Vec<(Reply, Result<Outcome>)> = Vec::new();
        while batch.bytes < BATCH_BYTES_MAX {
            let Some(Queued { command, reply }) = queued.next() else { break };
            let outcome = batch.decide(command);
            answers.push((reply, outcome));
        }
        let written = self.commit(batch, writer);
        for (reply, outcome) in answers {
            // A refusal stands whatever became of the batch.
            let outcome = outcome.and_then(|it| match &written {
                Ok(()) => Ok(it),
                Err(error) => Err(error()),
            });
            self.answer(reply, outcome);
        }
    }

    /// Log, then state, then index. The error is made anew for everybody who waits.
    fn commit(
        &self,
        batch: Batch<'_>,
        writer: &mut WriterState,
    ) -> std::result::Result<(), Box<dyn Fn() -> Error + '_>> {
        let Batch { txn, records, first_sequence, bodies, documents, notices, told, .. } = batch;
        if records.is_empty() {
            return Ok(());
        }
        let entries: Vec<waypost_log::Record<'_>> = records
            .iter()
            .map(|(kind, payload)| waypost_log::Record {
                kind: *kind,
                version: RECORD_VERSION,
                payload,
            })
            .collect();
        if self.free_bytes().is_some_and(|it| it < self.options.free_bytes_min) {
            // The log may have room yet where the state, which must follow it, has none.
            return Err(Box::new(|| Error::Full("too little free space".to_owned())));
        }
        let range = match self.log.append_batch(&entries) {
            Ok(range) => range,
            Err(error) => return Err(Box::new(move || log_error(&error, &self.dir))),
        };
        let (chunks, touched) = txn.finish();
        let applied = if range.start == first_sequence {
            // They are on disk, whatever the state makes of it.
            self.outbox.noted(notices);
            if let Some((through, record)) = told {
                self.note_saved(through, record);
            }
            chunks.iter().try_for_each(|writes| self.state.write(writes))
        } else {
            Err(Error::Unavailable("another process wrote to the log".into()))
        };
        if let Err(error) = applied {
            // The log has it; only a new start can bring the state after it.
            let fault = format!("failed to apply a record of the log to the state: {error}");
            writer.fault = Some(fault.clone());
            *self.write_fault.lock() = Some(fault.clone());
            return Err(Box::new(move || Error::Unavailable(fault.clone())));
        }
        self.publish(&touched, &bodies, documents);
        Ok(())
    }

    /// Bytes that are free where the store is; `None` if the system does not say.
    fn free_bytes(&self) -> Option<u64> {
        let stat = rustix::fs::statvfs(&self.dir).ok()?;
        Some(stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    /// Opens the state again after it did not take a change, if there is room, and brings it and
    /// the index up to the log.
    pub(crate) fn recover(&self, writer: &mut WriterState) {
        if self.free_bytes().is_some_and(|it| it < self.options.free_bytes_min) {
            return;
        }
        if let Err(error) = self.open_state_again(writer.writing_after) {
            writer.fault = Some(error.to_string());
            self.write_fault.lock().clone_from(&writer.fault);
            return;
        }
        writer.fault = None;
        writer.writing_after = None;
        *self.write_fault.lock() = None;
    }

    fn open_state_again(&self, writing_after: Option<u64>) -> Result<()> {
        let before = open::applied(&self.state).unwrap_or(0);
        let before = writing_after.map_or(before, |it| it.min(before));
        self.state.release();
        let folders = Folders::new(&self.data);
        let found = FoundState::in_folder(&folders, &self.options)?;
        let mut report = OpenReport::default();
        let fresh = found.bring_up(&folders, &self.log, &self.options, &mut report)?;
        self.state.adopt(&fresh);
        let graph = open::load_graph(&self.state)?;
        let mut touched = Touched::default();
        for entry in self.log.entries_after(before) {
            let entry = entry.map_err(|it| log_error(&it, &self.dir))?;
            if let Ok(
                Record::Add { id, .. } | Record::Update { id, .. } | Record::Delete { id, .. },
            ) = Record::decode(entry.kind, entry.version, &entry.payload)
            {
                touched.memories.insert(id);
            }
        }
        self.publish(&touched, &BTreeMap::new(), BTreeMap::new());
        self.view.write().graph = graph;
        Ok(())
    }

    /// Brings the index up to date with what a commit touched.
    fn publish(
        &self,
        touched: &Touched,
        bodies: &BTreeMap<MemoryId, Body>,
        mut documents: BTreeMap<MemoryId, Document>,
    ) {
        let prepared: Vec<(MemoryId, Option<Prepared>)> = touched
            .memories
            .iter()
            .map(|id| {
                let known = bodies.get(id).map(|it| (it, documents.remove(id)));
                (*id, self.prepare(*id, known).ok().flatten())
            })
            .collect();
        let count = (touched.memories.len() + touched.links.len()) as u64;
        if let Some(changed) = self.changed_in_reindex.lock().as_mut() {
            changed.memories.extend(touched.memories.iter());
            changed.links.extend(touched.links.iter());
        }
        let mut view = self.view.write();
        for (id, prepared) in prepared {
            view.refresh(id, prepared);
        }
        for (edge, at) in &touched.links {
            match at {
                Some(at) => view.graph.insert(*edge, *at),
                None => view.graph.remove(*edge),
            }
        }
        drop(view);
        self.changes.note(count);
    }
}

/// The text in a record's payload, if it has one.
pub(crate) fn text_of(
    kind: u8,
    version: u8,
    payload: &[u8],
) -> std::result::Result<Option<BodyText>, Unreadable> {
    Ok(match Record::decode(kind, version, payload)? {
        Record::Add { body, .. } | Record::Update { body, .. } => body.into_owned().text,
        _ => None,
    })
}

/// A memory from its body. Whether it is embedded or superseded is for the index to say.
pub(crate) fn memory(id: MemoryId, version: u32, updated_at: Timestamp, body: Body) -> Memory {
    let (space, created_at) = (body.space, body.created_at);
    let mut memory = Memory {
        id,
        version,
        title: String::new(),
        content: String::new(),
        kind: String::new(),
        tags: Vec::new(),
        metadata: BTreeMap::new(),
        space,
        session: None,
        created_at,
        updated_at,
        embedded: false,
        superseded_by: None,
    };
    if let Some(text) = body.text {
        memory.title = text.title;
        memory.content = text.content;
        memory.kind = text.kind;
        memory.tags = text.tags;
        memory.metadata = text.metadata;
        memory.session = text.session;
    }
    memory
}
