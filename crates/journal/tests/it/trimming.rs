//! What a trim deletes, and who notices it.

use std::thread;

use waypost_journal::{ErrorKind, SnapshotId};

use super::*;
use crate::child::end_of;
use crate::snapshots::{get, put};
use crate::wait::until;

fn fetch(journal: &Journal, after: Position) -> Result<Vec<String>> {
    Ok(texts(&all_after(journal, after)?))
}

#[test]
fn a_trim_deletes_what_the_snapshot_has() {
    let server = server!();
    let journal = server.journal();
    let other = server.journal();
    let start = Position::start(journal.store());
    add(&other, Position::start(other.store()), &["of another store"]);
    assert_eq!(journal.head(&long()).unwrap().base, start);
    let many = vec!["x"; 11_000];
    let before = add(&journal, start, &many);
    let base = add(&journal, before, &["base"]);
    let end = add(&journal, base, &["kept"]);
    let snapshot = put(&journal, base, b"everything up to the base");
    let trimmed = journal.trim(snapshot.id, &long()).unwrap();
    assert_eq!((trimmed.base, trimmed.removed), (base, 11_001));
    let count = format!("SELECT count(*) FROM waypost.journal WHERE store = '{}'", journal.store());
    assert_eq!(server.sql(&count), "1");
    assert_eq!(journal.head(&long()).unwrap().base, base);

    // Machines at the base and after it go on, also those that open it now; others are told.
    let opened = Journal::open(server.settings(), journal.store(), &long()).unwrap();
    for journal in [&journal, &opened] {
        assert_eq!(fetch(journal, base).unwrap(), ["kept"]);
        assert_eq!(fetch(journal, end).unwrap(), [""; 0]);
        for behind in [start, before] {
            let error = fetch(journal, behind).unwrap_err();
            assert!(matches!(error, Error::Trimmed { first: 11_002 }), "{error}");
            assert_eq!(error.kind(), ErrorKind::Behind);
        }
        let elsewhere = Position { hash: start.hash, ..base };
        let error = fetch(journal, elsewhere).unwrap_err();
        assert!(matches!(error, Error::Diverged { seq: 11_001, .. }), "{error}");
    }
    let end = add(&journal, end, &["new"]);
    assert_eq!(fetch(&opened, base).unwrap(), ["kept", "new"]);
    assert_eq!(get(&opened, &snapshot).unwrap(), b"everything up to the base");
    assert_eq!(texts(&all(&other).unwrap()), ["of another store"]);

    // Once more: nothing is left to delete. At the end: the journal has no records.
    assert_eq!(journal.trim(snapshot.id, &long()).unwrap().removed, 0);
    let last = put(&journal, end, b"everything");
    assert_eq!(journal.trim(last.id, &long()).unwrap().removed, 2);
    assert_eq!(fetch(&journal, end).unwrap(), [""; 0]);
    let error = journal.trim(snapshot.id, &long()).unwrap_err().to_string();
    assert!(error.contains("does not have the position 11001 "), "{error}");
    let end = add(&journal, end, &["after it"]);
    put(&journal, end, b"the next one");
}

#[test]
fn a_trim_without_a_snapshot_is_refused() {
    let server = server!();
    let journal = server.journal();
    let start = Position::start(journal.store());
    let end = add(&journal, start, &["a"]);
    let error = journal.trim(SnapshotId([1; 16]), &long()).unwrap_err();
    assert!(matches!(error, Error::NoSnapshot(_)), "{error}");
    // That of another store.
    let other = server.journal();
    let foreign = put(&other, Position::start(other.store()), b"x");
    let error = journal.trim(foreign.id, &long()).unwrap_err();
    assert!(matches!(error, Error::NoSnapshot(_)), "{error}");
    // That of an earlier incarnation.
    let snapshot = put(&journal, end, b"x");
    journal.begin_incarnation(end, None, &long()).unwrap();
    let error = journal.trim(snapshot.id, &long()).unwrap_err();
    assert!(matches!(error, Error::Incarnation { .. }), "{error}");
    let journal = Journal::open(server.settings(), journal.store(), &long()).unwrap();
    let error = journal.trim(snapshot.id, &long()).unwrap_err().to_string();
    assert!(error.contains("is of incarnation 1, and the journal is in 2"), "{error}");
    assert_eq!(texts(&all(&journal).unwrap()), ["a"]);
}

/// Readers at any position either get all records or are told that they are behind, never a gap.
#[test]
fn a_trim_during_reads_is_no_damage() {
    let server = server!();
    let journal = server.journal();
    let start = Position::start(journal.store());
    let mut ends = vec![start];
    for _ in 0..40 {
        ends.push(add(&journal, *ends.last().unwrap(), &["x"; 25]));
    }
    let reader = Journal::open(server.settings(), journal.store(), &long()).unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        let read = scope.spawn(|| {
            let mut behind = 0;
            for at in (0..ends.len()).cycle() {
                let left = 1000 - usize::try_from(ends[at].seq).unwrap();
                match fetch(&reader, ends[at]) {
                    Ok(rows) => assert_eq!(rows.len(), left),
                    Err(Error::Trimmed { .. }) => behind += 1,
                    Err(error) => panic!("{error}"),
                }
                if done.load(std::sync::atomic::Ordering::Acquire) {
                    return behind;
                }
            }
            behind
        });
        for end in ends.iter().step_by(5).skip(1) {
            let snapshot = put(&journal, *end, b"x");
            assert_eq!(journal.trim(snapshot.id, &long()).unwrap().removed, 125);
        }
        done.store(true, std::sync::atomic::Ordering::Release);
        assert!(read.join().unwrap() > 0, "the reader never was behind");
    });
}

/// The records go after the reader has seen that they are there.
#[test]
fn a_reader_that_a_trim_overtakes_is_behind() {
    let server = server!();
    let journal = server.journal();
    let start = Position::start(journal.store());
    let base = add(&journal, start, &["a", "b"]);
    add(&journal, base, &["c"]);
    let trim = format!(
        "UPDATE waypost.head SET base_seq = 2, base_hash = '\\x{}'; \
         DELETE FROM waypost.journal WHERE seq <= 2",
        base.hash
    );
    let lock = "LOCK TABLE waypost.journal IN ACCESS EXCLUSIVE MODE";
    let mut trim = server.lock_until(lock, 1, &trim);
    let read = fetch(&journal, start);
    assert!(matches!(read, Err(Error::Trimmed { first: 3 })), "{read:?}");
    assert!(end_of(&mut trim).success());
    assert_eq!(fetch(&journal, base).unwrap(), ["c"]);
}

/// An append is written after its writer has given up, and trimmed before it asks again.
#[test]
fn an_append_before_the_base_is_not_resolved() {
    let server = server!();
    let journal = server.journal();
    let start = Position::start(journal.store());
    let holder = Arc::new(Journal::open(server.settings(), journal.store(), &long()).unwrap());
    let guard = holder.lock(&long()).unwrap();
    let soon = Until::within(Duration::from_millis(200));
    let error = journal.append(start, &records(start, &["late"]), None, &soon).unwrap_err();
    let Error::Unresolved { pending, .. } = error else { panic!("{error}") };
    drop(guard);
    until(|| {
        let written = server.sql("SELECT count(*) FROM waypost.journal");
        (written == "1").then_some(()).ok_or("it is not written")
    });
    let trim = |position| {
        let snapshot = put(&holder, position, b"x");
        assert_eq!(holder.trim(snapshot.id, &long()).unwrap().removed, 1);
    };
    trim(pending.end());
    assert_eq!(journal.resolve(&pending, &long()).unwrap(), Outcome::Appended(pending.end()));
    trim(add(&holder, pending.end(), &["another"]));
    let error = journal.resolve(&pending, &long()).unwrap_err();
    assert!(matches!(error, Error::Trimmed { first: 3 }), "{error}");
}
