//! How to connect to a service: to its socket, on loopback, or over TLS. Within the machine, the user at the other end
//! is checked before a token is sent.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport,
};
use ureq::{Error, Timeout};

use super::CONNECT_TIME_MAX;
use super::error::is_closed;
use crate::local;

/// How much of a request is discarded after its answer came, so that one without an end fails in the end.
const DISCARDED_BYTES_MAX: u64 = 1 << 30;

/// What an error says if the other end answers in TLS.
pub(super) const TLS_ALERT: &str = "the response is an alert of TLS";

/// Connects within the machine.
#[derive(Debug)]
pub(super) enum Near {
    /// To a Unix socket, whatever the request's host.
    Socket(PathBuf),
    /// To the address that the request names, which must be a loopback address.
    Loopback,
}

impl Connector for Near {
    type Out = Connection;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        _chained: Option<()>,
    ) -> Result<Option<Connection>, Error> {
        let stream = match self {
            Self::Socket(path) => Stream::Unix(local::connect(path).map_err(refused)?),
            Self::Loopback => Stream::Tcp(loopback(&details.addrs)?),
        };
        let config = details.config;
        let buffers = LazyBuffers::new(config.input_buffer_size(), config.output_buffer_size());
        Ok(Some(Connection { stream, buffers, discarded_bytes: None }))
    }
}

/// The first of the addresses that accepts a connection, if its user may receive the token.
fn loopback(addresses: &[SocketAddr]) -> Result<TcpStream, Error> {
    let mut problem = io::Error::from(ErrorKind::AddrNotAvailable);
    for address in addresses {
        // A name for this machine may resolve to another address, too.
        if !address.ip().to_canonical().is_loopback() {
            continue;
        }
        match TcpStream::connect_timeout(address, CONNECT_TIME_MAX) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                let uid = local::tcp_server_uid(stream.local_addr()?, stream.peer_addr()?)?;
                uid.ok_or(local::Error::Unknown).and_then(local::check_uid).map_err(refused)?;
                return Ok(stream);
            }
            Err(error) => problem = error,
        }
    }
    Err(problem.into())
}

fn refused(error: local::Error) -> Error {
    match error {
        local::Error::Io(error) => error.into(),
        other => Error::Other(Box::new(other)),
    }
}

/// A socket needs no address, so nothing is resolved.
#[derive(Debug)]
pub(super) struct NoResolver;

impl Resolver for NoResolver {
    fn resolve(
        &self,
        _uri: &Uri,
        _config: &Config,
        _timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        let mut addresses = self.empty();
        addresses.push(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        Ok(addresses)
    }
}

#[derive(Debug)]
enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

/// A connection within the machine.
pub(super) struct Connection {
    stream: Stream,
    buffers: LazyBuffers,
    /// Set once the service has answered and closed its end while the request was being sent: what of the request is
    /// left goes nowhere, so that the answer is read.
    discarded_bytes: Option<u64>,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("stream", &self.stream).finish_non_exhaustive()
    }
}

impl Transport for Connection {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        let timeout = timeout.for_write();
        let wait = wait(&timeout)?;
        if let Some(bytes) = &mut self.discarded_bytes {
            *bytes += amount as u64;
            return if *bytes > DISCARDED_BYTES_MAX {
                Err(io::Error::from(ErrorKind::BrokenPipe).into())
            } else {
                Ok(())
            };
        }
        let output = &self.buffers.output()[..amount];
        let sent = match &mut self.stream {
            Stream::Unix(it) => it.set_write_timeout(wait).and_then(|()| it.write_all(output)),
            Stream::Tcp(it) => it.set_write_timeout(wait).and_then(|()| it.write_all(output)),
        };
        match sent {
            Err(error) if is_closed(error.kind()) && self.has_answer() => {
                self.discarded_bytes = Some(0);
                Ok(())
            }
            sent => sent.map_err(|error| in_time(error, &timeout)),
        }
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let timeout = timeout.for_read();
        let wait = wait(&timeout)?;
        let bytes = self.read(wait).map_err(|error| in_time(error, &timeout))?;
        Ok(bytes > 0)
    }

    /// Not to be used again once the service has closed its end; otherwise, a connection that is idle has nothing to say: an end, or anything else, makes it useless.
    fn is_open(&mut self) -> bool {
        if self.discarded_bytes.is_some() {
            return false;
        }
        let mut byte = [0];
        let silent = |read: io::Result<usize>| matches!(read, Err(error) if error.kind() == ErrorKind::WouldBlock);
        match &mut self.stream {
            Stream::Unix(it) => {
                it.set_nonblocking(true).is_ok()
                    && silent(it.read(&mut byte))
                    && it.set_nonblocking(false).is_ok()
            }
            Stream::Tcp(it) => {
                it.set_nonblocking(true).is_ok()
                    && silent(it.read(&mut byte))
                    && it.set_nonblocking(false).is_ok()
            }
        }
    }
}

impl Connection {
    /// Reads into the buffer, and answers how many bytes came.
    fn read(&mut self, wait: Option<Duration>) -> io::Result<usize> {
        let input = self.buffers.input_append_buf();
        let bytes = loop {
            let read = match &mut self.stream {
                Stream::Unix(it) => it.set_read_timeout(wait).and_then(|()| it.read(input)),
                Stream::Tcp(it) => it.set_read_timeout(wait).and_then(|()| it.read(input)),
            };
            match read {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                done => break done?,
            }
        };
        // The start of an alert of TLS, in place of a response.
        if input.get(..bytes).is_some_and(|input| input.starts_with(&[0x15, 0x03])) {
            return Err(io::Error::new(ErrorKind::InvalidData, TLS_ALERT));
        }
        self.buffers.input_appended(bytes);
        Ok(bytes)
    }

    /// Whether an answer came before the other end was closed. Such an end makes no reader wait.
    fn has_answer(&mut self) -> bool {
        self.read(Some(CONNECT_TIME_MAX)).is_ok_and(|bytes| bytes > 0)
    }
}

/// How long to wait for the system; `None` is without end.
fn wait(timeout: &NextTimeout) -> Result<Option<Duration>, Error> {
    if timeout.after.is_zero() {
        return Err(Error::Timeout(timeout.reason));
    }
    Ok(timeout.not_zero().map(|duration| *duration))
}

fn in_time(error: io::Error, timeout: &NextTimeout) -> Error {
    let reason: Timeout = timeout.reason;
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => Error::Timeout(reason),
        _ => error.into(),
    }
}
