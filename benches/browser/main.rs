//! Prints how fast pages are read and the mesh answers, or how much of pages is found, as Markdown.
//!
//! `speed-browser [--runs COUNT]`: pages are made up and served on loopback to a Chromium of the
//! system, without its sandbox; peers meet in a temporary folder.
//! `speed-browser --miniwob FOLDER` and `--readability FOLDER`: pages of a copy of those repositories.
//! `speed-browser --serve`: the made-up pages, for others to read.

mod exchange;
mod frame;
mod mesh;
mod miniwob;
mod pages;
mod readability;
mod serve;
mod summary;
mod table;
mod world;

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context as _, Result, bail};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Runtime::new().context("no runtime")?;
    let lines = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => speed(&runtime, 30)?,
        ["--runs", count] => speed(&runtime, count.parse().context("--runs: a number of runs")?)?,
        ["--miniwob", folder] => runtime.block_on(miniwob::measure(Path::new(folder)))?,
        ["--readability", folder] => runtime.block_on(readability::measure(Path::new(folder)))?,
        ["--serve"] => {
            let port = summary::serve()?;
            writeln!(io::stdout(), "http://127.0.0.1:{port}")?;
            io::stdin().read_line(&mut String::new())?;
            return Ok(());
        }
        _ => bail!(
            "usage: speed-browser [--runs COUNT | --miniwob FOLDER | --readability FOLDER | --serve]"
        ),
    };
    let mut out = io::stdout().lock();
    for line in lines {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn speed(runtime: &tokio::runtime::Runtime, runs: usize) -> Result<Vec<String>> {
    let mut rows = runtime.block_on(summary::measure(runs))?;
    rows.extend(runtime.block_on(frame::measure(runs))?);
    rows.extend(mesh::measure()?);
    Ok(table::of(&rows))
}
