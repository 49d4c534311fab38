//! What a score depends on, and what it does not depend on.

use waypost_memory::{
    Draft, Filter, Hit, LinkKind, MemoryId, SearchMode, SearchOptions, SearchResult,
};

use crate::world::World;

fn search(world: &World, query: &str, options: &SearchOptions) -> SearchResult {
    world.store().search(query, options).expect("a valid search")
}

fn lexical() -> SearchOptions {
    SearchOptions::default().with_mode(SearchMode::Lexical)
}

/// The value of a hit by words, and its rank by them.
fn by_words(hit: &Hit) -> Option<(f64, Option<u32>)> {
    let signals = &hit.explanation.as_ref().expect("it was asked for").signals;
    let words = signals.iter().find(|signal| signal.name == "bm25")?;
    Some((words.value, words.rank))
}

/// Memories of which nearly all have one word, and some do not.
fn waypost(tickets: usize) -> (World, Vec<MemoryId>) {
    let mut world = World::new();
    let part = ["door", "lamp", "stove", "window", "roof", "stair", "floor"];
    for at in 0..tickets {
        let (one, other) = (part[at % 7], part[at / 7 % 7]);
        world.add(&format!("Ticket {at}: Waypost shows the {one} beside the {other}"));
    }
    let rooms = (0..10).map(|number| {
        let (one, other) = (part[number % 7], part[(number + 3) % 7]);
        world.add(&format!("Room {number} has a {one}, a {other}, and needs paint since the storm"))
    });
    let rooms = rooms.collect();
    (world, rooms)
}

#[test]
fn a_memory_without_the_word_is_below_those_with_it_however_common_it_is() {
    for tickets in [30, 100, 300, 990] {
        let (world, rooms) = waypost(tickets);
        for options in [lexical(), SearchOptions::default()] {
            let options = options.with_limit(1000).with_explain(true);
            let hits = search(&world, "Waypost", &options).hits;
            let is_room = |hit: &Hit| rooms.contains(&hit.memory.id);
            let below = hits.iter().position(is_room).unwrap_or(hits.len());
            assert!(
                below >= 10 && !hits[below..].iter().any(|it| !is_room(it)),
                "{tickets}: {below}"
            );
        }
    }
}

#[test]
fn ranks_in_an_explanation_follow_the_values_beside_them() {
    let (world, _) = waypost(60);
    for query in ["Waypost", "the stove of room 3", "ticket 7 window", "paint"] {
        let options = lexical().with_limit(1000).with_explain(true);
        let mut ranked: Vec<(f64, Option<u32>, MemoryId)> = search(&world, query, &options)
            .hits
            .iter()
            .filter_map(|hit| by_words(hit).map(|(value, rank)| (value, rank, hit.memory.id)))
            .collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.2.cmp(&b.2)));
        assert!(ranked.len() > 5);
        for (place, (value, rank, id)) in ranked.iter().enumerate() {
            let expected = (*value > 0.0).then_some(place as u32 + 1);
            assert_eq!(*rank, expected, "{query}: memory {id} has the value {value}");
        }
    }
}

#[test]
fn a_memory_alone_is_as_likely_an_answer_as_beside_unrelated_ones() {
    let unrelated = [
        "Quarterly tax forms are due in April",
        "The ferry leaves from the northern quay",
        "Basil wants a lot of sun",
        "Her brother repairs old clocks in a cellar",
        "A saucepan with a copper bottom",
        "The museum is closed on Mondays",
    ];
    for options in [lexical(), SearchOptions::default()] {
        let mut world = World::with_model();
        let keeper = world.add("The lighthouse keeper retires in spring");
        let mut scores = Vec::new();
        for more in 0..=unrelated.len() {
            if let Some(text) = more.checked_sub(1).map(|difference| unrelated[difference]) {
                world.add(text);
            }
            world.embed_all();
            let found = search(&world, "lighthouse keeper spring", &options);
            assert_eq!(found.hits[0].memory.id, keeper);
            scores.push(found.hits[0].score);
        }
        let (least, most) =
            scores.iter().fold((1.0_f64, 0.0_f64), |(low, high), it| (low.min(*it), high.max(*it)));
        assert!(most - least < 0.04 && least > 0.75, "{:?}: {scores:?}", options.mode);
    }
}

#[test]
fn names_count_only_in_memories_that_the_filters_let_through() {
    let mut world = World::new();
    let add = |world: &mut World, kind: &str, content: &str| {
        world.add_draft(Draft::new(content).with_kind(kind)).id
    };
    let decision = add(&mut world, "decision", "The harbour opens at six on weekdays");
    add(&mut world, "decision", "Bread is baked at night");
    let asked = |world: &World, filter: Filter| {
        let options = lexical().with_filter(filter);
        let found = search(world, "When does Maria open the harbour", &options);
        assert_eq!(found.hits[0].memory.id, decision);
        found.answerable
    };
    let decisions = || Filter::default().with_kinds(["decision"]);
    let nobody = asked(&world, decisions());
    let note = add(&mut world, "note", "Maria Stone likes boats");
    // The note changes document frequencies, and no more.
    let unknown = asked(&world, decisions());
    assert!((unknown - nobody).abs() < 0.1, "{unknown} {nobody}");
    assert!(asked(&world, Filter::default()) > unknown + 0.2);
    let now = world.now();
    world.store().link(decision, note, LinkKind::RelatedTo, now).expect("a link");
    assert!((asked(&world, decisions()) - unknown).abs() < 1e-9, "a link does not name her");
    add(&mut world, "decision", "Maria decides about paint");
    assert!(asked(&world, decisions()) > unknown + 0.2);
}
