//! Noticing what changes in a project.
//!
//! The system's notifications come by a thread of `notify`'s own; waiting is done by the caller's,
//! and while nothing happens nothing runs. Each folder is watched by itself, because a recursive
//! watch would follow ignored ones: with 22,000 folders of dependencies beside 3,700 real ones that
//! took 25,861 watches instead of 3,688.

mod debounce;
mod follow;
mod system;
mod told;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use follow::Follower;
use told::Told;

/// How a project is to be watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// By the system's notifications; by looking, where they do not do.
    #[default]
    Native,
    /// By looking now and then.
    Poll,
    /// Not at all.
    Off,
}

/// How a project is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// By the system's notifications.
    Native {
        /// How many folders.
        watches: usize,
    },
    /// [`Watch::wait`] asks for a rescan now and then.
    Poll {
        /// How often.
        every: Duration,
        /// Why not by notifications.
        why: Why,
    },
    /// Not at all.
    Off,
}

/// Why a project is looked at now and then instead of being told of changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// It was asked for.
    Asked,
    /// There are more folders than may be watched.
    Limit {
        /// Folders.
        folders: usize,
        /// How many may be watched: half of what the system allows this user.
        allowed: usize,
    },
    /// A file system that does not tell of all changes.
    FileSystem(&'static str),
    /// The system refused, for example because other programs watch too much.
    Refused(String),
}

/// What has changed since the last wait.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    /// Files and folders that were made, changed, renamed (both names) or removed, relative to the
    /// root, in order. A folder that is there is to be listed, with what is in it, and given to
    /// [`Watch::add`] with its folders, even if it was watched before: it may be another one. A
    /// path that is gone may have been either.
    pub paths: Vec<String>,
    /// Something was missed: the whole project is to be looked at, and [`Watch::follow`] to be
    /// called. `paths` is empty then.
    pub rescan: bool,
    /// The commit that is checked out, or what is staged, may be another.
    pub git: bool,
}

impl Changes {
    /// Whether nothing happened.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && !self.rescan && !self.git
    }
}

/// Tells what changes in a project. All methods may be called from any thread.
#[derive(Debug)]
pub struct Watch {
    told: Arc<Told>,
    follower: Mutex<Follower>,
}

impl Watch {
    /// Watches folders (relative to the root; "" is the root itself), each without those in it,
    /// and single files of the repository, such as the `files` of a `Head`. Whatever is in a
    /// `.waypost`, where the service writes all the time, is left out.
    ///
    /// Never fails: what cannot be watched is looked at now and then, see [`how`](Self::how). A
    /// few system calls for each folder.
    pub fn start(root: &Path, dirs: &[String], git: &[PathBuf], mode: Mode) -> Self {
        Self::start_within(root, dirs, git, mode, system::watches_allowed())
    }

    fn start_within(
        root: &Path,
        dirs: &[String],
        git: &[PathBuf],
        mode: Mode,
        allowed: usize,
    ) -> Self {
        let root = fs::canonicalize(root).unwrap_or_else(|_| root.to_path_buf());
        let told = Arc::new(Told::new(root));
        let follower = Mutex::new(Follower::new(Arc::clone(&told), mode, allowed));
        let watch = Self { told, follower };
        watch.follow(dirs, git);
        watch
    }

    /// Watches these folders and files, and no others any more. Where there were too many folders
    /// and now there are fewer, they are watched from now on.
    pub fn follow(&self, dirs: &[String], git: &[PathBuf]) {
        self.follower.lock().follow(dirs, git);
    }

    /// Watches these folders as well.
    pub fn add(&self, dirs: &[String]) {
        self.follower.lock().add(dirs);
    }

    /// Waits for changes that have settled: 100 ms without another, or a second. Ends with empty
    /// changes after `timeout` (nothing: without end) and after [`wake`](Self::wake). One thread at
    /// a time.
    pub fn wait(&self, timeout: Option<Duration>) -> Changes {
        self.told.wait(timeout)
    }

    /// Ends a wait, or the next one if none is going on.
    pub fn wake(&self) {
        self.told.wake();
    }

    /// How it is watched at the moment.
    pub fn how(&self) -> How {
        self.follower.lock().how()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders(root: &Path, count: usize) -> Vec<String> {
        let names: Vec<String> = (0..count).map(|it| format!("d{it}")).collect();
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
