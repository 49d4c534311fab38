//! Reading a million events back from Redis and NATS, by a socket.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::nats::Connection;
use crate::process::{nats, redis};
use crate::rig::wall_seconds;

/// Events that are asked for at once.
const PAGE: usize = 5_000;
/// Events that are sent at once while the streams are filled.
const FILL: usize = 1_000;

/// What each peer reads of so many events, in events a second, in words.
pub fn read_back(folder: &Path, count: usize) -> Result<String> {
    let mut shown = Vec::new();
    match nats(&folder.join("nats"))? {
        Some(program) => shown.push(format!("NATS {}", of_nats(program.address, count)?)),
        None => shown.push("nats-server is missing".to_owned()),
    }
    match redis(&folder.join("redis"))? {
        Some(program) => shown.push(format!("Redis {}", of_redis(program.address, count)?)),
        None => shown.push("redis-server is missing".to_owned()),
    }
    Ok(shown.join("; "))
}

fn rate(count: usize, seconds: f64) -> String {
    format!("{:.2} million/s", count as f64 / 1e6 / seconds)
}

fn of_nats(address: SocketAddr, count: usize) -> Result<String> {
    crate::nats::create_stream(address)?;
    let mut connection = Connection::new(address)?;
    for first in (0..count).step_by(FILL) {
        let bodies: Vec<String> = (first..first + FILL)
            .map(|number| {
                format!("{{\"agent\":\"scout\",\"task\":\"task-{number}\",\"score\":{}}}", number % 100)
            })
            .collect();
        connection.publish_all(bodies.iter().map(String::as_str))?;
    }
    let wanted = format!("\"messages\":{count},");
    let info = format!("STREAM.INFO.{}", crate::nats::SUBJECT);
    let begun = wall_seconds();
    while !connection.ask(&info, "")?.contains(&wanted) {
        ensure!(wall_seconds() - begun < 120.0, "NATS does not have {count} events");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let from = wall_seconds();
    ensure!(connection.read_all(count, PAGE)? == count, "NATS gave fewer events");
    Ok(rate(count, wall_seconds() - from))
}

fn of_redis(address: SocketAddr, count: usize) -> Result<String> {
    let mut stream = TcpStream::connect(address)?;
    let mut reader = BufReader::with_capacity(1 << 20, stream.try_clone()?);
    let mut ids = Vec::new();
    for first in (0..count).step_by(FILL) {
        let mut requests = String::new();
        for number in first..first + FILL {
            let (task, score) = (format!("task-{number}"), (number % 100).to_string());
            let words = [
                "XADD",
                "m",
                "*",
                "agent",
                "scout",
                "task",
                task.as_str(),
                "score",
                score.as_str(),
            ];
            let _ = write!(requests, "*{}\r\n", words.len());
            for word in words {
                let _ = write!(requests, "${}\r\n{word}\r\n", word.len());
            }
        }
        stream.write_all(requests.as_bytes())?;
        for _ in 0..FILL {
            bulk(&mut reader, &mut ids)?;
        }
    }
    let (from, mut read) = (wall_seconds(), 0);
    let (mut last, mut value) = (b"-".to_vec(), Vec::new());
    while read < count {
        let start = String::from_utf8_lossy(&last).into_owned();
        let length = start.len();
        write!(
            stream,
            "*6\r\n$6\r\nXRANGE\r\n$1\r\nm\r\n${length}\r\n{start}\r\n$1\r\n+\r\n$5\r\nCOUNT\r\n$4\r\n{PAGE}\r\n"
        )?;
        let entries = number(&mut reader)?;
        ensure!(entries > 0, "Redis gave only {read} events");
        for _ in 0..entries {
            // An entry: its id, then its names and values.
            number(&mut reader)?;
            last.clear();
            bulk(&mut reader, &mut last)?;
            for _ in 0..number(&mut reader)? {
                value.clear();
                bulk(&mut reader, &mut value)?;
            }
        }
        read += entries;
        last.insert(0, b'(');
    }
    Ok(rate(count, wall_seconds() - from))
}

/// The number that a line has behind its first character.
fn number(reader: &mut impl BufRead) -> Result<usize> {
    let mut line = Vec::with_capacity(16);
    reader.read_until(b'\n', &mut line)?;
    let text = std::str::from_utf8(&line)?.trim_end();
    text.get(1..).and_then(|text| text.parse().ok()).with_context(|| format!("Redis answered {text}"))
}

/// Appends a text of a given length.
fn bulk(reader: &mut (impl BufRead + Read), into: &mut Vec<u8>) -> Result<()> {
    let length = number(reader)?;
    let start = into.len();
    into.resize(start + length + 2, 0);
    reader.read_exact(&mut into[start..])?;
    into.truncate(start + length);
    Ok(())
}
