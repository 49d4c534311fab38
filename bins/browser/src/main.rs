//! The program `browser`: a page that a person and programs share.
//!
//! The person sees it in the terminal. Programs reach one relay in two ways: as the target
//! `browser.relay` of the mesh, and over HTTP on loopback.

mod address;
mod cli;
mod engine;
mod http;
mod peer;
mod relay;
mod run;
mod terminal;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let Err(error) = cli::Arguments::parse().resolve().and_then(|options| run::run(&options))
    else {
        return ExitCode::SUCCESS;
    };
    let hint = error.downcast_ref().and_then(hint);
    let hint = hint.map_or_else(String::new, |hint| format!("\nhint: {hint}"));
    let written = writeln!(std::io::stderr(), "error: {error:#}{hint}");
    if written.is_err() { ExitCode::from(2) } else { ExitCode::FAILURE }
}

/// What the person can do about a project that cannot be used.
fn hint(error: &waypost_project::Error) -> Option<&'static str> {
    use waypost_project::Error;
    match error {
        Error::ExposedBrowser { .. } => Some("`ctl mesh pair` pairs another machine"),
        Error::Pending(_) => Some("look at the file and approve it: `ctl allow`"),
        Error::Unregistered { .. } => Some("`ctl allow --data` registers the data folder"),
        Error::Tracked { .. } => Some("afterwards, `ctl allow --data` registers the data folder"),
        _ => None,
    }
}
