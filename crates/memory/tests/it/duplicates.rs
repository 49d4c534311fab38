//! Nothing is stored twice.

use waypost_memory::{Added, Draft, Patch};

use crate::world::World;

fn draft() -> Draft {
    draft_of("c")
}

fn draft_of(content: &str) -> Draft {
    without_session(content).with_session("x")
}

fn without_session(content: &str) -> Draft {
    Draft::new(content).with_title("T").with_kind("k").with_space("s")
}

#[test]
fn the_same_title_content_kind_space_and_session_is_one_memory() {
    let mut world = World::new();
    let first = world.add_draft(draft());
    let now = world.now();
    let tagged = draft().with_tags(["other"]);
    let again = world.store().add(tagged, now).expect("a valid draft");
    assert_eq!(again, Added::Existing(first));
    let unlike = [
        draft().with_title("U"),
        draft_of("d"),
        draft().with_kind("l"),
        draft().with_space("t"),
        draft().with_session("y"),
        without_session("c"),
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
    let into_one = Patch::default().with_content("one");
    world.store().update(second, into_one, now).expect("two may become one");
    let add = |content: &str| world.store().add(Draft::new(content), now).expect("valid");
    assert!(matches!(add("one"), Added::Existing(it) if it.id == first));
    world.store().delete(first, now).expect("a deletion");
    assert!(matches!(add("one"), Added::Existing(it) if it.id == second));
    assert!(matches!(add("two"), Added::New(_)), "nothing says two any more");
    world.store().delete(second, now).expect("a deletion");
    assert!(matches!(add("one"), Added::New(_)));
}
