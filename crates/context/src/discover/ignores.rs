//! Ignore files: `.gitignore`, `.ignore`, the project's own, and git's own files.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use parking_lot::Mutex;
use rustix::fs::FileType;

use super::root::stat_at;
use super::{Root, Stat};
use crate::extract::read_at_most;

/// A project's own ignore file, next to `.gitignore` and stronger than it.
pub(super) const OWN_IGNORE: &str = ".waypostignore";

/// The names of ignore files, strongest first.
pub(super) const NAMES: [&str; 3] = [OWN_IGNORE, ".ignore", ".gitignore"];

/// Git's ignore rules of this clone alone.
pub(super) const EXCLUDE: &str = ".git/info/exclude";

/// The most bytes read of an ignore file. Real ones have a few hundred lines.
const FILE_BYTES_MAX: u64 = 256 << 10;

/// The most folders with ignore files in the cache.
const CACHE_MAX: usize = 4096;

/// The ignore files of one folder and, through `above`, of its parents.
#[derive(Debug)]
pub(super) struct Level {
    above: Option<Arc<Level>>,
    files: [Option<Arc<Gitignore>>; 3],
}

/// A compiled ignore file, with the state of the file.
type Known = (Stat, Arc<Gitignore>);

/// Compiled ignore files by path, so that a check of one path reads none again.
#[derive(Debug, Default)]
pub(super) struct Ignores {
    known: Mutex<HashMap<String, Known>>,
}

impl Ignores {
    /// The level of an open folder. A folder without ignore files shares its parent's level.
    pub(super) fn level(
        &self,
        root: &Root,
        folder: Option<&OwnedFd>,
        dir: &str,
        above: Option<&Arc<Level>>,
    ) -> Option<Arc<Level>> {
        let files = NAMES.map(|name| {
            let state = stat_at(folder?, OsStr::new(name)).ok()?;
            self.file(root, &join(dir, name), dir, state)
        });
        if files.iter().all(Option::is_none) {
            return above.cloned();
        }
        Some(Arc::new(Level { above: above.cloned(), files }))
    }

    /// Git's ignore rules of this clone alone.
    pub(super) fn exclude(&self, root: &Root) -> Option<Arc<Gitignore>> {
        self.file(root, EXCLUDE, "", root.stat(EXCLUDE).ok()?)
    }

    fn file(
        &self,
        root: &Root,
        path: &str,
        dir: &str,
        state: (FileType, Stat),
    ) -> Option<Arc<Gitignore>> {
        let (FileType::RegularFile, stat) = state else { return None };
        if let Some((then, compiled)) = self.known.lock().get(path)
            && *then == stat
        {
            return Some(Arc::clone(compiled));
        }
        let (bytes, stat) = read_at_most(root, path, FILE_BYTES_MAX).ok()?;
        let compiled = Arc::new(compile(dir, &String::from_utf8_lossy(&bytes)));
        let mut known = self.known.lock();
        if known.len() >= CACHE_MAX {
            known.clear();
        }
        known.insert(path.to_owned(), (stat, Arc::clone(&compiled)));
        Some(compiled)
    }
}

/// Compiles lines in `.gitignore` syntax that apply below a folder. Like git, it skips lines that
/// are not valid patterns.
pub(super) fn compile(dir: &str, text: &str) -> Gitignore {
    let mut builder = GitignoreBuilder::new(dir);
    for line in text.lines() {
        // The error would name the line; git reports nothing either.
        drop(builder.add_line(None, line));
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// The verdict of an ignore file on a path: `Some(true)` if it is ignored, `Some(false)` if it is
/// re-included, `None` if no pattern matches.
pub(super) fn says(rules: &Gitignore, path: &str, is_dir: bool) -> Option<bool> {
    match rules.matched(Path::new(path), is_dir) {
        Match::None => None,
        Match::Ignore(_) => Some(true),
        Match::Whitelist(_) => Some(false),
    }
}

impl Level {
    /// The verdict of all ignore files on a path: the strongest name decides; for one name, the
    /// nearest folder.
    pub(super) fn says(&self, path: &str, is_dir: bool) -> Option<bool> {
        (0..NAMES.len()).find_map(|name| {
            let mut level = Some(self);
            while let Some(at) = level {
                let said = at.files[name].as_ref().and_then(|file| says(file, path, is_dir));
                if said.is_some() {
                    return said;
                }
                level = at.above.as_deref();
            }
            None
        })
    }
}

/// Joins a folder and a name.
pub(super) fn join(dir: &str, name: &str) -> String {
    if dir.is_empty() { name.to_owned() } else { format!("{dir}/{name}") }
}
