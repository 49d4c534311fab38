//! Import of an export.
//!
//! Lines are imported in atomic batches; a memory is decided with its whole history, and only a
//! history that is too long for one append is written in several. A memory that
//! exists with the same text counts as existing, so an import can be repeated. If the id belongs to
//! another memory, the line is a problem, or the memory gets a new id and its links follow. A link
//! connects only memories of the same import: an id of the file never refers to a memory that
//! happens to have that id in the store.

use std::io::{BufRead, Read};
use std::sync::{Arc, mpsc};

use parking_lot::Mutex;

use crate::index::Index;
use crate::limits::{IMPORT_LINE_BYTES_MAX, IMPORT_VERSION_GAP_MAX, VERSION_MAX};
use crate::record::Edge;
use crate::store::Store;
use crate::wire::{FORMAT, Header, Line, LinkLine, MemoryLine, VERSION};
use crate::writer::Writer;
use crate::writer::command::{Command, Outcome};
use crate::writer::import::{FileIds, ImportUnit, ImportVersion, problem};
use crate::writer::lost;
use crate::{Error, ImportOptions, ImportResult, MemoryId, RequestKey, Result, Timestamp};

/// A batch is written when it has this many lines …
const BATCH_LINES_MAX: usize = 256;
/// … or this many bytes.
const BATCH_BYTES_MAX: usize = 4 * 1024 * 1024;
/// An import stops after this many problems: it is probably the wrong file.
const PROBLEMS_MAX: usize = 1_000;

/// Reads lines and groups them.
struct Importer<'a> {
    writer: &'a Writer,
    index: &'a Index,
    now: Timestamp,
    /// The key of the request.
    key: Option<RequestKey>,
    /// Each with its own key.
    units: Vec<(ImportUnit, Option<RequestKey>)>,
    lines_max: usize,
    lines: usize,
    bytes: usize,
    /// The length of the lines of the last memory.
    history_bytes: usize,
    history_bytes_max: usize,
    /// The last memory that was rejected because of that length: its other lines are skipped.
    too_long: Option<MemoryId>,
    imported: ImportResult,
    /// Shared with the batch that is being written.
    ids: Arc<Mutex<FileIds>>,
    /// Called when a batch was queued.
    queued: &'a dyn Fn(),
    /// Receives the result of the batch that was queued last.
    writing: Option<mpsc::Receiver<Result<Outcome>>>,
}

impl Store {
    /// Imports what [`Store::export`] wrote, with default options: keeps ids, and turns an empty
    /// store into the same store. Reports an invalid line and continues. Missing times are `now`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the input is not an export; [`Error::Newer`] if a newer release wrote
    /// it.
    pub fn import(&self, input: &mut dyn BufRead, now: Timestamp) -> Result<ImportResult> {
        self.import_beside(input, &ImportOptions::default(), now, &|| self.write_queued())
    }

    /// Like [`Store::import`] with options. Another thread can write what this one queues, so that
    /// a batch is read while the previous one is written. After each call of `queued`, some thread
    /// must call [`Store::write_queued`].
    pub fn import_beside(
        &self,
        input: &mut dyn BufRead,
        options: &ImportOptions,
        now: Timestamp,
        queued: &dyn Fn(),
    ) -> Result<ImportResult> {
        let mut importer = Importer {
            writer: &self.writer,
            index: &self.index,
            now,
            key: options.key,
            units: Vec::new(),
            lines_max: match options.key {
                None => self.records.journal.changes_max(BATCH_LINES_MAX),
                Some(_) => self.records.journal.keyed_changes_max(BATCH_LINES_MAX),
            },
            lines: 0,
            bytes: 0,
            history_bytes: 0,
            history_bytes_max: options.history_bytes_max,
            too_long: None,
            imported: ImportResult::default(),
            ids: Arc::new(Mutex::new(FileIds::new(options.ids))),
            queued,
            writing: None,
        };
        let read = importer.read(input);
        // No batch may be in progress when this returns, even with an error.
        let written = importer.end_batch();
        read.and(written)?;
        importer.imported.problems.sort_by_key(|problem| problem.line);
        Ok(importer.imported)
    }
}

impl Importer<'_> {
    fn read(&mut self, input: &mut dyn BufRead) -> Result<()> {
        let importer = self;
        let mut number = 0;
        let mut sum = 0;
        let mut is_complete = false;
        let mut line = Vec::new();
        while read_line(input, &mut line)? {
            number += 1;
            let text = line.strip_suffix(b"\n").unwrap_or(&line);
            let text = text.strip_suffix(b"\r").unwrap_or(text);
            if number == 1 {
                check_header(text)?;
            } else if is_complete {
                if !text.is_empty() {
                    importer.problem(number, "comes after the end".to_owned());
                }
            } else if text.len() > IMPORT_LINE_BYTES_MAX {
                importer.problem(number, format!("exceeds {IMPORT_LINE_BYTES_MAX} bytes"));
            } else if !text.is_empty() {
                match Line::read(text) {
                    Ok(Line::End(end)) => {
                        is_complete = true;
                        if end.crc32c != format!("{sum:08x}") {
                            let message = "invalid checksum: the file was changed or damaged";
                            importer.problem(number, message.to_owned());
                        }
                    }
                    Ok(line) => importer.take(number, line, text)?,
                    Err(reason) => importer.problem(number, reason),
                }
            }
            sum = crc32c::crc32c_append(sum, &line);
            if importer.imported.problems.len() >= PROBLEMS_MAX {
                importer.problem(number, "too many problems; the rest is omitted".to_owned());
                is_complete = true;
                break;
            }
        }
        if number == 0 {
            return Err(Error::invalid("the import", "is empty"));
        }
        importer.flush()?;
        if !is_complete {
            importer.problem(number, "the end is missing: the file is truncated".to_owned());
        }
        Ok(())
    }
}

/// Reads a line, but never more of it than [`IMPORT_LINE_BYTES_MAX`] and a little.
pub(crate) fn read_line(input: &mut dyn BufRead, line: &mut Vec<u8>) -> Result<bool> {
    let io = |it| Error::io("the import", it);
    line.clear();
    let most = IMPORT_LINE_BYTES_MAX as u64 + 2;
    input.take(most).read_until(b'\n', line).map_err(io)?;
    if line.len() as u64 == most && line.last() != Some(&b'\n') {
        // Skip the rest without keeping it.
        loop {
            let rest = input.fill_buf().map_err(io)?;
            if rest.is_empty() {
                break;
            }
            let end = rest.iter().position(|byte| *byte == b'\n');
            let used = end.map_or(rest.len(), |end| end + 1);
            input.consume(used);
            if end.is_some() {
                break;
            }
        }
    }
    Ok(!line.is_empty())
}

pub(crate) fn check_header(text: &[u8]) -> Result<()> {
    let is_object = text.iter().find(|text| !text.is_ascii_whitespace()) == Some(&b'{');
    let read = serde_json::from_slice(text).ok().filter(|_| is_object);
    let header: Header =
        read.filter(|header: &Header| header.format == FORMAT).ok_or_else(|| {
            let reason =
                format!("must begin with `{{\"format\":\"{FORMAT}\",\"version\":{VERSION}}}`");
            Error::invalid("the import", reason)
        })?;
    if header.version > VERSION {
        let found = format!("{FORMAT} {}", header.version);
        return Err(Error::Newer { found, known: VERSION });
    }
    Ok(())
}

impl Importer<'_> {
    fn problem(&mut self, line: u64, message: String) {
        self.imported.problems.push(problem(line, message));
    }

    fn take(&mut self, number: u64, line: Line, text: &[u8]) -> Result<()> {
        let bytes = text.len();
        let taken = match line {
            Line::Memory(line) => self.take_memory(number, *line, text),
            Line::Deletion(line) => self.take_deletion((number, text), line.id, line.at),
            Line::Link(line) => self.take_link((number, text), &line),
            Line::End(_) => Ok(()),
        };
        self.lines += 1;
        self.bytes += bytes;
        match taken {
            Ok(()) => Ok(()),
            Err(Refused::Line(message)) => {
                self.problem(number, message);
                Ok(())
            }
            Err(Refused::Store(error)) => Err(error),
        }
    }

    fn take_memory(&mut self, line: u64, given: MemoryLine, text: &[u8]) -> Taken {
        let (id, bytes) = (given.id, text.len());
        if self.too_long == Some(id) {
            return Ok(());
        }
        let version = given.version;
        let previous = match self.units.last() {
            Some((ImportUnit::Memory { id: last, versions, deletion: None, .. }, _))
                if *last == id =>
            {
                versions.last().map_or(0, |version| version.version)
            }
            _ => 0,
        };
        check_version(version, previous)?;
        let valid_from = given.valid_from.unwrap_or(self.now);
        let deleted_at = given.deleted_at;
        let body = given.body(valid_from)?;
        let version = ImportVersion { line, version, valid_from, body, deleted_at };
        if let Some((ImportUnit::Memory { id: last, versions, deletion: None, .. }, key)) =
            self.units.last_mut()
            && *last == id
        {
            versions.push(version);
            *key = key.map(|key| key.and(text));
            self.history_bytes += bytes;
            if self.history_bytes > self.history_bytes_max {
                let first = versions.first().map_or(line, |version| version.line);
                self.units.pop();
                self.too_long = Some(id);
                let message = format!(
                    "memory {id} and its history exceed {} bytes; remove texts of old versions in \
                     the store that the file comes from (`compact`), and export it again",
                    self.history_bytes_max
                );
                self.problem(first, message);
            }
            return Ok(());
        }
        self.flush_if_full()?;
        self.history_bytes = bytes;
        let versions = vec![version];
        let unit = ImportUnit::Memory { id, versions, deletion: None, document: None };
        self.push((line, text), unit);
        Ok(())
    }

    /// Adds a unit that begins with a line.
    fn push(&mut self, (line, text): (u64, &[u8]), unit: ImportUnit) {
        self.units.push((unit, self.key.map(|key| key.part(line, text))));
    }

    fn take_deletion(&mut self, (line, text): (u64, &[u8]), id: MemoryId, at: Timestamp) -> Taken {
        if self.too_long == Some(id) {
            return Ok(());
        }
        if let Some((ImportUnit::Memory { id: last, deletion: deletion @ None, .. }, key)) =
            self.units.last_mut()
            && *last == id
        {
            *deletion = Some((line, at));
            *key = key.map(|key| key.and(text));
            return Ok(());
        }
        self.flush_if_full()?;
        let deletion = Some((line, at));
        let versions = Vec::new();
        let unit = ImportUnit::Memory { id, versions, deletion, document: None };
        self.push((line, text), unit);
        Ok(())
    }

    fn take_link(&mut self, (line, text): (u64, &[u8]), given: &LinkLine) -> Taken {
        let LinkLine { from, to, kind, created_at, .. } = *given;
        if from == to {
            return Err(Refused::Line("the link is to itself".to_owned()));
        }
        let at = created_at.unwrap_or(self.now);
        self.flush_if_full()?;
        let unit = ImportUnit::Link { line, edge: Edge { from, to, kind }, at };
        self.push((line, text), unit);
        Ok(())
    }

    /// Writes the batch if it is full. The next line does not belong to its last unit.
    fn flush_if_full(&mut self) -> Result<()> {
        if self.lines >= self.lines_max || self.bytes >= BATCH_BYTES_MAX {
            return self.flush();
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        (self.lines, self.bytes) = (0, 0);
        let mut units = std::mem::take(&mut self.units);
        if units.is_empty() {
            return Ok(());
        }
        for (unit, _) in &mut units {
            if let ImportUnit::Memory { versions, deletion: None, document, .. } = unit {
                let last = versions.last().filter(|version| version.body.text.is_some());
                *document = last.map(|last| Arc::new(self.index.document(&last.body)));
            }
        }
        self.end_batch()?;
        let (answer, writing) = mpsc::channel();
        // Sending fails only if this thread has ended.
        let then = move |outcome| drop(answer.send(outcome));
        self.ids.lock().next_batch();
        let ids = Arc::clone(&self.ids);
        self.writer.submit_later(Command::Import { units, ids, at: self.now }, then);
        self.writing = Some(writing);
        (self.queued)();
        Ok(())
    }

    /// Waits for the batch that is being written.
    fn end_batch(&mut self) -> Result<()> {
        let Some(writing) = self.writing.take() else { return Ok(()) };
        let outcome = writing.recv().unwrap_or_else(|_| Err(lost()));
        if let Outcome::Imported(done) = outcome? {
            self.imported.memories += done.memories;
            self.imported.links += done.links;
            self.imported.existing += done.existing;
            self.imported.mapped.extend(done.mapped);
            self.imported.problems.extend(done.problems);
        }
        Ok(())
    }
}

/// Why a line was not imported: it is invalid, or the store failed.
enum Refused {
    Line(String),
    Store(Error),
}

type Taken = std::result::Result<(), Refused>;

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        match error {
            Error::Invalid { .. } => Self::Line(error.to_string()),
            other => Self::Store(other),
        }
    }
}

/// Checks a version against the previous one of the same memory in the file, 0 for none.
fn check_version(version: u32, previous: u32) -> std::result::Result<(), Refused> {
    let highest = previous.saturating_add(IMPORT_VERSION_GAP_MAX);
    let problem = if version == 0 {
        format!("version 0 is out of range; expected 1 to {VERSION_MAX}")
    } else if version <= previous {
        format!("version {version} comes after a later one")
    } else if version > highest {
        format!(
            "version {version} is too far above the memory's previous one in the file, \
             {previous}; number its versions in sequence, at most up to {highest} here"
        )
    } else {
        return Ok(());
    };
    Err(Refused::Line(problem))
}
