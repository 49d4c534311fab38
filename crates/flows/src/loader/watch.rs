//! Detects changes of a folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};

/// How often the folder is checked without a notification: not every file system sends them.
const LOOK: Duration = Duration::from_secs(2);
/// Changes within this time belong together: an editor writes, renames and removes.
const SETTLE: Duration = Duration::from_millis(50);

/// Reports that a folder has changed. The system's notifications arrive on a thread started here;
/// the caller's thread waits.
#[derive(Debug)]
pub struct Watch {
    folder: PathBuf,
    /// Nothing if the folder does not exist, or the system has no notifications.
    watcher: Option<RecommendedWatcher>,
    told: Receiver<()>,
    tell: std::sync::mpsc::Sender<()>,
    seen: Vec<Seen>,
}

/// Distinguishes states of a file without reading it.
type Seen = (std::ffi::OsString, u64, Option<std::time::SystemTime>);

impl Watch {
    /// Watches a folder that may not exist yet.
    pub fn new(folder: &Path) -> Self {
        let (tell, told) = channel();
        let mut watch =
            Self { folder: folder.to_path_buf(), watcher: None, told, tell, seen: Vec::new() };
        watch.seen = watch.look();
        watch.listen();
        watch
    }

    /// Waits until the folder has changed, two seconds at most, and returns whether it has.
    /// Reloading once too often is harmless: call [`Loader::load`](crate::Loader::load) whenever
    /// this is true.
    pub fn wait(&mut self) -> bool {
        let mut changed = match self.told.recv_timeout(LOOK) {
            Ok(()) => {
                // Until it is quiet, or at most for a second.
                let mut settling = 0..20;
                while settling.next().is_some() && self.told.recv_timeout(SETTLE).is_ok() {}
                true
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => false,
        };
        let seen = self.look();
        changed |= seen != self.seen;
        self.seen = seen;
        if self.watcher.is_none() || !self.folder.is_dir() {
            self.listen();
        }
        changed
    }

    fn listen(&mut self) {
        self.watcher = None;
        if !self.folder.is_dir() {
            // A watcher needs a thread and more: none is created for a missing folder.
            return;
        }
        let tell = self.tell.clone();
        let on_event = move |event: notify::Result<notify::Event>| {
            // After an error, changes may have been missed.
            if event.map_or(true, |it| it.need_rescan() || may_change(it.kind)) {
                // Without a receiver, no thread is waiting any more.
                tell.send(()).unwrap_or_default();
            }
        };
        self.watcher = notify::recommended_watcher(on_event).ok().and_then(|mut watcher| {
            watcher.watch(&self.folder, RecursiveMode::NonRecursive).ok().map(|()| watcher)
        });
    }

    fn look(&self) -> Vec<Seen> {
        let Ok(folder) = fs::read_dir(&self.folder) else { return Vec::new() };
        let files = folder.filter_map(|it| {
            let it = it.ok()?;
            let metadata = fs::metadata(it.path()).ok()?;
            Some((it.file_name(), metadata.len(), metadata.modified().ok()))
        });
        let mut seen: Vec<Seen> = files.collect();
        seen.sort_unstable();
        seen
    }
}

/// Whether an event can change what the loader reads. The loader's own reading opens and closes the
/// folder and its files, and the system reports that, too: it must not trigger the next reading.
fn may_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        EventKind::Any
        | EventKind::Create(_)
        | EventKind::Modify(_)
        | EventKind::Remove(_)
        | EventKind::Other => true,
    }
}
