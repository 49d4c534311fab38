//! Searches that ask about a time.

use waypost_memory::{Draft, MemoryId, SearchMode, SearchOptions, Timestamp};

use crate::world::World;

fn time(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

fn lexical() -> SearchOptions {
    SearchOptions::default().with_mode(SearchMode::Lexical)
}

/// The ids that a search finds, best first.
fn ids(world: &World, query: &str, options: &SearchOptions) -> Vec<MemoryId> {
    let found = world.store().search(query, options).expect("a valid search");
    found.hits.iter().map(|it| it.memory.id).collect()
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
