//! `hook`: memory without being asked, for agents that run commands at events of a session.

mod install;

use crate::cli::HookCommand;
use crate::client_files::Action;
use crate::failure::Result;
use crate::output::Output;
use crate::program::Program;

pub(super) fn run(program: &Program, command: HookCommand, output: &mut Output) -> Result<()> {
    match command {
        HookCommand::Install(args) => install::edit(program, &args, Action::Install, output),
        HookCommand::Remove(args) => install::edit(program, &args, Action::Remove, output),
    }
}
