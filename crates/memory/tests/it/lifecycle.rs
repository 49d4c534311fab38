//! Adding, changing, deleting, history, reopening.

use std::num::NonZeroU32;

use waypost_memory::{
    Compaction, Draft, Error, ErrorKind, Filter, LinkKind, Patch, Reached, Reindex, Scalar,
    SearchOptions, Store, StoreOptions, check, repair,
};

use crate::world::{World, at, float, id, open, options, purge};

#[test]
fn a_memory_comes_back_as_it_was_given() {
    let mut world = World::new();
    let draft = Draft::new("Ports below 1024 need root")
        .with_title("Ports")
        .with_kind("decision")
        .with_tags(["net", "admin", "net"])
        .with_metadata(
            [
                ("n".to_owned(), Scalar::from(-3)),
                ("x".to_owned(), float(0.5)),
                ("ok".to_owned(), Scalar::from(true)),
                ("who".to_owned(), Scalar::from("me")),
            ]
            .into(),
        )
        .with_space("work")
        .with_session("s1")
        .with_created_at(at(1_000));
    let added = world.add_draft(draft);
    assert_eq!(added.id.get(), 1);
    assert_eq!(added.tags, ["admin", "net"]);
    assert_eq!(added.created_at, at(1_000));
    assert_eq!(world.store().get(added.id).expect("it is there"), added);
    world.reopen();
    assert_eq!(world.store().get(added.id).expect("it is there"), added);
}

#[test]
fn a_title_comes_from_the_content_and_goes_with_it() {
    let mut world = World::new();
    let memory = world.add_draft(Draft::new("\n  First line \nsecond"));
    assert_eq!(memory.title, "First line");
    assert_eq!(memory.kind, "note");
    assert_eq!(memory.space, "default");
    let patch = Patch::default().with_content("Other\nline");
    let now = world.now();
    assert_eq!(world.store().update(memory.id, patch, now).expect("a change").title, "Other");
}

#[test]
fn a_long_content_stays_in_the_log_and_reads_the_same() {
    let mut world = World::new();
    let content = "wörd ".repeat(100_000);
    let long = world.add(&content);
    assert_eq!(world.store().get(long).expect("it is there").content, content);
    let now = world.now();
    let patch = Patch::default().with_tags(["big"]);
    world.store().update(long, patch, now).expect("a change");
    world.reopen();
    assert_eq!(world.store().get(long).expect("it is there").content, content);
    let history = world.store().history(long).expect("a history");
    assert!(history.iter().all(|it| it.content() == Some(&content)));
}

#[test]
fn history_keeps_every_version_with_its_time() {
    let mut world = World::new();
    let memory = world.add("first");
    let changed_at = world.now();
    let patch = |text: &str| Patch::default().with_content(text);
    world.store().update(memory, patch("second"), changed_at).expect("a change");
    let again = world.now();
    let same = world.store().update(memory, patch("second"), again).expect("no change");
    assert_eq!(same.version, 2, "what changes nothing makes no version");
    let deleted_at = world.now();
    world.store().delete(memory, deleted_at).expect("a deletion");
    world.reopen();
    let history = world.store().history(memory).expect("a history");
    let contents: Vec<_> = history.iter().map(|history| history.content()).collect();
    assert_eq!(contents, [Some("first"), Some("second")]);
    assert_eq!(history[0].ended_at, Some(changed_at));
    assert_eq!(history[1].memory.updated_at, changed_at);
    assert_eq!(history[1].ended_at, Some(deleted_at));
    assert!(matches!(world.store().get(memory), Err(Error::NotFound(it)) if it == memory));
    assert!(matches!(world.store().delete(memory, deleted_at), Err(Error::NotFound(_))));
}

#[test]
fn ids_are_dense_and_never_reused() {
    let mut world = World::new();
    assert_eq!(world.add("one").get(), 1);
    assert_eq!(world.add("two").get(), 2);
    let now = world.now();
    world.store().delete(id(2), now).expect("a deletion");
    world.store().compact(purge()).expect("a compaction");
    world.close();
    std::fs::remove_dir_all(world.folder("index")).expect("the index goes");
    std::fs::remove_dir_all(world.folder("state")).expect("the state goes");
    world.reopen();
    assert_eq!(world.add("three").get(), 3);
}

#[test]
fn lists_go_by_id_and_filter() {
    let mut world = World::new();
    for number in 1..=9 {
        let draft = Draft::new(format!("memory {number}"))
            .with_kind(if number % 2 == 0 { "even" } else { "odd" })
            .with_tags((number % 3 == 0).then_some("three"))
            .with_space(if number < 6 { "low" } else { "high" })
            .with_created_at(at(number * 100));
        world.add_draft(draft);
    }
    let list = |filter: &Filter, after, limit| -> Vec<u64> {
        let memories = world.store().list(filter, after, limit).expect("a valid list");
        memories.iter().map(|memory| memory.id.get()).collect()
    };
    let any = Filter::default();
    assert_eq!(list(&any, None, 4), [1, 2, 3, 4]);
    assert_eq!(list(&any, Some(id(4)), 100), [5, 6, 7, 8, 9]);
    assert_eq!(list(&any.clone().with_kinds(["even"]), None, 2), [2, 4]);
    assert_eq!(list(&any.clone().with_kinds(["none"]), None, 2), [0; 0]);
    let both = any.clone().with_tags(["three"]).with_space("high");
    assert_eq!(list(&both, None, 100), [6, 9]);
    let times = any.clone().with_since(at(300)).with_until(at(500));
    assert_eq!(list(&times, None, 100), [3, 4]);
    assert_eq!(list(&any, Some(id((1 << 53) - 1)), 100), [0; 0]);
}

#[test]
fn a_second_opening_is_refused_with_the_pid() {
    let world = World::new();
    let error = Store::open(world.dir.path(), StoreOptions::default()).expect_err("it is open");
    assert_eq!(error.kind(), ErrorKind::Locked);
    assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
}

/// An operator may take the file for a leftover. Neither that, nor the lock on the state alone, makes
/// a store in use a damaged one.
#[test]
fn a_store_in_use_is_neither_opened_nor_checked_nor_repaired() {
    let mut world = World::new();
    world.add("kept");
    let dir = world.dir.path().to_path_buf();
    let refused = || {
        let known = Reached::default();
        let errors = [
            Store::open(&dir, options()).expect_err("it is open"),
            check(&dir, known).expect_err("it is open"),
            repair(&dir, known).expect_err("it is open"),
        ];
        for error in errors {
            assert_eq!(error.kind(), ErrorKind::Locked, "{error}");
        }
    };
    std::fs::remove_file(dir.join("lock")).expect("the file");
    refused();
    assert_eq!(world.add("added since").get(), 2);
    world.close();
    let state = world.folder("state");
    let tree = waypost_projection::Options::new(1).with_cache_bytes(1 << 20);
    let open = waypost_projection::Tree::open(&state, &tree, &waypost_projection::boot_id());
    let open = open.expect("readable").expect("usable");
    refused();
    open.release();
    let report = world.reopen();
    assert_eq!((report.memories, report.state_rebuilt), (2, None));
}

#[test]
fn a_newer_format_is_refused_by_name() {
    let mut world = World::new();
    world.close();
    std::fs::write(world.dir.path().join("format"), "waypost-data 7\n").expect("a file");
    let error = Store::open(world.dir.path(), options()).expect_err("it is newer");
    assert!(matches!(&error, Error::Newer { known: 1, .. }), "{error}");
    assert!(error.to_string().contains("waypost-data 7"), "{error}");
}

#[test]
fn a_purge_removes_the_text_of_deleted_memories_from_every_file() {
    let mut world = World::new();
    let tags = vec!["tombtag".to_owned()];
    let secret = world.add_draft(Draft::new("the zanzibar secret").with_tags(tags)).id;
    let kept = world.add("something else");
    let long = world.add(&"quagmire ".repeat(10_000));
    let now = world.now();
    world.store().delete(secret, now).expect("a deletion");
    world.store().delete(long, now).expect("a deletion");
    let before = world.export();
    assert!(before.contains("zanzibar") && before.contains("quagmire"));
    let compacted = world.store().compact(purge()).expect("a compaction");
    assert_eq!(compacted.purged_versions, 2);
    let history = world.store().history(secret).expect("its ids and times stay");
    assert_eq!(history[0].content(), None);
    let purged = world.export();
    assert!(!purged.contains("zanzibar") && !purged.contains("quagmire"));
    let words = ["zanzibar", "quagmire", "tombtag"];
    assert_eq!(files_with(world.dir.path(), &words), Vec::<std::path::PathBuf>::new());
    world.reopen();
    assert_eq!(world.export(), purged);
    assert_eq!(files_with(world.dir.path(), &words), Vec::<std::path::PathBuf>::new());
    assert_eq!(world.store().get(kept).expect("it is there").content, "something else");
}

#[test]
fn a_compaction_that_keeps_some_versions_removes_the_texts_of_the_others() {
    let mut world = World::new();
    let (memory, other) = (world.add("zanzibar"), world.add("another"));
    let full = world.export();
    let now = world.now();
    world.store().link(memory, other, LinkKind::RelatedTo, now).expect("a link");
    for text in ["quagmire", "second to last", "the last"] {
        let now = world.now();
        let patch = Patch::default().with_content(text);
        world.store().update(memory, patch, now).expect("a change");
    }
    let two = Compaction::default().with_versions(NonZeroU32::new(2));
    assert_eq!(world.store().compact(two).expect("a compaction").purged_versions, 2);
    assert_eq!(world.store().compact(two).expect("a compaction").purged_versions, 0);
    let history = world.store().history(memory).expect("a history");
    let contents: Vec<_> = history.iter().map(|history| history.content()).collect();
    assert_eq!(contents, [None, None, Some("second to last"), Some("the last")]);
    let words = ["zanzibar", "quagmire"];
    assert_eq!(files_with(world.dir.path(), &words), Vec::<std::path::PathBuf>::new());

    let exported = world.export();
    world.close();
    for derived in ["index", "state"] {
        std::fs::remove_dir_all(world.folder(derived)).expect("it goes");
    }
    world.reopen();
    assert_eq!(world.export(), exported, "a replay gives the same");
    assert_eq!(world.store().links(memory, 1).expect("links").len(), 1);

    let mut older = World::new();
    for lines in [full, exported.clone()] {
        let now = older.now();
        let imported = older.store().import(&mut lines.as_bytes(), now).expect("an import");
        assert_eq!(imported.problems, [], "what has lost texts goes on from what has them");
    }
    let history = older.store().history(memory).expect("a history");
    assert_eq!(history[0].content(), Some("zanzibar"));
}

#[test]
fn a_snapshot_is_written_when_much_has_changed_or_when_it_is_quiet() {
    let world = World::new();
    let add = |from: usize, to: usize| {
        let drafts = (from..to).map(|number| Draft::new(format!("memory {number}")));
        assert!(world.store().add_batch(drafts, at(1)).iter().all(Result::is_ok));
    };
    let writes = || world.store().maintain().expect("upkeep").snapshot;
    add(0, 12_000);
    assert!(writes());
    add(12_000, 13_100);
    assert!(!writes(), "less than a tenth has changed, and just now");
    assert!(writes(), "nothing has changed since");
    add(13_100, 13_200);
    assert!(!writes() && !writes(), "so few are analysed again in no time");
}

/// The files below a folder that hold one of the words.
fn files_with(dir: &std::path::Path, words: &[&str]) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files_with(&path, words));
        } else {
            let bytes = std::fs::read(&path).expect("a file");
            let text = String::from_utf8_lossy(&bytes);
            if words.iter().any(|word| text.contains(word)) {
                found.push(path);
            }
        }
    }
    found
}

#[test]
fn a_reindex_changes_nothing_that_is_found() {
    let mut world = World::with_model();
    for number in 0..50 {
        world.add(&format!("memory {number} about cats and dogs {}", number % 7));
    }
    world.embed_all();
    let before = world.store().search("cats 3", &SearchOptions::default()).expect("a search");
    let now = world.now();
    let mut phases = Vec::new();
    let done = world
        .store()
        .reindex(Reindex { backfill: true }, now, &mut |it| phases.push(it))
        .expect("a reindex");
    assert_eq!((done.indexed, done.embedded, done.skipped), (50, 0, 50));
    assert!(!phases.is_empty());
    let after = world.store().search("cats 3", &SearchOptions::default()).expect("a search");
    assert_eq!(before, after);
    assert_eq!(world.store().status().expect("a status").last_reindex_at, Some(now));
}

#[test]
fn an_empty_store_answers() {
    let world = World::new();
    assert!(world.found("anything").is_empty());
    let status = world.store().status().expect("a status");
    assert_eq!((status.memories, status.links, status.pending_embeddings), (0, 0, 0));
    let (dir, report) = (tempfile::TempDir::new().expect("a folder"), ());
    let (store, opened) = open(dir.path());
    drop((store, report));
    assert_eq!(opened.state_rebuilt, None);
    assert_eq!(opened.index_rebuilt, None);
}

#[test]
fn a_clock_that_goes_back_changes_no_order_and_loses_nothing() {
    let mut world = World::new();
    let store = world.store();
    let noon = at(1_700_000_000_000);
    let (before, epoch) = (at(1_699_990_000_000), at(0));
    let first = store.add(Draft::new("the tide table"), noon).expect("added").memory().id;
    let second = store.add(Draft::new("the tide gauge"), before).expect("added").memory().id;
    assert!(second > first, "ids follow the order of adding, not the clock");

    let retitled = |title: &str| Patch::default().with_title(title);
    store.update(first, retitled("tides"), epoch).expect("changed");
    store.update(first, retitled("tables"), before).expect("changed");
    let titles = |world: &World| -> Vec<String> {
        let versions = world.store().history(first).expect("a history");
        versions.into_iter().map(|version| version.memory.title).collect()
    };
    assert_eq!(titles(&world), ["the tide table", "tides", "tables"]);
    world.store().delete(second, epoch).expect("deleted");

    let exported = world.export();
    world.close();
    std::fs::remove_dir_all(world.folder("state")).expect("the state is there");
    world.reopen();
    assert_eq!(world.export(), exported);
    assert_eq!(titles(&world), ["the tide table", "tides", "tables"]);
    assert_eq!(world.found("tide"), [first]);
    let third = world.store().add(Draft::new("the tide again"), epoch).expect("added");
    assert!(third.memory().id > second, "a deleted memory's id is not given again");
}
