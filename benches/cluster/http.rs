//! Requests to a service over HTTP/1.1.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

/// How long an answer may take: a batch of a hundred thousand lines takes some seconds.
const ANSWER_MAX: Duration = Duration::from_secs(300);

/// An answer of a service.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The position in the journal of the cluster, as the header has it.
    pub(crate) position: Option<String>,
    pub(crate) body: String,
}

/// A connection that stays open.
#[derive(Debug)]
pub(crate) struct Http {
    pub(crate) stream: TcpStream,
    address: SocketAddr,
    token: String,
    received: Vec<u8>,
}

impl Http {
    pub(crate) fn connect(address: SocketAddr, token: &str) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(ANSWER_MAX))?;
        Ok(Self { stream, address, token: token.to_owned(), received: Vec::new() })
    }

    /// Sends a request and waits for the answer.
    pub(crate) fn ask(&mut self, method: &str, path: &str, body: &str) -> Result<Answer> {
        self.send(method, path, None, body)?;
        self.receive()
    }

    pub(crate) fn send(
        &mut self,
        method: &str,
        path: &str,
        position: Option<&str>,
        body: &str,
    ) -> Result<()> {
        let out = request(self.address, &self.token, method, path, position, body);
        Ok(self.stream.write_all(&out)?)
    }

    pub(crate) fn receive(&mut self) -> Result<Answer> {
        let mut part = [0; 16 << 10];
        loop {
            if let Some(length) = length(&self.received)? {
                let answer = parse(&self.received[..length])?;
                self.received.drain(..length);
                return Ok(answer);
            }
            let count = self.stream.read(&mut part)?;
            ensure!(count > 0, "the service closed the connection");
            self.received.extend(&part[..count]);
        }
    }
}

impl Answer {
    /// The answer, if it says that the request succeeded.
    pub(crate) fn ok(self) -> Result<Self> {
        ensure!((200..300).contains(&self.status), "{}: {}", self.status, self.body);
        Ok(self)
    }
}

/// The bytes of a request.
pub(crate) fn request(
    address: SocketAddr,
    token: &str,
    method: &str,
    path: &str,
    position: Option<&str>,
    body: &str,
) -> Vec<u8> {
    let kind = if path.ends_with("/batch") { "x-ndjson" } else { "json" };
    let position = position
        .map_or_else(String::new, |position| format!("waypost-min-position: {position}\r\n"));
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
         content-type: application/{kind}\r\n{position}content-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// The length of an answer that has come wholly.
pub(crate) fn length(bytes: &[u8]) -> Result<Option<usize>> {
    let Some(head) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
        return Ok(None);
    };
    let text = std::str::from_utf8(&bytes[..head])?;
    let after = head + 4;
    let whole = match header(text, "content-length") {
        Some(length) => after + length.parse::<usize>()?,
        None if text.starts_with("HTTP/1.1 204") => after,
        None => {
            ensure!(header(text, "transfer-encoding") == Some("chunked"), "no length: {text}");
            // Chunks are small, and none of our answers has this in its text.
            let Some(end) = bytes[after..].windows(5).position(|window| window == b"0\r\n\r\n")
            else {
                return Ok(None);
            };
            after + end + 5
        }
    };
    Ok((whole <= bytes.len()).then_some(whole))
}

/// Whether an answer that has come wholly says that the request succeeded.
pub(crate) fn check(bytes: &[u8]) -> Result<()> {
    if !bytes.starts_with(b"HTTP/1.1 2") {
        bail!("the service answered {}", String::from_utf8_lossy(bytes));
    }
    Ok(())
}

fn parse(bytes: &[u8]) -> Result<Answer> {
    let text = std::str::from_utf8(bytes)?;
    let (head, body) = text.split_once("\r\n\r\n").context("no head")?;
    let status = head.split(' ').nth(1).context("no status")?.parse()?;
    let position = header(head, "waypost-position").map(str::to_owned);
    Ok(Answer { status, position, body: body.to_owned() })
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then_some(value.trim())
    })
}
