//! Several stores on one shared journal.

mod random;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tempfile::TempDir;
use waypost_log::{AppendMax, Record};
use waypost_memory::{
    Added, Addition, Compaction, Draft, Error, ErrorKind, ImportIds, ImportOptions, Link, LinkKind,
    Patch, Store, StoreOptions,
};

use crate::hub::{Fault, Hub, Member};
use crate::world::{at, id, options, purge};

/// A shared journal and the folders of its replicas.
pub(crate) struct Cluster {
    hub: Arc<Hub>,
    hub_dir: TempDir,
    pub(crate) replicas: Vec<Replica>,
}

pub(crate) struct Replica {
    pub(crate) member: Arc<Member>,
    dir: TempDir,
    store: Option<Store>,
}

impl Cluster {
    pub(crate) fn new(replicas: usize, records_max: usize, page: usize) -> Self {
        let hub_dir = TempDir::new().expect("a folder");
        let max = AppendMax { records: records_max, bytes: 1 << 20 };
        let hub = Hub::open(hub_dir.path(), max, page);
        let replicas = (0..replicas).map(|number| Replica::new(hub.member(number))).collect();
        Self { hub, hub_dir, replicas }
    }

    pub(crate) fn store(&self, number: usize) -> &Store {
        self.replicas[number].store()
    }

    /// Brings every replica up to the hub and compares them.
    pub(crate) fn settle(&self) -> String {
        assert!(!self.hub.is_locked(), "a replica has kept the lock");
        let mut exports = Vec::new();
        for replica in &self.replicas {
            replica.member.set_fault(None);
            replica.store().follow().expect("the hub is reachable");
            assert_eq!(replica.store().position(), self.hub.last());
            exports.push((replica.export(), replica.store().digest().expect("a digest")));
        }
        for other in &exports[1..] {
            assert!(other.0 == exports[0].0, "replicas differ:\n{}\n{}", exports[0].0, other.0);
            assert_eq!(other.1, exports[0].1);
        }
        exports.swap_remove(0).0
    }
}

impl Replica {
    fn new(member: Arc<Member>) -> Self {
        let dir = TempDir::new().expect("a folder");
        let mut replica = Self { member, dir, store: None };
        replica.open();
        replica
    }

    pub(crate) fn options(&self) -> StoreOptions {
        options().with_shared_journal(self.member.clone())
    }

    fn open(&mut self) {
        let (store, _) = Store::open(self.dir.path(), self.options()).expect("the store opens");
        self.store = Some(store);
    }

    pub(crate) fn reopen(&mut self) {
        drop(self.store.take());
        self.open();
    }

    pub(crate) fn store(&self) -> &Store {
        self.store.as_ref().expect("the store is open")
    }

    fn export(&self) -> String {
        let mut out = Vec::new();
        self.store().export(&mut out).expect("an export");
        String::from_utf8(out).expect("an export is UTF-8")
    }

    /// Whether a file of this replica contains these bytes.
    fn has_on_disk(&self, bytes: &[u8]) -> bool {
        fn any(dir: &std::path::Path, bytes: &[u8]) -> bool {
            std::fs::read_dir(dir).expect("a folder").any(|entry| {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    return any(&path, bytes);
                }
                let content = std::fs::read(&path).expect("a file");
                content.windows(bytes.len()).any(|window| window == bytes)
            })
        }
        any(self.dir.path(), bytes)
    }
}

fn add(store: &Store, content: &str) -> Added {
    let draft = Addition::from(Draft::new(content)).with_note(content.as_bytes().to_vec());
    store.add(draft, at(1_000)).expect("an add")
}

fn contents(store: &Store) -> Vec<String> {
    let all = store.list(&waypost_memory::Filter::default(), None, 1000).expect("a list");
    all.into_iter().map(|item| item.content).collect()
}

#[test]
fn commands_are_decided_again_when_others_have_written() {
    let cluster = Cluster::new(2, 256, 100);
    let (here, there) = (cluster.store(0), cluster.store(1));
    add(here, "the first");
    assert!(matches!(add(there, "written elsewhere"), Added::New(it) if it.id == id(2)));
    assert!(matches!(add(here, "written elsewhere"), Added::Existing(it) if it.id == id(2)));

    add(there, "also written elsewhere");
    assert!(matches!(add(here, "written here"), Added::New(it) if it.id == id(4)));

    add(there, "to be linked");
    here.link(id(4), id(1), LinkKind::Updates, at(1)).expect("both ends exist");
    here.link(id(5), id(4), LinkKind::Updates, at(1)).expect("the other end is known by now");
    let superseded = [1, 4].map(|it| here.get(id(it)).expect("it is there").superseded_by);
    assert_eq!(superseded, [Some(id(4)), Some(id(5))]);

    let found = here.search("elsewhere", &waypost_memory::SearchOptions::default());
    let found: Vec<_> = found.expect("a search").hits.iter().map(|hit| hit.memory.id).collect();
    assert!(found.contains(&id(2)) && found.contains(&id(3)), "the index has followed: {found:?}");
    let notes: Vec<_> = here.notices(10).into_iter().map(|notice| notice.note).collect();
    let expected = [
        "the first",
        "written elsewhere",
        "also written elsewhere",
        "written here",
        "to be linked",
    ];
    assert_eq!(notes, expected.map(|it| it.as_bytes().to_vec()));
    assert!(here.write_fault().is_none());
    cluster.settle();
}

#[test]
fn replicas_have_the_same_digest_at_the_same_position_however_they_got_there() {
    let cluster = Cluster::new(2, 4096, 333);
    let (here, there) = (cluster.store(0), cluster.store(1));
    assert_eq!(here.last_digest(), None);
    let every = Store::DIGEST_EVERY;
    for round in 0..5 {
        let drafts = (0..2_300).map(|number| Draft::new(format!("memory {round} {number}")));
        assert!(here.add_batch(drafts, at(1)).iter().all(Result::is_ok));
        there.follow().expect("the hub is reachable");
    }
    here.link(id(1), id(2), LinkKind::RelatedTo, at(1)).expect("both exist");
    let digest = here.digest_at(every).expect("a digest");
    assert_eq!(digest.position, every);
    assert_eq!(there.digest_at(every), Some(digest));
    assert_eq!(there.last_digest(), Some(digest));
    assert_eq!(here.digest_at(every + 1), None);
    assert_ne!(here.digest().expect("a digest").sha256, digest.sha256);
    cluster.settle();
}

#[test]
fn a_state_that_is_rebuilt_is_the_one_that_the_log_gives() {
    let cluster = Cluster::new(2, 256, 100);
    let (here, there) = (cluster.store(0), cluster.store(1));
    for number in 0..30 {
        add(here, &format!("memory {number}"));
    }
    here.update(id(3), Patch::default().with_content("changed"), at(2)).expect("a change");
    here.delete(id(4), at(3)).expect("a deletion");
    here.link(id(1), id(2), LinkKind::Updates, at(1)).expect("both exist");
    let before = cluster.settle();
    there.rebuild().expect("the log is whole");
    assert_eq!(cluster.settle(), before);
    add(there, "after the rebuild");
    let found = there.search("changed", &waypost_memory::SearchOptions::default());
    assert_eq!(found.expect("a search").hits[0].memory.id, id(3));
    cluster.settle();
    assert!(cluster.replicas[1].has_on_disk(b"after the rebuild"));
}

#[test]
fn an_import_is_decided_again_with_the_ids_that_are_free_then() {
    let source = Cluster::new(1, 256, 100);
    let store = source.store(0);
    for content in ["one", "two"] {
        store.add(Draft::new(content), at(1)).expect("an add");
    }
    store.link(id(2), id(1), LinkKind::RelatedTo, at(1)).expect("both ends exist");
    let export = source.replicas[0].export();

    let cluster = Cluster::new(2, 256, 100);
    let (here, there) = (cluster.store(0), cluster.store(1));
    there.add(Draft::new("one"), at(1)).expect("an add");
    there.add(Draft::new("has the id of the second memory"), at(1)).expect("an add");
    let options = ImportOptions::default().with_ids(ImportIds::Map);
    let write = || here.write_queued();
    let imported = here.import_beside(&mut export.as_bytes(), &options, at(1), &write);
    let imported = imported.expect("an import");
    assert_eq!((imported.memories, imported.existing, imported.links), (1, 1, 1), "{imported:?}");
    let mapped: Vec<_> = imported.mapped.iter().map(|mapped| (mapped.from, mapped.to)).collect();
    assert_eq!(mapped, [(id(2), id(3))]);
    let links = here.links(id(3), 1).expect("links");
    assert!(matches!(links[..], [Link { from, to, .. }] if (from, to) == (id(3), id(1))));
    cluster.settle();
}

#[test]
fn answers_from_a_state_that_others_have_changed_are_not_given() {
    let cluster = Cluster::new(2, 256, 100);
    let (here, there) = (cluster.store(0), cluster.store(1));
    add(here, "a memory");
    there.follow().expect("it follows");
    here.delete(id(1), at(2)).expect("it is there");
    // To this replica, it still exists.
    assert!(matches!(add(there, "a memory"), Added::New(it) if it.id == id(2)));
    assert!(matches!(add(there, "a memory"), Added::Existing(it) if it.id == id(2)));
    // To this one, it does not exist yet.
    let patch = Patch::default().with_content("changed");
    assert_eq!(here.update(id(2), patch, at(3)).expect("it is there").version, 2);
    assert!(matches!(there.delete(id(1), at(4)), Err(Error::NotFound(it)) if it == id(1)));
    assert_eq!(there.get(id(2)).expect("it is there").content, "changed");
    cluster.settle();
}

#[test]
fn a_replica_without_the_shared_journal_reads_and_refuses_writes() {
    let mut cluster = Cluster::new(2, 256, 3);
    for number in 0..20 {
        add(cluster.store(0), &format!("memory {number}"));
    }
    cluster.store(1).follow().expect("it follows");
    add(cluster.store(0), "the last one");

    cluster.replicas[1].member.set_fault(Some(Fault::Unreachable));
    cluster.replicas[1].reopen();
    let store = cluster.store(1);
    assert_eq!(contents(store).len(), 20, "it opens with what it has");
    assert_eq!(store.follow().expect_err("no connection").kind(), ErrorKind::Unavailable);
    let adding = store.add(Draft::new("lost"), at(5)).expect_err("no connection");
    assert!(
        matches!(&adding, Error::SharedJournal(why) if why.to_string() == "no connection"),
        "{adding}"
    );
    let missing = store.delete(id(21), at(5)).expect_err("no connection");
    assert_eq!(missing.kind(), ErrorKind::Unavailable, "another replica may have it");
    let invalid = store.link(id(1), id(1), LinkKind::Updates, at(5)).expect_err("one memory");
    assert_eq!(invalid.kind(), ErrorKind::Invalid);
    assert!(store.write_fault().is_none(), "it may work again at any time");

    cluster.replicas[1].member.set_fault(None);
    assert!(matches!(add(cluster.store(1), "back"), Added::New(it) if it.id == id(22)));
    cluster.settle();
}

#[test]
fn an_append_whose_answer_is_lost_is_applied_once() {
    for fault in [Fault::LostAnswer, Fault::LostAppend] {
        let cluster = Cluster::new(2, 256, 100);
        let store = cluster.store(0);
        add(store, "before");
        cluster.replicas[0].member.set_fault(Some(fault));
        let unknown = store.add(Draft::new("unknown"), at(5)).expect_err("no answer");
        assert!(unknown.to_string().contains("may have been written or not"), "{unknown}");
        assert_eq!(contents(store).len(), 1);
        let again = add(store, "unknown");
        let is_existing = matches!(&again, Added::Existing(_));
        assert_eq!(is_existing, fault == Fault::LostAnswer, "{again:?}");
        assert_eq!(again.into_memory().id, id(2));
        assert_eq!(contents(store).len(), 2);
        cluster.settle();
    }
}

#[test]
fn a_shared_journal_that_is_shorter_or_has_gaps_stops_the_replica() {
    let cluster = Cluster::new(2, 256, 100);
    add(cluster.store(0), "one");
    add(cluster.store(0), "two");
    cluster.replicas[1].member.set_fault(Some(Fault::Gap));
    let gap = cluster.store(1).follow().expect_err("a gap").to_string();
    assert!(gap.contains("has record 2 where 1 is expected"), "{gap}");
    cluster.replicas[1].member.set_fault(None);
    let still = cluster.store(1).add(Draft::new("three"), at(5)).expect_err("it has stopped");
    assert_eq!(still.kind(), ErrorKind::Unavailable);
    assert!(cluster.store(1).write_fault().is_some_and(|it| it.contains("where 1 is expected")));

    // An older copy of the shared journal was restored.
    let other = Cluster::new(1, 256, 100);
    add(other.store(0), "one");
    let before = cluster.replicas[0].export();
    let restored = options().with_shared_journal(other.replicas[0].member.clone());
    let mut cluster = cluster;
    let replica = &mut cluster.replicas[0];
    drop(replica.store.take());
    let (store, _) = Store::open(replica.dir.path(), restored).expect("it opens");
    let shorter = store.add(Draft::new("three"), at(5)).expect_err("it is shorter").to_string();
    assert!(shorter.contains("it ends at record 2, not 4"), "{shorter}");
    assert!(store.follow().is_err() && store.write_fault().is_some());
    replica.store = Some(store);
    assert_eq!(replica.export(), before, "nothing was written, and reads continue");
}

#[test]
fn a_log_with_other_records_is_no_replica() {
    let [one, other] = [(); 2].map(|()| Cluster::new(1, 256, 100));
    add(one.store(0), "one");
    one.store(0).delete(id(1), at(2)).expect("it is there");
    add(other.store(0), "one");
    other.store(0).delete(id(1), at(3)).expect("it is there");
    let mut one = one;
    let replica = &mut one.replicas[0];
    drop(replica.store.take());
    let options = options().with_shared_journal(other.replicas[0].member.clone());
    let (store, _) = Store::open(replica.dir.path(), options).expect("it opens");
    let differs = store.follow().expect_err("the deletion differs").to_string();
    assert!(differs.contains("record 3 of this log is another one"), "{differs}");
    assert_eq!(store.add(Draft::new("two"), at(5)).expect_err("it").kind(), ErrorKind::Unavailable);
}

#[test]
fn a_copy_that_a_power_cut_has_shortened_is_completed() {
    let mut cluster = Cluster::new(2, 256, 4);
    for number in 0..30 {
        add(cluster.store(number % 2), &format!("memory {number}"));
    }
    let expected = cluster.settle();
    // A replica's log has nothing that was synced, so a power cut may take all of it.
    let replica = &mut cluster.replicas[1];
    drop(replica.store.take());
    std::fs::remove_dir_all(replica.dir.path().join("memory")).expect("it goes");
    replica.open();
    assert_eq!(contents(replica.store()).len(), 0);
    assert!(matches!(add(replica.store(), "memory 3"), Added::Existing(it) if it.id == id(4)));
    assert_eq!(cluster.settle(), expected);
}

#[test]
fn what_the_own_log_fails_to_take_comes_from_the_shared_journal() {
    let mut cluster = Cluster::new(2, 256, 100);
    let long = "a long text ".repeat(2_000);
    let options = cluster.replicas[0].options().with_log_segment_bytes(16 * 1024);
    let replica = &mut cluster.replicas[0];
    drop(replica.store.take());
    replica.store = Some(Store::open(replica.dir.path(), options).expect("it opens").0);
    add(replica.store(), "before");
    // The next segment of the log cannot be created.
    let log = replica.dir.path().join("memory/log");
    let away = log.with_extension("away");
    let (from, to) = (log.clone(), away.clone());
    *replica.member.lose_folder.lock() =
        Some(Box::new(move || std::fs::rename(from, to).expect("it moves")));
    replica.member.set_fault(Some(Fault::LostFolder));
    let failed = replica.store().add(Draft::new(long.clone()), at(2)).expect_err("no folder");
    assert_eq!(failed.kind(), ErrorKind::Unavailable, "{failed}");
    let last = cluster.hub.last();
    let again = cluster.store(0).add(Draft::new("again"), at(3)).expect_err("no folder");
    assert_eq!(again.kind(), ErrorKind::Unavailable, "{again}");
    assert_eq!(cluster.hub.last(), last, "nothing more is written that the replica cannot take");
    assert!(cluster.store(0).write_fault().is_some());
    assert_eq!(contents(cluster.store(0)), ["before"], "reads continue");

    drop(cluster.replicas[0].store.take());
    std::fs::remove_dir_all(&log).ok();
    std::fs::rename(&away, &log).expect("it moves");
    cluster.replicas[0].open();
    assert!(matches!(add(cluster.store(0), &long), Added::Existing(it) if it.id == id(2)));
    cluster.settle();
}

#[test]
fn an_import_of_many_lines_keeps_to_the_limit() {
    let source = Cluster::new(1, 256, 100);
    let drafts = (0..300).map(|number| Draft::new(format!("memory {number}")));
    source.store(0).add_batch(drafts, at(1));
    for number in 1..=300 {
        source.store(0).delete(id(number), at(2)).expect("it is there");
    }
    let export = source.replicas[0].export();
    let cluster = Cluster::new(2, 16, 100);
    let imported = cluster.store(0).import(&mut export.as_bytes(), at(3)).expect("an import");
    assert_eq!(imported.memories, 300);
    assert!(cluster.replicas[0].member.largest.load(Ordering::Relaxed) <= 16);
    assert_eq!(cluster.settle(), export);
}

#[test]
fn batches_keep_to_the_limit_and_commands_stay_whole() {
    let cluster = Cluster::new(2, 8, 5);
    let drafts = |from: usize| {
        let draft = move |it| Addition::from(Draft::new(format!("memory {it}"))).with_note(vec![1]);
        (from..from + 50).map(draft).collect::<Vec<_>>()
    };
    for (number, outcome) in cluster.store(0).add_batch(drafts(0), at(1)).into_iter().enumerate() {
        assert_eq!(outcome.expect("an add").into_memory().id, id(number as u64 + 1));
    }
    let member = &cluster.replicas[0].member;
    assert_eq!(member.largest.load(Ordering::Relaxed), 8);
    assert_eq!(member.appends.load(Ordering::Relaxed), 13);
    // With the links of 20 memories, one command has more than the limit.
    for number in 3..=22 {
        cluster.store(0).link(id(1), id(number), LinkKind::RelatedTo, at(2)).expect("a link");
    }
    cluster.store(1).merge(id(2), id(1), Patch::default(), at(3)).expect("a merge");
    assert_eq!(cluster.replicas[1].member.largest.load(Ordering::Relaxed), 21);
    cluster.settle();
}

#[test]
fn a_command_that_does_not_fit_the_rest_of_an_append_comes_in_the_next_one() {
    let cluster = Cluster::new(1, 8, 100);
    let store = cluster.store(0);
    store.add_batch((0..6).map(|number| Draft::new(format!("{number}"))), at(1));
    // In the place of an expired memory, one is deleted and one is added with its note.
    let expiring = Draft::new("again").with_lifespan(lifespan_until(10));
    let again = || Addition::from(Draft::new("again")).with_note(vec![1]);
    store.add(Addition::from(expiring).with_note(vec![1]), at(1)).expect("an add");
    let mut drafts: Vec<Addition> =
        (10..16).map(|number| Draft::new(format!("{number}")).into()).collect();
    drafts.push(again());
    let outcomes = store.add_batch(drafts, at(20));
    assert!(outcomes.iter().all(|it| matches!(it, Ok(Added::New(_)))), "{outcomes:?}");
    assert_eq!(cluster.replicas[0].member.largest.load(Ordering::Relaxed), 6);
    cluster.settle();
}

fn lifespan_until(millis: i64) -> waypost_memory::Lifespan {
    waypost_memory::Lifespan::default().with_expires_at(Some(at(millis)))
}

#[test]
fn positions_are_waited_for() {
    let cluster = Cluster::new(2, 256, 100);
    add(cluster.store(0), "one");
    let position = cluster.store(0).position();
    assert!(cluster.store(0).wait_for(position, Duration::ZERO));
    assert!(!cluster.store(1).wait_for(position, Duration::from_millis(1)));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let there = cluster.store(1).wait_for(position, Duration::from_secs(20));
            (there, contents(cluster.store(1)))
        });
        cluster.store(1).follow().expect("it follows");
        let (there, contents) = waiting.join().expect("it ends");
        assert!(there);
        assert_eq!(contents, ["one"]);
    });
}

#[test]
fn a_purge_reaches_the_files_of_every_replica() {
    let secret = b"correct-horse-battery";
    let cluster = Cluster::new(2, 256, 100);
    let (here, there) = (cluster.store(0), cluster.store(1));
    let added = add(here, "the password is correct-horse-battery").into_memory();
    there.follow().expect("it follows");
    here.delete(added.id, at(2)).expect("it is there");
    here.compact(purge()).expect("a compaction");
    assert_eq!(here.destroyed_through().expect("a number"), here.position());
    there.follow().expect("it follows");
    assert!(there.history(added.id).expect("a history").iter().all(|it| !it.has_text));
    assert!(
        there.notices(10).iter().all(|it| it.added.as_ref().is_none_or(|it| it.title.is_empty()))
    );
    assert!(there.destroyed_through().expect("a number") < there.position());
    for store in [here, there] {
        store.mark_published(store.position());
        store.maintain().expect("it works");
    }
    cluster.settle();
    // The note names nothing secret but for this test, which uses the content as a note.
    for store in [here, there] {
        store.compact(Compaction::default()).expect("a compaction");
        assert_eq!(store.destroyed_through().expect("a number"), store.position());
    }
    for replica in &cluster.replicas {
        assert!(!replica.has_on_disk(secret), "the text is gone from the files");
    }
    cluster.settle();
}

#[test]
fn a_text_that_is_restored_while_a_purge_is_decided_stays() {
    let cluster = Cluster::new(2, 256, 100);
    let (here, there) = (cluster.store(0), cluster.store(1));
    let added = add(here, "restored elsewhere").into_memory();
    here.delete(added.id, at(2)).expect("it is there");
    // To this replica, it is still deleted when it selects what to purge.
    there.undelete(added.id, at(3)).expect("it was deleted");
    here.compact(purge()).expect("a compaction");
    for store in [here, there] {
        let history = store.history(added.id).expect("a history");
        assert!(history.iter().all(|it| it.has_text), "{history:?}");
    }
    cluster.settle();
}

#[test]
fn a_record_of_a_newer_release_stops_the_replica_before_its_log_has_it() {
    let mut cluster = Cluster::new(2, 256, 100);
    add(cluster.store(0), "one");
    let newer = Record { kind: 200, version: 1, payload: b"?" };
    let other = cluster.hub.member(9);
    waypost_log::SharedJournal::append(&*other, 2, &[newer]).expect("an append");
    let refused = cluster.store(0).follow().expect_err("it cannot be read").to_string();
    assert!(refused.contains("newer release"), "{refused}");
    assert!(cluster.store(0).add(Draft::new("two"), at(5)).is_err());
    assert!(!cluster.hub.is_locked());
    cluster.replicas[0].reopen();
    assert_eq!(contents(cluster.store(0)), ["one"]);
    let dir = cluster.hub_dir.path();
    cluster.hub.restart(dir);
    assert_eq!(cluster.hub.last(), 3);
}
