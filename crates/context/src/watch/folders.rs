//! Which folders are watched, and polling where they cannot be.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::{ErrorKind, RecommendedWatcher, RecursiveMode, Watcher};

use super::events::{Events, left_out};
use super::{How, Mode, Why};

/// The polling interval of a small project that cannot be watched.
const POLL_MIN: Duration = Duration::from_secs(5);
/// The polling interval of a large one.
const POLL_MAX: Duration = Duration::from_secs(60);
/// Added for each folder: checking one costs some tens of microseconds.
const POLL_FOLDER: Duration = Duration::from_millis(10);
/// Where Linux states how many folders one user may watch.
const WATCHES_MAX: &str = "/proc/sys/fs/inotify/max_user_watches";
/// The default if it is not stated: Linux's former limit.
const WATCHES_DEFAULT: usize = 8_192;

/// File systems that others change without notice to this machine's kernel, by the numbers of
/// statfs(2) and `linux/magic.h`.
const SILENT: [(u32, &str); 13] = [
    (0x0000_6969, "NFS"),
    (0x0000_517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x0102_1997, "9P"),
    (0x6573_5546, "FUSE"),
    (0x00c3_6400, "Ceph"),
    (0x5346_414f, "AFS"),
    (0x7375_7245, "Coda"),
    (0x786f_4256, "VirtualBox's shared folders"),
    (0x7c7c_6673, "Parallels' shared folders"),
    (0xbacb_acbc, "VMware's shared folders"),
    (0x5346_4846, "WSL"),
];

#[derive(Debug)]
pub(super) struct Folders {
    events: Arc<Events>,
    mode: Mode,
    allowed: usize,
    watcher: Option<RecommendedWatcher>,
    /// Why the system's notifications are not used.
    why: Option<Why>,
    /// The number of folders of the project to watch or poll.
    count: usize,
}

impl Folders {
    pub(super) fn new(events: Arc<Events>, mode: Mode, allowed: usize) -> Self {
        let why = (mode == Mode::Poll).then_some(Why::Asked);
        Self { events, mode, allowed, watcher: None, why, count: 0 }
    }

    pub(super) fn how(&self) -> How {
        match (self.mode, &self.why) {
            (Mode::Off, _) => How::Off,
            (_, Some(why)) => How::Poll { every: every(self.count), why: why.clone() },
            (_, None) => How::Native { watches: self.events.state.lock().folders.len() },
        }
    }

    /// Watches exactly these.
    pub(super) fn follow(&mut self, dirs: &[String], git: &[PathBuf]) {
        let mut wanted = self.wanted(dirs);
        self.count = wanted.len();
        if matches!(self.why, Some(Why::Limit { .. })) {
            self.why = None;
        }
        self.events.state.lock().git = git.iter().cloned().collect();
        wanted.extend(git.iter().filter_map(|git| git.parent().map(Path::to_path_buf)));
        self.unwatch(&wanted);
        self.watch(&wanted);
    }

    /// Also watches these.
    pub(super) fn add(&mut self, dirs: &[String]) {
        let wanted = self.wanted(dirs);
        self.count += wanted.difference(&self.events.state.lock().folders).count();
        self.watch(&wanted);
    }

    fn wanted(&self, dirs: &[String]) -> BTreeSet<PathBuf> {
        dirs.iter().filter(|dir| !left_out(dir)).map(|dir| self.events.root.join(dir)).collect()
    }

    fn watch(&mut self, wanted: &BTreeSet<PathBuf>) {
        if self.mode == Mode::Off {
            return;
        }
        if self.why.is_none() {
            self.why = self.watch_by_system(wanted).err();
        }
        if self.why.is_some() {
            self.watcher = None;
            self.events.state.lock().folders.clear();
        }
        self.events.poll(self.why.as_ref().map(|_| every(self.count)));
    }

    fn watch_by_system(&mut self, wanted: &BTreeSet<PathBuf>) -> Result<(), Why> {
        let root = &self.events.root;
        let (new, watched) = {
            let state = self.events.state.lock();
            let new: Vec<PathBuf> = wanted.difference(&state.folders).cloned().collect();
            (new, state.folders.len())
        };
        let folders = watched + new.len();
        if folders > self.allowed {
            return Err(Why::Limit { folders, allowed: self.allowed });
        }
        if let Some(name) = silent(root) {
            return Err(Why::FileSystem(name));
        }
        let refused = |error: notify::Error| Why::Refused(error.to_string());
        let watcher = match &mut self.watcher {
            Some(watcher) => watcher,
            empty => {
                let events = Arc::clone(&self.events);
                let watcher = notify::recommended_watcher(move |event| events.note(event));
                empty.insert(watcher.map_err(refused)?)
            }
        };
        let own = device(root);
        let mut paths = watcher.paths_mut();
        for folder in new {
            // If it is no longer a folder, the watch of its parent reports that.
            let Some(here) = device(&folder) else { continue };
            if Some(here) != own
                && folder.starts_with(root)
                && let Some(name) = silent(&folder)
            {
                return Err(Why::FileSystem(name));
            }
            // Recorded before watching, so that an event right after can remove it.
            self.events.state.lock().folders.insert(folder.clone());
            match paths.add(&folder, RecursiveMode::NonRecursive) {
                Err(error) if is_absent(&error) => {
                    self.events.state.lock().folders.remove(&folder);
                }
                added => added.map_err(refused)?,
            }
        }
        paths.commit().map_err(refused)
    }

    fn unwatch(&mut self, wanted: &BTreeSet<PathBuf>) {
        let Some(watcher) = &mut self.watcher else { return };
        let gone: Vec<PathBuf> = {
            let mut state = self.events.state.lock();
            let gone = state.folders.difference(wanted).cloned().collect();
            state.folders.retain(|folder| wanted.contains(folder));
            gone
        };
        // Not while the state is locked: the watcher's thread may be waiting for it.
        let mut paths = watcher.paths_mut();
        for folder in gone {
            // Its watch may already be gone.
            paths.remove(&folder).unwrap_or_default();
        }
        paths.commit().unwrap_or_default();
    }
}

/// Whether a folder is not there, or this user may not read it: nothing of it is in the index.
fn is_absent(error: &notify::Error) -> bool {
    match &error.kind {
        ErrorKind::PathNotFound => true,
        ErrorKind::Io(it) => {
            matches!(it.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::PermissionDenied)
        }
        _ => false,
    }
}

fn every(folders: usize) -> Duration {
    POLL_FOLDER.saturating_mul(u32::try_from(folders).unwrap_or(u32::MAX)).clamp(POLL_MIN, POLL_MAX)
}

/// Half of what this user may watch, to leave watches for other programs.
pub(super) fn watches_allowed() -> usize {
    let text = fs::read_to_string(WATCHES_MAX).ok();
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(WATCHES_DEFAULT) / 2
}

/// The kind of file system that a folder is on, if it does not report all changes.
fn silent(folder: &Path) -> Option<&'static str> {
    let magic = rustix::fs::statfs(folder).ok()?.f_type as u32;
    SILENT.iter().find(|(it, _)| *it == magic).map(|(_, name)| *name)
}

/// The number of the file system that a folder is on; nothing if it is not a folder (any more).
fn device(folder: &Path) -> Option<u64> {
    fs::symlink_metadata(folder)
        .ok()
        .filter(|metadata| metadata.is_dir())
        .map(|metadata| metadata.dev())
}
