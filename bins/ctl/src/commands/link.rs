//! `link`, `unlink`, `links`.

use clap::Args;
use serde_json::json;
use waypost_api::client::Stored;
use waypost_api::limits::DEPTH_MAX;
use waypost_api::{LinkKind, LinkRequest, LinksRequest, Vocabulary, routes};
use waypost_cli::failure::Result;
use waypost_cli::output::{Look, Output};
use waypost_cli::program::Program;
use waypost_cli::show;

use super::{id, names};

/// An edge.
#[derive(Debug, Args)]
pub(crate) struct LinkArgs {
    /// Id of the source memory
    #[arg(value_name = "FROM", value_parser = id)]
    from: u64,
    /// Id of the target memory
    #[arg(value_name = "TO", value_parser = id)]
    to: u64,
    /// Type of the link
    #[arg(long = "type", value_name = "TYPE", value_parser = names::<LinkKind>())]
    kind: LinkKind,
}

/// Show the links from and to a memory
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl links 12 --depth 2")]
pub(crate) struct LinksArgs {
    /// Id of the memory
    #[arg(value_name = "ID", value_parser = id)]
    id: u64,
    /// Maximum number of links to follow
    #[arg(long, value_name = "STEPS", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=DEPTH_MAX))]
    depth: u64,
}

fn request(args: &LinkArgs) -> LinkRequest {
    LinkRequest { from: args.from, to: args.to, kind: args.kind }
}

pub(super) fn link(program: &Program, args: &LinkArgs, output: &mut Output) -> Result<()> {
    let stored = program.client()?.store(&routes::ADD_LINK, request(args))?;
    let is_new = matches!(stored, Stored::New(_));
    let did = if is_new { "linked" } else { "already exists:" };
    let link = stored.into_inner();
    output.answer(&link, &format!("{did} #{} {} #{}", link.from, link.kind.as_str(), link.to))
}

pub(super) fn unlink(program: &Program, args: &LinkArgs, output: &mut Output) -> Result<()> {
    let request = request(args);
    program.client()?.call(&routes::REMOVE_LINK, &request)?;
    output.answer(
        &json!({ "unlinked": request }),
        &format!("unlinked #{} {} #{}", request.from, request.kind.as_str(), request.to),
    )
}

pub(super) fn links(program: &Program, args: &LinksArgs, output: &mut Output) -> Result<()> {
    let links = program
        .client()?
        .call(&routes::MEMORY_LINKS.at(args.id), LinksRequest { depth: Some(args.depth) })?;
    if output.json(&links)? {
        return Ok(());
    }
    if links.is_empty() {
        output.note(&format!("no links from or to #{}", args.id));
        return Ok(());
    }
    let rows: Vec<_> = links
        .iter()
        .map(|link| {
            vec![
                (Look::Name, format!("#{}", link.from)),
                (Look::Plain, link.kind.as_str().to_owned()),
                (Look::Name, format!("#{}", link.to)),
                (Look::Dim, show::day(&link.created_at.to_string())),
                (Look::Dim, link.depth.map_or(String::new(), |depth| depth.to_string())),
            ]
        })
        .collect();
    output.table(&["FROM", "TYPE", "TO", "CREATED", "STEPS"], &rows)
}
