//! HTTP/1.1 over a connection, in both roles.

use std::convert::Infallible;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper::header::HOST;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{Notify, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{Sleep, sleep, timeout};

use crate::caller::Origin;
use crate::limits::{CONNECTIONS_MAX, ENVELOPE_BYTES_MAX, LEASE, PAYLOAD_BYTES_MAX};

/// The sending end of a connection: one request at a time.
#[derive(Debug)]
pub(crate) struct Lane {
    sender: SendRequest<Full<Bytes>>,
    /// Ends with the connection.
    ended: oneshot::Receiver<()>,
}

/// The sending end of a new connection, and the task that carries its requests.
pub(crate) async fn handshake(
    io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> hyper::Result<(Lane, impl Future<Output = ()> + Send + 'static)> {
    let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(io)).await?;
    let (open, ended) = oneshot::channel::<()>();
    let run = async move {
        // A broken connection is noticed by its requests.
        connection.await.unwrap_or_default();
        drop(open);
    };
    Ok((Lane { sender, ended }, run))
}

impl Lane {
    pub(crate) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// Sends a request and returns the status and the body of its response. Without one: whether the
    /// request may have been sent.
    pub(crate) async fn exchange(
        &mut self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<(StatusCode, Bytes), bool> {
        self.sender.ready().await.map_err(|_| false)?;
        let request = Request::builder().method(method).uri(path).header(HOST, "mesh");
        let request = request.body(Full::new(body)).map_err(|_| false)?;
        let mut response = pin!(self.sender.try_send_request(request));
        let response = tokio::select! {
            biased;
            response = &mut response => response,
            // A request that is sent in the moment in which the connection ends may stay in hyper's
            // queue as long as this end of it exists: its response would be awaited forever.
            _ = &mut self.ended => timeout(Duration::ZERO, response).await.map_err(|_| true)?,
        };
        let response = response.map_err(|mut error| error.take_message().is_none())?;
        let status = response.status();
        let body = Limited::new(response.into_body(), PAYLOAD_BYTES_MAX + ENVELOPE_BYTES_MAX);
        Ok((status, body.collect().await.map_err(|_| true)?.to_bytes()))
    }
}

/// The other end of a connection.
#[derive(Debug, Clone)]
pub(crate) struct Side {
    pub(crate) origin: Origin,
    /// Is notified when the connection carries a call.
    pub(crate) used: Option<Arc<Notify>>,
}

type Answering = Pin<Box<dyn Future<Output = Response<Full<Bytes>>> + Send>>;

/// Answers requests, whatever the connection.
#[derive(Clone)]
pub(crate) struct Answers {
    pub(crate) to: Arc<dyn Fn(Side, Request<Incoming>) -> Answering + Send + Sync>,
    /// Whether the peer leaves; each connection waits for that.
    pub(crate) leaving: watch::Sender<bool>,
}

/// Answers the requests of a connection until it ends, or the peer leaves: then only the one that is
/// being answered.
pub(crate) async fn serve(
    answers: Answers,
    io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    side: Side,
) {
    let mut leaving = answers.leaving.subscribe();
    let service = service_fn(move |request| {
        let answering = (answers.to)(side.clone(), request);
        async move { Ok::<_, Infallible>(answering.await) }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(LEASE)
        .serve_connection(TokioIo::new(Impatient { io, stalled: None }), service);
    let mut connection = pin!(connection);
    // A broken connection concerns only its client.
    tokio::select! {
        _ = &mut connection => return,
        _ = leaving.wait_for(|is_leaving| *is_leaving) => {}
    }
    connection.as_mut().graceful_shutdown();
    connection.await.unwrap_or_default();
}

/// A connection that fails when nothing that was written is read for [`LEASE`].
struct Impatient<T> {
    io: T,
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<T: AsyncWrite + Unpin> Impatient<T> {
    fn write<R>(
        &mut self,
        context: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut T>, &mut Context<'_>) -> Poll<io::Result<R>>,
    ) -> Poll<io::Result<R>> {
        let written = write(Pin::new(&mut self.io), context);
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(LEASE)));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Impatient<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(context, into)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Impatient<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.write(context, |io, context| io.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.write(context, |io, context| io.poll_write_vectored(context, parts))
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.write(context, |io, context| io.poll_flush(context))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.write(context, |io, context| io.poll_shutdown(context))
    }
}

/// Accepts connections and serves each of them; they end when this is dropped.
pub(crate) async fn accept<T, N, S>(next: impl Fn() -> N, serve: impl Fn(T) -> S)
where
    N: Future<Output = io::Result<T>>,
    S: Future<Output = ()> + Send + 'static,
{
    let mut open = JoinSet::new();
    loop {
        tokio::select! {
            accepted = next(), if open.len() < CONNECTIONS_MAX => match accepted {
                Ok(io) => drop(open.spawn(serve(io))),
                // Usually there are no file descriptors left: let some connection end first.
                Err(_) => sleep(Duration::from_millis(50)).await,
            },
            Some(_) = open.join_next(), if !open.is_empty() => {}
        }
    }
}
