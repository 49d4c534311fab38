//! The system's information about a Unix socket.

#![expect(unsafe_code, reason = "std has no stable call for the credentials of a socket's peer")]

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};

/// The user at the other end.
pub(super) fn peer_uid(socket: BorrowedFd<'_>) -> io::Result<u32> {
    let mut credentials = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let mut bytes = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the socket is open as long as it is borrowed; both pointers are to variables that outlive the call, and
    // `bytes` is the size of the first.
    let code = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut credentials).cast(),
            &raw mut bytes,
        )
    };
    if code != 0 {
        return Err(io::Error::last_os_error());
    }
    if bytes as usize != size_of::<libc::ucred>() {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(credentials.uid)
}
