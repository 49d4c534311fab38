//! The paths that the loader follows: where they lead, and whether that has changed since.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use super::Problem;
use super::parts::PATH_BYTES_MAX;

/// The most pairs of a word and a folder that all actions of all files have together.
pub(super) const ALL_PAIRS_MAX: usize = 100_000;

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
        fs::metadata(path).ok().map(|it| Self::of(&it))
    }
}

/// The paths that a result depends on, each with its stamp from before it was read. A missing file
/// is represented by the folder that lacks it.
#[derive(Debug, Default)]
pub(super) struct Looked {
    stamps: HashMap<PathBuf, Option<Stamp>>,
    /// Paths without links, of those that exist.
    found: HashMap<PathBuf, Option<PathBuf>>,
    /// Pairs of a word and a folder.
    pairs: usize,
}

impl Looked {
    pub(super) fn at(&mut self, path: &Path) {
        if !self.stamps.contains_key(path) {
            self.stamps.insert(path.to_owned(), Stamp::now(path));
        }
    }

    /// Includes the folders above a path, up to and including `top`.
    pub(super) fn at_all(&mut self, path: &Path, top: &Path) {
        path.ancestors().take_while(|it| it.starts_with(top)).for_each(|it| self.at(it));
    }

    /// Counts pairs of a word and a folder that are looked at. Nothing if they are too many.
    pub(super) fn count(&mut self, pairs: usize) -> Option<()> {
        self.pairs = self.pairs.saturating_add(pairs);
        (self.pairs <= ALL_PAIRS_MAX).then_some(())
    }

    pub(super) fn has_changed(&self) -> bool {
        self.stamps.iter().any(|(path, seen)| Stamp::now(path) != *seen)
    }
}

/// Follows paths in a project, and records what it looks at.
pub(super) struct Follow<'a> {
    /// Without links.
    pub(super) project: &'a Path,
    pub(super) looked: &'a mut Looked,
}

/// Rejects a step from a folder to a link of a process that leads to its current folder, its root, or
/// what it has open.
fn check_process(folder: &Path, part: Component<'_>, rest: &Path) -> Result<(), Problem> {
    let Component::Normal(name) = part else { return Ok(()) };
    let leads_away = name == "cwd" || name == "root";
    let is_open_folder = folder.ends_with("fd") && !rest.as_os_str().is_empty();
    if folder.starts_with("/proc") && (leads_away || is_open_folder) {
        let link = folder.join(name);
        return Err(Problem::Untrusted(format!(
            "{} leads to a folder of a process, which is known only when the command runs; use the path of the file in the project",
            link.display()
        )));
    }
    Ok(())
}

impl Follow<'_> {
    /// Resolves a path part by part, as the kernel does: `..` leads up from the target of a link.
    /// Each folder or file on the way is reported. Nothing if it does not exist.
    ///
    /// # Errors
    /// If a link on the way leads out of the project, even if the path does not exist: what is
    /// there was never approved. If it leads through a folder of a process, which is another one
    /// when the command runs.
    pub(super) fn path(
        &mut self,
        base: &Path,
        word: &str,
        mut passed: impl FnMut(&Path),
    ) -> Result<Option<PathBuf>, Problem> {
        if word.is_empty() || word.len() > PATH_BYTES_MAX || word.contains('\0') {
            return Ok(None);
        }
        let mut at = base.to_owned();
        let mut rest = Path::new(word).components();
        while let Some(part) = rest.next() {
            check_process(&at, part, rest.as_path())?;
            at = match part {
                Component::Prefix(_) | Component::RootDir => PathBuf::from("/"),
                Component::CurDir => continue,
                Component::ParentDir => at.parent().unwrap_or(&at).to_owned(),
                Component::Normal(name) => match self.entry(&at, Path::new(name))? {
                    Some(next) => next,
                    // Any process: the command may be about its own, whose number is not known.
                    None if at == Path::new("/proc") => at.join(name),
                    None => return Ok(None),
                },
            };
            passed(&at);
        }
        Ok(Some(at))
    }

    /// The entry of a folder, without links.
    fn entry(&mut self, folder: &Path, name: &Path) -> Result<Option<PathBuf>, Problem> {
        let path = folder.join(name);
        // The rest of the machine is not the project's.
        let is_own = folder.starts_with(self.project);
        if is_own {
            self.looked.at(folder);
        }
        let found = match self.looked.found.get(&path) {
            Some(found) => return Ok(found.clone()),
            None => path.canonicalize().ok(),
        };
        // The target of a link may appear in another folder.
        if is_own && (found.is_some() || path.is_symlink()) {
            self.looked.at(&path);
        }
        if is_own && found.as_ref().is_some_and(|it| !it.starts_with(self.project)) {
            let name = path.strip_prefix(self.project).unwrap_or(&path).display();
            return Err(Problem::Untrusted(format!(
                "{name} is a symbolic link that leads out of the project; replace it with its target, or use the path of its target"
            )));
        }
        self.looked.found.insert(path, found.clone());
        Ok(found)
    }

    /// The regular file of the project that a word names, without links.
    pub(super) fn file(&mut self, base: &Path, word: &str) -> Result<Option<PathBuf>, Problem> {
        let path = self.path(base, word, |_| {})?;
        Ok(path.filter(|it| it.starts_with(self.project) && it.is_file()))
    }
}
