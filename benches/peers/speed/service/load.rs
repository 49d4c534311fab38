//! A cheap client of many connections: prebuilt requests, one thread, one request under way on each.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

use anyhow::{Context, Result, bail};
use rustix::event::epoll;

use crate::nats;
use crate::rig::{Samples, thread_seconds, wall_seconds};

/// Bytes of an answer, at most.
const RECEIVED_MAX: usize = 256 << 10;

/// How an answer is told from the next one.
#[derive(Clone, Copy)]
pub enum Protocol {
    Http,
    Redis,
    /// Requests begin with the length of what is published; the rest is the connection's own.
    Nats,
}

/// Requests that are there before the clock starts, sent over and over.
pub struct Requests {
    ready: Vec<Vec<u8>>,
    /// Where each has eight digits that make it unlike all others.
    number_at: Option<usize>,
    sent: usize,
}

impl Requests {
    pub fn new(ready: Vec<Vec<u8>>) -> Self {
        Self { ready, number_at: None, sent: 0 }
    }

    /// Of requests that have eight zeros somewhere, at the same place: no two are sent alike, with
    /// numbers from `first` on.
    pub fn numbered(ready: Vec<Vec<u8>>, first: usize) -> Self {
        let number_at = ready[0].windows(8).position(|window| window == b"00000000");
        Self { ready, number_at, sent: first }
    }

    pub fn sent(&self) -> usize {
        self.sent
    }

    fn next(&mut self) -> &[u8] {
        let count = self.ready.len();
        let request = &mut self.ready[self.sent % count];
        if let Some(at) = self.number_at {
            let mut rest = self.sent;
            for digit in request[at..at + 8].iter_mut().rev() {
                *digit = b'0' + (rest % 10) as u8;
                rest /= 10;
            }
        }
        self.sent += 1;
        request
    }
}

/// What came of a run.
#[derive(Default)]
pub struct Outcome {
    pub answers: u64,
    pub seconds: f64,
    /// Processor time of the client.
    pub client_seconds: f64,
    pub latencies: Samples,
}

impl Outcome {
    pub fn rate(&self) -> f64 {
        self.answers as f64 / self.seconds
    }
}

/// Open connections to a server.
pub struct Load {
    protocol: Protocol,
    connections: Vec<Connection>,
}

struct Connection {
    stream: TcpStream,
    /// What each request begins with on this connection, and room to put both together.
    prefix: Vec<u8>,
    whole: Vec<u8>,
    received: Vec<u8>,
    length: usize,
    sent_at: f64,
}

impl Load {
    pub fn connect(address: SocketAddr, protocol: Protocol, connections: usize) -> Result<Self> {
        let connections = (0..connections)
            .map(|number| {
                let mut stream = TcpStream::connect(address).context("connecting")?;
                stream.set_nodelay(true)?;
                let mut prefix = Vec::new();
                if let Protocol::Nats = protocol {
                    let inbox = format!("_INBOX.{number}");
                    nats::greet(&mut stream, &inbox)?;
                    prefix = format!("PUB {} {inbox} ", nats::SUBJECT).into_bytes();
                }
                let received = vec![0; RECEIVED_MAX];
                let whole = Vec::new();
                Ok(Connection { stream, prefix, whole, received, length: 0, sent_at: 0.0 })
            })
            .collect::<Result<_>>()?;
        Ok(Self { protocol, connections })
    }

    /// Sends requests, one at a time on each connection, while `goes_on` says so of the answers
    /// and the seconds so far. Every answer must be a good one.
    pub fn run(
        &mut self,
        requests: &mut Requests,
        mut goes_on: impl FnMut(u64, f64) -> bool,
    ) -> Result<Outcome> {
        let poll = epoll::create(epoll::CreateFlags::empty())?;
        let is_sole = self.connections.len() == 1;
        let (wall, thread) = (wall_seconds(), thread_seconds());
        let mut outcome = Outcome::default();
        let mut under_way = 0;
        for (at, connection) in self.connections.iter_mut().enumerate() {
            // One connection alone is read by waiting for it: nothing is cheaper.
            connection.stream.set_nonblocking(!is_sole)?;
            if !is_sole {
                let data = epoll::EventData::new_u64(at as u64);
                epoll::add(&poll, &connection.stream, data, epoll::EventFlags::IN)?;
            }
            connection.send(requests.next())?;
            under_way += 1;
        }
        let nothing =
            epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) };
        let mut events = [nothing; 128];
        while under_way > 0 {
            let count = if is_sole { 1 } else { epoll::wait(&poll, &mut events, None)? };
            for event in &events[..count] {
                let connection = &mut self.connections[event.data.u64() as usize];
                if !connection.receive(self.protocol)? {
                    continue;
                }
                let now = wall_seconds();
                outcome.latencies.add(now - connection.sent_at);
                outcome.answers += 1;
                if goes_on(outcome.answers, now - wall) {
                    connection.send(requests.next())?;
                } else {
                    under_way -= 1;
                }
            }
        }
        for connection in self.connections.iter().filter(|_| !is_sole) {
            epoll::delete(&poll, &connection.stream)?;
        }
        outcome.seconds = wall_seconds() - wall;
        outcome.client_seconds = thread_seconds() - thread;
        Ok(outcome)
    }
}

impl Connection {
    fn send(&mut self, request: &[u8]) -> Result<()> {
        self.sent_at = wall_seconds();
        // A request is far smaller than its socket's buffer, which is empty now.
        let whole = if self.prefix.is_empty() {
            request
        } else {
            self.whole.clear();
            self.whole.extend_from_slice(&self.prefix);
            self.whole.extend_from_slice(request);
            &self.whole
        };
        self.stream.write_all(whole).context("sending")
    }

    /// Takes what has come; whether that is the whole answer.
    fn receive(&mut self, protocol: Protocol) -> Result<bool> {
        loop {
            match self.stream.read(&mut self.received[self.length..]) {
                Ok(0) => bail!("the server closed the connection, or its answer is too long"),
                Ok(length) => self.length += length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error).context("receiving"),
            }
            let so_far = &self.received[..self.length];
            let whole = match protocol {
                Protocol::Http => http_length(so_far)?,
                Protocol::Redis => redis_length(so_far)?,
                Protocol::Nats => nats::length(so_far)?,
            };
            if whole.is_some_and(|whole| whole <= self.length) {
                self.length = 0;
                return Ok(true);
            }
        }
    }
}

/// The length of a good answer with a `Content-Length`, once its head is there.
fn http_length(bytes: &[u8]) -> Result<Option<usize>> {
    const NAME: &[u8] = b"\r\ncontent-length: ";
    let Some(head) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(None) };
    if !bytes.starts_with(b"HTTP/1.1 2") {
        bail!("the service answered {}", String::from_utf8_lossy(bytes));
    }
    let at = bytes[..head].windows(NAME.len()).position(|window| window.eq_ignore_ascii_case(NAME));
    let digits = at.map(|at| &bytes[at + NAME.len()..head]).context("no Content-Length")?;
    let digits = digits.iter().take_while(|digit| digit.is_ascii_digit());
    Ok(Some(head + 4 + digits.fold(0, |sum, it| sum * 10 + usize::from(it - b'0'))))
}

/// The length of an answer that is one bulk string, such as an entry's id.
fn redis_length(bytes: &[u8]) -> Result<Option<usize>> {
    let Some(line) = bytes.windows(2).position(|window| window == b"\r\n") else { return Ok(None) };
    let text = String::from_utf8_lossy(&bytes[..line]);
    let length = text.strip_prefix('$').and_then(|rest| rest.parse::<usize>().ok());
    Ok(Some(line + 2 + length.with_context(|| format!("Redis answered {text}"))? + 2))
}
