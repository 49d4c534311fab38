//! Measures a replica that applies what others write: the time for each record, and what searches
//! notice of it.
//!
//! `replicas [MEMORIES]` (default 50,000). One store writes the records beforehand; the replica gets
//! them at a fixed rate, from memory: what is measured is its own work.

mod order;

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use tempfile::TempDir;
use waypost_log::{Log, Options, Record};
use waypost_memory::{
    Draft, LinkKind, MemoryId, Patch, SearchOptions, Store, StoreOptions, Timestamp,
};

use self::order::Order;

/// Changes in each second, as the target has them.
const RATE: u64 = 500;
const SECONDS: u64 = 20;
/// Records that are followed one by one, to time each.
const SINGLE: u64 = 2_000;
const WORDS: u64 = 20_000;

fn main() -> Result<()> {
    let memories =
        std::env::args().nth(1).map_or(Ok(50_000), |argument| argument.parse::<u64>())?;
    let mut out = std::io::stdout();
    let order = Arc::new(Order::default());
    let (writer, _writer_dir) = open(&order)?;
    let mut random = Random(1);
    fill(&writer, memories, &mut random)?;
    let filled = order.written();
    for number in 0..RATE * SECONDS + SINGLE {
        change(&writer, number, memories, &mut random)?;
    }
    drop(writer);
    let changed = order.written();

    let (replica, replica_dir) = open(&order)?;
    order.show(filled);
    let begun = Instant::now();
    replica.follow()?;
    let all = begun.elapsed();
    writeln!(out, "catching up: {filled} records, {:.1} us each", micros(all) / filled as f64)?;

    let (times, bytes) = one_by_one(&replica, &order, filled)?;
    writeln!(out, "one record by `follow`, us: {}", shown(times))?;
    writeln!(out, "of which its append to a log, us: {}", shown(appends(bytes)?))?;

    let quiet = searches(&replica, &mut random, Duration::from_secs(SECONDS))?;
    writeln!(out, "search, quiet, us: {}", shown(quiet))?;
    let from = filled + SINGLE;
    let done = AtomicBool::new(false);
    let (busy, followed) = thread::scope(|scope| -> Result<_> {
        scope.spawn(|| {
            let begun = Instant::now();
            while !done.load(Ordering::Relaxed) {
                let due = (begun.elapsed().as_secs_f64() * RATE as f64) as u64;
                order.show((from + due).min(changed));
                thread::sleep(Duration::from_millis(2));
            }
        });
        let follower = scope.spawn(|| -> Result<u64> {
            let mut count = 0;
            while !done.load(Ordering::Relaxed) {
                count += replica.follow()?;
                thread::sleep(Duration::from_millis(1));
            }
            Ok(count)
        });
        let busy = searches(&replica, &mut random, Duration::from_secs(SECONDS));
        done.store(true, Ordering::Relaxed);
        let followed = follower.join().ok().context("the follower panicked")??;
        Ok((busy?, followed))
    })?;
    writeln!(
        out,
        "search, {:.0} records/s from others, us: {}",
        followed as f64 / SECONDS as f64,
        shown(busy)
    )?;
    drop(replica);
    drop(replica_dir);
    Ok(())
}

fn open(order: &Arc<Order>) -> Result<(Store, TempDir)> {
    let dir = TempDir::new()?;
    let journal: Arc<Order> = Arc::clone(order);
    let options = StoreOptions::default().with_shared_journal(journal);
    Ok((Store::open(dir.path(), options)?.0, dir))
}

fn fill(store: &Store, memories: u64, random: &mut Random) -> Result<()> {
    for from in (0..memories).step_by(500) {
        let drafts =
            (from..(from + 500).min(memories)).map(|number| Draft::new(text(number, random)));
        for added in store.add_batch(drafts, Timestamp::EPOCH) {
            added?;
        }
    }
    for number in (10..memories).step_by(10) {
        store.link(id(number)?, id(number - 1)?, LinkKind::RelatedTo, Timestamp::EPOCH)?;
    }
    Ok(())
}

/// Mostly adds, some updates and links: one record each.
fn change(store: &Store, number: u64, memories: u64, random: &mut Random) -> Result<()> {
    let target = id(1 + random.below(memories))?;
    match number % 10 {
        0..7 => drop(store.add(Draft::new(text(memories + number, random)), Timestamp::EPOCH)?),
        7 | 8 => {
            let patch = Patch::default().with_content(text(number, random));
            store.update(target, patch, Timestamp::EPOCH)?;
        }
        _ => {
            let newest = id(memories + number / 10 * 7)?;
            store.link(newest, target, LinkKind::PartOf, Timestamp::EPOCH)?;
        }
    }
    Ok(())
}

/// The time of each `follow` with one record, and the records' sizes.
fn one_by_one(replica: &Store, order: &Order, from: u64) -> Result<(Vec<Duration>, Vec<usize>)> {
    let mut times = Vec::new();
    let mut bytes = Vec::new();
    for position in from + 1..=from + SINGLE {
        order.show(position);
        bytes.push(order.bytes(position));
        let begun = Instant::now();
        replica.follow()?;
        times.push(begun.elapsed());
    }
    Ok((times, bytes))
}

fn appends(bytes: Vec<usize>) -> Result<Vec<Duration>> {
    let dir = TempDir::new()?;
    let (log, _) = Log::open(dir.path(), &Options::default())?;
    let one = |bytes: usize| {
        let payload = vec![7; bytes];
        let begun = Instant::now();
        log.append_batch_unsynced(&[Record { kind: 1, version: 1, payload: &payload }])?;
        Ok(begun.elapsed())
    };
    bytes.into_iter().map(one).collect()
}

/// Distinct queries, one after another.
fn searches(store: &Store, random: &mut Random, time: Duration) -> Result<Vec<Duration>> {
    let mut times = Vec::new();
    let all = Instant::now();
    while all.elapsed() < time {
        let query = format!("{} {} {}", random.word(), random.word(), random.word());
        let begun = Instant::now();
        store.search(&query, &SearchOptions::default())?;
        times.push(begun.elapsed());
    }
    Ok(times)
}

fn shown(mut times: Vec<Duration>) -> String {
    times.sort();
    let at = |share: f64| micros(times[((times.len() - 1) as f64 * share) as usize]);
    format!("p50 {:.0}, p99 {:.0}, max {:.0} of {}", at(0.5), at(0.99), at(1.0), times.len())
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn id(number: u64) -> Result<MemoryId> {
    MemoryId::new(number).context("an id")
}

fn text(number: u64, random: &mut Random) -> String {
    let words: Vec<String> = (0..40).map(|_| random.word()).collect();
    format!("Memory {number}. {}", words.join(" "))
}

/// Xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    /// Some words are frequent, most are rare.
    fn word(&mut self) -> String {
        let at = self.below(WORDS) as f64 / WORDS as f64;
        format!("word{}", (at * at * at * WORDS as f64) as u64)
    }
}
