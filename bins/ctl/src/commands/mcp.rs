//! `mcp`: tools for agents, on standard input and output.

mod install;
mod relay;

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use waypost_cli::failure::Result;
use waypost_cli::output::Output;
use waypost_cli::program::Program;

use crate::client_files::{Action, ClientPlaceArgs};

/// Serve the Model Context Protocol on standard input and output, for agents
///
/// Calls the service of the project. If none runs, it starts one that ends after a time without use, and says so on
/// standard error and in the next result. While the project waits for approval, each call fails with the remedy. Ends
/// when its input ends.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  ctl mcp\n  claude mcp add waypost -- ctl --project ~/notes mcp\n  ctl mcp install --client cursor"
)]
pub(crate) struct McpArgs {
    /// Do not start a service: without one, each call fails with the remedy
    #[arg(long)]
    no_start: bool,
    /// Time without use after which a service that was started here ends
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = idle_time)]
    exit_idle: String,
    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,
}

/// Checks the time, which the service reads.
fn idle_time(text: &str) -> Result<String, String> {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    waypost_project::parse_time(text, Duration::from_secs(1), 30 * DAY).map(|_| text.to_owned())
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Add `ctl mcp` to a client's configuration file
    ///
    /// Replaces an entry that an earlier `install` wrote, whatever its name. Another one that runs `ctl mcp` or is called
    /// `waypost`, or has other members (`env`, `cwd`), is shown, and nothing is changed without `--keep`. The rest of the
    /// file stays as it is, with comments. No token is written: `ctl mcp` reads it from the token file.
    #[command(
        after_help = "Examples:\n  ctl mcp install --client claude-code\n  ctl --project ~/notes mcp install --client claude-desktop --dry-run"
    )]
    Install {
        #[command(flatten)]
        args: McpClientArgs,
        /// Keep what `install` did not write: members beside our command line, and an entry with another command line
        /// instead of ours
        #[arg(long)]
        keep: bool,
    },
    /// Remove `ctl mcp` from a client's configuration file
    #[command(after_help = "Example:\n  ctl mcp remove --client claude-code")]
    Remove(McpClientArgs),
}

#[derive(Debug, Args)]
pub(crate) struct McpClientArgs {
    /// The client
    #[arg(long, value_enum)]
    client: McpClient,
    #[command(flatten)]
    place: ClientPlaceArgs,
}

/// A client of the Model Context Protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum McpClient {
    /// Claude Code: `.mcp.json`, `~/.claude.json`
    ClaudeCode,
    /// Claude Desktop: only the user's `claude_desktop_config.json`
    ClaudeDesktop,
    /// Cursor: `.cursor/mcp.json`, `~/.cursor/mcp.json`
    Cursor,
    /// VS Code: `.vscode/mcp.json`, the user's `mcp.json`
    Vscode,
    /// Codex: `.codex/config.toml`, `~/.codex/config.toml`
    Codex,
    /// Zed: `.zed/settings.json`, the user's `settings.json`
    Zed,
    /// Gemini CLI: `.gemini/settings.json`, `~/.gemini/settings.json`
    Gemini,
}

pub(super) fn run(program: &Program, args: McpArgs, output: &mut Output) -> Result<()> {
    match args.command {
        None => {
            relay::serve(program, &args);
            Ok(())
        }
        Some(McpCommand::Install { args, keep }) => {
            install::edit(program, &args, Action::Install { is_keeping: keep }, output)
        }
        Some(McpCommand::Remove(args)) => install::edit(program, &args, Action::Remove, output),
    }
}
