//! `hook`.

use clap::{Args, Subcommand, ValueEnum};

use super::mcp::ClientPlaceArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum HookCommand {
    /// Add the hooks to an agent's configuration file
    ///
    /// Replaces hooks that run `ctl hook`. The rest of the file stays as it is, with comments.
    #[command(
        after_help = "Examples:\n  ctl hook install --harness claude\n  ctl --project ~/notes hook install --harness codex --user --dry-run"
    )]
    Install(HookInstallArgs),
    /// Remove the hooks from an agent's configuration file
    #[command(after_help = "Example:\n  ctl hook remove --harness claude")]
    Remove(HookInstallArgs),
}

#[derive(Debug, Args)]
pub(crate) struct HookInstallArgs {
    /// The agent
    #[arg(long, value_enum)]
    pub(crate) harness: Harness,
    #[command(flatten)]
    pub(crate) place: ClientPlaceArgs,
}

/// An agent that runs hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Harness {
    /// Claude Code: `.claude/settings.json`, `~/.claude/settings.json`
    Claude,
    /// Codex: `.codex/hooks.json`, `~/.codex/hooks.json`
    Codex,
    /// Cursor: `.cursor/hooks.json`, `~/.cursor/hooks.json`
    Cursor,
}
