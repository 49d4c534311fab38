//! Many threads at once.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

use waypost_memory::{Draft, Filter, LinkKind, Reindex, SearchOptions};

use crate::world::{World, at, id, purge};

#[test]
fn adds_of_64_threads_are_all_there_with_dense_ids() {
    const THREADS: u64 = 64;
    const ADDS: u64 = 8;
    let mut world = World::new();
    let store = world.store();
    let ids: BTreeSet<u64> = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                scope.spawn(move || {
                    let add = |number: u64| {
                        let draft = Draft::new(format!("thread {thread} memory {number}"));
                        store.add(draft, at(1)).expect("an add").into_memory().id.get()
                    };
                    (0..ADDS).map(add).collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    assert_eq!(ids, (1..=THREADS * ADDS).collect());
    let before = world.export();
    world.reopen();
    assert_eq!(world.export(), before);
    assert_eq!(world.store().list(&Filter::default(), None, 1000).expect("a list").len(), 512);
}

#[test]
fn the_same_draft_from_many_threads_is_stored_once() {
    let world = World::new();
    let store = world.store();
    let new = thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|_| scope.spawn(move || store.add(Draft::new("same"), at(1)).expect("an add")))
            .collect();
        let added = threads.into_iter().map(|thread| thread.join().expect("no panic"));
        added.filter(|added| matches!(added, waypost_memory::Added::New(_))).count()
    });
    assert_eq!(new, 1);
    assert_eq!(world.store().status().expect("a status").memories, 1);
}

#[test]
fn compactions_on_several_threads_write_the_snapshot_in_turn() {
    let mut world = World::new();
    for number in 0..500 {
        world.add(&format!("memory {number} of the harbour"));
    }
    let store = world.store();
    thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                for number in 0..12 {
                    store.delete(id(1 + thread * 12 + number), at(2)).expect("a deletion");
                    store.compact(purge()).expect("a compaction");
                }
            });
        }
    });
    let before = world.export();
    world.reopen();
    assert_eq!(world.export(), before);
}

#[test]
fn searches_and_a_reindex_go_on_beside_changes() {
    let mut world = World::with_model();
    for number in 0..40 {
        world.add(&format!("steady memory {number}"));
    }
    let store = world.store();
    thread::scope(|scope| {
        scope.spawn(move || {
            for number in 0..60 {
                let added = store.add(Draft::new(format!("passing memory {number}")), at(2));
                let added = added.expect("an add").into_memory().id;
                store.link(added, id(1), LinkKind::RelatedTo, at(2)).expect("a link");
                if number % 2 == 0 {
                    store.delete(added, at(3)).expect("a deletion");
                }
            }
        });
        scope.spawn(move || {
            for _ in 0..4 {
                store.reindex(Reindex { backfill: true }, at(4), &mut |_| {}).expect("a reindex");
            }
        });
        for _ in 0..30 {
            let options = SearchOptions::default().with_limit(100);
            let hits = store.search("steady memory", &options).expect("a search").hits;
            let steady = hits.iter().filter(|hit| hit.memory.content.starts_with("steady")).count();
            assert_eq!(steady, 40);
        }
    });
    world.embed_all();
    let status = world.store().status().expect("a status");
    assert_eq!((status.memories, status.embedded, status.links), (70, 70, 30));
    let options = SearchOptions::default().with_limit(100);
    let before = world.store().search("passing memory", &options).expect("a search");
    world.store().reindex(Reindex::default(), at(5), &mut |_| {}).expect("a reindex");
    assert_eq!(world.store().search("passing memory", &options).expect("a search"), before);
}

#[test]
fn searches_go_on_beside_deletes_of_90_percent_and_compactions() {
    let mut world = World::with_model();
    let ids: Vec<_> =
        (0..200).map(|number| world.add(&format!("memory {number} of the harbour"))).collect();
    world.embed_all();
    let (kept, gone) = ids.split_at(20);
    let store = world.store();
    let options = SearchOptions::default().with_limit(200);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let searching = scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let hits = store.search("harbour", &options).expect("a search").hits;
                let found: BTreeSet<_> = hits.iter().map(|hit| hit.memory.id).collect();
                assert!(kept.iter().all(|it| found.contains(it)));
                assert!(hits.iter().all(|it| it.memory.content.ends_with("of the harbour")));
            }
        });
        for some in gone.chunks(45) {
            for id in some {
                store.delete(*id, at(2)).expect("a deletion");
            }
            store.compact(purge()).expect("a compaction");
        }
        is_over.store(true, Ordering::Relaxed);
        searching.join().expect("no panic");
    });
    let hits = store.search("harbour", &options).expect("a search").hits;
    let found: BTreeSet<_> = hits.iter().map(|hit| hit.memory.id).collect();
    assert_eq!(found, kept.iter().copied().collect());
}

#[test]
fn queued_adds_are_answered_by_whoever_writes_and_are_there_after_opening_again() {
    let mut world = World::new();
    let (answers, answered) = mpsc::channel();
    for number in 0..100 {
        let answers = answers.clone();
        let content = format!("memory {}", number % 90);
        world.store().add_later(Draft::new(content), at(1), move |added| {
            drop(answers.send(added.map(|added| added.into_memory().id)));
        });
        if number == 40 {
            // One that writes for itself writes what was queued before it, too.
            world.store().add(Draft::new("mine"), at(1)).expect("an add");
            assert_eq!(answered.try_iter().flatten().count(), 41);
        }
    }
    world.store().add_later(Draft::new(""), at(1), move |added| {
        drop(answers.send(added.map(|added| added.into_memory().id)));
    });
    assert!(answered.try_iter().all(|it| it.is_err()), "nobody has written yet");
    world.store().write_queued();
    let ids: BTreeSet<_> = answered.try_iter().map(|it| it.expect("an add")).collect();
    // The last ten are memories that were there.
    assert_eq!(ids.len(), 59);
    let before = world.export();
    world.reopen();
    assert_eq!(world.export(), before);
    assert_eq!(world.store().status().expect("a status").memories, 91);
}
