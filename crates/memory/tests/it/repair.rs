//! A repair that is killed before a change of a file, and done again: nothing of it is lost.

use std::fs;
use std::path::{Path, PathBuf};

use waypost_memory::{
    Draft, ErrorKind, LinkKind, Patch, Reached, Repaired, Store, StoreOptions, check, repair,
    repair_watched,
};

use crate::crash::image;
use crate::killed_repair::{is_killed, on_change, request};
use crate::world::{at, id};

const NOTHING: Reached = Reached { sequence: 0, id: 0 };

/// Does nothing unless a test below runs it in a process of its own.
#[test]
fn child() {
    if let Some((dir, _)) = request() {
        repair_watched(&dir, NOTHING, Some(on_change)).expect("a repair");
    }
}

fn options() -> StoreOptions {
    StoreOptions::default().with_free_bytes_min(0).with_log_segment_bytes(2048)
}

fn filled() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let (store, _) = Store::open(dir.path(), options()).expect("it opens");
    for number in 1..=20_u64 {
        let now = at(i64::try_from(number).expect("a small number"));
        store.add(Draft::new(format!("memory {number}")), now).expect("an add");
        if number % 3 == 0 {
            let content = format!("memory {number} again");
            store
                .update(id(number - 1), Patch::default().with_content(content), now)
                .expect("an update");
            store.link(id(number - 1), id(number), LinkKind::RelatedTo, now).expect("a link");
        }
        if number == 6 {
            store.unlink(id(2), id(3), LinkKind::RelatedTo, now).expect("an unlink");
        }
        if number % 4 == 0 {
            store.delete(id(number - 3), now).expect("a deletion");
        }
    }
    store.delete(id(20), at(20)).expect("a deletion");
    store.close().expect("a clean close");
    dir
}

fn segments(dir: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(dir.join("memory/log")).expect("a folder");
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("an entry").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "log"));
    files.sort();
    files
}

/// Flips a byte in the middle of some of the log's files.
fn flip(files: &[PathBuf]) {
    for file in files {
        let mut bytes = fs::read(file).expect("a segment");
        let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
        bytes[used / 2] ^= 1;
        fs::write(file, bytes).expect("a damaged file");
    }
}

/// Zeroes the second half of the last segment.
fn cut(files: &[PathBuf]) {
    let file = files.last().expect("a segment");
    let mut bytes = fs::read(file).expect("a segment");
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
    bytes[used / 2..].fill(0);
    fs::write(file, bytes).expect("a damaged file");
}

/// What is exported after a repair, and the id that the next memory gets.
fn after(dir: &Path) -> (String, u64) {
    assert!(check(dir, NOTHING).expect("a check").is_sound());
    // The log alone must say everything.
    let (store, _) = Store::open(dir, options()).expect("it opens");
    let mut out = Vec::new();
    store.export(&mut out).expect("an export");
    let next = store.add(Draft::new("after it"), at(99)).expect("an add").memory().id.get();
    store.close().expect("a clean close");
    (String::from_utf8(out).expect("UTF-8"), next)
}

/// A report without how far the store has come and without the folder's path.
fn reported(dir: &Path, mut repaired: Repaired) -> Repaired {
    repaired.reached = NOTHING;
    for it in &mut repaired.set_aside {
        it.what = it.what.replace(&dir.display().to_string(), "");
    }
    repaired
}

/// Makes every tree that is open one of an earlier run of the machine.
fn cut_power(dir: &Path) {
    for entry in fs::read_dir(dir.join("memory")).expect("a folder") {
        let marker = entry.expect("an entry").path().join("waypost-running");
        if marker.exists() {
            fs::write(marker, "an earlier one").expect("a file");
        }
    }
}

/// Compares a whole repair with ones that are killed at every `step`th change of a file.
fn compare(step: usize, prepare: impl Fn(&Path)) {
    let sound = filled();
    let damaged = image(sound.path());
    prepare(damaged.path());
    let whole = image(damaged.path());
    let expected = reported(whole.path(), repair(whole.path(), NOTHING).expect("a repair"));
    let (export, next) = after(whole.path());
    assert!(next > 20);
    let mut kills = 0;
    for changes in (1..).step_by(step) {
        let again = image(damaged.path());
        if !is_killed(again.path(), changes, 0) {
            break;
        }
        kills += 1;
        let refused = Store::open(again.path(), options()).expect_err("a repair has not ended");
        assert_eq!(refused.kind(), ErrorKind::Damaged, "{changes}: {refused}");
        if kills % 2 == 0 {
            cut_power(again.path());
        }
        let is_sound = check(again.path(), NOTHING).is_ok_and(|checked| checked.is_sound());
        assert!(!is_sound, "{changes}");
        // The second one may end early, too.
        if changes % 2 == 0 && !is_killed(again.path(), changes / 2, 0) {
            continue;
        }
        let repaired = reported(again.path(), repair(again.path(), NOTHING).expect("a repair"));
        assert_eq!(repaired, expected, "{changes}");
        let (exported, id) = after(again.path());
        assert_eq!(exported, export, "{changes}");
        assert!(id >= next, "{changes}: {id} instead of {next}");
    }
    assert!(kills > 5, "{kills}");
}

#[test]
fn a_repair_of_flipped_bytes_that_was_killed_is_ended_by_the_next_one() {
    compare(3, |dir| flip(&segments(dir)));
}

#[test]
fn a_repair_of_a_cut_log_that_was_killed_is_ended_by_the_next_one() {
    compare(2, |dir| cut(&segments(dir)));
}

#[test]
fn a_repair_without_a_state_that_was_killed_is_ended_by_the_next_one() {
    compare(3, |dir| {
        fs::remove_dir_all(dir.join("memory/state")).expect("it goes");
        cut(&segments(dir));
    });
}

#[test]
fn a_repair_of_a_lost_log_that_was_killed_is_ended_by_the_next_one() {
    compare(3, |dir| {
        fs::remove_dir_all(dir.join("memory/log")).expect("it goes");
        fs::write(dir.join("format"), "what").expect("a damaged file");
    });
}

#[test]
fn a_damaged_mark_is_a_loss_and_no_id_is_given_out_again() {
    let dir = filled();
    let mark = dir.path().join("memory/repairing");
    fs::write(&mark, "damaged").expect("a file");
    let refused = Store::open(dir.path(), options()).expect_err("a repair has not ended");
    assert!(refused.to_string().contains("repair again"), "{refused}");
    let repaired = repair(dir.path(), NOTHING).expect("a repair");
    assert!(repaired.set_aside[0].is_loss, "{repaired:?}");
    assert!(!mark.exists());
    assert!(after(dir.path()).1 > 20);
    waypost_log::Marker { name: "memory-repair", version: 2 }.write(&mark, "").expect("a file");
    let newer = Store::open(dir.path(), options()).expect_err("it is newer");
    assert_eq!(newer.kind(), ErrorKind::Newer);
    assert_eq!(repair(dir.path(), NOTHING).expect_err("it is newer").kind(), ErrorKind::Newer);
}
