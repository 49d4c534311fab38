//! A journal that others append to. No two processes can share a log in files, so these tests
//! append behind the back of the store.

use std::borrow::Cow;

use super::*;
use crate::check;
use crate::record::Record;
use crate::{Added, Draft, ImportIds, ImportOptions};

fn open() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().expect("a folder");
    let options = StoreOptions { free_bytes_min: 0, ..StoreOptions::default() };
    let (store, _) = Store::open(dir.path(), options).expect("it opens");
    (dir, store)
}

fn id(number: u64) -> MemoryId {
    MemoryId::new(number).expect("an id")
}

const AT: Timestamp = Timestamp::MIN;

/// Another writer adds a memory.
fn add_elsewhere(store: &Store, number: u64, content: &str) {
    let body = check::draft(Draft::new(content), AT).expect("a draft");
    let add = Record::Add { id: id(number), at: AT, body: Cow::Owned(body) };
    let note = Record::Notice { id: Some(id(number)), note: content.into() };
    let records = [&add, &note].map(Record::encoded);
    let journal = &store.records.journal;
    journal.append(journal.last(), &records).expect("the journal takes it");
}

#[test]
fn commands_are_decided_again_when_others_have_written() {
    let (_dir, store) = open();
    store.add(Draft::new("the first"), AT).expect("an add");
    add_elsewhere(&store, 2, "written elsewhere");
    let added = store.add(Draft::new("written elsewhere"), AT).expect("an add");
    assert!(matches!(&added, Added::Existing(memory) if memory.id == id(2)), "{added:?}");

    add_elsewhere(&store, 3, "also written elsewhere");
    let added = store.add(Draft::new("written here"), AT).expect("an add");
    assert!(matches!(&added, Added::New(memory) if memory.id == id(4)), "{added:?}");

    add_elsewhere(&store, 5, "to be linked");
    store.link(id(4), id(1), LinkKind::Updates, AT).expect("both ends exist");
    store.link(id(5), id(4), LinkKind::Updates, AT).expect("the other end is known by now");
    let superseded = [1, 4].map(|it| store.get(id(it)).expect("it is there").superseded_by);
    assert_eq!(superseded, [Some(id(4)), Some(id(5))]);

    let found = store.search("elsewhere", &SearchOptions::default()).expect("a search").hits;
    let found: Vec<_> = found.iter().map(|it| it.memory.id).collect();
    assert!(found.contains(&id(2)) && found.contains(&id(3)), "the index has followed: {found:?}");
    let notes: Vec<_> = store.notices(10).into_iter().map(|it| it.note).collect();
    let expected = ["written elsewhere", "also written elsewhere", "to be linked"];
    assert_eq!(notes, expected.map(|it| it.as_bytes().to_vec()));
    assert!(store.write_fault().is_none());
}

#[test]
fn an_import_is_decided_again_with_the_ids_that_are_free_then() {
    let (_dir, store) = open();
    for content in ["one", "two"] {
        store.add(Draft::new(content), AT).expect("an add");
    }
    store.link(id(2), id(1), LinkKind::RelatedTo, AT).expect("both ends exist");
    let mut export = Vec::new();
    store.export(&mut export).expect("an export");

    let (_dir, other) = open();
    add_elsewhere(&other, 1, "one");
    add_elsewhere(&other, 2, "has the id of the second memory");
    let options = ImportOptions::default().with_ids(ImportIds::Map);
    let write = || other.write_queued();
    let imported = other.import_beside(&mut &export[..], &options, AT, &write).expect("an import");
    assert_eq!((imported.memories, imported.existing, imported.links), (1, 1, 1), "{imported:?}");
    let mapped: Vec<_> = imported.mapped.iter().map(|it| (it.from, it.to)).collect();
    assert_eq!(mapped, [(id(2), id(3))]);
    let links = other.links(id(3), 1).expect("links");
    assert!(matches!(links[..], [Link { from, to, .. }] if (from, to) == (id(3), id(1))));
}
