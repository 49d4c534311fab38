//! The program `browser`: a page that a person and programs share.
//!
//! The person sees it in the terminal. Programs reach one relay in two ways: as the target
//! `browser.relay` of the mesh, and over HTTP on loopback.

mod address;
mod cli;
mod engine;
mod headless;
mod http;
mod news;
mod peer;
mod relay;
mod run;
mod stop;
mod terminal;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let Err(error) = cli::Arguments::parse().resolve().and_then(|it| run::run(&it)) else {
        return ExitCode::SUCCESS;
    };
    let written = writeln!(std::io::stderr(), "error: {error:#}");
    if written.is_err() { ExitCode::from(2) } else { ExitCode::FAILURE }
}
