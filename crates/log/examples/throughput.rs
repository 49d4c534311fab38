//! Durable appends a second with one and with 64 writers, beside what the disk does with raw
//! `fdatasync`: one write and one sync for each record alone, and for as many records at once as
//! there are writers.
//!
//! `cargo run --release -p waypost-log --example throughput -- [FOLDER]`

use std::error::Error;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use waypost_log::{Log, Options, Record};

const PAYLOAD_BYTES: usize = 500;
const RUN: Duration = Duration::from_secs(2);

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "target/throughput".to_owned());
    std::fs::create_dir_all(&folder)?;
    let mut out = std::io::stdout().lock();
    for writers in [1, 64] {
        for round in 1..=3 {
            let raw = raw(Path::new(&folder), writers)?;
            let log = append(Path::new(&folder), writers)?;
            let ratio = log / raw;
            writeln!(
                out,
                "{writers:>2} writers, round {round}: {log:>9.0} appends/s, raw {raw:>9.0}/s, ratio {ratio:.2}"
            )?;
        }
    }
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// Records a second that `writers` threads append, each waiting for its own.
fn append(folder: &Path, writers: usize) -> Result<f64, Box<dyn Error>> {
    let dir = tempfile::tempdir_in(folder)?;
    let (log, _) = Log::open(dir.path(), &Options::default())?;
    let payload = vec![7; PAYLOAD_BYTES];
    let start = now();
    let total = std::thread::scope(|scope| {
        let one = || {
            let mut count = 0_u64;
            while start.elapsed() < RUN {
                log.append(Record { kind: 1, version: 1, payload: &payload })?;
                count += 1;
            }
            Ok::<u64, waypost_log::Error>(count)
        };
        let threads: Vec<_> = (0..writers).map(|_| scope.spawn(one)).collect();
        threads
            .into_iter()
            .map(|thread| {
                thread
                    .join()
                    .map_err(|_| "a writer panicked".to_owned())?
                    .map_err(|error| error.to_string())
            })
            .sum::<Result<u64, String>>()
    })?;
    Ok(total as f64 / start.elapsed().as_secs_f64())
}

/// Records a second when one thread writes `group` of them at once into a preallocated file, and
/// syncs.
fn raw(folder: &Path, group: usize) -> Result<f64, Box<dyn Error>> {
    let dir = tempfile::tempdir_in(folder)?;
    let file = OpenOptions::new().create_new(true).write(true).open(dir.path().join("raw"))?;
    let len = 32 << 20;
    file.write_all_at(&vec![0; len], 0)?;
    file.sync_all()?;
    let bytes = vec![7; (PAYLOAD_BYTES + 32) * group];
    let start = now();
    let (mut count, mut offset) = (0, 0);
    while start.elapsed() < RUN {
        file.write_all_at(&bytes, offset as u64)?;
        file.sync_data()?;
        count += group;
        offset = (offset + bytes.len()) % (len - bytes.len());
    }
    Ok(count as f64 / start.elapsed().as_secs_f64())
}

#[expect(clippy::disallowed_methods, reason = "this measures time")]
fn now() -> Instant {
    Instant::now()
}
