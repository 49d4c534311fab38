//! Connections within one machine: who is at the other end, and sockets that only one user can reach.
//!
//! Another user of the machine can listen on a loopback port before the service does, and can connect to any port that
//! the service listens on. The kernel knows which user a socket belongs to: for a Unix socket it reports it with
//! `SO_PEERCRED`, for a TCP connection in `/proc/net/tcp`. Both ends trust their own user and root, who can do
//! everything anyway. An end that the kernel does not identify is rejected.
//!
//! The service, `ctl` and the browser share this module.

#[cfg(target_os = "linux")]
mod proc;
#[cfg(target_os = "linux")]
mod system;

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::os::unix::fs::{
    DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, PermissionsExt as _,
};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

/// The longest path of a Unix socket; the system's structure has one more byte, for the terminator.
pub const SOCKET_PATH_BYTES_MAX: usize = 107;

/// Why the other end of a connection is not trusted, or a socket cannot be bound.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The other end belongs to another user.
    #[error("it belongs to user {uid}, not to this user ({own}) or root")]
    OtherUser {
        /// The user.
        uid: u32,
        /// The user of this process.
        own: u32,
    },
    /// The system does not report whose the other end is.
    #[error("the system does not report which user it belongs to")]
    Unknown,
    /// A process is listening on the socket.
    #[error("another process listens on the socket {path}")]
    InUse {
        /// The socket.
        path: String,
    },
    /// A file that is not a socket has its name, or other users can access its folder.
    #[error("{path} {reason}")]
    Place {
        /// The path.
        path: String,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// The path is too long for the system's structure.
    #[error("the path {path} is longer than {SOCKET_PATH_BYTES_MAX} bytes")]
    TooLong {
        /// The path.
        path: String,
    },
    /// The system returned an error.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// The result of this module's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// A socket of the machine, as the kernel lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Found {
    uid: u32,
    /// 0 for a socket without a process: one that was not accepted yet, or that was closed. The kernel then reports
    /// root as its user.
    inode: u64,
}

/// The user that this process acts as.
pub fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Rejects every user except this process's own and root.
///
/// # Errors
/// [`Error::OtherUser`].
pub fn check_uid(uid: u32) -> Result<()> {
    let own = own_uid();
    if uid == own || uid == 0 { Ok(()) } else { Err(Error::OtherUser { uid, own }) }
}

/// The user at the other end of a connected Unix socket: for a client the user that connected, for a server the one
/// that started to listen.
#[cfg(target_os = "linux")]
pub fn unix_peer_uid(stream: impl AsFd) -> io::Result<u32> {
    system::peer_uid(stream.as_fd())
}

/// The user at the other end of a connected Unix socket, which is not supported on this system.
#[cfg(not(target_os = "linux"))]
pub fn unix_peer_uid(_stream: impl AsFd) -> io::Result<u32> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The user of the program that has connected to us from `peer`, on this machine; `ours` is our end. `None` if the
/// system does not know it, and for a program that has already closed its end.
pub fn tcp_client_uid(ours: SocketAddr, peer: SocketAddr) -> io::Result<Option<u32>> {
    Ok(find(peer, Some(ours))?.filter(|socket| socket.inode != 0).map(|socket| socket.uid))
}

/// The user of the program that listens at `server`, on this machine, and that our end `ours` is connected to.
pub fn tcp_server_uid(ours: SocketAddr, server: SocketAddr) -> io::Result<Option<u32>> {
    // The process that accepted the connection may no longer be the one that listens there.
    if let Some(accepted) = find(server, Some(ours))?.filter(|socket| socket.inode != 0) {
        return Ok(Some(accepted.uid));
    }
    // It has not been accepted, so it belongs to the listener: whichever process gets the listener gets the connection,
    // too.
    Ok(find(server, None)?.filter(|socket| socket.inode != 0).map(|socket| socket.uid))
}

#[cfg(not(target_os = "linux"))]
fn find(_near: SocketAddr, _far: Option<SocketAddr>) -> io::Result<Option<Found>> {
    Ok(None)
}

#[cfg(target_os = "linux")]
fn find(near: SocketAddr, far: Option<SocketAddr>) -> io::Result<Option<Found>> {
    /// The kernel's tables change while they are read, so a socket can be missed once.
    const LOOKS: usize = 3;
    let (near, far) = (canonical(near), far.map(canonical));
    for _ in 1..LOOKS {
        if let Some(found) = proc::find(near, far)? {
            return Ok(Some(found));
        }
    }
    proc::find(near, far)
}

/// An IPv4 address mapped to IPv6 is the same address.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// Listens on a Unix socket that only this user can reach: mode 0600, in a folder of mode 0700, which is created if it
/// is missing. A socket that an ended process left is replaced, one on which a process listens is not. The caller holds
/// a lock, so that two processes do not do this at the same time.
///
/// # Errors
/// [`Error::InUse`], [`Error::Place`] if another kind of file has the name or other users can access the folder,
/// [`Error::TooLong`].
pub fn listen(path: &Path) -> Result<UnixListener> {
    let shown = || path.display().to_string();
    if path.as_os_str().len() > SOCKET_PATH_BYTES_MAX {
        return Err(Error::TooLong { path: shown() });
    }
    let folder = path.parent().unwrap_or(Path::new("/"));
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error.into()),
        Ok(()) | Err(_) => {}
    }
    check_private(folder)?;
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error.into()),
        Ok(found) if !found.file_type().is_socket() => {
            let reason = "is not a socket; move it away".to_owned();
            return Err(Error::Place { path: shown(), reason });
        }
        Ok(_) if UnixStream::connect(path).is_ok() => return Err(Error::InUse { path: shown() }),
        Ok(_) => fs::remove_file(path)?,
    }
    let listener = UnixListener::bind(path)?;
    // Until here its folder has denied access to other users.
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Connects to a Unix socket on which this user or root listens.
///
/// # Errors
/// [`Error::OtherUser`] before anything is sent, [`Error::TooLong`], [`Error::Io`].
pub fn connect(path: &Path) -> Result<UnixStream> {
    if path.as_os_str().len() > SOCKET_PATH_BYTES_MAX {
        return Err(Error::TooLong { path: path.display().to_string() });
    }
    let stream = UnixStream::connect(path)?;
    check_uid(unix_peer_uid(&stream)?)?;
    Ok(stream)
}

fn check_private(folder: &Path) -> Result<()> {
    let found = fs::symlink_metadata(folder)?;
    let refused = |reason: String| Error::Place { path: folder.display().to_string(), reason };
    if !found.is_dir() {
        return Err(refused("is not a folder".to_owned()));
    }
    let own = own_uid();
    // Root may serve a folder of another user, who can then access it anyway.
    if found.uid() != own && own != 0 {
        return Err(refused(format!("belongs to user {}, not to this user ({own})", found.uid())));
    }
    if found.mode() & 0o077 != 0 {
        let mode = found.mode() & 0o777;
        return Err(refused(format!(
            "is accessible to others (mode {mode:o}); fix it with: chmod 700"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::{own_uid, tcp_client_uid, tcp_server_uid};

    #[test]
    fn the_user_of_either_end_is_known() {
        for (address, reached) in
            [("127.0.0.1:0", "127.0.0.1"), ("[::1]:0", "[::1]"), ("[::]:0", "127.0.0.1")]
        {
            // A machine without IPv6 has nothing to test for it.
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let port = listener.local_addr().expect("an address").port();
            let client = TcpStream::connect(format!("{reached}:{port}")).expect("it listens");
            let ends = |stream: &TcpStream| {
                (stream.local_addr().expect("ours"), stream.peer_addr().expect("theirs"))
            };
            let server = || {
                let (ours, server) = ends(&client);
                tcp_server_uid(ours, server).expect("an answer")
            };
            // Not accepted: no process has the socket, and the listener stands for it.
            assert_eq!(server(), Some(own_uid()), "{address}");
            let (accepted, _) = listener.accept().expect("a connection");
            assert_eq!(server(), Some(own_uid()), "{address}");
            // The accepting process remains the owner even when another one listens there.
            drop(listener);
            assert_eq!(server(), Some(own_uid()), "{address}");
            let (ours, peer) = ends(&accepted);
            assert_eq!(
                tcp_client_uid(ours, peer).expect("an answer"),
                Some(own_uid()),
                "{address}"
            );
        }
    }

    /// The kernel reports root for a closed socket, which would admit anyone who sends and closes.
    #[test]
    fn who_has_closed_the_connection_is_unknown() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let client =
            TcpStream::connect(listener.local_addr().expect("an address")).expect("it listens");
        drop(client);
        let (accepted, peer) = listener.accept().expect("a connection");
        let near = accepted.local_addr().expect("an address");
        assert_eq!(tcp_client_uid(near, peer).expect("an answer"), None);
    }
}
