//! The accept loop: one task per connection, a limit on connections, and a graceful end.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tracing::{debug, info, warn};
use waypost_api::local;

use crate::app::App;
use crate::http::answer;
use crate::http::gate::Peer;
use crate::http::linger::{Late, Lingering, Unread, Watched};
use crate::http::raw::{self, Replies};
use crate::http::room::{Place, Room};

/// Places on the socket. They are apart from those of the network, so that no other user takes them.
pub(crate) const SOCKET_CONNECTIONS_MAX: usize = 256;

/// The listeners of the service.
pub(crate) struct Listeners {
    pub(crate) network: TcpListener,
    /// The TLS of network connections.
    pub(crate) tls: Option<TlsAcceptor>,
    /// The socket, for this user only.
    pub(crate) socket: Option<UnixListener>,
}

enum Accepted {
    Network(TcpStream),
    Socket(UnixStream),
}

/// The state shared by all connections.
struct Shared {
    app: Arc<App>,
    router: Router,
}

/// Accepts until `stop` resolves, then waits for open connections, at most for the grace period.
pub(crate) async fn serve(
    listeners: Listeners,
    app: Arc<App>,
    router: Router,
    mut stop: watch::Receiver<bool>,
) {
    let graceful = GracefulShutdown::new();
    let network_room = Room::new(app.limits.connections_max);
    let socket_room = Room::new(SOCKET_CONNECTIONS_MAX);
    let shared = Arc::new(Shared { app, router });
    let app = &shared.app;
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listeners) => accepted,
            _ = stop.wait_for(|it| *it) => break,
        };
        let accepted = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Usually no file descriptors are left: wait until some connection ends.
                warn!(%error, "failed to accept a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let watcher = graceful.watcher();
        let shared = Arc::clone(&shared);
        match accepted {
            Accepted::Socket(stream) => {
                if let Err(error) = trusted(&stream) {
                    warn!(%error, "rejected a connection to the socket");
                    tokio::spawn(refuse(stream, raw::another_user()));
                } else if let Some(place) = socket_room.enter() {
                    let own = Arc::clone(&place);
                    tokio::spawn(place.run(serve_connection(
                        stream,
                        Peer::Socket,
                        shared,
                        watcher,
                        own,
                    )));
                } else {
                    refuse_over_limit(app, stream);
                }
            }
            Accepted::Network(stream) => {
                if let Some(place) = network_room.enter() {
                    if let Err(error) = stream.set_nodelay(true) {
                        debug!(%error, "failed to set TCP_NODELAY");
                    }
                    let (tls, own) = (listeners.tls.clone(), Arc::clone(&place));
                    tokio::spawn(place.run(accept_tls(stream, tls, shared, watcher, own)));
                } else if listeners.tls.is_some() {
                    // A client that expects TLS could not read a response.
                    app.metrics.refused_connection();
                } else {
                    refuse_over_limit(app, stream);
                }
            }
        }
    }
    drop(listeners);
    let open = graceful.count();
    info!(open, "stopping: finishing open requests");
    if tokio::time::timeout(app.limits.shutdown_grace, graceful.shutdown()).await.is_err() {
        warn!("some requests did not finish within the grace period");
    }
}

async fn accept(listeners: &Listeners) -> io::Result<Accepted> {
    let network =
        async { listeners.network.accept().await.map(|accepted| Accepted::Network(accepted.0)) };
    let Some(socket) = &listeners.socket else { return network.await };
    let socket = async { socket.accept().await.map(|accepted| Accepted::Socket(accepted.0)) };
    tokio::select! {
        accepted = network => accepted,
        accepted = socket => accepted,
    }
}

/// The socket's folder keeps other users away; this check is for systems where it does not.
fn trusted(stream: &UnixStream) -> local::Result<()> {
    local::check_uid(local::unix_peer_uid(stream)?)
}

/// A connection over the network, after the TLS handshake.
async fn accept_tls(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    shared: Arc<Shared>,
    watcher: Watcher,
    place: Arc<Place>,
) {
    let Some(tls) = tls else {
        return serve_connection(stream, Peer::Network, shared, watcher, place).await;
    };
    let agreed = tokio::time::timeout(shared.app.limits.header_read_time, tls.accept(stream));
    match agreed.await {
        Ok(Ok(stream)) => serve_connection(stream, Peer::Network, shared, watcher, place).await,
        Ok(Err(error)) => debug!(%error, "TLS handshake failed"),
        Err(_) => debug!("TLS handshake timed out"),
    }
}

async fn serve_connection<S>(
    stream: S,
    peer: Peer,
    shared: Arc<Shared>,
    watcher: Watcher,
    place: Arc<Place>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let limits = &shared.app.limits;
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_read_time)
        .max_buf_size(limits.header_bytes_max.max(8192));
    let unread = Unread::default();
    let late = Late::default();
    let stream = Lingering::new(stream, unread.clone(), late.clone(), limits.unread_time_max);
    let stream = Replies::new(stream, limits.header_bytes_max, unread.clone());
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        let (app, router) = (Arc::clone(&shared.app), shared.router.clone());
        let mut request = request.map(|request| Body::new(Watched::new(request, unread.clone())));
        late.set(false);
        request.extensions_mut().insert(late.clone());
        request.extensions_mut().insert(Arc::clone(&place));
        async move {
            Ok::<_, std::convert::Infallible>(answer::answer(app, router, peer, request).await)
        }
    });
    let connection = watcher.watch(builder.serve_connection(TokioIo::new(stream), service));
    if let Err(error) = connection.await {
        debug!(%error, "a connection ended with an error");
    }
}

/// Responds that there are too many connections, without reading anything.
fn refuse_over_limit(app: &App, stream: impl AsyncWrite + Unpin + Send + 'static) {
    app.metrics.refused_connection();
    tokio::spawn(refuse(stream, raw::too_many_connections()));
}

async fn refuse(mut stream: impl AsyncWrite + Unpin + Send + 'static, answer: Vec<u8>) {
    let write = stream.write_all(&answer);
    if !matches!(tokio::time::timeout(Duration::from_secs(1), write).await, Ok(Ok(()))) {
        debug!("a rejected connection did not read its response");
    }
}
