//! Commands over HTTP, for programs that are not on the mesh: `POST /COMMAND` with the arguments as
//! its body.
//!
//! There is no token, so who comes in is decided by where it comes from: programs of this user on this
//! machine, by our own name, and never a web page. They come to a port of loopback, where the kernel
//! tells whose a client is, or to a Unix socket, which nobody else can reach.

mod answer;
mod body;
mod place;

use std::convert::Infallible;
use std::io;
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

pub(crate) use self::answer::{Client, Door};
pub(crate) use self::place::{Place, candidates};

/// Connections at once; further ones wait for one of them to end.
const CONNECTIONS_MAX: usize = 128;
/// A request's head has come by then, or the connection ends.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// The longest head of a request.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// At the end, answers are sent by then.
const END_TIME: Duration = Duration::from_secs(2);

/// Where clients come in.
#[derive(Debug)]
pub(crate) enum Entrance {
    Port(TcpListener),
    Socket(UnixListener),
}

/// A connection that came.
enum Came {
    ByPort(TcpStream),
    BySocket(UnixStream),
}

impl Entrance {
    async fn accept(&self) -> io::Result<Came> {
        match self {
            Self::Port(listener) => listener.accept().await.map(|it| Came::ByPort(it.0)),
            Self::Socket(listener) => listener.accept().await.map(|it| Came::BySocket(it.0)),
        }
    }
}

/// Answers until `stop` says so, and a little longer to whoever was being answered.
pub(crate) async fn serve(entrance: Entrance, door: Arc<Door>, mut stop: watch::Receiver<bool>) {
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
            (Ok(permit), Ok(Came::ByPort(stream))) => {
                // Without it answers are a little slower.
                stream.set_nodelay(true).unwrap_or_default();
                let client = Client { is_admitted: is_ours(&stream), is_by_socket: false };
                connect(stream, client, &door, &graceful, permit);
            }
            (Ok(permit), Ok(Came::BySocket(stream))) => {
                let uid = local::unix_peer_uid(&stream).map_err(local::Error::from);
                let is_admitted = uid.and_then(local::check_uid).is_ok();
                let client = Client { is_admitted, is_by_socket: true };
                connect(stream, client, &door, &graceful, permit);
            }
            // Out of file descriptors, mostly: let some connection end first.
            _ => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
    drop(entrance);
    // Who has no answer by then gets none.
    tokio::time::timeout(END_TIME, graceful.shutdown()).await.unwrap_or_default();
}

/// Whether the client of a connection is a program of this user, or of root. One that the kernel does
/// not tell of is none.
fn is_ours(stream: &TcpStream) -> bool {
    let (Ok(ours), Ok(theirs)) = (stream.local_addr(), stream.peer_addr()) else { return false };
    let uid = local::tcp_client_uid(ours, theirs);
    matches!(uid, Ok(Some(uid)) if local::check_uid(uid).is_ok())
}

fn connect(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    client: Client,
    door: &Arc<Door>,
    graceful: &GracefulShutdown,
    permit: OwnedSemaphorePermit,
) {
    let door = Arc::clone(door);
    let service = service_fn(move |request| {
        let door = Arc::clone(&door);
        async move { Ok::<_, Infallible>(door.answer(client, request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service);
    let connection = graceful.watch(connection);
    tokio::spawn(async move {
        // A connection that breaks is its client's matter.
        connection.await.unwrap_or_default();
        drop(permit);
    });
}
