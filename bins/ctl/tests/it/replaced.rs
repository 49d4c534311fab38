//! Folders of stores that are removed, or replaced by an older copy, as a whole.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;
use waypost_api::client::Client;
use waypost_api::{RecallRole, RecallTurn, RecallTurnsRequest, routes};
use waypost_log::{Log, Marker, Record, Witness};
use waypost_service::{Options, Running};

use crate::ctl::{Ran, ran, trusting};
use crate::wait::until;

const FLOWS: &str = r#"
flows:
  - name: marks
    trigger: { pattern: "k:*" }
    actions:
      - type: command
        command: echo {{data.n}} >> marks
"#;

/// A project, its service, and an older copy of its stores.
struct World {
    folder: TempDir,
    running: Option<Running>,
    older: TempDir,
}

impl World {
    /// Adds three memories, three events and their runs, and records a turn; copies the data; then
    /// adds as much again.
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let flows = folder.path().join(".waypost/flows");
        fs::create_dir_all(&flows).expect("a folder");
        fs::write(flows.join("self-driving.yaml"), FLOWS).expect("a file");
        let older = tempfile::tempdir().expect("a folder");
        let mut world = Self { folder, running: None, older };
        for round in 0..2 {
            world.start().expect("it starts");
            for number in 0..3 {
                world.add(&format!("memory {round} {number}"));
                world.emit();
            }
            world.record(round..round + 1);
            world.stop();
            if round == 0 {
                copy(&world.data(), world.older.path());
            }
        }
        world
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join(".waypost/data")
    }

    fn start(&mut self) -> Result<(), String> {
        let options = Options::for_project(self.folder.path()).expect("options");
        let running = waypost_service::start(&options).map_err(|error| format!("{error:#}"))?;
        self.running = Some(running);
        Ok(())
    }

    fn stop(&mut self) {
        self.running.take().expect("it runs").shutdown().expect("a clean stop");
    }

    fn ctl(&self, arguments: &[&str]) -> Ran {
        ran(trusting(self.folder.path(), arguments).output().expect("the program starts"))
    }

    fn add(&self, content: &str) -> u64 {
        self.ctl(&["--json", "add", content]).json()["id"].as_u64().expect("an id")
    }

    /// Emits an event, waits until its run has ended, and returns its id.
    fn emit(&self) -> u64 {
        let emitted = self.ctl(&["--json", "emit", "k:n", "--data", "n=1"]).json();
        let id = emitted["id"].as_u64().expect("an id");
        let tail = ["events", "tail", "--after", &id.to_string(), "--pattern", "flow:*", "-n", "1"];
        self.ctl(&tail).done();
        id
    }

    /// Records turns of one session, the last of them said in the future.
    fn record(&self, turns: Range<usize>) {
        let address = self.running.as_ref().expect("it runs").address();
        let token = fs::read_to_string(self.folder.path().join(".waypost/token")).expect("a token");
        let client =
            Client::new(&format!("http://{address}"), Some(token.trim())).expect("a client");
        let turn = |number: usize| RecallTurn {
            role: RecallRole::User,
            text: format!("turn {number}"),
            at: ["2026-01-01", "2026-01-02", "2100-01-01"]
                .get(number)
                .and_then(|day| format!("{day}T00:00:00Z").parse().ok()),
        };
        let request = RecallTurnsRequest {
            session: "s".to_owned(),
            harness: "claude".to_owned(),
            from: turns.start as u64,
            to: turns.end as u64,
            turns: turns.map(turn).collect(),
            ..RecallTurnsRequest::default()
        };
        client.call(&routes::RECORD_TURNS, &request).expect("they are recorded");
    }

    /// The texts of the recorded turns.
    fn turns(&self) -> Vec<String> {
        let listed = self.ctl(&["--json", "list", "--type", "turn"]).json();
        let listed = listed.as_array().expect("a list").iter();
        listed.map(|listed| listed["content"].as_str().expect("a text").to_owned()).collect()
    }

    /// The number of times that the flow's action ran.
    fn marks(&self) -> usize {
        fs::read_to_string(self.folder.path().join("marks")).expect("the actions").lines().count()
    }

    /// Removes a store's folder, or puts the older copy in its place.
    fn replace(&self, store: &str, is_gone: bool) {
        let folder = self.data().join(store);
        fs::remove_dir_all(&folder).expect("it is there");
        if !is_gone {
            copy(&self.older.path().join(store), &folder);
        }
    }

    /// The faults that the doctor finds, as `part: detail; hint`.
    fn faults(&self) -> Vec<String> {
        let found = self.ctl(&["--json", "doctor"]);
        let findings: Vec<Value> = serde_json::from_str(&found.out).expect("JSON");
        let faults = findings.iter().filter(|finding| finding["verdict"] == "fault");
        let faults: Vec<String> = faults
            .map(|fault| format!("{}: {}; {}", fault["part"], fault["detail"], fault["hint"]))
            .collect();
        assert_eq!(found.code, i32::from(!faults.is_empty()), "{found:?}");
        faults
    }

    /// The service and the doctor reject the store with an error that names it, and a repair makes
    /// the service start.
    fn check_refused_and_repair(&mut self, part: &str, place: &str) {
        let why = self.start().expect_err("records are missing");
        assert!(why.contains(place), "{why}");
        let faults = self.faults();
        assert_eq!(faults.len(), 1, "{faults:?}");
        for expected in [part, place, "`ctl doctor --repair`"] {
            assert!(faults[0].contains(expected), "{faults:?}");
        }
        self.ctl(&["doctor", "--repair"]).done();
        assert_eq!(self.faults(), Vec::<String>::new());
        self.start().expect("it is repaired");
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &target);
        } else if path.is_file() {
            fs::copy(&path, &target).expect("a copy");
        }
    }
}

#[test]
fn missing_or_older_memories_are_rejected_and_no_id_is_reused() {
    for is_gone in [true, false] {
        let mut world = World::new();
        world.replace("memory", is_gone);
        let backup = world.ctl(&["backup", "refused.backup"]);
        assert!(backup.code != 0 && backup.err.contains("memory/log"), "{backup:?}");
        world.check_refused_and_repair("store", "memory/log");
        assert!(world.add("after the repair") > 6);
        let kept = world.ctl(&["export"]).done();
        assert_eq!(kept.contains("memory 0 2"), !is_gone);
        world.stop();
        world.start().expect("it starts again");
        world.stop();
    }
}

#[test]
fn missing_or_older_events_are_rejected_and_no_id_is_reused() {
    for is_gone in [true, false] {
        let mut world = World::new();
        world.start().expect("it starts");
        let last = world.emit();
        world.stop();
        let marks = world.marks();
        world.replace("events", is_gone);
        world.check_refused_and_repair("events", "events/log");
        assert!(world.emit() > last);
        world.stop();
        assert_eq!(world.marks(), marks + 1, "no action is done again");
    }
}

#[test]
fn a_missing_or_older_journal_of_flows_is_rejected_and_no_action_is_repeated() {
    for is_gone in [true, false] {
        let mut world = World::new();
        assert_eq!(world.marks(), 6);
        world.replace("flows", is_gone);
        world.check_refused_and_repair("flows", "flows/log");
        world.emit();
        world.stop();
        assert_eq!(world.marks(), 7);
    }
}

#[test]
fn a_missing_or_older_recall_log_is_rejected_and_no_deleted_turn_returns() {
    for is_gone in [true, false] {
        let mut world = World::new();
        world.start().expect("it starts");
        assert_eq!(world.turns(), ["turn 0", "turn 1"]);
        let found = world.ctl(&["--json", "list", "--type", "turn"]).json();
        world.ctl(&["delete", &found[1]["id"].to_string()]).done();
        world.stop();
        world.replace("recall", is_gone);
        let backup = world.ctl(&["backup", "refused.backup"]);
        assert!(backup.code != 0 && backup.err.contains("recall/log"), "{backup:?}");
        world.check_refused_and_repair("recall", "recall/log");
        // The log has an earlier position, from which the transcript is read again.
        world.record(0..3);
        assert_eq!(world.turns(), ["turn 0", "turn 2"]);
        world.stop();
    }
}

#[test]
fn all_stores_that_are_gone_are_named_at_once() {
    let mut world = World::new();
    for store in ["memory", "events", "flows", "recall"] {
        world.replace(store, true);
    }
    let faults = world.faults();
    assert_eq!(faults.len(), 4, "{faults:?}");
    world.ctl(&["doctor", "--repair"]).done();
    world.start().expect("it is repaired");
    assert!(world.add("after the repair") > 6 && world.emit() > 6);
    world.stop();
    assert_eq!(world.marks(), 7);
}

#[test]
fn a_repair_of_stores_that_are_sound_changes_nothing() {
    let world = World::new();
    let derived = world.data().join("memory/index");
    let before: Vec<_> = fs::read_dir(&derived).expect("an index").flatten().collect();
    assert!(!before.is_empty());
    let said = world.ctl(&["doctor", "--repair"]).done();
    assert!(said.contains("all valid: nothing to repair"), "{said}");
    assert_eq!(fs::read_dir(&derived).expect("an index").count(), before.len());
    assert!(world.data().join("memory/state/db").is_file());
}

#[test]
fn a_loss_that_no_state_can_name_says_what_may_be_lost() {
    let world = World::new();
    world.replace("memory/state", true);
    let log = world.data().join("memory/log");
    let mut files = fs::read_dir(&log).expect("a folder").flatten().map(|entry| entry.path());
    let place = |bytes: &[u8]| bytes.windows(10).position(|window| window == b"memory 0 2");
    let (path, at, mut bytes) = files
        .find_map(|path| {
            let bytes = fs::read(&path).expect("a file");
            Some((path, place(&bytes)?, bytes))
        })
        .expect("a file has the text");
    bytes[at] ^= 1;
    fs::write(path, bytes).expect("a file");
    let said = world.ctl(&["doctor", "--repair"]).done();
    assert!(said.contains("deletions and links after record "), "{said}");
}

#[test]
fn entries_that_the_service_refuses_are_refused_before_anything_is_opened() {
    let pipe: fn(&Path) = |data| {
        let path = data.join("memory/log/reached");
        fs::remove_file(&path).expect("it is there");
        let made = std::process::Command::new("mkfifo").arg(path).status();
        assert!(made.expect("it runs").success());
    };
    let link: fn(&Path) = |data| {
        let path = data.join("reached");
        fs::rename(&path, data.with_extension("elsewhere")).expect("it is there");
        std::os::unix::fs::symlink(data.with_extension("elsewhere"), path).expect("a link");
    };
    for (harm, named) in [(pipe, "memory/log/reached is neither"), (link, "is a symbolic link")] {
        let mut world = World::new();
        harm(&world.data());
        let why = world.start().expect_err("it is refused");
        assert!(why.contains(named), "{why}");
        let faults = world.faults();
        assert!(faults.len() == 1 && faults[0].contains(named), "{faults:?}");
        for (arguments, code) in [(["doctor", "--repair"], 1), (["backup", "x.backup"], 4)] {
            let refused = world.ctl(&arguments);
            assert_eq!(refused.code, code, "{refused:?}");
            assert!(format!("{}{}", refused.out, refused.err).contains(named), "{refused:?}");
        }
    }
}

impl World {
    /// Writes a file of the data folder, and checks that a backup is refused with an error that
    /// says all of `why`; then puts the former file back.
    fn check_not_backed_up(&self, file: &str, content: &[u8], why: &[&str]) {
        let path = self.data().join(file);
        let former = fs::read(&path).ok();
        fs::write(&path, content).expect("a file");
        let refused = self.ctl(&["backup", "refused.backup"]);
        assert_eq!(refused.code, 1, "{file}: {refused:?}");
        for part in why {
            assert!(refused.err.contains(part), "{file}: {}", refused.err);
        }
        assert!(!self.folder.path().join("refused.backup").exists());
        match former {
            Some(former) => fs::write(&path, former).expect("a file"),
            None => fs::remove_file(&path).expect("a file"),
        }
    }
}

#[test]
fn stores_whose_repair_was_interrupted_are_not_backed_up() {
    let world = World::new();
    let mark = |name, text| Marker { name, version: 1 }.bytes(text);
    let marks = [
        ("memory/repairing", mark("memory-repair", "known 6 6\nmended 1 0 a record\n")),
        ("events/repairing", mark("events-repair", "reached 9\nmended 1 0 a record\n")),
        ("flows/repairing", mark("flows-repair", "mended 1 0 a record\n")),
    ];
    let project = world.data().display().to_string();
    for (file, mark) in &marks {
        let why = [&project, *file, "was interrupted", "`ctl doctor --repair`"];
        world.check_not_backed_up(file, mark, &why);
        world.check_not_backed_up(file, b"damaged", &why);
    }
    for (file, mark) in marks {
        fs::write(world.data().join(file), mark).expect("a file");
    }
    world.ctl(&["doctor", "--repair"]).done();
    world.ctl(&["backup", "accepted.backup"]).done();
}

#[test]
fn stores_of_a_newer_release_are_not_backed_up() {
    let world = World::new();
    let newer = |name| Marker { name, version: 99 }.bytes("what is to come\n");
    for (file, content) in [
        ("format", b"waypost-data 99\n".to_vec()),
        ("reached", newer("data-reached")),
        ("memory/repairing", newer("memory-repair")),
        ("events/repairing", newer("events-repair")),
        ("events/first", newer("events-first")),
        ("flows/repairing", newer("flows-repair")),
        ("flows/begun", newer("flows-journal")),
    ] {
        world.check_not_backed_up(file, &content, &["newer"]);
    }
    world.ctl(&["backup", "accepted.backup"]).done();
    for store in ["memory", "events", "flows", "recall"] {
        let world = World::new();
        let log = world.data().join(store).join("log");
        let (log, _) = Log::open(&log, &waypost_log::Options::default()).expect("a log");
        log.append(Record { kind: 99, version: 99, payload: b"what is to come" })
            .expect("a record");
        drop(log);
        let refused = world.ctl(&["backup", "refused.backup"]);
        assert!(refused.code == 1 && refused.err.contains("newer"), "{store}: {refused:?}");
    }
}

#[test]
fn vectors_that_are_gone_or_older_are_no_damage() {
    let mut world = World::new();
    world.replace("memory/vectors", true);
    world.start().expect("they are made again");
    world.stop();
    world.replace("memory/vectors", false);
    world.start().expect("they are made again");
}

#[test]
fn a_note_that_is_missing_or_damaged_is_written_again() {
    let mut world = World::new();
    let path = world.data().join(Witness::FILE);
    let whole = fs::read(&path).expect("it is there");
    for harmed in [None, Some(&b"neither"[..]), Some(&whole[..whole.len() - 3])] {
        fs::remove_file(&path).expect("it is there");
        if let Some(bytes) = harmed {
            fs::write(&path, bytes).expect("a file");
        }
        assert_eq!(world.faults(), Vec::<String>::new());
        world.start().expect("nothing else is wrong");
        let written = Witness::read(&world.data()).expect("a note");
        assert!(!written.is_damaged() && written.get("memory") > 0, "{written:?}");
        world.stop();
    }
    fs::write(&path, "neither").expect("a file");
    world.ctl(&["doctor", "--repair"]).done();
    let written = Witness::read(&world.data()).expect("a note");
    assert!(!written.is_damaged() && written.get("memory-id") > 5, "{written:?}");
}

/// All files of a folder but those that are locked, with their contents.
fn contents(folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            contents(&path, found);
        } else if path.is_file() && !path.ends_with("lock") {
            found.insert(path.clone(), fs::read(&path).expect("a file"));
        }
    }
}

#[test]
fn with_one_file_of_a_newer_release_nothing_is_changed_anywhere() {
    let marker = |name, version| Marker { name, version }.bytes("what is to come\n");
    let mut world = World::new();
    for (file, bytes) in [
        (Witness::FILE, marker("data-reached", 2)),
        ("format", b"waypost-data 2\n".to_vec()),
        ("tokens.json", b"{ \"version\": 9 }\n".to_vec()),
        ("memory/repairing", marker("memory-repair", 9)),
        ("events/first", marker("events-first", 9)),
        ("events/repairing", marker("events-repair", 9)),
        ("flows/begun", marker("flows-journal", 9)),
        ("flows/repairing", marker("flows-repair", 9)),
    ] {
        let path = world.data().join(file);
        let whole = fs::read(&path).ok();
        fs::write(&path, bytes).expect("a file");
        let why = world.start().expect_err("it is newer");
        assert!(why.contains("newer release") && !why.contains("damaged"), "{file}: {why}");
        let mut before = BTreeMap::new();
        contents(&world.data(), &mut before);
        let faults = world.faults();
        assert!(faults.len() == 1 && faults[0].contains("newer release"), "{file}: {faults:?}");
        let repair = world.ctl(&["doctor", "--repair"]);
        assert!(repair.code == 1 && repair.out.contains("newer release"), "{file}: {repair:?}");
        let mut after = BTreeMap::new();
        contents(&world.data(), &mut after);
        assert!(before == after, "{file}: something was changed");
        match whole {
            Some(whole) => fs::write(&path, whole).expect("a file"),
            None => fs::remove_file(&path).expect("a file"),
        }
    }
    assert_eq!(world.faults(), Vec::<String>::new());
}

#[test]
fn the_note_follows_while_the_service_runs() {
    let mut world = World::new();
    world.start().expect("it starts");
    let id = world.add("the newest");
    until(|| {
        let noted = Witness::read(&world.data()).expect("a note").get("memory-id");
        if noted >= id { Ok(()) } else { Err(format!("{noted} of {id}")) }
    });
}

#[test]
fn missing_tokens_are_reported() {
    let mut world = World::new();
    let path = world.data().join("tokens.json");
    fs::remove_file(&path).expect("it is there");
    let found = world.ctl(&["doctor"]);
    let said =
        format!("{} is missing: no token that was created is valid any more", path.display());
    assert!(found.out.contains(&said), "{found:?}");
    world.start().expect("a new admin token is created");
    assert_eq!(world.faults(), Vec::<String>::new());
    world.add("with the new token");
    world.stop();
}
