//! Serves pages on loopback.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use anyhow::{Context as _, Result};

/// The longest body that is taken.
const BODY_MAX: u64 = 16 << 20;

/// What is asked for.
pub(crate) struct Request {
    /// The path, with its query.
    pub(crate) path: String,
    pub(crate) body: String,
}

/// What is answered.
pub(crate) struct Reply {
    kind: &'static str,
    body: Vec<u8>,
    /// Of the page itself, and of nothing else.
    is_alone: bool,
}

impl Reply {
    pub(crate) fn page(html: impl Into<Vec<u8>>) -> Self {
        Self { kind: "text/html; charset=utf-8", body: html.into(), is_alone: false }
    }

    /// A page that neither runs scripts nor loads anything.
    pub(crate) fn still(html: impl Into<Vec<u8>>) -> Self {
        Self { is_alone: true, ..Self::page(html) }
    }

    pub(crate) fn file(name: &str, body: Vec<u8>) -> Self {
        let kind = match name.rsplit('.').next().unwrap_or_default() {
            "html" => "text/html; charset=utf-8",
            "css" => "text/css",
            "js" => "text/javascript",
            "json" => "application/json",
            "svg" => "image/svg+xml",
            "png" => "image/png",
            "gif" => "image/gif",
            "jpg" => "image/jpeg",
            _ => "application/octet-stream",
        };
        Self { kind, body, is_alone: false }
    }
}

/// Serves until the process ends, and gives the port.
pub(crate) fn start(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").context("no port for the pages")?;
    let port = listener.local_addr().context("no address")?.port();
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let answer = Arc::clone(&answer);
            // A client that goes away needs no page.
            thread::spawn(move || talk(client, &*answer).unwrap_or_default());
        }
    });
    Ok(port)
}

fn talk(client: TcpStream, answer: &dyn Fn(&Request) -> Reply) -> io::Result<()> {
    let mut reader = BufReader::new(client);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut length = 0;
    while line.trim() != "" {
        line.clear();
        reader.read_line(&mut line)?;
        let header = line.to_ascii_lowercase();
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or_default();
        }
    }
    let mut body = String::new();
    reader.by_ref().take(length.min(BODY_MAX)).read_to_string(&mut body)?;
    let Reply { kind, body, is_alone } = answer(&Request { path, body });
    let alone = "content-security-policy: default-src 'none'; style-src 'unsafe-inline'\r\n";
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n{}connection: close\r\n\r\n",
        body.len(),
        if is_alone { alone } else { "" },
    );
    let mut client = reader.into_inner();
    client.write_all(head.as_bytes())?;
    client.write_all(&body)
}
