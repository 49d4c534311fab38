//! Clients that write, and their acknowledged writes: a crash must not lose any of these.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::client::Answer;
use crate::service::send;

/// A fact in an export: the memory, and the statement about it.
pub(crate) type Fact = (u64, String);

/// The facts that an acknowledged write changed.
#[derive(Debug)]
struct Step {
    created: Option<u64>,
    added: Vec<Fact>,
    removed: Vec<Fact>,
}

impl Step {
    fn apply(&self, facts: &mut BTreeSet<Fact>) {
        facts.extend(self.added.iter().cloned());
        for it in &self.removed {
            facts.remove(it);
        }
    }
}

/// One client's acknowledged writes, in order. It changes only its own memories.
#[derive(Debug, Default)]
pub(crate) struct Journal(Mutex<Vec<Step>>);

impl Journal {
    /// The number of acknowledged writes.
    pub(crate) fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// Forgets all but the first ones.
    pub(crate) fn truncate(&self, len: usize) {
        self.0.lock().truncate(len);
    }

    /// The ids that the first writes, up to that number, created.
    pub(crate) fn created(&self, len: usize) -> BTreeSet<u64> {
        self.0.lock()[..len].iter().filter_map(|it| it.created).collect()
    }

    /// The number of writes, at least the given one, after which exactly these facts hold.
    pub(crate) fn position(&self, at_least: usize, found: &BTreeSet<Fact>) -> Option<usize> {
        let steps = self.0.lock();
        let mut facts = BTreeSet::new();
        (0..=steps.len()).find(|done| {
            if let Some(step) = done.checked_sub(1).map(|difference| &steps[difference]) {
                step.apply(&mut facts);
            }
            *done >= at_least && facts == *found
        })
    }

    /// The facts that are missing after all writes, and the facts that are too many.
    pub(crate) fn difference(&self, found: &BTreeSet<Fact>) -> [Vec<Fact>; 2] {
        let mut facts = BTreeSet::new();
        self.0.lock().iter().for_each(|it| it.apply(&mut facts));
        [&facts - found, found - &facts].map(|it| it.into_iter().collect())
    }
}

/// The facts in an export.
pub(crate) fn facts(export: &Answer) -> Vec<Fact> {
    let id = |value: &Value| value.as_u64().expect("an id");
    let fact = |value: &Value| match value["record"].as_str() {
        Some("memory") => {
            let content = value["content"].as_str().expect("a content");
            Some(version(id(&value["id"]), id(&value["version"]), content))
        }
        Some("deletion") => Some(deletion(id(&value["id"]))),
        Some("link") => Some(link(id(&value["from"]), id(&value["to"]))),
        _ => None,
    };
    export.lines().iter().filter_map(fact).collect()
}

fn version(id: u64, number: u64, content: &str) -> Fact {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    (id, format!("version {number}: {} bytes, {:x}", content.len(), hasher.finish()))
}

fn deletion(id: u64) -> Fact {
    (id, "deleted".to_owned())
}

fn link(from: u64, to: u64) -> Fact {
    (from, format!("to {to}"))
}

/// Pseudo-random numbers that are the same in every run.
#[derive(Debug, Clone)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) % end
    }
}

/// A client with its own memories.
pub(crate) struct Client<'a> {
    address: SocketAddr,
    token: &'a str,
    journal: &'a Journal,
    name: String,
    random: Random,
    texts: u32,
    live: Vec<u64>,
    versions: BTreeMap<u64, u64>,
    links: BTreeSet<Fact>,
}

impl<'a> Client<'a> {
    pub(crate) fn new(
        address: SocketAddr,
        token: &'a str,
        number: usize,
        journal: &'a Journal,
    ) -> Self {
        Self {
            address,
            token,
            journal,
            name: format!("client{number}"),
            random: Random(number as u64),
            texts: 0,
            live: Vec::new(),
            versions: BTreeMap::new(),
            links: BTreeSet::new(),
        }
    }

    /// Writes something, and records the write when it is acknowledged.
    pub(crate) fn write(&mut self) {
        match self.random.below(20) {
            0..8 => self.add(0),
            8..10 => self.add(65 * 1024),
            10..12 => self.batch(),
            _ if self.live.len() < 4 => self.add(0),
            12..15 => self.update(),
            15..17 => self.delete(),
            _ => self.link(),
        }
    }

    fn send(&self, method: &str, path: &str, body: &str, status: u16) -> Answer {
        let answer = send(self.address, method, path, self.token, &[], body.as_bytes());
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.text());
        answer
    }

    fn note(&self, steps: impl IntoIterator<Item = Step>) {
        self.journal.0.lock().extend(steps);
    }

    /// A text that is different from all others, longer than that.
    fn text(&mut self, longer_than: u64) -> String {
        self.texts += 1;
        let mut text = format!("{} text{}", self.name, self.texts);
        let wanted =
            if longer_than == 0 { 0 } else { longer_than + self.random.below(4 * longer_than) };
        while (text.len() as u64) < wanted {
            write!(text, " word{}", self.random.below(300)).expect("a text takes more");
        }
        text
    }

    fn added(&mut self, id: u64, content: &str) -> Step {
        self.live.push(id);
        self.versions.insert(id, 1);
        Step { created: Some(id), added: vec![version(id, 1, content)], removed: Vec::new() }
    }

    fn add(&mut self, longer_than: u64) {
        let content = self.text(longer_than);
        let body = json!({"content": content}).to_string();
        let answer = self.send("POST", "/api/memory/add", &body, 201);
        let step = self.added(answer.json()["id"].as_u64().expect("an id"), &content);
        self.note([step]);
    }

    fn batch(&mut self) {
        let contents: Vec<String> = (0..5).map(|_| self.text(0)).collect();
        let lines: Vec<String> =
            contents.iter().map(|content| json!({"content": content}).to_string()).collect();
        let answers = self.send("POST", "/api/memory/batch", &lines.join("\n"), 200).lines();
        assert_eq!(answers.len(), contents.len());
        let answers = answers.iter().zip(&contents);
        let steps: Vec<Step> = answers
            .map(|(it, content)| self.added(it["id"].as_u64().expect("an id"), content))
            .collect();
        self.note(steps);
    }

    fn any(&mut self) -> usize {
        self.random.below(self.live.len() as u64) as usize
    }

    fn update(&mut self) {
        let at = self.any();
        let id = self.live[at];
        let content = self.text(0);
        let body = json!({"content": content}).to_string();
        self.send("PATCH", &format!("/api/memory/{id}"), &body, 200);
        let number = self.versions[&id] + 1;
        self.versions.insert(id, number);
        let added = vec![version(id, number, &content)];
        self.note([Step { created: None, added, removed: Vec::new() }]);
    }

    /// Deletes a memory, and its links with it.
    fn delete(&mut self) {
        let at = self.any();
        let id = self.live.swap_remove(at);
        self.send("DELETE", &format!("/api/memory/{id}"), "", 204);
        let (_, to_it) = link(0, id);
        let of_it = |fact: &&Fact| fact.0 == id || fact.1 == to_it;
        let removed: Vec<Fact> = self.links.iter().filter(of_it).cloned().collect();
        self.links.retain(|link| !removed.contains(link));
        self.note([Step { created: None, added: vec![deletion(id)], removed }]);
    }

    /// Creates a link, or removes an existing one.
    fn link(&mut self) {
        let (from, to) = (self.any(), self.any());
        let (from, to) = (self.live[from], self.live[to]);
        let fact = link(from, to);
        let body = json!({"from": from, "to": to, "type": "related_to"}).to_string();
        if from == to {
            self.add(0);
        } else if self.links.remove(&fact) {
            self.send("DELETE", "/api/memory/link", &body, 204);
            self.note([Step { created: None, added: Vec::new(), removed: vec![fact] }]);
        } else {
            self.send("POST", "/api/memory/link", &body, 201);
            self.links.insert(fact.clone());
            self.note([Step { created: None, added: vec![fact], removed: Vec::new() }]);
        }
    }
}
