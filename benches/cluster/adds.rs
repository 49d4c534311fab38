//! Durable adds beside bare INSERTs, by one machine and by three.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::http::request;
use crate::load::{Load, Outcome};
use crate::machine::Machine;
use crate::postgres::Server;
use crate::process::progress;
use crate::report::Report;
use crate::samples::Samples;
use crate::text::Random;
use crate::wire::{Insert, insert};
use crate::{CLIENTS, DATABASE, Options};

/// By then, the events of adds are published, and the server's statistics are there.
const SETTLED: Duration = Duration::from_millis(1_500);

/// What the journal got for adds.
#[derive(Debug, Clone, Copy)]
struct Journaled {
    /// Adds in an append, on average.
    adds: f64,
    /// Records of an add: the memory, the note for its event, and the event.
    records: f64,
    /// Bytes of their payloads.
    bytes: usize,
}

/// Bare INSERTs into a table with the columns of the journal.
struct Bare<'a> {
    server: &'a Server,
    next: u64,
}

impl Bare<'_> {
    fn run(
        &mut self,
        connections: usize,
        kind: Insert,
        bytes: usize,
        time: Duration,
    ) -> Result<Outcome> {
        let mut load = Load::postgres(&self.server.socket(), connections)?;
        let mut payload = vec![0; bytes];
        let mut random = Random(11);
        for byte in &mut payload {
            *byte = random.next() as u8;
        }
        let rows = match kind {
            Insert::One => 1,
            Insert::Rows(rows) => rows as u64,
        };
        let mut outcome = load.run(time, &mut |_, out| {
            self.next += rows;
            insert(out, kind, self.next, &payload)
        })?;
        outcome.answers *= rows;
        Ok(outcome)
    }
}

/// Adds by clients that are spread over machines.
pub(crate) fn adds(
    machines: &[&Machine],
    clients: usize,
    time: Duration,
    random: &mut Random,
) -> Result<Outcome> {
    let of = |at: usize| machines[at % machines.len()];
    let addresses: Vec<_> = (0..clients).map(|at| of(at).address).collect();
    let mut load = Load::http(&addresses)?;
    load.run(time, &mut |at, out| {
        let machine = of(at);
        let body = random.memory();
        let (address, token) = (machine.address, &machine.token);
        out.extend(request(address, token, "POST", "/api/memory/add", None, &body));
        Ok(())
    })
}

fn end(server: &Server) -> Result<u64> {
    Ok(server.sql(DATABASE, "SELECT max(seq) FROM waypost.head")?.parse()?)
}

fn commits(server: &Server) -> Result<f64> {
    let sql = format!("SELECT xact_commit FROM pg_stat_database WHERE datname = '{DATABASE}'");
    Ok(server.sql("postgres", &sql)?.parse()?)
}

/// What was journaled since a position, with so many adds.
fn journaled(server: &Server, seq: u64, adds: u64) -> Result<Journaled> {
    let sql = format!(
        "SELECT count(DISTINCT batch) FILTER (WHERE part = 1), count(*), sum(octet_length(payload)) \
         FROM waypost.journal WHERE seq > {seq}"
    );
    let found = server.sql(DATABASE, &sql)?;
    let numbers = found.split('|').map(str::parse).collect::<Result<Vec<f64>, _>>()?;
    let [appends, records, bytes] = numbers[..] else { bail!("no numbers: {found}") };
    let adds = adds as f64;
    Ok(Journaled { adds: adds / appends, records: records / adds, bytes: (bytes / adds) as usize })
}

/// One client: the time of an add beside that of a bare INSERT.
pub(crate) fn latency(
    server: &Server,
    machine: &Machine,
    options: &Options,
    random: &mut Random,
    report: &mut Report,
) -> Result<()> {
    progress("one client");
    let mut bare = Bare { server, next: 0 };
    let from = end(server)?;
    let added = adds(&[machine], 1, Duration::from_secs(1), random)?;
    thread::sleep(SETTLED);
    let bytes = journaled(server, from, added.answers)?.bytes;
    let (mut ours, mut theirs) = (Samples::default(), Samples::default());
    let (mut tails, mut other_tails) = (Samples::default(), Samples::default());
    for _ in 0..options.rounds {
        let added = adds(&[machine], 1, options.time, random)?.latencies;
        ours.add(added.median() * 1e3);
        tails.add(added.quantile(0.99) * 1e3);
        let inserted = bare.run(1, Insert::One, bytes, options.time)?.latencies;
        theirs.add(inserted.median() * 1e3);
        other_tails.add(inserted.quantile(0.99) * 1e3);
    }
    let ratios = ours.per(&theirs);
    report.row(
        "durable add, 1 client, p50",
        "≤ 1.5",
        [
            &format!("{} ms; p99 {}", ours.rounds(2), tails.rounds(2)),
            &format!("bare INSERT {} ms; p99 {}", theirs.rounds(2), other_tails.rounds(2)),
            &ratios.rounds(2),
        ],
        Some(ratios.median() <= 1.5),
    )
}

/// Many clients of one machine beside INSERTs straight into PostgreSQL.
pub(crate) fn throughput(
    server: &Server,
    machine: &Machine,
    options: &Options,
    random: &mut Random,
    report: &mut Report,
) -> Result<()> {
    progress("64 clients of one machine, and INSERTs");
    let mut bare = Bare { server, next: 1 << 40 };
    let mut ours = Samples::default();
    let (mut single, mut batched, mut sole) =
        (Samples::default(), Samples::default(), Samples::default());
    let (mut sizes, mut records, mut bytes) =
        (Samples::default(), Samples::default(), Samples::default());
    let (mut per_add, mut busy) = (Samples::default(), Samples::default());
    for _ in 0..options.rounds {
        let (from, committed) = (end(server)?, commits(server)?);
        let used = machine.service()?.seconds()?;
        let added = adds(&[machine], CLIENTS, options.time, random)?;
        ours.add(added.rate());
        busy.add((machine.service()?.seconds()? - used) / added.answers as f64 * 1e6);
        thread::sleep(SETTLED);
        per_add.add((commits(server)? - committed) / added.answers as f64);
        let found = journaled(server, from, added.answers)?;
        sizes.add(found.adds);
        records.add(found.records);
        bytes.add(found.bytes as f64);
        let rows = Insert::Rows((found.adds.round() as usize).max(1));
        single.add(bare.run(CLIENTS, Insert::One, found.bytes, options.time)?.rate());
        batched.add(bare.run(CLIENTS, rows, found.bytes, options.time)?.rate());
        sole.add(bare.run(1, rows, found.bytes, options.time)?.rate());
        server.sql("bare", "TRUNCATE bare")?;
    }
    let shown = format!("{}/s", ours.rounds(0));
    for (what, other, target) in [
        ("64 sessions, one row each", &single, Some(0.6)),
        ("64 sessions, as many rows as an append has adds", &batched, Some(0.6)),
        ("1 session, as many rows as an append has adds", &sole, None),
    ] {
        let ratios = ours.per(other);
        report.row(
            "durable add, 64 clients, one machine",
            target.map_or("", |_| "≥ 0.6"),
            [&shown, &format!("{what}: {} rows/s", other.rounds(0)), &ratios.rounds(2)],
            target.map(|target| ratios.median() >= target),
        )?;
    }
    report.note(format!(
        "An add has {} records with {} bytes of payload; an append has {} adds. Commits of the \
         database for each add: {}. Processor time of the service for each add: {} µs.",
        records.rounds(2),
        bytes.rounds(0),
        sizes.rounds(1),
        per_add.rounds(3),
        busy.rounds(0)
    ));
    Ok(())
}

/// The clients spread over three machines, beside all of them on one.
pub(crate) fn together(
    machines: &[&Machine],
    options: &Options,
    random: &mut Random,
    report: &mut Report,
) -> Result<()> {
    progress("64 clients of three machines");
    let (mut spread, mut one) = (Samples::default(), Samples::default());
    let (mut tails, mut one_tails) = (Samples::default(), Samples::default());
    let (mut behind, mut one_behind) = (Samples::default(), Samples::default());
    for _ in 0..options.rounds {
        let added = adds(&machines[..1], CLIENTS, options.time, random)?;
        one.add(added.rate());
        one_tails.add(added.latencies.quantile(0.99) * 1e3);
        one_behind.add(catch_up(machines)?);
        let added = adds(machines, CLIENTS, options.time, random)?;
        spread.add(added.rate());
        tails.add(added.latencies.quantile(0.99) * 1e3);
        behind.add(catch_up(machines)?);
    }
    let ratios = spread.per(&one);
    report.row(
        "durable add, 64 clients, three machines ÷ one of three",
        "≥ 0.7",
        [
            &format!("{}/s; p99 {} ms", spread.rounds(0), tails.rounds(0)),
            &format!("{}/s; p99 {} ms", one.rounds(0), one_tails.rounds(0)),
            &ratios.rounds(2),
        ],
        Some(ratios.median() >= 0.7),
    )?;
    report.note(format!(
        "After the adds, all machines had everything within {} s (three) and {} s (one).",
        behind.rounds(2),
        one_behind.rounds(2)
    ));
    Ok(())
}

/// Waits until all machines have applied what any has; how long that took, in seconds.
pub(crate) fn catch_up(machines: &[&Machine]) -> Result<f64> {
    let begun = Instant::now();
    let positions =
        machines.iter().map(|machine| machine.position()).collect::<Result<Vec<_>>>()?;
    for machine in machines {
        for position in &positions {
            machine.wait_for(position)?;
        }
    }
    Ok(begun.elapsed().as_secs_f64())
}
