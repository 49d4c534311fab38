//! A primary and a standby: what is acknowledged, and what a promotion may take back.

use std::thread;

use rustix::process::Signal;
use waypost_journal::NewSnapshot;

use super::*;
use crate::server::{Server, settings};
use crate::snapshots::{MACHINE, content, get, put};
use crate::wait::until;

/// A primary whose commits wait for its standby.
pub(crate) fn pair() -> Option<(Server, Server)> {
    let primary = Server::start()?;
    let standby = primary.standby("s1");
    synchronous(&primary, "ANY 1 (s1)");
    until(|| {
        let state = primary.sql("SELECT sync_state FROM pg_stat_replication");
        (state == "quorum").then_some(()).ok_or(state)
    });
    Some((primary, standby))
}

fn synchronous(server: &Server, names: &str) {
    server.sql(&format!("ALTER SYSTEM SET synchronous_standby_names = '{names}'"));
    server.sql("SELECT pg_reload_conf()");
    until(|| {
        let now = server.sql("SHOW synchronous_standby_names");
        (now == names).then_some(()).ok_or(now)
    });
}

/// The process that waits for the standbys.
pub(crate) fn waiting(server: &Server) -> String {
    until(|| {
        let sql = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' LIMIT 1";
        let pid = server.sql(sql);
        (!pid.is_empty()).then_some(pid).ok_or("no commit waits")
    })
}

/// Both servers, as in the URL of a cluster.
pub(crate) fn both(first: &Server, second: &Server) -> Settings {
    let host = |server: &Server| {
        format!(
            "{}:{}",
            server.folder.path().display().to_string().replace('/', "%2F"),
            server.port
        )
    };
    settings(&format!("postgresql://waypost@{},{}/waypost", host(first), host(second)))
}

pub(crate) fn soon() -> Until {
    Until::within(Duration::from_millis(700))
}

#[test]
fn a_standby_is_refused_and_passed_over() {
    let Some((primary, standby)) = pair() else { return };
    let store = primary.journal().store();
    let error = Journal::open(standby.settings(), store, &long()).unwrap_err();
    assert!(matches!(error, Error::Standby(_)), "{error}");
    Journal::open(both(&standby, &primary), store, &long()).unwrap();
}

#[test]
fn the_status_says_what_the_loss_of_the_primary_would_lose() {
    let Some((primary, mut standby)) = pair() else { return };
    let journal = primary.journal();
    let status = journal.status(&long()).unwrap();
    assert_eq!((status.standbys_required, status.standbys_streaming), (1, 1));
    assert_eq!(status.is_synchronous(), None, "the user may not see it");
    primary.sql("GRANT pg_monitor TO waypost");
    assert_eq!(journal.status(&long()).unwrap().is_synchronous(), Some(true));
    standby.kill(true);
    until(|| match journal.status(&long()).unwrap().is_synchronous() {
        Some(false) => Ok(()),
        other => Err(format!("{other:?}")),
    });
    synchronous(&primary, "");
    let status = journal.status(&long()).unwrap();
    assert_eq!((status.standbys_required, status.is_synchronous()), (0, Some(false)));
}

/// A wait for the standbys that is cancelled ends with success and a warning. The same for one
/// that is terminated.
#[test]
fn a_cancelled_wait_is_not_acknowledged() {
    let Some((primary, standby)) = pair() else { return };
    let journal = primary.journal();
    let mut end = Position::start(journal.store());
    for end_it in ["pg_cancel_backend", "pg_terminate_backend"] {
        standby.signal(Signal::STOP);
        let (after, records) = (end, records(end, &["a"]));
        end = thread::scope(|scope| {
            let append = scope.spawn(|| journal.append(after, &records, None, &long()));
            let pid = waiting(&primary);
            primary.sql(&format!("SELECT {end_it}({pid})"));
            // The library now waits with a commit of its own; the records are visible.
            until(|| {
                (waiting(&primary) != pid || end_it == "pg_cancel_backend")
                    .then_some(())
                    .ok_or("no other commit")
            });
            assert!(!append.is_finished(), "it was acknowledged");
            standby.signal(Signal::CONT);
            appended(append.join().unwrap())
        });
    }
    assert_eq!(texts(&all(&journal).unwrap()), ["a", "a"]);
}

/// The records exist on the primary alone: they are neither acknowledged nor read, and the next
/// primary does not have them.
#[test]
fn what_only_the_old_primary_has_is_neither_acknowledged_nor_read() {
    let Some((mut primary, mut standby)) = pair() else { return };
    let store = primary.journal().store();
    let journal = Journal::open(both(&primary, &standby), store, &long()).unwrap();
    let start = Position::start(store);
    let first = add(&journal, start, &["kept"]);
    standby.kill(true);
    let error = journal.append(first, &records(first, &["lost"]), None, &soon()).unwrap_err();
    let Error::Unresolved { pending, .. } = error else { panic!("{error}") };
    primary.sql(&format!("SELECT pg_terminate_backend({})", waiting(&primary)));
    until(|| {
        let seen = primary.sql("SELECT max(seq) FROM waypost.journal");
        (seen == "2").then_some(()).ok_or("it is not visible")
    });
    let follower = Journal::open(primary.settings(), store, &long()).unwrap();
    let read = follower.fetch(first, &FetchOptions::default(), &soon());
    assert!(matches!(read, Err(Error::Connection(_))), "{read:?}");
    let resolved = journal.resolve(&pending, &soon());
    assert!(matches!(resolved, Err(Error::Unresolved { .. })), "{resolved:?}");

    primary.kill(true);
    standby.run();
    standby.promote();
    assert_eq!(journal.resolve(&pending, &long()).unwrap(), Outcome::Moved(first));
    add(&journal, first, &["next"]);
    assert_eq!(texts(&all(&journal).unwrap()), ["kept", "next"]);
}

/// A standby that lacks acknowledged records is promoted, because commits did not wait for it.
#[test]
fn a_lossy_promotion_is_noticed() {
    let Some((mut primary, mut standby)) = pair() else { return };
    let store = primary.journal().store();
    let journal = Journal::open(both(&primary, &standby), store, &long()).unwrap();
    let first = add(&journal, Position::start(store), &["kept"]);
    synchronous(&primary, "");
    standby.kill(true);
    let second = add(&journal, first, &["lost"]);
    primary.kill(true);
    standby.run();
    standby.promote();
    let options = FetchOptions::default();
    let seen = journal.fetch(second, &options, &long());
    assert!(
        matches!(seen, Err(Error::Shorter { ours, theirs }) if ours == second && theirs == first),
        "{seen:?}"
    );
    add(&journal, first, &["another"]);
    let seen = journal.fetch(second, &options, &long());
    assert!(matches!(seen, Err(Error::Diverged { seq: 2, .. })), "{seen:?}");
}

/// A server that is behind and cannot commit is not a loss: it may be an old primary.
#[test]
fn an_old_primary_that_is_behind_is_not_a_loss() {
    let Some((primary, mut standby)) = pair() else { return };
    let journal = primary.journal();
    let start = Position::start(journal.store());
    let first = add(&journal, start, &["a"]);
    standby.kill(true);
    let ahead = first.then(0, waypost_journal::BatchId([1; 16]), &record(2, "elsewhere"));
    let seen = journal.fetch(ahead, &FetchOptions::default(), &soon());
    assert!(matches!(seen, Err(Error::Connection(_))), "{seen:?}");
}

/// A server that others have replaced cannot say that a decision still holds.
#[test]
fn only_the_primary_confirms_a_position() {
    let Some((mut primary, mut standby)) = pair() else { return };
    let store = primary.journal().store();
    let journal = Journal::open(both(&primary, &standby), store, &long()).unwrap();
    let old = Journal::open(primary.settings(), store, &long()).unwrap();
    let end = add(&journal, Position::start(store), &["a"]);
    assert_eq!(old.confirm(end, &long()).unwrap().position, end);
    standby.kill(true);
    let seen = old.head(&long()).unwrap().position;
    assert_eq!(seen, end, "it still answers");
    let error = old.confirm(end, &soon()).unwrap_err();
    assert_eq!(error.kind(), waypost_journal::ErrorKind::Retry, "{error}");

    // A wait that is cancelled confirms nothing either.
    thread::scope(|scope| {
        let confirm = scope.spawn(|| old.confirm(end, &long()));
        until(|| {
            primary.sql(
                "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'",
            );
            confirm.is_finished().then_some(()).ok_or("it waits")
        });
        assert!(matches!(confirm.join().unwrap(), Err(Error::Connection(_))));
    });

    primary.kill(true);
    standby.run();
    standby.promote();
    let last = add(&journal, end, &["b"]);
    assert_eq!(journal.confirm(end, &long()).unwrap().position, last);
    let ahead = last.then(0, waypost_journal::BatchId([1; 16]), &record(3, "lost"));
    let error = journal.confirm(ahead, &long()).unwrap_err();
    assert!(matches!(error, Error::Shorter { .. }), "{error}");
}

/// A snapshot counts when the standbys have it.
#[test]
fn a_snapshot_survives_the_loss_of_the_primary() {
    let Some((mut primary, mut standby)) = pair() else { return };
    let store = primary.journal().store();
    let journal = Journal::open(both(&primary, &standby), store, &long()).unwrap();
    let end = add(&journal, Position::start(store), &["a"]);
    let content = content(3_000_000);
    let snapshot = put(&journal, end, &content);
    standby.kill(true);
    let new = NewSnapshot { position: end, places: Vec::new(), machine: MACHINE };
    let lost = journal.put_snapshot(&new, &mut content.as_slice(), &soon(), &mut |_| ());
    assert!(matches!(lost, Err(Error::Connection(_) | Error::Stopped)), "{lost:?}");
    primary.kill(true);
    standby.run();
    standby.promote();
    let found = journal.snapshots(&long()).unwrap();
    assert_eq!(found.iter().map(|it| it.id).collect::<Vec<_>>(), [snapshot.id]);
    assert!(get(&journal, &found[0]).unwrap() == content);
    assert_eq!(journal.trim(snapshot.id, &long()).unwrap().base, end);
}
