//! The Waypost command line, as a library: its arguments, its exit codes, its reference.

mod cli;
mod commands;
pub mod exit;
mod failure;
mod output;
mod pairs;
mod program;
mod reference;
mod span;
mod visible;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

pub use reference::reference;
pub use visible::{Lines, visible};

use crate::failure::Failure;
use crate::output::Output;
use crate::program::Program;

/// Runs the program with these arguments, its own name first.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let parsed = cli::Cli::command()
        .try_get_matches_from(arguments)
        .and_then(|it| cli::Cli::from_arg_matches(&it));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version end here, too; a reader that went away is no reason to complain.
            drop(error.print());
            return ExitCode::from(if error.use_stderr() { exit::USAGE } else { exit::DONE });
        }
    };
    let mut output = Output::new(cli.global.json, cli.global.color);
    let outcome = Program::new(cli.global)
        .and_then(|program| commands::run(&program, cli.command, &mut output))
        .and_then(|()| output.finish().map_err(Failure::from));
    match outcome {
        Ok(()) => ExitCode::from(exit::DONE),
        Err(failure) => {
            output.fail(&failure);
            ExitCode::from(failure.code())
        }
    }
}
