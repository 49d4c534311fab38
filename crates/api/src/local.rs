//! Connections within one machine: who is at the other end, and sockets that one user alone reaches.
//!
//! Another user of the machine can listen on a loopback port before the service does, and can connect to any port that
//! it listens on. The kernel knows which user a socket belongs to: of a Unix socket it tells by `SO_PEERCRED`, of a TCP
//! connection by `sock_diag`, or by `/proc/net/tcp` where that is not available. Both ends trust their own user and
//! root, who can do everything anyway.
//!
//! The service, `ctl` and the browser share this module.

#[cfg(target_os = "linux")]
mod diag;
#[cfg(target_os = "linux")]
mod proc;

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::os::unix::fs::{
    DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, PermissionsExt as _,
};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

/// The longest path of a Unix socket; the system's structure has one more byte, for the end.
pub const SOCKET_PATH_BYTES_MAX: usize = 107;

/// Why the other end of a connection is not trusted, or a socket cannot be bound.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The other end belongs to another user.
    #[error("it belongs to user {uid}, not to this one ({own}) or root")]
    OtherUser {
        /// Whose it is.
        uid: u32,
        /// The user of this process.
        own: u32,
    },
    /// The system does not tell whose the other end is.
    #[error("the system does not tell which user it belongs to")]
    Unknown,
    /// A process answers on the socket.
    #[error("another process answers on the socket {path}")]
    InUse {
        /// The socket.
        path: String,
    },
    /// Something that is no socket has its name, or others reach its folder.
    #[error("{path} {reason}")]
    Place {
        /// The path.
        path: String,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// The path does not fit into the system's structure.
    #[error("the path {path} is longer than {SOCKET_PATH_BYTES_MAX} bytes")]
    TooLong {
        /// The path.
        path: String,
    },
    /// The system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// The result of this module's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// A socket of the machine, as the kernel lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Found {
    uid: u32,
    /// 0 for a socket that no process has: one that was not accepted yet, or that was closed. The kernel then says
    /// that it is root's.
    inode: u64,
}

/// The user that this process acts as.
pub fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Refuses every user but this process's own and root.
///
/// # Errors
/// [`Error::OtherUser`].
pub fn check_uid(uid: u32) -> Result<()> {
    let own = own_uid();
    if uid == own || uid == 0 { Ok(()) } else { Err(Error::OtherUser { uid, own }) }
}

/// The user at the other end of a connected Unix socket: of a client the user that connected, of a server the one that
/// began to listen.
#[cfg(target_os = "linux")]
pub fn unix_peer_uid(stream: impl AsFd) -> io::Result<u32> {
    Ok(rustix::net::sockopt::socket_peercred(stream)?.uid.as_raw())
}

/// The user at the other end of a connected Unix socket, which this system is not asked for.
#[cfg(not(target_os = "linux"))]
pub fn unix_peer_uid(_stream: impl AsFd) -> io::Result<u32> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The user of the program that has connected to us from `peer`, on this machine; `ours` is our end. `None` if the
/// system does not know, and for a program that has closed its end already.
pub fn tcp_client_uid(ours: SocketAddr, peer: SocketAddr) -> io::Result<Option<u32>> {
    Ok(find(peer, Some(ours))?.filter(|it| it.inode != 0).map(|it| it.uid))
}

/// The user of the program that listens at `server`, on this machine, and that our end `ours` is connected to.
pub fn tcp_server_uid(ours: SocketAddr, server: SocketAddr) -> io::Result<Option<u32>> {
    // Whoever has accepted the connection may not be who listens there by now.
    if let Some(accepted) = find(server, Some(ours))?.filter(|it| it.inode != 0) {
        return Ok(Some(accepted.uid));
    }
    // Nobody has accepted it, so it is the listener's: where that one goes, the connection goes, too.
    Ok(find(server, None)?.filter(|it| it.inode != 0).map(|it| it.uid))
}

#[cfg(not(target_os = "linux"))]
fn find(_near: SocketAddr, _far: Option<SocketAddr>) -> io::Result<Option<Found>> {
    Ok(None)
}

#[cfg(target_os = "linux")]
fn find(near: SocketAddr, far: Option<SocketAddr>) -> io::Result<Option<Found>> {
    let (near, far) = (canonical(near), far.map(canonical));
    match diag::find(near, far) {
        Ok(Some(found)) => Ok(Some(found)),
        // A kernel without that module, or a container that may not ask it.
        Ok(None) | Err(_) => proc::find(near, far),
    }
}

/// IPv4 in IPv6 is one address with two names.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// Listens on a Unix socket that this user alone can reach: mode 0600, in a folder of mode 0700, which is made if it
/// is missing. A socket that an ended process left is replaced, one that a process answers on is not. The caller holds
/// a lock, so that two processes do not do this at once.
///
/// # Errors
/// [`Error::InUse`], [`Error::Place`] if something else has the name or others reach the folder, [`Error::TooLong`].
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
            let reason = "is in the place of a socket; move it away".to_owned();
            return Err(Error::Place { path: shown(), reason });
        }
        Ok(_) if UnixStream::connect(path).is_ok() => return Err(Error::InUse { path: shown() }),
        Ok(_) => fs::remove_file(path)?,
    }
    let listener = UnixListener::bind(path)?;
    // Until here its folder has kept others away.
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Connects to a Unix socket that this user or root listens on.
///
/// # Errors
/// [`Error::OtherUser`] before anything was sent, [`Error::TooLong`], [`Error::Io`].
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
    // Root may serve a folder that is another user's, who then can reach it anyway.
    if found.uid() != own && own != 0 {
        return Err(refused(format!("belongs to user {}, not to this one ({own})", found.uid())));
    }
    if found.mode() & 0o077 != 0 {
        let mode = found.mode() & 0o777;
        return Err(refused(format!(
            "is open to others (mode {mode:o}); take that away: chmod 700"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::{Found, canonical, diag, own_uid, proc, tcp_client_uid, tcp_server_uid};

    #[test]
    fn both_ways_to_ask_tell_the_same() {
        for address in ["127.0.0.1:0", "[::1]:0", "[::]:0"] {
            // A machine without IPv6 has nothing to tell about it.
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let listening = listener.local_addr().expect("an address");
            let reached = if address == "[::]:0" {
                "127.0.0.1"
            } else {
                address.rsplit_once(':').expect("a port").0
            };
            let client =
                TcpStream::connect(format!("{reached}:{}", listening.port())).expect("it listens");
            let (ours, server) =
                (client.local_addr().expect("ours"), client.peer_addr().expect("theirs"));
            // Not accepted: nobody has the socket, and the listener answers for it.
            assert_eq!(
                tcp_server_uid(ours, server).expect("an answer"),
                Some(own_uid()),
                "{address}"
            );
            let (accepted, peer) = listener.accept().expect("a connection");
            assert_eq!(
                tcp_server_uid(ours, server).expect("an answer"),
                Some(own_uid()),
                "{address}"
            );
            let near = accepted.local_addr().expect("an address");
            assert_eq!(
                tcp_client_uid(near, peer).expect("an answer"),
                Some(own_uid()),
                "{address}"
            );
            let (near, peer) = (canonical(near), canonical(peer));
            let asked: Vec<Option<Found>> = [(near, Some(peer)), (peer, Some(near))]
                .into_iter()
                .flat_map(|(it, far)| [diag::find(it, far), proc::find(it, far)])
                .map(|it| it.expect("the system tells"))
                .collect();
            assert_eq!(asked[0], asked[1], "{address}");
            assert_eq!(asked[2], asked[3], "{address}");
        }
    }

    /// The kernel calls a closed socket root's, which would let everybody pass who sends and closes.
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
