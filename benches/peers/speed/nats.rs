//! As much of NATS's protocol as it takes to publish with acknowledgements and to read back.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use anyhow::{Context, Result, bail, ensure};

/// What events are published to, and the name of the stream that keeps them.
pub const SUBJECT: &str = "events";

/// Says who we are, and listens to an inbox.
pub fn greet(stream: &mut TcpStream, inbox: &str) -> Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    ensure!(line.starts_with("INFO "), "NATS began with {line}");
    write!(stream, "CONNECT {{\"verbose\":false}}\r\nSUB {inbox} 1\r\nPING\r\n")?;
    loop {
        line.clear();
        ensure!(reader.read_line(&mut line)? > 0, "NATS closed the connection");
        match line.trim_end() {
            "PONG" => return Ok(()),
            "PING" => stream.write_all(b"PONG\r\n")?,
            other => bail!("NATS said {other}"),
        }
    }
}

/// A request after its subject and inbox.
pub fn published(body: &str) -> Vec<u8> {
    format!("{}\r\n{body}\r\n", body.len()).into_bytes()
}

/// The length of a good acknowledgement, and of pings before it, which need no answer for minutes.
pub fn length(bytes: &[u8]) -> Result<Option<usize>> {
    const PING: &[u8] = b"PING\r\n";
    let mut start = 0;
    while bytes[start..].starts_with(PING) {
        start += PING.len();
    }
    let Some(line) = bytes[start..].windows(2).position(|window| window == b"\r\n") else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&bytes[start..start + line]);
    let length = text.strip_prefix("MSG ").and_then(|rest| rest.rsplit(' ').next()?.parse().ok());
    let length: usize = length.with_context(|| format!("NATS answered {text}"))?;
    let (body, end) = (start + line + 2, start + line + 2 + length + 2);
    if bytes.len() >= end && !bytes[body..end].starts_with(b"{\"stream\"") {
        bail!("NATS answered {}", String::from_utf8_lossy(&bytes[body..end]));
    }
    Ok(Some(end))
}

/// Makes the stream, in files.
pub fn create_stream(address: SocketAddr) -> Result<()> {
    let wanted =
        format!("{{\"name\":\"{SUBJECT}\",\"subjects\":[\"{SUBJECT}\"],\"storage\":\"file\"}}");
    let mut connection = Connection::new(address)?;
    connection.ask(&format!("STREAM.CREATE.{SUBJECT}"), &wanted).map(drop)
}

/// A connection that asks and reads.
pub struct Connection {
    stream: TcpStream,
    reader: BufReader<TcpStream>,
    line: String,
    body: Vec<u8>,
}

const INBOX: &str = "_INBOX.reading";

impl Connection {
    pub fn new(address: SocketAddr) -> Result<Self> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        greet(&mut stream, INBOX)?;
        let reader = BufReader::with_capacity(1 << 20, stream.try_clone()?);
        Ok(Self { stream, reader, line: String::new(), body: Vec::new() })
    }

    /// Publishes, without waiting for acknowledgements.
    pub fn publish_all<'a>(&mut self, bodies: impl Iterator<Item = &'a str>) -> Result<()> {
        let mut bytes = Vec::new();
        for body in bodies {
            bytes.extend_from_slice(format!("PUB {SUBJECT} ").as_bytes());
            bytes.extend_from_slice(&published(body));
        }
        Ok(self.stream.write_all(&bytes)?)
    }

    /// Has JetStream do something; its answer.
    pub fn ask(&mut self, what: &str, body: &str) -> Result<String> {
        self.send(what, body)?;
        self.receive()?;
        let answer = String::from_utf8_lossy(&self.body).into_owned();
        ensure!(!answer.contains("\"error\""), "NATS answered {answer}");
        Ok(answer)
    }

    /// Reads the events of the stream from the first on, so many at a time; how many there were.
    pub fn read_all(&mut self, count: usize, at_once: usize) -> Result<usize> {
        let wanted = format!(
            "{{\"stream_name\":\"{SUBJECT}\",\"config\":{{\"durable_name\":\"r\",\"ack_policy\":\"none\",\
             \"deliver_policy\":\"all\"}}}}"
        );
        self.ask(&format!("CONSUMER.DURABLE.CREATE.{SUBJECT}.r"), &wanted)?;
        let mut read = 0;
        while read < count {
            let batch = at_once.min(count - read);
            let next = format!("CONSUMER.MSG.NEXT.{SUBJECT}.r");
            self.send(&next, &format!("{{\"batch\":{batch}}}"))?;
            for _ in 0..batch {
                self.receive()?;
            }
            read += batch;
        }
        self.ask(&format!("CONSUMER.DELETE.{SUBJECT}.r"), "")?;
        Ok(read)
    }

    fn send(&mut self, what: &str, body: &str) -> Result<()> {
        let length = body.len();
        Ok(write!(self.stream, "PUB $JS.API.{what} {INBOX} {length}\r\n{body}\r\n")?)
    }

    /// The next message.
    fn receive(&mut self) -> Result<()> {
        loop {
            self.line.clear();
            ensure!(self.reader.read_line(&mut self.line)? > 0, "NATS closed the connection");
            let line = self.line.trim_end();
            if line == "PING" {
                self.stream.write_all(b"PONG\r\n")?;
                continue;
            }
            let length =
                line.strip_prefix("MSG ").and_then(|rest| rest.rsplit(' ').next()?.parse().ok());
            let length: usize = length.with_context(|| format!("NATS said {line}"))?;
            self.body.resize(length + 2, 0);
            return Ok(self.reader.read_exact(&mut self.body)?);
        }
    }
}
