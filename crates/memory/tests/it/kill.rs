//! Random histories of every kind of change and of upkeep, with backups that are taken meanwhile, ended
//! by a kill before any change of a file, against a plain map. A child process does the changes and
//! kills itself.
//!
//! `WAYPOST_TEST_HISTORIES` says how many histories, and `WAYPOST_TEST_FIRST_SEED` from which seed
//! on; a failure names its seed, which `WAYPOST_TEST_SEED` runs alone. Seeds that once failed are in
//! [`SEEDS`].

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use waypost_log::Snapshot;
use waypost_memory::{
    Added, Compaction, Draft, Filter, Lifespan, LinkKind, Patch, Reindex, SearchMode,
    SearchOptions, Store, StoreOptions, Vocabulary,
};

use crate::world::{at, embedder, id};

/// Histories where nothing says how many.
const HISTORIES: u64 = 500;
/// Seeds that failed once.
const SEEDS: &[u64] = &[];
/// Changes of one history.
const STEPS: usize = 40;
/// A history is killed so many times, at most.
const KILLS_MAX: u64 = 3;
/// Compactions rewrite the state in one of so many histories: that is slow.
const REWRITES_IN: u64 = 4;
/// The log alone is asked in one of so many histories, for the same reason.
const REBUILDS_IN: u64 = 2;
/// Changes of files, at most, that a child does before it is killed; it may end before that.
const CHANGES_MAX: u64 = 160;

/// Steps that are done after a backup was taken before it is opened.
const STEPS_BEFORE_CHECK: usize = 3;

/// The time of the first step.
const START: i64 = 1_700_000_000_000;
/// When memories expire: after the last step.
const EXPIRY: i64 = START + 3_600_000;

const CHILD: &str = "WAYPOST_TEST_KILL_CHILD";

#[derive(Debug, Clone)]
enum Step {
    /// Some texts expire.
    Add {
        text: u8,
        space: u8,
    },
    /// Deletes what has expired.
    Expire,
    Update {
        id: u64,
        text: u8,
    },
    Delete {
        id: u64,
    },
    Undelete {
        id: u64,
    },
    Merge {
        into: u64,
        from: u64,
        text: u8,
    },
    Revert {
        id: u64,
        version: usize,
    },
    Link {
        from: u64,
        to: u64,
        kind: usize,
    },
    Unlink {
        from: u64,
        to: u64,
        kind: usize,
    },
    Import {
        text: u8,
    },
    Embed,
    Compact(Compaction),
    Reindex,
    Maintain,
    Reopen,
    /// Takes a backup while the next step is done.
    Backup,
}

/// Pseudo-random numbers from a seed (Steele et al. 2014, SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

fn steps(seed: u64) -> Vec<Step> {
    let mut random = Random(seed);
    let mut step = || {
        let text = random.below(40) as u8;
        let (from, to, kind) = (1 + random.below(8), 1 + random.below(8), random.below(2) as usize);
        match random.below(45) {
            0..=6 => Step::Add { text, space: kind as u8 },
            7..=10 => Step::Update { id: from, text },
            11..=12 => Step::Delete { id: from },
            13..=17 => Step::Link { from, to, kind },
            18..=20 => Step::Unlink { from, to, kind },
            21 => Step::Import { text },
            22 => Step::Embed,
            23..=26 => Step::Compact(
                Compaction::default()
                    .with_purge(to % 2 == 0)
                    .with_versions(NonZeroU32::new((from % 3) as u32)),
            ),
            27 => Step::Reindex,
            28..=29 => Step::Maintain,
            30..=31 => Step::Reopen,
            32..=34 => Step::Expire,
            35..=37 => Step::Undelete { id: from },
            41..=42 => Step::Merge { into: from, from: to, text },
            38..=40 => Step::Revert { id: from, version: 1 + to as usize % 3 },
            _ => Step::Backup,
        }
    };
    (0..STEPS).map(|_| step()).collect()
}

/// What is known of a version's text.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Text {
    There(String),
    /// A compaction that was killed may have removed it.
    MayBeGone(String),
    Gone,
}

/// A memory that is there or was.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Memory {
    space: u8,
    versions: Vec<Text>,
    expires: bool,
    is_deleted: bool,
}

/// The map that a store is compared with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Model {
    last_id: u64,
    memories: BTreeMap<u64, Memory>,
    links: BTreeSet<(u64, LinkKind, u64)>,
}

fn content(text: u8) -> String {
    format!("word{text} ").repeat(if text == 3 { 600 } else { 1 + usize::from(text % 5) })
}

fn expires(text: u8) -> bool {
    text % 4 == 1
}

fn space(space: u8) -> String {
    format!("space{space}")
}

impl Model {
    fn live(&self, id: u64) -> Option<&Memory> {
        self.memories.get(&id).filter(|memory| !memory.is_deleted)
    }

    fn add(&mut self, text: u8, space: u8) {
        let expires = expires(text);
        let text = Text::There(content(text));
        let is_there = self.memories.values().any(|value| {
            !value.is_deleted && value.space == space && value.versions.last() == Some(&text)
        });
        if !is_there {
            self.last_id += 1;
            let versions = vec![text];
            let memory = Memory { space, versions, expires, is_deleted: false };
            self.memories.insert(self.last_id, memory);
        }
    }

    fn delete(&mut self, id: u64) {
        if let Some(memory) = self.memories.get_mut(&id) {
            memory.is_deleted = true;
            self.links.retain(|link| link.0 != id && link.2 != id);
        }
    }

    /// The text with which a deleted memory may be restored.
    fn restorable(&self, id: u64) -> Option<String> {
        let memory = self.memories.get(&id).filter(|memory| memory.is_deleted)?;
        there(memory.versions.last())
    }

    fn can_merge(&self, into: u64, from: u64) -> bool {
        let space = |id: u64| self.live(id).map(|live| live.space);
        into != from && space(into).is_some() && space(into) == space(from)
    }

    /// The text of a version of an existing memory.
    fn earlier(&self, id: u64, version: usize) -> Option<String> {
        there(self.live(id)?.versions.get(version - 1))
    }

    fn apply(&mut self, step: &Step) {
        match *step {
            Step::Add { text, space } => self.add(text, space),
            Step::Update { id, text } => {
                let text = Text::There(content(text));
                if let Some(memory) = self.memories.get_mut(&id).filter(|memory| !memory.is_deleted)
                    && memory.versions.last() != Some(&text)
                {
                    memory.versions.push(text);
                }
            }
            Step::Delete { id } => self.delete(id),
            Step::Undelete { id } => {
                if let Some(text) = self.restorable(id) {
                    let memory = self.memories.get_mut(&id).expect("it is deleted");
                    memory.is_deleted = false;
                    memory.versions.push(Text::There(text));
                }
            }
            Step::Merge { into, from, text } => {
                if self.can_merge(into, from) {
                    self.apply(&Step::Update { id: into, text });
                    let end = |number: u64| if number == from { into } else { number };
                    let moved = self.links.iter().map(|link| (end(link.0), link.1, end(link.2)));
                    self.links = moved.filter(|moved| moved.0 != moved.2).collect();
                    self.delete(from);
                }
            }
            Step::Revert { id, version } => {
                if let Some(text) = self.earlier(id, version).map(Text::There) {
                    let memory = self.memories.get_mut(&id).expect("it exists");
                    if memory.versions.last() != Some(&text) {
                        memory.versions.push(text);
                    }
                }
            }
            Step::Expire => {
                let expiring = self.memories.iter().filter(|(_, it)| it.expires);
                let ids: Vec<u64> = expiring.map(|(id, _)| *id).collect();
                for id in ids {
                    self.delete(id);
                }
            }
            Step::Link { from, to, kind } => {
                if from != to && self.live(from).is_some() && self.live(to).is_some() {
                    self.links.insert((from, LinkKind::ALL[kind], to));
                }
            }
            Step::Unlink { from, to, kind } => {
                self.links.remove(&(from, LinkKind::ALL[kind], to));
            }
            Step::Import { text } => {
                for number in [text, text + 100] {
                    self.last_id += 1;
                    let versions = vec![Text::There(content(number))];
                    let memory = Memory { space: 7, versions, expires: false, is_deleted: false };
                    self.memories.insert(self.last_id, memory);
                }
                self.links.insert((self.last_id - 1, LinkKind::PartOf, self.last_id));
            }
            Step::Compact(what) => self.compact(what, |_| Text::Gone),
            Step::Embed | Step::Reindex | Step::Maintain | Step::Reopen | Step::Backup => {}
        }
    }

    /// What is known when a step was killed and did nothing that shows.
    fn apply_killed(&mut self, step: &Step) {
        if let Step::Compact(what) = *step {
            self.compact(what, |text| match text {
                Text::There(text) | Text::MayBeGone(text) => Text::MayBeGone(text),
                Text::Gone => Text::Gone,
            });
        }
    }

    fn compact(&mut self, what: Compaction, drop: impl Fn(Text) -> Text) {
        for memory in self.memories.values_mut() {
            let kept = match (memory.is_deleted, what.versions) {
                (true, _) if what.purge => 0,
                (false, Some(versions)) => versions.get() as usize,
                _ => continue,
            };
            let gone = memory.versions.len().saturating_sub(kept);
            for text in &mut memory.versions[..gone] {
                *text = drop(text.clone());
            }
        }
    }
}

/// A text that exists. After a compaction that was killed, the same one is done again before another
/// step.
fn there(text: Option<&Text>) -> Option<String> {
    match text {
        Some(Text::There(text)) => Some(text.clone()),
        _ => None,
    }
}

/// What a store shows.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    memories: BTreeMap<u64, (String, Vec<Option<String>>, bool)>,
    links: BTreeSet<(u64, LinkKind, u64)>,
}

impl Seen {
    fn of(store: &Store) -> Result<Self, String> {
        let mut out = Vec::new();
        store.export(&mut out).map_err(|error| error.to_string())?;
        let mut seen = Self::default();
        for line in out.split(|out| *out == b'\n').filter(|part| !part.is_empty()).skip(1) {
            let line: serde_json::Value =
                serde_json::from_slice(line).map_err(|error| error.to_string())?;
            let number = |name: &str| line[name].as_u64().unwrap_or_default();
            let text = |name: &str| line[name].as_str().map(str::to_owned);
            match line["record"].as_str() {
                Some("memory") => {
                    let memory = seen.memories.entry(number("id")).or_default();
                    memory.0 = text("space").unwrap_or_default();
                    memory.1.push(text("content"));
                    if memory.1.len() as u64 != number("version") {
                        return Err(format!("versions are missing: {line}"));
                    }
                }
                Some("deletion") => seen.memories.entry(number("id")).or_default().2 = true,
                Some("link") => {
                    let kind = text("type").and_then(|text| LinkKind::from_name(&text));
                    seen.links.insert((number("from"), kind.expect("a kind"), number("to")));
                }
                _ => {}
            }
        }
        Ok(seen)
    }

    fn is(&self, model: &Model) -> bool {
        let same_text = |(seen, model): (&Option<String>, &Text)| match model {
            Text::There(text) => seen.as_ref() == Some(text),
            Text::MayBeGone(text) => seen.as_ref().is_none_or(|seen| seen == text),
            Text::Gone => seen.is_none(),
        };
        self.links == model.links
            && self.memories.len() == model.memories.len()
            && model.memories.iter().all(|(id, it)| {
                self.memories.get(id).is_some_and(|(space_name, versions, is_deleted)| {
                    *space_name == space(it.space)
                        && *is_deleted == it.is_deleted
                        && versions.len() == it.versions.len()
                        && versions.iter().zip(&it.versions).all(same_text)
                })
            })
    }
}

/// A folder with a store and, beside it, how far its history has come.
struct Place {
    seed: u64,
    data: PathBuf,
    /// A byte for each step that was acknowledged.
    acknowledged: PathBuf,
    /// The model as of the last comparison, as the steps that it is made of.
    settled: PathBuf,
}

impl Place {
    fn new(dir: &Path, seed: u64) -> Self {
        let file = |name: &str| dir.join(name);
        Self { seed, data: file("data"), acknowledged: file("steps"), settled: file("settled") }
    }

    fn acknowledged(&self) -> usize {
        fs::metadata(&self.acknowledged).map_or(0, |metadata| metadata.len() as usize)
    }

    fn acknowledge(&self) {
        let mut options = OpenOptions::new();
        let mut file = options.append(true).create(true).open(&self.acknowledged).expect("a file");
        file.write_all(b".").expect("room");
    }

    /// Steps that were killed, in order, and whether they did what they were to do.
    fn settled(&self) -> Vec<(usize, bool)> {
        let text = fs::read_to_string(&self.settled).unwrap_or_default();
        let entry = |line: &str| {
            let (step, was_done) = line.split_once(' ').expect("two words");
            (step.parse().expect("a number"), was_done == "done")
        };
        text.lines().map(entry).collect()
    }

    fn settle(&self, step: usize, was_done: bool) {
        let mut options = OpenOptions::new();
        let mut file = options.append(true).create(true).open(&self.settled).expect("a file");
        let word = if was_done { "done" } else { "not" };
        writeln!(file, "{step} {word}").expect("room");
    }

    /// The model of all steps so far. A step that was killed is done again afterwards.
    fn model(&self, steps: &[Step]) -> Model {
        let mut model = Model::default();
        let settled = self.settled();
        for (number, step) in steps.iter().enumerate().take(self.acknowledged() + 1) {
            for (_, was_done) in settled.iter().filter(|settled| settled.0 == number) {
                if *was_done {
                    model.apply(step);
                } else {
                    model.apply_killed(step);
                }
            }
            if number < self.acknowledged() {
                model.apply(step);
            }
        }
        model
    }

    /// Compares a store that was just opened, and settles what became of a step that was killed.
    fn compare(&self, store: &Store, steps: &[Step]) -> Model {
        let seed = self.seed;
        let seen = Seen::of(store).expect("an export");
        let number = self.acknowledged();
        let without = self.model(steps);
        let Some(step) = steps.get(number) else {
            assert!(seen.is(&without), "seed {seed}: all steps are done\n{seen:?}\n{without:?}");
            return without;
        };
        let (mut not, mut done) = (without.clone(), without.clone());
        not.apply_killed(step);
        done.apply(step);
        let (is_not, is_done) = (seen.is(&not), seen.is(&done));
        assert!(
            is_not || is_done,
            "seed {seed}, step {number}, {step:?}\n{seen:?}\n{not:?}\nor\n{done:?}"
        );
        self.settle(number, !is_not);
        if is_not { not } else { done }
    }
}

/// How many changes of files are left to this process; 0 for no end.
static LEFT: AtomicU64 = AtomicU64::new(0);

fn on_change() {
    if LEFT.load(Ordering::Relaxed) > 0 && LEFT.fetch_sub(1, Ordering::Relaxed) == 1 {
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)
            .expect("a process may kill itself");
        // Other threads may not do anything more either.
        std::thread::park();
    }
}

fn open(dir: &Path, seed: u64) -> Store {
    open_with(dir, seed, Some(on_change))
}

fn open_with(dir: &Path, seed: u64, on_change: Option<fn()>) -> Store {
    let rewrites = seed.is_multiple_of(REWRITES_IN);
    let options = StoreOptions::default()
        .with_free_bytes_min(0)
        .with_log_segment_bytes(2048)
        .with_state_rewrite_bytes_min(if rewrites { 0 } else { u64::MAX })
        .with_cache_bytes(1 << 20)
        .with_on_change(on_change);
    let store = Store::open(dir, options).expect("the store opens by itself").0;
    store.set_embedder(Some(embedder("test-model"))).expect("a model");
    store
}

fn import(last_id: u64, text: u8) -> String {
    let line = |id: u64, text: u8| {
        let content = content(text);
        format!(
            "{{\"record\":\"memory\",\"id\":{id},\"content\":\"{content}\",\"space\":\"space7\"}}\n"
        )
    };
    let (first, second) = (last_id + 1, last_id + 2);
    let link =
        format!("{{\"record\":\"link\",\"from\":{first},\"to\":{second},\"type\":\"part_of\"}}\n");
    let header = "{\"format\":\"waypost-memory\",\"version\":1}\n";
    [header, &line(first, text), &line(second, text + 100), &link].concat()
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
        let copy = tempfile::tempdir_in(place.data.parent().expect("a folder")).expect("a folder");
        for file in self.taken.files() {
            let path = copy.path().join(file.name());
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            let mut out = File::create(path).expect("a file");
            io::copy(&mut file.reader(), &mut out).expect("a copy");
        }
        let store = open_with(copy.path(), seed, None);
        let seen = Seen::of(&store).expect("an export");
        let [before, after] = &self.either;
        assert!(
            seen.is(before) || seen.is(after),
            "seed {seed}, a backup beside step {}\n{seen:?}\n{before:?}\nor\n{after:?}",
            self.step
        );
        let model = if seen.is(after) { after } else { before };
        check_index(&store, model, seed);
    }
}

/// Does a step. Whether it is refused is for the comparison to see.
fn perform(store: &Store, step: &Step, model: &Model, number: usize) {
    let now = at(START + number as i64 * 1_000);
    match *step {
        Step::Add { text, space: number } => {
            let expires_at = expires(text).then_some(at(EXPIRY));
            let draft = Draft::new(content(text))
                .with_space(space(number))
                .with_lifespan(Lifespan::default().with_expires_at(expires_at));
            store.add(draft, now).expect("a valid draft");
        }
        Step::Update { id: number, text } => {
            let patch = Patch::default().with_content(content(text));
            let is_there = model.live(number).is_some();
            assert_eq!(store.update(id(number), patch, now).is_ok(), is_there);
        }
        Step::Expire => {
            let count =
                model.memories.values().filter(|value| value.expires && !value.is_deleted).count();
            assert_eq!(store.expire(at(EXPIRY)).expect("upkeep"), count as u64);
        }
        Step::Delete { id: number } => {
            assert_eq!(store.delete(id(number), now).is_ok(), model.live(number).is_some());
        }
        Step::Undelete { id: number } => {
            let restored = store.undelete(id(number), now);
            assert_eq!(restored.is_ok(), model.restorable(number).is_some(), "{restored:?}");
        }
        Step::Merge { into, from, text } => {
            let patch = Patch::default().with_content(content(text));
            let merged = store.merge(id(into), id(from), patch, now);
            assert_eq!(merged.is_ok(), model.can_merge(into, from), "{merged:?}");
        }
        Step::Revert { id: number, version } => {
            let reverted = store.revert(id(number), version as u32, now);
            let is_there = model.earlier(number, version).is_some();
            assert_eq!(reverted.is_ok(), is_there, "{reverted:?}");
        }
        Step::Link { from, to, kind } => {
            drop(store.link(id(from), id(to), LinkKind::ALL[kind], now));
        }
        Step::Unlink { from, to, kind } => {
            drop(store.unlink(id(from), id(to), LinkKind::ALL[kind], now));
        }
        Step::Import { text } => {
            let lines = import(model.last_id, text);
            let imported = store.import(&mut lines.as_bytes(), now).expect("an import");
            assert_eq!((imported.memories, imported.links), (2, 1), "{imported:?}");
        }
        Step::Embed => {
            store.embed_pending(4).expect("a model that works");
        }
        Step::Compact(what) => {
            store.compact(what).expect("a compaction");
        }
        Step::Reindex => {
            store.reindex(Reindex { backfill: true }, now, &mut |_| {}).expect("a reindex");
        }
        Step::Maintain => {
            store.maintain().expect("upkeep");
        }
        Step::Reopen | Step::Backup => {}
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
    let dir = words.next().expect("a folder");
    let place = Place::new(Path::new(dir), seed);
    let steps = steps(seed);
    LEFT.store(changes, Ordering::Relaxed);
    let mut store = open(&place.data, seed);
    let mut model = place.compare(&store, &steps);
    let (mut wants_backup, mut backups) = (false, Vec::<Backup>::new());
    for (number, step) in steps.iter().enumerate().skip(place.acknowledged()) {
        if let Step::Reopen = step {
            store.close().expect("a clean close");
            store = open(&place.data, seed);
        } else if wants_backup {
            let taken = std::thread::scope(|scope| {
                let taking = scope.spawn(|| store.snapshot().expect("a backup"));
                perform(&store, step, &model, number);
                taking.join().expect("it does not panic")
            });
            let (mut before, mut after) = (model.clone(), model.clone());
            before.apply_killed(step);
            after.apply(step);
            backups.push(Backup { taken, either: [before, after], step: number });
        } else {
            perform(&store, step, &model, number);
        }
        wants_backup = matches!(step, Step::Backup) || wants_backup && matches!(step, Step::Reopen);
        model.apply(step);
        place.acknowledge();
        // Whatever was done to the store since it was taken.
        for backup in backups.extract_if(.., |backup| number >= backup.step + STEPS_BEFORE_CHECK) {
            backup.check(&place);
        }
    }
    for backup in &backups {
        backup.check(&place);
    }
    store.close().expect("a clean close");
}

/// Runs a history with its kills, and compares what is left.
fn run(seed: u64) -> u64 {
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let dir = dir.expect("a temporary folder");
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
    let store = open(&place.data, seed);
    let model = place.compare(&store, &steps);
    check_index(&store, &model, seed);
    let store = if (seed / REWRITES_IN).is_multiple_of(REBUILDS_IN) {
        store.close().expect("a clean close");
        for derived in ["state", "index"] {
            fs::remove_dir_all(place.data.join("memory").join(derived)).expect("it goes");
        }
        let store = open(&place.data, seed);
        let seen = Seen::of(&store).expect("an export");
        assert!(seen.is(&model), "seed {seed}: the log says\n{seen:?}\nand not\n{model:?}");
        check_index(&store, &model, seed);
        store
    } else {
        store
    };
    match store.add(Draft::new("a new one"), at(0)).expect("a valid draft") {
        Added::New(memory) => assert_eq!(memory.id.get(), model.last_id + 1, "seed {seed}"),
        known => panic!("seed {seed}: {known:?}"),
    }
    kills
}

/// The index, the links in memory and the vectors agree with the model.
fn check_index(store: &Store, model: &Model, seed: u64) {
    let listed = store.list(&Filter::default(), None, 1000).expect("a list");
    let listed: BTreeMap<u64, String> =
        listed.into_iter().map(|listed| (listed.id.get(), listed.content)).collect();
    let live = model.memories.iter().filter(|memory| !memory.1.is_deleted);
    let live: BTreeMap<u64, String> = live
        .map(|(id, it)| match it.versions.last() {
            Some(Text::There(text)) => (*id, text.clone()),
            other => panic!("seed {seed}: {other:?}"),
        })
        .collect();
    assert_eq!(listed, live, "seed {seed}");
    let mut links = BTreeSet::new();
    for number in live.keys() {
        let around = store.links(id(*number), 1).expect("links");
        links.extend(around.iter().map(|around| (around.from.get(), around.kind, around.to.get())));
    }
    assert_eq!(links, model.links, "seed {seed}");
    while store.embed_pending(64).expect("a model").pending > 0 {}
    let Some((number, text)) = live.first_key_value() else { return };
    for mode in [SearchMode::Semantic, SearchMode::Lexical] {
        let options = SearchOptions::default().with_mode(mode).with_limit(1000);
        let hits = store.search(text.trim(), &options).expect("a search").hits;
        let is_found = hits.iter().any(|hit| hit.memory.id == id(*number));
        assert!(is_found, "seed {seed}: {mode:?} does not find {number}");
    }
}

#[test]
fn no_kill_loses_or_undoes_an_acknowledged_change() {
    let number = |name: &str| variable(name).and_then(|variable| variable.parse::<u64>().ok());
    if let Some(seed) = number("WAYPOST_TEST_SEED") {
        run(seed);
        return;
    }
    let histories = number("WAYPOST_TEST_HISTORIES").unwrap_or(HISTORIES);
    // One after the other: a lock that this process holds would be held by a child that is just
    // being spawned by another thread, too.
    let more = (0..).filter(|number| !SEEDS.contains(number));
    let first = number("WAYPOST_TEST_FIRST_SEED").unwrap_or(0);
    let seeds = SEEDS.iter().copied().chain(more.map(|more| more + first)).take(histories as usize);
    let kills: u64 = seeds.map(run).sum();
    assert!(kills > histories / 2, "only {kills} kills in {histories} histories");
}
