//! The paths that the loader looks at, and whether anything has changed there since.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The most pairs of a word and a folder that all actions of all files have together.
pub(super) const PAIRS_MAX: usize = 100_000;

/// Changes whenever a file's content does, or the entries of a folder: its change time cannot be
/// set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    file: (u64, u64),
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    owner: (u32, u32, u32),
}

impl Stamp {
    pub(super) fn of(metadata: &fs::Metadata) -> Self {
        Self {
            file: (metadata.dev(), metadata.ino()),
            bytes: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            owner: (metadata.uid(), metadata.gid(), metadata.mode()),
        }
    }

    fn now(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().map(|metadata| Self::of(&metadata))
    }
}

/// The paths that a result depends on, each with its stamp from before it was read. A missing file
/// is represented by the folder that lacks it.
#[derive(Debug, Default)]
pub(super) struct Stamps {
    stamps: HashMap<PathBuf, Option<Stamp>>,
    /// Pairs of a word and a folder.
    pairs: usize,
}

impl Stamps {
    pub(super) fn at(&mut self, path: &Path) {
        if !self.stamps.contains_key(path) {
            self.stamps.insert(path.to_owned(), Stamp::now(path));
        }
    }

    /// Includes the folders above a path, up to and including `top`.
    pub(super) fn at_all(&mut self, path: &Path, top: &Path) {
        path.ancestors()
            .take_while(|folder| folder.starts_with(top))
            .for_each(|folder| self.at(folder));
    }

    /// Counts pairs of a word and a folder that are looked at. Nothing if they are too many.
    pub(super) fn count(&mut self, pairs: usize) -> Option<()> {
        self.pairs = self.pairs.saturating_add(pairs);
        (self.pairs <= PAIRS_MAX).then_some(())
    }

    pub(super) fn has_changed(&self) -> bool {
        self.stamps.iter().any(|(path, seen)| Stamp::now(path) != *seen)
    }
}
