//! Searches on one machine while another one writes.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use crate::http::request;
use crate::load::Load;
use crate::machine::Machine;
use crate::process::progress;
use crate::report::Report;
use crate::samples::Samples;
use crate::text::Random;
use crate::{Options, adds};

/// Changes in a second.
const RATE: u32 = 500;
/// Changes in one request.
const BATCH: u32 = 10;

/// New queries one after another on `reader`, alone and while `writer` adds.
pub(crate) fn measure(
    reader: &Machine,
    writer: &Machine,
    options: &Options,
    random: &mut Random,
    report: &mut Report,
) -> Result<()> {
    progress("searches beside changes of another machine");
    search(reader, Duration::from_secs(1), random)?;
    let (mut quiet, mut busy) = (Samples::default(), Samples::default());
    let (mut quiet_tails, mut busy_tails) = (Samples::default(), Samples::default());
    let mut rates = Samples::default();
    for _ in 0..options.rounds {
        let times = search(reader, options.time, random)?;
        quiet_tails.add(times.quantile(0.99) * 1e3);
        quiet.append(times);
        let (done, added) = (AtomicBool::new(false), AtomicU64::new(0));
        let fork = random.fork();
        let times = thread::scope(|scope| {
            let writing = scope.spawn(|| write(writer, &done, &added, fork));
            thread::sleep(Duration::from_millis(300));
            let (from, begun) = (added.load(Ordering::Relaxed), Instant::now());
            let times = search(reader, options.time, random);
            let count = added.load(Ordering::Relaxed) - from;
            rates.add(count as f64 / begun.elapsed().as_secs_f64());
            done.store(true, Ordering::Relaxed);
            writing.join().ok().context("the writer panicked")??;
            times
        })?;
        busy_tails.add(times.quantile(0.99) * 1e3);
        busy.append(times);
        adds::catch_up(&[writer, reader])?;
    }
    let ratios = busy_tails.per(&quiet_tails);
    report.row(
        &format!("search during {:.0} changes/s of another machine, p99", rates.median()),
        "≤ 2 × the quiet p99",
        [
            &format!("{} ms; {busy}", busy_tails.rounds(2)),
            &format!("quiet {} ms; {quiet}", quiet_tails.rounds(2)),
            &ratios.rounds(2),
        ],
        Some(ratios.median() <= 2.0),
    )
}

fn search(machine: &Machine, time: Duration, random: &mut Random) -> Result<Samples> {
    let mut load = Load::http(&[machine.address])?;
    let outcome = load.run(time, &mut |_, out| {
        let body = format!("{{\"query\":\"{}\"}}", random.query());
        let (address, token) = (machine.address, &machine.token);
        out.extend(request(address, token, "POST", "/api/memory/search", None, &body));
        Ok(())
    })?;
    Ok(outcome.latencies)
}

fn write(
    machine: &Machine,
    done: &AtomicBool,
    added: &AtomicU64,
    mut random: Random,
) -> Result<()> {
    let mut http = machine.connect()?;
    let mut due = Instant::now();
    while !done.load(Ordering::Relaxed) {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        due += Duration::from_secs(1) * BATCH / RATE;
        let lines: Vec<String> = (0..BATCH).map(|_| random.memory() + "\n").collect();
        let answer = http.ask("POST", "/api/memory/batch", &lines.concat())?.ok()?;
        let count = answer.body.matches("\"status\":201").count();
        ensure!(count == BATCH as usize, "of a batch, {count} were added: {}", answer.body);
        added.fetch_add(BATCH.into(), Ordering::Relaxed);
    }
    Ok(())
}
