//! The implementation of each command.

mod completions;
mod config;
mod context;
mod events;
mod filter;
mod flows;
pub(crate) mod hook;
mod link;
mod mcp;
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

use crate::cli::Command;
use crate::failure::{Failure, Result};
use crate::maintenance::{Maintain, Maintenance};
use crate::output::Output;
use crate::program::Program;

pub(crate) fn run(
    program: &Program,
    command: Command,
    maintain: Maintain,
    output: &mut Output,
) -> Result<()> {
    match command {
        Command::Search(args) => search::search(program, args, output),
        Command::Add(args) => memory::add(program, args, output),
        Command::Batch(args) => transfer::batch(program, &args, output),
        Command::Get(args) => memory::get(program, &args, output),
        Command::List(args) => memory::list(program, args, output),
        Command::Count(args) => memory::count(program, args, output),
        Command::Update(args) => memory::update(program, args, output),
        Command::Delete(args) => memory::delete(program, &args, output),
        Command::Merge(args) => memory::merge(program, args, output),
        Command::Revert(args) => memory::revert(program, &args, output),
        Command::Undelete(args) => memory::undelete(program, &args, output),
        Command::History(args) => memory::history(program, &args, output),
        Command::Link(args) => link::link(program, &args, output),
        Command::Unlink(args) => link::unlink(program, &args, output),
        Command::Links(args) => link::links(program, &args, output),
        Command::Suggestions(args) => suggestions::list(program, args, output),
        Command::Reindex(args) => operate::reindex(program, &args, output),
        Command::Status => operate::status(program, output),
        Command::Compact(args) => operate::compact(program, &args, output),
        Command::Export(args) => transfer::export(program, &args, output),
        Command::Import(args) => transfer::import(program, &args, output),
        Command::Backup(args) => maintain(program, Maintenance::Backup(args), output),
        Command::Restore(args) => maintain(program, Maintenance::Restore(args), output),
        Command::Context(args) => context::run(program, args, output),
        Command::Emit(args) => events::emit(program, &args, output),
        Command::Events(command) => events::events(program, command, output),
        Command::Flows(command) => flows::run(program, command, maintain, output),
        Command::Mesh(command) => mesh::run(program, command, output),
        Command::Cluster(command) => maintain(program, Maintenance::Cluster(command), output),
        Command::Token(command) => token::run(program, command, output),
        Command::Model(command) => maintain(program, Maintenance::Model(command), output),
        Command::Allow(args) => maintain(program, Maintenance::Allow(args), output),
        Command::Config(command) => config::run(program, &command, output),
        Command::Doctor(args) => maintain(program, Maintenance::Doctor(args), output),
        Command::Mcp(args) => mcp::run(program, args, output),
        Command::Hook(command) => hook::run(program, command, output),
        Command::Recall(command) => recall::run(program, command, output),
        Command::Open(args) => open::open(program, args, output),
        Command::Completions(args) => completions::print(&args, output),
    }
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
