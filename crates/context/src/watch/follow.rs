//! Which folders are watched, and polling where they cannot be.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::{ErrorKind, RecommendedWatcher, RecursiveMode, Watcher};

use super::told::{Told, left_out};
use super::{How, Mode, Why, system};

/// The polling interval of a small project that cannot be watched.
const POLL_MIN: Duration = Duration::from_secs(5);
/// The polling interval of a large one.
const POLL_MAX: Duration = Duration::from_secs(60);
/// Added for each folder: checking one costs some tens of microseconds.
const POLL_FOLDER: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub(super) struct Follower {
    told: Arc<Told>,
    mode: Mode,
    allowed: usize,
    watcher: Option<RecommendedWatcher>,
    /// Why the system's notifications are not used.
    why: Option<Why>,
    /// Folders of the project to watch or poll.
    folders: usize,
}

impl Follower {
    pub(super) fn new(told: Arc<Told>, mode: Mode, allowed: usize) -> Self {
        let why = (mode == Mode::Poll).then_some(Why::Asked);
        Self { told, mode, allowed, watcher: None, why, folders: 0 }
    }

    pub(super) fn how(&self) -> How {
        match (self.mode, &self.why) {
            (Mode::Off, _) => How::Off,
            (_, Some(why)) => How::Poll { every: every(self.folders), why: why.clone() },
            (_, None) => {
                let state = self.told.state.lock();
                How::Native { watches: state.dirs.len() + state.git_dirs.len() }
            }
        }
    }

    /// Watches exactly these.
    pub(super) fn follow(&mut self, dirs: &[String], git: &[PathBuf]) {
        let wanted = wanted(dirs);
        self.folders = wanted.len();
        if matches!(self.why, Some(Why::Limit { .. })) {
            self.why = None;
        }
        let git_dirs: BTreeSet<PathBuf> =
            git.iter().filter_map(|it| it.parent().map(Path::to_path_buf)).collect();
        self.told.state.lock().git = git.iter().cloned().collect();
        self.unwatch(&wanted, &git_dirs);
        self.watch(&wanted, &git_dirs);
    }

    /// Also watches these.
    pub(super) fn add(&mut self, dirs: &[String]) {
        let wanted = wanted(dirs);
        let known = wanted.intersection(&self.told.state.lock().dirs).count();
        self.folders += wanted.len() - known;
        self.watch(&wanted, &BTreeSet::new());
    }

    fn watch(&mut self, dirs: &BTreeSet<String>, git_dirs: &BTreeSet<PathBuf>) {
        if self.mode == Mode::Off {
            return;
        }
        if self.why.is_none() {
            self.why = self.watch_by_system(dirs, git_dirs).err();
        }
        if self.why.is_some() {
            self.watcher = None;
            let mut state = self.told.state.lock();
            state.dirs.clear();
            state.git_dirs.clear();
        }
        self.told.poll(self.why.as_ref().map(|_| every(self.folders)));
    }

    fn watch_by_system(
        &mut self,
        dirs: &BTreeSet<String>,
        git_dirs: &BTreeSet<PathBuf>,
    ) -> Result<(), Why> {
        let root = &self.told.root;
        let (new, new_git, watched) = {
            let state = self.told.state.lock();
            let new: Vec<String> = dirs.difference(&state.dirs).cloned().collect();
            let new_git: Vec<PathBuf> = git_dirs.difference(&state.git_dirs).cloned().collect();
            (new, new_git, state.dirs.len() + state.git_dirs.len())
        };
        let folders = watched + new.len() + new_git.len();
        if folders > self.allowed {
            return Err(Why::Limit { folders, allowed: self.allowed });
        }
        if let Some(name) = system::silent(root) {
            return Err(Why::FileSystem(name));
        }
        let watcher = match &mut self.watcher {
            Some(it) => it,
            empty => {
                let told = Arc::clone(&self.told);
                let watcher = notify::recommended_watcher(move |it| told.note(it));
                empty.insert(watcher.map_err(|it| Why::Refused(it.to_string()))?)
            }
        };
        let device = system::device(root);
        let mut paths = watcher.paths_mut();
        for dir in new {
            let folder = root.join(&dir);
            // If it is no longer a folder, the watch of its parent reports that.
            let Some(here) = system::device(&folder) else { continue };
            if Some(here) != device
                && let Some(name) = system::silent(&folder)
            {
                return Err(Why::FileSystem(name));
            }
            // Recorded before watching, so that an event right after can remove it.
            self.told.state.lock().dirs.insert(dir.clone());
            if !watched_now(paths.add(&folder, RecursiveMode::NonRecursive))? {
                self.told.state.lock().dirs.remove(&dir);
            }
        }
        for folder in new_git {
            if system::device(&folder).is_none() {
                continue;
            }
            self.told.state.lock().git_dirs.insert(folder.clone());
            if !watched_now(paths.add(&folder, RecursiveMode::NonRecursive))? {
                self.told.state.lock().git_dirs.remove(&folder);
            }
        }
        paths.commit().map_err(|it| Why::Refused(it.to_string()))
    }

    fn unwatch(&mut self, dirs: &BTreeSet<String>, git_dirs: &BTreeSet<PathBuf>) {
        let Some(watcher) = &mut self.watcher else { return };
        let gone: Vec<PathBuf> = {
            let mut state = self.told.state.lock();
            let folders = state.dirs.difference(dirs).map(|it| self.told.root.join(it));
            let gone = folders.chain(state.git_dirs.difference(git_dirs).cloned()).collect();
            state.dirs.retain(|it| dirs.contains(it));
            state.git_dirs.retain(|it| git_dirs.contains(it));
            gone
        };
        let mut paths = watcher.paths_mut();
        for folder in gone {
            // Its watch may already be gone.
            paths.remove(&folder).unwrap_or_default();
        }
        paths.commit().unwrap_or_default();
    }
}

/// Whether a folder is watched; an error if the system refuses further watches.
fn watched_now(added: notify::Result<()>) -> Result<bool, Why> {
    let Err(error) = added else { return Ok(true) };
    let not_there = match &error.kind {
        ErrorKind::PathNotFound => true,
        // Also a folder that this user may not read: nothing of it is in the index.
        ErrorKind::Io(it) => {
            matches!(it.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::PermissionDenied)
        }
        _ => false,
    };
    if not_there { Ok(false) } else { Err(Why::Refused(error.to_string())) }
}

fn wanted(dirs: &[String]) -> BTreeSet<String> {
    dirs.iter().filter(|it| !left_out(it)).cloned().collect()
}

fn every(folders: usize) -> Duration {
    POLL_FOLDER.saturating_mul(u32::try_from(folders).unwrap_or(u32::MAX)).clamp(POLL_MIN, POLL_MAX)
}
