//! The command line, as clap defines it.

mod context;
mod events;
mod flows;
mod hook;
mod mcp;
mod memory;
mod mesh;
mod names;
mod other;
mod recall;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub(crate) use context::{ContextArgs, ContextCommand, ContextFindArgs};
pub(crate) use events::{EmitArgs, EventsCommand, EventsListArgs, EventsTailArgs};
pub(crate) use flows::{
    FlowsAllowArgs, FlowsCommand, FlowsReplayArgs, FlowsRunsArgs, FlowsTestArgs,
};
pub(crate) use hook::{HookCommand, HookEvent, HookInstallArgs};
pub(crate) use mcp::{McpArgs, McpClient, McpClientArgs, McpCommand};
pub(crate) use memory::{
    AddArgs, BatchArgs, CompactArgs, CountArgs, DeleteArgs, FilterArgs, GetArgs, HistoryArgs,
    LifespanArgs, LinkArgs, LinksArgs, ListArgs, MergeArgs, ReindexArgs, RevertArgs, SearchArgs,
    SuggestionsArgs, UndeleteArgs, UpdateArgs,
};
pub(crate) use mesh::{MeshBroadcastArgs, MeshCallArgs, MeshCommand, MeshListenArgs, MeshPairArgs};
pub(crate) use other::{
    CompletionsArgs, ConfigCommand, ExportArgs, ImportArgs, OpenArgs, TokenCommand, TokenCreateArgs,
};

pub(crate) use recall::{RecallCommand, RecallLogArgs, RecallWhyArgs};

use crate::maintenance::{
    AllowArgs, BackupArgs, ClusterCommand, DoctorArgs, ModelCommand, RestoreArgs,
};
use crate::output::Color;

/// Command line of the Waypost service: memory, context, events, flows
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

/// Global options.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Project folder [default: the nearest parent folder with `.waypost`, else `.git`]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// Print JSON, for scripts
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Address of the service [default: the setting `url`, else the socket of the project's service]
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// File with the access token [default: the setting `token_file`]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// File with the certificate authorities to trust over https, in PEM [default: the system's]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// Treat everything in the project as approved, for containers and CI
    #[arg(long, global = true)]
    pub(crate) trust_project: bool,
    /// When to use colour
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
    Count(CountArgs),
    Update(UpdateArgs),
    Delete(DeleteArgs),
    Merge(MergeArgs),
    Revert(RevertArgs),
    Undelete(UndeleteArgs),
    History(HistoryArgs),
    /// Add a typed link between two memories
    #[command(after_help = "Example:\n  ctl link 14 12 --type updates")]
    Link(LinkArgs),
    /// Remove a typed link between two memories
    #[command(after_help = "Example:\n  ctl unlink 14 12 --type updates")]
    Unlink(LinkArgs),
    Links(LinksArgs),
    Suggestions(SuggestionsArgs),
    Reindex(ReindexArgs),
    /// Show the state of the service and its stores
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
    /// Inspect and control flows
    #[command(subcommand)]
    Flows(FlowsCommand),
    /// Call and listen to peers, and pair machines
    #[command(subcommand)]
    Mesh(MeshCommand),
    /// Share the store with the services of other machines, over a PostgreSQL database
    #[command(subcommand)]
    Cluster(ClusterCommand),
    /// Create, list and revoke access tokens
    #[command(subcommand)]
    Token(TokenCommand),
    /// Download, list and verify embedding models
    #[command(subcommand)]
    Model(ModelCommand),
    Allow(AllowArgs),
    /// Show the settings
    #[command(subcommand)]
    Config(ConfigCommand),
    Doctor(DoctorArgs),
    Mcp(McpArgs),
    /// Remember without being asked: what the hooks of agents call, and the hooks themselves
    #[command(subcommand)]
    Hook(HookCommand),
    /// Show what sessions of agents were told, and why
    #[command(subcommand)]
    Recall(RecallCommand),
    Open(OpenArgs),
    Completions(CompletionsArgs),
}
