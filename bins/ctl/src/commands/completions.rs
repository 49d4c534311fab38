//! `completions`.

use clap::CommandFactory;

use crate::cli::{Cli, CompletionsArgs};
use crate::failure::Result;
use crate::output::Output;

pub(super) fn print(args: &CompletionsArgs, output: &mut Output) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ctl", &mut script);
    output.raw().write_all(&script)?;
    Ok(())
}
