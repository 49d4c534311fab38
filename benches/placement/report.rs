//! The tables of docs/scale.md.

use std::io::Write;

use anyhow::Result;

use crate::costs::{DATABASE_RATE, GB, disk_bytes, journal_bytes, resident_bytes};
use crate::journals::{Access, Database, Demand};
use crate::metrics::{Metrics, quantile};
use crate::place::{Machine, Method, Owners, bytes, moved, open, place, place_again};
use crate::random::hash;
use crate::simulation::{Change, Files, Outcome, Scenario, Second, run};
use crate::stores::{Store, Workload, draw};

const STORES: usize = 10_000;
const MACHINES: usize = 40;
/// Three quarters of 64 GB; the rest is for the page cache and the system.
const MEMORY_BYTES: u64 = 48_000_000_000;
/// Medians of the stores' sizes: about a hundred million memories in all, and about a billion.
const MEDIANS: [f64; 2] = [3_000.0, 30_000.0];
/// A working day.
const WARM_SECONDS: u64 = 8 * 3_600;
const QUIET_SECONDS: u64 = 3_600;

const METHODS: [(&str, Method); 3] = [
    ("consistent hashing, 128 points", Method::Ring),
    ("rendezvous", Method::Rendezvous),
    ("weighted rendezvous, bounded, in a table", Method::Bounded),
];

/// As `benches/placement/appends` measured it on two cores, with a synchronous standby on the same
/// disk. Sessions are what PostgreSQL's documentation of connection poolers calls hundreds; the bytes
/// are those that one hour restores.
const DATABASE: Database =
    Database { appends: 2_900.0, reads: 15_200.0, sessions: 500.0, bytes: DATABASE_RATE * 3_600.0 };

/// Prints all tables.
pub(crate) fn print(out: &mut impl Write, seed: u64) -> Result<()> {
    writeln!(out, "{STORES} stores, {MACHINES} machines, seed {seed}\n")?;
    print_stores(out, seed)?;
    print_placement(out, seed)?;
    let outcomes = print_quiet(out, seed)?;
    print_changes(out, seed)?;
    print_journals(out, seed, &outcomes)
}

fn print_stores(out: &mut impl Write, seed: u64) -> Result<()> {
    writeln!(
        out,
        "| stores of | memories in all | median | 99 % | largest | on disk, two copies | all open once | busiest tenth of the stores |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|---|")?;
    for median in MEDIANS {
        let stores = draw(&Workload::of(STORES, median), seed);
        let sizes: Vec<f64> = stores.iter().map(|store| store.memories as f64).collect();
        let total: f64 = sizes.iter().sum();
        let disk: f64 = stores.iter().map(|store| 2.0 * disk_bytes(store.memories)).sum();
        let open: f64 = stores.iter().map(|store| resident_bytes(store.memories) as f64).sum();
        let mut shares: Vec<f64> = stores.iter().map(|store| store.share).collect();
        shares.sort_by(|a, b| b.total_cmp(a));
        let tenth: f64 = shares[..STORES / 10].iter().sum();
        writeln!(
            out,
            "| median {median} | {:.0} million | {:.0} | {:.0} | {:.1} million | {:.2} TB | {:.2} TB | {} of the sessions |",
            total / 1e6,
            quantile(&sizes, 0.5),
            quantile(&sizes, 0.99),
            quantile(&sizes, 1.0) / 1e6,
            disk / 1e12,
            open / 1e12,
            format_args!("{:.0} %", 100.0 * tenth),
        )?;
    }
    Ok(writeln!(out)?)
}

/// Two fleets: all machines alike, and a quarter of them with twice the memory.
fn fleet(seed: u64, count: usize, is_mixed: bool) -> Vec<Machine> {
    let weight = |it| if is_mixed && it % 4 == 0 { 2.0 } else { 1.0 };
    let machine = |it| Machine { key: hash(seed, !(it as u64)), weight: weight(it), is_live: true };
    (0..count).map(machine).collect()
}

fn print_placement(out: &mut impl Write, seed: u64) -> Result<()> {
    writeln!(
        out,
        "| machines | placement | bytes, fullest ÷ fair | likely open, fullest ÷ fair | 4 lost: copies moved (lost) | then bytes, fullest ÷ fair | 4 added: copies moved (fair) | then bytes, fullest ÷ fair |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|---|")?;
    let stores = draw(&Workload::of(STORES, MEDIANS[1]), seed);
    for (fleet_name, is_mixed) in [("40 alike", false), ("10 of them with twice the memory", true)]
    {
        for (name, method) in METHODS {
            let machines = fleet(seed, MACHINES, is_mixed);
            let owners = place(method, &stores, &machines);
            let mut fewer = machines.clone();
            for machine in fewer.iter_mut().take(4) {
                machine.is_live = false;
            }
            let lost = owners.iter().flatten().filter(|owner| !fewer[**owner].is_live).count();
            let after_loss = place_again(method, &stores, &fewer, &owners);
            let more = fleet(seed, MACHINES + 4, is_mixed);
            let after_addition = place_again(method, &stores, &more, &owners);
            let weight = |machines: &[Machine]| machines.iter().map(|it| it.weight).sum::<f64>();
            let fair = 2.0 * STORES as f64 * (1.0 - weight(&machines) / weight(&more));
            writeln!(
                out,
                "| {fleet_name} | {name} | {:.2} | {:.2} | {} ({lost}) | {:.2} | {} ({fair:.0}) | {:.2} |",
                fullest(&stores, &machines, &owners, bytes, 2),
                fullest(&stores, &machines, &owners, open, 1),
                moved(&owners, &after_loss),
                fullest(&stores, &fewer, &after_loss, bytes, 2),
                moved(&owners, &after_addition),
                fullest(&stores, &more, &after_addition, bytes, 2),
            )?;
        }
    }
    Ok(writeln!(out)?)
}

/// The load of the most loaded machine divided by its fair share, over the first owners or both.
fn fullest(
    stores: &[Store],
    machines: &[Machine],
    owners: &[Owners],
    load: impl Fn(&Store) -> f64,
    places: usize,
) -> f64 {
    let mut loads = vec![0.0; machines.len()];
    for (store, pair) in stores.iter().zip(owners) {
        for owner in &pair[..places] {
            loads[*owner] += load(store);
        }
    }
    let live = machines.iter().filter(|machine| machine.is_live);
    let fair = loads.iter().sum::<f64>() / live.map(|live| live.weight).sum::<f64>();
    let relative = loads.iter().zip(machines).map(|(it, machine)| it / machine.weight / fair);
    relative.fold(0.0, f64::max)
}

fn scenario(median: f64, method: Method, second: Second, change: Change, seed: u64) -> Scenario {
    Scenario {
        workload: Workload::of(STORES, median),
        machines: MACHINES,
        memory_bytes: MEMORY_BYTES,
        databases: 4,
        method,
        second,
        files: Files::Log,
        change,
        warm_seconds: WARM_SECONDS,
        quiet_seconds: if change == Change::None { QUIET_SECONDS } else { 0 },
        seed,
    }
}

fn millions(median: f64) -> &'static str {
    if median == MEDIANS[0] { "100 million" } else { "1 billion" }
}

fn print_quiet(out: &mut impl Write, seed: u64) -> Result<Vec<(f64, Outcome)>> {
    writeln!(
        out,
        "| memories | placement | second owner | GB of a machine | GB in use by machine, p50 / max | open stores | loads in the hour | evicted | requests/s | of them wait | waits p50 / p99 / max | busiest machine |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|---|---|---|---|---|")?;
    let mut outcomes = Vec::new();
    for median in MEDIANS {
        for (name, method) in METHODS {
            for (second_name, second, machine) in [
                ("on disk", Second::OnDisk, 64),
                ("open", Second::Open, 64),
                ("on disk", Second::OnDisk, 32),
            ] {
                if method != Method::Bounded && (second == Second::Open || machine != 64) {
                    continue;
                }
                let mut scenario = scenario(median, method, second, Change::None, seed);
                scenario.memory_bytes = MEMORY_BYTES / 64 * machine;
                let outcome = run(&scenario)?;
                let used: Vec<f64> = outcome.peaks.iter().map(|peak| *peak as f64 / GB).collect();
                let busy = quantile(&outcome.quiet.busy, 1.0) / QUIET_SECONDS as f64;
                writeln!(
                    out,
                    "| {} | {name} | {second_name} | {machine} | {:.1} / {:.1} | {} | {} | {} | {:.0} | {} | {} | {busy:.2} cores |",
                    millions(median),
                    quantile(&used, 0.5),
                    quantile(&used, 1.0),
                    outcome.open.iter().sum::<usize>(),
                    outcome.quiet.loads,
                    outcome.evicted,
                    outcome.quiet.requests as f64 / QUIET_SECONDS as f64,
                    percent(outcome.quiet.waited_share()),
                    waits(&outcome.quiet),
                )?;
                if method == Method::Bounded && machine == 64 {
                    outcomes.push((median, outcome));
                }
            }
        }
    }
    writeln!(out)?;
    Ok(outcomes)
}

fn print_changes(out: &mut impl Write, seed: u64) -> Result<()> {
    writeln!(
        out,
        "| memories | change | second owner | copied | copies moved | GB moved | stores without a copy, and the last one open again | two owners again | requests in the half hour | wait | waits p50 / p99 / max | fail |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|---|---|---|---|---|")?;
    let changes = [
        ("1 lost", Change::Lose(1)),
        ("2 lost", Change::Lose(2)),
        ("4 lost", Change::Lose(4)),
        ("4 added", Change::Add(4)),
    ];
    for median in MEDIANS {
        for (name, change) in changes {
            for (second_name, second, files_name, files) in [
                ("on disk", Second::OnDisk, "log, vectors", Files::Log),
                ("on disk", Second::OnDisk, "all files", Files::All),
                ("open", Second::Open, "all files", Files::All),
            ] {
                let mut scenario = scenario(median, Method::Bounded, second, change, seed);
                scenario.files = files;
                let outcome = run(&scenario)?;
                anyhow::ensure!(outcome.is_complete && !outcome.is_over, "{name}: not complete");
                let without = match outcome.without_copy {
                    0 => "0".to_owned(),
                    count => format!("{count}, {:.0} s", outcome.restored_seconds),
                };
                writeln!(
                    out,
                    "| {} | {name} | {second_name} | {files_name} | {} | {:.0} | {without} | {:.0} s | {} | {} | {} | {} |",
                    millions(median),
                    outcome.copies_moved,
                    outcome.bytes_moved / GB,
                    outcome.complete_seconds,
                    outcome.after.requests,
                    percent(outcome.after.waited_share()),
                    waits(&outcome.after),
                    percent(outcome.after.failed_share()),
                )?;
            }
        }
    }
    Ok(writeln!(out)?)
}

fn print_journals(out: &mut impl Write, seed: u64, outcomes: &[(f64, Outcome)]) -> Result<()> {
    writeln!(
        out,
        "| memories | second owner | followers | appends/s, mean (busiest second) | busiest store | TB | head reads/s | sessions | clusters for appends / reads / sessions / bytes |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|---|---|")?;
    for (number, (median, outcome)) in outcomes.iter().enumerate() {
        let stores = draw(&Workload::of(STORES, *median), seed);
        let seconds = QUIET_SECONDS as usize;
        let appends = &outcome.quiet.appends[outcome.quiet.appends.len().saturating_sub(seconds)..];
        let mean = appends.iter().sum::<u64>() as f64 / QUIET_SECONDS as f64;
        let busiest = stores.iter().map(|store| store.share).fold(0.0, f64::max) * mean;
        let demand = Demand {
            appends: appends.iter().max().copied().unwrap_or_default() as f64,
            bytes: stores.iter().map(|store| journal_bytes(store.memories)).sum(),
            open: outcome.open.iter().sum::<usize>() as f64,
            machines: MACHINES as f64,
        };
        let accesses = [
            ("own sessions", Access::Direct),
            ("by PgBouncer", Access::Pooled),
            ("one for each machine, on paper", Access::Shared),
        ];
        for (name, access) in accesses {
            let [for_appends, reads, sessions, bytes] = demand.clusters(&DATABASE, access);
            writeln!(
                out,
                "| {} | {} | {name} | {mean:.0} ({:.0}) | {busiest:.2}/s | {:.2} | {:.0} | {:.0} | {for_appends} / {reads} / {sessions} / {bytes} |",
                millions(*median),
                if number % 2 == 0 { "on disk" } else { "open" },
                demand.appends,
                demand.bytes / 1e12,
                demand.reads(access),
                demand.sessions(access),
            )?;
        }
    }
    Ok(())
}

fn waits(metrics: &Metrics) -> String {
    if metrics.waits.is_empty() {
        return "–".to_owned();
    }
    let [p50, p99, max] = [0.5, 0.99, 1.0].map(|it| quantile(&metrics.waits, it));
    format!("{p50:.2} / {p99:.1} / {max:.1} s")
}

fn percent(share: f64) -> String {
    if share == 0.0 { "0".to_owned() } else { format!("{:.3} %", 100.0 * share) }
}
