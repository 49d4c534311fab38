//! Measures the dashboard in a real Chromium beside a real service, and takes its pictures.
//!
//! `dashboard live [--memories COUNT] [--events COUNT] [--rate COUNT] [--seconds COUNT]
//! [--store FOLDER]`: fills a store, opens the live events while others are published, and prints
//! the frames, the memory and the first search result as Markdown. A store in a folder that is
//! named is kept, and used again.
//!
//! `dashboard pictures FOLDER`: every view in the light and the dark scheme and 380 pixels wide.
//!
//! Both need the program `service` beside this one, and Chromium.

#[path = "../../tests/child.rs"]
mod child;
#[path = "../../tests/chrome.rs"]
mod chrome;
mod demo;
mod fill;
mod frames;
mod live;
mod palette;
mod pictures;
mod search;
mod service;
mod trace;
#[path = "../../tests/wait.rs"]
mod wait;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

const USAGE: &str = "usage: dashboard live [--memories COUNT] [--events COUNT] [--rate COUNT] \
                     [--seconds COUNT] [--store FOLDER]\n       dashboard pictures FOLDER";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["pictures", folder] => pictures::take(Path::new(folder)),
        ["live", ref options @ ..] => {
            let mut out = io::stdout().lock();
            for line in live::measure(&asked(options)?)? {
                writeln!(out, "{line}")?;
            }
            Ok(())
        }
        _ => bail!(USAGE),
    }
}

fn asked(options: &[&str]) -> Result<live::Options> {
    let mut asked = live::Options::default();
    for pair in options.chunks(2) {
        let &[name, value] = pair else { bail!(USAGE) };
        let count = || value.parse().with_context(|| format!("{name}: {value:?} is no count"));
        match name {
            "--memories" => asked.memories = count()?,
            "--events" => asked.events = count()?,
            "--rate" => asked.rate = count()?,
            "--seconds" => asked.seconds = count()? as u64,
            "--store" => asked.store = Some(PathBuf::from(value)),
            _ => bail!(USAGE),
        }
    }
    Ok(asked)
}

/// Says on standard error what is being done.
fn progress(what: &str) {
    // Nothing depends on it.
    drop(writeln!(io::stderr(), "{what}"));
}
