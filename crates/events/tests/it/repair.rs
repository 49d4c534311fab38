//! A repair that is killed before a change of a file, and done again: nothing of it is lost.

use std::fs;
use std::path::{Path, PathBuf};

use waypost_events::{Bus, Error, Event, Repaired, Retention, repair, repair_watched, verify};

use crate::killed_repair::{is_killed, on_change, request};
use crate::world::{NOW, all, copy_folder, folder, open, options, publish};

const EVENTS: u64 = 60;

/// Does nothing unless a test below runs it in a process of its own.
#[test]
fn child() {
    if let Some((dir, known)) = request() {
        repair_watched(&dir, known, Some(on_change)).expect("it works");
    }
}

fn segments(dir: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(dir.join("log")).expect("it works");
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("it works").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "log"));
    files.sort();
    files
}

fn change(file: &Path, change: impl FnOnce(&mut [u8], usize)) {
    let mut bytes = fs::read(file).expect("it works");
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
    change(&mut bytes, used);
    fs::write(file, bytes).expect("it works");
}

fn filled() -> tempfile::TempDir {
    let dir = folder();
    let retention = Retention::default().with_events(EVENTS - 5);
    let options = options().with_segment_bytes(1 << 10).with_retention(retention);
    let bus = Bus::open(dir.path(), &options).expect("it works").0;
    for at in 0..EVENTS {
        publish(&bus, &format!("k:n{}", at % 7));
    }
    bus.retain(NOW).expect("it works");
    bus.close().expect("it works");
    dir
}

fn after(dir: &Path, repaired: &Repaired) -> Vec<Event> {
    let sound = verify(dir, repaired.last).expect("it works");
    assert_eq!((sound.damage, sound.derived_damage), (Vec::new(), Vec::new()));
    let bus = open(dir);
    let events = all(&bus);
    assert_eq!(publish(&bus, "a:b").id, repaired.last + 1);
    bus.close().expect("it works");
    events
}

/// What was damaged, without the folder's path.
fn reported(dir: &Path, repaired: &Repaired) -> Vec<String> {
    let dir = dir.display().to_string();
    let told = repaired.set_aside.iter();
    told.map(|told| format!("{} {} {}", told.what.replace(&dir, ""), told.is_loss, told.is_kept))
        .collect()
}

/// Compares a whole repair with ones that are killed at every `step`th change of a file.
fn compare(step: usize, known: u64, prepare: impl Fn(&Path)) {
    let damaged = filled();
    prepare(damaged.path());
    let whole = folder();
    copy_folder(damaged.path(), whole.path());
    let expected = repair(whole.path(), known).expect("it works");
    assert!(!expected.set_aside.is_empty() && expected.last >= EVENTS, "{expected:?}");
    let events = after(whole.path(), &expected);
    let mut kills = 0;
    for changes in (1..).step_by(step) {
        let again = folder();
        copy_folder(damaged.path(), again.path());
        if !is_killed(again.path(), changes, known) {
            break;
        }
        kills += 1;
        // What was known to the first repair is in its mark.
        let knows = again.path().join("repairing").exists();
        let options = options().with_reached(if knows { 0 } else { known });
        let refused = Bus::open(again.path(), &options).expect_err("a repair has not ended");
        assert!(matches!(refused, Error::Damaged(_)), "{changes}: {refused}");
        assert!(!verify(again.path(), options.reached).expect("it works").damage.is_empty());
        // The second one may end early, too.
        if changes % 2 == 0 && !is_killed(again.path(), changes / 2, options.reached) {
            continue;
        }
        let repaired = repair(again.path(), options.reached).expect("it works");
        assert_eq!(
            reported(again.path(), &repaired),
            reported(whole.path(), &expected),
            "{changes}"
        );
        assert_eq!(repaired.kept, expected.kept, "{changes}");
        assert!(repaired.last >= expected.last, "{changes}: {repaired:?}, {expected:?}");
        assert_eq!(after(again.path(), &repaired), events, "{changes}");
    }
    assert!(kills > 4, "{kills}");
}

#[test]
fn a_repair_of_flipped_bytes_that_was_killed_is_ended_by_the_next_one() {
    compare(3, 0, |dir| {
        for file in segments(dir) {
            change(&file, |bytes, used| bytes[used / 2] ^= 1);
        }
        change(&dir.join("first"), |bytes, _| bytes[24] ^= 2);
    });
}

#[test]
fn a_repair_of_a_cut_log_that_was_killed_is_ended_by_the_next_one() {
    compare(3, 0, |dir| {
        let files = segments(dir);
        change(files.last().expect("a file"), |bytes, used| bytes[used / 2..].fill(0));
    });
}

#[test]
fn a_repair_of_a_folder_that_is_gone_that_was_killed_is_ended_by_the_next_one() {
    compare(1, EVENTS, |dir| {
        for part in ["log", "state"] {
            fs::remove_dir_all(dir.join(part)).expect("it works");
        }
        fs::remove_file(dir.join("first")).expect("it works");
    });
}
