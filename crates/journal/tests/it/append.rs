//! Appending, reading, waiting, the lock.

use std::io::Write as _;
use std::thread;

use waypost_journal::{BATCH_BYTES_MAX, LOCK_IDLE_MAX, LOCKED_RECORDS_MAX};

use super::*;
use crate::wait::until;

#[test]
fn what_is_appended_is_read_in_order() {
    let server = server!();
    let journal = server.journal();
    let start = Position::start(journal.store());
    assert_eq!(journal.head(&long()).unwrap().position, start);
    let first = add(&journal, start, &["a", "b", "c"]);
    assert_eq!(first.seq, 3);
    let second = add(&journal, first, &["", "e"]);

    let rows = all(&journal).unwrap();
    assert_eq!(texts(&rows), ["a", "b", "c", "", "e"]);
    assert_eq!(rows[0].batch, rows[2].batch);
    assert_ne!(rows[2].batch, rows[3].batch);
    assert_eq!(rows[4].position(), second);

    let again = Journal::open(server.settings(), journal.store(), &long()).unwrap();
    assert_eq!(again.head(&long()).unwrap().position, second);
    assert_eq!(all(&again).unwrap(), rows);
}

#[test]
fn an_append_behind_another_position_writes_nothing() {
    let server = server!();
    let journal = server.journal();
    let start = Position::start(journal.store());
    let first = add(&journal, start, &["a"]);
    let outcome = journal.append(start, &records(start, &["b"]), None, &long());
    assert_eq!(outcome.unwrap(), Outcome::Moved(first));
    assert_eq!(texts(&all(&journal).unwrap()), ["a"]);
}

#[test]
fn a_fetch_is_limited_by_records_and_bytes() {
    let server = server!();
    let journal = server.journal();
    let start = Position::start(journal.store());
    let large = "x".repeat(1000);
    let end = add(&journal, start, &[&large, &large, &large, "small"]);
    let fetch = |after, records, bytes| {
        let options = FetchOptions::default().with_records_max(records).with_bytes_max(bytes);
        journal.fetch(after, &options, &long()).unwrap().rows.len()
    };
    assert_eq!(fetch(start, 2, 1_000_000), 2);
    assert_eq!(fetch(start, 100, 2500), 2);
    assert_eq!(fetch(start, 100, 1), 1);
    assert_eq!(fetch(start, 100, 1_000_000), 4);
    assert_eq!(fetch(end, 100, 1_000_000), 0);
}

#[test]
fn an_append_over_a_limit_is_refused() {
    let server = server!();
    let journal = server.journal();
    let start = Position::start(journal.store());
    let refused = |records: &[Record]| {
        let error = journal.append(start, records, None, &long()).unwrap_err();
        assert!(matches!(error, Error::Invalid(_)), "{error}");
        error.to_string()
    };
    assert!(refused(&[]).contains("1 to 65536 records, not 0"));
    assert!(refused(&vec![record(1, ""); 65_537]).contains("not 65537"));
    assert!(refused(&[record(1, "a"), record(3, "b")]).contains("place 3 cannot follow place 1"));
    let mut large = record(1, "");
    large.payload = vec![0; BATCH_BYTES_MAX + 1];
    assert!(refused(&[large.clone()]).contains("67108864 bytes"));
    // The limit itself is accepted.
    large.payload.pop();
    let end = appended(journal.append(start, &[large.clone()], None, &long()));
    let read = journal.fetch(start, &FetchOptions::default(), &long()).unwrap();
    assert_eq!(read.rows[0].record, large);
    assert_eq!(read.rows[0].position(), end);
}

#[test]
fn parts_have_places_of_their_own() {
    let server = server!();
    let journal = server.journal();
    let start = Position::start(journal.store());
    let records: Vec<Record> = [(0, 1), (3, 10), (0, 2), (3, 11), (255, 1)]
        .into_iter()
        .map(|(part, place)| Record { part, ..record(place, "x") })
        .collect();
    appended(journal.append(start, &records, None, &long()));
    let rows = all(&journal).unwrap();
    let found: Vec<Record> = rows.into_iter().map(|row| row.record).collect();
    assert_eq!(found, records);
}

#[test]
fn a_waiting_thread_finds_what_another_one_appends() {
    for notify in [true, false] {
        let server = server!();
        let journal = server.journal();
        let start = Position::start(journal.store());
        let settings = server.settings().with_notify(notify);
        let other = Journal::open(settings, journal.store(), &long()).unwrap();
        thread::scope(|scope| {
            let found = scope.spawn(|| other.wait(0, &long()).unwrap());
            until(|| {
                let waiting =
                    server.sql("SELECT count(*) FROM pg_stat_activity WHERE usename = 'waypost'");
                (waiting != "1").then_some(()).ok_or("it does not wait")
            });
            let end = add(&journal, start, &["a"]);
            assert_eq!(found.join().unwrap().position, end);
        });
        let soon = Until::within(Duration::from_millis(30));
        assert_eq!(other.wait(1, &soon).unwrap().position.seq, 1);
    }
}

#[test]
fn under_the_lock_nobody_else_appends() {
    let server = server!();
    let journal = server.journal();
    let start = Position::start(journal.store());
    let guard = journal.lock(&long()).unwrap();
    thread::scope(|scope| {
        let other = scope.spawn(|| journal.append(start, &records(start, &["b"]), None, &long()));
        let end = appended(guard.append(start, &records(start, &["a1", "a2"]), None, &long()));
        assert_eq!(other.join().unwrap().unwrap(), Outcome::Moved(end));
    });
    assert_eq!(texts(&all(&journal).unwrap()), ["a1", "a2"]);

    // Dropping it writes nothing.
    let end = journal.head(&long()).unwrap().position;
    drop(journal.lock(&long()).unwrap());
    let end = add(&journal, end, &["d"]);
    assert_eq!(texts(&all(&journal).unwrap()), ["a1", "a2", "d"]);

    let guard = journal.lock(&long()).unwrap();
    let many = vec!["x"; LOCKED_RECORDS_MAX + 1];
    let error = guard.append(end, &records(end, &many), None, &long()).unwrap_err();
    assert!(matches!(error, Error::Invalid(_)), "{error}");
    let guard = journal.lock(&long()).unwrap();
    appended(guard.append(end, &records(end, &many[1..]), None, &long()));
}

/// Otherwise, machines that try again and again would use up the connections of the server.
#[test]
fn who_gives_up_waiting_for_the_lock_leaves_no_session_behind() {
    let server = server!();
    let journal = server.journal();
    let mut contender = waypost_journal::Contender::new(Duration::from_secs(60)).unwrap();
    let mut lease = journal.contend(&mut contender, &long()).unwrap().unwrap();
    let mut holder = server.shell("postgres").stdin(std::process::Stdio::piped()).spawn().unwrap();
    let lock = b"BEGIN; SELECT 1 FROM waypost.head FOR UPDATE \\g /dev/null\n";
    holder.stdin.as_mut().unwrap().write_all(lock).unwrap();
    let sessions = |condition: &str| {
        let from = "FROM pg_stat_activity WHERE usename <> '' AND pid <> pg_backend_pid()";
        server.sql(&format!("SELECT count(*) {from} AND {condition}"))
    };
    until(|| {
        let held = sessions("state = 'idle in transaction'");
        (held == "1").then_some(()).ok_or("nobody has the lock")
    });
    let soon = || Until::within(Duration::from_millis(300));
    let refused = journal.lock(&soon()).map(|journal| journal.position());
    assert!(matches!(refused, Err(Error::Connection(_))), "{refused:?}");
    journal.renew(&mut lease, &soon()).unwrap_err();
    until(|| {
        let waiting = sessions("wait_event_type = 'Lock'");
        (waiting == "0").then_some(()).ok_or(waiting)
    });
    assert_eq!(sessions("state = 'idle in transaction'"), "1", "the lock is still held");
    drop(holder.stdin.take());
    assert!(child::end_of(&mut holder).success());
    assert!(journal.renew(&mut lease, &long()).unwrap());
}

#[test]
fn a_lock_that_ended_before_its_holder_read_on_is_no_loss_of_records() {
    let server = server!();
    let journal = server.journal();
    let start = Position::start(journal.store());
    let guard = journal.lock(&long()).unwrap();
    // The server ends the transaction of the silent holder, which learns of the next record.
    let end = add(&journal, start, &["of another"]);
    let late = guard.append(end, &records(end, &["late"]), None, &long());
    assert!(matches!(late, Err(Error::LockLost)), "{late:?}");
    add(&journal, end, &["next"]);
}

#[test]
fn a_silent_holder_loses_the_lock() {
    let server = server!();
    let journal = server.journal();
    let start = Position::start(journal.store());
    let guard = journal.lock(&long()).unwrap();
    let begun = Instant::now();
    let end = add(&journal, start, &["kept"]);
    assert!(begun.elapsed() + Duration::from_millis(500) > LOCK_IDLE_MAX, "it waited for the lock");
    let lost = guard.append(start, &records(start, &["lost"]), None, &long());
    assert!(matches!(lost, Err(Error::LockLost)), "{lost:?}");
    let guard = journal.lock(&long()).unwrap();
    assert_eq!(guard.position(), end);
    assert_eq!(texts(&all(&journal).unwrap()), ["kept"]);
}
