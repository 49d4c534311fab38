//! Response bodies that are produced while they are sent, and request bodies that are read while
//! they arrive.

use std::io::{self, Read, Write};
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures_util::stream::try_unfold;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::UnboundedReceiverStream;

use crate::http::waiting::{Account, Held};

/// The size of the pieces of a response; one may exceed it by one element of the response.
pub(crate) const PIECE_BYTES: usize = 256 * 1024;
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

/// A body whose next piece is produced when the connection has room for it. `next` returns the piece,
/// and the state for the one after it; nothing at the end.
pub(crate) fn pulled<S, N, F>(state: S, next: N) -> Body
where
    S: Send + 'static,
    N: FnMut(S) -> F + Send + 'static,
    F: Future<Output = io::Result<Option<(Bytes, S)>>> + Send + 'static,
{
    Body::from_stream(try_unfold(state, next))
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
#[derive(Debug)]
pub(crate) struct Ahead {
    pieces: mpsc::UnboundedSender<(Bytes, Held)>,
    account: Account,
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
    pub(crate) fn new(account: Account) -> (Self, Body) {
        let (pieces, receiver) = mpsc::unbounded_channel();
        // From here on, the connection counts them.
        let body =
            UnboundedReceiverStream::new(receiver).map(|(piece, _)| Ok::<_, io::Error>(piece));
        (Self { pieces, account }, Body::from_stream(body))
    }

    /// Queues the piece.
    pub(crate) fn send(&self, piece: Bytes) -> Result<(), NotSent> {
        self.account.check().map_err(|_| NotSent::Unread)?;
        let held = self.account.hold(piece.len());
        self.pieces.send((piece, held)).map_err(|_| NotSent::Gone)
    }
}
