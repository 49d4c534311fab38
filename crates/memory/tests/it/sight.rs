//! A search or a list that is limited to a space sees the links within that space, and no others.

use waypost_memory::{
    Draft, Filter, Hit, LinkKind, MemoryId, Reranker, SearchMode, SearchOptions, SearchResult,
    Timestamp, Vocabulary,
};

use crate::world::World;

const KINDS: &[LinkKind] = LinkKind::ALL;

/// More than any limit on the links of one memory.
const MANY: usize = 120;

/// The memories of the space `own`.
struct Own {
    old: MemoryId,
    new: MemoryId,
    hub: MemoryId,
    alone: MemoryId,
}

/// Two spaces. In `own`, `new` updates `old`, and `hub` is related to some others.
fn two_spaces() -> (World, Own, Vec<MemoryId>) {
    let mut world = World::with_model();
    let mut add =
        |space: &str, content: &str| world.add_draft(Draft::new(content).with_space(space)).id;
    let mut foreign: Vec<MemoryId> = (0..MANY)
        .map(|number| add("foreign", &format!("harbour {number} of another space")))
        .collect();
    let old = add("own", "The harbour opens at six");
    let new = add("own", "It opens at seven since the storm");
    let hub = add("own", "A list of places at the water");
    let places = ["The quay is a harbour, too", "A pier", "A jetty"].map(|it| add("own", it));
    let alone = add("own", "The harbour has a crane");
    foreign.push(add("foreign", "The harbour never opens"));
    let now = world.now();
    world.store().link(new, old, LinkKind::Updates, now).expect("a link");
    for place in places {
        world.store().link(place, hub, LinkKind::RelatedTo, now).expect("a link");
    }
    world.embed_all();
    (world, Own { old, new, hub, alone }, foreign)
}

fn all_options(now: Timestamp) -> Vec<SearchOptions> {
    let own = || {
        let filter = Filter::default().with_space("own");
        SearchOptions::default().with_filter(filter).with_explain(true)
    };
    let mut all = vec![own(), own().with_include_superseded(true), own().with_limit(1)];
    all.push(own().with_valid_at(now));
    all.push(own().with_as_of(now));
    let lexical = all.clone().into_iter().map(|item| item.with_mode(SearchMode::Lexical));
    all.extend(lexical.collect::<Vec<_>>());
    all
}

fn answers(world: &World, now: Timestamp) -> Vec<SearchResult> {
    let queries = ["harbour", "when does the harbour open", "storm", "list of places"];
    let asked = queries.iter().flat_map(|query| {
        let all = all_options(now);
        all.into_iter().map(|item| world.store().search(query, &item).expect("a valid search"))
    });
    asked.collect()
}

#[test]
fn links_to_another_space_change_nothing_in_a_search_of_one() {
    let (mut world, own, foreign) = two_spaces();
    let now = world.now();
    let before = answers(&world, now);
    let last = foreign[MANY];
    let store = world.store();
    let link = |from, to, kind| assert!(store.link(from, to, kind, now).is_ok());
    for other in &foreign {
        for kind in KINDS.iter().copied() {
            link(*other, own.hub, kind);
            link(own.alone, *other, kind);
        }
    }
    // A newer one updates each, and a cycle leads through another space.
    link(last, own.old, LinkKind::Updates);
    link(last, own.new, LinkKind::Updates);
    link(own.old, last, LinkKind::Updates);
    let later = world.now();
    assert_eq!(answers(&world, later), before);

    let seen = |id| world.store().links_seen(id, 16, Some("own"), None).expect("links").len();
    assert_eq!([own.hub, own.old, own.alone].map(seen), [3, 1, 0]);
    let filter = Filter::default().with_space("own");
    for list in
        [world.store().list(&filter, None, 10), world.store().list_newest(&filter, None, 10)]
    {
        let list = list.expect("a list");
        let superseded: Vec<_> = list.iter().filter_map(|item| item.superseded_by).collect();
        assert_eq!(superseded, [own.new]);
    }
    // Whoever sees both spaces sees all.
    assert_eq!(world.store().get(own.old).expect("it").superseded_by, Some(last));
    let everywhere = Filter::default();
    let list = world.store().list(&everywhere, None, 1000).expect("a list");
    assert!(list.iter().any(|it| it.superseded_by == Some(last)));
}

#[test]
fn an_update_within_the_space_holds_whatever_another_space_says() {
    let (mut world, own, foreign) = two_spaces();
    let now = world.now();
    let last = foreign[MANY];
    for (from, to) in [(last, own.old), (own.old, last), (last, own.new)] {
        world.store().link(from, to, LinkKind::Updates, now).expect("a link");
    }
    let filter = Filter::default().with_space("own");
    let options = SearchOptions::default().with_filter(filter).with_mode(SearchMode::Lexical);
    let hits = world.store().search("harbour opens at six", &options).expect("a search").hits;
    let place = |id| hits.iter().position(|hit| hit.memory.id == id).expect("it is found");
    assert!(place(own.new) < place(own.old));
    assert_eq!(hits[place(own.old)].memory.superseded_by, Some(own.new));
}

#[test]
fn limits_count_only_links_that_are_seen() {
    let mut world = World::new();
    let hub = world.add_draft(Draft::new("a list").with_space("own")).id;
    let others: Vec<MemoryId> = (0..MANY)
        .map(|number| {
            let kind = if number < MANY - 1 { "noise" } else { "signal" };
            world
                .add_draft(Draft::new(format!("place {number}")).with_space("own").with_kind(kind))
                .id
        })
        .collect();
    let wanted = others[MANY - 1];
    let now = world.now();
    for other in &others {
        world.store().link(hub, *other, LinkKind::RelatedTo, now).expect("a link");
    }
    // The only memory that the search covers comes last.
    let filter = Filter::default().with_kinds(["note", "signal"]);
    let options = SearchOptions::default().with_filter(filter).with_explain(true);
    let hits = world.store().search("place", &options).expect("a search").hits;
    let ids: Vec<MemoryId> = hits.iter().map(|hit| hit.memory.id).collect();
    assert_eq!(ids, [wanted, hub], "what is linked lends its score");
    let links = |hit: &Hit| hit.explanation.as_ref().expect("it was asked for").links.len();
    assert_eq!(links(&hits[1]), 100);
}

#[test]
fn a_cross_encoder_leaves_an_updated_memory_below_each_that_updates_it() {
    let mut world = World::new();
    let texts = ["red fox old", "red fox first update", "red fox second update", "red fox else"];
    let [old, one, two, other] = texts.map(|text| world.add(text));
    let now = world.now();
    for newer in [one, two] {
        world.store().link(newer, old, LinkKind::Updates, now).expect("a link");
    }
    for order in [[0, 1, 2, 3], [0, 2, 1, 3], [2, 0, 1, 3], [1, 0, 3, 2], [3, 0, 2, 1]] {
        let wanted: Vec<String> =
            order.iter().map(|number: &usize| texts[*number].to_owned()).collect();
        let score = move |_: &str, passages: &[&str]| {
            let place = |text: &&str| wanted.iter().position(|wanted| wanted == text).unwrap_or(9);
            Ok(passages.iter().map(|passage| -(place(passage) as f32)).collect())
        };
        let candidates = 32;
        let reranker = Reranker { candidates, score: std::sync::Arc::new(score) };
        world.store().set_reranker(Some(reranker));
        let found = world.found("red fox");
        let place = |id| found.iter().position(|found| *found == id).expect("it is found");
        assert!(place(old) > place(one) && place(old) > place(two), "{order:?}: {found:?}");
        assert_eq!(
            place(one) < place(two),
            order.iter().position(|it| *it == 1) < order.iter().position(|it| *it == 2)
        );
        assert!(found.contains(&other));
    }
}
