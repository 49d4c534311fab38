//! Appends whose answer is lost.

use super::*;
use crate::proxy::{Fault, Proxy};

/// What the statement of an append contains.
const APPEND: &str = "INSERT INTO";

fn through(proxy: &Proxy, journal: &Journal) -> Arc<Journal> {
    let settings = server::settings(&proxy.url());
    Arc::new(Journal::open(settings, journal.store(), &long()).unwrap())
}

#[test]
fn an_append_is_there_once_whenever_the_connection_ends() {
    let server = server!();
    let proxy = Proxy::new(&server);
    let direct = server.journal();
    let journal = through(&proxy, &direct);
    let mut end = Position::start(journal.store());
    for fault in [Fault::CutBefore, Fault::CutAfter] {
        proxy.arm(APPEND, fault);
        end = add(&journal, end, &["a", "b"]);
        assert!(proxy.has_failed());
    }
    assert_eq!(texts(&all(&direct).unwrap()), ["a", "b", "a", "b"]);
    assert_eq!(direct.head(&long()).unwrap().position, end);
}

/// The network was interrupted, and neither side has noticed.
#[test]
fn an_append_without_an_answer_is_resolved_by_another_connection() {
    let server = server!();
    std::thread::scope(|scope| {
        for (statement, fault) in [
            (APPEND, Fault::LoseStatement),
            (APPEND, Fault::LoseAnswer),
            ("COMMIT", Fault::LoseAnswer),
            ("SELECT incarnation", Fault::LoseStatement),
        ] {
            let direct = server.journal();
            let proxy = Proxy::new(&server);
            scope.spawn(move || {
                let journal = through(&proxy, &direct);
                let start = Position::start(journal.store());
                if statement == "COMMIT" {
                    let guard = journal.lock(&long()).unwrap();
                    proxy.arm(statement, fault);
                    appended(guard.append(start, &records(start, &["a"]), None, &long()));
                } else {
                    proxy.arm(statement, fault);
                    assert_eq!(journal.head(&long()).unwrap().position, start);
                    add(&journal, start, &["a"]);
                }
                assert!(proxy.has_failed());
                assert_eq!(texts(&all(&direct).unwrap()), ["a"]);
            });
        }
    });
}

#[test]
fn a_statement_that_arrives_late_writes_nothing() {
    let server = server!();
    let proxy = Proxy::new(&server);
    let direct = server.journal();
    let journal = through(&proxy, &direct);
    let start = Position::start(journal.store());
    proxy.arm(APPEND, Fault::Hold);
    // Resolved as not written, and appended again.
    let end = add(&journal, start, &["once"]);
    proxy.release();
    assert_eq!(texts(&all(&direct).unwrap()), ["once"]);
    assert_eq!(direct.head(&long()).unwrap().position, end);
}

/// The same when nobody has appended in between: only the probe keeps the statement out.
#[test]
fn a_statement_that_was_found_not_written_stays_so() {
    let server = server!();
    let proxy = Proxy::new(&server);
    let direct = server.journal();
    let journal = through(&proxy, &direct);
    let start = Position::start(journal.store());
    proxy.arm(APPEND, Fault::Hold);
    // While others have the lock, the deadline passes before anything is known.
    let guard = direct.lock(&long()).unwrap();
    let soon = Until::within(Duration::from_millis(100));
    let error = journal.append(start, &records(start, &["late"]), None, &soon).unwrap_err();
    let Error::Unresolved { pending, .. } = error else { panic!("{error}") };
    drop(guard);
    assert_eq!(journal.resolve(&pending, &long()).unwrap(), Outcome::Moved(start));
    proxy.release();
    assert_eq!(texts(&all(&direct).unwrap()), [""; 0]);
    assert_eq!(direct.head(&long()).unwrap().position, start);
    // An append of another writer, who knows the old probe, is not harmed.
    add(&direct, start, &["next"]);
}

#[test]
fn a_commit_under_the_lock_is_there_once_or_not_at_all() {
    let server = server!();
    let proxy = Proxy::new(&server);
    let direct = server.journal();
    let journal = through(&proxy, &direct);
    let start = Position::start(journal.store());

    let guard = journal.lock(&long()).unwrap();
    proxy.arm("COMMIT", Fault::CutBefore);
    let cut = guard.append(start, &records(start, &["a"]), None, &long());
    assert!(matches!(cut, Err(Error::LockLost)), "{cut:?}");
    assert_eq!(texts(&all(&direct).unwrap()), [""; 0]);

    let guard = journal.lock(&long()).unwrap();
    proxy.arm("COMMIT", Fault::CutAfter);
    appended(guard.append(start, &records(start, &["b", "c"]), None, &long()));
    assert!(proxy.has_failed());
    assert_eq!(texts(&all(&direct).unwrap()), ["b", "c"]);
}

#[test]
fn a_stop_ends_an_append_and_leaves_it_unresolved() {
    let server = server!();
    let journal = server.journal();
    let start = Position::start(journal.store());
    let holder = Arc::new(Journal::open(server.settings(), journal.store(), &long()).unwrap());
    let guard = holder.lock(&long()).unwrap();
    let stop = waypost_journal::Stop::default();
    std::thread::scope(|scope| {
        let until = long().with_stop(&stop);
        let records = records(start, &["a"]);
        let append = scope.spawn({
            let journal = &journal;
            move || journal.append(start, &records, None, &until)
        });
        wait::until(|| {
            let waits =
                server.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
            (waits == "1").then_some(()).ok_or("the append does not wait")
        });
        stop.stop();
        let error = append.join().unwrap().unwrap_err();
        assert!(matches!(error, Error::Unresolved { .. }), "{error}");
        let stopped =
            journal.append(start, &super::records(start, &["b"]), None, &long().with_stop(&stop));
        assert!(matches!(stopped, Err(Error::Stopped)));
    });
    drop(guard);
}
