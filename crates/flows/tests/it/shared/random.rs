//! Random operations on random machines, with leaders that change, crashes, lost answers, old
//! copies, lag and compactions.
//!
//! `WAYPOST_TEST_CASES` says how many histories; proptest keeps those that fail.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

use proptest::prelude::*;
use tempfile::TempDir;
use waypost_flows::{Engine, Error, Outcome, Phase, RunId};
use waypost_log::AppendMax;

use super::{Cluster, copy_folder, folder};
use crate::hub::Fault;
use crate::world::{flow, set};

const MACHINES: usize = 3;

#[derive(Debug, Clone)]
enum Step {
    Publish(u8, u8),
    Offer(usize),
    Fill(usize),
    Commit(usize),
    /// The result of a started action; the last one is a success.
    End(usize, u8, u8),
    Orphans(usize),
    Announced(usize),
    Later(u16),
    Wake(usize),
    /// Takes the lease, whoever has it.
    Lead(usize),
    Yield(usize),
    Follow(usize),
    /// As after `kill -9`.
    Crash(usize),
    /// A copy of the folder that is put back later, as after a power cut that takes what was not
    /// synced.
    Copy(usize),
    PutBack(usize),
    RestartHub,
    Fault(usize, Fault),
    Reach(usize),
    Cancel(usize, u8),
    Retry(usize, u8),
    Replay(usize, u8),
    Pause(usize, u8),
    Resume(usize, u8),
    /// Flow files change on one machine.
    Install(usize, bool),
    Forget(usize),
    Compact(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let machine = || 0..MACHINES;
    let byte = any::<u8>;
    let fault =
        prop_oneof![Just(Fault::LostAnswer), Just(Fault::LostAppend), Just(Fault::Unreachable)];
    prop_oneof![
        14 => (byte(), byte()).prop_map(|(kind, key)| Step::Publish(kind, key)),
        12 => machine().prop_map(Step::Offer),
        6 => machine().prop_map(Step::Fill),
        12 => machine().prop_map(Step::Commit),
        20 => (machine(), byte(), byte()).prop_map(|(at, which, how)| Step::End(at, which, how)),
        4 => machine().prop_map(Step::Orphans),
        4 => machine().prop_map(Step::Announced),
        4 => any::<u16>().prop_map(Step::Later),
        4 => machine().prop_map(Step::Wake),
        8 => machine().prop_map(Step::Lead),
        1 => machine().prop_map(Step::Yield),
        6 => machine().prop_map(Step::Follow),
        3 => machine().prop_map(Step::Crash),
        1 => machine().prop_map(Step::Copy),
        1 => machine().prop_map(Step::PutBack),
        1 => Just(Step::RestartHub),
        4 => (machine(), fault).prop_map(|(at, it)| Step::Fault(at, it)),
        3 => machine().prop_map(Step::Reach),
        1 => (machine(), byte()).prop_map(|(at, which)| Step::Cancel(at, which)),
        2 => (machine(), byte()).prop_map(|(at, which)| Step::Retry(at, which)),
        1 => (machine(), byte()).prop_map(|(at, which)| Step::Replay(at, which)),
        1 => (machine(), byte()).prop_map(|(at, which)| Step::Pause(at, which)),
        1 => (machine(), byte()).prop_map(|(at, which)| Step::Resume(at, which)),
        1 => (machine(), any::<bool>()).prop_map(|(at, it)| Step::Install(at, it)),
        1 => machine().prop_map(Step::Forget),
        3 => machine().prop_map(Step::Compact),
    ]
}

fn flows() -> Vec<String> {
    let retry = "  - name: retry\n    trigger: { pattern: \"a:y\" }\n    concurrency: { limit: 3 }\n    breaker: 0\n    actions:\n      - { type: command, command: ls, retry: { max: 2, initial: 5s } }\n      - { type: emit, event: \"z:z\", continue_on_error: true }\n";
    let once = "  - name: once\n    trigger: { pattern: \"b:x\" }\n    breaker: 0\n    actions: [{ type: command, command: ls, on_interrupt: fail }]\n";
    vec![
        flow("one", "a:*", 1, "    start: earliest\n    breaker: 0\n"),
        flow("three", "a:x", 3, "    concurrency: { limit: 2, key: data.k }\n    breaker: 0\n"),
        flow("early", "b:*", 2, "    start: earliest\n    breaker: 0\n"),
        flow(
            "calm",
            "b:x",
            1,
            "    debounce: { quiet: 10s, max: 15s, key: data.k }\n    breaker: 0\n",
        ),
        flow("held", "a:x", 1, "    breaker: 3\n"),
        retry.to_owned(),
        once.to_owned(),
    ]
}

/// The machines, and what they are compared with.
struct World {
    cluster: Cluster,
    copies: [Option<TempDir>; MACHINES],
    /// Steps that are recorded as done.
    done: BTreeSet<(RunId, u16)>,
    /// The digest of each position that some machine has had.
    digests: BTreeMap<u64, [u8; 32]>,
}

impl World {
    fn new() -> Self {
        // Every decision is an append of its own, so that a fault can hit between any two.
        let max = AppendMax { records: 1, bytes: 1 << 20 };
        let mut cluster = Cluster::with(MACHINES, &flows(), max, 5);
        for (number, skew_ms) in [0, 40_000, 7_000].into_iter().enumerate() {
            cluster.nodes[number].skew_ms = skew_ms;
        }
        Self {
            cluster,
            copies: Default::default(),
            done: BTreeSet::new(),
            digests: BTreeMap::new(),
        }
    }

    fn engine(&mut self, number: usize) -> &mut Engine {
        self.cluster.engine(number)
    }

    fn step(&mut self, step: &Step) {
        let cluster = &mut self.cluster;
        match step {
            Step::Publish(kind, key) => {
                let kind = ["a:x", "a:y", "b:x", "c:x"][usize::from(kind % 4)];
                cluster.publish(kind, &format!(r#"{{"k": {}}}"#, key % 2));
            }
            Step::Offer(number) => cluster.offer(*number),
            Step::Fill(number) => cluster.fill(*number),
            Step::Commit(number) => drop(cluster.commit(*number)),
            Step::End(number, which, how) => self.end(*number, *which, *how),
            Step::Orphans(number) => cluster.end_orphans(*number),
            Step::Announced(number) => {
                for notice in std::mem::take(&mut cluster.nodes[*number].notices) {
                    if let Some(end) = notice.end {
                        cluster.engine(*number).announced(&end);
                    }
                }
            }
            Step::Later(ms) => cluster.now_ms += u64::from(*ms),
            Step::Wake(number) => {
                let now = cluster.now(*number);
                cluster.engine(*number).wake(now);
            }
            Step::Lead(number) => drop(cluster.lead(*number)),
            Step::Yield(number) => cluster.nodes[*number].step_down(),
            Step::Follow(number) => drop(cluster.engine(*number).follow()),
            Step::Crash(number) => {
                let image = folder();
                copy_folder(cluster.nodes[*number].dir.path(), image.path());
                self.replace(*number, image);
            }
            Step::Copy(number) => {
                let image = folder();
                copy_folder(cluster.nodes[*number].dir.path(), image.path());
                self.copies[*number] = Some(image);
            }
            Step::PutBack(number) => {
                if let Some(image) = self.copies[*number].take() {
                    self.replace(*number, image);
                }
            }
            Step::RestartHub => cluster.hub.restart(cluster.hub_dir.path()),
            Step::Fault(number, fault) => {
                cluster.nodes[*number].access.member.set_fault(Some(*fault));
            }
            Step::Reach(number) => cluster.nodes[*number].access.member.set_fault(None),
            Step::Install(number, is_all) => {
                let all = flows();
                // Flows that are left out catch up when they are in force again.
                let text = crate::world::file(&all[usize::from(!is_all)..]);
                cluster.engine(*number).install(set(&text));
            }
            Step::Forget(number) => {
                let now = cluster.now(*number);
                cluster.engine(*number).forget(now);
            }
            Step::Compact(number) => {
                let now = cluster.now(*number);
                match cluster.engine(*number).compact(now) {
                    Err(Error::NotLeading | Error::SharedJournal(_)) => {
                        cluster.nodes[*number].end_all();
                    }
                    compacted => compacted.expect("no other error"),
                }
            }
            step => self.request(step),
        }
        assert!(!self.cluster.hub.is_locked(), "a machine has kept the lock after {step:?}");
        self.compare();
    }

    /// What a person requests: only the machine that leads does it.
    fn request(&mut self, step: &Step) {
        let names: Vec<_> =
            set(&self.cluster.flows).iter().map(|set| set.flow.name.clone()).collect();
        let name = |which: u8| names[usize::from(which) % names.len()].clone();
        let until = self.cluster.events.len() as u64;
        let (number, answer) = match *step {
            Step::Cancel(number, which) | Step::Retry(number, which) => {
                let Some(run) = self.some_run(number, which) else { return };
                let now = self.cluster.now(number);
                let engine = self.engine(number);
                let is_cancel = matches!(step, Step::Cancel(..));
                let cancel = |engine: &mut Engine| engine.cancel(&run, "not wanted", now).map(drop);
                (number, if is_cancel { cancel(engine) } else { engine.retry(&run, now) })
            }
            Step::Replay(number, which) => {
                let after = until.saturating_sub(2);
                (number, self.engine(number).replay(&name(which), after, until).map(drop))
            }
            Step::Pause(number, which) => {
                (number, self.engine(number).pause(&name(which), "by hand"))
            }
            Step::Resume(number, which) => {
                let now = self.cluster.now(number);
                (number, self.engine(number).resume(&name(which), now))
            }
            ref other => panic!("{other:?} is no request"),
        };
        match answer {
            Err(Error::NotLeading) => assert!(!self.engine(number).decides()),
            Ok(()) | Err(Error::NotFailed(_) | Error::UnknownFlow(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }

    fn some_run(&mut self, number: usize, which: u8) -> Option<RunId> {
        let runs = self.engine(number).runs(None);
        runs.get(usize::from(which) % runs.len().max(1)).map(|run| run.id.clone())
    }

    fn end(&mut self, number: usize, which: u8, how: u8) {
        let started = &mut self.cluster.nodes[number].started;
        if started.is_empty() {
            return;
        }
        let attempt = started.remove(usize::from(which) % started.len());
        let outcomes = [Outcome::Failed, Outcome::TimedOut, Outcome::Succeeded, Outcome::Succeeded];
        let outcome = outcomes[usize::from(how % 4)];
        let is_written = self.cluster.report(number, &attempt, outcome).is_ok();
        if is_written && outcome == Outcome::Succeeded {
            self.done.insert((attempt.id.run, attempt.id.step));
        }
    }

    fn replace(&mut self, number: usize, image: TempDir) {
        self.cluster.nodes[number].engine = None;
        self.cluster.nodes[number].dir = image;
        self.cluster.open(number);
    }

    /// Machines that have had the same position had the same state there, and no machine repeats
    /// what is recorded as done.
    fn compare(&mut self) {
        for number in 0..self.cluster.nodes.len() {
            if let Some(digest) = self.engine(number).digest() {
                let known = *self.digests.entry(digest.position).or_insert(digest.sha256);
                assert_eq!(known, digest.sha256, "machine {number} at {}", digest.position);
            }
            let node = &self.cluster.nodes[number];
            // A machine without the lease ends its programs in time, here at the next commit.
            let is_leader = node.access.epoch.load(Ordering::SeqCst)
                == self.cluster.lease.load(Ordering::SeqCst);
            for attempt in node.started.iter().filter(|_| is_leader) {
                let step = (attempt.id.run.clone(), attempt.id.step);
                assert!(!self.done.contains(&step), "{step:?} is done again");
            }
        }
    }

    fn settle(&mut self, leader: usize) {
        for node in &self.cluster.nodes {
            node.access.member.set_fault(None);
        }
        self.cluster.lead(leader).expect("it leads");
        let flows = set(&self.cluster.flows);
        self.engine(leader).install(flows.clone());
        let now = self.cluster.now(leader);
        for entry in flows.iter() {
            self.engine(leader).resume(&entry.flow.name, now).expect("it is in force");
        }
        self.cluster.settle(leader);
        self.cluster.compare();
        self.compare();
    }

    fn finish(&mut self) {
        self.settle(1);
        self.check_runs();
        self.cluster.check_records();
        let digest = self.cluster.compare();
        // What local maintenance has left gives the same state, and so does the shared journal.
        for number in 0..MACHINES {
            self.cluster.nodes[number].step_down();
            let now = self.cluster.now(number);
            self.engine(number).compact(now).expect("it works");
            self.cluster.open(number);
        }
        self.cluster.join();
        assert_eq!(self.cluster.compare(), digest);
        // Whoever leads next has nothing to do.
        let begun = self.cluster.begun.len();
        self.settle(2);
        assert_eq!(self.cluster.begun.len(), begun);
    }

    /// Each event has one run of each flow that wants it, and every run has ended.
    fn check_runs(&mut self) {
        let flows = set(&self.cluster.flows);
        let mut wanted = BTreeSet::new();
        for event in &self.cluster.events {
            for entry in flows.wanting(&event.kind) {
                wanted.insert(format!("{}.{}", entry.flow.name, event.id));
            }
        }
        let runs = self.engine(1).runs(None);
        let found = runs.iter().filter(|run| run.id.replay == 0).map(|run| run.id.to_string());
        assert_eq!(found.collect::<BTreeSet<_>>(), wanted);
        for run in runs {
            assert!(matches!(run.phase, Phase::Ended { .. }), "{run:?}");
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a test takes its settings from variables")]
fn cases() -> u32 {
    let wanted = std::env::var("WAYPOST_TEST_CASES").ok().and_then(|value| value.parse().ok());
    wanted.unwrap_or(32)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_time: 60_000, ..ProptestConfig::default() })]

    #[test]
    fn replicas_are_one_engine(steps in prop::collection::vec(step(), 1..160)) {
        let mut world = World::new();
        for step in &steps {
            world.step(step);
        }
        world.finish();
    }
}
