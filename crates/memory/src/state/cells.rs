//! The part of the state that is in memory, and its packing for sled.
//!
//! The rows of 16 consecutive ids, heads and newest versions, are one value in sled: a tree with
//! few large values is written, opened and scanned several times faster than one with many small
//! ones. They have the same packed form in memory as on disk, about 90 bytes per memory. The set of
//! existing texts is not stored, because it follows from the heads.

use std::borrow::Cow;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use waypost_projection::Write;

use crate::MemoryId;
use crate::codec::{Malformed, Reader, Writer};
use crate::state::keys::{self, Head};

/// The prefix of packed rows in sled, followed by the number of the block.
pub(crate) const BLOCKS: &[u8] = b"b";
/// Number of ids in a block.
const IDS_PER_BLOCK: u64 = 16;

type Read<T> = Result<T, Malformed>;

/// Keys and values.
pub(crate) type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// The heads, the newest versions, the counters and the set of existing texts.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    /// Shared with those who read them as of an earlier moment.
    blocks: BTreeMap<u64, Arc<[u8]>>,
    duplicates: BTreeSet<([u8; 16], u64)>,
    counters: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// Where the value of a key is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Here(Option<Vec<u8>>),
    /// In sled, if anywhere.
    InSled,
}

/// A write, prepared for sled and then for memory.
#[derive(Debug, Default)]
pub(crate) struct Staged {
    pub(crate) rows: Vec<Write>,
    blocks: Vec<(u64, Arc<[u8]>)>,
    duplicates: Vec<([u8; 16], u64, bool)>,
    counters: Vec<Write>,
}

/// The part of a block for one id. An empty head or version does not exist.
#[derive(Debug, Clone, Default)]
struct Row<'a> {
    head: Cow<'a, [u8]>,
    version: u32,
    stored: Cow<'a, [u8]>,
}

impl Cells {
    /// Loads a row from sled; ignores prefixes that are not kept in memory.
    pub(crate) fn load(&mut self, key: &[u8], value: &[u8]) -> Read<()> {
        match key.split_first() {
            Some((b'b', number)) => {
                let number = u64_of(number)?;
                for (id, row) in rows_of(number, value)? {
                    let Some(head) = row.head() else { continue };
                    let head = Head::decode(head)?;
                    if head.deleted_at.is_none() {
                        self.duplicates.insert((head.duplicate, id));
                    }
                }
                self.blocks.insert(number, value.into());
            }
            Some((b's' | b'm', _)) => {
                self.counters.insert(key.to_vec(), value.to_vec());
            }
            _ => {}
        }
        Ok(())
    }

    /// The heads and the newest versions as of now. Copies none of them: 32 bytes for 16 ids.
    pub(crate) fn frozen(&self) -> Self {
        Self { blocks: self.blocks.clone(), ..Self::default() }
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &[u8]) -> Read<Found> {
        let value = match key.split_first() {
            Some((b'h', id)) => {
                self.row(u64_of(id)?)?.and_then(|row| row.head().map(<[u8]>::to_vec))
            }
            Some((b'v', rest)) => {
                let (id, version) = rest.split_at_checked(8).ok_or(Malformed("a key is short"))?;
                let row = self.row(u64_of(id)?)?.filter(|row| row.version.to_be_bytes() == version);
                match row {
                    Some(row) => Some(row.stored.into_owned()),
                    None => return Ok(Found::InSled),
                }
            }
            Some((b'd', rest)) => {
                let (hash, id) = rest.split_at_checked(16).ok_or(Malformed("a key is short"))?;
                let hash = hash.try_into().map_err(|_| Malformed("a key is short"))?;
                self.duplicates.contains(&(hash, u64_of(id)?)).then(Vec::new)
            }
            Some((b's' | b'm', _)) => self.counters.get(key).cloned(),
            _ => return Ok(Found::InSled),
        };
        Ok(Found::Here(value))
    }

    /// The keys and values with a prefix that are in memory, in order. `None` if those of the
    /// prefix are only in sled.
    pub(crate) fn scan(&self, prefix: &[u8]) -> Read<Option<Pairs>> {
        Ok(Some(match prefix.split_first() {
            Some((b'd', hash)) => {
                let hash = hash.try_into().map_err(|_| Malformed("a prefix is not a hash"))?;
                let ids = self.duplicates.range((hash, 0)..=(hash, u64::MAX));
                ids.map(|(_, id)| (keys::duplicate_of(hash, *id), Vec::new())).collect()
            }
            Some((b'v', id)) => {
                let number = u64_of(id)?;
                let row = self.row(number)?.filter(|row| !row.stored.is_empty());
                row.map(|row| (version_key(number, row.version), row.stored.into_owned()))
                    .into_iter()
                    .collect()
            }
            Some((b's' | b'm', _)) => {
                let from = self.counters.range(prefix.to_vec()..);
                let with = from.take_while(|(key, _)| key.starts_with(prefix));
                with.map(|(key, value)| (key.clone(), value.clone())).collect()
            }
            _ => return Ok(None),
        }))
    }

    /// The heads of the first block that has ids from `from` on, and the id after that block.
    pub(crate) fn heads_from(&self, from: u64) -> Read<Option<Heads>> {
        let block = self.blocks.range(from / IDS_PER_BLOCK..).next();
        let Some((&number, block)) = block else { return Ok(None) };
        let mut heads = Vec::with_capacity(IDS_PER_BLOCK as usize);
        let mut input = Reader::new(block);
        while !input.is_empty() {
            let (at, row) = read_row(&mut input)?;
            let id = number * IDS_PER_BLOCK + at;
            if let Some(head) = row.head().filter(|_| id >= from) {
                let id = MemoryId::new(id).ok_or(Malformed("an id is out of range"))?;
                heads.push((id, Head::decode(head)?));
            }
        }
        Ok(Some(((number + 1) * IDS_PER_BLOCK, heads)))
    }

    fn row(&self, id: u64) -> Read<Option<Row<'_>>> {
        let Some(block) = self.blocks.get(&(id / IDS_PER_BLOCK)) else { return Ok(None) };
        let mut input = Reader::new(block);
        while !input.is_empty() {
            let (at, row) = read_row(&mut input)?;
            if at == id % IDS_PER_BLOCK {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    /// Prepares the effect of a write. Nothing changes before [`Self::take`].
    pub(crate) fn stage(&self, writes: &[Write]) -> Read<Staged> {
        let mut staged = Staged::default();
        let mut blocks: BTreeMap<u64, BTreeMap<u64, Row<'_>>> = BTreeMap::new();
        for (key, value) in writes {
            let Some((prefix, rest)) = key.split_first() else { continue };
            match prefix {
                b'h' | b'v' => {
                    let id = u64_of(rest.get(..8).unwrap_or_default())?;
                    let number = id / IDS_PER_BLOCK;
                    let rows = match blocks.entry(number) {
                        Entry::Occupied(it) => it.into_mut(),
                        Entry::Vacant(it) => {
                            let old = self.blocks.get(&number).map_or(&[][..], |block| block);
                            it.insert(rows_of(number, old)?.into_iter().collect())
                        }
                    };
                    let row = rows.entry(id).or_default();
                    let value = value.as_deref().unwrap_or_default();
                    if *prefix == b'h' {
                        row.head = value.to_vec().into();
                    } else {
                        staged.put_version(row, id, rest, value);
                    }
                }
                b'd' => {
                    let (hash, id) = rest.split_first_chunk().ok_or(Malformed("a key is short"))?;
                    staged.duplicates.push((*hash, u64_of(id)?, value.is_some()));
                }
                b's' | b'm' => {
                    staged.counters.push((key.clone(), value.clone()));
                    staged.rows.push((key.clone(), value.clone()));
                }
                _ => staged.rows.push((key.clone(), value.clone())),
            }
        }
        for (number, rows) in blocks {
            let block = pack(&rows);
            staged.rows.push((block_key(number), Some(block.clone())));
            staged.blocks.push((number, block.into()));
        }
        Ok(staged)
    }

    /// Applies a write that sled has accepted.
    pub(crate) fn take(&mut self, staged: Staged) {
        self.blocks.extend(staged.blocks);
        for (hash, id, is_there) in staged.duplicates {
            if is_there {
                self.duplicates.insert((hash, id));
            } else {
                self.duplicates.remove(&(hash, id));
            }
        }
        for (key, value) in staged.counters {
            match value {
                Some(value) => self.counters.insert(key, value),
                None => self.counters.remove(&key),
            };
        }
    }
}

/// The id to continue from, and the heads before it.
pub(crate) type Heads = (u64, Vec<(MemoryId, Head)>);

impl Staged {
    /// The newest version stays in the block; an older one gets a separate row.
    fn put_version(&mut self, row: &mut Row<'_>, id: u64, rest: &[u8], value: &[u8]) {
        let version = rest.last_chunk().copied().map_or(0, u32::from_be_bytes);
        if version >= row.version {
            let before = std::mem::replace(&mut row.version, version);
            let old = std::mem::replace(&mut row.stored, value.to_vec().into());
            if before < version && !old.is_empty() {
                self.rows.push((version_key(id, before), Some(old.into_owned())));
            }
        } else {
            self.rows.push((version_key(id, version), Some(value.to_vec())));
        }
    }
}

impl Row<'_> {
    fn head(&self) -> Option<&[u8]> {
        Some(&*self.head).filter(|head| !head.is_empty())
    }
}

fn block_key(number: u64) -> Vec<u8> {
    [BLOCKS, &number.to_be_bytes()].concat()
}

fn version_key(id: u64, version: u32) -> Vec<u8> {
    [b"v", &id.to_be_bytes()[..], &version.to_be_bytes()].concat()
}

fn u64_of(bytes: &[u8]) -> Read<u64> {
    let bytes = bytes.first_chunk().ok_or(Malformed("a key is too short"))?;
    Ok(u64::from_be_bytes(*bytes))
}

/// Ids are stored in one byte, relative to the first id of the block.
fn pack(rows: &BTreeMap<u64, Row<'_>>) -> Vec<u8> {
    let mut out = Writer::new();
    for (id, row) in rows {
        out.u8((id % IDS_PER_BLOCK) as u8);
        out.bytes(&row.head);
        out.u32(row.version);
        out.bytes(&row.stored);
    }
    out.into_bytes()
}

fn rows_of(number: u64, block: &[u8]) -> Read<Vec<(u64, Row<'_>)>> {
    let mut input = Reader::new(block);
    let mut rows = Vec::with_capacity(IDS_PER_BLOCK as usize);
    while !input.is_empty() {
        let (at, row) = read_row(&mut input)?;
        let id = number.checked_mul(IDS_PER_BLOCK).and_then(|product| product.checked_add(at));
        rows.push((id.ok_or(Malformed("a block's number is out of range"))?, row));
    }
    Ok(rows)
}

fn read_row<'a>(input: &mut Reader<'a>) -> Read<(u64, Row<'a>)> {
    let at = u64::from(input.u8()?);
    if at >= IDS_PER_BLOCK {
        return Err(Malformed("a row is in a wrong block"));
    }
    let head = Cow::Borrowed(input.bytes()?);
    let version = input.u32()?;
    Ok((at, Row { head, version, stored: Cow::Borrowed(input.bytes()?) }))
}
