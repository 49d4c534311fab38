//! Releases space, by copying the rows into a fresh tree, because sled never releases any; and sets
//! a tree aside.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use crate::files::{remove_dir, sync_dir, write_synced};
use crate::pending::{BYTES_AT_ONCE, ROWS_AT_ONCE};
use crate::tree::{RUNNING, Tree, boot_id, open_sled, sync_file};
use crate::value::wrap;
use crate::{Error, Result};

/// Removes what an interrupted rewrite of the tree in `dir` may have left. Call it before opening.
pub fn remove_leftovers(dir: &Path) -> Result<()> {
    remove_dir(&beside(dir, "new"))?;
    remove_dir(&beside(dir, "old"))
}

/// Moves a closed tree from `dir` to `dir.aside` for diagnosis, and replaces an earlier one.
pub fn set_aside(dir: &Path) -> Result<()> {
    let aside = beside(dir, "aside");
    remove_dir(&aside)?;
    fs::rename(dir, &aside).map_err(|error| Error::io(dir, error))?;
    dir.parent().map_or(Ok(()), sync_dir)
}

fn beside(dir: &Path, what: &str) -> PathBuf {
    dir.with_extension(what)
}

impl Tree {
    /// Copies all rows into a fresh tree and replaces this one by it. Nothing may be written
    /// meanwhile. An interruption leaves the old tree, the new one, or none, which is then rebuilt
    /// from the log.
    pub fn rewrite(&self) -> Result<()> {
        if self.suspect.load(Ordering::Acquire) {
            return Ok(());
        }
        remove_leftovers(&self.dir)?;
        let (fresh, old) = (beside(&self.dir, "new"), beside(&self.dir, "old"));
        fs::create_dir_all(&fresh).map_err(|error| Error::io(&fresh, error))?;
        self.copy_to(&fresh)?;
        self.changing();
        write_synced(&fresh.join(RUNNING), boot_id().as_bytes())?;
        sync_dir(&fresh)?;
        let mut db = self.db.write();
        *db = None;
        self.changing();
        let swapped = fs::rename(&self.dir, &old)
            .and_then(|()| {
                self.changing();
                fs::rename(&fresh, &self.dir)
            })
            .map_err(|error| Error::io(&self.dir, error))
            .and_then(|()| self.dir.parent().map_or(Ok(()), sync_dir))
            .and_then(|()| open_sled(&self.dir, self.options.cache_bytes));
        match swapped {
            Ok(tree) => *db = Some(tree),
            Err(error) => {
                // The next write reopens or rebuilds it.
                self.broken.store(true, Ordering::Release);
                return Err(error);
            }
        }
        drop(db);
        self.changing();
        remove_dir(&old)
    }

    fn copy_to(&self, dir: &Path) -> Result<()> {
        let tree = open_sled(dir, self.options.cache_bytes)?;
        let failed = |error: sled::Error| Error::io(dir, std::io::Error::other(error));
        let mut batch = sled::Batch::default();
        let (mut rows, mut bytes) = (0, 0);
        self.scan(&[], &mut |key, value| {
            batch.insert(key, wrap(self.options.value_version, key, value));
            rows += 1;
            bytes += key.len() + value.len();
            if rows >= ROWS_AT_ONCE || bytes >= BYTES_AT_ONCE {
                tree.apply_batch(std::mem::take(&mut batch)).map_err(failed)?;
                (rows, bytes) = (0, 0);
            }
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        tree.apply_batch(batch).map_err(failed)?;
        tree.flush().map_err(failed)?;
        drop(tree);
        sync_file(dir)
    }
}
