//! The Waypost command line, as a library: its arguments, its exit codes, its reference.

mod cli;
mod client_files;
mod commands;
pub mod exit;
pub mod failure;
pub mod files;
pub mod maintenance;
pub mod membership;
mod naming;
pub mod output;
mod pairs;
mod positions;
pub mod program;
mod reference;
pub mod review;
pub mod show;
pub mod span;
mod start;
pub mod visible;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Instant;

use clap::{CommandFactory, FromArgMatches};

pub use reference::reference;
pub use start::LOG;

use crate::failure::Failure;
use crate::maintenance::Maintain;
use crate::output::Output;
use crate::program::Program;

/// Runs the program with these arguments, the first of which is its name. `maintain` does what needs no
/// service.
pub fn run(arguments: impl IntoIterator<Item = OsString>, maintain: Maintain) -> ExitCode {
    let started = Instant::now();
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let literal_from = arguments.iter().position(|it| it == "--");
    let parsed = cli::Cli::command()
        .try_get_matches_from(&arguments)
        .and_then(|it| Ok((cli::Cli::from_arg_matches(&it)?, it)));
    let (mut cli, matches) = match parsed {
        Ok(parsed) => parsed,
        Err(error) if error.use_stderr() => {
            if commands::hook::is_meant(&arguments, &error) {
                return commands::hook::refuse(&error);
            }
            let options = &arguments[..literal_from.unwrap_or(arguments.len())];
            if options.iter().any(|it| it == "--json") {
                let text = error.render().to_string();
                let text = text.trim().strip_prefix("error: ").unwrap_or(text.trim()).to_owned();
                Output::new(true, output::Color::Never).fail(&Failure::usage(text));
            } else {
                drop(error.print());
            }
            return ExitCode::from(exit::USAGE);
        }
        Err(error) => {
            // Help and version end here; a closed output is not an error.
            drop(error.print());
            return ExitCode::from(exit::DONE);
        }
    };
    if let cli::Command::Hook(cli::HookCommand::Event(event)) = cli.command {
        return commands::hook::answer(cli.global, event, started);
    }
    if let cli::Command::Context(args) = &mut cli.command {
        args.is_literal = literal_from.is_some();
    }
    let mut output = Output::new(cli.global.json, cli.global.color);
    let outcome = Program::new(cli.global)
        .and_then(|program| {
            let done = commands::run(&program, cli.command, maintain, &mut output);
            program.keep_positions();
            for warning in program.warnings() {
                output.warn(warning);
            }
            done
        })
        .and_then(|()| {
            let cannot = |it| Failure::from(it).while_doing("could not write to standard output");
            output.finish().map_err(cannot)
        });
    match outcome {
        Ok(()) => ExitCode::from(exit::DONE),
        Err(failure) => {
            let failure = failure.naming(&naming::given(cli::Cli::command(), &matches));
            output.fail(&failure);
            ExitCode::from(failure.code())
        }
    }
}
