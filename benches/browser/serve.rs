//! Serves the pages on loopback.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use anyhow::{Context as _, Result};

use crate::pages;

/// Serves until the process ends, and gives the port.
pub(crate) fn start() -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").context("no port for the pages")?;
    let port = listener.local_addr().context("no address")?.port();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            // A client that goes away needs no page.
            thread::spawn(move || answer(client).unwrap_or_default());
        }
    });
    Ok(port)
}

fn answer(client: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(client);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    while line.trim() != "" {
        line.clear();
        reader.read_line(&mut line)?;
    }
    let body = match path.as_str() {
        "/article" => pages::article(),
        "/shop" => pages::shop(),
        "/rows" => pages::rows(),
        _ => String::new(),
    };
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let mut client = reader.into_inner();
    client.write_all(head.as_bytes())?;
    client.write_all(body.as_bytes())
}
