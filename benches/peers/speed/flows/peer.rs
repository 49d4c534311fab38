//! What starts the program for an entry of a Redis stream.

use std::cell::RefCell;
use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::{Mark, connect, receive};

/// A connection that publishes. The thread that reads ends with the process.
pub struct Peer(RefCell<TcpStream>);

pub fn start(address: SocketAddr, mark: &Mark) -> Result<Peer> {
    let mut reader = connect(address)?;
    reader.set_read_timeout(None)?;
    let (program, pipe) = (mark.program.clone(), mark.pipe.clone());
    std::thread::spawn(move || {
        // It ends when Redis does.
        follow(&mut reader, &program, &pipe).unwrap_or_default();
    });
    Ok(Peer(RefCell::new(connect(address)?)))
}

impl Peer {
    pub fn publish(&self, number: usize) -> Result<()> {
        let mut stream = self.0.borrow_mut();
        let number = format!("{number:08}");
        write!(
            stream,
            "*5\r\n$4\r\nXADD\r\n$1\r\nm\r\n$1\r\n*\r\n$6\r\nnumber\r\n$8\r\n{number}\r\n"
        )?;
        let mut answer = [0; 256];
        let length = receive(&mut stream, &mut answer)?;
        ensure!(answer[..length].starts_with(b"$"), "Redis did not take the entry");
        Ok(())
    }
}

/// Starts the program for each entry from now on.
fn follow(stream: &mut TcpStream, program: &PathBuf, pipe: &PathBuf) -> Result<()> {
    let mut last = "0".to_owned();
    let mut children = Vec::new();
    loop {
        let length = last.len();
        write!(
            stream,
            "*6\r\n$5\r\nXREAD\r\n$5\r\nBLOCK\r\n$1\r\n0\r\n$7\r\nSTREAMS\r\n$1\r\nm\r\n${length}\r\n{last}\r\n"
        )?;
        for (id, number) in entries(stream)? {
            let mut command = Command::new(program);
            command.arg(pipe).arg(number).stdin(Stdio::null());
            children.push(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
            last = id;
        }
        children.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
    }
}

/// The entries of an answer to XREAD: their ids and numbers.
fn entries(stream: &mut TcpStream) -> Result<Vec<(String, String)>> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 65536];
    loop {
        let length = receive(stream, &mut buffer)?;
        bytes.extend_from_slice(&buffer[..length]);
        if let Some(entries) = parsed(std::str::from_utf8(&bytes)?)? {
            return Ok(entries);
        }
    }
}

/// Nothing while the answer is not whole. One stream with entries of one field of eight digits.
fn parsed(text: &str) -> Result<Option<Vec<(String, String)>>> {
    let mut lines = text.split_inclusive("\r\n").map(|inclusive| inclusive.strip_suffix("\r\n"));
    // One stream, of two parts, and its name's length and name.
    for _ in 0..4 {
        if lines.next().flatten().is_none() {
            return Ok(None);
        }
    }
    let Some(count) = lines.next().flatten() else { return Ok(None) };
    let count: usize = count.strip_prefix('*').context("no entries")?.parse()?;
    let mut entries = Vec::with_capacity(count);
    for _ in 0..count {
        // An entry of two parts: its id, then its field and value.
        let parts: Option<Vec<&str>> = (0..8).map(|_| lines.next().flatten()).collect();
        let Some(parts) = parts else { return Ok(None) };
        entries.push((parts[2].to_owned(), parts[7].to_owned()));
    }
    Ok(Some(entries))
}
