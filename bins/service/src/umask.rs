//! The mode of new files.
//!
//! Files that the service creates are for its user alone: the program runs with umask 077. Programs
//! of flows get the umask that the service was started with.

use std::io;

use rustix::fs::Mode;
use rustix::process::umask;

const CLOSED: u32 = 0o077;

/// The umask that the service was started with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Umask(Mode);

impl Umask {
    /// Sets the umask 077 for this process.
    pub(crate) fn close() -> Self {
        Self(umask(Mode::from_raw_mode(CLOSED)))
    }

    /// Runs a closure on this thread with the original umask. Where the system does not allow a
    /// umask per thread (some containers), it runs with the service's.
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
    // SAFETY: the call takes no pointers. It separates the umask, the current folder and the root
    // folder of this thread from those of the others; file descriptors, which std relies on, stay
    // shared.
    let code = unsafe { libc::unshare(libc::CLONE_FS) };
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
