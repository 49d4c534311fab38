//! `completions`.

use clap::Args;
use clap::CommandFactory;
use clap_complete::Shell;
use waypost_cli::failure::Result;
use waypost_cli::output::Output;

use super::Cli;

/// Print shell completions
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ctl completions bash > ~/.local/share/bash-completion/completions/ctl"
)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(super) fn print(args: &CompletionsArgs, output: &mut Output) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ctl", &mut script);
    output.raw().write_all(&script)?;
    Ok(())
}
