//! Prints how fast pages are read and the mesh answers, as Markdown.
//!
//! `speed-browser [--runs COUNT]`. Pages are made up and served on loopback to a Chromium of the
//! system, without its sandbox; peers meet in a temporary folder.

mod mesh;
mod pages;
mod serve;
mod summary;
mod table;

use std::io::{self, Write};

use anyhow::{Context as _, Result, bail};

fn main() -> Result<()> {
    let runs = runs()?;
    let runtime = tokio::runtime::Runtime::new().context("no runtime")?;
    let mut rows = runtime.block_on(summary::measure(runs))?;
    rows.extend(mesh::measure()?);
    let mut out = io::stdout().lock();
    for line in table::of(&rows) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn runs() -> Result<usize> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Ok(30),
        ["--runs", count] => count.parse().context("--runs: a number of runs"),
        _ => bail!("usage: speed-browser [--runs COUNT]"),
    }
}
