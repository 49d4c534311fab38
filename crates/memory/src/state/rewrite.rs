//! Giving room back: sled never does, so its rows are copied into a fresh tree now and then.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use super::pending::{BYTES_AT_ONCE, ROWS_AT_ONCE};
use super::{RUNNING, State, boot_id, open_tree, sync_dir, sync_tree, wrap_value, write_synced};
use crate::open::remove_dir;
use crate::{Error, Result};

/// What a rewrite may leave behind when it is interrupted.
pub(crate) fn remove_leftovers(dir: &Path) -> Result<()> {
    remove_dir(&beside(dir, "new"))?;
    remove_dir(&beside(dir, "old"))
}

fn beside(dir: &Path, what: &str) -> PathBuf {
    dir.with_extension(what)
}

impl State {
    /// Copies all rows into a fresh tree and puts it in the place of this one. Nothing may be
    /// written meanwhile; what is in memory can be read. If it is interrupted there is the old tree
    /// or the new one, or none, which is then built from the log.
    pub(crate) fn rewrite(&self) -> Result<()> {
        if self.suspect.load(Ordering::Acquire) {
            return Ok(());
        }
        remove_leftovers(&self.dir)?;
        let (fresh, old) = (beside(&self.dir, "new"), beside(&self.dir, "old"));
        fs::create_dir_all(&fresh).map_err(|it| Error::io(&fresh, it))?;
        self.copy_to(&fresh)?;
        write_synced(&fresh.join(RUNNING), boot_id().as_bytes())?;
        sync_dir(&fresh)?;
        let mut db = self.db.write();
        *db = None;
        let swapped = fs::rename(&self.dir, &old)
            .and_then(|()| fs::rename(&fresh, &self.dir))
            .map_err(|it| Error::io(&self.dir, it))
            .and_then(|()| self.dir.parent().map_or(Ok(()), sync_dir))
            .and_then(|()| {
                open_tree(&self.dir, self.cache_bytes).map_err(|it| Error::Damaged(it.0))
            });
        match swapped {
            Ok(tree) => *db = Some(tree),
            Err(error) => {
                // The next write opens or builds it again.
                self.broken.store(true, Ordering::Release);
                return Err(error);
            }
        }
        drop(db);
        remove_dir(&old)
    }

    fn copy_to(&self, dir: &Path) -> Result<()> {
        let tree = open_tree(dir, self.cache_bytes).map_err(|it| Error::Damaged(it.0))?;
        let failed = |it: sled::Error| Error::io(dir, std::io::Error::other(it));
        let mut batch = sled::Batch::default();
        let (mut rows, mut bytes) = (0, 0);
        self.scan_sled(&[], &mut |key, value| {
            batch.insert(key, wrap_value(key, value));
            rows += 1;
            bytes += key.len() + value.len();
            if rows >= ROWS_AT_ONCE || bytes >= BYTES_AT_ONCE {
                tree.apply_batch(std::mem::take(&mut batch)).map_err(failed)?;
                (rows, bytes) = (0, 0);
            }
            Ok(())
        })?;
        tree.apply_batch(batch).map_err(failed)?;
        tree.flush().map_err(failed)?;
        drop(tree);
        sync_tree(dir)
    }
}
