//! The bus of events in process: publishing beside the disk's own limit, reading back, patterns and
//! opening with ten million events.

mod peers;
mod raw;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Result, ensure};
use waypost_events::{Bus, Data, Draft, Number, Query, Timestamp};

use crate::Options;
use crate::rig::{self, Report, Samples, Verdict, count, duration};

const WRITERS: usize = 64;
const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(2);
/// About as long as a frame of these events in the log.
const RECORD_BYTES: usize = 104;
const READ_BACK: usize = 1_000_000;
const FILLED: u64 = 10_000_000;
const FILLED_SMALL: u64 = 1_000_000;
/// One event in so many has the rare type.
const RARE_EVERY: u64 = 150_000;
const QUERIES: usize = 1_000;

pub fn run(options: &Options, report: &mut Report) -> Result<()> {
    report.table(
        "Events",
        "In process.\n\
         Events have three values, about 100 bytes on disk.\n\
         The raw limit is the same number of threads that share one `fdatasync` of a preallocated \
         file, with one of them as the leader and records of the same length; the two alternate, \
         medians of five rounds.",
    );
    let folder = tempfile::tempdir_in(".")?;
    publishing(folder.path(), report)?;
    let filled = if options.small { FILLED_SMALL } else { FILLED };
    reading(folder.path(), filled, report)?;
    report.close("");
    Ok(())
}

fn publishing(folder: &Path, report: &mut Report) -> Result<()> {
    for writers in [WRITERS, 1] {
        let (mut limit, mut ours) = (Samples::default(), Samples::default());
        for round in 0..ROUNDS {
            let file = folder.join(format!("raw-{writers}-{round}"));
            limit.add(raw::rate(&file, writers, RECORD_BYTES, ROUND)?);
            std::fs::remove_file(&file)?;
            let dir = folder.join(format!("bus-{writers}-{round}"));
            ours.add(rate(&dir, writers)?);
            std::fs::remove_dir_all(&dir)?;
        }
        let (limit, ours) = (limit.p50(), ours.p50());
        let ratio = ours / limit;
        let (target, verdict) = if writers == WRITERS {
            ("≥ 0.6 of the raw limit, ≥ 100,000/s", (ratio >= 0.6 && ours >= 1e5).into())
        } else {
            ("", Verdict::Open)
        };
        report.row(
            &format!("durable publish, writers: {writers}"),
            target,
            &format!("{}/s", count(ours)),
            &format!("raw {}/s", count(limit)),
            Some(ratio),
            verdict,
        );
    }
    Ok(())
}

/// Events that so many threads publish in a second.
fn rate(dir: &Path, writers: usize) -> Result<f64> {
    let bus = Bus::open(dir, &waypost_events::Options::default())?.0;
    let (stop, published) = (AtomicBool::new(false), AtomicU64::new(0));
    let from = rig::wall_seconds();
    std::thread::scope(|scope| -> Result<()> {
        let threads: Vec<_> = (0..writers)
            .map(|_| {
                scope.spawn(|| -> Result<()> {
                    while !stop.load(Ordering::Relaxed) {
                        let number = published.fetch_add(1, Ordering::Relaxed);
                        bus.publish(draft(number)?, Timestamp::EPOCH)?;
                    }
                    Ok(())
                })
            })
            .collect();
        std::thread::sleep(ROUND);
        stop.store(true, Ordering::Relaxed);
        for thread in threads {
            thread.join().map_err(|_| anyhow::anyhow!("a writer panicked"))??;
        }
        Ok(())
    })?;
    Ok(bus.last() as f64 / (rig::wall_seconds() - from))
}

fn draft(number: u64) -> Result<Draft> {
    let mut data = Data::default();
    data.insert("agent", "scout")?;
    data.insert("task", format!("task-{number}"))?;
    data.insert("score", Number::from(number % 100))?;
    let kind = if number % RARE_EVERY == 77 {
        "rare:thing".parse()?
    } else {
        format!("eval:kind-{}", number % 20).parse()?
    };
    Ok(Draft::new(kind, data, "speed"))
}

fn reading(folder: &Path, filled: u64, report: &mut Report) -> Result<()> {
    let dir = &folder.join("filled");
    let bus = Bus::open(dir, &waypost_events::Options::default())?.0;
    let from = rig::wall_seconds();
    while bus.last() < filled {
        let next = bus.last() + 1;
        let drafts = (next..next + 10_000).map(draft).collect::<Result<_>>()?;
        bus.publish_batch(drafts, Timestamp::EPOCH)?;
    }
    let bytes = bus.status().bytes;
    bus.close()?;
    rig::progress(format_args!(
        "filled {filled} events, {} MB: {:.1} s",
        bytes / 1_000_000,
        rig::wall_seconds() - from
    ));
    let mut opening = Samples::default();
    for _ in 0..ROUNDS {
        let from = rig::wall_seconds();
        let bus = Bus::open(dir, &waypost_events::Options::default())?.0;
        opening.add(rig::wall_seconds() - from);
        bus.close()?;
    }
    let many = count(filled as f64);
    let shown = opening.to_string();
    let is_met = opening.p50() <= 1.0;
    report.row(&format!("open with {many} events"), "≤ 1 s", &shown, "", None, is_met);

    let bus = Arc::new(Bus::open(dir, &waypost_events::Options::default())?.0);
    let rare = Query::default().with_pattern("rare:*".parse()?).with_limit(50);
    let expected = bus.last().saturating_sub(77) / RARE_EVERY + 1;
    let mut first = 0;
    let cold = rig::time_wall(|| first = bus.read(&rare).map_or(0, |it| it.events.len()));
    ensure!(first as u64 == expected.min(50), "{first} of {expected} rare events");
    let (mut wall, mut cpu) = (Samples::default(), Samples::default());
    for _ in 0..QUERIES {
        let from = (rig::wall_seconds(), rig::thread_seconds());
        std::hint::black_box(bus.read(&rare)?);
        wall.add(rig::wall_seconds() - from.0);
        cpu.add(rig::thread_seconds() - from.1);
    }
    report.row(
        &format!("`rare:*`, the newest 50 of {many} events"),
        "p99 ≤ 2 ms",
        &wall.to_string(),
        &format!("thread time {cpu}; the first one after opening {}", duration(cold)),
        None,
        wall.p99() <= 2e-3,
    );

    let (mut wall, mut cpu) = (Samples::default(), Samples::default());
    for _ in 0..ROUNDS {
        let from = (rig::wall_seconds(), rig::thread_seconds());
        let (mut cursor, mut read) = (0, 0);
        while read < READ_BACK {
            let page = bus.read(&Query::default().with_after(cursor).with_limit(1000))?;
            ensure!(!page.events.is_empty(), "only {read} events");
            cursor = page.next_after;
            read += page.events.len();
        }
        wall.add(rig::wall_seconds() - from.0);
        cpu.add(rig::thread_seconds() - from.1);
    }
    drop(bus);
    let others = peers::read_back(folder, READ_BACK)?;
    let rate = |seconds: f64| format!("{:.2} million/s", READ_BACK as f64 / 1e6 / seconds);
    report.row(
        "read a million events back",
        "≥ 1.5 million/s",
        &rate(wall.p50()),
        &format!("by thread time {}; by a socket {others}", rate(cpu.p50())),
        None,
        READ_BACK as f64 / wall.p50() >= 1.5e6,
    );
    Ok(())
}
