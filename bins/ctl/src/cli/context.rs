//! The command about the project's context.

use clap::{Args, Subcommand, ValueEnum};
use waypost_api::{ContextSource, ContextTask};

/// Find what of the project a task needs: journals, documents, code headers
///
/// Without a query: what matters in the project just now. A query that begins with `status` or `rescan`,
/// and one that is nearly one of these words and nothing else, goes after `--`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ctl context --task code how tokens are revoked\n  ctl context --task strategy --max 10\n  ctl context --source knowledge --path 'docs/**' approvals\n  ctl context -- status"
)]
pub(crate) struct ContextArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ContextCommand>,
    #[command(flatten)]
    pub(crate) find: ContextFindArgs,
    /// Whether the query came after `--`.
    #[arg(skip)]
    pub(crate) is_literal: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ContextCommand {
    /// Show what of the project is indexed, what is left out, and why
    #[command(after_help = "Example:\n  ctl context status")]
    Status,
    /// Compare all of the project with its index, and wait until they agree
    #[command(after_help = "Example:\n  ctl context rescan")]
    Rescan,
}

/// What is asked for.
#[derive(Debug, Default, PartialEq, Args)]
pub(crate) struct ContextFindArgs {
    /// What the task is about: words, names of code, paths; `-` reads it from standard input
    #[arg(value_name = "QUERY")]
    pub(crate) query: Vec<String>,
    /// What the items are wanted for; by default `general`
    #[arg(long, value_enum, value_name = "TASK")]
    pub(crate) task: Option<TaskArg>,
    /// Show at most that many items; by default 30
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=200))]
    pub(crate) max: Option<u64>,
    /// Show at most that many tokens, of four bytes each
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_tokens: Option<u64>,
    /// Only this source; may be repeated; `memory` counts only if it is named
    #[arg(long = "source", value_enum, value_name = "SOURCE", value_delimiter = ',')]
    pub(crate) sources: Vec<SourceArg>,
    /// Only items of this type; may be repeated
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',')]
    pub(crate) types: Vec<String>,
    /// Only files whose path fits this glob; may be repeated
    #[arg(long = "path", value_name = "GLOB")]
    pub(crate) paths: Vec<String>,
    /// Show contents whole
    #[arg(long)]
    pub(crate) full: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TaskArg {
    /// Writing code
    Code,
    /// Specifying, designing, deciding
    Spec,
    /// Writing texts
    Content,
    /// Planning
    Strategy,
    /// Nothing in particular
    General,
}

impl From<TaskArg> for ContextTask {
    fn from(task: TaskArg) -> Self {
        match task {
            TaskArg::Code => Self::Code,
            TaskArg::Spec => Self::Spec,
            TaskArg::Content => Self::Content,
            TaskArg::Strategy => Self::Strategy,
            TaskArg::General => Self::General,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SourceArg {
    /// What happened
    Journal,
    /// What is decided, and how things are done
    Knowledge,
    /// Documentation and signatures
    Code,
    /// The service's memories
    Memory,
}

impl From<SourceArg> for ContextSource {
    fn from(source: SourceArg) -> Self {
        match source {
            SourceArg::Journal => Self::Journal,
            SourceArg::Knowledge => Self::Knowledge,
            SourceArg::Code => Self::Code,
            SourceArg::Memory => Self::Memory,
        }
    }
}
