//! A client that sends exactly the given bytes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// Long enough for a slow machine; a test that gets here fails.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(it, _)| it.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error} in {:?} {}", self.status, self.text()))
    }

    /// The lines of an NDJSON response.
    pub(crate) fn lines(&self) -> Vec<Value> {
        let text = self.text();
        text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
    }

    /// Checks that this is a complete problem with that status and path; returns its detail.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        let problem = self.json();
        assert_eq!(problem["status"], status);
        for field in ["type", "title", "detail", "instance"] {
            let text = problem[field].as_str().unwrap_or_default();
            assert!(!text.is_empty(), "{field} is missing in {problem}");
        }
        assert!(self.header("x-request-id").is_some_and(|it| !it.is_empty()));
        problem["detail"].as_str().expect("a text").to_owned()
    }

    /// The same for 422, with the invalid field.
    #[track_caller]
    pub(crate) fn field_problem(&self, pointer: &str) -> String {
        self.problem(422);
        let errors = self.json()["errors"].clone();
        let of_field = errors
            .as_array()
            .and_then(|array| array.iter().find(|value| value["pointer"] == pointer));
        let of_field = of_field.unwrap_or_else(|| panic!("no error at {pointer} in {errors}"));
        of_field["message"].as_str().expect("a text").to_owned()
    }
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the service accepts");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket takes a timeout");
    stream.set_write_timeout(Some(PATIENCE)).expect("a socket takes a timeout");
    stream
}

/// Sends the bytes unchanged and reads one response.
pub(crate) fn raw(address: SocketAddr, bytes: &[u8]) -> Answer {
    try_raw(address, bytes).expect("an answer")
}

/// The same, if the service may also close the connection without a response.
pub(crate) fn try_raw(address: SocketAddr, bytes: &[u8]) -> Option<Answer> {
    let mut stream = connect(address);
    // The service may respond and close before it has read everything.
    let written = stream.write_all(bytes);
    let answer = read(&mut stream);
    assert!(
        written.is_ok() || answer.is_none() || answer.as_ref().is_some_and(|it| it.status >= 400)
    );
    answer
}

/// Reads one response; `None` if the service closed without one.
pub(crate) fn read(stream: &mut impl Read) -> Option<Answer> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if !more(stream, &mut bytes) {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..head_end].to_vec()).expect("a head is text");
    let mut lines = head.trim_end().lines();
    let status_line = lines.next().expect("a status line");
    let status: u16 =
        status_line.split(' ').nth(1).and_then(|part| part.parse().ok()).expect("a status");
    let headers: Vec<(String, String)> = lines
        .map(|line| line.split_once(':').expect("a header"))
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .collect();
    let mut answer = Answer { status, headers, body: Vec::new() };
    let mut rest = bytes.split_off(head_end);
    if answer.header("transfer-encoding").is_some_and(|header| header == "chunked") {
        while let Some(chunk) = next_chunk(&mut rest, stream) {
            answer.body.extend_from_slice(&chunk);
        }
    } else {
        let length =
            answer.header("content-length").and_then(|header| header.parse().ok()).unwrap_or(0);
        while rest.len() < length && more(stream, &mut rest) {}
        rest.truncate(length);
        answer.body = rest;
    }
    Some(answer)
}

fn more(stream: &mut impl Read, bytes: &mut Vec<u8>) -> bool {
    let mut buffer = [0; 16 * 1024];
    match stream.read(&mut buffer) {
        Ok(0) | Err(_) => false,
        Ok(count) => {
            bytes.extend_from_slice(&buffer[..count]);
            true
        }
    }
}

/// The next chunk; `None` at the last one. Panics if the response was cut off.
fn next_chunk(rest: &mut Vec<u8>, stream: &mut impl Read) -> Option<Vec<u8>> {
    let line_end = loop {
        if let Some(at) = rest.windows(2).position(|window| window == b"\r\n") {
            break at;
        }
        assert!(more(stream, rest), "the answer was broken off");
    };
    let size = std::str::from_utf8(&rest[..line_end]).expect("a chunk size is text");
    let size = usize::from_str_radix(size, 16).expect("a chunk size is hexadecimal");
    let whole = line_end + 2 + size + 2;
    while rest.len() < whole {
        assert!(more(stream, rest), "the answer was broken off");
    }
    let chunk = rest[line_end + 2..line_end + 2 + size].to_vec();
    rest.drain(..whole);
    (size > 0).then_some(chunk)
}
