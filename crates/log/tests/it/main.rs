//! Behaviour of the log through its public interface.

mod append;
mod compaction;
mod damage;
mod group_commit;
mod lock;
mod model;
mod snapshot;

use std::path::Path;

use waypost_log::{Entry, Log, Options, Record};

/// Segments so small that a test has many.
fn small() -> Options {
    Options::default().with_segment_bytes(4096).with_preallocate_bytes(4096).with_free_bytes_min(0)
}

/// A folder in memory where the system has one: these tests sync thousands of times.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a temporary folder")
}

fn open(dir: &Path) -> Log {
    Log::open(dir, &small()).expect("the log opens").0
}

fn record(payload: &[u8]) -> Record<'_> {
    Record { kind: 1, version: 1, payload }
}

fn entries(log: &Log) -> Vec<Entry> {
    log.entries_after(0).map(|after| after.expect("readable")).collect()
}

/// Appends `count` records whose payloads tell their sequences.
fn fill(log: &Log, count: u64) {
    for _ in 0..count {
        let payload = format!("payload of {:>60}", log.last_sequence() + 1);
        log.append(record(payload.as_bytes())).expect("there is room");
    }
}
