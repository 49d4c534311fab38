//! What indexing a project costs, and asking it.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::{Instant, SystemTime};

use anyhow::{Context as _, Result};
use waypost_context::{Context, Options, Query, TaskType, Timestamp};

/// Times that each question is asked.
const ROUNDS: usize = 40;
/// The kernel counts processor time in hundredths of a second.
const TICKS_PER_SECOND: f64 = 100.0;

const QUESTIONS: [&str; 8] = [
    "fix a wrong line number in an error message",
    "parser fails on nested brackets",
    "configuration file is not found in parent folders",
    "documentation of the command line options",
    "memory leak when a connection is closed",
    "add a setting that turns the cache off",
    "release notes of the last version",
    "",
];

/// Indexes a folder, opens the index again, and asks.
pub(crate) fn measure(folder: &Path, out: &mut impl Write) -> Result<()> {
    let temporary = tempfile::tempdir()?;
    let now = Timestamp::from(SystemTime::now());
    let open = || Context::open(folder, temporary.path(), Options::default());
    writeln!(out, "| what | wall | processor time | |\n|---|---|---|---|")?;

    let clock = Clock::start()?;
    let context = open()?;
    let report = context.scan(now, &|| false)?;
    context.save()?;
    let status = context.status();
    let chunks: u64 = status.chunks.values().sum();
    clock.row(out, "indexed and saved", &format!("{} files, {chunks} chunks", report.indexed))?;
    let (index, disk) = (status.memory_bytes >> 20, status.disk_bytes >> 20);
    writeln!(
        out,
        "| memory then | | | {}; the index takes {index} MiB, its files {disk} |",
        memory()?
    )?;
    context.close()?;

    let clock = Clock::start()?;
    let context = open()?;
    let report = context.scan(now, &|| false)?;
    clock.row(out, "opened again, nothing changed", &format!("{} indexed", report.indexed))?;
    writeln!(out, "| memory then | | | {} |", memory()?)?;

    let mut times = Vec::new();
    for round in 0..ROUNDS {
        for text in QUESTIONS {
            // No two are the same, so that nothing is remembered.
            let text = if text.is_empty() { String::new() } else { format!("{text} {round}") };
            let from = Instant::now();
            context.query(&Query::new(&text).with_task(TaskType::General), now)?;
            times.push(from.elapsed().as_secs_f64() * 1e3);
        }
    }
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    let (p50, p95, p99) = (at(0.5), at(0.95), at(0.99));
    writeln!(out, "| a query | p50 {p50:.2} ms, p95 {p95:.2} ms, p99 {p99:.2} ms | | |")?;
    Ok(())
}

/// Time since it was started.
struct Clock {
    wall: Instant,
    processor: f64,
}

impl Clock {
    fn start() -> Result<Self> {
        Ok(Self { wall: Instant::now(), processor: processor_seconds()? })
    }

    fn row(&self, out: &mut impl Write, what: &str, note: &str) -> Result<()> {
        let wall = self.wall.elapsed().as_secs_f64();
        let processor = processor_seconds()? - self.processor;
        Ok(writeln!(out, "| {what} | {wall:.2} s | {processor:.2} s | {note} |")?)
    }
}

/// The processor time of this process, in seconds.
fn processor_seconds() -> Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // What is in brackets is a name, and may have spaces.
    let rest = stat.rsplit_once(')').context("a line of the kernel's")?.1;
    let ticks = rest.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
    Ok(ticks.sum::<Result<f64, _>>()? / TICKS_PER_SECOND)
}

/// Resident memory, now and at most.
fn memory() -> Result<String> {
    let status = fs::read_to_string("/proc/self/status")?;
    let of = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kib: Option<u64> = line?.trim().trim_end_matches(" kB").parse().ok();
        Some(kib? / 1024)
    };
    let now = of("VmRSS:").context("the kernel tells")?;
    let peak = of("VmHWM:").context("the kernel tells")?;
    Ok(format!("{now} MiB resident, {peak} MiB at most"))
}
