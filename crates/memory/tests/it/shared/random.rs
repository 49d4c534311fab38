//! Random commands on random replicas, with crashes, lost answers, old copies and lag, against one
//! store without a shared journal that gets what was written.
//!
//! `WAYPOST_TEST_CASES` says how many histories; proptest keeps those that fail.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use proptest::prelude::*;
use tempfile::TempDir;
use waypost_memory::{
    Added, Addition, Compaction, Draft, Error, ImportIds, ImportOptions, Lifespan, LinkKind,
    MemoryId, Patch, RequestKey, Store, Timestamp, Vocabulary,
};

use super::{Cluster, Replica};
use crate::crash::image;
use crate::hub::Fault;
use crate::world::{at, id, open};

const REPLICAS: usize = 3;

#[derive(Debug, Clone)]
enum Step {
    Command(usize, Command),
    /// A command of a request with one of a few keys.
    Keyed(usize, u8, Command),
    /// Some drafts at once, in as many appends as they need.
    Batch(usize, Vec<u8>),
    Import {
        into: usize,
        from: usize,
    },
    Follow(usize),
    Compact(usize, Compaction),
    Publish(usize),
    /// As after `kill -9`.
    Crash(usize),
    Close(usize),
    /// Derived data is lost.
    Rebuild(usize),
    /// A copy of the folder that is put back later, as after a power cut that takes what was not
    /// synced.
    Copy(usize),
    PutBack(usize),
    RestartHub,
    Fault(usize, Fault),
    Reach(usize),
}

/// A command that is decided by one replica.
#[derive(Debug, Clone)]
enum Command {
    Add { text: u8, space: u8, expires: bool },
    Update { id: u64, text: u8 },
    Delete { id: u64 },
    Undelete { id: u64 },
    Revert { id: u64, version: u32 },
    Merge { into: u64, from: u64 },
    Link { from: u64, to: u64, kind: usize },
    Unlink { from: u64, to: u64, kind: usize },
    Expire,
}

fn command() -> impl Strategy<Value = Command> {
    let ids = || 1..14_u64;
    prop_oneof![
        8 => (0..24_u8, 0..2_u8, prop::bool::weighted(0.2))
            .prop_map(|(text, space, expires)| Command::Add { text, space, expires }),
        4 => (ids(), 0..24_u8).prop_map(|(id, text)| Command::Update { id, text }),
        3 => ids().prop_map(|id| Command::Delete { id }),
        2 => ids().prop_map(|id| Command::Undelete { id }),
        2 => (ids(), 0..4_u32).prop_map(|(id, version)| Command::Revert { id, version }),
        2 => (ids(), ids()).prop_map(|(into, from)| Command::Merge { into, from }),
        4 => (ids(), ids(), 0..5_usize)
            .prop_map(|(from, to, kind)| Command::Link { from, to, kind }),
        2 => (ids(), ids(), 0..5_usize)
            .prop_map(|(from, to, kind)| Command::Unlink { from, to, kind }),
        1 => Just(Command::Expire),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let replica = || 0..REPLICAS;
    let what = (any::<bool>(), 0..4_u32).prop_map(|(purge, versions)| {
        Compaction::default().with_purge(purge).with_versions(NonZeroU32::new(versions))
    });
    let fault =
        prop_oneof![Just(Fault::LostAnswer), Just(Fault::LostAppend), Just(Fault::Unreachable)];
    prop_oneof![
        40 => (replica(), command()).prop_map(|(at, it)| Step::Command(at, it)),
        20 => (replica(), 0..6_u8, command()).prop_map(|(at, key, it)| Step::Keyed(at, key, it)),
        3 => (replica(), prop::collection::vec(0..40_u8, 1..12))
            .prop_map(|(at, it)| Step::Batch(at, it)),
        1 => (replica(), replica()).prop_map(|(into, from)| Step::Import { into, from }),
        6 => replica().prop_map(Step::Follow),
        2 => (replica(), what).prop_map(|(at, it)| Step::Compact(at, it)),
        2 => replica().prop_map(Step::Publish),
        2 => replica().prop_map(Step::Crash),
        1 => replica().prop_map(Step::Close),
        1 => replica().prop_map(Step::Rebuild),
        1 => replica().prop_map(Step::Copy),
        1 => replica().prop_map(Step::PutBack),
        1 => Just(Step::RestartHub),
        3 => (replica(), fault).prop_map(|(at, it)| Step::Fault(at, it)),
        2 => replica().prop_map(Step::Reach),
    ]
}

/// The replicas, and what they are compared with.
struct World {
    cluster: Cluster,
    copies: [Option<TempDir>; REPLICAS],
    reference: Store,
    _dir: TempDir,
    clock: i64,
    /// The last command with each key.
    requests: BTreeMap<u8, Command>,
}

impl World {
    fn new() -> Self {
        let dir = TempDir::new().expect("a folder");
        let (reference, _) = open(dir.path());
        let cluster = Cluster::new(REPLICAS, 8, 5);
        Self {
            cluster,
            copies: Default::default(),
            reference,
            _dir: dir,
            clock: 1_700_000_000_000,
            requests: BTreeMap::new(),
        }
    }

    fn now(&mut self) -> Timestamp {
        self.clock += 1_000;
        at(self.clock)
    }

    fn replica(&mut self, number: usize) -> &mut Replica {
        &mut self.cluster.replicas[number]
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Command(number, command) => self.command(*number, command, None),
            Step::Keyed(number, key, command) => {
                // Some repeat the last request with the key, others ask for something else.
                let last = self.requests.get(key).filter(|_| self.clock % 3_000 != 0);
                let command = last.unwrap_or(command).clone();
                self.requests.insert(*key, command.clone());
                let request = format!("{command:?}");
                let key = RequestKey::new("a caller", &key.to_string(), &[request.as_bytes()]);
                self.command(*number, &command, Some(key));
            }
            Step::Batch(number, texts) => self.batch(*number, texts),
            Step::Import { into, from } => self.import(*into, *from),
            Step::Follow(number) => drop(self.cluster.store(*number).follow()),
            Step::Compact(number, what) => self.compact(*number, *what),
            Step::Publish(number) => {
                let store = self.cluster.store(*number);
                store.mark_published(store.notices(7).last().map_or(0, |notice| notice.sequence));
                // Without the shared journal, it is tried again later.
                drop(store.maintain());
            }
            Step::Crash(number) => {
                let left = image(self.replica(*number).dir.path());
                self.replica(*number).replace(left);
            }
            Step::Close(number) => self.replica(*number).reopen(),
            Step::Rebuild(number) => {
                let replica = self.replica(*number);
                drop(replica.store.take());
                for derived in ["state", "index"] {
                    let folder = replica.dir.path().join("memory").join(derived);
                    std::fs::remove_dir_all(folder).expect("it goes");
                }
                replica.open();
            }
            Step::Copy(number) => {
                self.copies[*number] = Some(image(self.replica(*number).dir.path()));
            }
            Step::PutBack(number) => {
                if let Some(copy) = self.copies[*number].take() {
                    self.replica(*number).replace(copy);
                }
            }
            Step::RestartHub => self.cluster.hub.restart(self.cluster.hub_dir.path()),
            Step::Fault(number, fault) => {
                self.replica(*number).member.set_fault(Some(*fault));
            }
            Step::Reach(number) => self.replica(*number).member.set_fault(None),
        }
        assert!(!self.cluster.hub.is_locked(), "a replica has kept the lock after {step:?}");
    }

    /// A command must have the same outcome as in a store that has everything that was written,
    /// unless the shared journal was not reached; then only that says what was written.
    fn command(&mut self, number: usize, command: &Command, key: Option<RequestKey>) {
        let now = self.now();
        if matches!(command, Command::Expire) {
            // It selects from what it has.
            drop(self.cluster.store(number).follow());
            if self.cluster.store(number).position() < self.cluster.hub.last() {
                return;
            }
        }
        let before = self.cluster.hub.last();
        let outcome = run(self.cluster.store(number), command, key, now);
        match outcome {
            Err(Error::SharedJournal(_)) if self.cluster.hub.last() == before => {}
            Err(Error::SharedJournal(_)) => {
                run(&self.reference, command, key, now)
                    .expect("the shared journal has its records");
            }
            outcome => {
                let expected = run(&self.reference, command, key, now);
                assert_eq!(shown(outcome), shown(expected), "{command:?} on {number}");
            }
        }
    }

    fn batch(&mut self, number: usize, texts: &[u8]) {
        self.replica(number).member.set_fault(None);
        let now = self.now();
        let drafts = || {
            texts
                .iter()
                .map(|text| Addition::from(draft(*text, 0)).with_note(vec![*text]))
                .collect::<Vec<_>>()
        };
        let added = self.cluster.store(number).add_batch(drafts(), now);
        let expected = self.reference.add_batch(drafts(), now);
        for (added, expected) in added.into_iter().zip(expected) {
            assert_eq!(shown(added.map(Some)), shown(expected.map(Some)));
        }
    }

    fn import(&mut self, into: usize, from: usize) {
        self.replica(into).member.set_fault(None);
        let now = self.now();
        let export = self.cluster.replicas[from].export();
        let options = ImportOptions::default().with_ids(ImportIds::Map);
        let import = |store: &Store| {
            let write = || store.write_queued();
            store.import_beside(&mut export.as_bytes(), &options, now, &write).expect("an import")
        };
        assert_eq!(import(self.cluster.store(into)), import(&self.reference));
    }

    fn compact(&mut self, number: usize, what: Compaction) {
        let store = self.cluster.store(number);
        if store.follow().is_err() {
            // What it selects of an older state is tested elsewhere.
            return;
        }
        let before = self.cluster.hub.last();
        match store.compact(what) {
            Ok(compacted) => {
                let expected = self.reference.compact(what).expect("a compaction");
                assert_eq!(compacted.purged_versions, expected.purged_versions);
            }
            // Purges and shortened histories are two commands.
            Err(Error::SharedJournal(_)) if self.cluster.hub.last() == before => {}
            Err(Error::SharedJournal(_)) => {
                self.replica(number).member.set_fault(None);
                self.cluster.store(number).compact(what).expect("a compaction");
                self.reference.compact(what).expect("a compaction");
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn compare_digests(&self) {
        let digests: Vec<_> = (0..REPLICAS)
            .map(|number| self.cluster.store(number).digest().expect("a digest"))
            .collect();
        for (one, other) in digests.iter().zip(&digests[1..]) {
            assert!(one.position != other.position || one == other, "{one} {other}");
        }
    }

    fn end(&mut self) {
        let everywhere = self.cluster.settle();
        let mut expected = Vec::new();
        self.reference.export(&mut expected).expect("an export");
        assert_eq!(everywhere, String::from_utf8(expected).expect("UTF-8"));
        // Positions differ by the records that say what was published.
        let digest = |store: &Store| store.digest().expect("a digest").sha256;
        let expected = digest(&self.reference);
        assert_eq!(digest(self.cluster.store(0)), expected);
        for number in 0..REPLICAS {
            // A replay of what local compactions have left.
            self.step(&Step::Rebuild(number));
            assert_eq!(digest(self.cluster.store(number)), expected);
        }
        assert_eq!(self.cluster.settle(), everywhere);
    }
}

impl Replica {
    /// Closes the store and goes on in another folder.
    fn replace(&mut self, dir: TempDir) {
        drop(self.store.take());
        self.dir = dir;
        self.open();
    }
}

fn content(text: u8) -> String {
    format!("word{text} ").repeat(1 + usize::from(text))
}

fn draft(text: u8, space: u8) -> Draft {
    Draft::new(content(text)).with_space(format!("space{space}"))
}

/// Runs a command; the outcome has the memory, if there is one.
fn run(
    store: &Store,
    command: &Command,
    key: Option<RequestKey>,
    now: Timestamp,
) -> Result<Option<Added>, Error> {
    let link = |from: u64, to: u64, kind: usize| (id(from), id(to), LinkKind::ALL[kind]);
    let changed = |memory: waypost_memory::Memory| Some(Added::Existing(memory));
    let request = store.request(key);
    match command {
        Command::Add { text, space, expires } => {
            let expiry = expires.then(|| at(now.as_millis() + 5_000));
            let lifespan = Lifespan::default().with_expires_at(expiry);
            let draft = draft(*text, *space).with_lifespan(lifespan);
            let draft = Addition::from(draft).with_note(vec![*text]).with_key(key);
            store.add(draft, now).map(Some)
        }
        Command::Update { id: number, text } => request
            .update(id(*number), Patch::default().with_content(content(*text)), now)
            .map(changed),
        Command::Delete { id: number } => request.delete(id(*number), now).map(|()| None),
        Command::Undelete { id: number } => request.undelete(id(*number), now).map(changed),
        Command::Revert { id: number, version } => {
            request.revert(id(*number), *version, now).map(changed)
        }
        Command::Merge { into, from } => {
            request.merge(id(*into), id(*from), Patch::default(), now).map(changed)
        }
        Command::Link { from, to, kind } => {
            let (from, to, kind) = link(*from, *to, *kind);
            request.link(from, to, kind, now, None).map(|_| None)
        }
        Command::Unlink { from, to, kind } => {
            let (from, to, kind) = link(*from, *to, *kind);
            request.unlink(from, to, kind, now).map(|_| None)
        }
        Command::Expire => store.expire(now).map(|_| None),
    }
}

fn shown(outcome: Result<Option<Added>, Error>) -> Result<Option<(MemoryId, String)>, String> {
    match outcome {
        Ok(added) => Ok(added.map(|added| {
            let memory = added.into_memory();
            (memory.id, format!("{memory:?}"))
        })),
        Err(error) => Err(error.to_string()),
    }
}

#[expect(clippy::disallowed_methods, reason = "a test takes its settings from variables")]
fn cases() -> u32 {
    let wanted = std::env::var("WAYPOST_TEST_CASES").ok().and_then(|value| value.parse().ok());
    wanted.unwrap_or(10)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_time: 60_000, ..ProptestConfig::default() })]

    #[test]
    fn replicas_are_one_store(steps in prop::collection::vec(step(), 1..60)) {
        let mut world = World::new();
        for (number, step) in steps.iter().enumerate() {
            world.step(step);
            if number % 5 == 0 {
                world.compare_digests();
            }
        }
        world.end();
    }
}

/// Threads that write to all replicas at once, while others follow.
#[test]
fn concurrent_writers_get_dense_ids_and_lose_nothing() {
    const WRITERS: usize = 2;
    const ADDS: usize = 40;
    let cluster = Cluster::new(REPLICAS, 16, 50);
    let done = std::sync::atomic::AtomicBool::new(false);
    let mut acknowledged: Vec<(MemoryId, String)> = std::thread::scope(|scope| {
        let followers: Vec<_> = (0..REPLICAS)
            .map(|number| {
                let store = cluster.store(number);
                let done = &done;
                scope.spawn(move || {
                    while !done.load(std::sync::atomic::Ordering::Relaxed) {
                        store.follow().expect("it follows");
                        let next = store.position() + 1;
                        store.wait_for(next, std::time::Duration::from_millis(1));
                    }
                })
            })
            .collect();
        let writers: Vec<_> = (0..REPLICAS * WRITERS)
            .map(|writer| {
                let store = cluster.store(writer % REPLICAS);
                scope.spawn(move || {
                    (0..ADDS)
                        .map(|number| {
                            let content = format!("{writer} writes {number}");
                            let draft =
                                Addition::from(Draft::new(content.clone())).with_note(vec![1]);
                            let added = store.add(draft, at(1)).expect("an add").into_memory();
                            let there = store.get(added.id).expect("it is there at once");
                            assert_eq!(there.content, content);
                            (added.id, content)
                        })
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        let added =
            writers.into_iter().flat_map(|writer| writer.join().expect("it ends")).collect();
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        for follower in followers {
            follower.join().expect("it ends");
        }
        added
    });
    acknowledged.sort();
    let ids: Vec<u64> = acknowledged.iter().map(|acknowledged| acknowledged.0.get()).collect();
    assert!(ids.iter().copied().eq(1..=(REPLICAS * WRITERS * ADDS) as u64), "{ids:?}");
    cluster.settle();
    for (id, content) in acknowledged {
        assert_eq!(cluster.store(1).get(id).expect("it is there").content, content);
    }
    let moved = |replica: &Replica| replica.member.moved.load(std::sync::atomic::Ordering::Relaxed);
    assert!(cluster.replicas.iter().map(moved).sum::<u64>() > 0, "they were in each other's way");
}
