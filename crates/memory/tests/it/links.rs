//! Links: making them, walking them, and what deletions do to them.

use waypost_memory::{Draft, Error, ErrorKind, LinkKind, Linked, Patch};

use crate::world::{World, at, id};

#[test]
fn a_link_is_made_once() {
    let mut world = World::new();
    let (a, b) = (world.add("a"), world.add("b"));
    let now = world.now();
    let first = world.store().link(a, b, LinkKind::CausedBy, now).expect("a link");
    let later = world.now();
    let again = world.store().link(a, b, LinkKind::CausedBy, later).expect("the same link");
    assert!(matches!(first, Linked::New(_)));
    assert_eq!(again, Linked::Existing(first.link()));
    assert!(matches!(world.store().link(a, b, LinkKind::PartOf, now), Ok(Linked::New(_))));
    assert!(matches!(world.store().link(b, a, LinkKind::CausedBy, now), Ok(Linked::New(_))));
    world.reopen();
    assert_eq!(world.store().links(a, 1).expect("links").len(), 3);
    assert!(world.store().unlink(a, b, LinkKind::PartOf, now).expect("it was there"));
    assert!(!world.store().unlink(a, b, LinkKind::PartOf, now).expect("it is gone"));
}

#[test]
fn a_link_needs_two_memories_that_are_there() {
    let mut world = World::new();
    let a = world.add("a");
    let now = world.now();
    let error = world.store().link(a, id(7), LinkKind::Updates, now).expect_err("7 is not there");
    assert!(matches!(error, Error::NotFound(it) if it == id(7)), "{error}");
    let error = world.store().link(id(8), a, LinkKind::Updates, now).expect_err("8 is not there");
    assert!(matches!(error, Error::NotFound(it) if it == id(8)), "{error}");
    let error = world.store().link(a, a, LinkKind::Updates, now).expect_err("it is itself");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(matches!(world.store().links(id(9), 1), Err(Error::NotFound(_))));
}

#[test]
fn a_walk_goes_breadth_first_through_a_cycle() {
    let mut world = World::new();
    let ids: Vec<_> = (0..5).map(|number| world.add(&format!("memory {number}"))).collect();
    let now = world.now();
    for (from, to) in [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)] {
        world.store().link(ids[from], ids[to], LinkKind::RelatedTo, now).expect("a link");
    }
    let walk = |depth| -> Vec<(u64, u64)> {
        let links = world.store().links(ids[0], depth).expect("links");
        links.iter().map(|link| (link.from.get(), link.to.get())).collect()
    };
    assert_eq!(walk(1), [(1, 2), (3, 1)]);
    assert_eq!(walk(2), [(1, 2), (3, 1), (2, 3), (3, 4)]);
    assert_eq!(walk(3), [(1, 2), (3, 1), (2, 3), (3, 4), (4, 5)]);
    assert_eq!(walk(16), walk(3));
}

#[test]
fn deleting_a_memory_removes_its_links_and_no_others() {
    let mut world = World::new();
    let (a, b, c) = (world.add("a"), world.add("b"), world.add("c"));
    let now = world.now();
    for (from, to) in [(a, b), (b, a), (b, c), (a, c)] {
        world.store().link(from, to, LinkKind::RelatedTo, now).expect("a link");
    }
    world.store().delete(b, now).expect("a deletion");
    let left = |world: &World| world.store().links(c, 4).expect("links").len();
    assert_eq!(left(&world), 1);
    world.reopen();
    assert_eq!(left(&world), 1);
    assert_eq!(world.store().status().expect("a status").links, 1);
}

#[test]
fn ten_thousand_links_on_one_memory_are_one_walk_and_one_deletion() {
    let mut world = World::new();
    let hub = id(1);
    let now = world.now();
    let mut lines = String::from("{\"format\":\"waypost-memory\",\"version\":1}\n");
    lines.push_str("{\"record\":\"memory\",\"id\":1,\"content\":\"hub\"}\n");
    for number in 2..10_002 {
        lines.extend([format!(
            "{{\"record\":\"memory\",\"id\":{number},\"content\":\"{number}\"}}\n"
        )]);
    }
    for number in 2..10_002 {
        let (from, to) = if number % 2 == 0 { (1, number) } else { (number, 1) };
        lines.extend([format!(
            "{{\"record\":\"link\",\"from\":{from},\"to\":{to},\"type\":\"part_of\"}}\n"
        )]);
    }
    let imported = world.store().import(&mut lines.as_bytes(), now).expect("an import");
    assert_eq!((imported.memories, imported.links), (10_001, 10_000));
    assert_eq!(world.store().links(hub, 2).expect("links").len(), 10_000);
    assert!(!world.found("hub").is_empty());
    world.store().delete(hub, now).expect("a deletion");
    assert_eq!(world.store().status().expect("a status").links, 0);
    let report = world.reopen();
    assert_eq!((report.state_rebuilt, report.index_rebuilt), (None, None));
    assert_eq!(world.store().status().expect("a status").links, 0);
}

#[test]
fn a_merge_moves_links_and_deletes_the_other_memory_in_one_change() {
    let mut world = World::new();
    let [into, from, one, two] = ["into", "from", "one", "two"].map(|it| world.add(it));
    let first = world.now();
    for (start, end, kind) in [
        (from, one, LinkKind::RelatedTo),
        (two, from, LinkKind::Updates),
        (from, two, LinkKind::PartOf),
        (into, two, LinkKind::PartOf),
        (into, from, LinkKind::Contradicts),
        (from, into, LinkKind::Updates),
    ] {
        world.store().link(start, end, kind, first).expect("a link");
    }
    let now = world.now();
    let patch = Patch::default().with_content("both").with_tags(["t"]);
    let merged = world.store().merge(into, from, patch, now).expect("a merge");
    assert_eq!((merged.content.as_str(), merged.version), ("both", 2));
    assert_eq!(merged.superseded_by, Some(two));
    assert_eq!(world.store().get(into).expect("it"), merged);
    assert!(matches!(world.store().get(from), Err(Error::NotFound(_))));
    let links = |world: &World| {
        let links = world.store().links(into, 1).expect("links");
        let mut links: Vec<_> =
            links.iter().map(|link| (link.from, link.kind, link.to, link.created_at)).collect();
        links.sort();
        links
    };
    let wanted = [
        (into, LinkKind::RelatedTo, one, first),
        (into, LinkKind::PartOf, two, first),
        (two, LinkKind::Updates, into, first),
    ];
    assert_eq!(links(&world), wanted);
    world.close();
    std::fs::remove_dir_all(world.folder("state")).expect("it goes");
    world.reopen();
    assert_eq!(links(&world), wanted);
    // Nothing to change is fine; the deleted memory can come back, without its links.
    let merged = world.store().merge(into, one, Patch::default(), now).expect("a merge");
    assert_eq!(merged.version, 2);
    assert_eq!(world.store().undelete(from, now).expect("it comes back").content, "from");
    assert_eq!(links(&world), wanted[1..]);
}

#[test]
fn a_merge_of_one_memory_of_two_spaces_or_with_an_invalid_patch_changes_nothing() {
    let mut world = World::new();
    let [one, two] = ["one", "two"].map(|it| world.add(it));
    let other = world.add_draft(Draft::new("other").with_space("other")).id;
    let before = world.export();
    let merge = |into, from, patch| world.store().merge(into, from, patch, at(1));
    let field = |it: Result<waypost_memory::Memory, Error>| match it {
        Err(Error::Invalid { field, .. }) => field,
        it => panic!("{it:?}"),
    };
    assert_eq!(field(merge(one, one, Patch::default())), "from");
    assert_eq!(field(merge(one, other, Patch::default())), "from");
    assert_eq!(field(merge(one, two, Patch::default().with_kind("Not A Kind"))), "type");
    assert!(matches!(merge(one, id(9), Patch::default()), Err(Error::NotFound(it)) if it == id(9)));
    assert!(matches!(merge(id(9), one, Patch::default()), Err(Error::NotFound(it)) if it == id(9)));
    assert_eq!(world.export(), before);
}
