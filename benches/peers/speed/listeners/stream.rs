//! One stream of events, read as it comes: chunks, lines, and the ids among them.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;

use anyhow::{Context, Result, bail, ensure};
use memchr::memchr;

use crate::process::Service;

/// An open stream, and where in it the reader is.
pub struct Stream {
    socket: TcpStream,
    /// Bytes of the chunk that have not come yet.
    chunk: usize,
    /// The beginning of a chunk's head that came without its end.
    head: Vec<u8>,
    /// The same of a line.
    line: Vec<u8>,
    /// The id of the next event.
    next: u64,
    wrong: u64,
}

impl Stream {
    /// Listens from now on; the service has no events yet.
    pub fn open(service: &Service) -> Result<Self> {
        let mut socket = TcpStream::connect(service.program.address).context("connecting")?;
        socket.write_all(&service.request("GET", "/api/events/stream?after=0", ""))?;
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            ensure!(socket.read(&mut byte)? == 1, "the service closed the connection");
            head.push(byte[0]);
        }
        ensure!(head.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&head));
        socket.set_nonblocking(true)?;
        Ok(Self { socket, chunk: 0, head: Vec::new(), line: Vec::new(), next: 1, wrong: 0 })
    }

    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Events that were not the next one.
    pub fn wrong(&self) -> u64 {
        self.wrong
    }

    /// Takes what has come; how many events begin in it.
    pub fn receive(&mut self, buffer: &mut [u8]) -> Result<u64> {
        match self.socket.read(buffer) {
            Ok(0) => bail!("the service ended a stream"),
            Ok(length) => self.chunks(&buffer[..length]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
            Err(error) => Err(error).context("receiving"),
        }
    }

    fn chunks(&mut self, mut bytes: &[u8]) -> Result<u64> {
        let mut events = 0;
        while !bytes.is_empty() {
            if self.chunk == 0 {
                // A head is a length on a line of its own; the line before it ends the last chunk.
                let end = memchr(b'\n', bytes).map(|at| at + 1);
                let (more, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
                self.head.extend_from_slice(more);
                bytes = rest;
                if end.is_some() {
                    let digits = std::str::from_utf8(&self.head)?.trim();
                    if !digits.is_empty() {
                        self.chunk =
                            usize::from_str_radix(digits, 16).context("a chunk's length")?;
                    }
                    self.head.clear();
                }
                continue;
            }
            let (data, rest) = bytes.split_at(self.chunk.min(bytes.len()));
            events += self.lines(data)?;
            self.chunk -= data.len();
            bytes = rest;
        }
        Ok(events)
    }

    fn lines(&mut self, mut data: &[u8]) -> Result<u64> {
        let mut events = 0;
        while let Some(end) = memchr(b'\n', data) {
            let (line, rest) = (&data[..end], &data[end + 1..]);
            if self.line.is_empty() {
                events += count(line, &mut self.next, &mut self.wrong)?;
            } else {
                self.line.extend_from_slice(line);
                events += count(&self.line, &mut self.next, &mut self.wrong)?;
                self.line.clear();
            }
            data = rest;
        }
        self.line.extend_from_slice(data);
        Ok(events)
    }
}

/// 1 for a line that begins an event.
fn count(line: &[u8], next: &mut u64, wrong: &mut u64) -> Result<u64> {
    let Some(id) = line.strip_prefix(b"id: ") else { return Ok(0) };
    let id: u64 = std::str::from_utf8(id)?.parse()?;
    *wrong += u64::from(id != *next);
    *next = id + 1;
    Ok(1)
}
