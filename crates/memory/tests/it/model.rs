//! Random operations against a plain map, with reopenings and rebuilds in between.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use proptest::prelude::*;
use waypost_memory::{Added, Compaction, Draft, Error, Filter, LinkKind, MemoryId, Patch};

use crate::world::{World, id};

#[derive(Debug, Clone)]
enum Operation {
    Add { text: u8, space: u8 },
    Update { id: u64, text: u8 },
    Delete { id: u64 },
    Link { from: u64, to: u64, kind: usize },
    Unlink { from: u64, to: u64, kind: usize },
    Reopen,
    Rebuild,
    Compact(Compaction),
}

fn operation() -> impl Strategy<Value = Operation> {
    let ids = || 1..12_u64;
    prop_oneof![
        8 => (0..20_u8, 0..2_u8).prop_map(|(text, space)| Operation::Add { text, space }),
        4 => (ids(), 0..20_u8).prop_map(|(id, text)| Operation::Update { id, text }),
        3 => ids().prop_map(|id| Operation::Delete { id }),
        5 => (ids(), ids(), 0..5_usize)
            .prop_map(|(from, to, kind)| Operation::Link { from, to, kind }),
        2 => (ids(), ids(), 0..5_usize)
            .prop_map(|(from, to, kind)| Operation::Unlink { from, to, kind }),
        1 => Just(Operation::Reopen),
        1 => Just(Operation::Rebuild),
        1 => (any::<bool>(), 0..4_u32).prop_map(|(purge, versions)| {
            Operation::Compact(
                Compaction::default().with_purge(purge).with_versions(NonZeroU32::new(versions)),
            )
        }),
    ]
}

#[derive(Debug, Default)]
struct Model {
    next: u64,
    memories: BTreeMap<u64, (String, String, u32)>,
    links: BTreeSet<(u64, LinkKind, u64)>,
}

fn content(text: u8) -> String {
    // Some are too long for the state.
    format!("word{text} ").repeat(if text == 3 { 5_000 } else { 1 + usize::from(text) })
}

fn space(space: u8) -> String {
    format!("space{space}")
}

impl Model {
    fn step(&mut self, world: &mut World, operation: &Operation) {
        let now = world.now();
        let store = world.store();
        match operation {
            Operation::Add { text, space: number } => {
                let (content, space) = (content(*text), space(*number));
                let draft = Draft::new(content.clone()).with_space(space.clone());
                let same = self.memories.iter().find(|(_, it)| it.0 == content && it.1 == space);
                match (store.add(draft, now).expect("valid"), same) {
                    (Added::Existing(memory), Some((id, _))) => assert_eq!(memory.id.get(), *id),
                    (Added::New(memory), None) => {
                        self.next += 1;
                        assert_eq!(memory.id.get(), self.next);
                        self.memories.insert(self.next, (content, space, 1));
                    }
                    (added, same) => panic!("{added:?} where the model has {same:?}"),
                }
            }
            Operation::Update { id: number, text } => {
                let patch = Patch::default().with_content(content(*text));
                let updated = store.update(id(*number), patch, now);
                match self.memories.get_mut(number) {
                    None => assert!(matches!(updated, Err(Error::NotFound(_)))),
                    Some(there) => {
                        if there.0 != content(*text) {
                            there.0 = content(*text);
                            there.2 += 1;
                        }
                        assert_eq!(updated.expect("it is there").version, there.2);
                    }
                }
            }
            Operation::Delete { id: number } => {
                let was_there = self.memories.remove(number).is_some();
                assert_eq!(store.delete(id(*number), now).is_ok(), was_there);
                self.links.retain(|(from, _, to)| from != number && to != number);
            }
            Operation::Link { from, to, kind } => {
                let kind = LinkKind::ALL[*kind];
                let possible = from != to
                    && self.memories.contains_key(from)
                    && self.memories.contains_key(to);
                assert_eq!(store.link(id(*from), id(*to), kind, now).is_ok(), possible);
                if possible {
                    self.links.insert((*from, kind, *to));
                }
            }
            Operation::Unlink { from, to, kind } => {
                let kind = LinkKind::ALL[*kind];
                let was_there = self.links.remove(&(*from, kind, *to));
                let unlinked = store.unlink(id(*from), id(*to), kind, now);
                assert_eq!(unlinked.unwrap_or(false), was_there);
            }
            Operation::Reopen => {
                let report = world.reopen();
                assert_eq!(report.index_rebuilt, None);
            }
            Operation::Rebuild => {
                let before = world.export();
                world.close();
                for derived in ["state", "index"] {
                    std::fs::remove_dir_all(world.folder(derived)).expect("it goes");
                }
                world.reopen();
                assert_eq!(world.export(), before, "a replay gives the same state");
            }
            Operation::Compact(what) => {
                store.compact(*what).expect("a compaction");
                for number in self.memories.keys() {
                    let mut history = store.history(id(*number)).expect("a history");
                    assert!(history.pop().is_some_and(|it| it.content.is_some()));
                    let Some(versions) = what.versions else { continue };
                    let kept = history.iter().filter(|it| it.content.is_some()).count();
                    assert!(kept < versions.get() as usize, "{kept} beside the newest");
                }
            }
        }
    }

    fn compare(&self, world: &World) {
        let there = world.store().list(&Filter::default(), None, 1000).expect("a list");
        let there: BTreeMap<u64, (String, String, u32)> =
            there.into_iter().map(|it| (it.id.get(), (it.content, it.space, it.version))).collect();
        assert_eq!(there, self.memories);
        let mut links = BTreeSet::new();
        for number in self.memories.keys() {
            let around = world.store().links(id(*number), 1).expect("links");
            links.extend(around.iter().map(|it| (it.from.get(), it.kind, it.to.get())));
        }
        assert_eq!(links, self.links);
        let found: BTreeSet<MemoryId> = world.found("word7").into_iter().collect();
        let has = |it: &&u64| self.memories[*it].0.contains("word7 ");
        let wanted: BTreeSet<MemoryId> =
            self.memories.keys().filter(has).map(|it| id(*it)).collect();
        assert!(wanted.is_subset(&found), "{wanted:?} are found, not only {found:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_store_behaves_like_a_map(operations in prop::collection::vec(operation(), 1..50)) {
        let mut world = World::new();
        let mut model = Model::default();
        for operation in &operations {
            model.step(&mut world, operation);
        }
        model.compare(&world);
        world.reopen();
        model.compare(&world);
    }
}
