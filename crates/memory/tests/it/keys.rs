//! Request keys: a request that is sent twice has one effect and one answer.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use proptest::prelude::*;
use waypost_memory::limits::{ANSWER_BYTES_MAX, KEY_WINDOW, KEY_WINDOW_REQUESTS};
use waypost_memory::{
    Added, Addition, Begun, Compaction, Draft, Error, ErrorKind, LinkKind, Linked, MemoryId, Patch,
    RequestKey, Store, Timestamp,
};

use crate::crash::image;
use crate::world::{World, id, open, options, purge};

fn key(name: &str, request: &str) -> RequestKey {
    RequestKey::new("a caller", name, &[request.as_bytes()])
}

fn patch(content: &str) -> Patch {
    Patch::default().with_content(content)
}

#[test]
fn a_repeated_request_returns_its_first_outcome_after_any_later_change() {
    let mut world = World::new();
    let (one, two) = (world.add("the first one"), world.add("the second one"));
    let now = world.now();
    let store = world.store();
    let draft = || Addition::from(Draft::new("added with a key")).with_key(key("add", "a"));
    let Added::New(added) = store.add(draft(), now).expect("an add") else { panic!("it is new") };
    let updated = || store.request(Some(key("update", "u"))).update(one, patch("changed"), now);
    let first = updated().expect("a change");
    let linked =
        || store.request(Some(key("link", "l"))).link(one, two, LinkKind::RelatedTo, now, None);
    assert!(matches!(linked(), Ok(Linked::New(_))));
    let unlinked =
        || store.request(Some(key("unlink", "l"))).unlink(one, two, LinkKind::RelatedTo, now);
    assert!(unlinked().expect("there is a link"));
    let reverted = || store.request(Some(key("revert", "r"))).revert(one, 1, now);
    assert_eq!(reverted().expect("it has that version").version, 3);
    let deleted = || store.request(Some(key("delete", "d"))).delete(two, now);
    deleted().expect("it is there");
    let undeleted = || store.request(Some(key("undelete", "d"))).undelete(two, now);
    assert_eq!(undeleted().expect("it is deleted").version, 2);
    let merged =
        || store.request(Some(key("merge", "m"))).merge(one, added.id, Patch::default(), now);
    assert_eq!(merged().expect("both are there").version, 3);

    // Others change everything meanwhile.
    store.update(one, patch("changed by others"), now).expect("a change");
    store.delete(two, now).expect("it is there");
    let before = world.export();
    let digest = store.digest().expect("a digest");
    match store.add(draft(), now).expect("a repeat") {
        Added::Before(memory) => assert_eq!((memory.id, memory.version), (added.id, 1)),
        other => panic!("{other:?}"),
    }
    assert_eq!(updated().expect("a repeat"), first);
    assert!(matches!(linked(), Ok(Linked::Existing(it)) if it.created_at == now));
    assert!(unlinked().expect("a repeat"));
    assert_eq!(reverted().expect("a repeat").content, "the first one");
    deleted().expect("a repeat");
    assert_eq!(undeleted().expect("a repeat").version, 2);
    assert_eq!(merged().expect("a repeat").version, 3);
    assert_eq!((world.export(), store.digest().expect("a digest")), (before, digest));
    assert!(!world.export().contains("a caller"));
}

#[test]
fn a_key_belongs_to_one_request_of_one_owner() {
    let mut world = World::new();
    let one = world.add("the first one");
    let now = world.now();
    let store = world.store();
    store.request(Some(key("k", "one"))).update(one, patch("changed"), now).expect("a change");
    let other = store.request(Some(key("k", "another"))).update(one, patch("other"), now);
    assert_eq!(other.expect_err("it is another request").kind(), ErrorKind::KeyReused);
    let other = store.add(Addition::from(Draft::new("other")).with_key(key("k", "another")), now);
    assert!(matches!(other, Err(Error::KeyReused)));
    assert!(matches!(store.request(Some(key("k", "another"))).begin(now), Err(Error::KeyReused)));
    assert_eq!(store.get(one).expect("it is there").version, 2);

    let owner = RequestKey::new("another caller", "k", &[b"another"]);
    let changed = store.request(Some(owner)).update(one, patch("other"), now);
    assert_eq!(changed.expect("its own key").version, 3);
}

#[test]
fn a_request_that_fails_leaves_its_key_free() {
    let mut world = World::new();
    let one = world.add("the first one");
    let now = world.now();
    let store = world.store();
    let request = store.request(Some(key("k", "one")));
    let refused = request.update(one, patch("changed").with_kind("Not A Kind"), now);
    assert!(matches!(refused, Err(Error::Invalid { .. })));
    assert!(matches!(request.delete(id(77), now), Err(Error::NotFound(_))));
    // The caller may now ask for something else.
    let request = store.request(Some(key("k", "two")));
    assert_eq!(request.update(one, patch("changed"), now).expect("a change").version, 2);
    // What changes nothing has an outcome, too: a repeat must not have an effect later.
    let same = store.request(Some(key("same", "two")));
    assert_eq!(same.update(one, patch("changed"), now).expect("no change").version, 2);
    store.update(one, patch("changed by others"), now).expect("a change");
    let again = same.update(one, patch("changed"), now).expect("a repeat");
    assert_eq!((again.version, again.content.as_str()), (2, "changed"));
    assert_eq!(store.get(one).expect("it is there").content, "changed by others");
}

#[test]
fn a_hidden_memory_is_changed_by_nobody_and_a_repeat_still_gets_its_outcome() {
    let mut world = World::new();
    let one = world.add("the first one");
    let now = world.now();
    let request = world.store().request(Some(key("k", "delete")));
    let hidden = request.with_hidden(Some(one));
    assert!(matches!(hidden.delete(one, now), Err(Error::NotFound(it)) if it == one));
    world.store().get(one).expect("it is not deleted");
    request.delete(one, now).expect("it is there");
    hidden.delete(one, now).expect("a repeat");
    let without = world.store().request(None).with_hidden(Some(one));
    assert!(matches!(without.undelete(one, now), Err(Error::NotFound(_))));
}

#[test]
fn a_text_that_was_removed_since_is_gone_for_a_repeat() {
    let mut world = World::new();
    let now = world.now();
    let draft = || Addition::from(Draft::new("to be purged")).with_key(key("add", "a"));
    let added = world.store().add(draft(), now).expect("an add").into_memory().id;
    let updated = |world: &World| {
        world.store().request(Some(key("update", "u"))).update(added, patch("second"), now)
    };
    updated(&world).expect("a change");
    world.store().delete(added, now).expect("it is there");
    world.store().compact(purge()).expect("a compaction");
    for _ in 0..2 {
        let again = world.store().add(draft(), now);
        assert!(matches!(again, Err(Error::Gone { version: 1, .. })), "{again:?}");
        assert!(matches!(updated(&world), Err(Error::Gone { version: 2, .. })));
        world.reopen();
    }
    assert!(matches!(world.store().get(added), Err(Error::NotFound(_))));
}

#[test]
fn something_outside_of_the_store_is_begun_once() {
    let mut world = World::new();
    let now = world.now();
    let begin = |world: &World| world.store().request(Some(key("k", "run"))).begin(now);
    let finish = |world: &World, answer: Option<&[u8]>| {
        let request = world.store().request(Some(key("k", "run")));
        request.finish(answer.map(<[u8]>::to_vec), now)
    };
    assert_eq!(begin(&world).expect("it is new"), Begun::Now);
    assert_eq!(begin(&world).expect("a repeat"), Begun::Unknown);
    world.reopen();
    assert_eq!(begin(&world).expect("a repeat"), Begun::Unknown);
    finish(&world, None).expect("it had no effect");
    assert_eq!(begin(&world).expect("it is free"), Begun::Now);
    let long = vec![1; ANSWER_BYTES_MAX + 1];
    assert!(matches!(finish(&world, Some(&long)), Err(Error::Invalid { .. })));
    finish(&world, Some(&long[1..])).expect("it is short enough");
    // It has ended: nothing changes the answer.
    finish(&world, Some(b"another")).expect("it is ignored");
    finish(&world, None).expect("it is ignored");
    world.store().compact(purge()).expect("a compaction");
    std::fs::remove_dir_all({
        world.close();
        world.folder("state")
    })
    .expect("it goes");
    world.reopen();
    assert_eq!(begin(&world).expect("a repeat"), Begun::Finished(long[1..].to_vec()));
    assert_eq!(world.store().request(None).begin(now).expect("no key"), Begun::Now);
}

/// Wherever the end of the log is cut, the change and its key are both there or both missing.
#[test]
fn a_change_and_its_key_are_one_append() {
    let mut world = World::new();
    let one = world.add("the first one");
    let now = world.now();
    let change = |store: &Store| {
        store.request(Some(key("k", "append"))).update(one, patch("first second"), now)
    };
    world.close();
    let before = image(world.dir.path());
    world.reopen();
    change(world.store()).expect("a change");
    let log = std::fs::read_dir(world.folder("log")).expect("a folder");
    let mut logs: Vec<_> = log.map(|log| log.expect("an entry").path()).collect();
    logs.retain(|log| log.extension().is_some_and(|extension| extension == "log"));
    let [log] = &logs[..] else { panic!("one segment") };
    let (name, bytes) = (log.file_name().expect("a name"), std::fs::read(log).expect("a file"));
    let used = bytes.iter().rposition(|byte| *byte != 0).expect("records") + 1;
    let mut outcomes = BTreeMap::new();
    for end in (used.saturating_sub(320)..=used).step_by(16) {
        let copy = image(before.path());
        let mut cut = bytes.clone();
        cut[end..].fill(0);
        std::fs::write(copy.path().join("memory/log").join(name), cut).expect("a file");
        let Ok((store, _)) = Store::open(copy.path(), options()) else { continue };
        let had = store.get(one).expect("it is there").version;
        // Of a change without its key, the repeat would be a conflict or a third version.
        let again = change(&store).expect("a repeat, or the first time");
        assert_eq!((again.version, store.get(one).expect("it is there").version), (2, 2));
        *outcomes.entry(had).or_insert(0) += 1;
    }
    assert_eq!(outcomes.keys().copied().collect::<Vec<_>>(), [1, 2], "{outcomes:?}");
}

#[test]
fn concurrent_requests_with_one_key_have_one_effect() {
    let mut world = World::new();
    let one = world.add("the first one");
    let now = world.now();
    let store = world.store();
    let versions: Vec<u32> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(move || {
                    // Without a key, each would make a version.
                    let tags = [format!("{:?}", std::thread::current().id())];
                    let patch = Patch::default().with_tags(tags);
                    let changed = store.request(Some(key("k", "same"))).update(one, patch, now);
                    let added =
                        Addition::from(Draft::new("all add this")).with_key(key("add", "same"));
                    store.add(added, now).expect("an add");
                    changed.expect("a change").version
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("it ends")).collect()
    });
    assert_eq!(versions, [2; 8]);
    assert_eq!(store.get(one).expect("it is there").version, 2);
}

#[test]
fn keys_are_forgotten_when_they_are_outside_of_both_windows() {
    /// In place of a hundred thousand.
    const NEWEST: u64 = 100;
    let few = || options().with_key_window_requests(NEWEST);
    assert_eq!(options().key_window_requests, KEY_WINDOW_REQUESTS);
    let mut world = World::new();
    world.reopen_with(few());
    let one = world.add("the first one");
    let start = world.now();
    let after = |time: Duration| start.saturating_add(time);
    let request = |number: u64| key(&number.to_string(), "add");
    let add = |world: &World, numbers: std::ops::Range<u64>, now: Timestamp| {
        let drafts = numbers
            .map(|number| Addition::from(Draft::new("the first one")).with_key(request(number)));
        for added in world.store().add_batch(drafts, now) {
            assert_eq!(added.expect("a key").memory().id, one);
        }
    };
    let is_known = |world: &World, number: u64| {
        let other = Addition::from(Draft::new("other")).with_key(key(&number.to_string(), "other"));
        match world.store().add(other, after(2 * KEY_WINDOW)) {
            Err(Error::KeyReused) => true,
            Ok(_) => false,
            Err(error) => panic!("{error}"),
        }
    };
    let expire = |world: &World, now: Timestamp| {
        // The first call after an opening has no earlier time to compare with.
        world.store().expire(now).expect("it forgets keys");
    };
    expire(&world, start);
    add(&world, 0..2, start);
    add(&world, 2..NEWEST + 1, after(Duration::from_millis(1)));
    expire(&world, after(KEY_WINDOW));
    assert!(is_known(&world, 0), "the day is not over");
    expire(&world, after(KEY_WINDOW + Duration::from_millis(1)));
    assert!(is_known(&world, 1), "not enough others came after it");
    assert!(!is_known(&world, 0), "it is used again");
    assert!(is_known(&world, 1), "the second one is forgotten by the next call");
    let before = world.store().digest().expect("a digest");
    let compacted = world.store().compact(Compaction::default()).expect("a compaction");
    assert!(compacted.bytes_after < compacted.bytes_before);
    world.close();
    std::fs::remove_dir_all(world.folder("state")).expect("it goes");
    world.reopen_with(few());
    assert_eq!(world.store().digest().expect("a digest").sha256, before.sha256);
    assert!(is_known(&world, 1) && is_known(&world, NEWEST));
}

#[derive(Debug, Clone)]
enum Step {
    Add(u8),
    Update { id: u64, text: u8 },
    Delete { id: u64 },
    Undelete { id: u64 },
    Revert { id: u64, version: u32 },
    Merge { into: u64, from: u64 },
    Link { from: u64, to: u64 },
    Unlink { from: u64, to: u64 },
}

#[derive(Debug, Clone)]
enum Event {
    /// The step of this key, or this one if the key is new or is to be used for another.
    Request {
        key: u8,
        step: Step,
        is_other: bool,
    },
    Unkeyed(Step),
    Reopen,
    Rebuild,
    Compact(Compaction),
}

fn step() -> impl Strategy<Value = Step> {
    let ids = || 1..8_u64;
    prop_oneof![
        4 => (0..12_u8).prop_map(Step::Add),
        4 => (ids(), 0..12_u8).prop_map(|(id, text)| Step::Update { id, text }),
        2 => ids().prop_map(|id| Step::Delete { id }),
        2 => ids().prop_map(|id| Step::Undelete { id }),
        1 => (ids(), 0..4_u32).prop_map(|(id, version)| Step::Revert { id, version }),
        1 => (ids(), ids()).prop_map(|(into, from)| Step::Merge { into, from }),
        2 => (ids(), ids()).prop_map(|(from, to)| Step::Link { from, to }),
        1 => (ids(), ids()).prop_map(|(from, to)| Step::Unlink { from, to }),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        24 => (0..8_u8, step(), prop::bool::weighted(0.1))
            .prop_map(|(key, step, is_other)| Event::Request { key, step, is_other }),
        8 => step().prop_map(Event::Unkeyed),
        1 => Just(Event::Reopen),
        1 => Just(Event::Rebuild),
        1 => (any::<bool>(), 0..3_u32).prop_map(|(purge, versions)| {
            Event::Compact(
                Compaction::default().with_purge(purge).with_versions(NonZeroU32::new(versions)),
            )
        }),
    ]
}

/// The id, version and content of the outcome, if it has a memory.
type Shown = Result<Option<(MemoryId, u32, String)>, ErrorKind>;

fn run(store: &Store, step: &Step, key: Option<RequestKey>, now: Timestamp) -> Shown {
    let request = store.request(key);
    let text = |byte: u8| format!("word{byte}");
    let kind = LinkKind::RelatedTo;
    let outcome = match step {
        Step::Add(number) => {
            let draft = Addition::from(Draft::new(text(*number))).with_key(key);
            store.add(draft, now).map(|added| Some(added.into_memory()))
        }
        Step::Update { id: it, text: to } => {
            request.update(id(*it), patch(&text(*to)), now).map(Some)
        }
        Step::Delete { id: it } => request.delete(id(*it), now).map(|()| None),
        Step::Undelete { id: it } => request.undelete(id(*it), now).map(Some),
        Step::Revert { id: it, version } => request.revert(id(*it), *version, now).map(Some),
        Step::Merge { into, from } => {
            request.merge(id(*into), id(*from), Patch::default(), now).map(Some)
        }
        Step::Link { from, to } => request.link(id(*from), id(*to), kind, now, None).map(|_| None),
        Step::Unlink { from, to } => request.unlink(id(*from), id(*to), kind, now).map(|_| None),
    };
    outcome
        .map(|outcome| outcome.map(|it| (it.id, it.version, it.content)))
        .map_err(|error| error.kind())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// A store that gets requests again and again is the same as one that gets each once.
    #[test]
    fn repeated_requests_change_nothing(events in prop::collection::vec(event(), 1..60)) {
        let mut world = World::new();
        let reference_dir = tempfile::TempDir::new().expect("a folder");
        let (reference, _) = open(reference_dir.path());
        let mut known: BTreeMap<u8, (Step, Shown)> = BTreeMap::new();
        for event in events {
            let now = world.now();
            match event {
                Event::Request { key: number, step, is_other } => {
                    let step = match known.get(&number) {
                        Some((first, _)) if !is_other => first.clone(),
                        _ => step,
                    };
                    let request = key(&number.to_string(), &format!("{step:?}"));
                    let shown = run(world.store(), &step, Some(request), now);
                    match known.get(&number) {
                        Some((first, expected)) if format!("{first:?}") == format!("{step:?}") => {
                            let is_gone = shown == Err(ErrorKind::Gone) && expected.is_ok();
                            prop_assert!(is_gone || shown == *expected, "{shown:?} {expected:?}");
                        }
                        Some(_) => prop_assert_eq!(shown, Err(ErrorKind::KeyReused)),
                        None => {
                            prop_assert_eq!(&shown, &run(&reference, &step, None, now));
                            if shown.is_ok() {
                                known.insert(number, (step, shown));
                            }
                        }
                    }
                }
                Event::Unkeyed(step) => {
                    let shown = run(world.store(), &step, None, now);
                    prop_assert_eq!(shown, run(&reference, &step, None, now));
                }
                Event::Reopen => drop(world.reopen()),
                Event::Rebuild => {
                    world.close();
                    std::fs::remove_dir_all(world.folder("state")).expect("it goes");
                    world.reopen();
                }
                Event::Compact(what) => {
                    for store in [world.store(), &reference] {
                        store.compact(what).expect("a compaction");
                    }
                }
            }
        }
        let mut expected = Vec::new();
        reference.export(&mut expected).expect("an export");
        prop_assert_eq!(world.export(), String::from_utf8(expected).expect("UTF-8"));
    }
}
