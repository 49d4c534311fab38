//! Opening files that a killed process had open.
//!
//! An open file holds a lock. A process that the killed one was starting has a copy of that file
//! until it executes its program, so the lock can outlive its owner for a moment.

use std::fs;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// How long to wait for a lock whose owner is gone. Starting a process takes far less.
const RELEASE_TIME_MAX: Duration = Duration::from_secs(30);
const CHECK_EVERY: Duration = Duration::from_millis(5);

/// Opens something that has a lock. Retries while the lock's owner, which `owner` finds in the
/// error, is gone; fails at once if the owner is running.
pub(crate) fn open<T, E>(
    mut open: impl FnMut() -> Result<T, E>,
    owner: impl Fn(&E) -> Option<String>,
) -> Result<T, E> {
    let started = Instant::now();
    let mut is_logged = false;
    loop {
        let error = match open() {
            Ok(opened) => return Ok(opened),
            Err(error) => error,
        };
        let Some(pid) = owner(&error).filter(|owner| is_gone(owner)) else { return Err(error) };
        if started.elapsed() > RELEASE_TIME_MAX {
            return Err(error);
        }
        if !is_logged {
            is_logged = true;
            tracing::info!(pid, "waiting for a killed service to release its files");
        }
        std::thread::sleep(CHECK_EVERY);
    }
}

/// Whether the process with this number cannot hold the lock: it has ended, or is a zombie.
fn is_gone(pid: &str) -> bool {
    let Some(number) = pid.parse().ok().and_then(Pid::from_raw) else { return false };
    if test_kill_process(number) == Err(Errno::SRCH) {
        return true;
    }
    // The state follows the name in parentheses, which may contain any character (proc(5)).
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|part| part.trim_start().starts_with(['Z', 'X']))
}
