use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::{Compacted, Entry, Error, Keep, Options, Record, Recovery, Report, Result};

/// An append-only log in a folder. All methods take `&self`; share it by reference or `Arc`.
#[derive(Debug)]
pub struct Log {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: File,
    entries: Vec<Entry>,
    last: u64,
    first: u64,
}

impl Log {
    /// Opens the log in `dir`, creating the folder if need be.
    pub fn open(dir: &Path, _options: &Options) -> Result<(Self, Recovery)> {
        std::fs::create_dir_all(dir).map_err(|it| Error::io("create", dir, it))?;
        let path = dir.join("log");
        let mut file = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .open(&path)
            .map_err(|it| Error::io("open", &path, it))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|it| Error::io("read", &path, it))?;
        let (entries, end) = decode(&bytes);
        let recovery = Recovery { truncated_bytes: (bytes.len() - end) as u64, damage: Vec::new() };
        file.set_len(end as u64).map_err(|it| Error::io("cut", &path, it))?;
        let last = entries.last().map_or(0, |it| it.sequence);
        let state = Mutex::new(State { file, entries, last, first: 1 });
        Ok((Self { shared: Arc::new(Shared { path, state }) }, recovery))
    }

    /// Checks every byte of the log in `dir` without changing any.
    pub fn verify(dir: &Path) -> Result<Report> {
        let path = dir.join("log");
        let bytes = std::fs::read(&path).map_err(|it| Error::io("read", &path, it))?;
        let (entries, end) = decode(&bytes);
        Ok(Report {
            segments: 1,
            records: entries.len() as u64,
            bytes: end as u64,
            first_sequence: 1,
            last_sequence: entries.last().map_or(0, |it| it.sequence),
            torn_bytes: (bytes.len() - end) as u64,
            damage: Vec::new(),
        })
    }

    /// Appends one record and returns its sequence; it is on disk by then.
    pub fn append(&self, record: Record<'_>) -> Result<u64> {
        self.append_batch(&[record]).map(|range| range.start)
    }

    /// Appends records that are there all or not at all after a crash.
    pub fn append_batch(&self, records: &[Record<'_>]) -> Result<Range<u64>> {
        let range = self.append_batch_unsynced(records)?;
        self.sync()?;
        Ok(range)
    }

    /// Like [`append_batch`](Self::append_batch), but not on disk before the next sync.
    pub fn append_batch_unsynced(&self, records: &[Record<'_>]) -> Result<Range<u64>> {
        let mut state = self.shared.state.lock();
        let first = state.last + 1;
        let mut bytes = Vec::new();
        for record in records {
            let sequence = state.last + 1;
            encode(&mut bytes, sequence, record);
            state.last = sequence;
            state.entries.push(Entry {
                sequence,
                kind: record.kind,
                version: record.version,
                payload: record.payload.to_vec(),
            });
        }
        state.file.write_all(&bytes).map_err(|it| Error::io("write", &self.shared.path, it))?;
        Ok(first..state.last + 1)
    }

    /// Brings everything appended so far to disk.
    pub fn sync(&self) -> Result<()> {
        let state = self.shared.state.lock();
        state.file.sync_data().map_err(|it| Error::io("sync", &self.shared.path, it))
    }

    /// The entry with this sequence, if the log has it.
    pub fn read(&self, sequence: u64) -> Result<Option<Entry>> {
        Ok(self.shared.state.lock().entries.iter().find(|it| it.sequence == sequence).cloned())
    }

    /// The entries after `sequence`, in order; 0 for all.
    pub fn entries_after(&self, sequence: u64) -> Entries {
        Entries { shared: Arc::clone(&self.shared), after: sequence }
    }

    /// The first sequence the log still covers.
    pub fn first_sequence(&self) -> u64 {
        self.shared.state.lock().first
    }

    /// The last sequence handed out, 0 for none.
    pub fn last_sequence(&self) -> u64 {
        self.shared.state.lock().last
    }

    /// Bytes in use by headers and records.
    pub fn bytes(&self) -> u64 {
        self.shared.state.lock().entries.iter().map(|it| it.payload.len() as u64 + 18).sum()
    }

    /// How many segment files there are.
    pub fn segments(&self) -> usize {
        1
    }

    /// Rewrites the log without what `keep` does not keep.
    pub fn compact(&self, keep: &mut dyn FnMut(&Entry) -> Keep) -> Result<Compacted> {
        let mut compacted =
            Compacted { segments_before: 1, segments_after: 1, ..Default::default() };
        compacted.bytes_before = self.bytes();
        self.shared.state.lock().entries.retain_mut(|entry| match keep(entry) {
            Keep::Yes => true,
            Keep::No => {
                compacted.removed += 1;
                false
            }
            Keep::Replace(payload) => {
                compacted.replaced += 1;
                entry.payload = payload;
                true
            }
        });
        compacted.bytes_after = self.bytes();
        Ok(compacted)
    }

    /// Drops whole old segments that hold nothing from `sequence` on, and returns the first
    /// sequence that the log still covers.
    pub fn truncate_before(&self, _sequence: u64) -> Result<u64> {
        Ok(self.first_sequence())
    }
}

/// The entries of a log, in order. `None` means that there are no more for now: more appends
/// later make it go on.
#[derive(Debug)]
pub struct Entries {
    shared: Arc<Shared>,
    after: u64,
}

impl Iterator for Entries {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        let state = self.shared.state.lock();
        let at = state.entries.partition_point(|it| it.sequence <= self.after);
        let entry = state.entries.get(at)?.clone();
        self.after = entry.sequence;
        Some(Ok(entry))
    }
}

fn encode(bytes: &mut Vec<u8>, sequence: u64, record: &Record<'_>) {
    let start = bytes.len();
    bytes.extend((record.payload.len() as u32).to_le_bytes());
    bytes.extend(sequence.to_le_bytes());
    bytes.extend([record.kind, record.version]);
    bytes.extend(record.payload);
    bytes.extend(crc32c::crc32c(&bytes[start..]).to_le_bytes());
}

fn decode(bytes: &[u8]) -> (Vec<Entry>, usize) {
    let mut entries = Vec::new();
    let mut at = 0;
    while let Some(head) = bytes[at..].first_chunk::<14>() {
        let len = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let Some(frame) = bytes.get(at..at + len + 18) else { break };
        let (body, crc) = frame.split_at(len + 14);
        if crc32c::crc32c(body).to_le_bytes() != crc {
            break;
        }
        let mut sequence = [0; 8];
        sequence.copy_from_slice(&head[4..12]);
        let sequence = u64::from_le_bytes(sequence);
        entries.push(Entry {
            sequence,
            kind: head[12],
            version: head[13],
            payload: body[14..].to_vec(),
        });
        at += frame.len();
    }
    (entries, at)
}
