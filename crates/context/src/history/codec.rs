//! Encodes a history.
//!
//! `magic version crc` and then, as variable-length numbers (seven bits a byte, lowest first) and
//! length-prefixed texts: the prefix, HEAD, whether it is truncated; the sorted paths, each with
//! the length of the prefix that it shares with the one before; the records, each with its paths as
//! deltas; the pairs of paths that moved. What derives from these is recomputed.

use std::collections::BTreeMap;

use super::COMMITS_MAX;
use super::History;
use super::record::Record;

const MAGIC: &[u8; 4] = b"WPgh";
const VERSION: u16 = 2;
const HEADER_BYTES: usize = MAGIC.len() + 2 + 4;

pub(super) fn encode(history: &History) -> Vec<u8> {
    let mut out = Writer(Vec::new());
    out.text(&history.prefix);
    out.text(&history.head);
    out.number(u64::from(history.truncated));
    out.number(history.paths.len() as u64);
    let mut before = "";
    for path in &history.paths {
        let shared = shared(before, path);
        out.number(shared as u64);
        out.text(&path[shared..]);
        before = path;
    }
    out.number(history.records.len() as u64);
    for record in &history.records {
        out.text(&record.id);
        out.number(record.time as u64);
        out.text(&record.subject);
        out.text(&record.body);
        out.number(u64::from(record.whole));
        out.number(record.paths.len() as u64);
        let mut next = 0;
        for &path in &record.paths {
            out.number(u64::from(path - next));
            next = path + 1;
        }
    }
    out.number(history.moved.len() as u64);
    for (&from, &to) in &history.moved {
        out.number(u64::from(from));
        out.number(u64::from(to));
    }
    let mut bytes = Vec::with_capacity(HEADER_BYTES + out.0.len());
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend(crc32c::crc32c(&out.0).to_le_bytes());
    bytes.extend(out.0);
    bytes
}

pub(super) fn decode(bytes: &[u8]) -> Option<History> {
    let (header, bytes) = bytes.split_at_checked(HEADER_BYTES)?;
    let header = header.strip_prefix(MAGIC)?.strip_prefix(&VERSION.to_le_bytes())?;
    if header != crc32c::crc32c(bytes).to_le_bytes() {
        return None;
    }
    let mut bytes = Reader(bytes);
    let prefix = bytes.text()?.to_owned();
    let head = bytes.text()?.to_owned();
    let truncated = bytes.flag()?;
    let mut paths: Vec<Box<str>> = Vec::new();
    for _ in 0..bytes.number()? {
        let before = paths.last().map_or("", |it| &**it);
        let path = before.get(..bytes.length()?)?.to_owned() + bytes.text()?;
        if paths.last().is_some_and(|it| **it >= *path) {
            return None;
        }
        paths.push(path.into());
    }
    let mut records = Vec::new();
    for _ in 0..bytes.number()? {
        records.push(record(&mut bytes, paths.len())?);
    }
    let mut moved = BTreeMap::new();
    for _ in 0..bytes.number()? {
        moved.insert(place(&mut bytes, paths.len())?, place(&mut bytes, paths.len())?);
    }
    let whole = bytes.0.is_empty() && records.len() <= COMMITS_MAX;
    whole.then(|| History::derive(prefix, head, (paths, moved), records, truncated))
}

/// A position among the paths.
fn place(bytes: &mut Reader<'_>, paths: usize) -> Option<u32> {
    u32::try_from(bytes.length()?).ok().filter(|&it| (it as usize) < paths)
}

fn record(bytes: &mut Reader<'_>, paths: usize) -> Option<Record> {
    let id = bytes.text()?.into();
    let time = i64::try_from(bytes.number()?).ok()?;
    let (subject, body) = (bytes.text()?.into(), bytes.text()?.into());
    let whole = bytes.flag()?;
    let mut record = Record { id, time, subject, body, paths: Vec::new(), whole };
    let mut next = 0_usize;
    for _ in 0..bytes.number()? {
        let path = next.checked_add(bytes.length()?)?;
        record.paths.push(u32::try_from(path).ok().filter(|_| path < paths)?);
        next = path + 1;
    }
    Some(record)
}

/// The length of the common prefix of two texts, up to a character boundary.
fn shared(one: &str, other: &str) -> usize {
    let bytes = one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count();
    (0..=bytes).rev().find(|&it| one.is_char_boundary(it)).unwrap_or_default()
}

struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn length(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    fn text(&mut self) -> Option<&'a str> {
        let length = self.length()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        std::str::from_utf8(text).ok()
    }

    fn flag(&mut self) -> Option<bool> {
        match self.number()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}
