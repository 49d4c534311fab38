//! The index on disk, so that opening need not read every file.
//!
//! One file: magic, version, numbers, text indexes, facts, and a CRC-32C over all of it. A file
//! that is not whole is no snapshot: the project is read again instead.

use std::fs;
use std::io;
use std::path::Path;

use waypost_derived::files::{sync_dir, write_synced};
use waypost_ranking::{Slots, TextIndex};

use crate::codec::{Malformed, Reader, Writer};
use crate::index::{ChunkFact, FileFact, Flags, Holds, Index, Words};
use crate::store::kind;
use crate::{Error, Kind, Result, Stat};

const MAGIC: &[u8] = b"waypost-context\n";
const VERSION: u64 = 2;

/// What is kept beside the index.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Notes {
    pub(crate) indexed_at: Option<i64>,
    /// What extraction and rules were set to: another setting makes another index.
    pub(crate) settings: u64,
}

/// Reads a snapshot; `Ok(None)` if there is none, the reason if it is not whole.
pub(crate) fn load(path: &Path) -> std::result::Result<Option<(Index, Notes)>, String> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("the index cannot be read: {error}")),
    };
    decode(&bytes).map(Some).map_err(|it| format!("the index is damaged: {}", it.0))
}

/// Puts a snapshot in the place of the one before.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let unfinished = path.with_extension("new");
    write_synced(&unfinished, bytes)?;
    fs::rename(&unfinished, path).map_err(|it| Error::io(path, it))?;
    Ok(path.parent().map_or(Ok(()), sync_dir)?)
}

pub(crate) fn encode(index: &Index, notes: &Notes) -> Vec<u8> {
    let mut out = Writer::default();
    out.raw(MAGIC);
    out.number(VERSION);
    out.optional(notes.indexed_at);
    out.number(notes.settings);
    let (file, chunk) = index.numbers();
    out.number(file);
    out.number(chunk);
    out.bytes(&index.files.encode());
    out.bytes(&index.chunks.encode());
    for which in Words::ALL {
        out.bytes(&index.words(which).encode());
    }
    out.number(index.files.len() as u64);
    for (slot, file) in index.files() {
        out.number(slot.into());
        encode_file(&mut out, file);
        out.number(file.chunks.len() as u64);
        for &slot in &file.chunks {
            out.number(slot.into());
            if let Some(chunk) = index.chunk(slot) {
                encode_chunk(&mut out, chunk);
            }
        }
    }
    let sum = crc32c::crc32c(&out.0);
    out.raw(&sum.to_le_bytes());
    out.0
}

fn decode(bytes: &[u8]) -> std::result::Result<(Index, Notes), Malformed> {
    let (content, sum) = bytes.split_last_chunk::<4>().ok_or(Malformed("it is cut short"))?;
    let mut input = Reader::new(content);
    if input.take(MAGIC.len())? != MAGIC {
        return Err(Malformed("it is something else"));
    }
    if input.number()? != VERSION {
        return Err(Malformed("it is of another version"));
    }
    if crc32c::crc32c(content) != u32::from_le_bytes(*sum) {
        return Err(Malformed("its checksum is wrong"));
    }
    let notes = Notes { indexed_at: input.optional()?, settings: input.number()? };
    let numbers = (input.number()?, input.number()?);
    let unusable = |_| Malformed("a part of it is damaged");
    let files = Slots::decode(input.bytes()?).map_err(unusable)?;
    let chunks = Slots::decode(input.bytes()?).map_err(unusable)?;
    let mut words: [TextIndex; 5] = Default::default();
    for index in &mut words {
        *index = TextIndex::decode(input.bytes()?).map_err(unusable)?;
    }
    let mut index = Index::default();
    let bounds = (files.bound() as u64, chunks.bound() as u64);
    index.restore_words(files, chunks, numbers, words);
    let within = |slot: u64, bound: u64| match u32::try_from(slot) {
        Ok(it) if slot < bound => Ok(it),
        _ => Err(Malformed("a slot is out of range")),
    };
    for _ in 0..input.count()? {
        let slot = within(input.number()?, bounds.0)?;
        let mut file = decode_file(&mut input)?;
        let mut facts = Vec::new();
        for _ in 0..input.count()? {
            file.chunks.push(within(input.number()?, bounds.1)?);
            facts.push(decode_chunk(&mut input)?);
        }
        index.restore(slot, file, facts);
    }
    input.end()?;
    Ok((index, notes))
}

fn encode_file(out: &mut Writer, file: &FileFact) {
    out.text(&file.path);
    out.number(file.stat.bytes);
    out.signed(file.stat.modified_ns);
    out.number(file.stat.inode);
    out.signed(file.seen_at);
    out.raw(&file.hash);
    out.number(file.kind as u64);
    out.number(file.flags.to_bits());
    out.number(file.holds as u64);
    out.optional(file.date);
    out.optional(file.changed_at);
    out.number(file.frecency.to_bits().into());
    out.raw(&file.subjects.to_le_bytes());
    for keys in [&file.keys, &file.links, &file.replaces] {
        out.number(keys.len() as u64);
        for key in keys {
            out.raw(&key.to_le_bytes());
        }
    }
    out.number(file.redactions.len() as u64);
    for (kind, count) in &file.redactions {
        out.text(kind);
        out.number((*count).into());
    }
}

fn decode_file(input: &mut Reader<'_>) -> std::result::Result<FileFact, Malformed> {
    let path = input.text()?.into();
    let stat =
        Stat { bytes: input.number()?, modified_ns: input.signed()?, inode: input.number()? };
    let (seen_at, hash, kind) = (input.signed()?, input.array()?, kind(input)?);
    let flags = Flags::from_bits(input.number()?);
    let holds = Holds::ALL.get(input.small()? as usize).copied();
    let holds = holds.ok_or(Malformed("a standing is unknown"))?;
    let (date, changed_at) = (input.optional()?, input.optional()?);
    let frecency = f32::from_bits(input.small()?);
    let subjects = u64::from_le_bytes(input.array()?);
    let (keys, links, replaces) = (keys(input)?, keys(input)?, keys(input)?);
    let redactions = (0..input.count()?)
        .map(|_| Ok((input.text()?.into(), input.small()?)))
        .collect::<std::result::Result<_, _>>()?;
    let chunks = Vec::new();
    Ok(FileFact {
        path,
        stat,
        seen_at,
        hash,
        kind,
        flags,
        holds,
        date,
        changed_at,
        frecency,
        subjects,
        keys,
        links,
        replaces,
        redactions,
        chunks,
    })
}

fn keys(input: &mut Reader<'_>) -> std::result::Result<Box<[u64]>, Malformed> {
    (0..input.count()?).map(|_| input.array().map(u64::from_le_bytes)).collect()
}

fn encode_chunk(out: &mut Writer, chunk: &ChunkFact) {
    out.number(chunk.number.into());
    out.number(chunk.kind as u64);
    out.number(chunk.line.into());
    out.raw(&chunk.name.to_le_bytes());
    out.raw(&chunk.meaning);
    out.optional(chunk.date);
}

fn decode_chunk(input: &mut Reader<'_>) -> std::result::Result<ChunkFact, Malformed> {
    let (number, kind): (u32, Kind) = (input.small()?, kind(input)?);
    let (line, name) = (input.small()?, u64::from_le_bytes(input.array()?));
    let (meaning, date) = (input.array()?, input.optional()?);
    Ok(ChunkFact { file: 0, number, kind, line, name, meaning, date })
}
