//! Filters by tags and metadata, in searches and lists, from the index and from the state.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use proptest::prelude::*;
use waypost_memory::limits::{
    METADATA_FILTER_KEYS_MAX, METADATA_FILTER_VALUES_MAX, METADATA_KEY_CHARS_MAX, TAGS_MAX,
};
use waypost_memory::{
    Draft, Error, Filter, MemoryId, Metadata, MetadataRange, MetadataTest, Patch, Scalar,
    SearchOptions, Timestamp,
};

use crate::world::{World, at, float, options};

fn text(text: &str) -> Scalar {
    Scalar::String(text.to_owned())
}

fn number(number: f64) -> Scalar {
    float(number)
}

fn within(gte: impl Into<Option<Scalar>>, lte: impl Into<Option<Scalar>>) -> MetadataTest {
    MetadataTest::within(gte, lte)
}

fn one_of<const N: usize>(values: [Scalar; N]) -> MetadataTest {
    MetadataTest::OneOf(values.into())
}

fn metadata<const N: usize>(pairs: [(&str, Scalar); N]) -> Metadata {
    pairs.map(|(key, value)| (key.to_owned(), value)).into()
}

fn listed(world: &World, filter: &Filter) -> Vec<MemoryId> {
    let list = world.store().list(filter, None, 1000).expect("a list");
    list.into_iter().map(|item| item.id).collect()
}

#[test]
fn memories_that_a_filter_excludes_do_not_count_towards_the_limit() {
    let mut world = World::new();
    for count in 0..300 {
        let pairs = metadata([("source", text("wiki")), ("priority", number(f64::from(count)))]);
        let draft = Draft::new(format!("needle {count}")).with_tags(["noise"]);
        world.add_draft(draft.with_metadata(pairs));
    }
    let pairs = metadata([
        ("source", text("mail")),
        ("priority", Scalar::from(-3)),
        ("seen", text("2026-03-01T00:30:00+01:00")),
        ("open", Scalar::from(true)),
    ]);
    let draft = Draft::new(format!("{} needle", "padding ".repeat(50))).with_tags(["a", "b"]);
    let wanted = world.add_draft(draft.with_metadata(pairs)).id;
    let tested = |key: &str, test| Filter::default().with_metadata(key, test);
    let fitting = [
        Filter::default().with_tags_any(["b", "unknown"]),
        tested("source", MetadataTest::Is(text("mail"))),
        tested("source", one_of([text("mail"), text("chat")])),
        tested("priority", MetadataTest::Is(number(-3.0))),
        tested("priority", within(None, number(-0.5))),
        tested("priority", within(Scalar::from(-3), Scalar::from(-3))),
        tested("open", MetadataTest::Is(Scalar::from(true))),
        tested("seen", within(text("2026-02-28T23:30:00Z"), text("2026-02-28T23:30:00Z"))),
        tested("seen", within(text("2026-01-01T00:00:00Z"), None))
            .with_metadata("priority", within(None, number(0.0))),
        tested("seen", MetadataTest::Is(text("2026-03-01T00:30:00+01:00"))),
    ];
    for filter in fitting {
        let search = SearchOptions::default().with_limit(5).with_filter(filter.clone());
        let past = search.clone().with_as_of(at(i64::MAX));
        for options in [search, past] {
            let found = world.store().search("needle", &options).expect("a valid search").hits;
            let found: Vec<_> = found.iter().map(|found| found.memory.id).collect();
            assert_eq!(found, [wanted], "{options:?}");
        }
        assert_eq!(listed(&world, &filter), [wanted], "{filter:?}");
    }
    let others = [
        Filter::default().with_tags_any(["unknown"]),
        tested("unknown", within(number(0.0), None)),
        tested("open", MetadataTest::Is(Scalar::from(false))),
        tested("open", MetadataTest::Is(number(1.0))),
        tested("priority", MetadataTest::Is(text("-3"))),
        tested("seen", MetadataTest::Is(text("2026-02-28T23:30:00Z"))),
        tested("source", within(text("2000-01-01T00:00:00Z"), None)),
        tested("priority", within(number(299.5), None)),
        tested("source", MetadataTest::Is(text("mail"))).with_tags(["noise"]),
    ];
    for filter in others {
        assert_eq!(listed(&world, &filter), [], "{filter:?}");
    }
}

#[test]
fn a_search_of_the_past_filters_by_what_the_metadata_was_then() {
    let mut world = World::new();
    let draft = Draft::new("needle").with_metadata(metadata([("state", text("open"))]));
    let id = world.add_draft(draft).id;
    let then = world.now();
    let closed = Patch::default().with_metadata(metadata([("state", text("closed"))]));
    let now = world.now();
    world.store().update(id, closed, now).expect("a change");
    let count = |state: &str, time: Timestamp| {
        let filter = Filter::default().with_metadata("state", MetadataTest::Is(text(state)));
        let options = SearchOptions::default().with_filter(filter).with_as_of(time);
        world.store().search("needle", &options).expect("a search").hits.len()
    };
    assert_eq!((count("open", then), count("closed", then)), (1, 0));
    assert_eq!((count("open", now), count("closed", now)), (0, 1));
    let filter =
        |state: &str| Filter::default().with_metadata("state", MetadataTest::Is(text(state)));
    assert_eq!(listed(&world, &filter("open")), []);
    assert_eq!(listed(&world, &filter("closed")), [id]);
}

#[test]
fn the_limits_of_a_filter_are_those_that_are_documented() {
    let world = World::new();
    let checked = |filter: Filter| {
        let list = world.store().list(&filter, None, 1).map(|_| ());
        let options = SearchOptions::default().with_filter(filter);
        let search = world.store().search("x", &options).map(|_| ());
        let field = |result: Result<(), Error>| match result {
            Ok(()) => None,
            Err(Error::Invalid { field, .. }) => Some(field),
            Err(other) => panic!("{other}"),
        };
        let (list, search) = (field(list), field(search));
        assert_eq!(list, search);
        list
    };
    let tags =
        |count: usize| Filter::default().with_tags_any((0..count).map(|number| number.to_string()));
    assert_eq!(checked(tags(TAGS_MAX)), None);
    assert_eq!(checked(tags(TAGS_MAX + 1)).as_deref(), Some("tagsAny"));
    let keys = |count: usize| {
        let test = || MetadataTest::Is(text("x"));
        (0..count).fold(Filter::default(), |it, key| it.with_metadata(key.to_string(), test()))
    };
    assert_eq!(checked(keys(METADATA_FILTER_KEYS_MAX)), None);
    assert_eq!(checked(keys(METADATA_FILTER_KEYS_MAX + 1)).as_deref(), Some("metadata"));
    let key =
        |count| Filter::default().with_metadata("ü".repeat(count), MetadataTest::Is(text("")));
    assert_eq!(checked(key(METADATA_KEY_CHARS_MAX)), None);
    assert!(checked(key(METADATA_KEY_CHARS_MAX + 1)).is_some());
    assert!(checked(key(0)).is_some());
    let test = |test| checked(Filter::default().with_metadata("k", test));
    let values = |count: usize| MetadataTest::OneOf(vec![text("x"); count]);
    assert_eq!(test(values(METADATA_FILTER_VALUES_MAX)), None);
    assert_eq!(test(one_of([number(0.5), Scalar::from(1)])), None);
    assert_eq!(test(within(number(0.5), Scalar::from(1))), None);
    for wrong in [
        values(METADATA_FILTER_VALUES_MAX + 1),
        values(0),
        one_of([text("1"), Scalar::from(1)]),
        one_of([Scalar::from(true), Scalar::from(1)]),
        within(None, None),
        within(text("yesterday"), None),
        within(None, Scalar::from(true)),
        within(number(1.5), Scalar::from(1)),
        within(number(1.5), text("2026-01-01T00:00:00Z")),
        within(text("2026-01-02T00:00:00Z"), text("2026-01-01T00:00:00Z")),
    ] {
        assert_eq!(test(wrong.clone()).as_deref(), Some("metadata/k"), "{wrong:?}");
    }
}

#[test]
fn a_list_of_an_incomplete_index_filters_the_same() {
    let mut world = World::new();
    // More than opening a store indexes at once.
    let drafts = (0..2_100).map(|count| {
        let pairs = metadata([("count", number(f64::from(count))), ("kind", text("x"))]);
        let draft = Draft::new(format!("word {count}")).with_tags([format!("t{}", count % 7)]);
        draft.with_metadata(pairs)
    });
    let now = world.now();
    assert!(world.store().add_batch(drafts, now).iter().all(Result::is_ok));
    world.close();
    std::fs::remove_dir_all(world.folder("index")).expect("it goes");
    world.reopen_with(options().with_index_later(true));
    let filter = Filter::default()
        .with_tags_any(["t1", "t3"])
        .with_metadata("kind", MetadataTest::Is(text("x")))
        .with_metadata("count", within(number(300.0), number(900.0)));
    assert!(world.store().index_progress().is_some());
    let of_state = listed(&world, &filter);
    let newest = |world: &World| {
        let page = |after| world.store().list_newest(&filter, after, 70).expect("a list");
        let first = page(Some(MemoryId::new(2_000).expect("an id")));
        let next = page(first.last().map(|it| it.id));
        first.into_iter().chain(next).collect::<Vec<_>>()
    };
    let (newest_of_state, counts) = (newest(&world), world.store().count(&filter).expect("counts"));
    while world.store().build_index().expect("an index").is_some() {}
    assert_eq!(world.store().index_progress(), None);
    assert_eq!(listed(&world, &filter), of_state);
    assert_eq!(newest(&world), newest_of_state);
    assert_eq!(world.store().count(&filter).expect("counts"), counts);
    let wanted = (300..=900).filter(|number| [1, 3].contains(&(number % 7))).count();
    assert_eq!(of_state.len(), wanted);
    assert_eq!((counts.memories, counts.by_tag.len()), (wanted as u64, 2));
    assert_eq!(newest_of_state.len(), 140);
}

fn value() -> impl Strategy<Value = Scalar> {
    prop_oneof![
        (-2..3_i64).prop_map(Scalar::from),
        (-4..6_i32).prop_map(|it| number(f64::from(it) / 2.0)),
        prop::sample::select(vec![i64::MAX, i64::MIN, 1 << 53]).prop_map(Scalar::from),
        any::<bool>().prop_map(Scalar::from),
        prop::sample::select(vec!["", "a", "b", "1"]).prop_map(text),
        (0..4_u8).prop_map(|it| text(&format!("2026-01-01T0{it}:00:00+0{it}:00"))),
        (0..4_u8).prop_map(|it| text(&format!("2026-01-0{}T00:00:00Z", it + 1))),
    ]
}

fn pairs() -> impl Strategy<Value = Metadata> {
    let key = prop::sample::select(vec!["k", "l", "m"]).prop_map(str::to_owned);
    prop::collection::btree_map(key, value(), 0..4)
}

/// The numbers that a value and another one are, if both are.
fn numbers(one: &Scalar, other: &Scalar) -> Option<Ordering> {
    let exact = |it: &Scalar| match it {
        // Every float of the strategy is a half.
        Scalar::Number(it) => match it.as_i64() {
            Some(whole) => Some(i128::from(whole) * 2),
            None => it.as_f64().map(|number| (number * 2.0) as i128),
        },
        _ => None,
    };
    Some(exact(one)?.cmp(&exact(other)?))
}

fn times(one: &Scalar, other: &Scalar) -> Option<Ordering> {
    let time = |scalar: &Scalar| match scalar {
        Scalar::String(text) => text.parse::<Timestamp>().ok(),
        _ => None,
    };
    Some(time(one)?.cmp(&time(other)?))
}

fn passes(value: &Scalar, test: &MetadataTest) -> bool {
    let order = |other| numbers(value, other).or_else(|| times(value, other));
    match test {
        MetadataTest::OneOf(values) => values
            .iter()
            .any(|other| other == value || numbers(value, other) == Some(Ordering::Equal)),
        MetadataTest::Is(other) => other == value || numbers(value, other) == Some(Ordering::Equal),
        MetadataTest::Within(MetadataRange { gte, lte }) => {
            gte.as_ref().is_none_or(|gte| order(gte).is_some_and(Ordering::is_ge))
                && lte.as_ref().is_none_or(|lte| order(lte).is_some_and(Ordering::is_le))
        }
    }
}

fn test() -> impl Strategy<Value = MetadataTest> {
    prop_oneof![
        value().prop_map(MetadataTest::Is),
        prop::collection::vec((-2..3_i64).prop_map(Scalar::from), 1..4)
            .prop_map(MetadataTest::OneOf),
        (value(), value(), 0..3_u8).prop_map(|(gte, lte, which)| within(
            (which != 1).then_some(gte),
            (which != 2).then_some(lte)
        )),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn the_index_and_the_saved_index_filter_like_a_comparison_of_each_value(
        memories in prop::collection::vec((pairs(), prop::collection::btree_set("[abc]", 0..3)), 1..30),
        patched in pairs(),
        tests in prop::collection::vec(prop::collection::btree_map("[klmn]", test(), 0..3), 1..12),
        tags in prop::collection::btree_set("[abcd]", 0..3),
    ) {
        let mut world = World::new();
        let mut metadata: BTreeMap<MemoryId, _> = BTreeMap::new();
        for (count, (pairs, tags)) in memories.into_iter().enumerate() {
            let draft = Draft::new(format!("word {count}")).with_tags(tags.clone());
            let id = world.add_draft(draft.with_metadata(pairs.clone())).id;
            metadata.insert(id, (pairs, tags));
        }
        let first = *metadata.keys().next().expect("a memory");
        let now = world.now();
        let patch = Patch::default().with_metadata(patched.clone());
        world.store().update(first, patch, now).expect("a change");
        metadata.get_mut(&first).expect("it").0 = patched;
        let filters: Vec<Filter> = tests.iter().map(|tests| {
            let filter = Filter::default().with_tags_any(tags.clone());
            tests.iter().fold(filter, |it, (key, test)| it.with_metadata(key, test.clone()))
        }).collect();
        let wanted: Vec<Vec<MemoryId>> = tests.iter().map(|tests| {
            let fits = |(own, own_tags): &(Metadata, std::collections::BTreeSet<String>)| {
                (tags.is_empty() || !tags.is_disjoint(own_tags)) && tests.iter()
                    .all(|(key, test)| own.get(key).is_some_and(|it| passes(it, test)))
            };
            metadata.iter().filter(|(_, it)| fits(it)).map(|(id, _)| *id).collect()
        }).collect();
        let compare = |world: &World| {
            for (filter, wanted) in filters.iter().zip(&wanted) {
                match world.store().list(filter, None, 1000) {
                    Ok(list) => {
                        let list: Vec<_> = list.into_iter().map(|it| it.id).collect();
                        prop_assert_eq!(&list, wanted, "{:?}", filter);
                    }
                    // A range that is empty or over no order is refused, and nothing would be in it.
                    Err(Error::Invalid { .. }) => prop_assert!(wanted.is_empty(), "{:?}", filter),
                    Err(other) => panic!("{other}"),
                }
            }
            Ok(())
        };
        compare(&world)?;
        prop_assert_eq!(world.reopen().index_rebuilt, None);
        compare(&world)?;
    }
}
