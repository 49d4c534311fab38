//! Lists with the newest first, and counts.

use proptest::prelude::*;
use waypost_memory::{Compaction, Draft, Error, Filter, Lifespan, MemoryId};

use crate::world::{World, at, id};

fn pages(world: &World, filter: &Filter, limit: usize) -> Vec<MemoryId> {
    let mut all: Vec<MemoryId> = Vec::new();
    loop {
        let after = all.last().copied();
        let page = world.store().list_newest(filter, after, limit).expect("a page");
        if page.is_empty() {
            return all;
        }
        all.extend(page.iter().map(|page| page.id));
    }
}

#[test]
fn pages_stay_in_place_while_memories_are_added_and_deleted() {
    let mut world = World::new();
    for number in 1..=9 {
        let draft = Draft::new(format!("memory {number}")).with_created_at(at(number / 3 * 10));
        world.add_draft(draft);
    }
    let all = Filter::default();
    let ids = |numbers: &[u64]| numbers.iter().map(|number| id(*number)).collect::<Vec<_>>();
    assert_eq!(pages(&world, &all, 100), ids(&[9, 8, 7, 6, 5, 4, 3, 2, 1]));
    let page = |after: u64| {
        let page = world.store().list_newest(&all, Some(id(after)), 2).expect("a page");
        page.iter().map(|page| page.id).collect::<Vec<_>>()
    };
    assert_eq!(page(8), ids(&[7, 6]));
    // A newer memory comes before the place, an older one after it; the last one of a page may go.
    world.store().add(Draft::new("newer").with_created_at(at(99)), at(0)).expect("an add");
    world.store().delete(id(6), at(1)).expect("a deletion");
    world.store().compact(Compaction::default().with_purge(true)).expect("a compaction");
    assert_eq!(page(6), ids(&[5, 4]));
    world.store().add(Draft::new("older").with_created_at(at(5)), at(0)).expect("an add");
    assert_eq!(page(3), ids(&[11, 2]));
    let refused = |filter: &Filter, after: u64| {
        let page = world.store().list_newest(filter, Some(id(after)), 2);
        assert!(matches!(page, Err(Error::Invalid { field, .. }) if field == "after"), "{after}");
    };
    refused(&all, 99);
    refused(&Filter::default().with_space("other"), 3);
    assert!(world.store().list_newest(&all, None, 0).is_err());
    assert!(world.store().list_newest(&all, None, 1001).is_err());
}

#[test]
fn counts_are_those_of_the_filter_without_what_has_expired() {
    let mut world = World::new();
    let draft = |text: &str, kind: &str| Draft::new(text).with_kind(kind);
    world.add_draft(draft("a", "fact").with_tags(["x", "y"]));
    world.add_draft(draft("b", "fact").with_tags(["y"]).with_space("team"));
    let later = world.now();
    let expires = Lifespan::default().with_expires_at(at(later.as_millis() + 2_000));
    world.add_draft(draft("c", "note").with_tags(["z"]).with_lifespan(expires));
    let named = |pairs: &[(&str, u64)]| {
        pairs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    };
    let counts = world.store().count(&Filter::default()).expect("counts");
    assert_eq!((counts.memories, counts.by_kind), (3, named(&[("fact", 2), ("note", 1)])));
    assert_eq!(counts.by_tag, named(&[("x", 1), ("y", 2), ("z", 1)]));
    assert_eq!(counts.by_space, named(&[("default", 2), ("team", 1)]));
    let now = at(later.as_millis() + 2_000);
    let counts = world.store().count(&Filter::default().with_now(now)).expect("counts");
    assert_eq!((counts.memories, counts.by_tag), (2, named(&[("x", 1), ("y", 2)])));
    let team = Filter::default().with_space("team").with_tags_any(["y"]);
    let counts = world.store().count(&team).expect("counts");
    assert_eq!((counts.memories, counts.by_space), (1, named(&[("team", 1)])));
    assert_eq!(counts.by_kind, named(&[("fact", 1)]));
    let none = world.store().count(&Filter::default().with_space("nowhere")).expect("counts");
    assert_eq!(none, waypost_memory::Counts::default());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn pages_of_any_size_are_the_sorted_list(
        times in prop::collection::vec((0..6_i64, 0..2_u8), 1..40),
        limit in 1..12_usize,
    ) {
        let mut world = World::new();
        for (number, (time, space)) in times.iter().enumerate() {
            let draft = Draft::new(format!("memory {number}")).with_space(format!("s{space}"));
            world.add_draft(draft.with_created_at(at(*time)));
        }
        let filters = [Filter::default(), Filter::default().with_space("s0").with_since(at(2))];
        for filter in filters {
            let mut wanted = world.store().list(&filter, None, 1000).expect("a list");
            wanted.sort_by_key(|it| std::cmp::Reverse((it.created_at, it.id)));
            let wanted: Vec<_> = wanted.iter().map(|it| it.id).collect();
            prop_assert_eq!(pages(&world, &filter, limit), wanted);
            let counts = world.store().count(&filter).expect("counts");
            prop_assert_eq!(counts.memories as usize, pages(&world, &filter, 1000).len());
        }
    }
}
