//! `link`, `unlink`, `links`.

use serde_json::json;
use waypost_api::client::Stored;
use waypost_api::{LinkRequest, Vocabulary};

use crate::cli::{LinkArgs, LinksArgs};
use crate::failure::Result;
use crate::output::{Look, Output};
use crate::program::Program;
use crate::show;

fn request(args: &LinkArgs) -> LinkRequest {
    LinkRequest { from: args.from, to: args.to, kind: args.kind }
}

pub(super) fn link(program: &Program, args: &LinkArgs, output: &mut Output) -> Result<()> {
    let stored = program.client()?.link(&request(args))?;
    let did = match stored {
        Stored::New(_) => "linked",
        Stored::Existing(_) => "already exists:",
    };
    let link = stored.into_inner();
    if output.is_json() {
        output.document(&link)?;
    } else {
        output.line(&format!("{did} #{} {} #{}", link.from, link.kind.as_str(), link.to))?;
    }
    Ok(())
}

pub(super) fn unlink(program: &Program, args: &LinkArgs, output: &mut Output) -> Result<()> {
    let request = request(args);
    program.client()?.unlink(&request)?;
    if output.is_json() {
        output.document(&json!({ "unlinked": request }))?;
    } else {
        output.line(&format!(
            "unlinked #{} {} #{}",
            request.from,
            request.kind.as_str(),
            request.to
        ))?;
    }
    Ok(())
}

pub(super) fn links(program: &Program, args: &LinksArgs, output: &mut Output) -> Result<()> {
    let links = program.client()?.links(args.id, args.depth)?;
    if output.is_json() {
        output.document(&links)?;
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
    output.table(&["FROM", "TYPE", "TO", "CREATED", "STEPS"], &rows)?;
    Ok(())
}
