//! Clients that are told of appends which are lost.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;
use std::thread;

use rustix::process::Signal;
use waypost_journal::Pending;

use super::*;
use crate::child::end_of;
use crate::server;
use crate::server::Server;
use crate::standby::soon;

/// Runs statements in one session of a client, which is killed as soon as it has acknowledged.
fn killed_after_acknowledging(server: &Server, statements: &[&str]) {
    let mut client = server.shell("waypost");
    let mut client = client.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // The input stays open: the client has more to do.
    let input = client.stdin.as_mut().unwrap();
    input.write_all(statements.join("\n").as_bytes()).unwrap();
    input.write_all(b"\n").unwrap();
    let mut line = String::new();
    BufReader::new(client.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "acknowledged\n");
    client.kill().unwrap();
    end_of(&mut client);
}

#[test]
fn an_acknowledgement_before_the_commit_is_found() {
    let server = server!();
    for is_wrong in [false, true] {
        let mut scene = Scene::new(server.journal());
        scene.add(&["a"]);
        let (end, append) = raw(&scene.journal, scene.end, &record(2, "early"), 0);
        let (begin, append) = ("BEGIN;", format!("{append};"));
        let (acknowledge, commit) = ("\\echo acknowledged", "COMMIT;");
        if is_wrong {
            killed_after_acknowledging(&server, &[begin, &append, acknowledge]);
        } else {
            killed_after_acknowledging(&server, &[begin, &append, commit, acknowledge]);
            scene.end = end;
        }
        scene.note("early", Told::Appended(end));
        // A machine that has applied the record is told that the journal lacks it.
        let said = scene.said(end);
        assert_eq!(matches!(said, Err(Error::Shorter { .. })), is_wrong, "{said:?}");
        scene.add(&["b"]);
        let said = scene.said(end);
        assert_eq!(matches!(said, Err(Error::Diverged { seq: 2, .. })), is_wrong, "{said:?}");
        scene.follow();
        if is_wrong {
            scene.has(&["[\"early\"]: acknowledged at 2"]);
        } else {
            scene.is_clean();
        }
    }
}

/// A wrong client and a correct one, whose appends only the primary has. Each ends as `end_it` says
/// while it waits for the standby. Returns the position of the wrong one, and whether psql, its
/// program, took the outcome for a success; the correct one is left unresolved.
fn without_standby(
    primary: &Server,
    wrong: &Scene,
    right: &Scene,
    end_it: &str,
) -> (Position, bool, Pending) {
    let (end, append) = raw(&wrong.journal, wrong.end, &record(2, "b"), 0);
    let end_waiting = || {
        let pid = standby::waiting(primary);
        primary.sql(&format!("SELECT {end_it}({pid})"));
    };
    let mut psql = primary.psql("waypost", &append);
    let client = thread::spawn(move || psql.output().unwrap().status.success());
    end_waiting();
    let is_success = client.join().unwrap();
    let pending = thread::scope(|scope| {
        let append = scope
            .spawn(|| right.journal.append(right.end, &records(right.end, &["b"]), None, &soon()));
        end_waiting();
        match append.join().unwrap() {
            Err(Error::Unresolved { pending, .. }) => pending,
            other => panic!("{other:?}"),
        }
    });
    (end, is_success, pending)
}

/// After the promotion: the wrong client has believed that its append at `end` was written; the
/// correct one asks.
fn judge_after_promotion(
    standby: &Server,
    mut wrong: Scene,
    mut right: Scene,
    end: Position,
    pending: &Pending,
) {
    for scene in [&mut wrong, &mut right] {
        scene.journal =
            Arc::new(Journal::open(standby.settings(), scene.journal.store(), &long()).unwrap());
    }
    assert_eq!(right.journal.resolve(pending, &long()).unwrap(), Outcome::Moved(right.end));
    right.note("b", Told::NotWritten);
    wrong.note("b", Told::Appended(end));
    let said = wrong.said(end);
    assert!(matches!(said, Err(Error::Shorter { .. })), "{said:?}");
    for scene in [&mut wrong, &mut right] {
        scene.add(&["c"]);
        scene.follow();
    }
    let said = wrong.said(end);
    assert!(matches!(said, Err(Error::Diverged { seq: 2, .. })), "{said:?}");
    wrong.has(&["[\"b\"]: acknowledged at 2"]);
    right.is_clean();
}

#[test]
fn a_cancelled_wait_for_the_standby_that_is_trusted_is_found() {
    let Some((mut primary, mut standby)) = standby::pair() else { return };
    let (mut wrong, mut right) = (Scene::new(primary.journal()), Scene::new(primary.journal()));
    wrong.add(&["a"]);
    right.add(&["a"]);
    standby.stop();
    let ended = without_standby(&primary, &wrong, &right, "pg_cancel_backend");
    let (end, is_success, pending) = ended;
    assert!(is_success, "the server says so, with a warning");
    primary.kill(true);
    standby.run();
    standby.promote();
    judge_after_promotion(&standby, wrong, right, end, &pending);
}

#[test]
fn a_batch_that_is_looked_up_on_the_old_primary_is_found() {
    let Some((primary, mut standby)) = standby::pair() else { return };
    let (mut wrong, mut right) = (Scene::new(primary.journal()), Scene::new(primary.journal()));
    wrong.add(&["a"]);
    right.add(&["a"]);
    standby.stop();
    let ended = without_standby(&primary, &wrong, &right, "pg_terminate_backend");
    let (end, is_success, pending) = ended;
    assert!(!is_success, "the connection is lost");
    // The old primary cannot send its records, and continues after the promotion.
    primary.signal(Signal::STOP);
    standby.run();
    standby.promote();
    primary.signal(Signal::CONT);
    let store = wrong.journal.store();
    let looked_up = format!("SELECT max(seq) FROM waypost.journal WHERE store = '{store}'");
    assert_eq!(primary.sql(&looked_up), "2", "the old primary has the batch");
    let resolved = right.journal.resolve(&pending, &soon());
    assert!(matches!(resolved, Err(Error::Unresolved { .. })), "{resolved:?}");
    judge_after_promotion(&standby, wrong, right, end, &pending);
}

#[test]
fn writes_after_a_restored_backup_are_found() {
    let mut server = server!();
    let mut scene = Scene::new(server.journal());
    scene.add(&["a", "b"]);
    server.stop();
    let backup = server.backup();
    server.run();
    scene.add(&["c", "d"]);
    scene.follow();
    // Without the backup, the server continues where it was.
    server.stop();
    server.run();
    scene.add(&["e", "f"]);
    scene.is_clean();

    server.stop();
    server.restore(&backup);
    server.run();
    let applied = scene.end;
    let said = scene.said(applied);
    assert!(matches!(said, Err(Error::Shorter { .. })), "{said:?}");
    let refused = scene.journal.append(applied, &records(applied, &["g"]), None, &long());
    assert!(matches!(refused, Err(Error::Shorter { .. })), "{refused:?}");
    // A machine that does not stop there goes on where the database is.
    scene.end = scene.journal.head(&long()).unwrap().position;
    scene.add(&["g", "h", "i", "j"]);
    scene.follow();
    let said = scene.said(applied);
    assert!(matches!(said, Err(Error::Diverged { seq: 6, .. })), "{said:?}");
    scene.has(&[
        "[\"c\"]: acknowledged at 3",
        "[\"d\"]: acknowledged at 4",
        "[\"e\"]: acknowledged at 5",
        "[\"f\"]: acknowledged at 6",
        "follower 0 has another record 3",
        "follower 0 has another record 4",
    ]);
}
