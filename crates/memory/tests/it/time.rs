//! Searches that ask about a time.

use proptest::prelude::*;
use waypost_memory::{
    Draft, Filter, Lifespan, LinkKind, MemoryId, Patch, SearchMode, SearchOptions, SearchParams,
    Timestamp,
};

use crate::world::{World, at, id, options, purge};

fn time(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

fn lexical() -> SearchOptions {
    SearchOptions::default().with_mode(SearchMode::Lexical)
}

/// The ids that a search finds, best first.
fn ids(world: &World, query: &str, options: &SearchOptions) -> Vec<MemoryId> {
    let found = world.store().search(query, options).expect("a valid search");
    found.hits.iter().map(|hit| hit.memory.id).collect()
}

fn add_at(world: &mut World, content: &str, created_at: &str) -> MemoryId {
    world.add_draft(Draft::new(content).with_created_at(time(created_at))).id
}

#[test]
fn last_week_depends_on_when_the_question_is_asked() {
    let mut world = World::new();
    let march = add_at(&mut world, "The team discussed releases, one.", "2026-03-04T10:00:00Z");
    let april = add_at(&mut world, "The team discussed releases, two.", "2026-04-08T10:00:00Z");
    let question = "what did the team discuss about releases last week?";
    let asked = |world: &World, now: &str| ids(world, question, &lexical().with_now(time(now)));
    for _ in 0..2 {
        assert_eq!(asked(&world, "2026-03-10T00:00:00Z"), [march, april]);
        assert_eq!(asked(&world, "2026-04-15T23:59:59Z"), [april, march]);
        // Without a time, "last week" is unknown: the lower id wins the tie.
        assert_eq!(ids(&world, question, &lexical()), [march, april]);
        // The days are in the snapshot of the index, too.
        assert_eq!(world.reopen().index_rebuilt, None);
    }
}

#[test]
fn a_memory_s_own_words_are_resolved_against_its_creation() {
    let mut world = World::new();
    let other = add_at(&mut world, "We met Ada at the lake this month.", "2025-12-28T10:00:00Z");
    let met = add_at(&mut world, "We met Ada at the lake yesterday.", "2026-01-01T10:00:00Z");
    let question = "who did we meet at the lake on 31 December 2025?";
    assert_eq!(ids(&world, question, &lexical()), [met, other]);
    let explained = lexical().with_explain(true);
    let found = world.store().search(question, &explained).expect("a valid search");
    let explanation = found.hits[0].explanation.as_ref().expect("it was asked for");
    assert!(explanation.signals.iter().any(|it| it.name == "dates" && it.value > 0.0));
}

#[test]
fn a_date_that_does_not_exist_or_is_far_away_changes_nothing() {
    let mut world = World::new();
    let first = add_at(&mut world, "Notes about the harvest, one.", "0000-01-01T00:00:00Z");
    let last = add_at(&mut world, "Notes about the harvest, two.", "9999-12-31T23:59:59.999Z");
    for now in [Timestamp::MIN, Timestamp::EPOCH, Timestamp::MAX] {
        for question in
            ["harvest on 30 February 2026", "harvest 9999 years ago", "harvest 13/40/2026"]
        {
            assert_eq!(
                ids(&world, question, &lexical().with_now(now)),
                [first, last],
                "{question}"
            );
        }
    }
    let today = lexical().with_now(Timestamp::MAX);
    assert_eq!(ids(&world, "harvest notes of today", &today), [last, first]);
}

fn known_at(world: &World, query: &str, time: i64) -> Vec<(MemoryId, String)> {
    let options = lexical().with_as_of(at(time)).with_limit(1000);
    let found = world.store().search(query, &options).expect("a valid search");
    let mut found: Vec<_> =
        found.hits.into_iter().map(|hit| (hit.memory.id, hit.memory.content)).collect();
    found.sort();
    found
}

#[test]
fn a_memory_is_found_by_the_words_that_it_had_then() {
    let world = World::new();
    let store = world.store();
    store.add(Draft::new("the port is 4000"), at(100)).expect("an add");
    store.add(Draft::new("the harbour is closed"), at(150)).expect("an add");
    store
        .update(id(1), Patch::default().with_content("the gate is 4747"), at(200))
        .expect("a change");
    store.delete(id(2), at(300)).expect("a deletion");
    for _ in 0..2 {
        assert_eq!(known_at(&world, "port", 99), []);
        assert_eq!(known_at(&world, "port", 100), [(id(1), "the port is 4000".to_owned())]);
        assert_eq!(known_at(&world, "port", 199), [(id(1), "the port is 4000".to_owned())]);
        assert_eq!(known_at(&world, "port", 200), []);
        assert_eq!(known_at(&world, "gate", 199), []);
        assert_eq!(known_at(&world, "gate", 200), [(id(1), "the gate is 4747".to_owned())]);
        assert_eq!(known_at(&world, "harbour", 299), [(id(2), "the harbour is closed".to_owned())]);
        assert_eq!(known_at(&world, "harbour", 300), []);
        assert_eq!(known_at(&world, "gate", i64::MAX), [(id(1), "the gate is 4747".to_owned())]);
        assert_eq!(known_at(&world, "gate", i64::MIN), []);
    }
    let found = store.search("port", &lexical().with_as_of(at(150))).expect("a search");
    let memory = &found.hits[0].memory;
    assert_eq!((memory.version, memory.updated_at, memory.embedded), (1, at(100), false));
    assert_eq!(found.mode, SearchMode::Lexical);
}

#[test]
fn removed_texts_are_counted_and_not_found() {
    let world = World::new();
    let store = world.store();
    for (content, space) in [("a port", "own"), ("a gate", "own"), ("a port too", "other")] {
        store.add(Draft::new(content).with_space(space), at(100)).expect("an add");
    }
    store
        .update(id(2), Patch::default().with_content("a port as well"), at(200))
        .expect("a change");
    store.delete(id(1), at(300)).expect("a deletion");
    store.delete(id(3), at(300)).expect("a deletion");
    let forgotten = |time: i64, space: &str| {
        let filter = Filter::default().with_space(space);
        let found = store.search("port", &lexical().with_as_of(at(time)).with_filter(filter));
        let found = found.expect("a search");
        (found.hits.len(), found.forgotten)
    };
    assert_eq!(forgotten(150, "own"), (1, 0));
    let versions = std::num::NonZero::<u32>::MIN;
    store.compact(purge().with_versions(versions)).expect("a compaction");
    assert_eq!(forgotten(150, "own"), (0, 2));
    assert_eq!(forgotten(250, "own"), (1, 1));
    assert_eq!(forgotten(350, "own"), (1, 0));
    assert_eq!(forgotten(50, "own"), (0, 0));
    assert_eq!(forgotten(150, "other"), (0, 1));
    assert_eq!(forgotten(150, "third"), (0, 0));
}

/// A store whose memory had one text after another at 100, 200, 300 and 400, and whose log has lost
/// some of them.
fn repaired_without(lost: &[&str], is_deleted: bool) -> World {
    let mut world = World::new();
    let store = world.store();
    store.add(Draft::new("On call is Anna."), at(100)).expect("an add");
    for (content, now) in [("Bert", 200), ("Carl", 300), ("Dora", 400)] {
        let patch = Patch::default().with_content(format!("On call is {content}."));
        store.update(id(1), patch, at(now)).expect("a change");
    }
    if is_deleted {
        store.delete(id(1), at(500)).expect("a deletion");
    }
    world.close();
    let segment = world.folder("log").join(format!("{:020}.log", 1));
    let mut bytes = std::fs::read(&segment).expect("a segment");
    for text in lost {
        let place = bytes.windows(text.len()).position(|window| window == text.as_bytes());
        bytes[place.expect("a text of the memory")] ^= 1;
    }
    std::fs::write(&segment, bytes).expect("a damaged segment");
    let known = waypost_memory::Reached { sequence: 0, id: 0 };
    let repaired = waypost_memory::repair(world.dir.path(), known).expect("a repair");
    assert!(repaired.lost.is_empty(), "{repaired:?}");
    world.reopen();
    world
}

#[test]
fn a_version_that_a_repair_lost_is_counted_and_no_older_one_takes_its_place() {
    let asked = |world: &World, time: i64| {
        let found = world.store().search("call", &lexical().with_as_of(at(time)));
        let found = found.expect("a search");
        let hit = found.hits.first().map(|hit| hit.memory.content.clone());
        (hit.unwrap_or_default(), found.forgotten)
    };
    let text = |name: &str| (format!("On call is {name}."), 0);
    let lost = (String::new(), 1);
    for is_deleted in [false, true] {
        let world = repaired_without(&["Bert"], is_deleted);
        assert_eq!(asked(&world, 99), (String::new(), 0));
        // Nothing says when the lost version began.
        assert_eq!(asked(&world, 200), lost);
        assert_eq!(asked(&world, 299), lost);
        assert_eq!(asked(&world, 300), text("Carl"));
        assert_eq!(asked(&world, 499), text("Dora"));
        assert_eq!(asked(&world, 500), if is_deleted { (String::new(), 0) } else { text("Dora") });
    }
    let world = repaired_without(&["Bert", "Carl"], false);
    assert_eq!((asked(&world, 350), asked(&world, 400)), (lost.clone(), text("Dora")));
    let world = repaired_without(&["Anna"], false);
    assert_eq!((asked(&world, 99), asked(&world, 150)), ((String::new(), 0), lost));
    assert_eq!(asked(&world, 200), text("Bert"));
}

#[test]
fn a_search_of_the_past_has_limits() {
    let mut world = World::new();
    let params =
        SearchParams { past_memories_max: 2, past_bytes_max: 24, ..SearchParams::default() };
    world.reopen_with(options().with_search(params));
    // "port" as the content and as the title that comes from it: 8 bytes.
    world.store().add(Draft::new("port"), at(100)).expect("an add");
    world.store().add(Draft::new("port 2 is"), at(100)).expect("an add");
    let search = |world: &World, filter: Filter| {
        let options = lexical().with_as_of(at(100)).with_filter(filter);
        world.store().search("port", &options).map(|search| search.hits.len())
    };
    let error = search(&world, Filter::default()).expect_err("26 bytes").to_string();
    assert!(error.contains("asOf"), "{error}");
    world.store().update(id(2), Patch::default().with_content("ports"), at(50)).expect("a change");
    assert_eq!(search(&world, Filter::default()).expect("18 bytes"), 2);
    world.store().add(Draft::new("p").with_space("other"), at(100)).expect("an add");
    assert!(search(&world, Filter::default()).is_err());
    assert_eq!(search(&world, Filter::default().with_space("default")).expect("two memories"), 2);
    let semantic = SearchOptions::default().with_mode(SearchMode::Semantic).with_as_of(at(100));
    let error = world.store().search("port", &semantic).expect_err("no vectors").to_string();
    assert!(error.contains("mode"), "{error}");
}

#[test]
fn an_update_is_in_force_from_its_time_on() {
    let world = World::new();
    let store = world.store();
    let port = |number: u32, created_at: i64| {
        let draft = Draft::new(format!("the port is {number}")).with_created_at(at(created_at));
        store.add(draft, at(1000)).expect("an add").into_memory().id
    };
    let (first, second, third) = (port(4000, 100), port(4747, 200), port(5000, 300));
    for (from, to) in [(second, first), (third, second)] {
        store.link(from, to, LinkKind::Updates, at(1000)).expect("a link");
    }
    let found = |time: i64| {
        let mut ids = ids(&world, "port", &lexical().with_valid_at(at(time)));
        ids.sort_unstable();
        ids
    };
    assert_eq!(found(50), [first]);
    assert_eq!(found(199), [first]);
    assert_eq!(found(200), [second]);
    assert_eq!(found(300), [third]);
    // Its own time is stronger than that of its creation.
    let patch = Patch::default().with_valid_from(at(250));
    store.update(second, patch, at(1000)).expect("a change");
    assert_eq!((found(249), found(250)), (vec![first], vec![second]));
    // An update replaces for good, and a memory of its own has only its own times.
    store.update(third, Patch::default().with_valid_until(at(400)), at(1000)).expect("a change");
    let lifespan = Lifespan::default().with_valid_from(at(350)).with_valid_until(at(360));
    let draft = Draft::new("a port for a day").with_lifespan(lifespan);
    let own = store.add(draft, at(1000)).expect("an add").into_memory().id;
    assert_eq!(found(349), [third]);
    assert_eq!(found(350), [third, own]);
    assert_eq!(found(360), [third]);
    assert_eq!(found(400), []);
    // What was known then did not have the links yet.
    let options = lexical().with_valid_at(at(50)).with_as_of(at(1000));
    assert_eq!(ids(&world, "port", &options), [first]);
    // In a cycle, nothing is replaced.
    store.link(first, third, LinkKind::Updates, at(1000)).expect("a link");
    assert_eq!(found(300), [first, second, third]);
}

#[test]
fn a_cycle_of_updates_replaces_nothing_however_long_it_is() {
    const LENGTH: u64 = 40;
    let world = World::new();
    let store = world.store();
    for number in 1..=LENGTH + 1 {
        let draft = Draft::new(format!("port {number}")).with_created_at(at(number as i64));
        store.add(draft, at(1000)).expect("an add");
    }
    for number in 1..=LENGTH {
        store
            .link(id(number), id(number % LENGTH + 1), LinkKind::Updates, at(1000))
            .expect("a link");
    }
    let found = |time: i64| {
        let options = lexical().with_valid_at(at(time)).with_limit(1000);
        ids(&world, "port", &options).len() as u64
    };
    assert_eq!(found(0), LENGTH + 1);
    // A memory outside of the cycle replaces one of it.
    store.link(id(LENGTH + 1), id(7), LinkKind::Updates, at(1000)).expect("a link");
    assert_eq!((found(LENGTH as i64), found(LENGTH as i64 + 1)), (LENGTH, LENGTH));
    let replaced = |time: i64, which: u64| {
        let options = lexical().with_valid_at(at(time)).with_limit(1000);
        !ids(&world, "port", &options).contains(&id(which))
    };
    assert!(replaced(0, LENGTH + 1) && replaced(1000, 7));
}

#[test]
fn only_memories_of_the_searched_space_replace_others() {
    let world = World::new();
    let store = world.store();
    let add = |content: &str, space: &str, created_at: i64| {
        let draft = Draft::new(content).with_space(space).with_created_at(at(created_at));
        store.add(draft, at(1000)).expect("an add").into_memory().id
    };
    let (mine, theirs) = (add("my port", "mine", 100), add("their port", "theirs", 200));
    store.link(theirs, mine, LinkKind::Updates, at(1000)).expect("a link");
    let found = |space: Option<&str>, time: i64| {
        let filter = Filter { space: space.map(str::to_owned), ..Filter::default() };
        ids(&world, "port", &lexical().with_filter(filter).with_valid_at(at(time)))
    };
    assert_eq!(found(None, 300), [theirs]);
    assert_eq!(found(None, 150), [mine]);
    assert_eq!(found(Some("mine"), 300), [mine]);
    assert_eq!(found(Some("theirs"), 150), [theirs]);
    // A cycle over another space is none in this one.
    let newer = add("my newer port", "mine", 150);
    for (from, to) in [(newer, mine), (mine, theirs), (theirs, newer)] {
        store.link(from, to, LinkKind::Updates, at(1000)).expect("a link");
    }
    assert_eq!(found(Some("mine"), 300), [newer]);
}

#[test]
fn what_had_expired_then_was_hidden_then() {
    let world = World::new();
    let store = world.store();
    let lifespan = Lifespan::default().with_expires_at(at(200));
    store.add(Draft::new("a port").with_lifespan(lifespan), at(100)).expect("an add");
    let found = |time: i64, now: i64| {
        let filter = Filter::default().with_now(at(now));
        ids(&world, "port", &lexical().with_as_of(at(time)).with_filter(filter))
    };
    assert_eq!(
        (found(199, 500), found(200, 500), found(500, 199)),
        (vec![id(1)], vec![], vec![id(1)])
    );
    assert_eq!(store.expire(at(500)).expect("upkeep"), 1);
    assert_eq!((found(199, 500), found(200, 500), found(500, 500)), (vec![id(1)], vec![], vec![]));
}

/// A memory of the property below.
struct Known {
    /// Each version's time and content.
    versions: Vec<(i64, String)>,
    deleted: Option<i64>,
}

/// A change of the history in it.
#[derive(Debug, Clone)]
enum Change {
    Add,
    Update(u8),
    Delete(u8),
    Reopen,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The time of each change is arbitrary: the clock may go back.
    #[test]
    fn the_past_is_the_last_version_that_claims_the_time(
        changes in prop::collection::vec((prop_oneof![
            3 => Just(Change::Add),
            3 => any::<u8>().prop_map(Change::Update),
            1 => any::<u8>().prop_map(Change::Delete),
            1 => Just(Change::Reopen),
        ], 0..30_i64), 1..24),
        looks in prop::collection::vec(-1..32_i64, 4),
    ) {
        let mut world = World::new();
        let mut model: Vec<Known> = Vec::new();
        for (count, (change, now)) in changes.into_iter().enumerate() {
            let live: Vec<usize> = (0..model.len()).filter(|it| model[*it].deleted.is_none()).collect();
            let nth = |which: u8| live.get(usize::from(which) % live.len().max(1)).copied();
            let content = format!("note {count}");
            match change {
                Change::Add => {
                    world.store().add(Draft::new(content.clone()), at(now)).expect("an add");
                    model.push(Known { versions: vec![(now, content)], deleted: None });
                }
                Change::Update(which) => if let Some(place) = nth(which) {
                    let patch = Patch::default().with_content(content.clone());
                    world.store().update(id(place as u64 + 1), patch, at(now)).expect("a change");
                    model[place].versions.push((now, content));
                },
                Change::Delete(which) => if let Some(place) = nth(which) {
                    world.store().delete(id(place as u64 + 1), at(now)).expect("a deletion");
                    model[place].deleted = Some(now);
                },
                Change::Reopen => drop(world.reopen()),
            }
        }
        for look in looks {
            let known = model.iter().enumerate().filter(|(_, it)| it.deleted.is_none_or(|it| it > look));
            let known = known.filter_map(|(place, it)| {
                let (_, content) = it.versions.iter().rev().find(|it| it.0 <= look)?;
                Some((id(place as u64 + 1), content.clone()))
            });
            let wanted: Vec<(MemoryId, String)> = known.collect();
            prop_assert_eq!(known_at(&world, "note", look), wanted);
        }
    }
}

#[test]
fn the_age_of_a_memory_counts_only_where_the_latest_is_asked_for() {
    let mut world = World::new();
    let old = add_at(&mut world, "Ada lives in Lisbon, one.", "2020-01-01T00:00:00Z");
    let new = add_at(&mut world, "Ada lives in Porto, two.", "2026-01-01T00:00:00Z");
    for question in ["where does Ada live", "where did Ada live", "knowing where Ada lives"] {
        assert_eq!(ids(&world, question, &lexical()), [old, new], "{question}");
        assert_eq!(ids(&world, question, &lexical().with_recency(true)), [new, old], "{question}");
    }
    for question in [
        "where does Ada live now?",
        "Ada's CURRENT home, where she lives",
        "the most recent place where Ada lives",
        "where does Ada live at the moment",
    ] {
        assert_eq!(ids(&world, question, &lexical()), [new, old], "{question}");
        assert_eq!(ids(&world, question, &lexical().with_recency(false)), [old, new], "{question}");
    }
    let found = world.store().search("Ada lives now", &lexical().with_explain(true)).expect("it");
    let recency = |place: usize| {
        let explanation = found.hits[place].explanation.as_ref().expect("it was asked for");
        explanation
            .signals
            .iter()
            .find(|signal| signal.name == "recency")
            .map(|signal| signal.value)
    };
    assert_eq!((recency(0), recency(1)), (Some(0.2), None));
}

#[test]
fn an_update_stays_above_a_newer_memory_that_it_replaces() {
    let mut world = World::new();
    let newer = add_at(&mut world, "the port is 4000, it says", "2026-01-01T00:00:00Z");
    let update = add_at(&mut world, "the port is 4747, it says", "2020-01-01T00:00:00Z");
    let now = world.now();
    world.store().link(update, newer, LinkKind::Updates, now).expect("a link");
    assert_eq!(ids(&world, "which port is it now?", &lexical()), [update, newer]);
}

#[test]
fn too_many_memories_are_rejected_before_a_text_is_read() {
    let mut world = World::new();
    let params = SearchParams { past_memories_max: 2, ..SearchParams::default() };
    world.reopen_with(options().with_search(params));
    for text in ["port one", "port two", "port three"] {
        world.store().add(Draft::new(text), at(100)).expect("an add");
    }
    // Reading a text would now fail: the log has lost them all.
    let segment = world.folder("log").join(format!("{:020}.log", 1));
    let bytes = std::fs::read(&segment).expect("a segment").len();
    std::fs::write(&segment, vec![0; bytes]).expect("a damaged segment");
    let search = |filter: Filter| {
        let options = lexical().with_as_of(at(100)).with_filter(filter);
        world.store().search("port", &options)
    };
    let error = search(Filter::default()).expect_err("three memories").to_string();
    assert!(error.starts_with("asOf needs more than 2 memories"), "{error}");
    assert!(search(Filter::default().with_space("other")).is_ok(), "no memory, no text");
}
