//! A batch: the records of some commands, and the state after them.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use waypost_log::Entry;
use waypost_ranking::Document;

use crate::body::Body;
use crate::record::{Encoded, Record, text_of};
use crate::records::Records;
use crate::state::txn::{Txn, apply};
use crate::writer::outbox::{Notice, Summary};
use crate::{MemoryId, Result};

/// The changes of one batch while they are decided.
#[derive(Debug)]
pub(crate) struct Batch<'a> {
    base: &'a Records,
    pub(crate) txn: Txn<'a>,
    /// The records so far.
    pub(super) records: Vec<Encoded>,
    pub(super) first_sequence: u64,
    pub(super) bytes: usize,
    /// After how many records each append to the journal but the last one ends.
    pub(super) appends: Vec<usize>,
    append_bytes_max: usize,
    /// The bytes before the current append.
    appended_bytes: usize,
    /// The written bodies, so that the index need not read them back.
    pub(super) bodies: BTreeMap<MemoryId, Body>,
    /// Their documents that were already analysed.
    pub(super) documents: BTreeMap<MemoryId, Arc<Document>>,
    /// Its notes, for the outbox.
    pub(super) notices: Vec<Notice>,
    /// How far notes have been published, and the record that says so, if there is one.
    pub(super) told: Option<(u64, u64)>,
    /// Memories some or all of whose texts are removed.
    pub(super) forgotten: HashSet<MemoryId>,
}

impl<'a> Batch<'a> {
    /// A batch on top of the state.
    pub(super) fn new(base: &'a Records, append_bytes_max: usize) -> Self {
        Self {
            base,
            txn: Txn::new(&base.state),
            records: Vec::new(),
            // If the state cannot tell, the journal refuses the batch.
            first_sequence: base.state.applied().unwrap_or(0) + 1,
            bytes: 0,
            appends: Vec::new(),
            append_bytes_max,
            appended_bytes: 0,
            bodies: BTreeMap::new(),
            documents: BTreeMap::new(),
            notices: Vec::new(),
            told: None,
            forgotten: HashSet::new(),
        }
    }
}

impl Batch<'_> {
    /// The position of the last record.
    pub(super) fn last_sequence(&self) -> u64 {
        self.first_sequence + self.records.len() as u64 - 1
    }

    /// Decides a record.
    pub(crate) fn push(&mut self, record: &Record<'_>) -> Result<()> {
        self.put(record, record.encoded())
    }

    /// Takes in the next record of the shared journal.
    pub(super) fn take_in(&mut self, entry: Entry) -> Result<()> {
        let Entry { sequence, kind, version, payload } = entry;
        let record = Record::decode(kind, version, &payload).map_err(|error| error.of(sequence))?;
        self.put(&record, Encoded { kind, version, payload })
    }

    fn put(&mut self, record: &Record<'_>, encoded: Encoded) -> Result<()> {
        let sequence = self.first_sequence + self.records.len() as u64;
        apply(record, sequence, &mut self.txn)?;
        self.bytes += encoded.payload.len();
        self.records.push(encoded);
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
            | Record::Taken { .. }
            | Record::Key(_)
            | Record::ForgetKeys { .. } => {}
            Record::Purge { ids } => self.forgotten.extend(ids),
            Record::Forget { below } => self.forgotten.extend(below.iter().map(|below| below.0)),
            Record::Notice { id, note } => {
                let added = id.map(|id| self.summary(id)).transpose()?;
                self.notices.push(Notice { sequence, note: note.clone(), added });
            }
            Record::Told { through } => self.told = Some((*through, sequence)),
        }
        Ok(())
    }

    /// Describes a memory for the note about its addition.
    fn summary(&self, id: MemoryId) -> Result<Summary> {
        if let Some(body) = self.bodies.get(&id) {
            return Ok(Summary::new(id, &body.space, body.text.as_ref()));
        }
        // Its addition is in an earlier batch.
        let body = self.body(id, 1)?;
        let (space, text) = body.map(|body| (body.space, body.text)).unwrap_or_default();
        Ok(Summary::new(id, &space, text.as_ref()))
    }

    /// Allows a crash to separate the records so far from the next ones, if there are too many for
    /// one append.
    pub(crate) fn may_end_append(&mut self) {
        if self.bytes - self.appended_bytes >= self.append_bytes_max {
            self.appends.push(self.records.len());
            self.appended_bytes = self.bytes;
        }
    }

    /// Adds the document of a memory, if this batch contains its newest version.
    pub(crate) fn has_document(&mut self, id: MemoryId, document: Option<Arc<Document>>) {
        if let Some(document) = document.filter(|_| self.bodies.contains_key(&id)) {
            self.documents.insert(id, document);
        }
    }

    /// A version of a memory with its content, from this batch or from the store.
    pub(crate) fn body(&self, id: MemoryId, version: u32) -> Result<Option<Body>> {
        let Some(stored) = self.txn.version(id, version)? else { return Ok(None) };
        let Some(sequence) = stored.sequence else { return Ok(Some(stored.into_body(None))) };
        match sequence.checked_sub(self.first_sequence) {
            Some(idx) => {
                let Encoded { kind, version, payload } = &self.records[idx as usize];
                let text = text_of(*kind, *version, payload).map_err(|error| error.of(sequence))?;
                Ok(Some(stored.into_body(text)))
            }
            None => self.base.whole_body(stored).map(Some),
        }
    }
}
