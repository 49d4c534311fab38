//! Commands over HTTP, for programs that are not on the mesh: `POST /COMMAND` with the arguments as
//! its body.
//!
//! There is no token, so access depends on where a request comes from: programs of this user on
//! this machine, under our own host name, and never a web page. They connect to a loopback port,
//! where the kernel reports which user owns the client, or to a Unix socket that no other user can
//! access.

mod answer;
mod body;
mod place;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use waypost_api::local;

pub(crate) use self::answer::{Access, Client};
pub(crate) use self::place::{Place, candidates};

/// The maximum number of concurrent connections; further ones wait until one of them ends.
const CONNECTIONS_MAX: usize = 128;
/// The time limit for receiving a request's head; then the connection is closed.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// The longest head of a request.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// The time limit for sending responses at shutdown.
const END_TIME: Duration = Duration::from_secs(2);

/// A listener for clients.
#[derive(Debug)]
pub(crate) enum Entrance {
    Port(TcpListener),
    Socket(UnixListener),
}

/// An accepted connection.
enum Accepted {
    ByPort(TcpStream),
    BySocket(UnixStream),
}

impl Entrance {
    async fn accept(&self) -> io::Result<Accepted> {
        match self {
            Self::Port(listener) => {
                listener.accept().await.map(|accepted| Accepted::ByPort(accepted.0))
            }
            Self::Socket(listener) => {
                listener.accept().await.map(|accepted| Accepted::BySocket(accepted.0))
            }
        }
    }
}

/// Serves requests until `stop` is set, and then for a short time those in progress.
pub(crate) async fn serve(
    entrance: Entrance,
    access: Arc<Access>,
    mut stop: watch::Receiver<bool>,
) {
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = async {
            let permit = Arc::clone(&room).acquire_owned().await;
            (permit, entrance.accept().await)
        };
        let accepted = tokio::select! {
            accepted = accepted => accepted,
            _ = stop.wait_for(|it| *it) => break,
        };
        match accepted {
            (Ok(permit), Ok(Accepted::ByPort(stream))) => {
                // Without it responses are a little slower.
                stream.set_nodelay(true).unwrap_or_default();
                let client = Client { is_admitted: is_ours(&stream), is_by_socket: false };
                connect(stream, client, &access, &graceful, permit);
            }
            (Ok(permit), Ok(Accepted::BySocket(stream))) => {
                let uid = local::unix_peer_uid(&stream).map_err(local::Error::from);
                let is_admitted = uid.and_then(local::check_uid).is_ok();
                let client = Client { is_admitted, is_by_socket: true };
                connect(stream, client, &access, &graceful, permit);
            }
            // Usually there are no file descriptors left: let some connection end first.
            _ => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
    drop(entrance);
    // A request without a response by then gets none.
    tokio::time::timeout(END_TIME, graceful.shutdown()).await.unwrap_or_default();
}

/// Whether the client of a connection is a program of this user, or of root. A client that the
/// kernel does not report is rejected.
fn is_ours(stream: &TcpStream) -> bool {
    let (Ok(ours), Ok(theirs)) = (stream.local_addr(), stream.peer_addr()) else { return false };
    is_own_client(ours, theirs)
}

/// The same, of the connection from `theirs` to `ours`.
pub(crate) fn is_own_client(ours: SocketAddr, theirs: SocketAddr) -> bool {
    let uid = local::tcp_client_uid(ours, theirs);
    matches!(uid, Ok(Some(uid)) if local::check_uid(uid).is_ok())
}

fn connect(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    client: Client,
    access: &Arc<Access>,
    graceful: &GracefulShutdown,
    permit: OwnedSemaphorePermit,
) {
    let access = Arc::clone(access);
    let service = service_fn(move |request| {
        let access = Arc::clone(&access);
        async move { Ok::<_, Infallible>(access.answer(client, request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service);
    let connection = graceful.watch(connection);
    tokio::spawn(async move {
        // A broken connection concerns only its client.
        connection.await.unwrap_or_default();
        drop(permit);
    });
}
