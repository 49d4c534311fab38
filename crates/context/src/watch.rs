//! Watching a project for changes.
//!
//! `notify` delivers the system's notifications on its own thread; the caller's thread waits, and
//! nothing runs while nothing happens. Each folder is watched individually, because a recursive
//! watch would include ignored ones: with 22,000 folders of dependencies beside 3,700 real ones
//! that took 25,861 watches instead of 3,688.

mod events;
mod folders;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use events::Events;
use folders::{Folders, watches_allowed};

/// The requested way to watch a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// By the system's notifications; by polling, where they do not work.
    #[default]
    Native,
    /// By polling.
    Poll,
    /// Not at all.
    Off,
}

/// The way a project is being watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// By the system's notifications.
    Native {
        /// The number of folders.
        watches: usize,
    },
    /// [`Watch::wait`] requests a rescan at intervals.
    Poll {
        /// The interval.
        every: Duration,
        /// Why notifications are not used.
        why: Why,
    },
    /// Not at all.
    Off,
}

/// Why a project is polled instead of watched by notifications.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// It was requested.
    Asked,
    /// There are more folders than may be watched.
    Limit {
        /// Folders.
        folders: usize,
        /// How many may be watched: half of what the system allows this user.
        allowed: usize,
    },
    /// The file system does not report all changes.
    FileSystem(&'static str),
    /// The system refused, for example because other programs watch too much.
    Refused(String),
}

/// What has changed since the last wait.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    /// Files and folders that were created, changed, renamed (both names) or removed, relative to
    /// the root, sorted. If a folder exists, list it with its contents and pass it and its folders
    /// to [`Watch::add`], even if it was watched before: it may be a different folder. A path that
    /// no longer exists may have been either.
    pub paths: Vec<String>,
    /// Changes were missed: walk the whole project and call [`Watch::follow`]. `paths` is then
    /// empty.
    pub rescan: bool,
    /// The checked out commit, or the staged changes, may have changed.
    pub git: bool,
}

impl Changes {
    /// Whether there are no changes.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && !self.rescan && !self.git
    }
}

/// Reports what changes in a project. All methods may be called from any thread.
#[derive(Debug)]
pub struct Watch {
    events: Arc<Events>,
    folders: Mutex<Folders>,
}

impl Watch {
    /// Watches folders (relative to the root; "" is the root itself), each without its subfolders,
    /// and single files of the repository, such as those of `head_files`. Anything in a
    /// `.waypost` folder, where the service writes all the time, is left out.
    ///
    /// Never fails: what cannot be watched is polled, see [`how`](Self::how). Costs a few system
    /// calls for each folder.
    pub fn start(root: &Path, dirs: &[String], git: &[PathBuf], mode: Mode) -> Self {
        Self::start_within(root, dirs, git, mode, watches_allowed())
    }

    fn start_within(
        root: &Path,
        dirs: &[String],
        git: &[PathBuf],
        mode: Mode,
        allowed: usize,
    ) -> Self {
        let root = fs::canonicalize(root).unwrap_or_else(|_| root.to_path_buf());
        let events = Arc::new(Events::new(root));
        let folders = Mutex::new(Folders::new(Arc::clone(&events), mode, allowed));
        let watch = Self { events, folders };
        watch.follow(dirs, git);
        watch
    }

    /// Watches exactly these folders and files. If there were too many folders before and there are
    /// now few enough, they are watched by notifications from now on.
    pub fn follow(&self, dirs: &[String], git: &[PathBuf]) {
        self.folders.lock().follow(dirs, git);
    }

    /// Also watches these folders.
    pub fn add(&self, dirs: &[String]) {
        self.folders.lock().add(dirs);
    }

    /// Waits for changes that have settled: no further change for 100 ms, or 1 s in all. Returns
    /// empty changes after `timeout` (`None`: no timeout) and after [`wake`](Self::wake). Only one
    /// thread may wait at a time.
    pub fn wait(&self, timeout: Option<Duration>) -> Changes {
        self.events.wait(timeout)
    }

    /// Ends the current wait, or the next one if none is in progress.
    pub fn wake(&self) {
        self.events.wake();
    }

    /// How it is watched now.
    pub fn how(&self) -> How {
        self.folders.lock().how()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders(root: &Path, count: usize) -> Vec<String> {
        let names: Vec<String> = (0..count).map(|number| format!("d{number}")).collect();
        for name in &names {
            fs::create_dir(root.join(name)).expect("a folder");
        }
        names
    }

    #[test]
    fn more_folders_than_allowed_are_polled_until_there_are_fewer() {
        let root = tempfile::tempdir().expect("a folder");
        let dirs = folders(root.path(), 4);
        let watch = Watch::start_within(root.path(), &dirs, &[], Mode::Native, 3);
        let why = Why::Limit { folders: 4, allowed: 3 };
        assert!(matches!(watch.how(), How::Poll { why: it, .. } if it == why));

        watch.follow(&dirs[..3], &[]);
        assert_eq!(watch.how(), How::Native { watches: 3 });
        fs::write(root.path().join("d1/file"), "text").expect("written");
        assert_eq!(watch.wait(None).paths, ["d1/file"]);

        watch.add(&dirs[3..]);
        assert!(matches!(watch.how(), How::Poll { why: it, .. } if it == why));
    }
}
