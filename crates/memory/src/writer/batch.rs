//! A batch: the records of some commands, and the state after them.

use std::collections::BTreeMap;

use waypost_ranking::Document;

use crate::record::{Body, Encoded, Record, text_of};
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
    pub(super) documents: BTreeMap<MemoryId, Document>,
    /// Its notes, for the outbox.
    pub(super) notices: Vec<Notice>,
    /// How far notes have been published, and the record that says so, if there is one.
    pub(super) told: Option<(u64, u64)>,
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
        }
    }
}

impl Batch<'_> {
    /// Adds a record to the batch.
    pub(crate) fn push(&mut self, record: &Record<'_>) -> Result<()> {
        let sequence = self.first_sequence + self.records.len() as u64;
        let encoded = record.encoded();
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

    /// Allows a crash to separate the records so far from the next ones, if there are too many for
    /// one append.
    pub(crate) fn may_end_append(&mut self) {
        if self.bytes - self.appended_bytes >= self.append_bytes_max {
            self.appends.push(self.records.len());
            self.appended_bytes = self.bytes;
        }
    }

    /// Adds the document of a memory, if this batch contains its newest version.
    pub(crate) fn has_document(&mut self, id: MemoryId, document: Option<Box<Document>>) {
        if let Some(document) = document.filter(|_| self.bodies.contains_key(&id)) {
            self.documents.insert(id, *document);
        }
    }

    /// A version of a memory with its content, from this batch or from the store.
    pub(crate) fn body(&self, id: MemoryId, version: u32) -> Result<Option<Body>> {
        let Some(stored) = self.txn.version(id, version)? else { return Ok(None) };
        let Some(sequence) = stored.sequence else { return Ok(Some(stored.into_body(None))) };
        match sequence.checked_sub(self.first_sequence) {
            Some(idx) => {
                let Encoded { kind, version, payload } = &self.records[idx as usize];
                let text = text_of(*kind, *version, payload).map_err(|it| it.of(sequence))?;
                Ok(Some(stored.into_body(text)))
            }
            None => self.base.whole_body(stored).map(Some),
        }
    }
}
