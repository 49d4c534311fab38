//! A cheap client of many connections: one thread, one request under way on each.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::event::epoll;

use crate::samples::Samples;
use crate::{http, wire};

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) answers: u64,
    pub(crate) seconds: f64,
    pub(crate) latencies: Samples,
}

impl Outcome {
    pub(crate) fn rate(&self) -> f64 {
        self.answers as f64 / self.seconds
    }
}

/// Open connections.
#[derive(Debug)]
pub(crate) struct Load(Vec<Connection>);

#[derive(Debug)]
struct Connection {
    stream: Stream,
    out: Vec<u8>,
    received: Vec<u8>,
    sent_at: Instant,
}

#[derive(Debug)]
enum Stream {
    Http(TcpStream),
    Postgres(UnixStream),
}

impl Load {
    /// Connections to services, one for each address.
    pub(crate) fn http(addresses: &[SocketAddr]) -> Result<Self> {
        let connect = |address: &SocketAddr| {
            let stream = TcpStream::connect(address).context("connecting to a service")?;
            stream.set_nodelay(true)?;
            Ok(Connection::new(Stream::Http(stream)))
        };
        addresses.iter().map(connect).collect::<Result<_>>().map(Self)
    }

    /// Sessions of a PostgreSQL server.
    pub(crate) fn postgres(socket: &Path, count: usize) -> Result<Self> {
        let connect = |_| {
            let mut stream = UnixStream::connect(socket).context("connecting to PostgreSQL")?;
            wire::greet(&mut stream)?;
            Ok(Connection::new(Stream::Postgres(stream)))
        };
        (0..count).map(connect).collect::<Result<_>>().map(Self)
    }

    /// Sends requests, one at a time on each connection, for this time. `write` writes the next one
    /// for the connection with that number. Every answer must be a good one.
    pub(crate) fn run(
        &mut self,
        time: Duration,
        write: &mut dyn FnMut(usize, &mut Vec<u8>) -> Result<()>,
    ) -> Result<Outcome> {
        let poll = epoll::create(epoll::CreateFlags::empty())?;
        // One connection alone is read by waiting for it: nothing is cheaper.
        let is_sole = self.0.len() == 1;
        let begun = Instant::now();
        let mut outcome = Outcome { answers: 0, seconds: 0.0, latencies: Samples::default() };
        for (at, connection) in self.0.iter_mut().enumerate() {
            connection.stream.set_nonblocking(!is_sole)?;
            if !is_sole {
                let data = epoll::EventData::new_u64(at as u64);
                epoll::add(&poll, &connection.stream, data, epoll::EventFlags::IN)?;
            }
            connection.send(at, write)?;
        }
        let mut under_way = self.0.len();
        let nothing =
            epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) };
        let mut events = [nothing; 128];
        while under_way > 0 {
            let count = if is_sole { 1 } else { epoll::wait(&poll, &mut events, None)? };
            for event in &events[..count] {
                let at = event.data.u64() as usize;
                let connection = &mut self.0[at];
                if !connection.receive()? {
                    continue;
                }
                outcome.latencies.add(connection.sent_at.elapsed().as_secs_f64());
                outcome.answers += 1;
                if begun.elapsed() < time {
                    connection.send(at, write)?;
                } else {
                    under_way -= 1;
                }
            }
        }
        for connection in self.0.iter().filter(|_| !is_sole) {
            epoll::delete(&poll, &connection.stream)?;
        }
        outcome.seconds = begun.elapsed().as_secs_f64();
        Ok(outcome)
    }
}

impl Connection {
    fn new(stream: Stream) -> Self {
        Self { stream, out: Vec::new(), received: Vec::new(), sent_at: Instant::now() }
    }

    fn send(
        &mut self,
        at: usize,
        write: &mut dyn FnMut(usize, &mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        self.out.clear();
        write(at, &mut self.out)?;
        self.sent_at = Instant::now();
        // A request is smaller than its socket's buffer, which is empty now.
        self.stream.as_write().write_all(&self.out).context("sending")
    }

    /// Takes what has come; whether that is the whole answer.
    fn receive(&mut self) -> Result<bool> {
        let mut part = [0; 16 << 10];
        loop {
            match self.stream.as_read().read(&mut part) {
                Ok(0) => bail!("the server closed the connection"),
                Ok(count) => self.received.extend(&part[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error).context("receiving"),
            }
            let whole = match self.stream {
                Stream::Http(_) => http::length(&self.received)?,
                Stream::Postgres(_) => wire::length(&self.received)?,
            };
            if whole.is_some() {
                if let Stream::Http(_) = self.stream {
                    http::check(&self.received)?;
                }
                self.received.clear();
                return Ok(true);
            }
        }
    }
}

impl Stream {
    fn set_nonblocking(&self, is_so: bool) -> std::io::Result<()> {
        match self {
            Self::Http(it) => it.set_nonblocking(is_so),
            Self::Postgres(it) => it.set_nonblocking(is_so),
        }
    }

    fn as_read(&mut self) -> &mut dyn Read {
        match self {
            Self::Http(it) => it,
            Self::Postgres(it) => it,
        }
    }

    fn as_write(&mut self) -> &mut dyn Write {
        match self {
            Self::Http(it) => it,
            Self::Postgres(it) => it,
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Http(it) => it.as_fd(),
            Self::Postgres(it) => it.as_fd(),
        }
    }
}
