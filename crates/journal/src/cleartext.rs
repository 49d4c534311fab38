//! Keeps a password from a server that asks for it in cleartext on a connection without TLS: any
//! program can listen on the port of a database that is stopped.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The type of messages about authentication (PostgreSQL, Frontend/Backend Protocol, Message Formats).
const AUTHENTICATION: u8 = b'R';
const OK: u32 = 0;
const CLEARTEXT_PASSWORD: u32 = 3;
/// The type, the length, and for messages about authentication which one it is.
const HEAD_BYTES: usize = 9;

trait Duplex: AsyncRead + AsyncWrite + Send {}

impl<S: AsyncRead + AsyncWrite + Send> Duplex for S {}

/// A connection to a server after its handshake. Without TLS, it fails if the server asks for the
/// password in cleartext.
pub(crate) struct Stream {
    stream: Pin<Box<dyn Duplex>>,
    messages: Messages,
}

/// The messages of the server up to the end of the authentication.
#[derive(Debug, Default)]
struct Messages {
    head: Vec<u8>,
    /// Bytes of the current message that are left.
    skip: usize,
    is_done: bool,
}

impl Stream {
    pub(crate) fn encrypted(stream: impl AsyncRead + AsyncWrite + Send + 'static) -> Self {
        let messages = Messages { is_done: true, ..Messages::default() };
        Self { stream: Box::pin(stream), messages }
    }

    pub(crate) fn guarded(stream: impl AsyncRead + AsyncWrite + Send + 'static) -> Self {
        Self { stream: Box::pin(stream), messages: Messages::default() }
    }
}

impl Messages {
    fn take(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while let [first, rest @ ..] = bytes
            && !self.is_done
        {
            if self.skip > 0 {
                let skipped = self.skip.min(bytes.len());
                self.skip -= skipped;
                bytes = &bytes[skipped..];
                continue;
            }
            self.head.push(*first);
            bytes = rest;
            self.end_head()?;
        }
        Ok(())
    }

    /// Looks at the head of a message when it is complete.
    fn end_head(&mut self) -> io::Result<()> {
        let number = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_be_bytes);
        let (kind, length) = match self.head.split_first() {
            Some((kind, length)) if length.len() >= 4 => (*kind, number(&length[..4]) as usize),
            _ => return Ok(()),
        };
        if kind != AUTHENTICATION {
            // The library refuses a length that is too short.
            self.skip = length.saturating_sub(4);
            self.head.clear();
            return Ok(());
        }
        if self.head.len() < HEAD_BYTES {
            return Ok(());
        }
        match number(&self.head[5..]) {
            CLEARTEXT_PASSWORD => {
                return Err(io::Error::new(
                    io::ErrorKind::PermissionDenied,
                    "the server asks for the password in cleartext, and it was not sent: use \
                     SCRAM (password_encryption and pg_hba.conf), sslmode=verify-full, or a Unix \
                     socket",
                ));
            }
            OK => self.is_done = true,
            _ => {}
        }
        self.skip = (length + 1).saturating_sub(HEAD_BYTES);
        self.head.clear();
        Ok(())
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        ready!(this.stream.as_mut().poll_read(cx, buf))?;
        if !this.messages.is_done {
            this.messages.take(&buf.filled()[before..])?;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.get_mut().stream.as_mut().poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().stream.as_mut().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().stream.as_mut().poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
        [&[kind][..], &length, body].concat()
    }

    fn take(bytes: &[u8], piece: usize) -> io::Result<bool> {
        let mut messages = Messages::default();
        bytes.chunks(piece).try_for_each(|chunk| messages.take(chunk))?;
        Ok(messages.is_done)
    }

    #[test]
    fn only_a_request_for_cleartext_is_refused_and_only_before_the_end_of_the_authentication() {
        let ask = |which: u32| message(AUTHENTICATION, &which.to_be_bytes());
        let scram = message(AUTHENTICATION, b"\0\0\0\x0aSCRAM-SHA-256\0\0");
        let notice = message(b'N', &[b'R', 0, 0, 0, 8, 0, 0, 0, 3]);
        for piece in [1, 2, 3, 5, 8, 9, 10, 1000] {
            let whole = [&notice[..], &scram, &ask(11), &ask(12), &ask(OK)].concat();
            assert!(take(&whole, piece).unwrap(), "{piece}");
            let row = [&whole[..], &ask(CLEARTEXT_PASSWORD)].concat();
            assert!(take(&row, piece).unwrap(), "{piece}");
            assert!(!take(&[&notice[..], &ask(5)].concat(), piece).unwrap(), "{piece}");
            let asked = [&notice[..], &ask(CLEARTEXT_PASSWORD)].concat();
            take(&asked, piece).unwrap_err();
            take(&[0xff; 64], piece).unwrap();
        }
    }
}
