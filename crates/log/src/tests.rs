//! Crashes and failing disks, at the seam where the log changes files.

mod crash;
mod faults;
mod image;

use std::path::Path;

use crate::{Entry, Log, Options, Record};

/// A folder in memory where the system has one: these tests open logs by the thousand.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a temporary folder")
}

fn small(segment_bytes: u64) -> Options {
    let preallocate_bytes = (segment_bytes / 4).max(512);
    Options { segment_bytes, preallocate_bytes, free_bytes_min: 0, ..Options::default() }
}

fn open(dir: &Path, options: &Options) -> Log {
    Log::open(dir, options).expect("the log opens").0
}

fn record(payload: &[u8]) -> Record<'_> {
    Record { kind: 1, version: 1, payload }
}

fn entries(log: &Log) -> Vec<Entry> {
    log.entries_after(0).map(|after| after.expect("readable")).collect()
}

/// Pseudo-random numbers from a seed (Marsaglia 2003, xorshift64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit.max(1)
    }
}
