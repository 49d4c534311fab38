//! Writers that compete, also while the server is killed, and a checker of what they were told.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use waypost_journal::{BatchId, ErrorKind, Hash};

use super::*;
use crate::checker::{Attempt, Told, problems};
use crate::server::{Server, new_store};
use crate::wait::until;

/// What the writers of a test share.
struct Run {
    settings: Settings,
    store: StoreId,
    history: Mutex<Vec<Attempt>>,
    over: AtomicBool,
}

/// Ends the run, also if the test fails.
struct Over<'a>(&'a Run);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::Relaxed);
    }
}

/// A generator of small numbers that a seed repeats (xorshift64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

impl Run {
    fn new(server: &Server) -> Self {
        let store = new_store();
        Journal::create(server.settings(), store, &long()).unwrap();
        Self {
            settings: server.settings(),
            store,
            history: Mutex::default(),
            over: AtomicBool::new(false),
        }
    }

    /// Appends until the run is over, in whichever way comes next.
    fn write(&self, writer: usize, seed: u64) {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) + writer as u64 + 1);
        let open = || Journal::open(self.settings.clone(), self.store, &long());
        let journal = Arc::new(until(open));
        let mut after = Position::start(self.store);
        let mut number = 0;
        while !self.over.load(Ordering::Relaxed) {
            number += 1;
            let count = 1 + dice.below(3);
            let texts: Vec<String> = (0..count)
                .map(|other| format!("writer {writer}, append {number}, {other}"))
                .collect();
            let refs: Vec<&str> = texts.iter().map(String::as_str).collect();
            let began = Instant::now();
            let outcome = if dice.below(3) == 0 {
                journal.lock(&long()).and_then(|guard| {
                    // No standby may have what a lost primary has shown.
                    let confirmed = journal.confirm(Position::start(self.store), &long())?;
                    if confirmed.position != guard.position() {
                        return Err(Error::LockLost);
                    }
                    after = guard.position();
                    guard.append(after, &records(after, &refs), None, &long())
                })
            } else {
                journal.append(after, &records(after, &refs), None, &long())
            };
            let outcome = match outcome {
                Err(Error::Unresolved { pending, .. }) => journal.resolve(&pending, &long()),
                outcome => outcome,
            };
            let told = match outcome {
                Ok(Outcome::Appended(end)) => Told::Appended(end),
                Ok(_) => Told::NotWritten,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Retry, "{error}");
                    Told::NotWritten
                }
            };
            let ended = Instant::now();
            self.history.lock().unwrap().push(Attempt { writer, texts, began, ended, told });
            after = match told {
                Told::Appended(end) => end,
                // A position that no standby has confirmed may be lost with the primary.
                _ => until(|| journal.confirm(Position::start(self.store), &long())).position,
            };
        }
    }

    /// Reads what others append until the run is over; no promotion may take back what it has.
    fn follow(&self) -> Vec<Row> {
        let journal = until(|| Journal::open(self.settings.clone(), self.store, &long()));
        let mut rows: Vec<Row> = Vec::new();
        while !self.over.load(Ordering::Relaxed) {
            let after = rows.last().map_or(Position::start(self.store), Row::position);
            let soon = Until::within(Duration::from_secs(2));
            match journal
                .wait(after.seq, &soon)
                .and_then(|_| journal.fetch(after, &FetchOptions::default(), &soon))
            {
                Ok(more) => rows.extend(more.rows),
                Err(error) => assert_eq!(error.kind(), ErrorKind::Retry, "{error}"),
            }
        }
        rows
    }

    fn acknowledged(&self) -> usize {
        let history = self.history.lock().unwrap();
        history.iter().filter(|history| matches!(history.told, Told::Appended(_))).count()
    }

    /// Waits for this many more acknowledged appends.
    fn progress(&self, more: usize) {
        let goal = self.acknowledged() + more;
        until(|| (self.acknowledged() >= goal).then_some(()).ok_or("no progress"));
    }

    #[track_caller]
    fn check(&self, seed: u64) -> Vec<Row> {
        let journal = Journal::open(self.settings.clone(), self.store, &long()).unwrap();
        let rows = all(&journal).unwrap();
        let found = problems(&self.history.lock().unwrap(), &rows);
        assert!(found.is_empty(), "seed {seed}: {found:#?}");
        rows
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

#[test]
fn two_and_three_writers_leave_no_gap_and_no_duplicate() {
    let server = server!();
    for writers in [2, 3] {
        let run = Run::new(&server);
        thread::scope(|scope| {
            let over = Over(&run);
            for writer in 0..writers {
                let run = &run;
                scope.spawn(move || run.write(writer, 1));
            }
            run.progress(60);
            drop(over);
        });
        run.check(1);
    }
}

/// `WAYPOST_TEST_KILLS` sets how many kills, `WAYPOST_TEST_SEED` what the writers do.
#[test]
fn a_killed_server_loses_nothing_that_was_acknowledged() {
    let mut server = server!();
    let kills = number("WAYPOST_TEST_KILLS", 3);
    let seed = number("WAYPOST_TEST_SEED", u64::from(std::process::id()));
    let mut dice = Dice(seed + 1);
    let run = Run::new(&server);
    let followed = thread::scope(|scope| {
        let over = Over(&run);
        for writer in 0..3 {
            let run = &run;
            scope.spawn(move || run.write(writer, seed));
        }
        let follower = scope.spawn(|| run.follow());
        for _ in 0..kills {
            run.progress(5 + dice.below(20) as usize);
            // Without its first process, the others finish the statement that they have.
            server.kill(dice.below(2) == 0);
            server.run();
        }
        run.progress(10);
        drop(over);
        follower.join().unwrap()
    });
    let rows = run.check(seed);
    assert!(
        !followed.is_empty() && rows.starts_with(&followed),
        "seed {seed}: the follower differs"
    );
}

/// The primary is lost with appends that only it has, which are visible because their waits for the
/// standby were ended, and the standby takes over.
#[test]
fn a_promoted_standby_has_all_that_was_acknowledged() {
    let Some((mut primary, mut standby)) = standby::pair() else { return };
    let seed = number("WAYPOST_TEST_SEED", u64::from(std::process::id()));
    let mut run = Run::new(&primary);
    run.settings = standby::both(&primary, &standby);
    let followed = thread::scope(|scope| {
        let over = Over(&run);
        for writer in 0..3 {
            let run = &run;
            scope.spawn(move || run.write(writer, seed));
        }
        let follower = scope.spawn(|| run.follow());
        run.progress(20);
        standby.kill(true);
        let pid = standby::waiting(&primary);
        primary.sql(&format!("SELECT pg_terminate_backend({pid})"));
        // Now a resolver waits, or the follower, which has seen what is to be lost.
        until(|| (standby::waiting(&primary) != pid).then_some(()).ok_or("nobody waits"));
        primary.kill(true);
        standby.run();
        standby.promote();
        run.progress(20);
        drop(over);
        follower.join().unwrap()
    });
    let rows = run.check(seed);
    assert!(
        !followed.is_empty() && rows.starts_with(&followed),
        "seed {seed}: the follower differs"
    );
}

/// One attempt with a text of its own.
fn attempt(text: &str, told: Told) -> Attempt {
    let now = Instant::now();
    Attempt { writer: 0, texts: vec![text.to_owned()], began: now, ended: now, told }
}

#[test]
fn the_checker_finds_duplicates_and_what_was_not_to_be_written() {
    let start = Position { seq: 0, hash: Hash([0; 32]) };
    let mut rows: Vec<Row> = Vec::new();
    for text in ["a", "b", "a", "c"] {
        let after = rows.last().map_or(start, Row::position);
        let (batch, record) = (BatchId([1; 16]), record(after.seq + 1, text));
        let next = after.then(0, batch, &record);
        rows.push(Row { seq: next.seq, epoch: 0, batch, hash: next.hash, record });
    }
    let at = |index: usize| Told::Appended(rows[index].position());
    let check = |history: &[Attempt], expected: &[&str]| {
        let found = problems(history, &rows);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        assert!(found.iter().zip(expected).all(|(it, part)| it.contains(part)), "{found:?}");
    };
    check(
        &[attempt("a", Told::Nothing), attempt("b", Told::NotWritten), attempt("c", at(3))],
        &["duplicated", "in part", "not written, but at [2]"],
    );
    // The other order: what came behind was acknowledged before what is before it was begun.
    let late = attempt("c", at(3));
    until(|| (late.ended.elapsed() > Duration::ZERO).then_some(()).ok_or("time passes"));
    check(
        &[late, attempt("b", at(1)), attempt("a", Told::Nothing)],
        &["duplicated", "in part", "record 4 was acknowledged before an earlier one was begun"],
    );
}
