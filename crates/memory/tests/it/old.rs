//! Stores as earlier releases wrote them. Each is opened by every later release.
//!
//! `tests/data/v1` is what [`write_the_store`] wrote with the first release whose log notes how far
//! it has reached; `v0` is the same without the note, as releases before left it; `v2` is of the
//! first release that stems words of other scripts, so that the index of earlier ones is built
//! again; `v3` also has a memory with a lifespan, and its own `v3.ndjson`; `v4` has what suggestions
//! need in its index; `v5` has metadata in its index; `v6` has a memory that was
//! deleted and restored, and its own `v6.ndjson`. To add one for a new format: `WAYPOST_TEST_WRITE_STORE=FOLDER cargo nextest run -p waypost-memory write_the_store`, and
//! copy FOLDER to `tests/data/vN` and `FOLDER.ndjson`, if it says more, beside it.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use waypost_memory::{
    Compaction, Draft, Lifespan, LinkKind, Patch, Reached, Scalar, Store, Vocabulary, check,
};

use crate::crash::copy;
use crate::world::{at, embedder, float, id, options};

fn data(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(version)
}

/// Every kind of record, in a few small files.
fn fill(store: &Store) {
    store.set_embedder(Some(embedder("test-model"))).expect("a model");
    for number in 1..=6 {
        let mut draft = Draft::new(format!("memory {number}"))
            .with_tags([format!("tag{number}")])
            .with_metadata(
                [
                    ("text".to_owned(), Scalar::from("ä")),
                    ("number".to_owned(), Scalar::from(-number)),
                    ("half".to_owned(), float(0.5)),
                    ("yes".to_owned(), Scalar::from(true)),
                ]
                .into(),
            );
        match number {
            2 => draft = draft.with_title("a title"),
            3 => draft = draft.with_space("team"),
            4 => draft = draft.with_session("morning"),
            _ => {}
        }
        store.add(draft, at(number)).expect("an add");
    }
    for text in ["memory one", "memory uno"] {
        let patch = Patch::default().with_content(text);
        store.update(id(1), patch, at(10)).expect("a change");
    }
    for kind in LinkKind::ALL.iter().copied() {
        store.link(id(1), id(2), kind, at(11)).expect("a link");
    }
    store.unlink(id(1), id(2), LinkKind::PartOf, at(12)).expect("it is there");
    store.delete(id(5), at(13)).expect("a deletion");
    store.delete(id(6), at(14)).expect("a deletion");
    let lifespan = Lifespan::default()
        .with_valid_from(at(1))
        .with_valid_until(at(2))
        .with_expires_at(at(1_000_000))
        .with_pinned(true);
    let draft = Draft::new("memory 7").with_lifespan(lifespan);
    store.add(draft, at(15)).expect("an add");
    store.update(id(7), Patch::default().with_expires_at(None), at(16)).expect("a change");
    store.undelete(id(5), at(17)).expect("it is deleted");
    while store.embed_pending(64).expect("a model").pending > 0 {}
}

/// Cuts the zeros at the ends of the log's files, which mean nothing.
fn trim(dir: &Path) {
    for folder in ["log", "vectors"] {
        for entry in fs::read_dir(dir.join("memory").join(folder)).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|extension| extension == "log") {
                let mut bytes = fs::read(&path).expect("a file");
                let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
                bytes.truncate(used.next_multiple_of(64));
                fs::write(&path, bytes).expect("a file");
            }
        }
    }
    // sled's file is 8 MiB, and derived.
    fs::remove_dir_all(dir.join("memory/state")).expect("it goes");
    fs::remove_file(dir.join("lock")).expect("it goes");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "says where a new store of the fixtures goes")]
fn write_the_store() {
    let folder = std::env::var("WAYPOST_TEST_WRITE_STORE").map(PathBuf::from);
    let temporary = TempDir::new().expect("a temporary folder");
    let dir = folder.unwrap_or_else(|_| temporary.path().join("store"));
    let small = options().with_log_segment_bytes(1024);
    let (store, _) = Store::open(&dir, small).expect("a new store");
    fill(&store);
    store.compact(Compaction::default().with_purge(true)).expect("a compaction");
    let mut out = Vec::new();
    store.export(&mut out).expect("an export");
    fs::write(dir.with_extension("ndjson"), out).expect("a file");
    store.close().expect("a clean close");
    trim(&dir);
    assert!(check(&dir, Reached::default()).expect("a check").is_sound());
    fs::remove_file(dir.join("lock")).expect("it goes");
}

#[test]
fn every_earlier_store_opens_as_it_was() {
    for (version, export, count, next, is_rebuilt) in [
        ("v0", "export.ndjson", 4, 7, true),
        ("v1", "export.ndjson", 4, 7, true),
        ("v2", "export.ndjson", 4, 7, true),
        ("v3", "v3.ndjson", 5, 8, true),
        ("v4", "v3.ndjson", 5, 8, true),
        ("v5", "v3.ndjson", 5, 8, false),
        ("v6", "v6.ndjson", 6, 8, false),
    ] {
        let wanted = fs::read_to_string(data(export)).expect("the export");
        let dir = TempDir::new().expect("a temporary folder");
        copy(&data(version), dir.path());
        assert!(check(dir.path(), Reached::default()).expect("a check").is_sound(), "{version}");
        let (store, report) = Store::open(dir.path(), options()).expect("it opens");
        let rebuilt = report.index_rebuilt.is_some();
        assert_eq!((report.memories, rebuilt), (count, is_rebuilt), "{version}");
        let mut out = Vec::new();
        store.export(&mut out).expect("an export");
        assert_eq!(String::from_utf8(out).expect("UTF-8"), wanted, "{version}");
        store.set_embedder(Some(embedder("test-model"))).expect("a model");
        assert_eq!(
            store.status().expect("a status").embedded,
            count,
            "{version}: no vector is lost"
        );
        let added = store.add(Draft::new("goes on"), at(20)).expect("an add");
        assert_eq!(added.memory().id, id(next), "{version}");
        store.close().expect("a clean close");
        let (store, _) = Store::open(dir.path(), options()).expect("it opens");
        assert_eq!(store.get(id(next)).expect("it is there").content, "goes on");
    }
}
