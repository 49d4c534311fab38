//! Long calls end as soon as their token does.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;
use waypost_auth::{Timestamp, TokenStore};

use crate::client::connect;
use crate::program::Program;
use crate::service::{Service, request};

/// Much less than any other time limit of a stream.
const SOON: Duration = Duration::from_secs(10);

fn open_stream(address: SocketAddr, token: &str) -> TcpStream {
    let mut stream = connect(address);
    let path = "/api/events/stream?after=0";
    stream.write_all(&request(address, "GET", path, token, &[], b"")).expect("a connection");
    stream
}

/// Reads until that text arrives.
fn read_until(stream: &mut TcpStream, text: &str) -> String {
    let mut read = Vec::new();
    let mut buffer = [0; 4096];
    while !String::from_utf8_lossy(&read).contains(text) {
        let count = stream.read(&mut buffer).expect("it is sent in time");
        assert!(count > 0, "{text} never came: {}", String::from_utf8_lossy(&read));
        read.extend_from_slice(&buffer[..count]);
    }
    String::from_utf8_lossy(&read).into_owned()
}

/// The stream ends, says why, and has nothing that was published after that.
fn assert_ends(mut stream: TcpStream) {
    let begun = Instant::now();
    let mut rest = String::new();
    stream.read_to_string(&mut rest).expect("it is closed");
    assert!(begun.elapsed() < SOON, "it ended after {:?}", begun.elapsed());
    assert!(rest.contains("event: end"), "{rest}");
    assert!(rest.contains("revoked or has expired"), "{rest}");
}

#[test]
fn a_stream_ends_when_its_token_is_revoked_over_http_and_others_continue() {
    let service = Service::start();
    let made = service.post("/api/tokens", &json!({"scopes": ["events:read"]})).json();
    let token = made["token"].as_str().expect("a token").to_owned();
    let kept = service.new_token(&["events:read"], None);
    service.post("/api/events", &json!({"type": "a:before"}));
    let mut streams = [&token, &token, &kept].map(|it| open_stream(service.address, it));
    for stream in &mut streams {
        read_until(stream, "a:before");
    }
    let id = made["info"]["id"].as_str().expect("an id");
    assert_eq!(service.delete(&format!("/api/tokens/{id}")).status, 200);
    let [one, two, mut other] = streams;
    assert_ends(one);
    assert_ends(two);
    service.post("/api/events", &json!({"type": "a:after"}));
    read_until(&mut other, "a:after");
}

#[test]
fn a_stream_ends_when_its_token_expires() {
    let service = Service::start();
    let at = now().saturating_add(Duration::from_millis(1_500));
    let made = service
        .post("/api/tokens", &json!({"scopes": ["events:read"], "expiresAt": at.to_string()}));
    let token = made.json()["token"].as_str().expect("a token").to_owned();
    service.post("/api/events", &json!({"type": "a:before"}));
    let mut stream = open_stream(service.address, &token);
    read_until(&mut stream, "a:before");
    assert_ends(stream);
}

fn now() -> Timestamp {
    std::time::SystemTime::now().into()
}

#[test]
fn another_process_that_revokes_a_token_ends_its_streams_and_its_calls_in_progress() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = Program::start(folder.path());
    let scopes = json!({"scopes": ["events:read", "memory:write"]}).to_string();
    let made = program.send("POST", "/api/tokens", scopes.as_bytes()).json();
    let token = made["token"].as_str().expect("a token").to_owned();
    program.send("POST", "/api/events", br#"{"type":"a:before"}"#);
    let mut stream = open_stream(program.address, &token);
    read_until(&mut stream, "a:before");
    // A batch that has sent one line and delays the next.
    let mut batch = connect(program.address);
    let head = format!(
        "POST /api/memory/batch HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\ncontent-length: 1000\r\n\r\n{{\"content\":\"one\"}}\n",
        program.address
    );
    batch.write_all(head.as_bytes()).expect("a connection");
    read_until(&mut batch, "\"line\":1");
    // As `ctl token revoke` does it: in the file.
    let store = TokenStore::open(&folder.path().join(".waypost/data/tokens.json")).expect("tokens");
    let id = made["info"]["id"].as_str().expect("an id").parse().expect("an id");
    store.revoke(id, now()).expect("it is known");
    assert_ends(stream);
    let mut rest = Vec::new();
    let begun = Instant::now();
    // It is cut off: there is no last chunk, which would mark it as complete.
    let closed = batch.read_to_end(&mut rest);
    assert!(begun.elapsed() < SOON, "{closed:?}");
    assert!(!rest.ends_with(b"0\r\n\r\n"), "{}", String::from_utf8_lossy(&rest));
    let status = program.send("GET", "/api/memory/status", b"").json();
    assert_eq!(status["memories"], 1);
}
