//! The Waypost command line, as a library: its arguments, and their reference.

mod client_files;
mod commands;
mod naming;
mod pairs;
mod reference;
mod start;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Instant;

use clap::{CommandFactory, FromArgMatches};
use waypost_cli::exit;
use waypost_cli::failure::Failure;
use waypost_cli::output::{Color, Output};

pub use reference::reference;

use crate::commands::hook::{self, HookCommand};
use crate::commands::{Cli, Command};

/// Runs the program with these arguments, the first of which is its name.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let started = Instant::now();
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let literal_from = arguments.iter().position(|argument| argument == "--");
    let parsed = Cli::command()
        .try_get_matches_from(&arguments)
        .and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, matches)));
    let (mut cli, matches) = match parsed {
        Ok(parsed) => parsed,
        Err(error) if error.use_stderr() => {
            if hook::is_meant(&arguments, &error) {
                return hook::refuse(&error);
            }
            let options = &arguments[..literal_from.unwrap_or(arguments.len())];
            if options.iter().any(|option| option == "--json") {
                let text = error.render().to_string();
                let text = text.trim().strip_prefix("error: ").unwrap_or(text.trim()).to_owned();
                Output::new(true, Color::Never).fail(&Failure::usage(text));
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
    if let Command::Hook(HookCommand::Event(event)) = cli.command {
        return hook::answer(cli.global, event, started);
    }
    if let Command::Context(args) = &mut cli.command {
        args.is_literal = literal_from.is_some();
    }
    waypost_cli::run(cli.global, |program, output| {
        let done = cli.command.run(program, output);
        done.map_err(|failure| {
            let command = naming::given(Cli::command(), &matches);
            failure.renamed(|problem| naming::renamed(problem, &command))
        })
    })
}
