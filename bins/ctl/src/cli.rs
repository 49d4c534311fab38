//! The command line as clap sees it, and nothing else.

mod context;
mod events;
mod flows;
mod memory;
mod mesh;
mod other;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub(crate) use context::{ContextArgs, ContextCommand, ContextFindArgs};
pub(crate) use events::{EmitArgs, EventsCommand, EventsListArgs, EventsTailArgs};
pub(crate) use flows::{
    FlowsAllowArgs, FlowsCheckArgs, FlowsCommand, FlowsReplayArgs, FlowsRunsArgs, FlowsTestArgs,
};
pub(crate) use memory::{
    AddArgs, BatchArgs, CompactArgs, DeleteArgs, FilterArgs, GetArgs, HistoryArgs, LinkArgs,
    LinksArgs, ListArgs, ReindexArgs, SearchArgs, UpdateArgs,
};
pub(crate) use mesh::{MeshBroadcastArgs, MeshCallArgs, MeshCommand, MeshListenArgs, MeshPairArgs};
pub(crate) use other::{
    AllowArgs, BackupArgs, CompletionsArgs, ConfigCommand, DoctorArgs, ExportArgs, ImportArgs,
    ModelCommand, RestoreArgs, TokenCommand, TokenCreateArgs,
};

use crate::output::Color;

/// Remember and find: the command line of Waypost
#[derive(Debug, Parser)]
#[command(
    name = "ctl",
    version,
    max_term_width = 100,
    propagate_version = true,
    subcommand_required = true
)]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
#[command(
    after_help = "Exit status: 0 done, 1 failed, 2 usage, 3 not found, 4 not allowed, 5 service not reachable.
`ctl COMMAND --help` shows a command's options and an example."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Global {
    /// The project's folder; by default the nearest one upwards with `.waypost` or `.git` in it
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// Answer in JSON, for scripts
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// The service's address; by default the setting `url`, else the socket of the project's service
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// The file with the token to use; by default the setting `token_file`
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Certificates of the authorities to trust over https (PEM); by default the system's
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// Take everything in the project as approved, for containers and CI
    #[arg(long, global = true)]
    pub(crate) trust_project: bool,
    /// When to colour
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t)]
    pub(crate) color: Color,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Search(SearchArgs),
    Add(AddArgs),
    Batch(BatchArgs),
    Get(GetArgs),
    List(ListArgs),
    Update(UpdateArgs),
    Delete(DeleteArgs),
    History(HistoryArgs),
    /// Add a typed edge between two memories
    #[command(after_help = "Example:\n  ctl link 14 12 --type updates")]
    Link(LinkArgs),
    /// Remove a typed edge between two memories
    #[command(after_help = "Example:\n  ctl unlink 14 12 --type updates")]
    Unlink(LinkArgs),
    Links(LinksArgs),
    Reindex(ReindexArgs),
    /// Show how the service and its memory are doing
    #[command(after_help = "Example:\n  ctl status")]
    Status,
    Export(ExportArgs),
    Import(ImportArgs),
    Backup(BackupArgs),
    Restore(RestoreArgs),
    Compact(CompactArgs),
    Context(ContextArgs),
    Emit(EmitArgs),
    /// List and follow events
    #[command(subcommand)]
    Events(EventsCommand),
    /// See what flows do, and order it
    #[command(subcommand)]
    Flows(FlowsCommand),
    /// Call, hear and pair peers
    #[command(subcommand)]
    Mesh(MeshCommand),
    /// Make, list and revoke access tokens
    #[command(subcommand)]
    Token(TokenCommand),
    /// Bring, list and check embedding models
    #[command(subcommand)]
    Model(ModelCommand),
    Allow(AllowArgs),
    /// Show the settings
    #[command(subcommand)]
    Config(ConfigCommand),
    Doctor(DoctorArgs),
    Completions(CompletionsArgs),
}
