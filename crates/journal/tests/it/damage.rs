//! Stored records that are not what was appended.

use super::*;

/// A journal with five records, of which somebody has changed something.
#[track_caller]
fn damaged(sql: &str) -> Option<(server::Server, Journal, Position, Result<Vec<Row>>)> {
    let server = server::Server::start()?;
    let journal = Journal::create(server.settings(), server::new_store(), &long()).unwrap();
    let start = Position::start(journal.store());
    let end = add(&journal, start, &["a", "b", "c", "d", "e"]);
    server.sql(sql);
    let read = all(&journal);
    Some((server, journal, end, read))
}

#[test]
fn a_changed_record_is_named() {
    let server = server!();
    let check = |change: &str| {
        let journal = server.journal();
        add(&journal, Position::start(journal.store()), &["a", "b", "c", "d", "e"]);
        let store = journal.store();
        server.sql(&format!(
            "UPDATE waypost.journal SET {change} WHERE store = '{store}' AND seq = 3"
        ));
        all(&journal).unwrap_err()
    };
    for change in [
        "payload = 'x'",
        "kind = 2",
        "version = 9",
        "part = 1",
        "place = 30",
        "epoch = 7",
        "batch = '00000000-0000-0000-0000-000000000001'",
        "hash = sha256('x')",
    ] {
        let error = check(change);
        assert!(matches!(error, Error::Mismatch { seq: 3, .. }), "{change}: {error}");
    }
    assert_eq!(check("kind = -1").to_string(), "the journal is damaged: record 3: kind -1");
}

#[test]
fn a_missing_record_is_named() {
    let Some((server, journal, end, read)) = damaged("DELETE FROM waypost.journal WHERE seq = 3")
    else {
        return;
    };
    assert!(matches!(read, Err(Error::Gap { expected: 3, found: 4 })), "{read:?}");
    // At the end, the head row knows that there are more.
    server.sql("DELETE FROM waypost.journal WHERE seq >= 4");
    let before = journal.fetch(Position { seq: 3, ..end }, &FetchOptions::default(), &long());
    assert!(matches!(before, Err(Error::Gap { expected: 4, found: 5 })), "{before:?}");
}

#[test]
fn a_head_row_with_another_hash_is_noticed() {
    let Some((.., read)) = damaged("UPDATE waypost.head SET hash = sha256('x')") else { return };
    assert!(matches!(read, Err(Error::Mismatch { seq: 5, .. })), "{read:?}");
}

#[test]
fn a_shorter_journal_is_not_continued() {
    let Some((server, journal, end, _)) = damaged("SELECT 1") else { return };
    let fourth = all(&journal).unwrap()[3].position();
    server.sql(&format!(
        "DELETE FROM waypost.journal WHERE seq = 5; UPDATE waypost.head SET seq = 4, hash = '\\x{}'",
        fourth.hash
    ));
    let options = FetchOptions::default();
    let check = |result: Result<()>| match result {
        Err(error @ Error::Shorter { .. }) => {
            assert_eq!(error.kind(), waypost_journal::ErrorKind::Lost);
            let text = error.to_string();
            assert!(
                text.contains(&end.to_string()) && text.contains(&fourth.to_string()),
                "{text}"
            );
        }
        other => panic!("{other:?}"),
    };
    check(journal.fetch(end, &options, &long()).map(|_| ()));
    check(journal.append(end, &records(end, &["f"]), None, &long()).map(|_| ()));
    // Others write the same number again: now it is another history.
    add(&journal, fourth, &["E"]);
    let seen = journal.fetch(end, &options, &long());
    assert!(matches!(seen, Err(Error::Diverged { seq: 5, .. })), "{seen:?}");
    add(&journal, journal.head(&long()).unwrap().position, &["F"]);
    let seen = journal.fetch(end, &options, &long());
    assert!(matches!(seen, Err(Error::Diverged { seq: 5, .. })), "{seen:?}");
    let seen = journal.append(end, &records(end, &["f"]), None, &long()).unwrap();
    assert!(matches!(seen, Outcome::Moved(_)), "it fetches then, and is told: {seen:?}");
}

#[test]
fn another_incarnation_is_refused() {
    let server = server!();
    let journal = server.journal();
    let end = add(&journal, Position::start(journal.store()), &["a"]);
    let other = Arc::new(Journal::open(server.settings(), journal.store(), &long()).unwrap());
    let refused = other.begin_incarnation(Position { seq: 0, ..end }, None, &long());
    assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    let machine = waypost_journal::MachineId([7; 16]);
    assert_eq!(other.begin_incarnation(end, Some(machine), &long()).unwrap(), 2);

    let refused = |found: Result<()>| match found {
        Err(error @ Error::Incarnation { expected: 1, found: 2 }) => {
            assert_eq!(error.kind(), waypost_journal::ErrorKind::Lost);
        }
        other => panic!("{other:?}"),
    };
    for journal in [&journal, &other] {
        refused(journal.append(end, &records(end, &["f"]), None, &long()).map(|_| ()));
        refused(journal.fetch(end, &FetchOptions::default(), &long()).map(|_| ()));
        refused(journal.lock(&long()).map(|_| ()));
        refused(journal.wait(1, &long()).map(|_| ()));
        refused(journal.begin_incarnation(end, None, &long()).map(|_| ()));
    }
    let again = Journal::open(server.settings(), journal.store(), &long()).unwrap();
    assert_eq!(again.incarnation(), 2);
    assert_eq!(again.head(&long()).unwrap().lease_holder, Some(machine));
    add(&again, end, &["f"]);
}
