//! More load than the service accepts, and clients that do not read.

use std::io::Write;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use waypost_api::StreamRequest;
use waypost_api::client::{Client, Told};

use crate::client::{connect, read};
use crate::program::Program;
use crate::service::{Service, request};

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
