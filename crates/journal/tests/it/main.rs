//! The journal through its public API, on real servers of PostgreSQL.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "tests of deadlines measure time")]

mod append;
mod checker;
#[path = "../../../../tests/child.rs"]
mod child;
mod damage;
mod injected;
mod lease;
mod machines;
mod pooler;
mod proxy;
mod questions;
mod refusals;
mod server;
mod snapshots;
mod standby;
mod trimming;
mod unknown;
mod vectors;
#[path = "../../../../tests/wait.rs"]
mod wait;
mod writers;

use std::sync::Arc;
use std::time::{Duration, Instant};

use waypost_journal::{
    Error, FetchOptions, Journal, Outcome, Position, Record, Result, Row, Settings, StoreId, Until,
};

/// Long enough for a busy machine; this time passes only if a test fails.
fn long() -> Until {
    Until::within(Duration::from_secs(60))
}

/// Returns from a test if PostgreSQL is not installed.
#[macro_export]
macro_rules! server {
    () => {
        match $crate::server::Server::start() {
            Some(server) => server,
            None => return,
        }
    };
}

/// A record of part 0.
fn record(place: u64, text: &str) -> Record {
    Record { part: 0, place, kind: 1, version: 1, payload: text.as_bytes().to_vec() }
}

/// Records of part 0 that follow a position at which part 0 has all records.
fn records(after: Position, texts: &[&str]) -> Vec<Record> {
    (after.seq + 1..).zip(texts).map(|(place, text)| record(place, text)).collect()
}

#[track_caller]
fn appended(outcome: Result<Outcome>) -> Position {
    match outcome.unwrap() {
        Outcome::Appended(position) => position,
        other => panic!("{other:?}"),
    }
}

/// Appends texts to part 0.
#[track_caller]
fn add(journal: &Journal, after: Position, texts: &[&str]) -> Position {
    appended(journal.append(after, &records(after, texts), None, &long()))
}

/// All records, read in small steps.
fn all(journal: &Journal) -> Result<Vec<Row>> {
    all_after(journal, Position::start(journal.store()))
}

fn all_after(journal: &Journal, start: Position) -> Result<Vec<Row>> {
    let mut rows: Vec<Row> = Vec::new();
    let options = FetchOptions::default().with_records_max(7);
    loop {
        let after = rows.last().map_or(start, Row::position);
        let more = journal.fetch(after, &options, &long())?;
        if more.rows.is_empty() {
            return Ok(rows);
        }
        rows.extend(more.rows);
    }
}

fn texts(rows: &[Row]) -> Vec<String> {
    rows.iter().map(|row| String::from_utf8(row.record.payload.clone()).unwrap()).collect()
}
