//! `kill -9` under all operations at once: adds, changes, links, unlinks, deletes, events, flows,
//! compaction, reindexing and retention. Each acknowledged change exists after the next start, and
//! no undone change has come back.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use serde_json::{Value, json};

use crate::answered::Random;
use crate::flows::project;
use crate::program::Program;
use crate::service::request;
use crate::wait::until;

/// Kills, unless the environment says otherwise: `just long` asks for more.
const ROUNDS_VARIABLE: &str = "WAYPOST_TEST_MIXED_KILLS";
const ROUNDS: usize = 12;
const WRITERS: usize = 3;
/// Events kept; more than a round publishes, so that a round finds all of its own.
const EVENTS_KEPT: usize = 3000;

/// A change that a writer requests.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Change {
    Add { content: String },
    Retitle { id: u64, title: String },
    Delete { id: u64 },
    Link { from: u64, to: u64 },
    Unlink { from: u64, to: u64 },
    Publish { text: String },
}

/// The facts about some memories in an export.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Stored {
    /// Content and title by id.
    memories: BTreeMap<u64, (String, String)>,
    links: BTreeSet<(u64, u64)>,
}

impl Stored {
    /// Records a change that was acknowledged with that id, or found after a kill.
    fn apply(&mut self, change: &Change, id: u64) {
        match change {
            Change::Add { content } => {
                self.memories.insert(id, (content.clone(), content.clone()));
            }
            Change::Retitle { id, title } => {
                self.memories.get_mut(id).expect("a writer's own memory").1.clone_from(title);
            }
            Change::Delete { id } => {
                self.memories.remove(id);
                self.links.retain(|(from, to)| from != id && to != id);
            }
            Change::Link { from, to } => drop(self.links.insert((*from, *to))),
            Change::Unlink { from, to } => drop(self.links.remove(&(*from, *to))),
            Change::Publish { .. } => {}
        }
    }

    /// The memories of one writer, whose contents begin with its name.
    fn of(&self, name: &str) -> Self {
        let is_own = |pair: &(&u64, &(String, String))| pair.1.0.starts_with(name);
        let memories: BTreeMap<_, _> =
            self.memories.iter().filter(is_own).map(|(id, it)| (*id, it.clone())).collect();
        let links =
            self.links.iter().filter(|link| memories.contains_key(&link.0)).copied().collect();
        Self { memories, links }
    }
}

/// One writer: it changes only its own memories, one change after the other.
#[derive(Debug)]
struct Writer {
    name: String,
    random: Random,
    texts: u64,
    stored: Stored,
    added: BTreeSet<u64>,
    published: BTreeMap<u64, String>,
    /// The change that was sent but not acknowledged before the kill.
    unanswered: Option<Change>,
}

impl Writer {
    fn new(number: usize) -> Self {
        Self {
            name: format!("writer {number}:"),
            random: Random(number as u64),
            texts: 0,
            stored: Stored::default(),
            added: BTreeSet::new(),
            published: BTreeMap::new(),
            unanswered: None,
        }
    }

    fn text(&mut self) -> String {
        self.texts += 1;
        format!("{} text {}", self.name, self.texts)
    }

    /// One of the newest memories, so that compaction and changes overlap.
    fn any(&mut self) -> Option<u64> {
        let newest = self.stored.memories.len().min(20) as u64;
        let nth = if newest == 0 { return None } else { self.random.below(newest) };
        self.stored.memories.keys().rev().nth(nth as usize).copied()
    }

    fn next(&mut self) -> Change {
        let (one, two) = (self.any(), self.any());
        match (self.random.below(12), one, two) {
            (0..2, Some(id), _) => Change::Retitle { id, title: self.text() },
            (2, Some(id), _) => Change::Delete { id },
            (3..6, Some(from), Some(to)) if from != to => {
                if self.stored.links.contains(&(from, to)) {
                    Change::Unlink { from, to }
                } else {
                    Change::Link { from, to }
                }
            }
            (6..9, ..) => Change::Publish { text: self.text() },
            _ => Change::Add { content: self.text() },
        }
    }

    /// Changes one thing after the other until the service is gone.
    fn write_until_gone(&mut self, address: SocketAddr, token: &str, answered: &mpsc::Sender<()>) {
        loop {
            let change = self.next();
            self.unanswered = Some(change.clone());
            let (method, path, body) = match &change {
                Change::Add { content } => {
                    ("POST", "/api/memory/add".to_owned(), json!({"content": content}))
                }
                Change::Retitle { id, title } => {
                    ("PATCH", format!("/api/memory/{id}"), json!({"title": title}))
                }
                Change::Delete { id } => ("DELETE", format!("/api/memory/{id}"), Value::Null),
                Change::Link { from, to } | Change::Unlink { from, to } => {
                    let is_link = matches!(change, Change::Link { .. });
                    let body = json!({"from": from, "to": to, "type": "related_to"});
                    (if is_link { "POST" } else { "DELETE" }, "/api/memory/link".to_owned(), body)
                }
                Change::Publish { text } => {
                    ("POST", "/api/events".to_owned(), json!({"type": "a:b", "data": {"t": text}}))
                }
            };
            let body = if body.is_null() { String::new() } else { body.to_string() };
            let Some(id) = send(address, token, method, &path, &body) else { return };
            self.unanswered = None;
            match &change {
                Change::Add { .. } => drop(self.added.insert(id)),
                Change::Publish { text } => drop(self.published.insert(id, text.clone())),
                _ => {}
            }
            self.stored.apply(&change, id);
            if answered.send(()).is_err() {
                return;
            }
        }
    }

    /// Compares the store's memories of this writer with the acknowledged ones; the unacknowledged
    /// change may or may not have been made.
    fn check(&mut self, found: &Stored, round: usize) {
        let found = found.of(&self.name);
        if let Some(change) = self.unanswered.take()
            && found != self.stored
        {
            let new = found.memories.keys().find(|id| !self.stored.memories.contains_key(id));
            self.stored.apply(&change, new.copied().unwrap_or(0));
            self.added.extend(new);
        }
        assert_eq!(found, self.stored, "{} round {round}", self.name);
    }
}

/// Sends a request; returns the id in the response (0 if it has none), or nothing if no response
/// arrived.
fn send(address: SocketAddr, token: &str, method: &str, path: &str, body: &str) -> Option<u64> {
    let bytes = request(address, method, path, token, &[], body.as_bytes());
    let mut stream = TcpStream::connect(address).ok()?;
    stream.write_all(&bytes).ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    let text = String::from_utf8_lossy(&answer);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?;
    assert!(status.starts_with('2') || status == "503", "{method} {path}: {text}");
    if status == "503" || (status != "204" && serde_json::from_str::<Value>(body).is_err()) {
        return None;
    }
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    Some(body["id"].as_u64().unwrap_or(0))
}

/// The facts in the current export.
fn stored(program: &Program) -> Stored {
    let export = program.send("GET", "/api/memory/export", b"");
    assert_eq!(export.status, 200, "{}", export.text());
    let mut stored = Stored::default();
    for record in export.lines() {
        let number = |name: &str| record[name].as_u64().expect("a number");
        let text = |name: &str| record[name].as_str().unwrap_or_default().to_owned();
        match record["record"].as_str() {
            Some("memory") => {
                stored.memories.insert(number("id"), (text("content"), text("title")));
            }
            Some("deletion") => drop(stored.memories.remove(&number("id"))),
            Some("link") => drop(stored.links.insert((number("from"), number("to")))),
            _ => {}
        }
    }
    stored
}

/// Events after `after`, by id.
fn events(program: &Program, mut after: u64) -> BTreeMap<u64, Value> {
    let mut found = BTreeMap::new();
    loop {
        let page = program.send("GET", &format!("/api/events?after={after}&limit=1000"), b"");
        assert_eq!(page.status, 200, "{}", page.text());
        for event in page.json().as_array().expect("an array") {
            found.insert(event["id"].as_u64().expect("an id"), event.clone());
        }
        let next = page.header("waypost-next-after").and_then(|header| header.parse().ok());
        let next: u64 = next.expect("a cursor");
        if next == after {
            return found;
        }
        after = next;
    }
}

/// Checks the events of a round: the acknowledged ones, one for each added memory, and the results
/// of the flow.
fn check_events(program: &Program, folder: &Path, after: u64, writers: &mut [Writer]) -> u64 {
    until(|| {
        let events = events(program, after);
        let mut told: BTreeMap<u64, usize> = BTreeMap::new();
        for event in events.values().filter(|value| value["type"] == "memory:added") {
            *told.entry(event["data"]["id"].as_u64().expect("an id")).or_default() += 1;
        }
        assert!(told.values().all(|it| *it == 1), "published twice: {told:?}");
        let done = fs::read_to_string(folder.join("done.log")).unwrap_or_default();
        let done: BTreeSet<u64> = done.lines().filter_map(|line| line.parse().ok()).collect();
        let published = |writer: &Writer| {
            writer.published.iter().all(|(id, text)| {
                assert_eq!(events[id]["data"]["t"], **text, "event {id} was acknowledged");
                done.contains(id) || gave_up(program, *id)
            })
        };
        let is_told = |writer: &Writer| writer.added.iter().all(|id| told.contains_key(id));
        if writers.iter().all(|writer| published(writer) && is_told(writer)) {
            for writer in writers.iter_mut() {
                writer.added.clear();
                writer.published.clear();
            }
            return Ok(events.keys().next_back().copied().unwrap_or(after));
        }
        Err(format!("events or runs are missing: {told:?} {writers:?}"))
    })
}

/// Whether the run for an event has ended although its action never finished: it was interrupted
/// each time.
fn gave_up(program: &Program, event: u64) -> bool {
    let why = program.send("GET", &format!("/api/flows/why?event={event}"), b"").json();
    let tries = why[0]["run"]["tries"].as_array().cloned().unwrap_or_default();
    why[0]["run"]["state"] == "failed" && tries.iter().all(|it| it["outcome"] == "interrupted")
}

/// Compacts and reindexes until the service is gone.
fn maintain_until_gone(address: SocketAddr, token: &str, is_over: &AtomicBool, round: usize) {
    let paths = ["/api/memory/compact", "/api/memory/index"];
    for number in round.. {
        let is_done = send(address, token, "POST", paths[number % 2], "{}").is_some();
        if !is_done || is_over.load(Ordering::Relaxed) {
            return;
        }
    }
}

#[test]
fn no_acknowledged_change_of_any_kind_is_lost_or_undone_whenever_the_service_is_killed() {
    let rounds =
        std::env::var(ROUNDS_VARIABLE).map_or(ROUNDS, |value| value.parse().expect("a number"));
    let folder = project(
        "flows:\n  - { name: one, trigger: { pattern: \"a:*\" }, breaker: 0, actions: [{ type: command, command: \"echo $WAYPOST_EVENT_ID >> done.log\" }] }\n",
    );
    let settings = format!("events:\n  keep_count: {EVENTS_KEPT}\n");
    fs::write(folder.path().join(".waypost/config.yaml"), settings).expect("a file");
    let mut writers: Vec<Writer> = (0..WRITERS).map(Writer::new).collect();
    let (mut after, mut acknowledged) = (0, 0);
    for round in 0..=rounds {
        let mut program = Program::start(folder.path());
        let found = stored(&program);
        for writer in &mut writers {
            writer.check(&found, round);
        }
        after = check_events(&program, folder.path(), after, &mut writers);
        if round == rounds {
            break;
        }
        let (address, token) = (program.address, program.token.clone());
        let (sender, receiver) = mpsc::channel();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for writer in &mut writers {
                let (sender, token) = (sender.clone(), &token);
                scope.spawn(move || writer.write_until_gone(address, token, &sender));
            }
            drop(sender);
            if round % 2 == 1 {
                scope.spawn(|| maintain_until_gone(address, &token, &is_over, round));
            }
            acknowledged += receiver.iter().take(3 + round * 17 % 120).count();
            program.kill();
            is_over.store(true, Ordering::Relaxed);
            acknowledged += receiver.iter().count();
        });
    }
    assert!(acknowledged > rounds, "{acknowledged}");
    println!("{rounds} kills, {acknowledged} changes acknowledged, none lost or undone");
}
