//! The mode of new files.
//!
//! What the service makes is for its user alone, whatever made it: the program runs with a umask of
//! 077. Programs of flows are not the service: they get the umask that the service was started with.

use std::io;

use rustix::fs::Mode;
use rustix::process::umask;

const CLOSED: u32 = 0o077;

/// The umask that the service was started with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Umask(Mode);

impl Umask {
    /// Closes new files of this process to others.
    pub(crate) fn close() -> Self {
        Self(umask(Mode::from_raw_mode(CLOSED)))
    }

    /// Does something on this thread with the umask of before. Where the system does not let a thread
    /// have one of its own (some containers), it is done with the service's.
    pub(crate) fn lift<T>(self, work: impl FnOnce() -> T) -> T {
        if let Err(error) = unshare_umask() {
            tracing::debug!(%error, "a flow's program runs with the service's umask of 077");
            return work();
        }
        umask(self.0);
        let done = work();
        umask(Mode::from_raw_mode(CLOSED));
        done
    }
}

/// Gives this thread a umask and a current folder of its own.
#[expect(unsafe_code, reason = "std has no such call")]
fn unshare_umask() -> io::Result<()> {
    // SAFETY: it has no pointers. It parts the umask, the current folder and the root folder of this thread from those of
    // the others; file descriptors, which std relies on, stay shared.
    let code = unsafe { libc::unshare(libc::CLONE_FS) };
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
