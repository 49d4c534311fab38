//! Folders as a crash, a power cut or a bad disk leaves them.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use waypost_memory::{
    Draft, ErrorKind, Filter, LinkKind, Reached, SearchOptions, Store, check, repair,
};

use crate::world::{World, at, embedder, id, open, options};

/// Nothing but the folder says how far the store had come.
const NOTHING: Reached = Reached { sequence: 0, id: 0 };

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).expect("a copy");
        }
    }
}

pub(crate) fn image(of: &Path) -> TempDir {
    let dir = TempDir::new().expect("a temporary folder");
    copy(of, dir.path());
    dir
}

fn export(store: &Store) -> String {
    let mut out = Vec::new();
    store.export(&mut out).expect("an export");
    String::from_utf8(out).expect("an export is UTF-8")
}

/// Every file of a folder with at least one byte.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if fs::metadata(&path).expect("a file").len() > 0 {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The only segment of a log.
fn segment(log: &Path) -> PathBuf {
    let mut found = files(log);
    found.retain(|found| found.extension().is_some_and(|extension| extension == "log"));
    assert_eq!(found.len(), 1, "one is enough here");
    found.remove(0)
}

fn filled(count: u64) -> World {
    let mut world = World::with_model();
    for number in 0..count {
        world.add(&format!("memory {number} {}", "text ".repeat(number as usize % 40)));
    }
    let now = world.now();
    world.store().link(id(1), id(2), LinkKind::RelatedTo, now).expect("a link");
    world.store().delete(id(3), now).expect("a deletion");
    world.embed_all();
    world
}

#[test]
fn a_copy_of_an_open_store_has_every_acknowledged_write() {
    let mut world = World::new();
    for number in 1..=30 {
        world.add(&format!("memory {number}"));
        if number % 5 == 0 {
            let image = image(world.dir.path());
            let (store, _) = open(image.path());
            let there = store.list(&Filter::default(), None, 1000).expect("a list");
            assert_eq!(there.len(), number);
            assert_eq!(export(&store), world.export());
        }
    }
}

#[test]
fn a_truncated_log_is_rejected_and_repaired_without_reusing_ids() {
    let mut world = filled(12);
    let now = world.now();
    world.store().link(id(4), id(5), LinkKind::Updates, now).expect("a link");
    world.store().unlink(id(1), id(2), LinkKind::RelatedTo, now).expect("it is there");
    let everything = world.store().list(&Filter::default(), None, 1000).expect("a list");
    world.close();
    let log = world.folder("log");
    let last = segment(&log);
    let bytes = fs::read(&last).expect("the file");
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
    let (mut most, mut lost_texts) = (0, 0);
    for cut in (used / 3..used - 32).step_by(used / 23) {
        let image = image(world.dir.path());
        let path = image.path().join("memory/log").join(last.file_name().expect("a name"));
        let mut torn = bytes.clone();
        torn[cut..].fill(0);
        fs::write(&path, torn).expect("a torn file");
        let log = image.path().join("memory/log");
        let content =
            || files(&log).iter().map(|file| fs::read(file).expect("a file")).collect::<Vec<_>>();
        let before = content();
        let error = Store::open(image.path(), options()).expect_err("the end is missing");
        assert_eq!(error.kind(), ErrorKind::Damaged, "{error}");
        assert!(error.to_string().contains(", sequence"), "{error}");
        assert!(content() == before, "nothing was changed");
        let checked = check(image.path(), NOTHING).expect("a check");
        assert!(!checked.log_damage.is_empty() && checked.derived_damage.is_empty(), "{checked:?}");
        let repaired = repair(image.path(), NOTHING).expect("a repair");
        let (store, _) = open(image.path());
        let memories = store.list(&Filter::default(), None, 1000).expect("a list");
        assert!(memories.len() >= most, "more of the log, more memories");
        most = most.max(memories.len());
        for memory in &everything {
            let there = memories.iter().find(|other| other.id == memory.id);
            assert_eq!(there.is_none(), repaired.lost.contains(&memory.id), "{cut}: {repaired:?}");
            assert!(there.is_none_or(|it| it.content == memory.content));
        }
        lost_texts += repaired.lost.len();
        assert!(memories.iter().all(|it| it.id != id(3)), "a deletion is not undone");
        if memories.iter().any(|memory| memory.id == id(4))
            && memories.iter().any(|memory| memory.id == id(5))
        {
            assert_eq!(store.links(id(4), 1).expect("links").len(), 1, "the link is not lost");
        }
        assert_eq!(store.links(id(1), 1).expect("links"), [], "the link does not come back");
        let added = store.add(Draft::new("after the crash"), at(9)).expect("an add");
        assert_eq!(added.memory().id, id(13), "no id is given out again");
        assert!(store.search("crash", &SearchOptions::default()).is_ok());
        store.close().expect("a clean close");
        assert!(check(image.path(), NOTHING).expect("a check").is_sound());
        // The log alone says the same.
        fs::remove_dir_all(image.path().join("memory/state")).expect("it goes");
        let (store, _) = open(image.path());
        assert_eq!(
            store.list(&Filter::default(), None, 1000).expect("a list").len(),
            memories.len() + 1
        );
        assert_eq!(store.links(id(1), 1).expect("links"), []);
    }
    assert!(lost_texts > 10, "{lost_texts}");
}

#[test]
fn zeros_at_the_end_of_a_closed_log_are_reported() {
    let mut world = World::new();
    for number in 1..=200 {
        world.add(&format!("memory {number}"));
    }
    world.close();
    for without_state in [false, true] {
        let image = image(world.dir.path());
        if without_state {
            fs::remove_dir_all(image.path().join("memory/state")).expect("it goes");
        }
        let path = &segment(&image.path().join("memory/log"));
        let mut bytes = fs::read(path).expect("the log");
        let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
        bytes[used - 2_000..].fill(0);
        fs::write(path, bytes).expect("a damaged file");
        let error = Store::open(image.path(), options()).expect_err("the end is missing");
        assert_eq!(error.kind(), ErrorKind::Damaged);
        assert!(error.to_string().contains("to 200"), "{error}");
        let repaired = repair(image.path(), NOTHING).expect("a repair");
        assert!(!repaired.set_aside.is_empty());
        assert_eq!(repaired.lost.is_empty(), without_state, "{repaired:?}");
        let (store, _) = open(image.path());
        let added = store.add(Draft::new("after it"), at(9)).expect("an add");
        assert!(added.memory().id.get() > 200, "{}", added.memory().id);
    }
}

#[test]
fn a_log_with_missing_files_is_reported_by_what_remains() {
    let mut world = filled(20);
    world.close();
    let segments: fn(&Path) -> bool =
        |it| it.extension().is_some_and(|extension| extension == "log");
    let all: fn(&Path) -> bool = |_| true;
    for (gone, derived) in [
        (segments, &[][..]),
        (segments, &["state", "index"]),
        (all, &[]),
        (all, &["index"]),
        (all, &["state"]),
    ] {
        let image = image(world.dir.path());
        for file in files(&image.path().join("memory/log")).iter().filter(|file| gone(file)) {
            fs::remove_file(file).expect("it goes");
        }
        for name in derived {
            fs::remove_dir_all(image.path().join("memory").join(name)).expect("it goes");
        }
        for _ in 0..2 {
            let error = Store::open(image.path(), options()).expect_err("the log is gone");
            assert_eq!(error.kind(), ErrorKind::Damaged, "{derived:?}: {error}");
        }
        assert!(!check(image.path(), NOTHING).expect("a check").is_sound());
        let repaired = repair(image.path(), NOTHING).expect("a repair");
        assert!(!repaired.set_aside.is_empty());
        let (store, report) = open(image.path());
        assert_eq!(report.memories, 0);
        let added = store.add(Draft::new("after it"), at(9)).expect("an add");
        let id = added.memory().id.get();
        assert!(id > 20, "{id}: {derived:?} {repaired:?}");
    }
}

#[test]
fn ids_go_on_above_what_is_known_outside_of_the_folder() {
    let dir = TempDir::new().expect("a temporary folder");
    // As a repair leaves it that was killed before its end.
    let reached = Reached { sequence: 0, id: 50 };
    for expected in [51, 52] {
        let (store, _) =
            Store::open(dir.path(), options().with_reached(reached)).expect("it opens");
        let added = store.add(Draft::new(format!("memory {expected}")), at(9)).expect("an add");
        assert_eq!(added.memory().id, id(expected));
        store.close().expect("a clean close");
    }
}

#[test]
fn a_folder_that_is_gone_or_older_is_reported_by_what_is_known_outside_of_it() {
    let mut world = filled(10);
    world.close();
    let older = image(world.dir.path());
    world.reopen();
    for number in 11..=20 {
        world.add(&format!("memory {number}"));
    }
    // An id that is higher than the records are many.
    let mut elsewhere = World::new();
    elsewhere.add("from elsewhere");
    let elsewhere = elsewhere.export().replace("\"id\":1,", "\"id\":5000,");
    world.store().import(&mut elsewhere.as_bytes(), at(0)).expect("an import");
    let known = world.store().reached().expect("it is open");
    assert_eq!(known.id, 5000);
    world.close();
    let gone = TempDir::new().expect("a temporary folder");
    for (image, kept) in [(gone.path(), 0), (older.path(), 9)] {
        let knowing = || options().with_reached(known);
        let error = Store::open(image, knowing()).expect_err("there was more");
        assert_eq!(error.kind(), ErrorKind::Damaged, "{error}");
        assert!(error.to_string().contains("memory/log"), "{error}");
        let checked = check(image, known).expect("a check");
        assert!(checked.log_damage[0].contains("memory/log"), "{checked:?}");
        let repaired = repair(image, known).expect("a repair");
        assert!(!repaired.set_aside.is_empty());
        assert!(check(image, repaired.reached).expect("a check").is_sound());
        let (store, report) =
            Store::open(image, options().with_reached(repaired.reached)).expect("it opens");
        assert_eq!(report.memories, kept);
        let added = store.add(Draft::new("after it"), at(9)).expect("an add");
        assert!(added.memory().id > id(known.id), "{} {known:?}", added.memory().id);
    }
}

/// A record as another release might have written it.
fn append(dir: &Path, kind: u8, version: u8, payload: &[u8]) {
    let options = waypost_log::Options::default().with_free_bytes_min(0);
    let (log, _) = waypost_log::Log::open(&dir.join("memory/log"), &options).expect("it opens");
    log.append(waypost_log::Record { kind, version, payload }).expect("there is room");
}

#[test]
fn data_of_a_newer_release_are_rejected_as_newer_and_left_unchanged() {
    let mut world = filled(5);
    world.close();
    let add = [1_u64.to_le_bytes(), 0_u64.to_le_bytes()].concat();
    let link = |kind: u8| {
        let ends = [1_u64.to_le_bytes(), 2_u64.to_le_bytes()].concat();
        [&ends[..], &[kind], &0_u64.to_le_bytes()].concat()
    };
    for (kind, version, payload) in
        [(1, 3, add), (99, 1, Vec::new()), (4, 1, link(9)), (4, 2, link(1))]
    {
        let image = image(world.dir.path());
        append(image.path(), kind, version, &payload);
        let log = || -> Vec<Vec<u8>> {
            files(&image.path().join("memory/log"))
                .iter()
                .map(|file| fs::read(file).expect("a file"))
                .collect()
        };
        let before = log();
        let error = Store::open(image.path(), options()).expect_err("it is newer");
        assert_eq!(error.kind(), ErrorKind::Newer, "kind {kind}: {error}");
        assert!(error.to_string().contains("written by a newer release"), "{error}");
        assert_eq!(
            repair(image.path(), NOTHING).expect_err("it is newer").kind(),
            ErrorKind::Newer
        );
        if (kind, version) != (4, 1) {
            assert_eq!(
                check(image.path(), NOTHING).expect_err("it is newer").kind(),
                ErrorKind::Newer
            );
            assert_eq!(log(), before, "kind {kind}");
        }
    }
    let image = image(world.dir.path());
    fs::write(image.path().join("format"), "waypost-data 2\n").expect("a file");
    assert_eq!(repair(image.path(), NOTHING).expect_err("it is newer").kind(), ErrorKind::Newer);
}

#[test]
fn a_link_that_was_removed_stays_removed_when_a_compaction_is_followed_by_a_crash() {
    for round in 0..3 {
        let world = filled(40);
        // The tree gets what waits as soon as links are looked at, and then its file.
        world.store().maintain().expect("upkeep");
        let now = at(9);
        assert!(world.store().unlink(id(1), id(2), LinkKind::RelatedTo, now).expect("it is there"));
        world.store().compact(waypost_memory::Compaction::default()).expect("a compaction");
        let image = image(world.dir.path());
        let (store, report) = open(image.path());
        assert_eq!(report.state_rebuilt, None, "as after `kill -9`");
        assert_eq!(store.links(id(1), 1).expect("links"), [], "round {round}: it came back");
        assert_eq!(export(&store), world.export());
    }
}

#[test]
fn derived_folders_may_be_deleted() {
    let mut world = filled(30);
    let before = world.export();
    let hits = format!("{:?}", world.store().search("memory 7", &SearchOptions::default()));
    world.close();
    for derived in [&["state"][..], &["index"], &["vectors"], &["state", "index", "vectors"]] {
        let image = image(world.dir.path());
        for name in derived {
            fs::remove_dir_all(image.path().join("memory").join(name)).expect("it goes");
        }
        let (store, report) = open(image.path());
        assert_eq!(report.state_rebuilt.is_some(), derived.contains(&"state"), "{report:?}");
        assert_eq!(export(&store), before);
        store.set_embedder(Some(embedder("test-model"))).expect("a model");
        while store.embed_pending(64).expect("a step").pending > 0 {}
        assert_eq!(format!("{:?}", store.search("memory 7", &SearchOptions::default())), hits);
    }
}

#[test]
fn a_damaged_state_is_detected_or_harmless() {
    let mut world = filled(60);
    let before = world.export();
    world.close();
    let state = world.folder("state");
    let names = files(&state);
    let mut rebuilt = 0;
    for (number, path) in names.iter().cycle().take(24).enumerate() {
        let image = image(world.dir.path());
        let path =
            image.path().join("memory/state").join(path.strip_prefix(&state).expect("inside"));
        let mut bytes = fs::read(&path).expect("the file");
        let used = bytes.iter().rposition(|byte| *byte != 0).map_or(1, |at| at + 1);
        let at = (number * 7919 + 13) * 101 % used;
        bytes[at] ^= 1 << (number % 8);
        fs::write(&path, bytes).expect("a flipped bit");
        let (store, report) = open(image.path());
        rebuilt += usize::from(report.state_rebuilt.is_some());
        let mut out = Vec::new();
        if store.export(&mut out).is_err() {
            // Found only when it was read: the next opening builds it anew.
            drop(store);
            let (store, report) = open(image.path());
            assert!(report.state_rebuilt.is_some());
            assert_eq!(export(&store), before);
        } else {
            assert_eq!(String::from_utf8(out).expect("UTF-8"), before, "{}", path.display());
        }
    }
    assert!(rebuilt > 0, "some flips do harm");
}

#[test]
fn a_truncated_state_is_built_anew() {
    let mut world = filled(40);
    let before = world.export();
    world.close();
    for path in files(&world.folder("state")) {
        let image = image(world.dir.path());
        let inside = path.strip_prefix(world.dir.path()).expect("inside");
        let bytes = fs::read(&path).expect("the file");
        fs::write(image.path().join(inside), &bytes[..bytes.len() / 2]).expect("half a file");
        let (store, _) = open(image.path());
        assert_eq!(export(&store), before, "{}", path.display());
    }
}

#[test]
fn an_unclean_stop_before_a_reboot_rebuilds_the_state() {
    let world = filled(10);
    let image = image(world.dir.path());
    let marker = image.path().join("memory/state/waypost-running");
    let (store, report) = open(image.path());
    assert_eq!(report.state_rebuilt, None, "the same boot: what was written is there");
    drop(store);
    assert!(!marker.exists(), "a clean stop leaves no mark");
    fs::write(&marker, "another-boot").expect("a marker");
    let (store, report) = open(image.path());
    assert!(report.state_rebuilt.is_some());
    assert_eq!(export(&store), world.export());
}

#[test]
fn a_torn_snapshot_of_sled_is_removed() {
    let mut world = filled(10);
    let before = world.export();
    world.close();
    fs::write(world.folder("state").join("snap.00000000000FFFFF.generating"), b"torn")
        .expect("a file");
    let report = world.reopen();
    assert_eq!(report.state_rebuilt, None);
    assert_eq!(world.export(), before);
}

#[test]
fn a_damaged_snapshot_of_the_index_is_rebuilt() {
    let mut world = filled(20);
    let hits = world.found("memory 7");
    world.close();
    let path = world.folder("index").join("snapshot");
    let bytes = fs::read(&path).expect("a snapshot");
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 4;
    for damaged in [&bytes[..bytes.len() / 2], &bytes[..3], &[], &flipped] {
        fs::write(&path, damaged).expect("a damaged file");
        let report = world.reopen();
        assert!(report.index_rebuilt.is_some());
        world.store().set_embedder(Some(embedder("test-model"))).expect("a model");
        assert_eq!(world.found("memory 7"), hits);
        world.close();
    }
}

#[test]
fn an_old_snapshot_of_the_index_catches_up() {
    let mut world = filled(20);
    world.close();
    let path = world.folder("index").join("snapshot");
    let old = fs::read(&path).expect("a snapshot");
    world.reopen();
    let fresh = world.add("a fresh zebra");
    let now = world.now();
    world.store().delete(id(5), now).expect("a deletion");
    world.close();
    fs::write(&path, old).expect("the old snapshot");
    let report = world.reopen();
    assert_eq!(report.index_rebuilt, None);
    assert_eq!(world.found("zebra"), [fresh]);
    assert!(!world.found("memory 4").contains(&id(5)));
}

#[test]
fn damaged_vectors_are_computed_again() {
    let mut world = filled(40);
    let hits = world.found("memory 7");
    world.close();
    let path = files(&world.folder("vectors")).remove(0);
    let mut bytes = fs::read(&path).expect("the vectors");
    bytes[600] ^= 1;
    fs::write(&path, bytes).expect("a flipped bit");
    world.reopen();
    world.store().set_embedder(Some(embedder("test-model"))).expect("a model");
    world.embed_all();
    assert_eq!(world.found("memory 7"), hits);
}

#[test]
fn a_doctor_tells_damage_and_repairs_it() {
    let mut world = filled(30);
    assert_eq!(check(world.dir.path(), NOTHING).expect_err("it is open").kind(), ErrorKind::Locked);
    world.close();
    let sound = check(world.dir.path(), NOTHING).expect("a check");
    assert!(sound.is_sound(), "{sound:?}");
    assert!(sound.log_records >= 32);
    fs::write(world.folder("index").join("snapshot"), b"damaged").expect("a file");
    let damaged = check(world.dir.path(), NOTHING).expect("a check");
    assert_eq!(damaged.derived_damage.len(), 1, "{damaged:?}");

    let log = files(&world.folder("log")).remove(0);
    let mut bytes = fs::read(&log).expect("the log");
    let at = bytes.windows(10).position(|window| window == b"memory 15 ").expect("its text");
    bytes[at] ^= 1;
    fs::write(&log, bytes).expect("a flipped bit");
    let error = Store::open(world.dir.path(), options()).expect_err("the log is damaged");
    assert_eq!(error.kind(), ErrorKind::Damaged);
    assert!(error.to_string().contains("the log is damaged"), "{error}");
    assert_eq!(check(world.dir.path(), NOTHING).expect("a check").log_damage.len(), 1);
    let repaired = repair(world.dir.path(), NOTHING).expect("a repair");
    assert_eq!(repaired.set_aside.len(), 1);
    world.reopen();
    let there = world.store().list(&Filter::default(), None, 1000).expect("a list");
    assert_eq!(there.len(), 28, "one was deleted, one was damaged");
    assert!(there.iter().all(|it| !it.content.starts_with("memory 15 ")));
    assert_eq!(world.add("goes on").get(), 31);
    world.close();
    assert!(check(world.dir.path(), NOTHING).expect("a check").is_sound());
}
