//! More load than the service accepts, and clients that do not read.

use std::array;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use waypost_api::StreamRequest;
use waypost_api::client::{Client, Told};

use crate::client::{Answer, connect, read};
use crate::program::Program;
use crate::service::{Service, request};
use crate::wait::until;

#[test]
fn what_is_too_much_is_refused_with_a_time_to_retry_and_nothing_answered_is_lost() {
    let service = Service::start_with(|it| {
        it.limits.writes_max = 1;
        it.limits.queue_max = 0;
    });
    let (added, refused) = (Mutex::new(0), Mutex::new(0));
    while *refused.lock().expect("no panic") == 0 {
        std::thread::scope(|scope| {
            for client in 0..16 {
                let (service, added, refused) = (&service, &added, &refused);
                scope.spawn(move || {
                    let number = *added.lock().expect("no panic");
                    let content = format!("client {client} after {number}");
                    let answer = service.post("/api/memory/add", &json!({"content": content}));
                    if answer.status < 300 {
                        *added.lock().expect("no panic") += usize::from(answer.status == 201);
                    } else {
                        answer.problem(503);
                        assert_eq!(answer.header("retry-after"), Some("1"));
                        *refused.lock().expect("no panic") += 1;
                    }
                });
            }
        });
    }
    let memories = service.get("/api/memory/status").json()["memories"].clone();
    assert_eq!(memories, *added.lock().expect("no panic"));
}

#[test]
fn a_client_that_does_not_read_its_export_gives_its_place_up() {
    let service = Service::start_with(|it| {
        it.limits.streams_max = 1;
        it.limits.unread_time_max = Duration::from_millis(200);
    });
    let content = "x".repeat(900 * 1024);
    for number in 0..24 {
        service.add(&format!("{number} {content}"));
    }
    let bytes = request(service.address, "GET", "/api/memory/export", &service.token, &[], b"");
    let mut deaf = connect(service.address);
    deaf.write_all(&bytes).expect("a connection");
    // This request waits for the other's slot, which is free once that request is abandoned.
    let export = service.get("/api/memory/export");
    assert_eq!(export.text().matches(&content).count(), 24);
    drop(deaf);
}

#[test]
fn a_client_that_does_not_read_its_export_delays_no_write() {
    let service = Service::start();
    // More than the buffers of a connection take.
    let content = "words of an ordinary length ".repeat(32 * 1024);
    for number in 0..16 {
        service.add(&format!("{number} {content}"));
    }
    let bytes = request(service.address, "GET", "/api/memory/export", &service.token, &[], b"");
    let mut deaf = connect(service.address);
    deaf.write_all(&bytes).expect("a connection");
    deaf.read_exact(&mut [0; 1024]).expect("it has begun");
    for number in 0..3 {
        service.add(&format!("added meanwhile: {number}"));
    }
    let mut rest = String::new();
    deaf.read_to_string(&mut rest).expect("the rest");
    assert_eq!(rest.matches("\"record\":\"memory\"").count(), 15);
    assert!(!rest.contains("added meanwhile"));
}

#[test]
fn bodies_that_would_fill_the_memory_are_refused() {
    let service = Service::start_with(|it| it.limits.bodies_bytes_max = 1024 * 1024);
    let body = vec![b' '; 3 * 1024 * 1024];
    let path = "/api/memory/add";
    let bytes = request(service.address, "POST", path, &service.token, &[], &body);
    let mut stream = connect(service.address);
    // The service does not have to read everything.
    let sent = stream.write_all(&bytes);
    let answer = read(&mut stream);
    assert!(sent.is_err() || answer.as_ref().is_some_and(|it| it.status == 503), "{answer:?}");
    assert_eq!(service.post(path, &json!({"content": "small"})).status, 201);
}

/// The program's memory in use, in bytes (proc(5)).
fn resident_bytes(program: &Program) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{}/statm", program.pid())).expect("statm");
    let pages: u64 = text.split(' ').nth(1).expect("a field").parse().expect("a number");
    pages * 4096
}

#[test]
fn listeners_that_never_read_keep_nobody_waiting_and_cost_little() {
    const EVENTS: u64 = 100;
    const TEXT_BYTES: usize = 60_000;
    let folder = TempDir::new().expect("a temporary folder");
    let program = Program::start(folder.path());
    let bytes =
        request(program.address, "GET", "/api/events/stream?after=0", &program.token, &[], b"");
    let deaf: Vec<_> = (0..100)
        .map(|_| {
            let mut stream = connect(program.address);
            stream.write_all(&bytes).expect("a connection");
            stream
        })
        .collect();
    let before = resident_bytes(&program);
    let told = std::thread::scope(|scope| {
        let listening = scope.spawn(|| {
            let client = Client::new(&format!("http://{}", program.address), Some(&program.token));
            let asked = StreamRequest { pattern: None, after: Some(0) };
            let mut told = Vec::new();
            let followed = client.expect("a client").follow_events(&asked, &mut |it| {
                let Told::Event(event) = it else { panic!("{it:?}") };
                told.push(event.id);
                Ok(event.id < EVENTS)
            });
            followed.expect("a stream");
            told
        });
        let body = json!({"type": "a:b", "data": {"text": "x".repeat(TEXT_BYTES)}}).to_string();
        for _ in 0..EVENTS {
            let answer = program.send("POST", "/api/events", body.as_bytes());
            assert_eq!(answer.status, 201, "{}", answer.text());
        }
        listening.join().expect("no panic")
    });
    assert_eq!(told, (1..=EVENTS).collect::<Vec<u64>>());
    // Each of them still has 6 MB to read.
    let grown = resident_bytes(&program).saturating_sub(before);
    assert!(grown < 250_000_000, "{grown} bytes for {} listeners", deaf.len());
}

const KB: usize = 1000;
/// The size of a piece of a response and of an element in these tests, and what hyper buffers.
const HELD_BYTES_MAX: usize = 256 * 1024 + 60 * KB + 64 * 1024;
const COUNT: usize = 24;

/// A client on the socket, whose buffers are small, that sends a request and reads nothing.
fn deaf(service: &Service, method: &str, path: &str, token: &str, body: &[u8]) -> UnixStream {
    let socket = service.folder.path().join(".waypost/data/service.sock");
    let mut stream = UnixStream::connect(socket).expect("it listens");
    let bytes = request(service.address, method, path, token, &[], body);
    stream.write_all(&bytes).expect("a connection");
    stream
}

/// Bytes of responses that clients have not read.
fn waiting(service: &Service) -> usize {
    let metrics = service.get("/metrics").text();
    let value = metrics.lines().find_map(|line| line.strip_prefix("waypost_http_bytes_waiting "));
    value.expect("the metric").parse().expect("a number")
}

fn until_waiting(service: &Service, is_reached: impl Fn(usize) -> bool) -> usize {
    until(|| {
        let bytes = waiting(service);
        if is_reached(bytes) { Ok(bytes) } else { Err(format!("{bytes} bytes wait")) }
    })
}

fn elements(answer: &Answer) -> usize {
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json().as_array().expect("an array").len()
}

/// A service with 24 memories of 50 KB each.
fn with_memories(change: impl FnOnce(&mut waypost_service::Options)) -> Service {
    let service = Service::start_with(change);
    for number in 0..COUNT {
        service.add(&format!("{number} {}", "word ".repeat(10 * KB)));
    }
    service
}

/// Adds as many events and versions of the first memory.
fn add_events_and_versions(service: &Service) {
    let event = json!({"type": "a:b", "data": {"text": "x".repeat(50 * KB)}});
    for number in 1..COUNT {
        assert_eq!(service.post("/api/events", &event).status, 201);
        let content = format!("version {number} {}", "word ".repeat(10 * KB));
        let patch = json!({ "content": content }).to_string();
        let patched = service.send("PATCH", "/api/memory/1", &service.token, patch.as_bytes());
        assert_eq!(patched.status, 200, "{}", patched.text());
    }
}

#[test]
fn clients_that_do_not_read_hold_a_piece_each_and_others_are_served() {
    const EACH: usize = 4;
    let service = with_memories(|_| {});
    add_events_and_versions(&service);
    let query = json!({"query": "word", "limit": 1000}).to_string();
    let requests = [
        ("GET", "/api/memory?limit=1000", ""),
        ("GET", "/api/memory/1/history", ""),
        ("GET", "/api/events?limit=1000", ""),
        ("GET", "/api/events/stream?after=0", ""),
        ("POST", "/api/memory/search", &*query),
    ];
    let clients: Vec<_> = requests
        .iter()
        .flat_map(|(method, path, body)| {
            let deaf = || deaf(&service, method, path, &service.token, body.as_bytes());
            std::iter::repeat_with(deaf).take(EACH).collect::<Vec<_>>()
        })
        .collect();
    let held = until_waiting(&service, |it| it >= clients.len() * 64 * 1024);
    assert!(held < clients.len() * HELD_BYTES_MAX, "{held} bytes for {} clients", clients.len());
    assert_eq!(elements(&service.get("/api/memory?limit=1000")), COUNT);
    assert_eq!(elements(&service.get("/api/memory?limit=1000&order=newest")), COUNT);
    assert_eq!(elements(&service.get("/api/memory/1/history")), COUNT);
    let events = service.get("/api/events?limit=1000");
    assert_eq!(elements(&events), elements(&service.get("/api/events?limit=1000&after=0")));
    for event in events.json().as_array().expect("an array") {
        assert!(event["type"] != "a:b" || event["data"]["text"] == "x".repeat(50 * KB));
    }
    let found = service.send("POST", "/api/memory/search", &service.token, query.as_bytes());
    assert_eq!(elements(&found), COUNT);
    let found = found.json();
    let mut contents = found.as_array().expect("an array").iter().map(|array| &array["content"]);
    assert!(contents.all(|it| it.as_str().is_some_and(|it| it.len() > 49 * KB)));
    drop(clients);
    until_waiting(&service, |it| it == 0);
}

#[test]
fn a_token_whose_clients_do_not_read_gets_no_more_large_responses_and_others_do() {
    let service = with_memories(|it| it.limits.unread_bytes_max = 16 * 1024 * 1024);
    let tokens: [_; 6] =
        array::from_fn(|_| service.new_token(&["memory:read", "memory:write"], None));
    let list = |token: &str| service.send("GET", "/api/memory?limit=1000", token, b"");
    let mut clients = Vec::new();
    let refused = tokens.each_ref().map(|token| {
        loop {
            let answer = list(token);
            if answer.status != 200 {
                break answer;
            }
            assert!(clients.len() < 100, "nothing is refused");
            clients.push(deaf(&service, "GET", "/api/memory?limit=1000", token, b""));
        }
    });
    let (token, refused) = (&tokens[0], &refused[0]);
    assert!(refused.problem(429).contains("unread"), "{}", refused.text());
    assert_eq!(refused.header("retry-after"), Some("1"));
    // What was changed is not refused as if it had not been, and small responses are not large.
    let changed = json!({"title": "changed", "content": "word ".repeat(60 * KB)}).to_string();
    let patched = service.send("PATCH", "/api/memory/2", token, changed.as_bytes());
    assert!(patched.problem(503).contains("carried out"), "{}", patched.text());
    assert_eq!(patched.header("retry-after"), None);
    let listed = service.send("GET", "/api/memory/status", token, b"");
    assert_eq!(listed.status, 200);
    let page = service.get("/api/memory?limit=1000");
    assert_eq!(elements(&page), COUNT);
    assert_eq!(page.json()[1]["title"], "changed");
    drop(clients);
    until(|| match list(token).status {
        200 => Ok(()),
        status => Err(status),
    });
}

#[test]
fn a_connection_whose_client_does_not_read_is_closed() {
    let service = with_memories(|it| it.limits.unread_time_max = Duration::from_millis(100));
    let mut deaf = deaf(&service, "GET", "/api/memory?limit=1000", &service.token, b"");
    until(|| match deaf.write(b"x") {
        Ok(_) => Err("the connection is open"),
        Err(_) => Ok(()),
    });
    until_waiting(&service, |it| it == 0);
}
