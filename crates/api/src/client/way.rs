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
use crate::local;

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
        Ok(Some(Connection { stream, buffers }))
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
        let output = &self.buffers.output()[..amount];
        let sent = match &mut self.stream {
            Stream::Unix(it) => it.set_write_timeout(wait).and_then(|()| it.write_all(output)),
            Stream::Tcp(it) => it.set_write_timeout(wait).and_then(|()| it.write_all(output)),
        };
        sent.map_err(|error| in_time(error, &timeout))
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let timeout = timeout.for_read();
        let wait = wait(&timeout)?;
        let input = self.buffers.input_append_buf();
        let read = loop {
            let read = match &mut self.stream {
                Stream::Unix(it) => it.set_read_timeout(wait).and_then(|()| it.read(input)),
                Stream::Tcp(it) => it.set_read_timeout(wait).and_then(|()| it.read(input)),
            };
            match read {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                done => break done,
            }
        };
        let bytes = read.map_err(|error| in_time(error, &timeout))?;
        self.buffers.input_appended(bytes);
        Ok(bytes > 0)
    }

    /// An idle connection has nothing to send: an end, or any data, makes it unusable.
    fn is_open(&mut self) -> bool {
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

/// How long to wait for the system; `None` is unlimited.
fn wait(timeout: &NextTimeout) -> Result<Option<Duration>, Error> {
    if timeout.after.is_zero() {
        return Err(Error::Timeout(timeout.reason));
    }
    Ok(timeout.not_zero().map(|it| *it))
}

fn in_time(error: io::Error, timeout: &NextTimeout) -> Error {
    let reason: Timeout = timeout.reason;
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => Error::Timeout(reason),
        _ => error.into(),
    }
}
