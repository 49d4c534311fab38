//! A repair in a process of its own, which ends before a change of a file. The test program has a
//! test `repair::child` that does what the parent asks for.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, abort};
use std::sync::atomic::{AtomicU64, Ordering};

const CHILD: &str = "WAYPOST_TEST_REPAIR";

/// How many changes of files are left to this process.
static LEFT: AtomicU64 = AtomicU64::new(0);

/// Ends this process if it may change no more files.
pub(crate) fn on_change() {
    if LEFT.fetch_sub(1, Ordering::Relaxed) == 1 {
        abort();
    }
}

/// The folder to repair and what is known of it, if a parent asks for it.
#[expect(clippy::disallowed_methods, reason = "what the parent asks for is not a setting")]
pub(crate) fn request() -> Option<(PathBuf, u64)> {
    let request = env::var(CHILD).ok()?;
    let mut words = request.splitn(3, ' ');
    let mut number = || words.next().and_then(|word| word.parse().ok()).expect("a number");
    let (changes, known) = (number(), number());
    LEFT.store(changes, Ordering::Relaxed);
    Some((words.next().expect("a folder").into(), known))
}

/// Repairs in another process, which ends before so many changes; tells whether it was killed.
pub(crate) fn is_killed(dir: &Path, changes: u64, known: u64) -> bool {
    let child = Command::new(env::current_exe().expect("this program"))
        .args(["repair::child", "--exact", "--nocapture"])
        .env(CHILD, format!("{changes} {known} {}", dir.display()))
        .output()
        .expect("a child");
    let said = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.code().is_none() || child.status.success(), "{changes}: {said}");
    child.status.code().is_none()
}
