//! Measures services that share one store through a journal in PostgreSQL, beside PostgreSQL alone,
//! and prints the table of docs/cluster.md.
//!
//! `cluster [--rounds COUNT] [--seconds COUNT] [--memories COUNT] [--only NAME,…] [--before FOLDER]`.
//! The parts are `latency`, `throughput`, `together`, `visible`, `searches`, `joining` and `alone`.
//! `--before` names a folder with the program `service` of another build, to compare services without
//! a cluster.
//!
//! Needs the programs `service` and `ctl` beside this one, or in the folder `WAYPOST_BIN`, and
//! PostgreSQL 15 or newer. Everything is on one machine and on one disk.

mod adds;
mod alone;
mod http;
mod joining;
mod load;
mod machine;
mod postgres;
mod process;
mod report;
mod samples;
mod searches;
mod text;
mod visible;
mod wire;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use self::machine::Machine;
use self::postgres::Server;
use self::process::progress;
use self::report::Report;
use self::text::Random;

const USAGE: &str = "usage: cluster [--rounds COUNT] [--seconds COUNT] [--memories COUNT] \
                     [--only NAME,…] [--before FOLDER]";
/// Clients that work at once.
const CLIENTS: usize = 64;
/// The database of the cluster. Bare INSERTs have one of their own.
const DATABASE: &str = "cluster";
/// Memories that the store has before anything is measured.
const FIRST: usize = 10_000;

/// What is asked for.
#[derive(Debug)]
struct Options {
    rounds: usize,
    /// How long a round takes.
    time: Duration,
    /// Memories of the store that a machine joins.
    memories: usize,
    only: Vec<String>,
    before: Option<PathBuf>,
}

impl Options {
    fn wants(&self, names: &[&str]) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| names.contains(&only.as_str()))
    }
}

fn main() -> Result<()> {
    let options = asked()?;
    let programs = process::programs()?;
    let folder = postgres::folder()?;
    let server = Server::start(folder.path().join("postgres"))?;
    server.create("bare")?;
    server.sql("bare", wire::TABLE)?;
    let title = format!("PostgreSQL {}, fsync on, no standby", server.version()?);
    let mut report = Report::begin(&title)?;
    let parts = ["latency", "throughput", "together", "visible", "searches"];
    if options.wants(&parts) {
        one_store(&server, folder.path(), &programs, &options, &mut report)?;
    }
    if options.wants(&["joining"]) {
        joining::measure(&server, folder.path(), &programs, &options, &mut report)?;
    }
    drop(server);
    if options.wants(&["alone"]) {
        alone::measure(folder.path(), &programs, &options, &mut report)?;
    }
    report.finish()
}

/// What is measured with one store, of which first one machine runs and then three.
fn one_store(
    server: &Server,
    folder: &Path,
    programs: &Path,
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    let mut random = Random(88_172_645_463_325_252);
    server.create(DATABASE)?;
    let url = server.url(DATABASE);
    let machine = |name: &str| Machine::new(folder.join(name), programs);
    let mut first = machine("first")?;
    progress("filling the store");
    first.start()?;
    first.fill(FIRST, &mut random)?;
    first.stop();
    first.ctl(&["cluster", "init", &url])?;
    first.start()?;
    if options.wants(&["latency"]) {
        adds::latency(server, &first, options, &mut random, report)?;
    }
    if options.wants(&["throughput"]) {
        adds::throughput(server, &first, options, &mut random, report)?;
    }
    if !options.wants(&["together", "visible", "searches"]) {
        return Ok(());
    }
    let mut others = [machine("second")?, machine("third")?];
    for other in &mut others {
        other.ctl(&["cluster", "join", &url])?;
        other.start()?;
    }
    let [second, third] = &others;
    let all = [&first, second, third];
    adds::catch_up(&all)?;
    if options.wants(&["together"]) {
        adds::together(&all, options, &mut random, report)?;
    }
    if options.wants(&["visible"]) {
        visible::measure(&all, options, &mut random, report)?;
    }
    if options.wants(&["searches"]) {
        others[1].stop();
        searches::measure(&others[0], &first, options, &mut random, report)?;
    }
    Ok(())
}

fn asked() -> Result<Options> {
    let mut options = Options {
        rounds: 3,
        time: Duration::from_secs(6),
        memories: 1_000_000,
        only: Vec::new(),
        before: None,
    };
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    for pair in arguments.chunks(2) {
        let [name, value] = pair else { bail!(USAGE) };
        let count = || value.parse().with_context(|| format!("{name}: {value:?} is no count"));
        match name.as_str() {
            "--rounds" => options.rounds = count()?,
            "--seconds" => options.time = Duration::from_secs(count()? as u64),
            "--memories" => options.memories = count()?,
            "--only" => options.only = value.split(',').map(str::to_owned).collect(),
            "--before" => options.before = Some(PathBuf::from(value)),
            _ => bail!(USAGE),
        }
    }
    Ok(options)
}
