//! Damage anywhere in a data folder: reported or harmless, never a wrong response, and repaired.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use waypost_auth::{NewToken, Scope, TokenStore};
use waypost_context::Context;
use waypost_events::{Bus, Data, Draft, Query, Retention};
use waypost_flows::{Effect, Engine, FlowFile, FlowSet, Outcome, Report};
use waypost_memory::{
    Added, Embedder, LinkKind, MemoryId, ModelInfo, Patch, SearchMode, SearchOptions, Store,
    StoreOptions, Timestamp,
};
use waypost_recall::{Entry, LogOptions, Moment, RecallLog, SessionKey};

use crate::ctl::{ran, trusting};

const FLOWS: &str = "flows:
  - name: one
    trigger: { pattern: \"k:*\" }
    concurrency: { limit: 2 }
    actions:
      - { type: command, command: \"true\" }
  - name: calm
    trigger: { pattern: \"k:n1\" }
    debounce: { quiet: 1h }
    actions:
      - { type: command, command: \"true\" }
";

/// A project with a data folder that the stores created.
fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let folder = folder.expect("a temporary folder");
    let data = data_of(folder.path());
    fs::create_dir_all(&data).expect("a folder");
    fs::set_permissions(&data, fs::Permissions::from_mode(0o700)).expect("a folder");
    fs::write(folder.path().join("AGENTS.md"), "# Lamps\n\nTurn the lamp.\n").expect("a file");
    fs::write(folder.path().join("lamp.rs"), "/// Turns it.\npub fn turn() {}\n").expect("a file");
    make_memories(&data);
    make_events(&data);
    make_runs(&data);
    make_recall(&data);
    let tokens = TokenStore::open(&data.join("tokens.json")).expect("the tokens open");
    tokens.create(NewToken::new([Scope::Admin]), Timestamp::EPOCH).expect("a token");
    let context = open_context(folder.path());
    context.scan(Timestamp::EPOCH, &|| false).expect("a scan");
    context.close().expect("the context closes");
    folder
}

fn data_of(folder: &Path) -> PathBuf {
    folder.join(".waypost/data")
}

fn memory_options() -> StoreOptions {
    StoreOptions::default().with_free_bytes_min(0)
}

fn embedder() -> Embedder {
    let embed = |text: &str| {
        let mut vector = [0.1_f32; 8];
        for (at, byte) in text.bytes().enumerate() {
            vector[at % 8] += f32::from(byte) / 255.0;
        }
        let length = vector.iter().map(|vector| vector * vector).sum::<f32>().sqrt();
        vector.iter().map(|vector| vector / length).collect::<Vec<f32>>()
    };
    Embedder {
        model: ModelInfo { name: "test".to_owned(), fingerprint: "f".to_owned(), dimensions: 8 },
        embed: Arc::new(move |texts: &[&str]| Ok(texts.iter().map(|text| embed(text)).collect())),
        embed_queries: None,
    }
}

fn embed_all(store: &Store) {
    loop {
        let done = store.embed_pending(16).expect("vectors");
        if done.pending == 0 {
            return;
        }
    }
}

fn make_memories(data: &Path) {
    let (store, _) = Store::open(data, memory_options()).expect("the store opens");
    store.set_embedder(Some(embedder())).expect("a model");
    let mut ids: Vec<MemoryId> = Vec::new();
    for at in 0..20 {
        let draft = waypost_memory::Draft::new(format!("the lamp number {at} is lit"));
        match store.add(draft, now(at)).expect("an add") {
            Added::New(it) | Added::Existing(it) | Added::Before(it) => ids.push(it.id),
        }
    }
    let patch = Patch::default().with_content("the lamp is off");
    store.update(ids[3], patch, now(30)).expect("a change");
    store.delete(ids[4], now(31)).expect("a delete");
    store.link(ids[5], ids[6], LinkKind::Updates, now(32)).expect("a link");
    embed_all(&store);
    store.close().expect("the store closes");
}

fn event_options() -> waypost_events::Options {
    let retention = Retention::default().with_events(30);
    waypost_events::Options::default().with_free_bytes_min(0).with_retention(retention)
}

fn make_events(data: &Path) {
    let (bus, _) = Bus::open(&data.join("events"), &event_options()).expect("the bus opens");
    for at in 0..40 {
        let kind = format!("k:n{}", at % 3).parse().expect("a type");
        let data: Data = serde_json::from_str(&format!(r#"{{"at":{at}}}"#)).expect("data");
        let mut draft = Draft::new(kind, data, "test");
        draft.key = Some(format!("key-{at}").parse().expect("a key"));
        bus.publish(draft, now(at)).expect("published");
    }
    bus.retain(now(0)).expect("retained");
    bus.close().expect("the bus closes");
}

fn now(ms: i64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000 + ms)
}

fn open_engine(data: &Path, last: u64) -> Result<Engine, waypost_flows::Error> {
    let options = waypost_flows::Options::default().with_identity("test").with_last_event(last);
    Engine::open(&data.join("flows"), options, now(0))
}

fn make_runs(data: &Path) {
    let (bus, _) = Bus::open(&data.join("events"), &event_options()).expect("the bus opens");
    let mut engine = open_engine(data, bus.last()).expect("the engine opens");
    engine.install(FlowSet::new([&FlowFile::new("f.yaml", FLOWS).expect("a flow file")]));
    let query = Query::default().with_after(bus.first() - 1).with_limit(1000);
    for event in bus.read(&query).expect("events").events {
        engine.offer(&event, now(0));
        for effect in engine.commit().expect("committed") {
            if let Effect::Start(attempt) = effect
                && attempt.id.run.event < 35
            {
                engine.ended(&attempt.id, Report::new(Outcome::Succeeded, "done"), now(0));
            }
        }
        engine.commit().expect("committed");
    }
}

fn open_recall(data: &Path) -> waypost_recall::Result<RecallLog> {
    let options = LogOptions::default().with_free_bytes_min(0);
    RecallLog::open(&data.join("recall/log"), &options, now(0)).map(|log| log.0)
}

fn make_recall(data: &Path) {
    let log = open_recall(data).expect("the recall log opens");
    for at in 0..20 {
        let key = SessionKey::new(&format!("session {}", at % 3), None);
        let entry = Entry::new(key, "claude", Moment::Prompt);
        log.append(entry, now(at)).expect("an entry");
    }
}

fn open_context(folder: &Path) -> Context {
    let options = waypost_context::Options::default();
    Context::open(folder, &data_of(folder).join("context"), options).expect("the context opens")
}

/// The acknowledged data, as read back.
#[derive(Debug, PartialEq)]
struct Contents {
    memories: Vec<String>,
    found: Vec<MemoryId>,
    last_event: u64,
    events: Vec<String>,
    cursor: u64,
    runs: BTreeSet<String>,
    tokens: Vec<String>,
    recall: Vec<String>,
    context: Vec<String>,
}

/// Opens every store as the service does, and reads everything in it.
fn read(folder: &Path) -> Result<Contents, String> {
    let data = data_of(folder);
    let refused = |what: &str, error: &dyn std::fmt::Display| format!("{what}: {error}");
    let (store, _) =
        Store::open(&data, memory_options()).map_err(|error| refused("memory", &error))?;
    store.set_embedder(Some(embedder())).map_err(|error| refused("vectors", &error))?;
    embed_all(&store);
    let mut memories = Vec::new();
    store.export(&mut memories).map_err(|error| refused("memory", &error))?;
    let memories = String::from_utf8(memories).map_err(|error| refused("memory", &error))?;
    let semantic = SearchOptions::default().with_mode(SearchMode::Semantic);
    let found =
        store.search("the lamp number 7", &semantic).map_err(|error| refused("memory", &error))?;
    let (bus, _) = Bus::open(&data.join("events"), &event_options())
        .map_err(|error| refused("events", &error))?;
    let mut events = Vec::new();
    bus.export(&mut events, 0).map_err(|error| refused("events", &error))?;
    let events = String::from_utf8(events).map_err(|error| refused("events", &error))?;
    let engine = open_engine(&data, bus.last()).map_err(|error| refused("flows", &error))?;
    let runs = engine
        .runs(None)
        .into_iter()
        .map(|run| format!("{} {:?} {:?}", run.id, run.phase, run.tries));
    let tokens = TokenStore::open(&data.join("tokens.json"))
        .and_then(|store| store.list())
        .map_err(|error| refused("tokens", &error))?;
    let recall = open_recall(&data).map_err(|error| refused("recall", &error))?;
    let entries = recall.list(&waypost_recall::Query::new(1_000));
    let context = open_context(folder);
    context.scan(Timestamp::EPOCH, &|| false).map_err(|error| refused("context", &error))?;
    let query = waypost_context::Query::new("lamp");
    let answer =
        context.query(&query, Timestamp::EPOCH).map_err(|error| refused("context", &error))?;
    Ok(Contents {
        memories: memories.lines().map(str::to_owned).collect(),
        found: found.hits.iter().map(|hit| hit.memory.id).collect(),
        last_event: bus.last(),
        events: events.lines().map(str::to_owned).collect(),
        cursor: engine.cursor(),
        runs: runs.collect(),
        tokens: tokens.iter().map(|token| format!("{token:?}")).collect(),
        recall: entries.iter().map(|entry| format!("{entry:?}")).collect(),
        context: answer
            .items
            .iter()
            .map(|item| format!("{} {}", item.title, item.content))
            .collect(),
    })
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    fs::set_permissions(to, fs::Permissions::from_mode(0o700)).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).expect("a file");
        if path.is_dir() { copy(&path, &to.join(name)) } else { copy_file(&path, &to.join(name)) }
    }
}

fn copy_file(from: &Path, to: &Path) {
    fs::copy(from, to).expect("a copy");
}

/// Files with content; lock files have none.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("a file").path())
        .collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            files(&path, found);
        } else if name != "lock" && !name.contains(".lock") {
            found.push(path);
        }
    }
}

/// Pseudo-random numbers from a seed (Marsaglia 2003, xorshift64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit.max(1)
    }
}

/// Changes a file at random, and describes the change.
fn harm(path: &Path, random: &mut Random) -> String {
    let mut bytes = fs::read(path).expect("a file");
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(1, |at| at + 1);
    // Most of a log is preallocated.
    let within = if random.below(8) == 0 { bytes.len() } else { used };
    let at = random.below(within.min(bytes.len()));
    let what = match random.below(4) {
        0 => {
            bytes.truncate(at);
            format!("truncated at {at}")
        }
        1 => {
            let end = (at + 1 + random.below(2000)).min(bytes.len());
            bytes[at..end].fill(0);
            format!("zeros from {at} to {end}")
        }
        _ if bytes.is_empty() => "nothing".to_owned(),
        _ => {
            let bit = random.below(8);
            bytes[at] ^= 1 << bit;
            format!("bit {bit} of byte {at} flipped")
        }
    };
    fs::write(path, bytes).expect("a file");
    what
}

/// Whether everything in the stores existed before, in some version: nothing is invented.
fn check_left(before: &Contents, after: &Contents) -> Result<(), String> {
    let known: String = before.memories.concat();
    for line in &after.memories {
        let line: serde_json::Value =
            serde_json::from_str(line).map_err(|error| error.to_string())?;
        if let Some(content) = line["content"].as_str().filter(|text| !known.contains(*text)) {
            return Err(format!("invented: {content}"));
        }
    }
    if let Some(event) = after.events.iter().find(|event| !before.events.contains(event))
        && after.events.len() <= before.events.len()
    {
        return Err(format!("invented: {event}"));
    }
    if after.last_event < before.last_event {
        return Err(format!("ids go back to {}", after.last_event));
    }
    if after.cursor < before.cursor {
        return Err(format!("flows go back to {}", after.cursor));
    }
    if let Some(entry) = after.recall.iter().find(|recall| !before.recall.contains(recall)) {
        return Err(format!("invented: {entry}"));
    }
    if before.context != after.context {
        return Err("the context differs".to_owned());
    }
    Ok(())
}

#[test]
fn damage_is_reported_or_harmless_and_repaired() {
    let count = std::env::var("WAYPOST_TEST_FLIPS").ok().and_then(|value| value.parse().ok());
    let count: usize = count.unwrap_or(30);
    let seed = std::env::var("WAYPOST_TEST_SEED").ok().and_then(|value| value.parse().ok());
    let seed: u64 = seed.unwrap_or(0x5eed);
    let made = project();
    let fresh = |name: &str| {
        let folder = made.path().with_file_name(format!(
            "{}-{name}",
            made.path().file_name().unwrap_or_default().to_string_lossy()
        ));
        copy(made.path(), &folder);
        Removed(folder)
    };
    let before = read(&fresh("whole").0).expect("what was made can be read");
    let (mut wrong, mut reported, mut harmless) = (Vec::new(), 0, 0);
    for case in 0..count {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9).wrapping_add(case as u64) | 1);
        random.below(2);
        let folder = fresh(&format!("case-{case}"));
        let folder = &folder.0;
        let mut all = Vec::new();
        files(&data_of(folder), &mut all);
        let path = all[random.below(all.len())].clone();
        let what = harm(&path, &mut random);
        let place = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
        match check(folder, &before) {
            Ok(true) => reported += 1,
            Ok(false) => harmless += 1,
            Err(why) => wrong.push(format!("case {case}: {place}, {what}: {why}")),
        }
    }
    let summary = format!("{count} cases: {reported} reported, {harmless} harmless");
    assert!(wrong.is_empty(), "{summary}, wrong:\n{}", wrong.join("\n"));
    assert!(reported > 0 && harmless > 0, "{summary}");
}

/// Whether the damage in a folder was reported. An error describes what was wrong with the
/// handling.
fn check(folder: &Path, before: &Contents) -> Result<bool, String> {
    let doctor = |more: &[&str]| {
        let arguments = [&["--json", "--url", "http://127.0.0.1:9", "doctor"], more].concat();
        ran(trusting(folder, &arguments).output().expect("the program starts"))
    };
    let refused = match read(folder) {
        Ok(after) if after == *before => return Ok(false),
        Ok(after) => return Err(format!("a wrong answer: {}", differs(before, &after))),
        Err(refused) => refused,
    };
    let found = doctor(&[]);
    if found.code != 1 || !found.out.contains(r#""verdict":"fault""#) {
        return Err(format!("refused ({refused}), and the doctor finds nothing: {}", found.out));
    }
    // In the two files whose version has no checksum, a higher version may as well be a newer
    // release's.
    if refused.contains("supports formats up to")
        || refused.contains("waypost-data") && refused.contains("newer")
    {
        return Ok(true);
    }
    let repaired = doctor(&["--repair"]);
    if repaired.code != 0 {
        return Err(format!("refused ({refused}), and not repaired: {}", repaired.out));
    }
    let after =
        read(folder).map_err(|error| format!("refused ({refused}), repaired, and: {error}"))?;
    check_left(before, &after)?;
    let sound = doctor(&[]);
    if sound.code != 0 {
        return Err(format!("repaired, and the doctor finds: {}", sound.out));
    }
    Ok(true)
}

/// The report of a repair for one kind of damage: the findings about the damaged part.
fn findings(folder: &Path, part: &str) -> Vec<(String, String)> {
    let arguments = ["--json", "--url", "http://127.0.0.1:9", "doctor", "--repair"];
    let ran = ran(trusting(folder, &arguments).output().expect("the program starts"));
    assert_eq!(ran.code, 0, "{ran:?}");
    let found: serde_json::Value = serde_json::from_str(&ran.out).expect("a document");
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let of_part = found.as_array().expect("findings").iter().filter(|array| array["part"] == part);
    of_part
        .filter(|part| part["verdict"] == "warning")
        .map(|part| (text(&part["detail"]), text(&part["hint"])))
        .collect()
}

#[test]
fn a_repair_says_what_was_lost_and_only_that() {
    let made = project();
    let fresh = |name: &str| {
        let name = format!("{}-{name}", made.path().file_name().unwrap_or_default().display());
        let folder = made.path().with_file_name(name);
        copy(made.path(), &folder);
        Removed(folder)
    };
    let parts = [
        ("store", "memory/log", "no record lost"),
        ("events", "events/log", "no record lost"),
        ("flows", "flows/log", "no record lost"),
        ("recall", "recall/log", "no record lost"),
    ];
    for (part, log, nothing) in parts {
        let segment = |folder: &Path| data_of(folder).join(log).join(format!("{:020}.log", 1));

        // The header has its own checksum, and no record.
        let folder = fresh(&format!("{part}-header"));
        let mut bytes = fs::read(segment(&folder.0)).expect("a segment");
        bytes[16] ^= 1;
        fs::write(segment(&folder.0), bytes).expect("a segment");
        let [(detail, hint)] = &findings(&folder.0, part)[..] else {
            panic!("{part}: one finding")
        };
        assert!(detail.starts_with("repaired: ") && detail.contains(log), "{detail}");
        assert!(detail.contains(nothing), "{detail}");
        assert!(hint.contains("nothing is lost") && hint.contains("*.damaged"), "{hint}");

        // The last byte is in the end marker; the bytes before it belong to a record.
        let folder = fresh(&format!("{part}-record"));
        let mut bytes = fs::read(segment(&folder.0)).expect("a segment");
        let used = bytes.iter().rposition(|byte| *byte != 0).expect("records");
        bytes[used / 2] ^= 1;
        fs::write(segment(&folder.0), bytes).expect("a segment");
        let said = findings(&folder.0, part);
        let (detail, hint) = said.first().expect("a finding");
        assert!(detail.starts_with("lost: ") && detail.contains(log), "{detail}");
        assert!(!detail.contains(nothing), "{detail}");
        assert!(!hint.contains("nothing is lost") && hint.contains("*.damaged"), "{hint}");
        assert!(!said.iter().any(|it| it.0.contains("not known which")), "{said:?}");

        // Nothing remains that could be kept.
        let folder = fresh(&format!("{part}-missing"));
        fs::remove_file(segment(&folder.0)).expect("a segment");
        let said = findings(&folder.0, part);
        let (detail, hint) = said.first().expect("a finding");
        assert!(detail.starts_with("lost: ") && detail.contains("missing"), "{detail}");
        assert!(!hint.contains("*.damaged"), "{hint}");
    }

    // Only the state could name the memories that lost a text.
    let folder = fresh("unnamed");
    let segment = data_of(&folder.0).join("memory/log").join(format!("{:020}.log", 1));
    let mut bytes = fs::read(&segment).expect("a segment");
    let text = b"the lamp number 7 is lit";
    let at = bytes.windows(text.len()).position(|window| window == text).expect("a memory");
    bytes[at] ^= 1;
    fs::write(&segment, bytes).expect("a segment");
    fs::remove_dir_all(data_of(&folder.0).join("memory/state")).expect("a state");
    let said = findings(&folder.0, "store");
    assert!(said.iter().any(|it| it.0.contains("unknown which memories")), "{said:?}");
}

#[test]
fn a_folder_in_place_of_a_file_of_a_log_is_set_aside() {
    let made = project();
    let before = read(made.path()).expect("it opens");
    let segment = format!("{:020}.log", 1);
    for (log, name) in [
        ("memory/log", &*segment),
        ("memory/vectors", &segment),
        ("events/log", &segment),
        ("flows/log", &segment),
        ("recall/log", &segment),
        ("memory/log", "reached"),
        ("events/log", "floor"),
    ] {
        let place = format!("{log}/{name}");
        let name = format!("{}-{}", made.path().display(), place.replace('/', "-"));
        let folder = Removed(PathBuf::from(name));
        copy(made.path(), &folder.0);
        let path = data_of(&folder.0).join(&place);
        if path.exists() {
            fs::remove_file(&path).expect("a file");
        }
        fs::create_dir(&path).expect("a folder");
        fs::write(path.join("kept"), "mine").expect("a file");

        let doctor = |more: &[&str]| {
            let arguments = [&["--url", "http://127.0.0.1:9", "doctor"], more].concat();
            ran(trusting(&folder.0, &arguments).output().expect("the program starts"))
        };
        let found = doctor(&[]);
        assert!(found.out.contains(&format!("{place} is not a regular file")), "{found:?}");
        doctor(&["--repair"]).done();
        let after =
            read(&folder.0).unwrap_or_else(|error| panic!("{place}: repaired, and: {error}"));
        check_left(&before, &after).unwrap_or_else(|error| panic!("{place}: {error}"));
        doctor(&[]).done();
        let aside = path.with_extension("damaged").join("kept");
        assert_eq!(fs::read_to_string(aside).expect("it was set aside"), "mine");
    }
}

#[test]
fn a_file_in_place_of_a_folder_is_set_aside_and_nothing_is_lost() {
    const PLACES: [&str; 4] = ["memory/vectors", "memory/state.aside", "events/state", "recall"];
    let made = project();
    let before = read(made.path()).expect("it opens");
    let data = data_of(made.path());
    for name in PLACES {
        let path = data.join(name);
        drop(fs::remove_dir_all(&path));
        fs::write(&path, "mine").expect("a file");
    }
    let arguments = ["--url", "http://127.0.0.1:9", "doctor", "--repair"];
    let told = ran(trusting(made.path(), &arguments).output().expect("the program starts")).done();
    for name in PLACES {
        assert!(told.contains(&format!("{name} is not a folder")), "{name}: {told}");
        let aside = data.join(format!("{name}.damaged"));
        assert_eq!(fs::read_to_string(aside).expect("it was set aside"), "mine");
    }
    let after = read(made.path()).expect("it opens");
    check_left(&before, &after).unwrap_or_else(|error| panic!("{error}"));
}

fn differs(before: &Contents, after: &Contents) -> String {
    let parts = [
        ("memories", before.memories != after.memories),
        ("search", before.found != after.found),
        ("events", before.events != after.events || before.last_event != after.last_event),
        ("runs", before.runs != after.runs || before.cursor != after.cursor),
        ("tokens", before.tokens != after.tokens),
        ("recall", before.recall != after.recall),
        ("context", before.context != after.context),
    ];
    let names: Vec<&str> = parts.iter().filter(|part| part.1).map(|part| part.0).collect();
    format!("{} ({:?})", names.join(", "), after.memories.len())
}

/// A folder that is removed on drop.
struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}
