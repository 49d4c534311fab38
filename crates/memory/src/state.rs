//! The applied state: a projection of the journal, which can be rebuilt, and the part of it that is
//! in memory.
//!
//! `waypost-projection` checks every value, but cannot detect a stale one. So every space has a digest
//! over its memories, which opening compares.

pub(crate) mod cells;
pub(crate) mod digest;
pub(crate) mod keys;
pub(crate) mod recovery;
pub(crate) mod replay;
pub(crate) mod txn;

use std::ops::ControlFlow;
use std::path::Path;

use parking_lot::RwLock;
use waypost_projection::{Options, Tree, Unusable, Write};

use crate::codec::{Malformed, Reader};
use crate::state::cells::{BLOCKS, Cells, Found, Heads, Pairs};
use crate::state::keys::Head;
use crate::{Error, MemoryId, Result, StoreOptions};

/// The version of the state's values.
const VALUE_VERSION: u8 = 2;

/// Called with a key and its value.
type Each<'a> = dyn FnMut(&[u8], &[u8]) -> Result<()> + 'a;
/// The same, until it breaks.
type EachUntil<'a> = dyn FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>> + 'a;

/// The open state.
#[derive(Debug)]
pub(crate) struct State {
    cells: RwLock<Cells>,
    tree: Tree,
}

impl State {
    /// Opens the state in `dir` or creates one. After an inner `Err(Unusable)`, set it aside and
    /// rebuild it.
    pub(crate) fn open(
        dir: &Path,
        options: &StoreOptions,
        boot: &str,
    ) -> Result<std::result::Result<Self, Unusable>> {
        let StoreOptions { cache_bytes, on_change, .. } = *options;
        let options = Options::new(VALUE_VERSION).with_cache_bytes(cache_bytes);
        let tree = match Tree::open_watched(dir, &options, boot, on_change)? {
            Ok(tree) => tree,
            Err(unusable) => return Ok(Err(unusable)),
        };
        let state = Self { cells: RwLock::default(), tree };
        Ok(state.load().map(|()| state).map_err(|error| Unusable(error.to_string())))
    }

    /// Loads the part that is kept in memory from the tree.
    fn load(&self) -> Result<()> {
        let mut cells = Cells::default();
        for prefix in [BLOCKS, keys::SPACES, keys::COUNTERS] {
            self.scan_tree(prefix, &mut |key, value| cells.load(key, value).map_err(damaged))?;
        }
        *self.cells.write() = cells;
        Ok(())
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        if let Found::Here(value) = self.cells.read_recursive().get(key).map_err(damaged)? {
            return Ok(value);
        }
        Ok(self.tree.get(key)?)
    }

    /// The position in the journal up to which records have been applied.
    pub(crate) fn applied(&self) -> Result<u64> {
        self.get(keys::APPLIED)?.map_or(Ok(0), |it| Reader::new(&it).u64().map_err(damaged))
    }

    /// The rows of spaces and counters at one position, and that position.
    pub(crate) fn counters(&self) -> Result<(u64, Pairs)> {
        let cells = self.cells.read_recursive();
        let mut rows = Pairs::new();
        for prefix in [keys::COUNTERS, keys::SPACES] {
            rows.extend(cells.scan(prefix).map_err(damaged)?.unwrap_or_default());
        }
        drop(cells);
        let applied = rows.iter().find(|row| row.0 == keys::APPLIED);
        let applied =
            applied.map_or(Ok(0), |applied| Reader::new(&applied.1).u64().map_err(damaged))?;
        Ok((applied, rows))
    }

    /// The heads of all memories, in order of their ids.
    pub(crate) fn heads(&self, each: &mut dyn FnMut(MemoryId, Head) -> Result<()>) -> Result<()> {
        let mut next = 0;
        while let Some((after, heads)) = self.heads_from(next)? {
            next = after;
            heads.into_iter().try_for_each(|(id, head)| each(id, head))?;
        }
        Ok(())
    }

    /// The ids of all existing memories, in order.
    pub(crate) fn live_ids(&self) -> Result<Vec<MemoryId>> {
        let mut ids = Vec::new();
        self.heads(&mut |id, head| {
            if head.deleted_at.is_none() {
                ids.push(id);
            }
            Ok(())
        })?;
        Ok(ids)
    }

    /// Some heads from the id `from` on, and the id to continue from.
    pub(crate) fn heads_from(&self, from: u64) -> Result<Option<Heads>> {
        self.cells.read_recursive().heads_from(from).map_err(damaged)
    }

    /// All keys with a prefix, in order. Use [`Self::heads`] for heads.
    pub(crate) fn scan(&self, prefix: &[u8], each: &mut Each<'_>) -> Result<()> {
        let kept = self.cells.read_recursive().scan(prefix).map_err(damaged)?;
        self.scan_beside(kept, prefix, each)
    }

    /// The same, as of the time when the cells were [frozen](Self::frozen): earlier versions never
    /// change, except that their texts are removed.
    pub(crate) fn scan_at(&self, frozen: &Cells, prefix: &[u8], each: &mut Each<'_>) -> Result<()> {
        self.scan_beside(frozen.scan(prefix).map_err(damaged)?, prefix, each)
    }

    /// The heads and the newest versions as of now.
    pub(crate) fn frozen(&self) -> Cells {
        self.cells.read_recursive().frozen()
    }

    fn scan_beside(&self, kept: Option<Pairs>, prefix: &[u8], each: &mut Each<'_>) -> Result<()> {
        let Some(kept) = kept else { return self.scan_tree(prefix, each) };
        // The newest version is in memory, earlier ones are in the tree.
        let newest = kept.first().map(|(key, _)| key.clone());
        let is_only = newest.as_ref().is_some_and(|newest| newest.ends_with(&1_u32.to_be_bytes()));
        if prefix.starts_with(b"v") && !is_only {
            self.scan_tree(prefix, &mut |key, value| {
                if newest.as_deref().is_some_and(|newest| newest <= key) {
                    Ok(())
                } else {
                    each(key, value)
                }
            })?;
        }
        kept.iter().try_for_each(|(key, value)| each(key, value))
    }

    /// The keys with a prefix that are not kept in memory, in order, until `each` breaks.
    pub(crate) fn scan_while(&self, prefix: &[u8], each: &mut EachUntil<'_>) -> Result<()> {
        self.tree.scan(prefix, each)
    }

    /// Reads every value in the tree, so that every checksum is compared.
    pub(crate) fn verify(&self) -> Result<()> {
        Ok(self.tree.verify()?)
    }

    fn scan_tree(&self, prefix: &[u8], each: &mut Each<'_>) -> Result<()> {
        self.tree
            .scan(prefix, &mut |key, value| each(key, value).map(|()| ControlFlow::Continue(())))
    }

    /// Applies some changes atomically.
    pub(crate) fn write(&self, writes: &[Write]) -> Result<()> {
        let mut staged = self.cells.read().stage(writes).map_err(damaged)?;
        self.tree.write(std::mem::take(&mut staged.rows))?;
        self.cells.write().take(staged);
        Ok(())
    }

    /// Whether it must be reopened before it accepts writes.
    pub(crate) fn is_broken(&self) -> bool {
        self.tree.is_broken(keys::APPLIED)
    }

    /// Closes the tree, so that it can be reopened.
    pub(crate) fn release(&self) {
        self.tree.release();
    }

    /// Takes over the tree of another state.
    pub(crate) fn adopt(&self, other: &Self) {
        self.tree.adopt(&other.tree);
        *self.cells.write() = std::mem::take(&mut other.cells.write());
    }

    /// Releases the tree's unused space. Nothing may be written meanwhile.
    pub(crate) fn rewrite(&self) -> Result<()> {
        Ok(self.tree.rewrite()?)
    }

    /// Writes everything to the files and syncs them.
    pub(crate) fn sync(&self) -> Result<()> {
        Ok(self.tree.sync()?)
    }

    /// Syncs and removes the marker of an unclean stop. The state must not be used afterwards.
    pub(crate) fn close(&self) -> Result<()> {
        Ok(self.tree.close()?)
    }
}

pub(crate) fn damaged(malformed: Malformed) -> Error {
    Error::Damaged(format!(
        "a record of the state is damaged ({}); restart to rebuild it from the log",
        malformed.0
    ))
}
