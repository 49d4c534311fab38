//! A machine that joins a large store.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;

use crate::Options;
use crate::machine::Machine;
use crate::postgres::Server;
use crate::process::progress;
use crate::report::Report;
use crate::text::Random;

const DATABASE: &str = "joining";
/// Memories that are added when the journal exists: the machine that joins reads them there.
const AFTERWARDS: usize = 20_000;

pub(crate) fn measure(
    server: &Server,
    folder: &Path,
    programs: &Path,
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    let mut random = Random(42);
    server.create(DATABASE)?;
    let url = server.url(DATABASE);
    let mut first = Machine::new(folder.join("large"), programs)?;
    progress(&format!("filling a store of {} memories", options.memories));
    first.start()?;
    let begun = Instant::now();
    first.fill(options.memories, &mut random)?;
    let filled = begun.elapsed().as_secs_f64();
    first.stop();
    progress("creating its cluster");
    let begun = Instant::now();
    first.ctl(&["cluster", "init", &url])?;
    let created = begun.elapsed().as_secs_f64();
    first.start()?;
    let begun = Instant::now();
    first.fill(AFTERWARDS.min(options.memories), &mut random)?;
    let appended = begun.elapsed().as_secs_f64();
    let sql =
        "SELECT (sum(bytes) / 1048576)::int8 FROM waypost.snapshot WHERE finished IS NOT NULL";
    let megabytes = server.sql(DATABASE, sql)?;
    let records = server.sql(DATABASE, "SELECT seq FROM waypost.head")?;

    progress("joining it");
    let mut joining = Machine::new(folder.join("joining"), programs)?;
    let begun = Instant::now();
    joining.ctl(&["cluster", "join", &url])?;
    let copied = begun.elapsed().as_secs_f64();
    let started = joining.start()?.as_secs_f64();
    joining.wait_for(&first.position()?)?;
    let whole = begun.elapsed().as_secs_f64();
    report.row(
        &format!("joining with {} memories", options.memories),
        "≤ 150 s",
        [
            &format!(
                "{whole:.1} s: {copied:.1} s to copy {megabytes} MiB, {started:.1} s to start, {:.1} s \
                 to apply {records} records",
                whole - copied - started
            ),
            "",
            "",
        ],
        Some(whole <= 150.0),
    )?;
    report.note(format!(
        "Filling took {filled:.1} s, `ctl cluster init` {created:.1} s, the batch of the journal's \
         records {appended:.1} s; the machine that joined uses {} MiB of memory, the first one {} MiB.",
        joining.service()?.memory()? >> 20,
        first.service()?.memory()? >> 20
    ));
    Ok(())
}
