//! Several engines on one shared journal.

mod check;
mod faults;
mod random;
mod takeover;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tempfile::TempDir;
use waypost_events::Event;
use waypost_flows::{
    Attempt, AttemptId, Effect, Engine, Error, Notice, Options, Orphan, Outcome, Report, RunId,
    Timestamp,
};
use waypost_log::{AppendMax, Digest, Entry, Record, SharedError, SharedJournal};

use crate::hub::{Fault, Hub, Member};
use crate::world::{at, event, file, set};

/// A shared journal, the lease that says who may append to it, and the machines.
struct Cluster {
    hub: Arc<Hub>,
    hub_dir: TempDir,
    /// The epoch of the lease; each machine that takes it counts it up.
    lease: Arc<AtomicU64>,
    nodes: Vec<Node>,
    /// The bus.
    events: Vec<Event>,
    flows: String,
    now_ms: u64,
    /// Every attempt that a machine has started.
    begun: BTreeSet<AttemptId>,
}

/// A machine.
struct Node {
    name: String,
    access: Arc<Access>,
    dir: TempDir,
    engine: Option<Engine>,
    /// How far its clock is ahead.
    skew_ms: u64,
    /// Started attempts that are not done.
    started: Vec<Attempt>,
    orphans: Vec<Orphan>,
    notices: Vec<Notice>,
    removed: Vec<RunId>,
}

/// A machine's access to the shared journal, with the epoch with which it has the lease.
#[derive(Debug)]
struct Access {
    member: Arc<Member>,
    lease: Arc<AtomicU64>,
    epoch: AtomicU64,
    /// Appends until the one whose answer is lost; 0 for none.
    lost_in: AtomicU64,
}

impl SharedJournal for Access {
    fn append_max(&self) -> AppendMax {
        self.member.append_max()
    }

    fn append(&self, after: u64, records: &[Record<'_>]) -> Result<(), SharedError> {
        if self.epoch.load(Ordering::SeqCst) != self.lease.load(Ordering::SeqCst) {
            return Err(SharedError::Unavailable("the lease has another epoch".to_owned()));
        }
        let left = self.lost_in.load(Ordering::SeqCst);
        if left > 0 && !records.is_empty() {
            self.lost_in.store(left - 1, Ordering::SeqCst);
            self.member.set_fault((left == 1).then_some(Fault::LostAnswer));
        }
        self.member.append(after, records)
    }

    fn release(&self) {
        self.member.release();
    }

    fn read(&self, after: u64) -> Result<Vec<Entry>, SharedError> {
        self.member.read(after)
    }
}

fn folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder")
}

/// Copies a folder as a power cut or a crash would leave it.
fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("it is listed") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy_folder(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).expect("a copy");
        }
    }
}

impl Cluster {
    fn new(machines: usize, flows: &[String]) -> Self {
        Self::with(machines, flows, AppendMax { records: 4096, bytes: 1 << 20 }, 100)
    }

    fn with(machines: usize, flows: &[String], max: AppendMax, page: usize) -> Self {
        let hub_dir = folder();
        let hub = Hub::open(hub_dir.path(), max, page);
        let mut cluster = Self {
            hub,
            hub_dir,
            lease: Arc::default(),
            nodes: Vec::new(),
            events: Vec::new(),
            flows: file(flows),
            now_ms: 1_000_000,
            begun: BTreeSet::new(),
        };
        for _ in 0..machines {
            cluster.join();
        }
        cluster
    }

    /// Adds a machine without files, and returns its number.
    fn join(&mut self) -> usize {
        let number = self.nodes.len();
        let access = Access {
            member: self.hub.member(number),
            lease: Arc::clone(&self.lease),
            epoch: AtomicU64::new(0),
            lost_in: AtomicU64::new(0),
        };
        self.nodes.push(Node {
            name: format!("machine-{number}"),
            access: Arc::new(access),
            dir: folder(),
            engine: None,
            skew_ms: 0,
            started: Vec::new(),
            orphans: Vec::new(),
            notices: Vec::new(),
            removed: Vec::new(),
        });
        self.open(number);
        number
    }

    /// As after a start of the service, which may have been killed at any moment before.
    fn open(&mut self, number: usize) {
        let (now, flows) = (self.now(number), set(&self.flows));
        let node = &mut self.nodes[number];
        node.engine = None;
        node.end_all();
        let options = Options::default()
            .with_identity(format!("id{number}"))
            .with_boot("one boot of all")
            .with_machine(node.name.clone())
            .with_shared_journal(node.access.clone());
        let mut engine = Engine::open(node.dir.path(), options, now).expect("the engine opens");
        engine.install(flows);
        node.engine = Some(engine);
    }

    fn now(&self, number: usize) -> Timestamp {
        at(self.now_ms + self.nodes.get(number).map_or(0, |node| node.skew_ms))
    }

    fn engine(&mut self, number: usize) -> &mut Engine {
        self.nodes[number].engine.as_mut().expect("it is open")
    }

    /// Takes the lease, whoever has it, and leads.
    fn lead(&mut self, number: usize) -> Result<(), Error> {
        let epoch = self.lease.fetch_add(1, Ordering::SeqCst) + 1;
        // A machine without the lease does not decide on an older one.
        self.nodes[number].step_down();
        self.nodes[number].access.epoch.store(epoch, Ordering::SeqCst);
        let now = self.now(number);
        self.engine(number).lead(now)
    }

    /// Leads and commits.
    fn take_over(&mut self, number: usize) {
        self.lead(number).expect("it leads");
        self.commit(number).expect("it is written");
    }

    fn publish(&mut self, kind: &str, data: &str) -> u64 {
        let id = self.events.len() as u64 + 1;
        self.events.push(event(id, kind, data));
        id
    }

    /// Passes all unevaluated events to an engine.
    fn offer(&mut self, number: usize) {
        let now = self.now(number);
        let engine = self.nodes[number].engine.as_mut().expect("it is open");
        let from = engine.cursor() as usize;
        for event in &self.events[from.min(self.events.len())..] {
            engine.offer(event, now);
        }
    }

    fn fill(&mut self, number: usize) {
        let now = self.now(number);
        let engine = self.nodes[number].engine.as_mut().expect("it is open");
        while let Some(backfill) = engine.backfill() {
            let from = backfill.after as usize;
            let page: Vec<Event> = self.events[from..].iter().take(3).cloned().collect();
            let through = page.last().map_or(backfill.until, |page| page.id);
            engine.fill(&backfill, &page, through, now);
        }
    }

    /// Publishes an event, evaluates it and commits.
    fn say(&mut self, number: usize, kind: &str, data: &str) -> u64 {
        let id = self.publish(kind, data);
        self.offer(number);
        self.commit(number).expect("it is written");
        id
    }

    /// Commits. A machine that cannot ends its programs.
    fn commit(&mut self, number: usize) -> Result<(), Error> {
        let committed = self.engine(number).commit();
        let node = &mut self.nodes[number];
        if let Err(error) = committed {
            assert!(!node.engine.as_ref().expect("it is open").decides(), "{error}");
            node.end_all();
            return Err(error);
        }
        for effect in committed? {
            match effect {
                Effect::Start(attempt) => {
                    assert!(self.begun.insert(attempt.id.clone()), "{:?} starts again", attempt.id);
                    node.started.push(attempt);
                }
                Effect::Stop(_) => {}
                Effect::EndOrphan(orphan) => node.orphans.push(orphan),
                Effect::Announce(notice) => node.notices.push(notice),
                Effect::RemoveOutput(run) => node.removed.push(run),
                other => panic!("{other:?}"),
            }
        }
        Ok(())
    }

    /// Reports the result of a started attempt; the commit may fail.
    fn report(&mut self, number: usize, attempt: &Attempt, outcome: Outcome) -> Result<(), Error> {
        let now = self.now(number);
        self.engine(number).ended(&attempt.id, Report::new(outcome, "said so"), now);
        self.commit(number)
    }

    /// Reports the result of the oldest started attempt.
    fn finish(&mut self, number: usize, outcome: Outcome) -> Attempt {
        let attempt = self.nodes[number].started.remove(0);
        self.report(number, &attempt, outcome).expect("it is written");
        attempt
    }

    /// Reports that nothing remains of what an earlier process of this machine started.
    fn end_orphans(&mut self, number: usize) {
        let now = self.now(number);
        for orphan in std::mem::take(&mut self.nodes[number].orphans) {
            self.engine(number).orphan_ended(&orphan.run, now);
        }
    }

    /// Does all remaining work on a machine that leads.
    fn settle(&mut self, number: usize) {
        loop {
            self.offer(number);
            self.fill(number);
            self.end_orphans(number);
            self.commit(number).expect("it is written");
            let now = self.now(number);
            if !self.nodes[number].started.is_empty() {
                self.finish(number, Outcome::Succeeded);
            } else if self.engine(number).next_wake().is_some_and(|wake| wake > now) {
                self.now_ms += 60_000;
            } else if self.engine(number).next_wake().is_none()
                && self.nodes[number].orphans.is_empty()
            {
                return;
            }
            let now = self.now(number);
            self.engine(number).wake(now);
        }
    }

    /// Brings every machine up to the hub, and compares them.
    fn compare(&mut self) -> Digest {
        assert!(!self.hub.is_locked(), "a machine has kept the lock");
        let last = self.hub.last();
        let mut digests = Vec::new();
        for number in 0..self.nodes.len() {
            let node = &mut self.nodes[number];
            node.access.member.set_fault(None);
            let epoch = node.access.epoch.load(Ordering::SeqCst);
            if epoch != self.lease.load(Ordering::SeqCst) {
                node.step_down();
            }
            self.engine(number).follow().expect("the hub is reachable");
            assert_eq!(self.engine(number).position(), last);
            digests.push(self.engine(number).digest().expect("nothing is undecided"));
        }
        assert!(digests.iter().all(|it| *it == digests[0]), "{digests:?}");
        digests[0]
    }
}

impl Node {
    /// What a machine does without the lease: ends its programs, then decides no more.
    fn step_down(&mut self) {
        self.end_all();
        if let Some(engine) = &mut self.engine {
            engine.step_down();
        }
    }

    fn end_all(&mut self) {
        self.started.clear();
        self.orphans.clear();
        self.notices.clear();
    }
}
