//! More than the service takes, and clients that do not read.

use std::io::Write;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::json;

use crate::client::{connect, read};
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
    // This one waits for the other's place, which is free once that was given up.
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
    // The service need not read it all.
    let sent = stream.write_all(&bytes);
    let answer = read(&mut stream);
    assert!(sent.is_err() || answer.as_ref().is_some_and(|it| it.status == 503), "{answer:?}");
    assert_eq!(service.post(path, &json!({"content": "small"})).status, 201);
}
