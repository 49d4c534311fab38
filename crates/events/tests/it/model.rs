//! The whole bus against a plain list.

use std::collections::BTreeMap;

use waypost_events::{Bus, Error, Event, Pattern, Query, Retention};

use crate::world::{NOW, Random, at, data, draft, folder, options};

const KINDS: [&str; 6] = ["a:x", "a:y", "a-b:x", "ab:x", "b:x", "b:rare"];
const PATTERNS: [&str; 9] = ["*", "a*", "a:*", "a:x", "ab:*", "b:rare", "b:*", "c:*", "a-*"];

#[derive(Default)]
struct Model {
    events: Vec<Event>,
    first: u64,
    keys: BTreeMap<Key, u64>,
}

/// A key is its space's.
type Key = (Option<String>, String);

impl Model {
    fn kept(&self) -> impl DoubleEndedIterator<Item = &Event> {
        self.events.iter().filter(|event| event.id >= self.first)
    }

    fn read(&self, query: &Query) -> Vec<u64> {
        let matches = |event: &&Event| {
            query.pattern.as_ref().is_none_or(|pattern| pattern.matches(&event.kind))
                && query.after.is_none_or(|after| event.id > after)
                && query.before.is_none_or(|before| event.id < before)
                && query.since.is_none_or(|since| event.time >= since)
                && (query.space.is_none() || query.space == event.space)
        };
        if query.after.is_some() {
            self.kept().filter(matches).take(query.limit).map(|kept| kept.id).collect()
        } else {
            let newest = self.kept().rev().filter(matches).take(query.limit);
            newest.map(|newest| newest.id).collect::<Vec<_>>().into_iter().rev().collect()
        }
    }
}

fn any_query(random: &mut Random, model: &Model) -> Query {
    let last = model.events.len();
    let pattern = (random.below(4) > 0).then(|| PATTERNS[random.below(PATTERNS.len())]);
    let mut some = |limit: usize| (random.below(3) == 0).then(|| random.below(limit) as u64);
    let mut query = Query::default();
    query.pattern = pattern.map(|pattern| pattern.parse::<Pattern>().expect("a good pattern"));
    query.after = some(last + 1);
    query.before = some(last + 3);
    query.since = some(2_000).map(at);
    query.space = some(2).map(|item| format!("s{item}"));
    query.limit = 1 + random.below(40);
    query
}

fn publish(bus: &Bus, model: &mut Model, random: &mut Random) {
    let now = at((random.below(100) + model.events.len()) as u64);
    let count = 1 + random.below(5);
    let drafts: Vec<_> = (0..count)
        .map(|_| {
            let mut it = draft(KINDS[random.below(KINDS.len())]);
            it.data = data(&format!(
                r#"{{"n":{},"text":"{}"}}"#,
                random.below(3),
                "x".repeat(random.below(200))
            ));
            if random.below(3) == 0 {
                it.key = Some(format!("k{}", random.below(50)).parse().expect("a good key"));
            }
            it.space = (random.below(2) == 0).then(|| format!("s{}", random.below(2)));
            it
        })
        .collect();
    let answers = bus.publish_batch(drafts.clone(), now).expect("published");
    for (draft, answer) in drafts.into_iter().zip(answers) {
        let key = draft.key.as_ref().map(|key| (draft.space.clone(), key.as_str().to_owned()));
        let known = key.as_ref().and_then(|key| model.keys.get(key)).copied();
        if let Some(id) = known {
            let event = &model.events[id as usize - 1];
            if event.kind == draft.kind && event.data == draft.data {
                let answer = answer.expect("a duplicate");
                assert_eq!((&answer.event, answer.duplicate), (event, true));
            } else {
                let refused = waypost_events::Refused::KeyReused { id };
                assert_eq!(answer.expect_err("the key is taken"), refused);
            }
        } else {
            let id = model.events.len() as u64 + 1;
            let event = answer.expect("published").event;
            assert_eq!((event.id, &event.kind, &event.data), (id, &draft.kind, &draft.data));
            model.events.push(event);
            if let Some(key) = key {
                model.keys.insert(key, id);
            }
        }
    }
}

#[test]
fn a_bus_behaves_like_a_list() {
    for seed in 1..=6 {
        let mut random = Random(seed * 0x9e37_79b9);
        let dir = folder();
        let retention = Retention::default().with_events(150);
        let options = options().with_segment_bytes(8 << 10).with_retention(retention);
        let open = || Bus::open(dir.path(), &options).unwrap().0;
        let mut bus = open();
        let mut model = Model { first: 1, ..Model::default() };
        for _ in 0..300 {
            match random.below(20) {
                0 => {
                    drop(bus);
                    bus = open();
                }
                1 => {
                    let last = model.events.len() as u64;
                    model.first = model.first.max((last + 1).saturating_sub(150));
                    assert_eq!(bus.retain(NOW).unwrap(), model.first);
                }
                2 => drop(bus.compact().unwrap()),
                3..8 => publish(&bus, &mut model, &mut random),
                _ => {
                    let query = any_query(&mut random, &model);
                    match bus.read(&query) {
                        Ok(page) => {
                            let ids: Vec<u64> = page.events.iter().map(|event| event.id).collect();
                            assert_eq!(ids, model.read(&query), "seed {seed}: {query:?}");
                            for event in &page.events {
                                assert_eq!(event, &model.events[event.id as usize - 1]);
                            }
                            assert_eq!(page.last, model.events.len() as u64);
                        }
                        Err(Error::Gone { first }) => {
                            assert_eq!(first, model.first);
                            assert!(query.after.unwrap() + 1 < first);
                        }
                        Err(other) => panic!("seed {seed}: {other} for {query:?}"),
                    }
                }
            }
        }
    }
}
