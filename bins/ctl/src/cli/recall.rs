//! The commands for the recall log.

use clap::{Args, Subcommand};
use waypost_api::limits::{LIMIT_MAX, RECALL_WHY_LIMIT_MAX};

#[derive(Debug, Subcommand)]
pub(crate) enum RecallCommand {
    Log(RecallLogArgs),
    Why(RecallWhyArgs),
}

/// List what was injected into sessions and what was withheld, newest first
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ctl recall log\n  ctl recall log --session 7f3a2c --limit 5\n  ctl recall log --memory 12"
)]
pub(crate) struct RecallLogArgs {
    /// Show only entries of this session
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// Show only entries that injected or withheld this memory
    #[arg(long, value_name = "ID")]
    pub(crate) memory: Option<u64>,
    /// Show only entries of this space
    #[arg(long, value_name = "SPACE")]
    pub(crate) space: Option<String>,
    /// Maximum number of entries
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=LIMIT_MAX))]
    pub(crate) limit: u64,
    /// Show only entries before this one
    #[arg(long, value_name = "ENTRY")]
    pub(crate) before: Option<u64>,
}

/// Explain why a session did or did not know something
///
/// Searches the store for the question, and prints what became of each hit in the session: injected, withheld and why,
/// added after the session's last entry, expired, deleted, or not found by any prompt.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ctl recall why --session 7f3a2c which port does the service use"
)]
pub(crate) struct RecallWhyArgs {
    /// The session
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: String,
    /// Search only this space
    #[arg(long, value_name = "SPACE")]
    pub(crate) space: Option<String>,
    /// Maximum number of memories [default: 10]
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=RECALL_WHY_LIMIT_MAX))]
    pub(crate) limit: Option<u64>,
    /// What the session should have known; `-` reads standard input
    #[arg(value_name = "QUESTION", required = true)]
    pub(crate) question: Vec<String>,
}
