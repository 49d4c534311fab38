//! Notes about changes: there with their change, until they have been told.

use waypost_memory::{Addition, Draft, LinkKind, Notice};

use crate::crash::image;
use crate::world::{World, open, purge};

fn noted(content: &str, note: &str) -> Addition {
    Addition::from(Draft::new(content)).with_note(note.as_bytes().to_vec())
}

/// The notes that wait: as text, with the memory's title.
fn waiting(world: &World) -> Vec<(String, Option<String>)> {
    let text = |notice: Notice| {
        let note = String::from_utf8(notice.note).expect("text");
        (note, notice.added.map(|added| added.title))
    };
    world.store().notices(100).into_iter().map(text).collect()
}

fn both(note: &str, title: &str) -> (String, Option<String>) {
    (note.to_owned(), Some(title.to_owned()))
}

#[test]
fn a_new_memory_and_a_new_link_have_their_notes_and_nothing_else_has_one() {
    let mut world = World::new();
    let one = world.add_draft(noted("one", "first"));
    let two = world.add("without a note");
    let now = world.now();
    let again = world.store().add(noted("one", "again"), now).expect("it is there");
    assert_eq!(again.memory().id, one.id);
    for _ in 0..2 {
        let note = Some(b"linked".to_vec());
        world.store().link_noted(one.id, two, LinkKind::PartOf, now, note).expect("both are there");
    }
    let refused = world.store().add(noted("", "refused"), now);
    assert!(refused.is_err());
    assert_eq!(waiting(&world), [both("first", "one"), ("linked".to_owned(), None)]);
    let notices = world.store().notices(1);
    assert_eq!(notices.len(), 1);
    let added = notices[0].added.as_ref().expect("a memory");
    assert_eq!((added.id, &*added.kind, &*added.space), (one.id, "note", "default"));
}

#[test]
fn what_was_not_told_waits_after_a_crash_and_what_was_written_down_as_told_does_not() {
    let mut world = World::new();
    for name in ["one", "two", "three"] {
        world.add_draft(noted(name, name));
    }
    let notices = world.store().notices(100);
    world.store().mark_published(notices[0].sequence);
    assert_eq!(waiting(&world).len(), 2);
    // A crash before it was written down: it waits again, under the same sequence.
    let after_a_crash = |world: &World| {
        let folder = image(world.dir.path());
        let (store, _) = open(folder.path());
        store.notices(100)
    };
    assert_eq!(after_a_crash(&world), notices);
    assert!(world.store().maintain().expect("upkeep").told);
    assert!(!world.store().maintain().expect("upkeep").told, "once is enough");
    assert_eq!(after_a_crash(&world), notices[1..]);
    // The state may vanish: the log alone says it.
    world.close();
    std::fs::remove_dir_all(world.folder("state")).expect("it is there");
    world.reopen();
    assert_eq!(world.store().notices(100), notices[1..]);
}

#[test]
fn a_compaction_keeps_unpublished_notices_and_drops_the_rest() {
    let mut world = World::new();
    let told = world.add_draft(noted("one", "a-told-note"));
    let gone = world.add_draft(noted("a secret title", "kept"));
    let (one, two) = (told.id, gone.id);
    let now = world.now();
    let note = Some(b"of a link that is gone".to_vec());
    world.store().link_noted(one, two, LinkKind::Updates, now, note).expect("both are there");
    world.store().delete(two, now).expect("it is there");
    let first = world.store().notices(1)[0].sequence;
    world.store().mark_published(first);
    world.store().maintain().expect("upkeep");
    world.store().compact(purge()).expect("a compaction");
    // The text is gone for good; that there was a memory is told all the same.
    let expected = [both("kept", ""), ("of a link that is gone".to_owned(), None)];
    assert_eq!(waiting(&world), expected);
    world.reopen();
    assert_eq!(waiting(&world), expected);
    let last = world.store().notices(100).last().expect("two wait").sequence;
    world.store().mark_published(last);
    world.store().maintain().expect("upkeep");
    world.store().compact(purge()).expect("a compaction");
    world.close();
    for entry in std::fs::read_dir(world.folder("log")).expect("it is there") {
        let bytes = std::fs::read(entry.expect("an entry").path()).expect("it can be read");
        let has = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
        assert!(!has(b"a-told-note") && !has(b"of a link"), "a note stays that was told");
    }
    world.reopen();
    assert_eq!(waiting(&world), []);
}

#[test]
fn an_import_has_no_notes() {
    let mut world = World::new();
    world.add_draft(noted("one", "first"));
    let export = world.export();
    let mut other = World::new();
    let now = other.now();
    other.store().import(&mut export.as_bytes(), now).expect("an import");
    assert_eq!(waiting(&other), []);
}

#[test]
fn whoever_listens_hears_of_each_note_once_it_is_there() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    let mut world = World::new();
    let heard = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&heard);
    world.store().when_noted(Box::new(move || {
        counter.fetch_add(1, Ordering::Relaxed);
    }));
    world.add("without a note");
    assert_eq!(heard.load(Ordering::Relaxed), 0);
    world.add_draft(noted("one", "first"));
    assert_eq!(heard.load(Ordering::Relaxed), 1);
}
