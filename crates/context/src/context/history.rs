//! The git history in use.

use std::cell::RefCell;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Cancel, Context};
use crate::discover::Places;
use crate::files;
use crate::history::{History, Present, changed};
use crate::prepare::remember;
use crate::rank::Commits;
use crate::{Error, Redact, Result, Stat, read};

/// History and working tree.
#[derive(Debug, Default)]
pub(super) struct Past {
    pub(super) history: Option<Arc<History>>,
    /// Uncommitted files, by path.
    pub(super) changed: Vec<String>,
    /// Why the history could not be read.
    pub(super) error: Option<String>,
    /// The words of the commits, computed on first use.
    pub(super) commits: Option<Arc<Commits>>,
}

impl Past {
    /// Loads the saved history; a damaged one is read from git again.
    pub(super) fn load(path: &Path, git: bool) -> Self {
        let bytes = if git { fs::read(path).unwrap_or_default() } else { Vec::new() };
        Self { history: History::decode(&bytes).map(Arc::new), ..Self::default() }
    }
}

impl Context {
    /// Reads new commits and the uncommitted files from git. Call it when the commit or the branch
    /// may have changed; a scan does it as well. Returns whether the history changed.
    pub fn update_history(&self, cancel: Cancel<'_>) -> Result<bool> {
        let _changing = self.changing.lock();
        self.read_history(cancel)
    }

    /// The same within a scan.
    pub(super) fn read_history(&self, cancel: Cancel<'_>) -> Result<bool> {
        if !self.options.git {
            return Ok(false);
        }
        let known = self.history();
        let redact: Redact<'_> = &|text| waypost_redact::redact(text, false).0;
        let read = match History::read(self.root.path(), known.as_deref(), redact, &|| cancel()) {
            Ok(read) => read,
            // Everything else works without it.
            Err(error) => {
                self.past.write().error = Some(error.to_string());
                return Ok(false);
            }
        };
        let is_new =
            read.as_ref().map(|history| history.head()) != known.as_ref().map(|known| known.head());
        if is_new {
            let history = read.map(Arc::new);
            *self.past.write() = Past { history: history.clone(), ..Past::default() };
            self.apply_history(history.as_deref());
            self.write_history(history.as_deref())?;
        }
        // Computed now, so that no query waits for them.
        drop(self.commits());
        self.read_changed(cancel);
        Ok(is_new)
    }

    /// Reads which of the indexed files are uncommitted.
    pub(super) fn read_changed(&self, cancel: Cancel<'_>) {
        if !self.options.git {
            return;
        }
        let known: Vec<(String, Stat)> = {
            let index = self.index.read();
            index.files().map(|(_, it)| (String::from(&*it.path), it.stat)).collect()
        };
        let present = known.iter().map(|(path, stat)| Present {
            path,
            bytes: stat.bytes,
            modified_ns: stat.modified_ns,
        });
        let places = RefCell::new(Places::default());
        let read_file = |path: &str| {
            let found = self.rules.one_of(&self.root, path, &mut places.borrow_mut()).ok()?;
            read(&self.root, &found, self.rules.limits()).ok().map(|read| read.0)
        };
        match changed(self.root.path(), present, &read_file, &|| cancel()) {
            Ok(changed) => {
                self.past.write().changed = changed;
            }
            Err(error) => self.past.write().error = Some(error.to_string()),
        }
    }

    /// Updates what the index stores of each file's history.
    fn apply_history(&self, history: Option<&History>) {
        let slots: Vec<_> = self.index.read().files().map(|file| file.0).collect();
        let mut index = self.index.write();
        for slot in slots {
            let Some(file) = index.file_mut(slot) else { continue };
            if let Some(history) = history {
                remember(file, history);
            } else {
                (file.frecency, file.changed_at) = (0.0, None);
            }
        }
        drop(index);
        self.keep_up();
        self.changes.fetch_add(1, Ordering::Relaxed);
    }

    fn write_history(&self, history: Option<&History>) -> Result<()> {
        let path: PathBuf = self.dir.join("history");
        match history {
            Some(history) => files::replace(&path, |out| out.write_all(&history.encode())),
            None => match fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    Err(Error::io(path, error))
                }
                _ => Ok(()),
            },
        }
    }
}
