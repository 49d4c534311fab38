//! Earlier versions and deleted memories come back.

use std::num::NonZeroU32;

use waypost_memory::{
    Added, Compaction, Draft, Error, ErrorKind, ImportIds, ImportOptions, Lifespan, LinkKind,
    MemoryId, Metadata, Patch, Scalar, SearchOptions, Timestamp,
};

use crate::world::{World, at, id, purge};

fn contents(world: &World, id: MemoryId) -> Vec<Option<String>> {
    let history = world.store().history(id).expect("a history");
    history.iter().map(|history| history.content().map(str::to_owned)).collect()
}

#[test]
fn an_earlier_version_comes_back_with_all_of_its_fields() {
    let mut world = World::with_model();
    let metadata = Metadata::from([("k".to_owned(), Scalar::from(1))]);
    let lifespan = Lifespan::default().with_valid_from(at(5)).with_pinned(true);
    let draft = Draft::new("the cat sleeps")
        .with_title("Cat")
        .with_kind("fact")
        .with_tags(["t"])
        .with_metadata(metadata)
        .with_session("s")
        .with_lifespan(lifespan);
    let first = world.add_draft(draft);
    let patch = Patch::default()
        .with_title("Dog")
        .with_content("the dog barks")
        .with_kind("note")
        .with_tags(["u"])
        .with_metadata(Metadata::new())
        .without_session()
        .with_valid_from(None)
        .with_pinned(false);
    let now = world.now();
    let second = world.store().update(first.id, patch, now).expect("a change");
    let now = world.now();
    let third = world.store().revert(first.id, 1, now).expect("it comes back");
    let wanted = waypost_memory::Memory { version: 3, updated_at: now, ..first.clone() };
    assert_eq!(third, wanted);
    assert_eq!(world.store().get(first.id).expect("it"), wanted);
    assert_eq!(world.found("cat"), [first.id]);
    assert!(world.found("dog").is_empty());
    // What it has already creates no version.
    assert_eq!(world.store().revert(first.id, 3, at(0)).expect("it"), wanted);
    assert_eq!(world.store().revert(first.id, 1, at(0)).expect("it"), wanted);
    let now = world.now();
    let fourth = world.store().revert(first.id, 2, now).expect("it comes back");
    assert_eq!((fourth.title, fourth.version), (second.title, 4));
    assert_eq!(contents(&world, first.id).len(), 4);
}

#[test]
fn a_version_that_is_gone_or_never_was_says_so() {
    let mut world = World::new();
    let id = world.add("one");
    for text in ["two", "three"] {
        let now = world.now();
        world.store().update(id, Patch::default().with_content(text), now).expect("a change");
    }
    let refused = |world: &World, version: u32| {
        let error = world.store().revert(id, version, at(0)).expect_err("it is refused");
        (error.kind(), error.to_string())
    };
    let none = |version: u32| format!("memory 1 has no version {version}; it has versions 1 to 3");
    assert_eq!(refused(&world, 0), (ErrorKind::NotFound, none(0)));
    assert_eq!(refused(&world, 4), (ErrorKind::NotFound, none(4)));
    let keep_one = Compaction::default().with_versions(NonZeroU32::new(1));
    world.store().compact(keep_one).expect("a compaction");
    let gone = "the text of version 2 of memory 1 is gone: a compaction removed it";
    assert_eq!(refused(&world, 2), (ErrorKind::Gone, gone.to_owned()));
    assert!(matches!(world.store().undelete(id, at(0)), Err(Error::NotDeleted(it)) if it == id));
    world.store().delete(id, at(0)).expect("a deletion");
    assert_eq!(refused(&world, 3).0, ErrorKind::NotFound);
    world.store().compact(purge()).expect("a compaction");
    let error = world.store().undelete(id, at(0)).expect_err("it is gone");
    let gone = "the text of version 3 of memory 1 is gone: a compaction removed it";
    assert_eq!((error.kind(), error.to_string()), (ErrorKind::Gone, gone.to_owned()));
    let unknown = world.store().undelete(crate::world::id(9), at(0));
    assert!(matches!(unknown, Err(Error::NotFound(_))));
}

#[test]
fn a_deleted_memory_comes_back_without_links_and_its_history_says_when_it_was_deleted() {
    let mut world = World::with_model();
    let (one, other) = (world.add("the cat sleeps"), world.add("the dog barks"));
    let now = world.now();
    world.store().link(one, other, LinkKind::RelatedTo, now).expect("a link");
    let (before, deleted) = (world.now(), world.now());
    world.store().delete(one, deleted).expect("a deletion");
    let (between, restored) = (world.now(), world.now());
    let memory = world.store().undelete(one, restored).expect("it comes back");
    assert_eq!((memory.version, memory.updated_at), (2, restored));
    let check = |world: &World| {
        assert_eq!(world.found("cat"), [one]);
        assert!(world.store().links(one, 1).expect("links").is_empty());
        assert_eq!(world.store().space_of(one).expect("it").as_deref(), Some("default"));
        let history = world.store().history(one).expect("a history");
        let times: Vec<_> = history
            .iter()
            .map(|history| (history.memory.version, history.ended_at, history.deleted_at))
            .collect();
        assert_eq!(times, [(1, Some(deleted), Some(deleted)), (2, None, None)]);
        assert!(history.iter().all(|it| it.content() == Some("the cat sleeps")));
        let found_at = |time: Timestamp| {
            let options = SearchOptions::default().with_as_of(time);
            let found = world.store().search("cat", &options).expect("a search");
            assert_eq!(found.forgotten, 0);
            found.hits.len()
        };
        let found = [before, deleted, between, restored].map(found_at);
        assert_eq!(found, [1, 0, 0, 1]);
    };
    check(&world);
    let export = world.export();
    assert!(export.contains(&format!(r#""deletedAt":"{deleted}""#)), "{export}");
    world.reopen();
    check(&world);
    world.close();
    std::fs::remove_dir_all(world.folder("state")).expect("it goes");
    world.reopen();
    check(&world);
    assert_eq!(world.export(), export);
    world.store().compact(purge()).expect("a compaction");
    check(&world);
    // It can be deleted and restored again, and an equal memory that was added meanwhile stays.
    world.store().delete(one, at(1)).expect("a deletion");
    let added = world.store().add(Draft::new("the cat sleeps"), at(2)).expect("an add");
    assert!(matches!(added, Added::New(_)));
    assert_eq!(world.store().undelete(one, at(3)).expect("it comes back").version, 3);
    assert_eq!(world.found("cat").len(), 2);
}

#[test]
fn what_had_expired_comes_back_without_its_expiry() {
    let mut world = World::new();
    let expiring = |text: &str, time: i64| {
        let lifespan = Lifespan::default().with_valid_until(at(7)).with_expires_at(at(time));
        Draft::new(text).with_lifespan(lifespan)
    };
    let far = 1_800_000_000_000;
    let [hidden, deleted, later] =
        [("a", far), ("b", far), ("c", far * 2)].map(|(text, time)| expiring(text, time));
    let [hidden, deleted, later] = [hidden, deleted, later].map(|it| world.add_draft(it).id);
    world.store().delete(deleted, at(far - 1)).expect("a deletion");
    world.store().delete(later, at(far - 1)).expect("a deletion");
    let restored = |id| world.store().undelete(id, at(far)).expect("it comes back");
    for id in [hidden, deleted] {
        let lifespan = restored(id).lifespan();
        assert_eq!((lifespan.valid_until, lifespan.expires_at), (Some(at(7)), None));
    }
    assert_eq!(restored(later).expires_at, Some(at(far * 2)));
    let history = world.store().history(hidden).expect("a history");
    assert_eq!(history[0].deleted_at, Some(at(far)));
    let reverted = world.store().revert(hidden, 1, at(far + 1)).expect("a change");
    assert_eq!((reverted.version, reverted.expires_at), (2, None));
}

#[test]
fn exports_from_before_and_after_a_restoration_agree() {
    let mut world = World::new();
    let one = world.add("one");
    let live = world.export();
    let now = world.now();
    world.store().delete(one, now).expect("a deletion");
    let deleted = world.export();
    let now = world.now();
    world.store().undelete(one, now).expect("it comes back");
    let restored = world.export();
    let now = world.now();
    world.store().delete(one, now).expect("a deletion");
    let again = world.export();
    let files = [&live, &deleted, &restored, &again];
    let import = |world: &World, file: &str, ids: ImportIds| {
        let options = ImportOptions::default().with_ids(ids);
        let mut input = file.as_bytes();
        let store = world.store();
        store.import_beside(&mut input, &options, at(0), &|| store.write_queued()).expect("it")
    };
    for ids in [ImportIds::Keep, ImportIds::Map] {
        for (first, older) in files.iter().enumerate() {
            let copy = World::new();
            assert_eq!(import(&copy, older, ids).problems, []);
            assert_eq!(copy.export(), **older);
            for (next, newer) in files.iter().enumerate() {
                let imported = import(&copy, newer, ids);
                assert_eq!(imported.problems, [], "{first} then {next}");
                let newest = if next > first { newer } else { older };
                if next >= first {
                    assert_eq!(copy.export(), **newest, "{first} then {next}");
                    break;
                }
                assert_eq!(copy.export(), **older, "{first} then {next}");
            }
        }
    }
    let open_end = restored.lines().take(2).collect::<Vec<_>>().join("\n");
    let problems = import(&World::new(), &open_end, ImportIds::Keep).problems;
    let is_named = |text: &str| text.contains("`deletedAt` needs a later version");
    assert!(problems.iter().any(|it| is_named(&it.message)), "{problems:?}");
    assert_eq!(id(1), one);
}
