//! Finished blocks and idempotency keys on disk, derived from the log.
//!
//! | key | value |
//! |---|---|
//! | `b`, block, type, 0, part | the offsets of a type's events in a block |
//! | `h`, block | what stays in memory of a block; written after all of its offsets |
//! | `k`, last id | keys, up to 1,000 |
//! | `p` | up to which event keys are here |
//!
//! Numbers in keys are big-endian, so that they are in order.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use waypost_projection::files::dir_bytes;
use waypost_projection::{Options, Tree, Unusable, boot_id, remove_leftovers, set_aside};
use waypost_time::Timestamp;

use super::block::{Block, Pick, Summary, TYPES_MAX};
use super::{Look, Wanted, ids_of};
use crate::codec::{Input, Malformed, put_number, put_time};
use crate::keys::{Keyed, Use};
use crate::{Error, Result};

const VALUE_VERSION: u8 = 1;
const CACHE_BYTES: u64 = 16 << 20;
/// Offsets in one row: less than 40 KiB.
const OFFSETS_AT_ONCE: usize = 32_768;
/// Keys in one row: less than 50 KiB.
const KEYS_AT_ONCE: usize = 1000;
/// A tree that takes more than eight times its log's bytes is rebuilt, unless it is smaller than
/// this.
const OUTGROWN_BYTES_MIN: u64 = 256 << 20;
/// A tree smaller than this is not rewritten to release space.
const REWRITE_BYTES_MIN: u64 = 32 << 20;

const POSITION: &[u8] = b"p";

/// The tree.
#[derive(Debug)]
pub(crate) struct BlockStore {
    dir: PathBuf,
    tree: Tree,
}

/// The contents of the block store at opening.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// The number of the first block, and the blocks' summaries in order.
    pub(crate) first_block: u64,
    pub(crate) blocks: Vec<Summary>,
    /// Every key, in order of its event.
    pub(crate) keys: Vec<(u128, Use)>,
    /// Keys of events up to this one are stored.
    pub(crate) keys_to: u64,
}

/// The block store as found on disk, before the log is opened.
#[derive(Debug)]
pub(crate) struct Found {
    dir: PathBuf,
    /// `None` if there is no tree.
    tree: Option<std::result::Result<(BlockStore, Kept), Unusable>>,
}

impl Found {
    /// Opens the tree in `dir`, if there is one.
    pub(crate) fn look(dir: &Path) -> Result<Self> {
        remove_leftovers(dir)?;
        let tree = if dir.exists() { Some(BlockStore::open_here(dir)?) } else { None };
        Ok(Self { dir: dir.to_path_buf(), tree })
    }

    /// The last event that the tree covers, 0 for none. The log had it on disk before.
    pub(crate) fn reached(&self) -> u64 {
        match &self.tree {
            Some(Ok((_, kept))) => kept.keys_to.max(kept.indexed_to()),
            _ => 0,
        }
    }

    /// Why the tree cannot be used, if so, with a log that contains the events `first` to `last`.
    /// Reads the whole tree.
    pub(crate) fn check(&self, first: u64, last: u64) -> Option<String> {
        match self.tree.as_ref()? {
            Err(Unusable(why)) => Some(why.clone()),
            Ok((store, kept)) => store.check_all(kept, first, last).err().map(|Unusable(why)| why),
        }
    }

    /// Leaves the tree as it is.
    pub(crate) fn close(self) -> Result<()> {
        match self.tree {
            Some(Ok((store, _))) => store.close(),
            _ => Ok(()),
        }
    }

    /// Starts to use the tree with a log of `log_bytes` that contains the events `first` to `last`.
    /// If the tree cannot be used, sets it aside, creates an empty one, and returns the reason.
    pub(crate) fn accept(
        self,
        log_bytes: u64,
        (first, last): (u64, u64),
    ) -> Result<(BlockStore, Kept, Option<String>)> {
        let Self { dir, tree } = self;
        let why = match tree {
            None => (last >= first).then(|| "missing".to_owned()),
            Some(Err(Unusable(why))) => Some(why),
            Some(Ok((store, kept))) => {
                let outgrown = dir_bytes(&dir) > OUTGROWN_BYTES_MIN.max(8 * log_bytes);
                let fits = if outgrown {
                    Err(Unusable("it takes too much space".to_owned()))
                } else {
                    kept.check(first, last)
                };
                match fits {
                    Ok(()) => return Ok((store, kept, None)),
                    Err(Unusable(why)) => {
                        store.tree.release();
                        Some(why)
                    }
                }
            }
        };
        if dir.exists() {
            set_aside(&dir)?;
        }
        let (store, kept) = BlockStore::open_here(&dir)?.map_err(broken)?;
        Ok((store, kept, why))
    }
}

impl BlockStore {
    fn open_here(dir: &Path) -> Result<std::result::Result<(Self, Kept), Unusable>> {
        if let Some(parent) = dir.parent() {
            fs::create_dir_all(parent).map_err(|error| Error::io(parent, error))?;
        }
        let options = Options::new(VALUE_VERSION).with_cache_bytes(CACHE_BYTES);
        let tree = match Tree::open(dir, &options, &boot_id())? {
            Ok(tree) => tree,
            Err(unusable) => return Ok(Err(unusable)),
        };
        let store = Self { dir: dir.to_path_buf(), tree };
        Ok(match store.load() {
            Ok(kept) => Ok((store, kept)),
            Err(error) => {
                store.tree.release();
                Err(Unusable(error.to_string()))
            }
        })
    }

    /// Reads every row, and compares each block with its summary.
    fn check_all(&self, kept: &Kept, first: u64, last: u64) -> std::result::Result<(), Unusable> {
        let unusable = |display: &dyn std::fmt::Display| Unusable(display.to_string());
        kept.check(first, last)?;
        self.tree.verify().map_err(|error| unusable(&error))?;
        for (number, summary) in (kept.first_block..).zip(&kept.blocks) {
            if !self.is_whole(number, summary).map_err(|error| unusable(&error))? {
                return Err(Unusable(format!("block {number} lacks rows")));
            }
        }
        Ok(())
    }

    fn load(&self) -> Result<Kept> {
        let mut kept = Kept::default();
        let mut next = None;
        self.tree.scan(b"h", &mut |key, value| {
            let number = number_of(key)?;
            if next.is_some_and(|next| next != number) {
                return Err(damaged(Malformed("a block is missing")));
            }
            if next.is_none() {
                kept.first_block = number;
            }
            next = Some(number + 1);
            kept.blocks.push(Summary::decode(value).map_err(damaged)?);
            Ok(ControlFlow::Continue(()))
        })?;
        self.tree.scan(b"k", &mut |_, value| {
            decode_keys(value, &mut kept.keys).map_err(damaged)?;
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        if let Some(value) = self.tree.get(POSITION)? {
            kept.keys_to = Input(&value).number().map_err(damaged)?;
        }
        Ok(kept)
    }

    /// Stores a finished block.
    pub(crate) fn put(&self, number: u64, block: &Block, summary: &Summary) -> Result<()> {
        for (kind, offsets) in block.kinds() {
            for (part, some) in offsets.chunks(OFFSETS_AT_ONCE).enumerate() {
                let key = [&block_prefix(number)[..], kind.as_bytes(), &[0, part as u8]].concat();
                self.tree.write(vec![(key, Some(encode_offsets(some)))])?;
            }
        }
        let key = [b"h", &number.to_be_bytes()[..]].concat();
        Ok(self.tree.write(vec![(key, Some(summary.encode()))])?)
    }

    /// Looks up a stored block.
    pub(crate) fn look(&self, number: u64, wanted: &Wanted<'_>) -> Result<Look> {
        let Some(pattern) = wanted.pattern else { return Ok(Look::All) };
        let (base, end) = ids_of(number).into_inner();
        let range = wanted.from.saturating_sub(base)..=wanted.to.min(end).saturating_sub(base);
        let mut prefix = [&block_prefix(number)[..], pattern.literal().as_bytes()].concat();
        if pattern.is_exact() {
            prefix.push(0);
        }
        let mut pick = Pick::new(&range, wanted.count, wanted.newest);
        let (mut kinds, mut last, mut offsets) = (0, Vec::new(), Vec::new());
        self.tree.scan(&prefix, &mut |key, value| {
            let kind = key.get(9..key.len().saturating_sub(2)).unwrap_or_default();
            if kinds == 0 || kind != last.as_slice() {
                pick.add(&offsets);
                offsets.clear();
                last = kind.to_vec();
                kinds += 1;
                if kinds > TYPES_MAX {
                    return Ok(ControlFlow::Break(()));
                }
            }
            decode_offsets(value, &mut offsets).map_err(damaged)?;
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        if kinds > TYPES_MAX {
            return Ok(Look::All);
        }
        pick.add(&offsets);
        Ok(Look::of(base, pick.finish()))
    }

    /// Whether all events of a block are stored: a row may have been lost without a trace.
    pub(crate) fn is_whole(&self, number: u64, summary: &Summary) -> Result<bool> {
        let mut count = 0;
        self.tree.scan(&block_prefix(number), &mut |_, value| {
            let mut offsets = Vec::new();
            decode_offsets(value, &mut offsets).map_err(damaged)?;
            count += offsets.len();
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        Ok(count == summary.events as usize)
    }

    /// Stores keys in order of their events: all up to the event `to`.
    pub(crate) fn put_keys(&self, keys: &[(Keyed, u64, Timestamp)], to: u64) -> Result<()> {
        for some in keys.chunks(KEYS_AT_ONCE) {
            let last = some.last().map_or(to, |pair| pair.1);
            let key = [b"k", &last.to_be_bytes()[..]].concat();
            self.tree.write(vec![(key, Some(encode_keys(some)))])?;
        }
        let mut position = Vec::new();
        put_number(&mut position, to);
        Ok(self.tree.write(vec![(POSITION.to_vec(), Some(position))])?)
    }

    /// Removes the blocks before `block`, and the keys of events before `key_id`.
    pub(crate) fn forget_before(&self, block: u64, key_id: u64) -> Result<()> {
        let mut gone: Vec<(u64, Vec<u8>)> = Vec::new();
        self.tree.scan(b"h", &mut |key, _| {
            let number = number_of(key)?;
            if number >= block {
                return Ok(ControlFlow::Break(()));
            }
            gone.push((number, key.to_vec()));
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        for (number, head) in gone {
            self.remove(&block_prefix(number), &|_| Ok(true))?;
            self.tree.write(vec![(head, None)])?;
        }
        self.remove(b"k", &|key| Ok(number_of(key)? < key_id))
    }

    /// Removes the keys with a prefix, in order, while `is_gone` returns true.
    fn remove(&self, prefix: &[u8], is_gone: &dyn Fn(&[u8]) -> Result<bool>) -> Result<()> {
        let mut keys = Vec::new();
        self.tree.scan(prefix, &mut |key, _| {
            if !is_gone(key)? {
                return Ok(ControlFlow::Break(()));
            }
            keys.push(key.to_vec());
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        keys.into_iter().try_for_each(|key| Ok(self.tree.write(vec![(key, None)])?))
    }

    /// Reopens the tree if a write failed. Returns whether it accepts writes.
    pub(crate) fn recover(&self) -> bool {
        if !self.tree.is_broken(POSITION) {
            return true;
        }
        self.tree.release();
        let options = Options::new(VALUE_VERSION).with_cache_bytes(CACHE_BYTES);
        match Tree::open(&self.dir, &options, &boot_id()) {
            Ok(Ok(fresh)) => {
                self.tree.adopt(&fresh);
                true
            }
            _ => false,
        }
    }

    /// Marks everything to be rebuilt at the next opening.
    pub(crate) fn distrust(&self) {
        self.tree.rebuild_at_next_open();
    }

    pub(crate) fn sync(&self) -> Result<()> {
        Ok(self.tree.sync()?)
    }

    pub(crate) fn close(&self) -> Result<()> {
        Ok(self.tree.close()?)
    }

    /// Releases space, if there is much. Nothing may be written meanwhile.
    pub(crate) fn rewrite(&self) -> Result<()> {
        if dir_bytes(&self.dir) > REWRITE_BYTES_MIN { Ok(self.tree.rewrite()?) } else { Ok(()) }
    }
}

impl Kept {
    /// The first event after the stored blocks.
    pub(crate) fn next_block(&self) -> u64 {
        self.first_block + self.blocks.len() as u64
    }

    /// The last event of the stored blocks, 0 for none.
    fn indexed_to(&self) -> u64 {
        if self.blocks.is_empty() { 0 } else { *ids_of(self.next_block() - 1).end() }
    }

    fn check(&self, first: u64, last: u64) -> std::result::Result<(), Unusable> {
        if self.indexed_to() > last || self.keys_to > last {
            return Err(Unusable("ahead of the log".to_owned()));
        }
        if !self.blocks.is_empty() && self.first_block > super::block_of(first) {
            return Err(Unusable("starts behind the log".to_owned()));
        }
        Ok(())
    }
}

fn block_prefix(number: u64) -> [u8; 9] {
    let mut prefix = [b'b'; 9];
    prefix[1..].copy_from_slice(&number.to_be_bytes());
    prefix
}

fn number_of(key: &[u8]) -> Result<u64> {
    let bytes = key.get(1..).and_then(|key| key.first_chunk());
    let bytes = bytes.ok_or_else(|| damaged(Malformed("a key is short")))?;
    Ok(u64::from_be_bytes(*bytes))
}

fn encode_offsets(offsets: &[u16]) -> Vec<u8> {
    let mut out = Vec::with_capacity(offsets.len() + 16);
    let mut last = 0;
    for offset in offsets {
        put_number(&mut out, u64::from(offset - last));
        last = *offset;
    }
    out
}

/// Adds the offsets of a row; those of a type's second part continue its first.
fn decode_offsets(value: &[u8], offsets: &mut Vec<u16>) -> std::result::Result<(), Malformed> {
    let mut input = Input(value);
    let mut last = 0_u64;
    while !input.0.is_empty() {
        last = last.saturating_add(input.number()?);
        let offset = u16::try_from(last).map_err(|_| Malformed("an offset is out of its block"))?;
        offsets.push(offset);
    }
    Ok(())
}

fn encode_keys(keys: &[(Keyed, u64, Timestamp)]) -> Vec<u8> {
    let mut out = Vec::with_capacity(keys.len() * 40);
    for (keyed, id, time) in keys {
        out.extend_from_slice(&keyed.key.to_le_bytes());
        out.extend_from_slice(&keyed.body.to_le_bytes());
        put_number(&mut out, *id);
        put_time(&mut out, *time);
    }
    out
}

fn decode_keys(value: &[u8], keys: &mut Vec<(u128, Use)>) -> std::result::Result<(), Malformed> {
    let mut input = Input(value);
    while !input.0.is_empty() {
        let key = u128::from_le_bytes(input.array()?);
        let body = u64::from_le_bytes(input.array()?);
        keys.push((key, Use { id: input.number()?, body, time: input.time()? }));
    }
    Ok(())
}

fn damaged(malformed: Malformed) -> Error {
    Error::Damaged(format!("a record of the event index is damaged: {malformed}"))
}

fn broken(Unusable(why): Unusable) -> Error {
    Error::Damaged(format!("failed to create an event index: {why}"))
}
