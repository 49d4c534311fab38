//! Durable adds beside bare INSERTs, by one machine and by three.

use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::http::request;
use crate::load::{Load, Outcome};
use crate::machine::Machine;
use crate::postgres::Server;
use crate::process::progress;
use crate::report::{line, row};
use crate::samples::Samples;
use crate::text::Random;
use crate::wire::{Insert, insert};
use crate::{CLIENTS, DATABASE, Options};

/// What the journal got during a round: from its rows of memories.
#[derive(Debug, Clone, Copy)]
struct Appends {
    /// Records of memories in an append, on average.
    rows: f64,
    /// Bytes of their payload, on average.
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
        payload.iter_mut().for_each(|it| *it = random.next() as u8);
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

fn appends_since(server: &Server, seq: u64) -> Result<Appends> {
    let sql = format!(
        "SELECT count(*)::float8 / count(DISTINCT batch), round(avg(octet_length(payload))) \
         FROM waypost.journal WHERE part = 1 AND seq > {seq}"
    );
    let found = server.sql(DATABASE, &sql)?;
    let (rows, bytes) = found.split_once('|').context("a row")?;
    Ok(Appends { rows: rows.parse()?, bytes: bytes.parse()? })
}

/// One client: the time of an add beside that of a bare INSERT.
pub(crate) fn latency(
    server: &Server,
    machine: &Machine,
    options: &Options,
    random: &mut Random,
) -> Result<()> {
    progress("one client");
    let mut bare = Bare { server, next: 0 };
    adds(&[machine], 1, Duration::from_secs(1), random)?;
    let bytes = appends_since(server, 0)?.bytes;
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
    row(
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
) -> Result<()> {
    progress("64 clients of one machine, and INSERTs");
    let mut bare = Bare { server, next: 1 << 40 };
    let mut ours = Samples::default();
    let (mut single, mut batched, mut sole) =
        (Samples::default(), Samples::default(), Samples::default());
    let (mut sizes, mut per_add, mut busy) =
        (Samples::default(), Samples::default(), Samples::default());
    for _ in 0..options.rounds {
        let (from, committed) = (end(server)?, commits(server)?);
        let used = machine.service()?.seconds()?;
        let added = adds(&[machine], CLIENTS, options.time, random)?;
        ours.add(added.rate());
        busy.add((machine.service()?.seconds()? - used) / added.answers as f64 * 1e6);
        // The statistics of a session are a second old.
        std::thread::sleep(Duration::from_millis(1_500));
        per_add.add((commits(server)? - committed) / added.answers as f64);
        let found = appends_since(server, from)?;
        sizes.add(found.rows);
        let rows = Insert::Rows((found.rows.round() as usize).max(1));
        single.add(bare.run(CLIENTS, Insert::One, found.bytes, options.time)?.rate());
        batched.add(bare.run(CLIENTS, rows, found.bytes, options.time)?.rate());
        sole.add(bare.run(1, rows, found.bytes, options.time)?.rate());
        server.sql("bare", "TRUNCATE bare")?;
    }
    let shown = format!(
        "{}/s; {} records an append, {} commits an add, {} µs of the service's processor time",
        ours.rounds(0),
        sizes.rounds(1),
        per_add.rounds(2),
        busy.rounds(0)
    );
    for (what, other, target) in [
        ("64 sessions, one row each", &single, Some(0.6)),
        ("64 sessions, as many rows as an append", &batched, Some(0.6)),
        ("1 session, as many rows as an append", &sole, None),
    ] {
        let ratios = ours.per(other);
        row(
            "durable add, 64 clients, one machine",
            target.map_or("", |_| "≥ 0.6"),
            [&shown, &format!("{what}: {} rows/s", other.rounds(0)), &ratios.rounds(2)],
            target.map(|it| ratios.median() >= it),
        )?;
    }
    Ok(())
}

/// The clients spread over three machines, beside all of them on one.
pub(crate) fn together(
    machines: &[&Machine],
    options: &Options,
    random: &mut Random,
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
    row(
        "durable add, 64 clients, three machines ÷ one of three",
        "≥ 0.7",
        [
            &format!("{}/s; p99 {} ms", spread.rounds(0), tails.rounds(0)),
            &format!("{}/s; p99 {} ms", one.rounds(0), one_tails.rounds(0)),
            &ratios.rounds(2),
        ],
        Some(ratios.median() >= 0.7),
    )?;
    line(&format!(
        "\nAfter the adds, all machines had everything within {} s (three) and {} s (one).\n",
        behind.rounds(2),
        one_behind.rounds(2)
    ))
}

/// Waits until all machines have applied what any has; how long that took, in seconds.
pub(crate) fn catch_up(machines: &[&Machine]) -> Result<f64> {
    let begun = std::time::Instant::now();
    let positions = machines.iter().map(|it| it.position()).collect::<Result<Vec<_>>>()?;
    for machine in machines {
        for position in &positions {
            machine.wait_for(position)?;
        }
    }
    Ok(begun.elapsed().as_secs_f64())
}
