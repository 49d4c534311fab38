//! Memories that hold for a time, expire, or are pinned.

use std::collections::BTreeMap;

use proptest::prelude::*;
use waypost_memory::limits::EXPIRED_AT_ONCE_MAX;
use waypost_memory::{
    Added, Compaction, Draft, Error, Filter, Lifespan, LinkKind, MemoryId, Patch, SearchMode,
    SearchOptions, Timestamp,
};

use crate::world::{World, at, id};

const HOUR: i64 = 60 * 60 * 1000;

fn expiring(content: &str, expires_at: i64) -> Draft {
    Draft::new(content).with_lifespan(Lifespan::default().with_expires_at(at(expires_at)))
}

/// What a list and a search show at a time; both must agree.
fn shown(world: &World, query: &str, now: i64) -> Vec<MemoryId> {
    let filter = Filter::default().with_now(at(now));
    let listed = world.store().list(&filter, None, 1000).expect("a list");
    let listed: Vec<MemoryId> = listed.iter().map(|listed| listed.id).collect();
    let options = SearchOptions::default()
        .with_mode(SearchMode::Lexical)
        .with_limit(1000)
        .with_filter(filter);
    let found = world.store().search(query, &options).expect("a search");
    let mut found: Vec<MemoryId> = found.hits.iter().map(|hit| hit.memory.id).collect();
    found.sort_unstable();
    assert_eq!(found, listed);
    listed
}

#[test]
fn an_expired_memory_is_hidden_by_the_clock_and_deleted_by_upkeep() {
    let world = World::new();
    let store = world.store();
    for draft in [expiring("a red fox", 1000), Draft::new("a grey fox"), expiring("a fox", 3000)] {
        store.add(draft, at(0)).expect("an add");
    }
    assert_eq!(shown(&world, "fox", 999), [id(1), id(2), id(3)]);
    assert_eq!(shown(&world, "fox", 1000), [id(2), id(3)]);
    assert_eq!(shown(&world, "fox", 3000), [id(2)]);
    // A clock that is set back shows them again, as nothing was deleted.
    assert_eq!(shown(&world, "fox", 999), [id(1), id(2), id(3)]);
    assert!(store.has_expired(id(1), at(1000)) && !store.has_expired(id(1), at(999)));

    assert_eq!(store.expire(at(999)).expect("upkeep"), 0);
    assert_eq!(store.expire(at(1000)).expect("upkeep"), 1);
    assert!(matches!(store.get(id(1)), Err(Error::NotFound(_))));
    assert_eq!(shown(&world, "fox", 0), [id(2), id(3)]);
    let history = store.history(id(1)).expect("it stays");
    assert_eq!(history[0].ended_at, Some(at(1000)));
    assert_eq!(store.expire(at(5000)).expect("upkeep"), 1);
    assert_eq!(shown(&world, "fox", 0), [id(2)]);
}

#[test]
fn a_pinned_memory_does_not_expire_until_it_is_unpinned() {
    let world = World::new();
    let store = world.store();
    let lifespan = Lifespan::default().with_expires_at(at(1000)).with_pinned(true);
    store.add(Draft::new("the house rule").with_lifespan(lifespan), at(0)).expect("an add");
    store.add(Draft::new("another rule"), at(0)).expect("an add");
    assert_eq!(shown(&world, "rule", 2000), [id(1), id(2)]);
    assert_eq!(store.expire(at(2000)).expect("upkeep"), 0);
    let pinned = Filter::default().with_pinned(true);
    let ids = |filter: &Filter| -> Vec<MemoryId> {
        store.list(filter, None, 10).expect("a list").iter().map(|item| item.id).collect()
    };
    assert_eq!(ids(&pinned), [id(1)]);
    assert_eq!(ids(&Filter::default().with_pinned(false)), [id(2)]);
    let unpin = Patch::default().with_pinned(false);
    assert_eq!(store.update(id(1), unpin, at(2000)).expect("a change").version, 2);
    assert_eq!(shown(&world, "rule", 2000), [id(2)]);
    assert_eq!(store.expire(at(2000)).expect("upkeep"), 1);
}

#[test]
fn a_change_of_the_lifespan_is_a_version_and_can_be_taken_back() {
    let mut world = World::new();
    let lifespan = Lifespan::default()
        .with_valid_from(at(10))
        .with_valid_until(at(20))
        .with_expires_at(at(9 * HOUR));
    world.store().add(Draft::new("x").with_lifespan(lifespan), at(0)).expect("an add");
    let patch =
        Patch::default().with_valid_until(at(30)).with_valid_from(None).with_expires_at(None);
    let changed = world.store().update(id(1), patch.clone(), at(1)).expect("a change");
    assert_eq!(changed.lifespan(), Lifespan::default().with_valid_until(at(30)));
    assert_eq!(world.store().update(id(1), patch, at(2)).expect("no change").version, 2);
    let before = world.export();
    assert!(before.contains(r#""lifespan":{"validFrom":"1970-01-01T00:00:00.010Z""#), "{before}");
    world.reopen();
    assert_eq!(world.store().get(id(1)).expect("it").lifespan(), changed.lifespan());
    let versions = world.store().history(id(1)).expect("a history");
    assert_eq!(
        [versions[0].memory.lifespan(), versions[1].memory.lifespan()],
        [lifespan, changed.lifespan()]
    );
    // Also after everything derived is rebuilt, and in another store.
    world.close();
    std::fs::remove_dir_all(world.folder("state")).expect("it goes");
    std::fs::remove_dir_all(world.folder("index")).expect("it goes");
    world.reopen();
    assert_eq!(world.export(), before);
    let mut other = World::new();
    let imported = other.store().import(&mut before.as_bytes(), at(5)).expect("an import");
    assert_eq!((imported.memories, imported.problems.len()), (1, 0));
    assert_eq!(other.export(), before);
    let compaction = Compaction::default().with_versions(std::num::NonZero::<u32>::MIN);
    assert_eq!(other.store().compact(compaction).expect("it").purged_versions, 1);
    other.reopen();
    assert_eq!(other.store().get(id(1)).expect("it").lifespan(), changed.lifespan());
}

#[test]
fn times_in_the_wrong_order_are_refused() {
    let world = World::new();
    let store = world.store();
    let add = |lifespan| store.add(Draft::new("x").with_lifespan(lifespan), at(100));
    let refused = |outcome: waypost_memory::Result<Added>, field: &str| {
        let error = outcome.expect_err("it is refused").to_string();
        assert!(error.contains(field), "{error}");
    };
    let valid = Lifespan::default().with_valid_from(at(5));
    refused(add(valid.with_valid_until(at(5))), "validUntil");
    refused(add(Lifespan::default().with_expires_at(at(100))), "expiresAt");
    let far = valid.with_valid_from(Timestamp::MIN).with_valid_until(Timestamp::MAX);
    add(far.with_expires_at(Timestamp::MAX)).expect("any time will do");
    let back = Patch::default().with_valid_from(Timestamp::MAX);
    assert!(store.update(id(1), back, at(100)).is_err());
    let past = Patch::default().with_expires_at(at(99));
    assert!(store.update(id(1), past, at(100)).is_err());
}

#[test]
fn a_text_can_be_added_again_after_its_memory_expired() {
    let world = World::new();
    let store = world.store();
    store.add(expiring("the code is 4747", 1000), at(0)).expect("an add");
    let again = store.add(Draft::new("the code is 4747"), at(999)).expect("an add");
    assert!(matches!(again, Added::Existing(_)));
    let again = store.add(Draft::new("the code is 4747"), at(1000)).expect("an add");
    assert!(matches!(&again, Added::New(memory) if memory.id == id(2)), "{again:?}");
    assert_eq!(shown(&world, "code", 1000), [id(2)]);
    assert!(matches!(store.get(id(1)), Err(Error::NotFound(_))));
}

#[test]
fn a_cached_result_shows_no_memory_that_has_expired_since() {
    let world = World::new();
    let store = world.store();
    store.add(expiring("the port is 4747", 1000), at(0)).expect("an add");
    store.add(Draft::new("the port was 4000"), at(0)).expect("an add");
    for now in [0, 999, 1000, 1001, 999, 1000] {
        let wanted: &[MemoryId] = if now < 1000 { &[id(1), id(2)] } else { &[id(2)] };
        assert_eq!(shown(&world, "port", now), wanted, "{now}");
    }
}

#[test]
fn an_expired_memory_supersedes_and_contradicts_nothing() {
    let world = World::new();
    let store = world.store();
    store.add(Draft::new("the port is 4000"), at(0)).expect("an add");
    store.add(expiring("the port is 4747", 1000), at(0)).expect("an add");
    for kind in [LinkKind::Updates, LinkKind::Contradicts] {
        store.link(id(2), id(1), kind, at(0)).expect("a link");
    }
    let found = |now: i64| {
        let filter = Filter::default().with_now(at(now));
        let options = SearchOptions::default().with_filter(filter).with_explain(true);
        let found = store.search("port", &options).expect("a search");
        found.hits.into_iter().find(|hit| hit.memory.id == id(1)).expect("it is found")
    };
    let before = found(0);
    assert_eq!((before.memory.superseded_by, before.contradicts), (Some(id(2)), vec![id(2)]));
    let after = found(1000);
    assert_eq!((after.memory.superseded_by, after.contradicts), (None, Vec::new()));
    assert_eq!(after.explanation.expect("it was asked for").links, []);
    assert!(after.score > before.score);
}

#[test]
fn one_upkeep_deletes_a_bounded_number() {
    let world = World::new();
    let drafts = (0..=EXPIRED_AT_ONCE_MAX).map(|number| expiring(&format!("note {number}"), 1000));
    assert!(world.store().add_batch(drafts, at(0)).iter().all(Result::is_ok));
    assert_eq!(world.store().expire(at(1000)).expect("upkeep"), EXPIRED_AT_ONCE_MAX as u64);
    assert_eq!(world.store().expire(at(1000)).expect("upkeep"), 1);
    assert_eq!(world.store().expire(at(1000)).expect("upkeep"), 0);
}

#[test]
fn after_the_clock_has_skipped_ahead_nothing_is_deleted_for_a_day() {
    let world = World::new();
    world.store().add(expiring("a draft", 100 * HOUR), at(0)).expect("an add");
    assert_eq!(world.store().expire(at(0)).expect("upkeep"), 0);
    assert_eq!(world.store().expire(at(200 * HOUR)).expect("upkeep"), 0);
    assert_eq!(shown(&world, "draft", 200 * HOUR), []);
    // It was wrong, and is set right: nothing is lost.
    assert_eq!(world.store().expire(at(HOUR)).expect("upkeep"), 0);
    assert_eq!(shown(&world, "draft", HOUR), [id(1)]);
    // It was right.
    for hours in (200..225).step_by(12) {
        world.store().expire(at(hours * HOUR)).expect("upkeep");
    }
    assert!(matches!(world.store().get(id(1)), Err(Error::NotFound(_))));
}

#[test]
fn a_clock_that_skipped_ahead_while_the_store_was_closed_deletes_nothing_for_a_day() {
    let mut world = World::new();
    world.store().add(expiring("a draft", 100 * HOUR), at(0)).expect("an add");
    world.store().add(Draft::new("a note"), at(90 * HOUR)).expect("an add");
    world.reopen();
    assert_eq!(world.store().expire(at(200 * HOUR)).expect("upkeep"), 0);
    assert_eq!(world.store().expire(at(223 * HOUR)).expect("upkeep"), 0);
    assert_eq!(world.store().expire(at(224 * HOUR)).expect("upkeep"), 1);
    // Closed for less than a day.
    world.store().add(expiring("a draft", 230 * HOUR), at(224 * HOUR)).expect("an add");
    world.reopen();
    assert_eq!(world.store().expire(at(240 * HOUR)).expect("upkeep"), 1);
}

#[test]
fn an_imported_lifespan_that_is_wrong_is_rejected_by_its_name() {
    let header = r#"{"format":"waypost-memory","version":1}"#;
    for (lifespan, field) in [
        (r#"{"expiresAt":"2026-02-30T00:00:00Z"}"#, "lifespan/expiresAt"),
        (r#"{"validFrom":""}"#, "lifespan/validFrom"),
        (
            r#"{"validFrom":"2026-01-02T00:00:00Z","validUntil":"2026-01-01T00:00:00Z"}"#,
            "validUntil",
        ),
    ] {
        let world = World::new();
        let line = format!(r#"{{"record":"memory","id":1,"content":"x","lifespan":{lifespan}}}"#);
        let file = format!("{header}\n{line}\n");
        let imported = world.store().import(&mut file.as_bytes(), at(0)).expect("an import");
        let problem = imported.problems.first().expect("a problem");
        assert!(format!("{problem:?}").contains(field), "{problem:?}");
        assert_eq!(imported.memories, 0);
    }
}

/// A step of a random history.
#[derive(Debug, Clone)]
enum Step {
    Add { expires_in: Option<u8>, pinned: bool },
    Pin { which: u8, pinned: bool },
    Extend { which: u8, by: Option<u8> },
    Expire,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (prop::option::of(1..20_u8), any::<bool>())
            .prop_map(|(expires_in, pinned)| Step::Add { expires_in, pinned }),
        1 => (any::<u8>(), any::<bool>()).prop_map(|(which, pinned)| Step::Pin { which, pinned }),
        1 => (any::<u8>(), prop::option::of(1..20_u8)).prop_map(|(which, by)| Step::Extend { which, by }),
        2 => Just(Step::Expire),
        1 => Just(Step::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The clock of each step is arbitrary: it may go back.
    #[test]
    fn what_is_shown_depends_only_on_the_clock_and_on_what_was_deleted(
        steps in prop::collection::vec((step(), 0..40_i64), 1..20),
        looks in prop::collection::vec(0..60_i64, 4),
    ) {
        let mut world = World::new();
        let mut model: BTreeMap<MemoryId, (Option<i64>, bool)> = BTreeMap::new();
        let mut count = 0_u64;
        for (step, now) in steps {
            let nth = |which: u8, model: &BTreeMap<MemoryId, _>| {
                model.keys().nth(usize::from(which) % model.len().max(1)).copied()
            };
            match step {
                Step::Add { expires_in, pinned } => {
                    count += 1;
                    let expiry = expires_in.map(|it| now + i64::from(it));
                    let lifespan = Lifespan::default().with_expires_at(expiry.map(at)).with_pinned(pinned);
                    let draft = Draft::new(format!("note {count}")).with_lifespan(lifespan);
                    let added = world.store().add(draft, at(now)).expect("an add").into_memory();
                    model.insert(added.id, (expiry, pinned));
                }
                Step::Pin { which, pinned } => {
                    if let Some(id) = nth(which, &model) {
                        world.store().update(id, Patch::default().with_pinned(pinned), at(now)).expect("a change");
                        model.entry(id).and_modify(|it| it.1 = pinned);
                    }
                }
                Step::Extend { which, by } => {
                    if let Some(id) = nth(which, &model) {
                        let expiry = by.map(|it| now + i64::from(it));
                        world.store().update(id, Patch::default().with_expires_at(expiry.map(at)), at(now)).expect("a change");
                        model.entry(id).and_modify(|it| it.0 = expiry);
                    }
                }
                Step::Expire => {
                    let before = model.len();
                    model.retain(|_, (expiry, pinned)| *pinned || expiry.is_none_or(|it| it > now));
                    let deleted = world.store().expire(at(now)).expect("upkeep");
                    prop_assert_eq!(deleted, (before - model.len()) as u64);
                }
                Step::Reopen => drop(world.reopen()),
            }
            for look in &looks {
                let wanted: Vec<MemoryId> = model
                    .iter()
                    .filter(|(_, (expiry, pinned))| *pinned || expiry.is_none_or(|it| it > *look))
                    .map(|(id, _)| *id)
                    .collect();
                prop_assert_eq!(shown(&world, "note", *look), wanted);
            }
            for pinned in [true, false] {
                let wanted: Vec<MemoryId> =
                    model.iter().filter(|(_, it)| it.1 == pinned).map(|(id, _)| *id).collect();
                let filter = Filter::default().with_pinned(pinned);
                let listed = world.store().list(&filter, None, 1000).expect("a list");
                let listed: Vec<MemoryId> = listed.iter().map(|it| it.id).collect();
                prop_assert_eq!(listed, wanted);
            }
        }
    }
}
