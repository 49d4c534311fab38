//! `config show`.

use clap::Subcommand;
use serde_json::{Map, json};
use waypost_cli::failure::Result;
use waypost_cli::output::{Look, Output};
use waypost_cli::program::Program;

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show the value of each setting and its origin
    #[command(after_help = "Example:\n  ctl config show")]
    Show,
}

pub(super) fn run(program: &Program, command: &ConfigCommand, output: &mut Output) -> Result<()> {
    match command {
        ConfigCommand::Show => show(program, output),
    }
}

fn show(program: &Program, output: &mut Output) -> Result<()> {
    let settings = program.preview()?;
    let table = settings.table();
    let pending = settings.pending().map_or(&[][..], |pending| &pending.settings);
    if output.is_json() {
        let settings: Map<_, _> = table
            .iter()
            .map(|row| {
                let mut shown = json!({ "value": row.value, "origin": row.origin.to_string() });
                if let Some(it) = pending.iter().find(|pending| pending.key == row.key) {
                    shown["pending"] = json!({ "value": it.value, "line": it.line });
                }
                (row.key.to_owned(), shown)
            })
            .collect();
        output.document(&settings)?;
        return Ok(());
    }
    let rows: Vec<_> = table
        .into_iter()
        .map(|row| {
            let look = if row.origin == waypost_project::Origin::Default {
                Look::Plain
            } else {
                Look::Bold
            };
            vec![
                (Look::Name, row.key.to_owned()),
                (look, row.value),
                (Look::Dim, row.origin.to_string()),
            ]
        })
        .collect();
    output.table(&["SETTING", "VALUE", "FROM"], &rows)?;
    if let Some(pending) = settings.pending() {
        output.warn(&pending.to_string());
    }
    Ok(())
}
