//! The command line: each command's arguments are beside its implementation.

mod completions;
mod config;
mod context;
mod events;
mod filter;
mod flows;
pub(crate) mod hook;
mod link;
pub(crate) mod mcp;
mod memory;
mod mesh;
mod open;
mod operate;
mod recall;
mod search;
mod suggestions;
mod token;
mod transfer;

use std::io::{self, Read};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand};
use waypost_api::Vocabulary;
use waypost_cli::Global;
use waypost_cli::failure::{Failure, Result};
use waypost_cli::maintenance::{
    AllowArgs, BackupArgs, ClusterCommand, DoctorArgs, ModelCommand, RestoreArgs,
};
use waypost_cli::output::Output;
use waypost_cli::program::Program;

use crate::start;

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

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Search(search::SearchArgs),
    Add(memory::AddArgs),
    Batch(transfer::BatchArgs),
    Get(memory::GetArgs),
    List(memory::ListArgs),
    Count(memory::CountArgs),
    Update(memory::UpdateArgs),
    Delete(memory::DeleteArgs),
    Merge(memory::MergeArgs),
    Revert(memory::RevertArgs),
    Undelete(memory::UndeleteArgs),
    History(memory::HistoryArgs),
    /// Add a typed link between two memories
    #[command(after_help = "Example:\n  ctl link 14 12 --type updates")]
    Link(link::LinkArgs),
    /// Remove a typed link between two memories
    #[command(after_help = "Example:\n  ctl unlink 14 12 --type updates")]
    Unlink(link::LinkArgs),
    Links(link::LinksArgs),
    Suggestions(suggestions::SuggestionsArgs),
    Reindex(operate::ReindexArgs),
    /// Show the state of the service and its stores
    #[command(after_help = "Example:\n  ctl status")]
    Status,
    Export(transfer::ExportArgs),
    Import(transfer::ImportArgs),
    Backup(BackupArgs),
    Restore(RestoreArgs),
    Compact(operate::CompactArgs),
    Context(context::ContextArgs),
    Emit(events::EmitArgs),
    /// List and follow events
    #[command(subcommand)]
    Events(events::EventsCommand),
    /// Inspect and control flows
    #[command(subcommand)]
    Flows(flows::FlowsCommand),
    /// Call and listen to peers, and pair machines
    #[command(subcommand)]
    Mesh(mesh::MeshCommand),
    /// Share the store with the services of other machines, over a PostgreSQL database
    #[command(subcommand)]
    Cluster(ClusterCommand),
    /// Create, list and revoke access tokens
    #[command(subcommand)]
    Token(token::TokenCommand),
    /// Download, list and verify embedding models
    #[command(subcommand)]
    Model(ModelCommand),
    Allow(AllowArgs),
    /// Show the settings
    #[command(subcommand)]
    Config(config::ConfigCommand),
    Doctor(DoctorArgs),
    Mcp(mcp::McpArgs),
    /// Remember without being asked: what the hooks of agents call, and the hooks themselves
    #[command(subcommand)]
    Hook(hook::HookCommand),
    /// Show what sessions of agents were told, and why
    #[command(subcommand)]
    Recall(recall::RecallCommand),
    Open(open::OpenArgs),
    Completions(completions::CompletionsArgs),
}

impl Command {
    pub(crate) fn run(self, program: &Program, output: &mut Output) -> Result<()> {
        match self {
            Self::Search(args) => search::search(program, args, output),
            Self::Add(args) => memory::add(program, args, output),
            Self::Batch(args) => transfer::batch(program, &args, output),
            Self::Get(args) => memory::get(program, &args, output),
            Self::List(args) => memory::list(program, args, output),
            Self::Count(args) => memory::count(program, args, output),
            Self::Update(args) => memory::update(program, args, output),
            Self::Delete(args) => memory::delete(program, &args, output),
            Self::Merge(args) => memory::merge(program, args, output),
            Self::Revert(args) => memory::revert(program, &args, output),
            Self::Undelete(args) => memory::undelete(program, &args, output),
            Self::History(args) => memory::history(program, &args, output),
            Self::Link(args) => link::link(program, &args, output),
            Self::Unlink(args) => link::unlink(program, &args, output),
            Self::Links(args) => link::links(program, &args, output),
            Self::Suggestions(args) => suggestions::list(program, args, output),
            Self::Reindex(args) => operate::reindex(program, &args, output),
            Self::Status => operate::status(program, output),
            Self::Compact(args) => operate::compact(program, &args, output),
            Self::Export(args) => transfer::export(program, &args, output),
            Self::Import(args) => transfer::import(program, &args, output),
            // The program `service` reads the same arguments.
            Self::Backup(_)
            | Self::Restore(_)
            | Self::Cluster(_)
            | Self::Model(_)
            | Self::Allow(_)
            | Self::Doctor(_) => start::become_service(),
            Self::Context(args) => context::run(program, args, output),
            Self::Emit(args) => events::emit(program, &args, output),
            Self::Events(command) => events::events(program, command, output),
            Self::Flows(command) => flows::run(program, command, output),
            Self::Mesh(command) => mesh::run(program, command, output),
            Self::Token(command) => token::run(program, command, output),
            Self::Config(command) => config::run(program, &command, output),
            Self::Mcp(args) => mcp::run(program, args, output),
            Self::Hook(command) => hook::run(program, command, output),
            Self::Recall(command) => recall::run(program, command, output),
            Self::Open(args) => open::open(program, args, output),
            Self::Completions(args) => completions::print(&args, output),
        }
    }
}

/// Accepts the names of a vocabulary, and shows each with its meaning.
fn names<T: Vocabulary + Send + Sync>() -> impl TypedValueParser<Value = T> {
    let values = T::ALL.iter().map(|value| {
        let (name, meaning) = value.describe();
        PossibleValue::new(name).help(meaning)
    });
    PossibleValuesParser::new(values).try_map(|name| T::from_name(&name).ok_or("unknown name"))
}

/// An id on the command line; accepts `#12` for `12`, because the output shows ids in that form.
fn id(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix('#').unwrap_or(text);
    waypost_api::parse_id(digits)
        .map_err(|_| "an id is a whole number between 1 and 9007199254740991".to_owned())
}

/// A text argument, or standard input where it is `-`.
fn text_or_stdin(text: String) -> Result<String> {
    if text != "-" {
        return Ok(text);
    }
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    let mut text =
        String::from_utf8(bytes).map_err(|_| Failure::new("standard input is not valid UTF-8"))?;
    // Removes the line end that shell pipes add.
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(text)
}
