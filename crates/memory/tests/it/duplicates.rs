//! Nothing is stored twice.

use waypost_memory::{Added, Draft, Patch};

use crate::world::World;

fn draft() -> Draft {
    Draft {
        title: Some("T".to_owned()),
        kind: Some("k".to_owned()),
        space: Some("s".to_owned()),
        session: Some("x".to_owned()),
        ..Draft::new("c")
    }
}

#[test]
fn the_same_title_content_kind_space_and_session_is_one_memory() {
    let mut world = World::new();
    let first = world.add_draft(draft());
    let now = world.now();
    let tagged = Draft { tags: vec!["other".to_owned()], ..draft() };
    let again = world.store().add(tagged, now).expect("a valid draft");
    assert_eq!(again, Added::Existing(first));
    let unlike = [
        Draft { title: Some("U".to_owned()), ..draft() },
        Draft { content: "d".to_owned(), ..draft() },
        Draft { kind: Some("l".to_owned()), ..draft() },
        Draft { space: Some("t".to_owned()), ..draft() },
        Draft { session: Some("y".to_owned()), ..draft() },
        Draft { session: None, ..draft() },
    ];
    for (number, draft) in unlike.into_iter().enumerate() {
        assert_eq!(world.add_draft(draft).id.get(), number as u64 + 2);
    }
}

#[test]
fn a_batch_sees_its_own_adds() {
    let mut world = World::new();
    let now = world.now();
    let drafts = vec![draft(), Draft::new(""), draft(), Draft::new("else")];
    let results = world.store().add_batch(drafts, now);
    assert!(matches!(results[0], Ok(Added::New(_))));
    assert!(results[1].is_err(), "one that fails does not stop the others");
    assert!(matches!(results[2], Ok(Added::Existing(_))));
    assert!(matches!(&results[3], Ok(Added::New(it)) if it.id.get() == 2));
}

#[test]
fn changes_and_deletions_keep_the_hashes_right() {
    let mut world = World::new();
    let first = world.add("one");
    let second = world.add("two");
    let now = world.now();
    let into_one = Patch { content: Some("one".to_owned()), ..Patch::default() };
    world.store().update(second, into_one, now).expect("two may become one");
    let add = |content: &str| world.store().add(Draft::new(content), now).expect("valid");
    assert!(matches!(add("one"), Added::Existing(it) if it.id == first));
    world.store().delete(first, now).expect("a deletion");
    assert!(matches!(add("one"), Added::Existing(it) if it.id == second));
    assert!(matches!(add("two"), Added::New(_)), "nothing says two any more");
    world.store().delete(second, now).expect("a deletion");
    assert!(matches!(add("one"), Added::New(_)));
}
