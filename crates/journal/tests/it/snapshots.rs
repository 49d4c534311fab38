//! Snapshots in the database: put, get, verify, remove.

use std::io::{Cursor, Read, Write};
use std::thread;

use waypost_journal::{
    ErrorKind, MachineId, NewSnapshot, SNAPSHOT_CHUNK_BYTES, Snapshot, SnapshotId,
};

use super::*;
use crate::child::end_of;

pub(crate) const MACHINE: MachineId = MachineId([7; 16]);

/// Content of which no two chunks are equal.
pub(crate) fn content(bytes: usize) -> Vec<u8> {
    (0_u32..)
        .flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes())
        .take(bytes)
        .collect()
}

/// Puts a snapshot at a position with part 0 up to there.
#[track_caller]
pub(crate) fn put(journal: &Journal, position: Position, content: &[u8]) -> Snapshot {
    let new = NewSnapshot { position, places: vec![(0, position.seq)], machine: MACHINE };
    let put = journal.put_snapshot(&new, &mut Cursor::new(content), &long(), &mut |_| ());
    put.unwrap()
}

pub(crate) fn get(journal: &Journal, snapshot: &Snapshot) -> Result<Vec<u8>> {
    let mut sink = Vec::new();
    journal.get_snapshot(snapshot, &mut sink, &long(), &mut |_| ())?;
    Ok(sink)
}

/// Without the age, which grows.
fn same(left: &Snapshot, right: &Snapshot) -> bool {
    let mut left = left.clone();
    left.age = right.age;
    left == *right
}

#[test]
fn what_is_put_is_listed_verified_and_read() {
    let server = server!();
    let journal = server.journal();
    let start = Position::start(journal.store());
    let first = add(&journal, start, &["a", "b"]);
    let end = add(&journal, first, &["c"]);
    // No chunk, less than one, exactly two, and a short last one.
    let lengths = [0, 10, 2 * SNAPSHOT_CHUNK_BYTES, 6 * SNAPSHOT_CHUNK_BYTES + 1];
    for (length, chunks) in lengths.into_iter().zip([0, 1, 2, 7]) {
        let content = content(length);
        let new = NewSnapshot { position: first, places: vec![(0, 2), (3, 9)], machine: MACHINE };
        let (mut written, mut read) = (Vec::new(), Vec::new());
        let put = journal
            .put_snapshot(&new, &mut Cursor::new(&content), &long(), &mut |it| written.push(it))
            .unwrap();
        assert_eq!((put.bytes, put.chunks), (length as u64, chunks));
        assert_eq!(written.len(), chunks as usize);
        let listed = journal.snapshots(&long()).unwrap();
        assert!(same(&listed[0], &put), "{listed:?} {put:?}");
        assert!(same(&journal.verify_snapshot(put.id, &long()).unwrap(), &put));
        let mut sink = Vec::new();
        journal.get_snapshot(&listed[0], &mut sink, &long(), &mut |it| read.push(it)).unwrap();
        assert!(sink == content, "{length}");
        assert_eq!(read.last().copied(), written.last().copied());
    }
    // Newer positions come first, and each store has its own.
    let newer = put(&journal, end, b"newer");
    put(&journal, first, b"older");
    let listed = journal.snapshots(&long()).unwrap();
    assert_eq!((listed.len(), listed[0].id), (6, newer.id));
    let other = server.journal();
    assert_eq!(other.snapshots(&long()).unwrap(), []);
    let error = other.verify_snapshot(newer.id, &long()).unwrap_err();
    assert!(matches!(error, Error::NoSnapshot(id) if id == newer.id), "{error}");
}

#[test]
fn a_changed_chunk_is_named() {
    let server = server!();
    let journal = server.journal();
    let end = add(&journal, Position::start(journal.store()), &["a"]);
    let content = content(3 * SNAPSHOT_CHUNK_BYTES + 5);
    let of_chunk = "UPDATE waypost.snapshot_chunk SET";
    let flip = "set_byte(bytes, 9, get_byte(bytes, 9) # 1)";
    let swap = "UPDATE waypost.snapshot_chunk AS it SET bytes = other.bytes, sha256 = other.sha256 \
         FROM waypost.snapshot_chunk AS other WHERE it.snapshot = '{id}' \
         AND other.snapshot = it.snapshot AND it.number + other.number = 3 \
         AND it.number IN (1, 2)";
    let cases = [
        (format!("{of_chunk} bytes = {flip} WHERE number = 2 AND snapshot = '{{id}}'"), Some(2)),
        (
            format!("{of_chunk} sha256 = sha256('x') WHERE number = 0 AND snapshot = '{{id}}'"),
            Some(0),
        ),
        (format!("{of_chunk} number = 4 WHERE number = 3 AND snapshot = '{{id}}'"), Some(3)),
        (
            "DELETE FROM waypost.snapshot_chunk WHERE number = 1 AND snapshot = '{id}'".to_owned(),
            Some(1),
        ),
        (
            "DELETE FROM waypost.snapshot_chunk WHERE number = 3 AND snapshot = '{id}'".to_owned(),
            Some(3),
        ),
        (
            "INSERT INTO waypost.snapshot_chunk SELECT store, snapshot, 4, bytes, sha256 FROM \
             waypost.snapshot_chunk WHERE number = 3 AND snapshot = '{id}'"
                .to_owned(),
            Some(4),
        ),
        // With the hash of the changed bytes, only the whole differs.
        (
            format!(
                "{of_chunk} bytes = {flip}, sha256 = sha256({flip}) \
                 WHERE number = 2 AND snapshot = '{{id}}'"
            ),
            None,
        ),
        (swap.to_owned(), None),
    ];
    for (sql, expected) in cases {
        let snapshot = put(&journal, end, &content);
        assert!(get(&journal, &snapshot).unwrap() == content);
        server.sql(&sql.replace("{id}", &snapshot.id.to_string()));
        let verified = journal.verify_snapshot(snapshot.id, &long()).map(|_| Vec::new());
        for error in [get(&journal, &snapshot), verified].map(Result::unwrap_err) {
            assert_eq!(error.kind(), ErrorKind::Damaged);
            match error {
                Error::DamagedSnapshot { snapshot: id, chunk, .. } => {
                    assert_eq!((id, chunk), (snapshot.id, expected), "{sql}: {error}");
                }
                error => panic!("{sql}: {error}"),
            }
        }
        let error = journal.trim(snapshot.id, &long()).unwrap_err();
        assert!(matches!(error, Error::DamagedSnapshot { .. }), "{error}");
    }
    assert_eq!(texts(&all(&journal).unwrap()), ["a"], "nothing was trimmed");
}

/// A source that fails, and one that runs something in the middle.
struct Source<'a> {
    content: Cursor<Vec<u8>>,
    at: u64,
    then: &'a mut dyn FnMut() -> std::io::Result<()>,
}

impl Read for Source<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.content.position() >= self.at {
            self.at = u64::MAX;
            (self.then)()?;
        }
        self.content.read(buffer)
    }
}

fn put_from(
    journal: &Journal,
    position: Position,
    then: &mut dyn FnMut() -> std::io::Result<()>,
) -> Result<Snapshot> {
    let new = NewSnapshot { position, places: Vec::new(), machine: MACHINE };
    let content = Cursor::new(content(5 * SNAPSHOT_CHUNK_BYTES));
    let mut source = Source { content, at: 3 * SNAPSHOT_CHUNK_BYTES as u64, then };
    journal.put_snapshot(&new, &mut source, &long(), &mut |_| ())
}

#[test]
fn an_unfinished_upload_does_not_count_and_is_removed() {
    let server = server!();
    let journal = server.journal();
    let end = add(&journal, Position::start(journal.store()), &["a"]);
    let count = || server.sql("SELECT count(*) FROM waypost.snapshot_chunk");
    let mut look = || {
        assert_eq!(count(), "3");
        assert_eq!(journal.snapshots(&long()).unwrap(), []);
        let id = server.sql("SELECT id FROM waypost.snapshot").replace('-', "");
        let id = u128::from_str_radix(&id, 16).unwrap().to_be_bytes();
        for error in [
            journal.verify_snapshot(SnapshotId(id), &long()).map(|_| ()).unwrap_err(),
            journal.trim(SnapshotId(id), &long()).map(|_| ()).unwrap_err(),
        ] {
            assert!(matches!(error, Error::NoSnapshot(_)), "{error}");
        }
        // One that may still be going on stays.
        assert_eq!(journal.remove_unfinished(Duration::from_secs(3600), &long()).unwrap(), 0);
        assert_eq!(count(), "3");
        Err(std::io::Error::other("the disk failed"))
    };
    let failed = put_from(&journal, end, &mut look);
    assert!(matches!(failed, Err(Error::Copy(_))), "{failed:?}");
    assert_eq!(count(), "0");
    // Whoever ends in the middle leaves it behind.
    let killed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        put_from(&journal, end, &mut || panic!("killed")).map(|_| ())
    }));
    assert!(killed.is_err());
    assert_eq!(count(), "3");
    let complete = put(&journal, end, b"complete");
    assert_eq!(journal.remove_unfinished(Duration::ZERO, &long()).unwrap(), 1);
    assert_eq!(count(), "1");
    assert_eq!(get(&journal, &complete).unwrap(), b"complete");
}

/// A quota of the operator, for example.
#[test]
fn an_upload_that_a_trigger_refuses_fails_at_once_and_leaves_nothing() {
    let server = server!();
    let journal = server.journal();
    let end = add(&journal, Position::start(journal.store()), &["a"]);
    server.sql(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS \
         $$ BEGIN RAISE EXCEPTION 'quota exceeded'; END $$; \
         CREATE TRIGGER quota BEFORE INSERT ON waypost.snapshot_chunk FOR EACH ROW \
         WHEN (NEW.number = 2) EXECUTE FUNCTION refuse()",
    );
    let error = put_from(&journal, end, &mut || Ok(())).unwrap_err();
    assert!(
        matches!(&error, Error::Database { code, message }
            if code == "P0001" && message.contains("quota exceeded")),
        "{error}"
    );
    assert_eq!(server.sql("SELECT count(*) FROM waypost.snapshot_chunk"), "0");
    assert_eq!(server.sql("SELECT count(*) FROM waypost.snapshot"), "0");
}

#[test]
fn an_upload_that_was_removed_ends() {
    let server = server!();
    let journal = server.journal();
    let end = add(&journal, Position::start(journal.store()), &["a"]);
    let mut remove = || {
        assert_eq!(journal.remove_unfinished(Duration::ZERO, &long()).unwrap(), 1);
        Ok(())
    };
    let put = put_from(&journal, end, &mut remove);
    assert!(matches!(put, Err(Error::NoSnapshot(_))), "{put:?}");
    assert_eq!(server.sql("SELECT count(*) FROM waypost.snapshot_chunk"), "0");
}

/// The connections end in the middle, and the server is killed and started again.
#[test]
fn an_upload_survives_a_crash_of_the_server() {
    let server = server!();
    let journal = server.journal();
    let end = add(&journal, Position::start(journal.store()), &["a"]);
    let server = std::cell::RefCell::new(server);
    let put = put_from(&journal, end, &mut || {
        server.borrow_mut().kill(true);
        server.borrow_mut().run();
        Ok(())
    });
    let put = put.unwrap();
    assert!(get(&journal, &put).unwrap() == content(5 * SNAPSHOT_CHUNK_BYTES));
}

#[test]
fn a_snapshot_needs_a_position_of_the_journal() {
    let server = server!();
    let journal = server.journal();
    let start = Position::start(journal.store());
    // That of a store that was adopted has the places of its parts.
    let adopted = NewSnapshot { position: start, places: vec![(0, 41)], machine: MACHINE };
    let adopted =
        journal.put_snapshot(&adopted, &mut Cursor::new(b"adopted"), &long(), &mut |_| ()).unwrap();
    let found = journal.snapshots(&long()).unwrap();
    assert_eq!(found[0].places, [(0, 41)]);
    let records = [record(42, "first of its part"), record(43, "second")];
    let end = appended(journal.append(start, &records, None, &long()));
    let rows = journal.fetch(adopted.position, &FetchOptions::default(), &long()).unwrap().rows;
    assert_eq!(rows.len(), 2);

    let elsewhere = start.then(0, rows[0].batch, &record(42, "another"));
    let beyond = end.then(0, rows[0].batch, &record(44, "later"));
    let refused = |position| {
        let new = NewSnapshot { position, places: Vec::new(), machine: MACHINE };
        journal.put_snapshot(&new, &mut Cursor::new(b"x"), &long(), &mut |_| ()).unwrap_err()
    };
    assert!(matches!(refused(elsewhere), Error::Diverged { seq: 1, .. }));
    assert!(matches!(refused(beyond), Error::Shorter { .. }));
    let other = Position::start(server.journal().store());
    assert!(matches!(refused(other), Error::Diverged { seq: 0, .. }));
    let twice = NewSnapshot { position: end, places: vec![(1, 1), (1, 2)], machine: MACHINE };
    let error =
        journal.put_snapshot(&twice, &mut Cursor::new(b"x"), &long(), &mut |_| ()).unwrap_err();
    assert!(error.to_string().contains("a part of a snapshot has two places"), "{error}");

    // The position is compared again at the end: another incarnation has begun meanwhile.
    let put = put_from(&journal, end, &mut || {
        let other = Journal::open(server.settings(), journal.store(), &long()).unwrap();
        assert_eq!(other.begin_incarnation(end, None, &long()).unwrap(), 2);
        Ok(())
    });
    assert!(matches!(put, Err(Error::Incarnation { expected: 1, found: 2 })), "{put:?}");
    assert_eq!(journal.snapshots(&long()).unwrap().len(), 1);
}

#[test]
fn the_last_snapshot_stays() {
    let server = server!();
    let journal = server.journal();
    let start = Position::start(journal.store());
    let end = add(&journal, start, &["a"]);
    let refused = |id| {
        let error = journal.remove_snapshot(id, &long()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        error.to_string()
    };
    let first = put(&journal, start, &content(2 * SNAPSHOT_CHUNK_BYTES));
    assert!(refused(first.id).contains("is the last one from which a machine can join"));
    assert!(refused(SnapshotId([9; 16])).contains("no snapshot 09090909-0909-0909-0909-"));
    let second = put(&journal, end, b"second");
    journal.remove_snapshot(first.id, &long()).unwrap();
    assert_eq!(server.sql("SELECT count(*) FROM waypost.snapshot_chunk"), "1");
    let read = get(&journal, &first);
    assert!(matches!(read, Err(Error::NoSnapshot(id)) if id == first.id), "{read:?}");
    assert!(refused(second.id).contains("put another one first"));
    // One before the base does not count as another one, and can go.
    let third = put(&journal, start, b"third");
    journal.trim(second.id, &long()).unwrap();
    assert!(refused(second.id).contains("put another one first"));
    journal.remove_snapshot(third.id, &long()).unwrap();
}

#[test]
fn of_two_removals_at_the_same_time_one_is_refused() {
    let server = server!();
    let journal = server.journal();
    let start = Position::start(journal.store());
    let ids = [put(&journal, start, b"first").id, put(&journal, start, b"second").id];
    // Both begin before either has removed anything.
    let mut holder = server.lock_until("PERFORM 1 FROM waypost.head FOR UPDATE", 2, "NULL");
    let removed = thread::scope(|scope| {
        let journal = &journal;
        let threads = ids.map(|id| scope.spawn(move || journal.remove_snapshot(id, &long())));
        threads.map(|thread| thread.join().unwrap().is_ok())
    });
    assert!(end_of(&mut holder).success());
    assert_eq!(removed.iter().filter(|it| **it).count(), 1, "{removed:?}");
    assert_eq!(journal.snapshots(&long()).unwrap().len(), 1);
}

/// A sink that is full.
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::Error::other("no space is left"))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_sink_that_fails_is_reported() {
    let server = server!();
    let journal = server.journal();
    let snapshot = put(&journal, Position::start(journal.store()), b"x");
    let error = journal.get_snapshot(&snapshot, &mut Full, &long(), &mut |_| ()).unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(source, "no space is left");
}
