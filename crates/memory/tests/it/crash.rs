//! Folders as a crash, a power cut or a bad disk leaves them.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use waypost_memory::{Draft, ErrorKind, Filter, LinkKind, SearchOptions, Store, check, repair};

use crate::world::{World, at, embedder, id, open, options};

fn copy(from: &Path, to: &Path) {
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

fn image(of: &Path) -> TempDir {
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
fn a_copy_taken_while_the_store_is_open_has_every_answered_write() {
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
fn a_log_cut_anywhere_opens_with_a_beginning_of_what_was_written() {
    let mut world = filled(12);
    world.close();
    let log = world.folder("log");
    let last = files(&log).pop().expect("the log has a file");
    let bytes = fs::read(&last).expect("the file");
    let used = bytes.iter().rposition(|it| *it != 0).map_or(0, |it| it + 1);
    let whole = files(&log).len() == 1;
    assert!(whole, "one file is enough here");
    let mut most = 0;
    for cut in (used / 3..=used).step_by(used / 23) {
        let image = image(world.dir.path());
        let path = image.path().join("memory/log").join(last.file_name().expect("a name"));
        let mut torn = bytes.clone();
        torn[cut..].fill(0);
        fs::write(&path, torn).expect("a torn file");
        let (store, report) = open(image.path());
        let memories = store.list(&Filter::default(), None, 1000).expect("a list");
        for (number, memory) in memories.iter().enumerate() {
            assert!(memory.content.starts_with("memory "), "{number}");
        }
        assert!(memories.len() >= most || cut == used, "more of the log, more memories");
        most = most.max(memories.len());
        if cut + 1 < used {
            assert!(report.state_rebuilt.is_some(), "the state was ahead of the log");
        }
        let added = store.add(Draft::new("after the crash"), at(9)).expect("an add");
        assert!(store.search("crash", &SearchOptions::default()).is_ok());
        assert_eq!(store.get(added.memory().id).expect("it is there").content, "after the crash");
    }
}

#[test]
fn derived_folders_may_vanish() {
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
fn a_damaged_state_is_noticed_or_harmless() {
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
        let used = bytes.iter().rposition(|it| *it != 0).map_or(1, |it| it + 1);
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
fn a_damaged_snapshot_of_the_index_is_built_anew() {
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
fn damaged_vectors_are_made_again() {
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
    assert_eq!(check(world.dir.path()).expect_err("it is open").kind(), ErrorKind::Locked);
    world.close();
    let sound = check(world.dir.path()).expect("a check");
    assert!(sound.is_sound(), "{sound:?}");
    assert!(sound.log_records >= 32);
    fs::write(world.folder("index").join("snapshot"), b"damaged").expect("a file");
    let damaged = check(world.dir.path()).expect("a check");
    assert_eq!(damaged.derived_damage.len(), 1, "{damaged:?}");

    let log = files(&world.folder("log")).remove(0);
    let mut bytes = fs::read(&log).expect("the log");
    let at = bytes.windows(10).position(|it| it == b"memory 15 ").expect("its text");
    bytes[at] ^= 1;
    fs::write(&log, bytes).expect("a flipped bit");
    let error = Store::open(world.dir.path(), options()).expect_err("the log is damaged");
    assert_eq!(error.kind(), ErrorKind::Damaged);
    assert!(error.to_string().contains("ctl doctor --repair"), "{error}");
    assert_eq!(check(world.dir.path()).expect("a check").log_damage.len(), 1);
    let repaired = repair(world.dir.path()).expect("a repair");
    assert_eq!(repaired.set_aside.len(), 1);
    world.reopen();
    let there = world.store().list(&Filter::default(), None, 1000).expect("a list");
    assert_eq!(there.len(), 28, "one was deleted, one was damaged");
    assert!(there.iter().all(|it| !it.content.starts_with("memory 15 ")));
    assert_eq!(world.add("goes on").get(), 31);
    world.close();
    assert!(check(world.dir.path()).expect("a check").is_sound());
}
