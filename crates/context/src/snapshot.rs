//! The index on disk, so that opening need not read every file.
//!
//! One file: magic, version, numbers, text indexes, facts, and a CRC-32C over all of it. A file
//! that fails the check is not used: the project is read again instead.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use waypost_ranking::{Analyzer, Slots, TextIndex};
use waypost_time::Timestamp;

use crate::codec::{Malformed, Reader, Writer};
use crate::index::{ChunkFact, FileFact, Flags, Holds, Index, Words};
use crate::texts::{Mark, TextAt, kind};
use crate::{Kind, Stat};

const MAGIC: &[u8] = b"waypost-context\n";
const VERSION: u64 = 5 + Analyzer::VERSION as u64;

/// What is stored besides the index.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Notes {
    pub(crate) indexed_at: Option<Timestamp>,
    /// The settings of extraction and rules: other settings give another index.
    pub(crate) settings: u64,
    /// The text file that belongs to it.
    pub(crate) texts: Mark,
}

/// Reads a snapshot; `Ok(None)` if there is none, the reason if it is damaged.
pub(crate) fn load(path: &Path) -> Result<Option<(Index, Notes)>, String> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("cannot read the index: {error}")),
    };
    decode(&bytes).map(Some).map_err(|it| format!("the index is damaged: {}", it.0))
}

/// Writes a snapshot in parts: a buffer for all of it would be as large as the index.
pub(crate) fn encode(index: &Index, notes: &Notes, out: &mut impl Write) -> io::Result<()> {
    let mut out = Summed { out, sum: 0 };
    let mut part = Writer::default();
    part.raw(MAGIC);
    part.number(VERSION);
    part.optional_time(notes.indexed_at);
    part.number(notes.settings);
    part.number(notes.texts.generation);
    part.number(notes.texts.end);
    let (file, chunk) = index.numbers();
    part.number(file);
    part.number(chunk);
    part.bytes(&index.files.encode());
    part.bytes(&index.chunks.encode());
    for which in Words::ALL {
        let words = index.words(which).encode();
        part.number(words.len() as u64);
        out.take(&mut part)?;
        out.put(&words)?;
    }
    part.number(index.files.len() as u64);
    let mut expected = 0;
    for (slot, file) in index.files() {
        part.number(slot.into());
        encode_file(&mut part, file);
        part.number(file.chunks.len() as u64);
        for &slot in &file.chunks {
            part.number(slot.into());
            if let Some(chunk) = index.chunk(slot) {
                encode_chunk(&mut part, chunk, &mut expected);
            }
        }
        out.take(&mut part)?;
    }
    out.take(&mut part)?;
    let sum = out.sum.to_le_bytes();
    out.out.write_all(&sum)
}

/// Computes the checksum of what it writes.
struct Summed<'a, W> {
    out: &'a mut W,
    sum: u32,
}

impl<W: Write> Summed<'_, W> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum = crc32c::crc32c_append(self.sum, bytes);
        self.out.write_all(bytes)
    }

    fn take(&mut self, part: &mut Writer) -> io::Result<()> {
        self.put(&part.0)?;
        part.0.clear();
        Ok(())
    }
}

fn decode(bytes: &[u8]) -> Result<(Index, Notes), Malformed> {
    let (content, sum) = bytes.split_last_chunk::<4>().ok_or(Malformed("it is truncated"))?;
    let mut input = Reader::new(content);
    if input.take(MAGIC.len())? != MAGIC {
        return Err(Malformed("wrong file type"));
    }
    if input.number()? != VERSION {
        return Err(Malformed("unsupported version"));
    }
    if crc32c::crc32c(content) != u32::from_le_bytes(*sum) {
        return Err(Malformed("invalid checksum"));
    }
    let (indexed_at, settings) = (input.optional_time()?, input.number()?);
    let texts = Mark { generation: input.number()?, end: input.number()? };
    let notes = Notes { indexed_at, settings, texts };
    let numbers = (input.number()?, input.number()?);
    let unusable = |_| Malformed("a part of it is damaged");
    let files = Slots::decode(input.bytes()?).map_err(unusable)?;
    let chunks = Slots::decode(input.bytes()?).map_err(unusable)?;
    let mut words: [TextIndex; 4] = Default::default();
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
    let mut expected = 0;
    for _ in 0..input.count()? {
        let slot = within(input.number()?, bounds.0)?;
        let mut file = decode_file(&mut input)?;
        let mut facts = Vec::new();
        for _ in 0..input.count()? {
            file.chunks.push(within(input.number()?, bounds.1)?);
            facts.push(decode_chunk(&mut input, &mut expected)?);
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
    out.time(file.seen_at);
    out.raw(&file.hash);
    out.number(file.kind as u64);
    out.number(file.flags.to_bits());
    out.number(file.holds as u64);
    out.optional_time(file.date);
    out.optional_time(file.changed_at);
    out.number(file.frecency.to_bits().into());
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

fn decode_file(input: &mut Reader<'_>) -> Result<FileFact, Malformed> {
    let path = input.text()?.into();
    let stat =
        Stat { bytes: input.number()?, modified_ns: input.signed()?, inode: input.number()? };
    let (seen_at, hash, kind) = (input.time()?, input.array()?, kind(input)?);
    let flags = Flags::from_bits(input.number()?);
    let holds = Holds::ALL.get(input.small()? as usize).copied();
    let holds = holds.ok_or(Malformed("a standing is unknown"))?;
    let (date, changed_at) = (input.optional_time()?, input.optional_time()?);
    let frecency = f32::from_bits(input.small()?);
    let (keys, links, replaces) = (keys(input)?, keys(input)?, keys(input)?);
    let redactions = (0..input.count()?)
        .map(|_| Ok((input.text()?.into(), input.small()?)))
        .collect::<Result<_, _>>()?;
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
        keys,
        links,
        replaces,
        redactions,
        chunks,
    })
}

fn keys(input: &mut Reader<'_>) -> Result<Box<[u64]>, Malformed> {
    (0..input.count()?).map(|_| input.array().map(u64::from_le_bytes)).collect()
}

/// `expected` is the start of the chunk's text if it directly follows the previous one.
fn encode_chunk(out: &mut Writer, chunk: &ChunkFact, expected: &mut u64) {
    let TextAt { offset, bytes } = chunk.text;
    out.signed(offset.wrapping_sub(*expected).cast_signed());
    out.number(bytes.into());
    *expected = offset.wrapping_add(bytes.into());
    out.number(chunk.kind as u64);
    out.number(chunk.line.into());
    out.raw(&chunk.name.to_le_bytes());
    out.raw(&chunk.meaning);
    out.optional_time(chunk.date);
    out.flag(chunk.is_bare);
}

fn decode_chunk(input: &mut Reader<'_>, expected: &mut u64) -> Result<ChunkFact, Malformed> {
    let offset = expected.wrapping_add_signed(input.signed()?);
    let text = TextAt { offset, bytes: input.small()? };
    *expected = offset.wrapping_add(text.bytes.into());
    let kind: Kind = kind(input)?;
    let (line, name) = (input.small()?, u64::from_le_bytes(input.array()?));
    let (meaning, date, is_bare) = (input.array()?, input.optional_time()?, input.flag()?);
    Ok(ChunkFact { file: 0, text, kind, line, name, meaning, date, is_bare })
}
