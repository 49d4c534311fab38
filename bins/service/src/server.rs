//! The accept loop: one task a connection, a limit on them, and a graceful end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tracing::{debug, info, warn};

use crate::answer;
use crate::state::App;

/// Accepts until `stop` says so, then waits for what was accepted, at most for the grace period.
pub(crate) async fn serve(
    listener: TcpListener,
    app: Arc<App>,
    router: Router,
    mut stop: watch::Receiver<bool>,
) {
    let graceful = GracefulShutdown::new();
    let room = Arc::new(Semaphore::new(app.limits.connections_max));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.wait_for(|it| *it) => break,
        };
        match accepted {
            Ok((stream, peer)) => match Arc::clone(&room).try_acquire_owned() {
                Ok(permit) => connect(stream, peer, &app, &router, &graceful, permit),
                Err(_) => refuse(stream, &app),
            },
            Err(error) => {
                // Out of file descriptors, mostly: let some connection end first.
                warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    drop(listener);
    let open = graceful.count();
    info!(open, "stopping: finishing what was accepted");
    if tokio::time::timeout(app.limits.shutdown_grace, graceful.shutdown()).await.is_err() {
        warn!("some requests did not finish within the grace period");
    }
}

fn connect(
    stream: TcpStream,
    peer: SocketAddr,
    app: &Arc<App>,
    router: &Router,
    graceful: &GracefulShutdown,
    permit: OwnedSemaphorePermit,
) {
    if let Err(error) = stream.set_nodelay(true) {
        debug!(%error, "no TCP_NODELAY");
    }
    let app = Arc::clone(app);
    let router = router.clone();
    let limits = app.limits.clone();
    let service = hyper::service::service_fn(move |request| {
        let (app, router) = (Arc::clone(&app), router.clone());
        async move {
            Ok::<_, std::convert::Infallible>(answer::answer(app, router, peer, request).await)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_read_time)
        .max_buf_size(limits.header_bytes_max.max(8192))
        .serve_connection(TokioIo::new(stream), service);
    let connection = graceful.watch(connection);
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            debug!(%error, "a connection ended with an error");
        }
        drop(permit);
    });
}

/// Says that there are too many connections, without reading anything.
fn refuse(mut stream: TcpStream, app: &App) {
    app.metrics.refused_connection();
    let body = r#"{"type":"about:blank","title":"Service Unavailable","status":503,"detail":"too many connections are open; try again in a second"}"#;
    let head = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\n\
         content-length: {}\r\nretry-after: 1\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    tokio::spawn(async move {
        let write = stream.write_all(head.as_bytes());
        if !matches!(tokio::time::timeout(Duration::from_secs(1), write).await, Ok(Ok(()))) {
            debug!("a refused connection did not take its answer");
        }
    });
}
