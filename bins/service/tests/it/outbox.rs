//! Each acknowledged add has exactly one `memory:added`, whatever happens to the request and the
//! service.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{Answer, connect};
use crate::program::Program;
use crate::service::{Service, batch, request};
use crate::wait::until;

/// Number of kills; `just long` sets more.
const ROUNDS_VARIABLE: &str = "WAYPOST_TEST_OUTBOX_ROUNDS";
const ROUNDS: usize = 12;
const PATIENCE: Duration = Duration::from_secs(60);

/// The number of events of each memory, by its id, and of each link.
fn announced(get: &dyn Fn(&str) -> Answer) -> (BTreeMap<u64, usize>, usize) {
    let (mut added, mut linked, mut after) = (BTreeMap::new(), 0, 0);
    loop {
        let page = get(&format!("/api/events?after={after}&limit=1000"));
        assert_eq!(page.status, 200, "{}", page.text());
        for event in page.json().as_array().expect("an array") {
            match event["type"].as_str() {
                Some("memory:added") => {
                    *added.entry(event["data"]["id"].as_u64().expect("an id")).or_default() += 1;
                }
                Some("memory:linked") => linked += 1,
                _ => {}
            }
        }
        let next = page.header("waypost-next-after").and_then(|header| header.parse().ok());
        let next: u64 = next.expect("a cursor");
        if next == after {
            return (added, linked);
        }
        after = next;
    }
}

/// Waits until as many memories have events as exist.
fn settle(get: &dyn Fn(&str) -> Answer) -> (BTreeMap<u64, usize>, usize) {
    until(|| {
        let memories = get("/api/memory/status").json()["memories"].as_u64().expect("a number");
        let found = announced(get);
        if found.0.len() as u64 >= memories {
            return Ok(found);
        }
        Err(format!("{} of {memories} memories were told of", found.0.len()))
    })
}

#[test]
fn a_client_that_disconnects_before_the_response_still_gets_its_event() {
    let service = Service::start();
    let large = "x".repeat(40 * 1024);
    for number in 0..40 {
        let filler = if number % 4 == 0 { &*large } else { "" };
        let body = json!({"content": format!("gone {number} {filler}")}).to_string();
        let path = "/api/memory/add";
        let bytes = request(service.address, "POST", path, &service.token, &[], body.as_bytes());
        let mut stream = connect(service.address);
        stream.write_all(&bytes).expect("a connection");
        drop(stream);
    }
    let (one, two) = (service.add("one"), service.add("two"));
    let link = json!({"from": one, "to": two, "type": "part_of"}).to_string();
    let path = "/api/memory/link";
    let bytes = request(service.address, "POST", path, &service.token, &[], link.as_bytes());
    let until = Instant::now() + PATIENCE;
    let get = |path: &str| service.get(path);
    loop {
        // The client may disconnect before its request was read; an existing link has no second
        // event.
        connect(service.address).write_all(&bytes).expect("a connection");
        let status = service.get("/api/memory/status").json();
        let (added, linked) = settle(&get);
        assert!(added.values().all(|it| *it == 1), "{added:?}");
        assert!(linked <= 1);
        // Some clients disconnected before their request was read.
        if status["memories"].as_u64() > Some(10) && linked == 1 {
            return;
        }
        assert!(Instant::now() < until, "{status}: {} told, {linked} links", added.len());
    }
}

/// Adds until the service is gone; every acknowledged id goes to the channel.
fn add_until_gone(address: SocketAddr, token: &str, name: &str, answered: &mpsc::Sender<u64>) {
    let sent = |path: &str, body: &str| {
        let bytes = request(address, "POST", path, token, &[], body.as_bytes());
        let mut stream = TcpStream::connect(address).ok()?;
        stream.write_all(&bytes).ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok()?;
        let text = String::from_utf8_lossy(&answer).into_owned();
        text.split_once("\r\n\r\n").map(|(_, it)| it.to_owned())
    };
    for number in 0.. {
        let content = |other: usize| format!("{name} number {number} line {other}");
        let ids: Vec<u64> = if number % 10 == 9 {
            let Some(text) = sent("/api/memory/batch", &batch(20, content)) else { return };
            let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            lines.filter_map(|line| line["id"].as_u64()).collect()
        } else {
            let body = json!({"content": content(0)}).to_string();
            let Some(text) = sent("/api/memory/add", &body) else { return };
            let Ok(memory) = serde_json::from_str::<Value>(&text) else { return };
            memory["id"].as_u64().into_iter().collect()
        };
        for id in ids {
            if answered.send(id).is_err() {
                return;
            }
        }
    }
}

#[test]
fn every_acknowledged_add_has_one_event_whenever_the_service_is_killed() {
    let rounds =
        std::env::var(ROUNDS_VARIABLE).map_or(ROUNDS, |value| value.parse().expect("a number"));
    let folder = TempDir::new().expect("a temporary folder");
    let mut kept: Vec<u64> = Vec::new();
    for round in 0..=rounds {
        let mut program = Program::start(folder.path());
        let get = |path: &str| program.send("GET", path, b"");
        let (added, _) = settle(&get);
        for id in &kept {
            assert_eq!(added.get(id), Some(&1), "memory {id} in round {round}");
        }
        assert!(added.values().all(|it| *it == 1), "round {round}: {added:?}");
        if round == rounds {
            return;
        }
        if round % 3 == 1 {
            // Published notices may leave the log; unpublished ones must stay.
            let compacted = program.send("POST", "/api/memory/compact", b"");
            assert_eq!(compacted.status, 200, "{}", compacted.text());
        }
        let (address, token) = (program.address, program.token.clone());
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            for writer in 0..3 {
                let (sender, token) = (sender.clone(), &token);
                let name = format!("round {round} writer {writer}");
                scope.spawn(move || add_until_gone(address, token, &name, &sender));
            }
            drop(sender);
            kept.extend(receiver.iter().take(2 + round * 17 % 90));
            program.kill();
            kept.extend(receiver.iter());
        });
    }
}

#[test]
fn an_import_a_change_a_duplicate_and_a_deletion_publish_nothing() {
    let service = Service::start();
    let one = service.add("one");
    let export = service.get("/api/memory/export").body;
    let other = Service::start();
    assert_eq!(other.send("POST", "/api/memory/import", &other.token, &export).status, 200);
    assert_eq!(service.post("/api/memory/add", &json!({"content": "one"})).status, 200);
    let path = format!("/api/memory/{one}");
    let patch = json!({"title": "changed"}).to_string();
    assert_eq!(service.send("PATCH", &path, &service.token, patch.as_bytes()).status, 200);
    let two = service.add("two");
    assert_eq!(service.delete(&path).status, 204);
    let until = Instant::now() + PATIENCE;
    while announced(&|path| service.get(path)).0.len() < 2 {
        assert!(Instant::now() < until, "both were told of");
    }
    assert_eq!(announced(&|path| service.get(path)).0, BTreeMap::from([(one, 1), (two, 1)]));
    // A later event of the other service shows that the import publishes nothing.
    let own = other.add("own");
    loop {
        let (added, _) = announced(&|path| other.get(path));
        if added == BTreeMap::from([(own, 1)]) {
            return;
        }
        assert!(added.is_empty() && Instant::now() < until, "{added:?}");
    }
}

#[test]
fn without_events_of_memory_nothing_is_noted_and_turning_them_on_is_no_flood() {
    let service = Service::start_with(|it| it.events.memory = false);
    service.add("silent");
    let service = service.restart();
    let heard = service.add("heard");
    let until = Instant::now() + PATIENCE;
    loop {
        let (added, _) = announced(&|path| service.get(path));
        if added == BTreeMap::from([(heard, 1)]) {
            return;
        }
        assert!(added.is_empty() && Instant::now() < until, "{added:?}");
    }
}
