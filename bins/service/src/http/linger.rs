//! Closes a connection whose client is still sending, or does not read.
//!
//! A socket that is closed with unread input resets the connection: the client's next write fails,
//! and the response may be lost before the client reads it. So the service first ends its own side,
//! then reads and discards what the client still sends, within limits of bytes and time.
//!
//! A client that does not read holds what was produced for it. After a pause, an event stream says so and
//! ends; after another one, the connection is closed.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http_body::{Body, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// More than the largest body except an import's, for clients that read no response before they
/// have sent everything.
const BYTES_MAX: u64 = 80 * 1024 * 1024;
/// The same times as nginx's `lingering_time` and `lingering_timeout`.
const TIME_MAX: Duration = Duration::from_secs(30);
const SILENCE_MAX: Duration = Duration::from_secs(5);
const BUFFER_BYTES: usize = 8 * 1024;
/// What a client must take between two pauses, if so much waits: one that reads byte by byte does not
/// read.
const PROGRESS_BYTES: usize = 64 * 1024;

/// Whether the last request of a connection was answered before its body was read to the end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unread(Arc<AtomicBool>);

impl Unread {
    pub(crate) fn set(&self, unread: bool) {
        self.0.store(unread, Ordering::Relaxed);
    }

    fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Whether the client has not read the current response for too long.
#[derive(Debug, Clone, Default)]
pub(crate) struct Late(Arc<AtomicBool>);

impl Late {
    pub(crate) fn set(&self, late: bool) {
        self.0.store(late, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// How long a client may pause, and has paused.
struct Patience {
    pause_max: Duration,
    late: Late,
    pause: Option<Pause>,
    /// Bytes that it took since the last pause.
    taken: usize,
}

struct Pause {
    end: Pin<Box<Sleep>>,
    is_second: bool,
}

impl Patience {
    /// Passes the outcome of a write on, or an error at the end of the second pause.
    fn watch<T>(
        &mut self,
        outcome: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            return outcome;
        }
        let pause_max = self.pause_max;
        let pause = self
            .pause
            .get_or_insert_with(|| Pause { end: Box::pin(sleep(pause_max)), is_second: false });
        while pause.end.as_mut().poll(context).is_ready() {
            if pause.is_second {
                tracing::debug!("closed the connection of a client that does not read");
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            self.late.set(true);
            pause.is_second = true;
            pause.end.as_mut().reset(Instant::now() + pause_max);
        }
        Poll::Pending
    }

    fn took(&mut self, count: usize) {
        self.taken += count;
        if self.taken >= PROGRESS_BYTES {
            self.took_all();
        }
    }

    fn took_all(&mut self) {
        (self.pause, self.taken) = (None, 0);
    }
}

/// A request's body that records whether it is dropped before its end.
#[derive(Debug)]
pub(crate) struct Watched<B: Body> {
    body: B,
    ended: bool,
    unread: Unread,
}

impl<B: Body> Watched<B> {
    pub(crate) fn new(body: B, unread: Unread) -> Self {
        unread.set(false);
        Self { body, ended: false, unread }
    }
}

impl<B: Body + Unpin> Body for Watched<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        self.ended |= frame.is_none();
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B: Body> Drop for Watched<B> {
    fn drop(&mut self) {
        if !self.ended && !self.body.is_end_stream() {
            self.unread.set(true);
        }
    }
}

/// A connection that is closed as described above.
pub(crate) struct Lingering<S> {
    stream: S,
    unread: Unread,
    closing: Option<Closing>,
    patience: Patience,
}

/// The remaining limits.
struct Closing {
    bytes_left: u64,
    end: Pin<Box<Sleep>>,
    silence: Pin<Box<Sleep>>,
}

impl<S> Lingering<S> {
    pub(crate) fn new(stream: S, unread: Unread, late: Late, pause_max: Duration) -> Self {
        let patience = Patience { pause_max, late, pause: None, taken: 0 };
        Self { stream, unread, closing: None, patience }
    }
}

impl<S> Lingering<S> {
    fn wrote(
        &mut self,
        written: Poll<io::Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(count)) = &written {
            self.patience.took(*count);
        }
        self.patience.watch(written, context)
    }
}

impl Closing {
    fn new() -> Self {
        Self {
            bytes_left: BYTES_MAX,
            end: Box::pin(sleep(TIME_MAX)),
            silence: Box::pin(sleep(SILENCE_MAX)),
        }
    }

    /// Discards input until the client ends its side or a limit is reached.
    fn poll(
        &mut self,
        stream: &mut (impl AsyncRead + Unpin),
        context: &mut Context<'_>,
    ) -> Poll<()> {
        let mut bytes = [0; BUFFER_BYTES];
        loop {
            let over = self.end.as_mut().poll(context).is_ready()
                || self.silence.as_mut().poll(context).is_ready();
            if over || self.bytes_left == 0 {
                tracing::debug!("did not read the rest of a rejected body");
                return Poll::Ready(());
            }
            let mut buffer = ReadBuf::new(&mut bytes);
            let read = ready!(Pin::new(&mut *stream).poll_read(context, &mut buffer));
            let count = buffer.filled().len() as u64;
            if read.is_err() || count == 0 {
                return Poll::Ready(());
            }
            self.bytes_left = self.bytes_left.saturating_sub(count);
            self.silence.as_mut().reset(Instant::now() + SILENCE_MAX);
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Lingering<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Lingering<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.wrote(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, buffers);
        self.wrote(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // It is called when everything was written.
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        if flushed.is_ready() {
            self.patience.took_all();
        }
        self.patience.watch(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.closing.is_none() {
            let shut = Pin::new(&mut this.stream).poll_shutdown(context);
            ready!(this.patience.watch(shut, context))?;
            if !this.unread.get() {
                return Poll::Ready(Ok(()));
            }
        }
        let closing = this.closing.get_or_insert_with(Closing::new);
        closing.poll(&mut this.stream, context).map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;

    #[test]
    fn a_client_that_does_not_read_is_late_and_then_cut_off() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.expect("a runtime").block_on(async {
            let (stream, _client) = tokio::io::duplex(16);
            let late = Late::default();
            let pause_max = Duration::from_millis(20);
            let mut stream = Lingering::new(stream, Unread::default(), late.clone(), pause_max);
            stream.write_all(&[0; 16]).await.expect("it fits");
            assert!(!late.get());
            let cut_off = stream.write_all(&[0; 16]).await.expect_err("nobody reads");
            assert_eq!(cut_off.kind(), io::ErrorKind::TimedOut);
            assert!(late.get());
        });
    }

    #[test]
    fn a_client_that_reads_slowly_has_the_whole_time_for_each_part() {
        let mut patience = Patience {
            pause_max: Duration::from_secs(60),
            late: Late::default(),
            pause: None,
            taken: 0,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.expect("a runtime").block_on(std::future::poll_fn(|context| {
            assert!(patience.watch::<()>(Poll::Pending, context).is_pending());
            patience.took(PROGRESS_BYTES - 1);
            assert!(patience.pause.is_some(), "byte by byte is not enough");
            patience.took(1);
            assert!(patience.pause.is_none());
            assert!(patience.watch::<()>(Poll::Pending, context).is_pending());
            patience.took_all();
            assert!(patience.pause.is_none());
            Poll::Ready(())
        }));
    }
}
