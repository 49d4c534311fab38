//! Response bodies that are produced while they are sent, and request bodies that are read while
//! they arrive.

use std::io::{self, Read, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_stream::Stream;

/// Bytes that a [`Writer`] buffers before it sends them.
const PIECE_BYTES: usize = 64 * 1024;
/// Maximum number of pieces that wait for the client.
const PIECES_MAX: usize = 8;

/// Marks a response whose writes go on while it is sent: its header cannot have their position.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StillWriting;

/// A response that a blocking thread writes as fast as its client reads.
///
/// The service closes the connection of a client that leaves it unread for too long.
#[derive(Debug)]
pub(crate) struct Writer {
    pieces: mpsc::Sender<io::Result<Bytes>>,
    gathered: BytesMut,
    unread_time_max: Duration,
    runtime: Handle,
}

impl Writer {
    /// Returns the writer, and the body that it fills. Must be called on the runtime.
    pub(crate) fn new(unread_time_max: Duration) -> (Self, Body) {
        let (pieces, receiver) = mpsc::channel(PIECES_MAX);
        let body = Body::from_stream(tokio_stream::wrappers::ReceiverStream::new(receiver));
        let gathered = BytesMut::with_capacity(PIECE_BYTES);
        (Self { pieces, gathered, unread_time_max, runtime: Handle::current() }, body)
    }

    /// Aborts the response, so that the client knows that it is incomplete.
    pub(crate) fn abort(self) {
        let error = io::Error::other("failed to finish the response");
        if self.pieces.try_send(Err(error)).is_err() {
            tracing::debug!("the client of an incomplete response disconnected or does not read");
        }
    }

    fn send(&mut self) -> io::Result<()> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        let piece = self.gathered.split().freeze();
        let sending = self.pieces.send_timeout(Ok(piece), self.unread_time_max);
        self.runtime.block_on(sending).map_err(|_| {
            io::Error::new(io::ErrorKind::BrokenPipe, "the client disconnected or does not read")
        })
    }
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.gathered.extend_from_slice(bytes);
        if self.gathered.len() >= PIECE_BYTES {
            self.send()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send()
    }
}

/// A request's body, as a reader for a blocking thread.
#[derive(Debug)]
pub(crate) struct Reader {
    pieces: mpsc::Receiver<Bytes>,
    piece: Bytes,
}

impl Reader {
    /// The sending side, which is closed when the body has ended without error, and the reader.
    pub(crate) fn new() -> (mpsc::Sender<Bytes>, Self) {
        let (sender, pieces) = mpsc::channel(PIECES_MAX);
        (sender, Self { pieces, piece: Bytes::new() })
    }
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match self.pieces.blocking_recv() {
                Some(piece) => self.piece = piece,
                None => return Ok(0),
            }
        }
        let length = buffer.len().min(self.piece.len());
        buffer[..length].copy_from_slice(&self.piece.split_to(length));
        Ok(length)
    }
}

/// Response lines that are buffered ahead of the client, so that a client which reads nothing
/// before it has sent its whole request does not deadlock.
#[derive(Debug, Clone)]
pub(crate) struct Ahead {
    pieces: mpsc::UnboundedSender<Bytes>,
    unread_bytes: Arc<AtomicUsize>,
    unread_bytes_max: usize,
}

/// Why [`Ahead::send`] failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotSent {
    /// Too many bytes are unread.
    Unread,
    /// The client is gone.
    Gone,
}

impl Ahead {
    /// The sending side and the body.
    pub(crate) fn new(unread_bytes_max: usize) -> (Self, Body) {
        let (pieces, receiver) = mpsc::unbounded_channel();
        let unread_bytes = Arc::new(AtomicUsize::new(0));
        let body = Body::from_stream(Counted { receiver, unread_bytes: Arc::clone(&unread_bytes) });
        (Self { pieces, unread_bytes, unread_bytes_max }, body)
    }

    /// Queues the piece.
    pub(crate) fn send(&self, piece: Bytes) -> Result<(), NotSent> {
        let before = self.unread_bytes.fetch_add(piece.len(), Ordering::Relaxed);
        if before > self.unread_bytes_max {
            return Err(NotSent::Unread);
        }
        self.pieces.send(piece).map_err(|_| NotSent::Gone)
    }
}

struct Counted {
    receiver: mpsc::UnboundedReceiver<Bytes>,
    unread_bytes: Arc<AtomicUsize>,
}

impl Stream for Counted {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let piece = ready!(self.receiver.poll_recv(context));
        if let Some(piece) = &piece {
            self.unread_bytes.fetch_sub(piece.len(), Ordering::Relaxed);
        }
        Poll::Ready(piece.map(Ok))
    }
}
