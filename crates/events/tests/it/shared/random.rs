//! Random publishes on random replicas, with crashes, lost answers, old copies, lag and retention,
//! against a list of what was published.
//!
//! `WAYPOST_TEST_CASES` says how many histories; proptest keeps those that fail.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use tempfile::TempDir;
use waypost_events::{
    Bus, Draft, Error, Event, Published, Refused, Retention, RetentionPoint, Tail, Timestamp,
};

use super::{Cluster, Replica};
use crate::hub::Fault;
use crate::world::{NOW, all, at, copy_folder, data, draft, folder, options};

const REPLICAS: usize = 3;
const KEPT: u64 = 25;

#[derive(Debug, Clone)]
enum Step {
    /// A batch; one draft is published alone.
    Publish(usize, Vec<Wanted>),
    Follow(usize),
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
    /// A retention point, which also forgets keys: those of this share of the events.
    Decide(usize, u8),
    /// Applies the points that were decided and not yet applied.
    Apply(usize),
    Retain(usize),
    Compact(usize),
}

/// A draft to publish. Its data is a number of its own if it has no key.
#[derive(Debug, Clone)]
struct Wanted {
    key: Option<(u8, u8)>,
    space: bool,
    size: u8,
}

fn wanted() -> impl Strategy<Value = Wanted> {
    let key = prop::option::of((0..12_u8, prop::bool::weighted(0.2).prop_map(u8::from)));
    (key, any::<bool>(), any::<u8>()).prop_map(|(key, space, size)| Wanted { key, space, size })
}

fn step() -> impl Strategy<Value = Step> {
    let replica = || 0..REPLICAS;
    let fault =
        prop_oneof![Just(Fault::LostAnswer), Just(Fault::LostAppend), Just(Fault::Unreachable)];
    prop_oneof![
        30 => (replica(), wanted()).prop_map(|(at, it)| Step::Publish(at, vec![it])),
        8 => (replica(), prop::collection::vec(wanted(), 1..14))
            .prop_map(|(at, it)| Step::Publish(at, it)),
        6 => replica().prop_map(Step::Follow),
        2 => replica().prop_map(Step::Crash),
        1 => replica().prop_map(Step::Close),
        1 => replica().prop_map(Step::Rebuild),
        1 => replica().prop_map(Step::Copy),
        1 => replica().prop_map(Step::PutBack),
        1 => Just(Step::RestartHub),
        4 => (replica(), fault).prop_map(|(at, it)| Step::Fault(at, it)),
        2 => replica().prop_map(Step::Reach),
        2 => (replica(), any::<u8>()).prop_map(|(at, it)| Step::Decide(at, it)),
        4 => replica().prop_map(Step::Apply),
        2 => replica().prop_map(Step::Retain),
        1 => replica().prop_map(Step::Compact),
    ]
}

type Key = (bool, u8);

/// The replicas, and what they are compared with.
struct World {
    cluster: Cluster,
    copies: [Option<TempDir>; REPLICAS],
    points: Vec<RetentionPoint>,
    /// How many points each replica has applied.
    applied: [usize; REPLICAS],
    events: Vec<Event>,
    /// The newest event of each key, and its body.
    keys: BTreeMap<Key, (u64, u8)>,
    clock: u64,
}

impl World {
    fn new() -> Self {
        let options = options().with_segment_bytes(4 << 10);
        let options = options.with_retention(Retention::default().with_events(KEPT));
        Self {
            cluster: Cluster::with(REPLICAS, 8, 5, &options),
            copies: Default::default(),
            points: Vec::new(),
            applied: [0; REPLICAS],
            events: Vec::new(),
            keys: BTreeMap::new(),
            clock: 0,
        }
    }

    fn replica(&mut self, number: usize) -> &mut Replica {
        &mut self.cluster.replicas[number]
    }

    fn step(&mut self, step: &Step) {
        let now = at(self.clock);
        match step {
            Step::Publish(number, wanted) => self.publish(*number, wanted),
            Step::Follow(number) => drop(self.cluster.bus(*number).follow()),
            Step::Crash(number) => {
                let left = image(self.replica(*number));
                self.replica(*number).replace(left);
            }
            Step::Close(number) => self.replica(*number).reopen(),
            Step::Rebuild(number) => self.replica(*number).rebuild(),
            Step::Copy(number) => self.copies[*number] = Some(image(self.replica(*number))),
            Step::PutBack(number) => {
                if let Some(copy) = self.copies[*number].take() {
                    self.replica(*number).replace(copy);
                    self.applied[*number] = 0;
                }
            }
            Step::RestartHub => self.cluster.hub.restart(self.cluster.hub_dir.path()),
            Step::Fault(number, fault) => self.replica(*number).member.set_fault(Some(*fault)),
            Step::Reach(number) => self.replica(*number).member.set_fault(None),
            Step::Decide(number, share) => self.decide(*number, *share, now),
            Step::Apply(number) => self.apply(*number),
            Step::Retain(number) => drop(self.cluster.bus(*number).retain(now).expect("it works")),
            Step::Compact(number) => {
                self.cluster.bus(*number).compact().expect("it works");
            }
        }
        assert!(!self.cluster.hub.is_locked(), "a replica has kept the lock after {step:?}");
    }

    /// The answers must be those of a bus that has everything that was published, unless the shared
    /// journal was not reached; then only that says what was published.
    fn publish(&mut self, number: usize, wanted: &[Wanted]) {
        self.clock += 1;
        let drafts: Vec<Draft> =
            (self.clock * 100..).zip(wanted).map(|pair| make(pair.1, pair.0)).collect();
        let before = self.cluster.hub.last();
        assert_eq!(before, self.events.len() as u64);
        let now = at(self.clock);
        let answers = self.cluster.bus(number).publish_batch(drafts.clone(), now);
        let keys_from = self.keys_from(number);
        match answers {
            Err(Error::SharedJournal(_)) => {
                let written = self.cluster.hub.last() - before;
                if written > 0 {
                    drop(self.expect(wanted, &drafts, keys_from, now));
                }
                assert_eq!(self.cluster.hub.last(), self.events.len() as u64);
            }
            answers => {
                let answers = answers.expect("no other error");
                assert_eq!(answers, self.expect(wanted, &drafts, keys_from, now));
                assert_eq!(self.cluster.hub.last(), self.events.len() as u64);
            }
        }
    }

    /// Takes a batch in and returns its answers.
    fn expect(
        &mut self,
        wanted: &[Wanted],
        drafts: &[Draft],
        keys_from: u64,
        now: Timestamp,
    ) -> Vec<Result<Published, Refused>> {
        let mut answers = Vec::new();
        for (it, draft) in wanted.iter().zip(drafts) {
            let known = it.key.and_then(|(key, _)| self.keys.get(&(it.space, key)).copied());
            answers.push(match (known.filter(|known| known.0 >= keys_from), it.key) {
                (Some((id, body)), Some((_, wanted))) if body == wanted => {
                    Ok(Published { event: self.events[id as usize - 1].clone(), duplicate: true })
                }
                (Some((id, _)), _) => Err(Refused::KeyReused { id }),
                (None, _) => {
                    let id = self.events.len() as u64 + 1;
                    let Draft { kind, data, source, lineage, space, .. } = draft.clone();
                    let event = Event { id, kind, data, time: now, source, lineage, space };
                    self.events.push(event.clone());
                    if let Some((key, body)) = it.key {
                        self.keys.insert((it.space, key), (id, body));
                    }
                    Ok(Published { event, duplicate: false })
                }
            });
        }
        answers
    }

    fn keys_from(&self, number: usize) -> u64 {
        let applied = &self.points[..self.applied[number]];
        applied.iter().map(|applied| applied.keys_from).max().unwrap_or(1)
    }

    /// The decision about keys needs a day and many events, so the test makes its own.
    fn decide(&mut self, number: usize, share: u8, now: Timestamp) {
        // Where replicas took the place of the one that decides, each continues from all points.
        self.apply(number);
        if self.applied[number] < self.points.len() {
            return;
        }
        let bus = self.cluster.bus(number);
        let (first, last) = (bus.first(), bus.last());
        let decided = bus.decide_retention(now).expect("it works");
        let expected = (last + 1).saturating_sub(KEPT).max(first);
        assert_eq!(decided.map_or(first, |it| it.first), expected);
        let keys_from = self.keys_from(number).max(1 + last * u64::from(share) / 255);
        self.points.push(RetentionPoint { first: expected, keys_from, last });
    }

    fn apply(&mut self, number: usize) {
        let bus = self.cluster.bus(number);
        for point in &self.points[self.applied[number]..] {
            let point = RetentionPoint::decode(&point.encode()).expect("a point");
            match bus.apply_retention(&point) {
                Ok(()) => self.applied[number] += 1,
                Err(Error::SharedJournal(_)) => return,
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn end(&mut self) {
        for number in 0..REPLICAS {
            self.replica(number).member.set_fault(None);
            self.apply(number);
            assert_eq!(self.applied[number], self.points.len());
        }
        let kept = self.cluster.settle();
        let first = self.points.iter().map(|point| point.first).max().unwrap_or(1);
        assert_eq!(kept, self.events[first as usize - 1..]);
        let keys_from = self.keys_from(0);
        let known = self.keys.values().filter(|value| value.0 >= keys_from).count();
        for number in 0..REPLICAS {
            // A replay of what local maintenance has left.
            self.step(&Step::Rebuild(number));
            assert_eq!(self.cluster.bus(number).status().keys, known);
        }
        assert_eq!(self.cluster.settle(), kept);
        let before = self.events.len();
        for ((space, key), (id, body)) in self.keys.clone() {
            if id < keys_from {
                continue;
            }
            for number in 0..REPLICAS {
                self.publish(number, &[Wanted { key: Some((key, body)), space, size: 0 }]);
                self.publish(number, &[Wanted { key: Some((key, 1 - body)), space, size: 0 }]);
            }
        }
        assert_eq!(self.events.len(), before, "every known key is known everywhere");
    }
}

impl Replica {
    /// Closes the bus and goes on in another folder.
    fn replace(&mut self, dir: TempDir) {
        self.close();
        self.dir = dir;
        self.open();
    }
}

fn image(of: &Replica) -> TempDir {
    let dir = folder();
    copy_folder(of.dir.path(), dir.path());
    dir
}

fn make(wanted: &Wanted, number: u64) -> Draft {
    let text = "x".repeat(usize::from(wanted.size));
    let mut draft = draft("a:b");
    draft.data = match wanted.key {
        Some((key, body)) => data(&format!(r#"{{"key":{key},"body":{body}}}"#)),
        None => data(&format!(r#"{{"n":{number},"text":"{text}"}}"#)),
    };
    draft.key = wanted.key.map(|key| format!("k{}", key.0).parse().expect("a key"));
    draft.space = wanted.space.then(|| "s".to_owned());
    draft
}

#[expect(clippy::disallowed_methods, reason = "a test takes its settings from variables")]
fn cases() -> u32 {
    let wanted = std::env::var("WAYPOST_TEST_CASES").ok().and_then(|value| value.parse().ok());
    wanted.unwrap_or(20)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_time: 60_000, ..ProptestConfig::default() })]

    #[test]
    fn replicas_are_one_bus(steps in prop::collection::vec(step(), 1..80)) {
        let mut world = World::new();
        for step in &steps {
            world.step(step);
        }
        world.end();
    }
}

/// Threads that publish on all replicas at once, with the same keys, while others follow and read.
#[test]
fn concurrent_publishers_get_one_order_and_each_key_one_event() {
    const PUBLISHERS: usize = 2;
    const EVENTS: usize = 60;
    let cluster = Cluster::new(REPLICAS, 16, 50);
    let done = AtomicBool::new(false);
    let published: Vec<Published> = std::thread::scope(|scope| {
        let readers: Vec<_> = (0..REPLICAS)
            .map(|number| {
                let (bus, done) = (cluster.replicas[number].shared(), &done);
                scope.spawn(move || follow_and_read(&bus, done))
            })
            .collect();
        let publishers: Vec<_> = (0..REPLICAS * PUBLISHERS)
            .map(|publisher| {
                let bus = cluster.bus(publisher % REPLICAS);
                scope.spawn(move || {
                    let publish = |number: usize| {
                        // Every second event is the same for all publishers.
                        let key = number.is_multiple_of(2).then_some((number as u8, 0));
                        let wanted = Wanted { key, space: false, size: 3 };
                        let own = (publisher * EVENTS + number) as u64;
                        let published = bus.publish(make(&wanted, own), NOW).expect("published");
                        let there = bus.get(published.event.id).expect("readable");
                        assert_eq!(there.as_ref(), Some(&published.event), "it is there at once");
                        published
                    };
                    (0..EVENTS).map(publish).collect::<Vec<_>>()
                })
            })
            .collect();
        let all = publishers
            .into_iter()
            .flat_map(|publisher| publisher.join().expect("it ends"))
            .collect();
        done.store(true, Ordering::Relaxed);
        for reader in readers {
            let seen = reader.join().expect("it ends");
            assert!(
                seen.iter().map(|it| it.id).eq(1..=cluster.hub.last()),
                "no gap, no repetition"
            );
        }
        all
    });
    let new = published.iter().filter(|published| !published.duplicate).count();
    assert_eq!(new, REPLICAS * PUBLISHERS * EVENTS / 2 + EVENTS / 2);
    let events = cluster.settle();
    assert_eq!(events.len(), new);
    for it in published {
        assert_eq!(events[it.event.id as usize - 1], it.event);
    }
}

/// Follows, and reads everything in order with a tail, until all is done.
fn follow_and_read(bus: &Arc<Bus>, done: &AtomicBool) -> Vec<Event> {
    let mut tail = Tail::new(Arc::clone(bus), None, 0);
    let mut seen = Vec::new();
    loop {
        let is_done = done.load(Ordering::Relaxed);
        bus.follow().expect("it follows");
        loop {
            let batch = tail.next_batch(7).expect("readable").events;
            if batch.is_empty() {
                break;
            }
            seen.extend(batch);
        }
        if is_done {
            assert_eq!(seen.len(), all(bus).len());
            return seen;
        }
        bus.wait_for(tail.cursor() + 1, Duration::from_millis(1));
    }
}
