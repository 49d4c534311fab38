//! Commands over HTTP, for programs that are not on the mesh: `POST /COMMAND` with the arguments as
//! its body.
//!
//! There is no token, so who comes in is decided by where it comes from: programs of this machine,
//! by our own name, and never a web page.

mod answer;
mod body;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

pub(crate) use self::answer::Door;

/// Connections at once; further ones wait for one of them to end.
const CONNECTIONS_MAX: usize = 128;
/// A request's head has come by then, or the connection ends.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// The longest head of a request.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// At the end, answers are sent by then.
const END_TIME: Duration = Duration::from_secs(2);

/// Answers until `stop` says so, and a little longer to whoever was being answered.
pub(crate) async fn serve(listener: TcpListener, door: Door, mut stop: watch::Receiver<bool>) {
    let (door, room) = (Arc::new(door), Arc::new(Semaphore::new(CONNECTIONS_MAX)));
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = async {
            let permit = Arc::clone(&room).acquire_owned().await;
            (permit, listener.accept().await)
        };
        let accepted = tokio::select! {
            accepted = accepted => accepted,
            _ = stop.wait_for(|it| *it) => break,
        };
        match accepted {
            (Ok(permit), Ok((stream, _))) => connect(stream, &door, &graceful, permit),
            // Out of file descriptors, mostly: let some connection end first.
            _ => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
    drop(listener);
    // Who has no answer by then gets none.
    tokio::time::timeout(END_TIME, graceful.shutdown()).await.unwrap_or_default();
}

fn connect(
    stream: TcpStream,
    door: &Arc<Door>,
    graceful: &GracefulShutdown,
    permit: OwnedSemaphorePermit,
) {
    // Without it answers are a little slower.
    stream.set_nodelay(true).unwrap_or_default();
    let door = Arc::clone(door);
    let service = service_fn(move |request| {
        let door = Arc::clone(&door);
        async move { Ok::<_, Infallible>(door.answer(request).await) }
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
