//! An index that is built while the store is open, and a compaction that gives room back.

use std::fs;
use std::path::Path;

use waypost_memory::{
    Compaction, Draft, ErrorKind, Filter, LinkKind, MemoryId, Patch, Reindex, SearchOptions, Store,
};

use crate::world::{World, at, embedder, id, options, purge};

/// More than what opening indexes at once.
const MANY: u64 = 3_000;

fn filled() -> World {
    let mut world = World::with_model();
    let now = world.now();
    let content = |number: u64| {
        format!("memory {number} of group {} says {}", number % 7, "text ".repeat(20))
    };
    let drafts = (1..=MANY)
        .map(|number| Draft::new(content(number)).with_tags([format!("group{}", number % 7)]));
    for added in world.store().add_batch(drafts, now) {
        added.expect("an add");
    }
    world.embed_all();
    world
}

fn open_later(dir: &Path) -> Store {
    let options = options().with_index_later(true);
    Store::open(dir, options).expect("the store opens").0
}

fn results(store: &Store) -> Vec<String> {
    let queries = ["memory 77", "group 3", "text says", "memory 2999 of group"];
    queries.map(|query| format!("{:?}", store.search(query, &SearchOptions::default()))).to_vec()
}

fn ids(store: &Store, filter: &Filter) -> Vec<MemoryId> {
    let listed = store.list(filter, Some(id(10)), 1000).expect("a list");
    listed.iter().map(|listed| listed.id).collect()
}

fn bytes(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).expect("a folder").map(|entry| entry.expect("an entry"));
    let size = |entry: fs::DirEntry| {
        let data = entry.metadata().expect("its size");
        if data.is_dir() { bytes(&entry.path()) } else { data.len() }
    };
    entries.map(size).sum()
}

#[test]
fn everything_except_search_is_complete_while_the_index_is_built() {
    let mut world = filled();
    let filter = Filter::default().with_tags(["group3"]);
    let (all, some) = (ids(world.store(), &Filter::default()), ids(world.store(), &filter));
    let (export, before) = (world.export(), results(world.store()));
    world.close();
    fs::remove_dir_all(world.folder("index")).expect("it goes");
    let store = open_later(world.dir.path());
    store.set_embedder(Some(embedder("test-model"))).expect("a model");
    let status = store.status().expect("a status");
    assert_eq!((status.memories, status.index.documents, status.index.lacking), (MANY, 0, MANY));
    assert_eq!((ids(&store, &Filter::default()), ids(&store, &filter)), (all, some));
    assert_eq!(store.get(id(2_999)).expect("it is there").id, id(2_999));
    assert_eq!(store.links(id(2_999), 1).expect("links"), []);
    let mut out = Vec::new();
    store.export(&mut out).expect("an export");
    assert_eq!(String::from_utf8(out).expect("UTF-8"), export);
    let again = store.reindex(Reindex::default(), at(1), &mut |_| {}).expect_err("one is built");
    assert_eq!(again.kind(), ErrorKind::Busy);
    assert_eq!(store.embed_pending(64).expect("a step").embedded, 0, "they are stored");
    let mut found = 0;
    while let Some(progress) = store.build_index().expect("a piece") {
        let hits = store.search("text", &SearchOptions::default().with_limit(1000));
        let hits = hits.expect("a search").hits.len();
        assert!(hits >= found.min(1000) && progress.done <= progress.total);
        found = hits;
        store.maintain().expect("upkeep");
    }
    assert_eq!(store.index_progress(), None);
    assert_eq!(store.status().expect("a status").pending_embeddings, 0);
    assert_eq!(results(&store), before);
}

#[test]
fn writes_and_searches_continue_while_threads_build_the_index() {
    let mut world = filled();
    world.close();
    fs::remove_dir_all(world.folder("index")).expect("it goes");
    let store = open_later(world.dir.path());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| while store.build_index().expect("a piece").is_some() {});
        }
        scope.spawn(|| {
            for number in (1..=MANY).rev().step_by(10) {
                let patch = Patch::default().with_content(format!("changed {number} meanwhile"));
                store.update(id(number), patch, at(2)).expect("an update");
                store.delete(id(number - 1), at(3)).expect("a deletion");
            }
            store.add(Draft::new("a fresh zebra"), at(4)).expect("an add");
        });
        for _ in 0..50 {
            for hit in store.search("memory", &SearchOptions::default()).expect("a search").hits {
                assert!(hit.memory.content.contains("memory"), "{}", hit.memory.content);
            }
        }
    });
    let live = MANY - MANY / 10 + 1;
    let status = store.status().expect("a status");
    assert_eq!((status.memories, status.index.documents), (live, live));
    let found = store.search("changed zebra", &SearchOptions::default().with_limit(1000));
    assert_eq!(found.expect("a search").hits.len() as u64, MANY / 10 + 1);
    let before = results(&store);
    store.reindex(Reindex::default(), at(5), &mut |_| {}).expect("a reindex");
    assert_eq!(results(&store), before);
}

#[test]
fn a_store_that_ends_while_its_index_is_built_begins_again() {
    let mut world = filled();
    let before = results(world.store());
    world.close();
    fs::remove_dir_all(world.folder("index")).expect("it goes");
    for _ in 0..3 {
        let store = open_later(world.dir.path());
        store.build_index().expect("a piece").expect("there is more");
        store.maintain().expect("upkeep");
        store.close().expect("a clean close");
        assert!(!world.folder("index").join("snapshot").exists(), "a part is no snapshot");
    }
    world.reopen();
    world.store().set_embedder(Some(embedder("test-model"))).expect("a model");
    assert_eq!(results(world.store()), before);
}

#[test]
fn a_compaction_gives_back_what_deletions_and_churn_took() {
    let mut world = filled();
    world.reopen_with(options().with_state_rewrite_bytes_min(0));
    world.store().set_embedder(Some(embedder("test-model"))).expect("a model");
    let full = bytes(world.dir.path());
    let by_many = |each: &(dyn Fn(u64) + Sync)| {
        std::thread::scope(|scope| {
            for thread in 0..8 {
                scope
                    .spawn(move || (1..=MANY).filter(|number| number % 8 == thread).for_each(each));
            }
        });
    };
    for round in 0..4 {
        let (store, tags) = (world.store(), [format!("round{round}")]);
        by_many(&|it| {
            let patch = Patch::default().with_tags(tags.clone());
            store.update(id(it), patch, at(1)).expect("an update");
        });
    }
    let kept = world.export().lines().filter(|line| line.contains("\"id\":7,")).count();
    assert_eq!(kept, 5, "every version is kept");
    let store = world.store();
    by_many(&|it| {
        if it % 10 != 0 {
            store.delete(id(it), at(2)).expect("a deletion");
        }
    });
    let (grown, export) = (bytes(world.dir.path()), world.export());
    let links = world.store().compact(Compaction::default()).expect("a compaction");
    assert!(links.bytes_after <= links.bytes_before);
    assert_eq!(world.export(), export);
    world.store().compact(purge()).expect("a compaction");
    world.store().maintain().expect("upkeep");
    let shrunk = bytes(world.dir.path());
    // How far the state has grown depends on how many changes shared a batch.
    let some = 2 * 1024 * 1024;
    assert!(shrunk + some < grown && shrunk < full + some, "{full} {grown} {shrunk}");
    let export = world.export();
    world.add("it goes on");
    world.reopen();
    world.store().delete(id(MANY + 1), at(1)).expect("a deletion");
    let after = world.export();
    assert!(after.starts_with(export.split("{\"record\":\"end\"").next().expect("a beginning")));
}

#[test]
fn a_rebuilt_state_knows_that_the_last_records_were_compacted_away() {
    let mut world = World::new();
    let (one, two) = (world.add("one"), world.add("two"));
    let now = world.now();
    world.store().link(one, two, LinkKind::RelatedTo, now).expect("both ends exist");
    assert!(world.store().unlink(one, two, LinkKind::RelatedTo, now).expect("it is there"));
    world.store().compact(purge()).expect("it drops the link");
    world.close();
    fs::remove_dir_all(world.folder("state")).expect("it goes");
    world.reopen();
    world.store().compact(purge()).expect("the state has all of the log");
    assert_eq!(world.add("three"), id(3));
}
