//! Damage on disk: reported by name, repaired, and no id is given out twice.

use std::fs;
use std::path::{Path, PathBuf};

use waypost_events::{Bus, Error, Event, Retention, repair, verify};
use waypost_log::{Log, Marker, Record};

use crate::world::{NOW, all, draft, folder, keyed, open, options, publish};

/// A closed bus with events, and the events.
fn closed(count: u64) -> (tempfile::TempDir, Vec<Event>) {
    let dir = folder();
    let bus = open(dir.path());
    for at in 0..count {
        publish(&bus, &format!("k:n{}", at % 7));
    }
    let events = all(&bus);
    bus.close().expect("it works");
    (dir, events)
}

/// The last file of the log, and how many bytes of it are in use.
fn last_file(dir: &Path) -> (PathBuf, usize) {
    let files = fs::read_dir(dir.join("log"))
        .expect("it works")
        .map(|entry| entry.expect("it works").path());
    let file = files
        .filter(|file| file.extension().is_some_and(|extension| extension == "log"))
        .max()
        .expect("it works");
    let used =
        fs::read(&file).expect("it works").iter().rposition(|byte| *byte != 0).expect("it works")
            + 1;
    (file, used)
}

fn change(file: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(file).expect("it works");
    change(&mut bytes);
    fs::write(file, bytes).expect("it works");
}

#[track_caller]
fn refused(dir: &Path) -> String {
    let error = Bus::open(dir, &options()).expect_err("it is refused");
    assert!(matches!(error, Error::Damaged(_)), "{error:?}");
    error.to_string()
}

/// Repairs, opens, and checks that what is left is what was published, and that ids go on.
#[track_caller]
fn repaired(dir: &Path, events: &[Event], known: u64) -> Vec<Event> {
    let found = verify(dir, known).expect("it works");
    assert!(!found.damage.is_empty());
    let done = repair(dir, known).expect("it works");
    assert!(!done.set_aside.is_empty());
    let bus = open(dir);
    let left = all(&bus);
    assert_eq!(left.len() as u64, done.kept);
    assert!(left.iter().all(|it| events.contains(it)), "nothing else than what was published");
    assert!(publish(&bus, "a:b").id > events.len() as u64, "no id is given out twice");
    bus.close().expect("it works");
    let sound = verify(dir, known).expect("it works");
    assert_eq!((sound.damage, sound.derived_damage), (Vec::new(), Vec::new()));
    assert_eq!(repair(dir, known).expect("it works").set_aside, [], "once is enough");
    left
}

#[test]
fn a_flipped_byte_is_refused_by_name_and_only_its_event_is_lost() {
    let (dir, events) = closed(200);
    assert_eq!(verify(dir.path(), 200).expect("it works").events, 200);
    let (file, used) = last_file(dir.path());
    change(&file, |bytes| bytes[used / 2] ^= 0x20);
    let why = refused(dir.path());
    assert!(why.contains("bad record in events/log/00000000000000000001.log at offset "), "{why}");
    assert!(why.contains(", event "), "{why}");
    assert_eq!(refused(dir.path()), why, "nothing was changed");
    assert_eq!(verify(dir.path(), 0).expect("it works").damage.len(), 1);
    assert_eq!(repaired(dir.path(), &events, 0).len(), 199);
}

#[test]
fn a_log_that_ends_too_early_is_damaged() {
    for torn in [500, 2000] {
        let (dir, events) = closed(200);
        let (file, used) = last_file(dir.path());
        change(&file, |bytes| bytes[used - torn..].fill(0));
        let why = refused(dir.path());
        assert!(
            why.contains("bad record in events/log/")
                && why.contains(", events ")
                && why.contains(" to 200"),
            "{why}"
        );
        assert!(repaired(dir.path(), &events, 0).len() < 200);

        let (dir, events) = closed(200);
        let (file, used) = last_file(dir.path());
        change(&file, |bytes| bytes.truncate(used - torn));
        refused(dir.path());
        assert!(repaired(dir.path(), &events, 0).len() < 200);
    }
}

#[test]
fn a_log_that_is_gone_is_damaged_where_anything_knows_of_events() {
    let (dir, events) = closed(20);
    fs::remove_dir_all(dir.path().join("log")).expect("it works");
    let why = refused(dir.path());
    assert!(why.contains("20"), "{why}");
    assert_eq!(repaired(dir.path(), &events, 0), []);

    // With the index, too: only another store knows.
    let (dir, events) = closed(20);
    fs::remove_dir_all(dir.path().join("log")).expect("it works");
    fs::remove_dir_all(dir.path().join("state")).expect("it works");
    assert_eq!(verify(dir.path(), 0).expect("it works").damage, Vec::<String>::new());
    assert_eq!(repaired(dir.path(), &events, 20), []);
    assert_eq!(verify(&dir.path().join("none"), 3).expect("it works").damage.len(), 1);
    let last = repair(&dir.path().join("none"), 3).expect("it works").last;
    assert!(last >= 3);
    assert_eq!(publish(&open(&dir.path().join("none")), "a:b").id, last + 1);
}

#[test]
fn a_folder_that_is_gone_or_older_is_damaged_by_what_is_known_outside_of_it() {
    for is_gone in [false, true] {
        let (dir, _) = closed(20);
        let (known, _) = closed(30);
        let known = open(known.path()).reached();
        assert_eq!(known, 30);
        if is_gone {
            fs::remove_dir_all(dir.path()).expect("it works");
        }
        let opened = Bus::open(dir.path(), &options().with_reached(known));
        let why = opened.expect_err("there were more").to_string();
        assert!(why.contains("events/log/") && why.contains("to 30"), "{why}");
        let checked = verify(dir.path(), known).expect("it works");
        assert_eq!(checked.damage.len(), 1, "{checked:?}");
        let done = repair(dir.path(), known).expect("it works");
        assert!(done.last >= known && done.kept == if is_gone { 0 } else { 20 });
        let reopened = Bus::open(dir.path(), &options().with_reached(done.last));
        let (bus, _) = reopened.expect("it is whole");
        assert_eq!(publish(&bus, "a:b").id, done.last + 1);
    }
}

#[test]
fn the_index_knows_how_far_the_log_had_come_without_being_closed() {
    let dir = folder();
    let bus = open(dir.path());
    for _ in 0..30 {
        publish(&bus, "a:b");
    }
    bus.retain(NOW).expect("it works");
    let copy = folder();
    copy_to(dir.path(), copy.path());
    drop(bus);
    fs::remove_dir_all(copy.path().join("log")).expect("it works");
    assert!(refused(copy.path()).contains("30"));
}

#[test]
fn keys_are_known_after_a_repair_as_far_as_their_events_are() {
    let dir = folder();
    let bus = open(dir.path());
    let kept = bus.publish(keyed("a:b", "kept"), NOW).expect("it works").event;
    publish(&bus, "c:d");
    bus.close().expect("it works");
    let (file, used) = last_file(dir.path());
    change(&file, |bytes| bytes[used - 40] ^= 1);
    refused(dir.path());
    repair(dir.path(), 0).expect("it works");
    let again = open(dir.path()).publish(keyed("a:b", "kept"), NOW).expect("it works");
    assert_eq!((again.event, again.duplicate), (kept, true));
}

#[test]
fn a_damaged_first_event_is_refused_and_repaired() {
    let dir = folder();
    let retention = Retention::default().with_events(5);
    let bus = Bus::open(dir.path(), &options().with_retention(retention)).expect("it works").0;
    for _ in 0..20 {
        publish(&bus, "a:b");
    }
    assert_eq!(bus.retain(NOW).expect("it works"), 16);
    bus.close().expect("it works");
    let path = dir.path().join("first");
    let bytes = fs::read(&path).expect("it works");
    for at in 0..bytes.len() {
        change(&path, |bytes| bytes[at] ^= 2);
        let why = refused(dir.path());
        assert!(why.contains("first does not contain"), "{why}");
        fs::write(&path, &bytes).expect("it works");
    }
    change(&path, |bytes| bytes[24] ^= 2);
    assert_eq!(verify(dir.path(), 0).expect("it works").damage.len(), 1);
    let done = repair(dir.path(), 0).expect("it works");
    assert!(
        done.set_aside[0].what.contains("first.damaged") && !done.set_aside[0].is_loss,
        "{done:?}"
    );
    assert_eq!(all(&open(dir.path())).len(), 20, "every event that the log still has");
    Marker { name: "events-first", version: 4 }.write(&path, "whatever\n").expect("it works");
    let newer = Bus::open(dir.path(), &options()).expect_err("it is refused");
    assert!(matches!(&newer, Error::Newer(why) if why.contains("version 4")), "{newer}");
    assert!(matches!(verify(dir.path(), 0), Err(Error::Newer(_))));
    assert!(matches!(repair(dir.path(), 0), Err(Error::Newer(_))));
}

#[test]
fn a_record_of_a_newer_release_is_newer_and_not_damaged() {
    for (kind, version, payload) in [(1, 99, &b"x"[..]), (9, 1, b"x"), (1, 1, b"\x80")] {
        let (dir, _) = closed(3);
        let (log, _) =
            Log::open(&dir.path().join("log"), &waypost_log::Options::default()).expect("it works");
        log.append(Record { kind, version, payload }).expect("it works");
        drop(log);
        let error = Bus::open(dir.path(), &options()).expect_err("it is refused");
        assert!(matches!(&error, Error::Newer(why) if why.contains("newer release")), "{error}");
    }
}

#[test]
fn a_store_of_an_earlier_release_opens() {
    let dir = folder();
    copy_to(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/v1"), dir.path());
    assert_eq!(verify(dir.path(), 0).expect("it works").damage, Vec::<String>::new());
    let bus = open(dir.path());
    assert_eq!((bus.first(), bus.last()), (4, 11));
    let mut lines = Vec::new();
    bus.export(&mut lines, 0).expect("it works");
    let lines = String::from_utf8(lines).expect("it works");
    assert_eq!(lines.lines().count(), 8);
    let second = lines.lines().nth(1).expect("it works");
    assert!(
        second.starts_with(r#"{"id":5,"type":"a:z","data":{"n":7,"neg":-3,"f":0.25,"b":"true","t":"zwölf €"},"time":"#),
        "{second}"
    );
    let by_a_flow = bus.get(7).expect("it works").expect("it works");
    assert_eq!((by_a_flow.lineage.root, by_a_flow.lineage.depth), (Some(5), 1));
    let mut again = draft("a:z");
    again.data = bus.get(5).expect("it works").expect("it works").data;
    again.key = Some("key-1".parse().expect("it works"));
    assert_eq!(bus.publish(again, NOW).expect("it works").event.id, 5, "its key is known");
    assert_eq!(publish(&bus, "a:b").id, 12);
    drop(bus);
    assert_eq!(open(dir.path()).last(), 12);
}

fn copy_to(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("it works");
    for entry in fs::read_dir(from).expect("it works") {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).expect("it works");
        if path.is_dir() {
            copy_to(&path, &to.join(name));
        } else if name != "lock" {
            fs::copy(&path, to.join(name)).expect("it works");
        }
    }
}
