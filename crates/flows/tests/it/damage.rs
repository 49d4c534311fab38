//! A damaged journal: rejected with an error that names it, repaired, and no action is repeated.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use waypost_flows::{End, Engine, Error, Options, Outcome, Phase, repair, verify};
use waypost_log::{Log, Record};

use crate::world::{Choices, World, at, file, flow, set};

fn flows() -> Vec<String> {
    vec![
        flow("one", "a:*", 1, ""),
        flow("three", "a:x", 3, "    concurrency: { limit: 2, key: data.k }\n"),
        flow("early", "b:*", 1, "    start: earliest\n"),
        flow("calm", "a:y", 1, "    debounce: { quiet: 5s }\n"),
    ]
}

/// The journal's file, and how many bytes of it are in use.
fn journal(dir: &Path) -> (PathBuf, usize) {
    let file = dir.join("log").join(format!("{:020}.log", 1));
    let used = fs::read(&file).unwrap().iter().rposition(|byte| *byte != 0).unwrap() + 1;
    (file, used)
}

fn flip(file: &Path, at: usize) {
    let mut bytes = fs::read(file).unwrap();
    bytes[at] ^= 0x10;
    fs::write(file, bytes).unwrap();
}

fn options() -> Options {
    Options::default()
}

/// Performs a few random operations, and returns which steps were done.
fn live(world: &mut World, choices: &mut Choices, rounds: usize) -> BTreeSet<(String, u16)> {
    let mut done = BTreeSet::new();
    for _ in 0..rounds {
        match choices.below(6) {
            0 | 1 => {
                let kind = ["a:x", "a:y", "b:x"][choices.below(3) as usize];
                let data = format!(r#"{{"k": {}}}"#, choices.below(2));
                world.publish(kind, &data);
                world.offer_all();
                world.commit();
            }
            2..5 if !world.started.is_empty() => {
                let idx = choices.below(world.started.len() as u64) as usize;
                let attempt = world.started.remove(idx);
                world.report(&attempt, Outcome::Succeeded);
                done.insert((attempt.id.run.to_string(), attempt.id.step));
            }
            _ => world.later(choices.below(4_000)),
        }
    }
    done
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Whatever a journal lacks after a repair: completed steps are not repeated, no event is
    /// evaluated twice, and every run ends.
    #[test]
    fn nothing_is_done_twice_after_a_repair(seed in 1_u64..) {
        let mut choices = Choices(seed);
        let mut world = World::new(&flows());
        let done = live(&mut world, &mut choices, 60);
        let cursor = world.engine().cursor();
        let dir = world.closed();
        let (path, used) = journal(&dir);
        for _ in 0..=choices.below(2) {
            match choices.below(4) {
                0 => {
                    let mut bytes = fs::read(&path).unwrap();
                    let from = used - choices.below(2_000.min(used as u64 - 40)) as usize;
                    bytes[from..].fill(0);
                    fs::write(&path, bytes).unwrap();
                }
                1 => {
                    let mut bytes = fs::read(&path).unwrap();
                    let from = choices.below(used as u64 - 1) as usize;
                    let to = (from + choices.below(3_000) as usize).min(used);
                    bytes[from..to].fill(0);
                    fs::write(&path, bytes).unwrap();
                }
                _ => flip(&path, choices.below(used as u64) as usize),
            }
        }
        let last = world.events.len() as u64;
        match Engine::open(&dir, options(), world.now()) {
            Ok(engine) => {
                // Nothing was lost: the damage hit the end marker, say.
                prop_assert_eq!(engine.cursor(), cursor);
                drop(engine);
            }
            Err(Error::Damaged { message, .. }) => {
                prop_assert!(message.contains("flows/log"), "{message}");
                prop_assert!(!verify(&dir, 0).unwrap().damage.is_empty());
            }
            Err(other) => prop_assert!(false, "{other}"),
        }
        repair(&dir, 0, last, world.now()).unwrap();
        prop_assert_eq!(verify(&dir, 0).unwrap().damage, Vec::<String>::new());
        let orphaned = dir.clone();
        world.open();
        prop_assert!(world.engine().cursor() >= cursor.min(last));
        loop {
            world.offer_all();
            world.fill_all();
            world.commit();
            for orphan in std::mem::take(&mut world.orphans) {
                let now = world.now();
                world.engine().orphan_ended(&orphan.run, now);
            }
            world.later(10_000);
            if world.started.is_empty() && world.orphans.is_empty() {
                break;
            }
            for attempt in std::mem::take(&mut world.started) {
                let step = (attempt.id.run.to_string(), attempt.id.step);
                prop_assert!(!done.contains(&step), "{step:?} is done again");
                world.report(&attempt, Outcome::Succeeded);
            }
        }
        for run in world.engine().runs(None) {
            prop_assert!(matches!(run.phase, Phase::Ended { .. }), "{run:?}");
        }
        // Later events are evaluated as usual.
        let event = world.say("a:x", "{}");
        prop_assert_eq!(world.running(), [format!("one.{event}"), format!("three.{event}")]);
        world.closed();
        prop_assert_eq!(verify(&orphaned, 0).unwrap().damage, Vec::<String>::new());
    }
}

#[test]
fn a_run_whose_records_are_lost_is_dead_and_a_person_can_retry_it() {
    let mut world = World::new(&[flow("two", "a:x", 2, "")]);
    world.say("a:x", "{}");
    let dir = world.closed();
    let before = journal(&dir).1;
    world.open();
    // The following records are the ones that will be lost.
    world.commit();
    let orphan = world.orphans.remove(0);
    let now = world.now();
    world.engine().orphan_ended(&orphan.run, now);
    world.commit();
    world.finish(Outcome::Succeeded);
    world.closed();
    flip(&journal(&dir).0, before + 60);
    let error = Engine::open(&dir, options(), at(0)).unwrap_err();
    assert!(error.to_string().contains("flows/log/00000000000000000001.log at offset"), "{error}");
    let done = repair(&dir, 0, 1, at(5_000_000)).unwrap();
    assert_eq!(done.dead, [crate::world::id("two.1")]);
    world.open();
    world.commit();
    assert!(world.started.is_empty() && world.orphans.is_empty());
    let (end, why) = world.end_of("two.1");
    assert_eq!(end, End::Failed);
    assert!(why.contains("whether its action was done is unknown"), "{why}");
    assert_eq!(world.notices[0].kind.as_str(), "flow:failed");
    let now = world.now();
    world.engine().retry(&crate::world::id("two.1"), now).unwrap();
    world.commit();
    assert_eq!(world.running(), ["two.1"]);
}

#[test]
fn a_journal_that_is_gone_is_damaged_and_begins_behind_all_events() {
    let mut world = World::new(&flows());
    world.say("a:x", "{}");
    world.say("b:x", "{}");
    let dir = world.closed();
    fs::remove_dir_all(dir.join("log")).unwrap();
    let error = Engine::open(&dir, options(), at(0)).unwrap_err();
    assert!(error.to_string().contains("flows/log is missing"), "{error}");
    assert_eq!(verify(&dir, 0).unwrap().damage.len(), 1);
    let done = repair(&dir, 0, 2, at(0)).unwrap();
    assert_eq!(done.undecided, [(1, 2)]);
    world.open();
    assert_eq!(world.engine().cursor(), 2);
    world.offer_all();
    world.fill_all();
    world.commit();
    assert_eq!(world.running(), Vec::<String>::new());
    // A replay gets a number that was not used before.
    let name = "one".parse().unwrap();
    assert!(world.engine().replay(&name, 0, 2).unwrap() > 1000);
    world.say("a:x", "{}");
    assert_eq!(world.running().len(), 2);
}

#[test]
fn a_folder_that_is_gone_or_older_is_damaged_and_no_action_is_done_again() {
    let files =
        |dir: &Path| fs::read_dir(dir.join("log")).unwrap().map(|entry| entry.unwrap().path());
    for is_gone in [false, true] {
        let mut world = World::new(&flows());
        world.say("a:x", "{}");
        let dir = world.closed();
        let copy: Vec<_> = files(&dir).map(|file| (fs::read(&file).unwrap(), file)).collect();
        world.open();
        world.finish_all();
        world.say("a:x", "{}");
        world.finish_all();
        let reached = world.engine().reached();
        world.closed();
        if is_gone {
            fs::remove_dir_all(&dir).unwrap();
        } else {
            for (bytes, path) in copy {
                fs::write(path, bytes).unwrap();
            }
        }
        assert_eq!(verify(&dir, 0).unwrap().damage.len(), 0);
        let error = Engine::open(&dir, options().with_reached(reached), at(0)).unwrap_err();
        assert!(error.to_string().contains("flows/log/"), "{error}");
        assert!(matches!(error, Error::Damaged { .. }), "{error}");
        assert_eq!(verify(&dir, reached).unwrap().damage.len(), 1, "{is_gone}");
        let done = repair(&dir, reached, 2, at(0)).unwrap();
        assert!(done.reached > reached);
        assert_eq!(done.undecided, [(if is_gone { 1 } else { 2 }, 2)]);
        assert_eq!(verify(&dir, done.reached).unwrap().damage.len(), 0);
        drop(Engine::open(&dir, options().with_reached(done.reached), at(0)).unwrap());
        world.open();
        world.offer_all();
        world.fill_all();
        world.commit();
        assert_eq!(world.running(), Vec::<String>::new(), "{is_gone}");
    }
}

#[test]
fn a_repair_names_only_the_events_whose_runs_are_not_in_the_journal() {
    // A byte of the first record that holds a text: its kind, and the event or run.
    let damaged = |text: &str| {
        let mut world = World::new(&[flow("one", "a:x", 1, "")]);
        for kind in ["a:x", "b:x", "a:x", "b:x", "b:x", "a:x"] {
            world.say(kind, "{}");
            world.finish_all();
        }
        let dir = world.closed();
        let (path, _) = journal(&dir);
        let bytes = fs::read(&path).unwrap();
        let place = bytes.windows(text.len()).position(|window| window == text.as_bytes());
        flip(&path, place.unwrap_or_else(|| panic!("{text}")) + 1);
        let done = repair(&dir, 0, 6, at(0)).unwrap();
        assert_eq!(done.set_aside.len(), 1, "{text}");
        (done.undecided, world)
    };
    // Neither what a run did, nor its event's neighbours.
    for text in
        [r#"{"tried":{"run":"one.3""#, r#"{"ended":{"run":"one.3""#, r#"{"cursor":{"event":3"#]
    {
        assert_eq!(damaged(text).0.iter().filter(|it| it.0 <= 3 && it.1 >= 3).count(), 0, "{text}");
    }
    assert_eq!(damaged(r#"{"tried":{"run":"one.3""#).0, [(4, 5)]);
    let (lost, mut world) = damaged(r#"{"created":{"run":"one.3""#);
    assert_eq!(lost, [(2, 3)]);
    world.open();
    let mut runs: Vec<u64> = world.engine().runs(None).iter().map(|run| run.id.event).collect();
    runs.sort_unstable();
    assert_eq!(runs, [1, 6]);
}

#[test]
fn a_repair_that_did_not_end_is_asked_for_again() {
    let mut world = World::new(&flows());
    world.say("a:x", "{}");
    let dir = world.closed();
    let text = "1 9\nmended 1 0 record 9 is lost\n";
    let marker = waypost_log::Marker { name: "flows-repair", version: 2 };
    marker.write(&dir.join("repairing"), text).unwrap();
    let error = Engine::open(&dir, options(), at(0)).unwrap_err();
    assert!(error.to_string().contains("repair again"), "{error}");
    assert_eq!(verify(&dir, 0).unwrap().damage.len(), 1);
    let done = repair(&dir, 0, 1, at(0)).unwrap();
    assert_eq!(done.dead.len(), 2);
    let told: Vec<_> =
        done.set_aside.iter().map(|aside| (aside.what.as_str(), aside.is_loss)).collect();
    assert_eq!(told, [("record 9 is lost", true)], "as the first repair would have reported");
    // Killed after it had recorded the consequences: nothing of them is new to the next repair.
    assert_eq!(repair(&dir, 0, 1, at(0)).unwrap().dead, []);
    let text = format!("{text}dead {}\ndead {}\nundecided 1 1\n", done.dead[0], done.dead[1]);
    let marker = waypost_log::Marker { name: "flows-repair", version: 3 };
    marker.write(&dir.join("repairing"), &text).unwrap();
    let again = repair(&dir, 0, 1, at(0)).unwrap();
    assert_eq!((&again.dead, &again.set_aside), (&done.dead, &done.set_aside));
    assert_eq!(again.undecided, [(1, 1)]);
    // The mark of an earlier release has the gaps only.
    let marker = waypost_log::Marker { name: "flows-repair", version: 1 };
    marker.write(&dir.join("repairing"), "1 9\n").unwrap();
    assert_eq!(repair(&dir, 0, 1, at(0)).unwrap().set_aside, []);
    world.open();
    assert!(world.running().is_empty());
}

#[test]
fn events_that_were_decided_and_are_gone_are_named() {
    let mut world = World::new(&flows());
    for _ in 0..3 {
        world.say("a:x", "{}");
    }
    let dir = world.closed();
    assert_eq!(verify(&dir, 0).unwrap().cursor, 3);
    let open = |last| Engine::open(&dir, options().with_last_event(last), at(0));
    let error = open(2).unwrap_err();
    assert!(matches!(error, Error::EventsLost { cursor: 3, last: 2 }), "{error}");
    drop(open(3).unwrap());
}

#[test]
fn a_record_of_a_newer_release_is_newer_and_not_damaged() {
    let records: [(u8, u8, &[u8]); 4] = [
        (1, 9, b"{}"),
        (2, 1, b"{}"),
        (1, 1, br#"{"wondered":{"run":"one.1"}}"#),
        (1, 1, br#"{"cursor":{"event":1,"more":2}}"#),
    ];
    for (kind, version, payload) in records {
        let mut world = World::new(&flows());
        world.say("a:x", "{}");
        let dir = world.closed();
        let (log, _) = Log::open(&dir.join("log"), &waypost_log::Options::default()).unwrap();
        log.append(Record { kind, version, payload }).unwrap();
        drop(log);
        let error = Engine::open(&dir, options(), at(0)).unwrap_err();
        assert!(matches!(error, Error::Newer { .. }), "{error}");
        assert!(error.to_string().contains("newer release"), "{error}");
        assert!(matches!(verify(&dir, 0), Err(Error::Newer { .. })));
        assert!(matches!(repair(&dir, 0, 1, at(0)), Err(Error::Newer { .. })));
    }
}

#[test]
fn a_journal_of_an_earlier_release_opens() {
    let dir = tempfile::tempdir().unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/v1/log");
    let name = format!("{:020}.log", 1);
    fs::create_dir(dir.path().join("log")).unwrap();
    fs::copy(from.join(&name), dir.path().join("log").join(&name)).unwrap();
    assert_eq!(verify(dir.path(), 0).unwrap().damage, Vec::<String>::new());
    let mut engine = Engine::open(dir.path(), options(), at(0)).unwrap();
    assert_eq!(engine.cursor(), 11);
    let mut ends: Vec<String> = engine
        .runs(None)
        .into_iter()
        .map(|run| match &run.phase {
            Phase::Ended { end, .. } => format!("{} {end:?}", run.id),
            other => format!("{} {other:?}", run.id),
        })
        .collect();
    ends.sort_unstable();
    assert_eq!(ends[..3], ["bad.1 Dead", "good.2 Succeeded", "good.5 Succeeded"]);
    assert!(ends[3].starts_with("waiting.1 Quiet"), "{ends:?}");
    engine.install(set(&file(&[flow("good", "a:*", 1, ""), flow("bad", "a:x", 1, "")])));
    let good = engine.status().into_iter().find(|status| status.name.as_str() == "good").unwrap();
    assert!(good.paused.is_some());
    engine.commit().unwrap();
}
