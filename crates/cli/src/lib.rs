//! What the command lines of `ctl` and of `service maintain` share: the global options, the project with its settings
//! and a client, the arguments of the commands that work on a stopped store, and the way to print and to fail.

pub mod exit;
pub mod failure;
pub mod files;
mod global;
pub mod maintenance;
pub mod membership;
pub mod output;
mod positions;
pub mod program;
pub mod review;
pub mod show;
pub mod span;
pub mod visible;

use std::process::ExitCode;

pub use global::Global;

use crate::failure::{Failure, Result};
use crate::output::Output;
use crate::program::Program;

/// The file in the data folder to which a service logs that `ctl mcp` started.
pub const SERVICE_LOG: &str = "service.log";

/// Runs a command, reports its failure, and returns its exit status.
pub fn run(global: Global, command: impl FnOnce(&Program, &mut Output) -> Result<()>) -> ExitCode {
    let mut output = Output::new(global.json, global.color);
    let done = Program::new(global).and_then(|program| {
        let done = command(&program, &mut output);
        program.keep_positions();
        for warning in program.warnings() {
            output.warn(warning);
        }
        done
    });
    let outcome = done.and_then(|()| {
        let cannot = |error| Failure::from(error).while_doing("could not write to standard output");
        output.finish().map_err(cannot)
    });
    let Err(failure) = outcome else { return ExitCode::from(exit::DONE) };
    output.fail(&failure);
    ExitCode::from(failure.code())
}
