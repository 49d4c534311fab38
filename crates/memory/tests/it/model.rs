//! Random operations against a plain map, with reopenings and rebuilds in between.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use proptest::prelude::*;
use waypost_memory::{
    Added, Compaction, Draft, Error, Filter, LinkKind, MemoryId, Patch, Store, Timestamp,
    Vocabulary,
};

use crate::world::{World, id};

#[derive(Debug, Clone)]
enum Operation {
    Add { text: u8, space: u8 },
    Update { id: u64, text: u8 },
    Delete { id: u64 },
    Undelete { id: u64 },
    Merge { into: u64, from: u64, text: u8 },
    Revert { id: u64, version: u32 },
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
        2 => ids().prop_map(|id| Operation::Undelete { id }),
        2 => (ids(), ids(), 0..20_u8)
            .prop_map(|(into, from, text)| Operation::Merge { into, from, text }),
        2 => (ids(), 0..5_u32).prop_map(|(id, version)| Operation::Revert { id, version }),
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
    /// The content and space of each deleted memory.
    deleted: BTreeMap<u64, (String, String)>,
    /// The contents of each memory's versions; `None` once removed.
    texts: BTreeMap<u64, Vec<Option<String>>>,
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
                        self.texts.insert(self.next, vec![Some(content.clone())]);
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
                            let texts = self.texts.get_mut(number).expect("versions");
                            texts.push(Some(content(*text)));
                        }
                        assert_eq!(updated.expect("it is there").version, there.2);
                    }
                }
            }
            Operation::Delete { id: number } => {
                let was_there = self.memories.remove(number);
                assert_eq!(store.delete(id(*number), now).is_ok(), was_there.is_some());
                self.deleted.extend(was_there.map(|there| (*number, (there.0, there.1))));
                self.links.retain(|(from, _, to)| from != number && to != number);
            }
            Operation::Merge { into, from, text } => {
                self.merge(store, *into, *from, (content(*text), now));
            }
            Operation::Undelete { id } => self.undelete(store, *id, now),
            Operation::Revert { id, version } => self.revert(store, *id, *version, now),
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
            Operation::Compact(what) => self.compact(store, *what),
        }
    }

    fn merge(&mut self, store: &Store, into: u64, from: u64, (text, now): (String, Timestamp)) {
        let patch = Patch::default().with_content(text.clone());
        let merged = store.merge(id(into), id(from), patch, now);
        let space = |id: u64| self.memories.get(&id).map(|memory| memory.1.clone());
        if into == from || space(into).is_none() || space(into) != space(from) {
            assert!(merged.is_err());
            return;
        }
        let there = self.memories.get_mut(&into).expect("it has a space");
        if there.0 != text {
            there.0.clone_from(&text);
            there.2 += 1;
            self.texts.get_mut(&into).expect("versions").push(Some(text));
        }
        assert_eq!(merged.expect("both are there").version, there.2);
        let gone = self.memories.remove(&from).expect("it has a space");
        self.deleted.insert(from, (gone.0, gone.1));
        let end = |number: u64| if number == from { into } else { number };
        let moved = self.links.iter().map(|(from, kind, to)| (end(*from), *kind, end(*to)));
        self.links = moved.filter(|(from, _, to)| from != to).collect();
    }

    fn undelete(&mut self, store: &Store, number: u64, now: Timestamp) {
        let restored = store.undelete(id(number), now);
        let texts = self.texts.get_mut(&number);
        let last = texts.as_ref().and_then(|text| text.last().cloned());
        match (self.deleted.contains_key(&number), last) {
            (true, Some(Some(_))) => {
                let (content, space) = self.deleted.remove(&number).expect("it");
                let texts = texts.expect("versions");
                texts.push(Some(content.clone()));
                let version = texts.len() as u32;
                assert_eq!(restored.expect("it is restored").version, version);
                self.memories.insert(number, (content, space, version));
            }
            (true, _) => assert!(matches!(restored, Err(Error::Gone { .. }))),
            (false, Some(_)) => assert!(matches!(restored, Err(Error::NotDeleted(_)))),
            (false, None) => assert!(matches!(restored, Err(Error::NotFound(_)))),
        }
    }

    fn revert(&mut self, store: &Store, number: u64, version: u32, now: Timestamp) {
        let reverted = store.revert(id(number), version, now);
        let Some(there) = self.memories.get_mut(&number) else {
            assert!(matches!(reverted, Err(Error::NotFound(_))));
            return;
        };
        let texts = self.texts.get_mut(&number).expect("versions");
        let earlier =
            version.checked_sub(1).and_then(|difference| texts.get(difference as usize).cloned());
        match earlier {
            None => assert!(matches!(reverted, Err(Error::NoVersion { .. }))),
            Some(None) => assert!(matches!(reverted, Err(Error::Gone { .. }))),
            Some(Some(content)) => {
                if there.0 != content {
                    there.0.clone_from(&content);
                    there.2 += 1;
                    texts.push(Some(content));
                }
                assert_eq!(reverted.expect("it is there").version, there.2);
            }
        }
    }

    fn compact(&mut self, store: &Store, what: Compaction) {
        store.compact(what).expect("a compaction");
        for (number, texts) in &mut self.texts {
            let kept = match (self.deleted.contains_key(number), what.versions) {
                (true, _) if what.purge => 0,
                (false, Some(versions)) => versions.get() as usize,
                _ => continue,
            };
            let gone = texts.len().saturating_sub(kept);
            texts[..gone].fill(None);
        }
        for number in self.memories.keys() {
            let mut history = store.history(id(*number)).expect("a history");
            assert!(history.pop().is_some_and(|it| it.has_text));
            let Some(versions) = what.versions else { continue };
            let kept = history.iter().filter(|history| history.has_text).count();
            assert!(kept < versions.get() as usize, "{kept} beside the newest");
        }
    }

    fn compare(&self, world: &World) {
        let there = world.store().list(&Filter::default(), None, 1000).expect("a list");
        let there: BTreeMap<u64, (String, String, u32)> = there
            .into_iter()
            .map(|there| (there.id.get(), (there.content, there.space, there.version)))
            .collect();
        assert_eq!(there, self.memories);
        for (number, texts) in &self.texts {
            let history = world.store().history(id(*number)).expect("a history");
            let contents: Vec<_> =
                history.iter().map(|history| history.content().map(str::to_owned)).collect();
            assert_eq!(contents, *texts, "{number}");
            let is_deleted = history.last().is_some_and(|history| history.deleted_at.is_some());
            assert_eq!(is_deleted, self.deleted.contains_key(number), "{number}");
        }
        let mut links = BTreeSet::new();
        for number in self.memories.keys() {
            let around = world.store().links(id(*number), 1).expect("links");
            links.extend(
                around.iter().map(|around| (around.from.get(), around.kind, around.to.get())),
            );
        }
        assert_eq!(links, self.links);
        let found: BTreeSet<MemoryId> = world.found("word7").into_iter().collect();
        let has = |number: &&u64| self.memories[*number].0.contains("word7 ");
        let wanted: BTreeSet<MemoryId> =
            self.memories.keys().filter(has).map(|key| id(*key)).collect();
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
