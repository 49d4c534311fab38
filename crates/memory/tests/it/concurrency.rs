//! Many threads at once.

use std::collections::BTreeSet;
use std::thread;

use waypost_memory::{Draft, Filter, LinkKind, Reindex, SearchOptions};

use crate::world::{World, at, id};

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
        threads.into_iter().flat_map(|it| it.join().expect("no panic")).collect()
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
        let added = threads.into_iter().map(|it| it.join().expect("no panic"));
        added.filter(|it| matches!(it, waypost_memory::Added::New(_))).count()
    });
    assert_eq!(new, 1);
    assert_eq!(world.store().status().expect("a status").memories, 1);
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
            let options = SearchOptions { limit: 100, ..SearchOptions::default() };
            let hits = store.search("steady memory", &options).expect("a search").hits;
            let steady = hits.iter().filter(|it| it.memory.content.starts_with("steady")).count();
            assert_eq!(steady, 40);
        }
    });
    world.embed_all();
    let status = world.store().status().expect("a status");
    assert_eq!((status.memories, status.embedded, status.links), (70, 70, 30));
    let options = SearchOptions { limit: 100, ..SearchOptions::default() };
    let before = world.store().search("passing memory", &options).expect("a search");
    world.store().reindex(Reindex::default(), at(5), &mut |_| {}).expect("a reindex");
    assert_eq!(world.store().search("passing memory", &options).expect("a search"), before);
}
