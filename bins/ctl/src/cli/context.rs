//! The command for project context.

use clap::{Args, Subcommand};
use waypost_api::limits::{ITEMS_MAX, TOKENS_MAX};
use waypost_api::{ContextSource, ContextTask};

use super::names::names;

/// Find project context for a task in journals, documents and code headers
///
/// Without a query, shows what currently matters in the project. Put `--` before a query that starts with `status` or
/// `rescan`, or that is a single word similar to one of them.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ctl context --task code how tokens are revoked\n  ctl context --task strategy --max 10\n  ctl context --source knowledge --path 'docs/**' approvals\n  ctl context -- status"
)]
pub(crate) struct ContextArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ContextCommand>,
    #[command(flatten)]
    pub(crate) find: ContextFindArgs,
    /// Whether the query follows `--`.
    #[arg(skip)]
    pub(crate) is_literal: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ContextCommand {
    /// Show which files are indexed, which are excluded, and why
    #[command(after_help = "Example:\n  ctl context status")]
    Status,
    /// Rescan the whole project, and wait until the index is up to date
    #[command(after_help = "Example:\n  ctl context rescan")]
    Rescan,
}

/// A query for project context.
#[derive(Debug, Default, PartialEq, Args)]
pub(crate) struct ContextFindArgs {
    /// Words, names in code or paths that describe the task; `-` reads standard input
    #[arg(value_name = "QUERY")]
    pub(crate) query: Vec<String>,
    /// Kind of task, which decides the ranking [default: general]
    #[arg(long, value_name = "TASK", value_parser = names::<ContextTask>())]
    pub(crate) task: Option<ContextTask>,
    /// Maximum number of items [default: 30]
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=ITEMS_MAX))]
    pub(crate) max: Option<u64>,
    /// Maximum number of tokens, of four bytes each
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=TOKENS_MAX))]
    pub(crate) max_tokens: Option<u64>,
    /// Include only this source; may be repeated; `memory` is searched only if given here
    #[arg(long = "source", value_name = "SOURCE", value_delimiter = ',', value_parser = names::<ContextSource>())]
    pub(crate) sources: Vec<ContextSource>,
    /// Include only items of this type; may be repeated
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',')]
    pub(crate) types: Vec<String>,
    /// Include only files whose path matches this glob; may be repeated
    #[arg(long = "path", value_name = "GLOB")]
    pub(crate) paths: Vec<String>,
    /// Show the full contents
    #[arg(long)]
    pub(crate) full: bool,
}
