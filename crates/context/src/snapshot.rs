//! The index on disk, so that opening need not read every file.
//!
//! One file: magic, version, numbers, text indexes, facts, and a CRC-32C over all of it. A file
//! that fails the check is not used: the project is read again instead.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use waypost_ranking::{Analyzer, Slot, Slots, TextIndex};
use waypost_time::{Timestamp, millis};

use crate::index::{ChunkFact, FileFact, Index, Words};
use crate::texts::Mark;

const MAGIC: &[u8] = b"waypost-context\n";
const VERSION: u32 = 6 + Analyzer::VERSION;

/// What is stored besides the index.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Notes {
    #[serde(with = "millis::optional")]
    pub(crate) indexed_at: Option<Timestamp>,
    /// The settings of extraction and rules: other settings give another index.
    pub(crate) settings: u64,
    /// The text file that belongs to it.
    pub(crate) texts: Mark,
}

/// A file with its chunks, in the slots that the file names.
#[derive(Deserialize)]
struct Entry {
    slot: Slot,
    path: String,
    file: FileFact,
    chunks: Vec<ChunkFact>,
}

/// Reads a snapshot; `Ok(None)` if there is none, the reason if it is damaged.
pub(crate) fn load(path: &Path) -> Result<Option<(Index, Notes)>, String> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("cannot read the index: {error}")),
    };
    decode(&bytes).map(Some).map_err(|why| format!("the index is damaged: {why}"))
}

/// Writes a snapshot in parts: a buffer for all of it would be as large as the index.
pub(crate) fn encode(index: &Index, notes: &Notes, out: &mut impl Write) -> io::Result<()> {
    let mut out = Summed { out, sum: 0 };
    out.write_all(MAGIC)?;
    out.write_all(&VERSION.to_le_bytes())?;
    put(&mut out, &(notes, index.next_file, index.next_chunk))?;
    for part in [index.files.encode(), index.chunks.encode()] {
        put_bytes(&mut out, &part)?;
    }
    for which in Words::ALL {
        put_bytes(&mut out, &index.words(which).encode())?;
    }
    put(&mut out, &index.files.len())?;
    for (slot, file) in index.files() {
        let chunks: Vec<&ChunkFact> =
            file.chunks.iter().filter_map(|chunk| index.chunk(*chunk)).collect();
        put(&mut out, &(slot, &*file.path, file, chunks))?;
    }
    let sum = out.sum.to_le_bytes();
    out.out.write_all(&sum)
}

/// Computes the checksum of what it writes.
struct Summed<'a, W> {
    out: &'a mut W,
    sum: u32,
}

impl<W: Write> Write for Summed<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.sum = crc32c::crc32c_append(self.sum, &bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn put(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    out.write_all(&postcard::to_extend(value, Vec::new()).map_err(io::Error::other)?)
}

fn put_bytes(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    put(out, &bytes.len())?;
    out.write_all(bytes)
}

fn decode(bytes: &[u8]) -> Result<(Index, Notes), &'static str> {
    let (content, sum) = bytes.split_last_chunk::<4>().ok_or("it is truncated")?;
    let rest = content.strip_prefix(MAGIC).ok_or("wrong file type")?;
    let mut rest = rest.strip_prefix(&VERSION.to_le_bytes()).ok_or("unsupported version")?;
    if crc32c::crc32c(content) != u32::from_le_bytes(*sum) {
        return Err("invalid checksum");
    }
    let unusable = |_| "a part of it is damaged";
    let (notes, next_file, next_chunk) = take(&mut rest)?;
    let files = Slots::decode(take_bytes(&mut rest)?).map_err(unusable)?;
    let chunks = Slots::decode(take_bytes(&mut rest)?).map_err(unusable)?;
    let mut words: [TextIndex; 4] = Default::default();
    for index in &mut words {
        *index = TextIndex::decode(take_bytes(&mut rest)?).map_err(unusable)?;
    }
    let bounds = (files.bound(), chunks.bound());
    let mut index = Index::default();
    (index.files, index.chunks, index.words) = (files, chunks, words);
    (index.next_file, index.next_chunk) = (next_file, next_chunk);
    for _ in 0..take::<usize>(&mut rest)? {
        let Entry { slot, path, file, chunks } = take(&mut rest)?;
        let file = FileFact { path: path.into(), ..file };
        let is_within = (slot as usize) < bounds.0
            && file.chunks.len() == chunks.len()
            && file.chunks.iter().all(|chunk| (*chunk as usize) < bounds.1);
        if !is_within {
            return Err("a slot is out of range");
        }
        index.restore(slot, file, chunks);
    }
    if rest.is_empty() { Ok((index, notes)) } else { Err("trailing bytes") }
}

fn take<T: DeserializeOwned>(input: &mut &[u8]) -> Result<T, &'static str> {
    let (value, rest) = postcard::take_from_bytes(input).map_err(|_| "a value is malformed")?;
    *input = rest;
    Ok(value)
}

fn take_bytes<'a>(input: &mut &'a [u8]) -> Result<&'a [u8], &'static str> {
    let count = take(input)?;
    let (bytes, rest) = input.split_at_checked(count).ok_or("it is truncated")?;
    *input = rest;
    Ok(bytes)
}
