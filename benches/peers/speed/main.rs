//! How fast Waypost is compared with its peers, measured in the same run.
//!
//! `speed [--only SECTION,...] [--small] [--out FILE]` prints Markdown. `--small` leaves out what
//! takes a million of anything. `--out` also writes the tables to a file. Progress goes to stderr.
//!
//! What each section needs beside this program is in its own file; a peer that is not installed, and
//! a section that fails, is named in the table, not left out in silence.

mod corpus;
mod embedding;
mod events;
mod flows;
mod hybrid;
mod laden;
mod listeners;
mod nats;
mod process;
mod rig;
mod service;
mod store;
mod text;
mod vectors;

use std::path::PathBuf;

use anyhow::{Result, bail};

use self::rig::Report;

/// What the command line asked for.
struct Options {
    /// The sections to run; empty means all.
    only: Vec<String>,
    /// Leave out what takes a million of anything.
    small: bool,
    out: Option<PathBuf>,
}

type Section = fn(&Options, &mut Report) -> Result<()>;

const SECTIONS: [(&str, Section); 9] = [
    ("text", text::run),
    ("vectors", vectors::run),
    ("hybrid", hybrid::run),
    ("embedding", embedding::run),
    ("store", store::run),
    ("service", service::run),
    ("events", events::run),
    ("flows", flows::run),
    ("listeners", listeners::run),
];

fn main() -> Result<()> {
    if let Some(arguments) = laden::arguments() {
        return laden::serve(&arguments);
    }
    let options = options()?;
    let mut report = Report::begin();
    for (name, section) in SECTIONS {
        if options.only.is_empty() || options.only.iter().any(|only| only == name) {
            rig::progress(format_args!("== {name}"));
            if let Err(error) = section(&options, &mut report) {
                report.close(&format!("The section ended here: {error:#}."));
            }
        }
    }
    let text = report.end();
    print!("{text}");
    if let Some(file) = &options.out {
        std::fs::write(file, text)?;
    }
    Ok(())
}

fn options() -> Result<Options> {
    let mut options = Options { only: Vec::new(), small: false, out: None };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value =
            || arguments.next().ok_or_else(|| anyhow::anyhow!("{argument} takes a value"));
        match argument.as_str() {
            "--only" => options.only = value()?.split(',').map(str::to_owned).collect(),
            "--small" => options.small = true,
            "--out" => options.out = Some(value()?.into()),
            other => bail!("unknown option {other}; there are --only, --small and --out"),
        }
    }
    for name in &options.only {
        if !SECTIONS.iter().any(|(it, _)| it == name) {
            let names: Vec<&str> = SECTIONS.iter().map(|(name, _)| *name).collect();
            bail!("no section {name}; there are {}", names.join(", "));
        }
    }
    Ok(options)
}
