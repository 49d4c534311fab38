//! Random histories of publishing, retention, compaction and reopening, with backups that are taken
//! meanwhile, ended by a kill before any change of the log, against a plain list. A child process does
//! the steps and kills itself.
//!
//! `WAYPOST_TEST_HISTORIES` says how many histories; a failure names its seed, which
//! `WAYPOST_TEST_SEED` runs alone.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use waypost_events::{Bus, Draft, Retention};
use waypost_log::Snapshot;

use crate::world::{NOW, Random, all, data, draft, folder, keyed, options};

/// Histories where nothing says how many.
const HISTORIES: u64 = 80;
/// Steps of one history.
const STEPS: usize = 60;
/// A history is killed so many times, at most.
const KILLS_MAX: usize = 3;
/// Changes of files, at most, that a child does before it is killed; it may end before that.
const CHANGES_MAX: usize = 120;
/// Events that retention keeps.
const KEPT: u64 = 25;
/// Steps that are done after a backup was taken before it is opened.
const STEPS_BEFORE_CHECK: usize = 3;

const CHILD: &str = "WAYPOST_TEST_EVENTS_KILL_CHILD";

#[derive(Debug, Clone, Copy)]
enum Step {
    Publish {
        count: usize,
    },
    PublishOnce {
        key: u64,
    },
    Retain,
    Compact,
    Reopen,
    /// Takes a backup while the next step is done.
    Backup,
}

fn steps(seed: u64) -> Vec<Step> {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    random.below(2);
    let mut step = || match random.below(20) {
        0..8 => Step::Publish { count: 1 + random.below(4) },
        8..12 => Step::PublishOnce { key: random.below(12) as u64 },
        12..14 => Step::Retain,
        14 => Step::Compact,
        15..17 => Step::Reopen,
        _ => Step::Backup,
    };
    (0..STEPS).map(|_| step()).collect()
}

/// What a step publishes.
fn drafts(step: Step, number: usize) -> Vec<Draft> {
    match step {
        Step::Publish { count } => (0..count)
            .map(|at| {
                let kind = ["a:x", "b:x", "b:y"][at % 3];
                let text = "x".repeat(number * 7 % 90);
                let data = data(&format!(r#"{{"step":{number},"at":{at},"text":"{text}"}}"#));
                draft(kind).with_data(data)
            })
            .collect(),
        Step::PublishOnce { key } => {
            let data = data(&format!(r#"{{"key":{key}}}"#));
            vec![keyed("once:x", &format!("key-{key}")).with_data(data)]
        }
        _ => Vec::new(),
    }
}

/// The list that a bus is compared with.
#[derive(Debug, Clone, Default)]
struct Model {
    events: Vec<Draft>,
    /// The ids of the events that have a key.
    keys: BTreeMap<u64, u64>,
    /// How many events retention has dropped for sure.
    dropped: u64,
    /// How many events a retention that was killed may have dropped.
    maybe_dropped: u64,
}

impl Model {
    fn last(&self) -> u64 {
        self.events.len() as u64
    }

    fn apply(&mut self, step: Step, number: usize) {
        if let Step::PublishOnce { key } = step {
            if self.keys.contains_key(&key) {
                return;
            }
            self.keys.insert(key, self.last() + 1);
        }
        self.events.extend(drafts(step, number));
        if let Step::Retain = step {
            self.dropped = self.dropped.max(self.last().saturating_sub(KEPT));
            self.maybe_dropped = self.maybe_dropped.max(self.dropped);
        }
    }

    /// What is known when a step was killed and published nothing.
    fn apply_killed(&mut self, step: Step) {
        if let Step::Retain = step {
            self.maybe_dropped = self.maybe_dropped.max(self.last().saturating_sub(KEPT));
        }
    }

    /// Compares what a bus has.
    fn check(&self, bus: &Bus) -> Result<(), String> {
        if bus.last() != self.last() {
            return Err(format!("the last event is {}, not {}", bus.last(), self.last()));
        }
        let dropped = bus.first() - 1;
        if !(self.dropped..=self.maybe_dropped).contains(&dropped) {
            let (least, most) = (self.dropped, self.maybe_dropped);
            return Err(format!("{dropped} events are gone, not {least} to {most}"));
        }
        let events = all(bus);
        if events.len() as u64 != self.last() - dropped {
            return Err(format!("{} events after {dropped} of {}", events.len(), self.last()));
        }
        for (event, id) in events.iter().zip(dropped + 1..) {
            let draft = &self.events[id as usize - 1];
            if (event.id, &event.kind, &event.data) != (id, &draft.kind, &draft.data) {
                return Err(format!("{event:?} is not event {id}, {draft:?}"));
            }
        }
        Ok(())
    }

    /// The keys of kept events still say which event they published; asking publishes nothing.
    fn check_keys(&self, bus: &Bus, seed: u64) {
        let first = bus.first();
        for (key, id) in self.keys.iter().filter(|key| *key.1 >= first) {
            let again = drafts(Step::PublishOnce { key: *key }, 0).remove(0);
            let answer = bus.publish(again, NOW).expect("an answer");
            assert_eq!((answer.event.id, answer.duplicate), (*id, true), "seed {seed}, key {key}");
        }
    }
}

/// A folder with a bus and, beside it, how far its history has come.
struct Place {
    seed: u64,
    bus: PathBuf,
    /// A byte for each step that was acknowledged.
    acknowledged: PathBuf,
    /// The steps that were killed, and whether they published.
    settled: PathBuf,
}

impl Place {
    fn new(dir: &Path, seed: u64) -> Self {
        let file = |name: &str| dir.join(name);
        Self { seed, bus: file("events"), acknowledged: file("steps"), settled: file("settled") }
    }

    fn acknowledged(&self) -> usize {
        fs::metadata(&self.acknowledged).map_or(0, |metadata| metadata.len() as usize)
    }

    fn note(path: &Path, text: &str) {
        let mut options = OpenOptions::new();
        let mut file = options.append(true).create(true).open(path).expect("a file");
        file.write_all(text.as_bytes()).expect("room");
    }

    /// The model of all steps so far. A step that was killed is done again afterwards.
    fn model(&self, steps: &[Step]) -> Model {
        let settled = fs::read_to_string(&self.settled).unwrap_or_default();
        let mut model = Model::default();
        for (number, step) in steps.iter().enumerate().take(self.acknowledged() + 1) {
            let killed = settled.lines().filter_map(|line| line.split_once(' '));
            for (_, word) in killed.filter(|(it, _)| it.parse() == Ok(number)) {
                match word {
                    "done" => model.apply(*step, number),
                    _ => model.apply_killed(*step),
                }
            }
            if number < self.acknowledged() {
                model.apply(*step, number);
            }
        }
        model
    }

    /// Compares a bus that was just opened, and settles what became of a step that was killed.
    fn compare(&self, bus: &Bus, steps: &[Step]) -> Model {
        let (seed, number) = (self.seed, self.acknowledged());
        let mut not = self.model(steps);
        let Some(step) = steps.get(number) else {
            not.check(bus)
                .unwrap_or_else(|error| panic!("seed {seed}: all steps are done: {error}"));
            return not;
        };
        let mut done = not.clone();
        not.apply_killed(*step);
        done.apply(*step, number);
        match (not.check(bus), done.check(bus)) {
            (Ok(()), _) => {
                Self::note(&self.settled, &format!("{number} not\n"));
                not
            }
            (_, Ok(())) => {
                Self::note(&self.settled, &format!("{number} done\n"));
                done
            }
            (Err(not), Err(done)) => panic!("seed {seed}, step {number}, {step:?}: {not}; {done}"),
        }
    }
}

/// How many changes of files are left to this process; 0 for no end.
static LEFT: AtomicU64 = AtomicU64::new(0);

fn on_change() {
    if LEFT.load(Ordering::Relaxed) > 0 && LEFT.fetch_sub(1, Ordering::Relaxed) == 1 {
        std::process::abort();
    }
}

fn open(dir: &Path, on_change: Option<fn()>) -> Bus {
    let retention = Retention::default().with_events(KEPT);
    let options =
        options().with_segment_bytes(2 << 10).with_retention(retention).with_on_change(on_change);
    Bus::open(dir, &options).expect("the bus opens by itself").0
}

fn perform(bus: &Bus, step: Step, number: usize) {
    match step {
        Step::Publish { .. } | Step::PublishOnce { .. } => {
            for answer in bus.publish_batch(drafts(step, number), NOW).expect("published") {
                answer.expect("a good draft");
            }
        }
        Step::Retain => {
            bus.retain(NOW).expect("retained");
        }
        Step::Compact => {
            bus.compact().expect("compacted");
        }
        Step::Reopen | Step::Backup => {}
    }
}

/// A backup that was taken while a step was done.
struct Backup {
    taken: Snapshot,
    /// What was known before the step, and after it.
    either: [Model; 2],
    step: usize,
}

impl Backup {
    /// Opens a copy of it, which has what was there at one moment while it was taken.
    fn check(&self, place: &Place) {
        let seed = place.seed;
        let copy = folder();
        for file in self.taken.files() {
            let path = copy.path().join(file.name());
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            let mut out = File::create(path).expect("a file");
            io::copy(&mut file.reader(), &mut out).expect("a copy");
        }
        let bus = open(copy.path(), None);
        let [before, after] = &self.either;
        let model = match (before.check(&bus), after.check(&bus)) {
            (_, Ok(())) => after,
            (Ok(()), _) => before,
            (Err(before), Err(after)) => {
                panic!("seed {seed}, a backup beside step {}: {before}; {after}", self.step)
            }
        };
        model.check_keys(&bus, seed);
    }
}

#[expect(clippy::disallowed_methods, reason = "says how long a test runs, and talks to a child")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Goes on with a history until it is killed, or done.
#[test]
fn child() {
    let Some(arguments) = variable(CHILD) else { return };
    let mut words = arguments.split(' ');
    let mut number = || words.next().and_then(|word| word.parse::<u64>().ok()).expect("a number");
    let (seed, changes) = (number(), number());
    let place = Place::new(Path::new(words.next().expect("a folder")), seed);
    let steps = steps(seed);
    LEFT.store(changes, Ordering::Relaxed);
    let mut bus = open(&place.bus, Some(on_change));
    let mut model = place.compare(&bus, &steps);
    let (mut wants_backup, mut backups) = (false, Vec::<Backup>::new());
    for (number, step) in steps.iter().copied().enumerate().skip(place.acknowledged()) {
        if let Step::Reopen = step {
            bus.close().expect("a clean close");
            bus = open(&place.bus, Some(on_change));
        } else if wants_backup {
            let taken = std::thread::scope(|scope| {
                let taking = scope.spawn(|| bus.snapshot().expect("a backup"));
                perform(&bus, step, number);
                taking.join().expect("it does not panic")
            });
            let (mut before, mut after) = (model.clone(), model.clone());
            before.apply_killed(step);
            after.apply(step, number);
            backups.push(Backup { taken, either: [before, after], step: number });
        } else {
            perform(&bus, step, number);
        }
        wants_backup = matches!(step, Step::Backup) || wants_backup && matches!(step, Step::Reopen);
        model.apply(step, number);
        Place::note(&place.acknowledged, ".");
        for backup in backups.extract_if(.., |backup| number >= backup.step + STEPS_BEFORE_CHECK) {
            backup.check(&place);
        }
    }
    for backup in &backups {
        backup.check(&place);
    }
    bus.close().expect("a clean close");
}

/// Runs a history with its kills, and compares what is left.
fn run(seed: u64) -> u64 {
    let dir = folder();
    let place = Place::new(dir.path(), seed);
    let steps = steps(seed);
    let mut random = Random(!seed);
    let mut kills = 0;
    for _ in 0..=random.below(KILLS_MAX) {
        let changes = 1 + random.below(CHANGES_MAX);
        let child = Command::new(std::env::current_exe().expect("this program"))
            .args(["kill::child", "--exact", "--nocapture"])
            .env(CHILD, format!("{seed} {changes} {}", dir.path().display()))
            .output()
            .expect("a child");
        let is_killed = child.status.code().is_none();
        let said = String::from_utf8_lossy(&child.stderr);
        assert!(is_killed || child.status.success(), "seed {seed}: {said}");
        kills += u64::from(is_killed);
        if !is_killed {
            break;
        }
    }
    let bus = open(&place.bus, None);
    let model = place.compare(&bus, &steps);
    model.check_keys(&bus, seed);
    let event = bus.publish(draft("a:x"), NOW).expect("published").event;
    assert_eq!(event.id, model.last() + 1, "seed {seed}");
    kills
}

#[test]
fn no_kill_loses_an_event_or_gives_an_id_twice() {
    let number = |name: &str| variable(name).and_then(|variable| variable.parse::<u64>().ok());
    if let Some(seed) = number("WAYPOST_TEST_SEED") {
        run(seed);
        return;
    }
    let histories = number("WAYPOST_TEST_HISTORIES").unwrap_or(HISTORIES);
    let kills: u64 = (0..histories).map(run).sum();
    assert!(kills > histories / 2, "only {kills} kills in {histories} histories");
}
