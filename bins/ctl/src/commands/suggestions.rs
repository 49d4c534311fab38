//! `suggestions`, and the note about them after an add.

use clap::Args;
use waypost_api::limits::LIMIT_MAX;
use waypost_api::{
    AddedMemory, MemoryId, Suggestion, SuggestionKind, SuggestionsRequest, Vocabulary, routes,
};
use waypost_cli::failure::Result;
use waypost_cli::output::{Look, Output, cut};
use waypost_cli::program::Program;

use super::id;

/// List memories that say nearly the same, or different things about the same subject
///
/// Each line shows the score, what may be done, the newer and the older memory, the reason, and the command to run.
/// Nothing is done unless you run it. To keep both memories as they are, link them as `related_to`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  ctl suggestions\n  ctl suggestions 12 --json")]
pub(crate) struct SuggestionsArgs {
    /// Only suggestions about this memory [default: about all]
    #[arg(value_name = "ID", value_parser = id)]
    id: Option<u64>,
    /// Compare only memories with a lower id with those before them
    #[arg(long, value_name = "ID", value_parser = id, conflicts_with = "id")]
    before: Option<u64>,
    /// Only memories in this space
    #[arg(long)]
    space: Option<String>,
    /// Maximum number of suggestions [default: 20]
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=LIMIT_MAX))]
    limit: Option<u64>,
}

/// Titles are cut to this many columns.
const TITLE_COLUMNS: usize = 41;

pub(super) fn list(program: &Program, args: SuggestionsArgs, output: &mut Output) -> Result<()> {
    let SuggestionsArgs { id, before, space, limit } = args;
    let asked = SuggestionsRequest { id, before, space, limit };
    let found = program.client()?.call(&routes::LIST_SUGGESTIONS, &asked)?;
    if output.json(&found)? {
        return Ok(());
    }
    if found.suggestions.is_empty() {
        output.note("no suggestions");
    }
    for it in &found.suggestions {
        let end = |id: MemoryId, title: &str| format!("#{id} \"{}\"  ", cut(title, TITLE_COLUMNS));
        output.styled(&[
            (Look::Good, &format!("{:.3}  ", it.score)),
            (Look::Plain, &format!("{:<11}  ", it.kind.as_str())),
            (Look::Name, &end(it.from, &it.from_title)),
            (Look::Name, &end(it.to, &it.to_title)),
            (Look::Plain, &it.reason),
            (Look::Dim, &format!("  `{}`", remedy(it))),
        ])?;
    }
    if found.truncated {
        let how = if id.is_none() { ": raise `--limit`, or name a memory" } else { "" };
        output.note(&format!("there may be more suggestions{how}"));
    }
    if let Some(next) = found.next {
        output
            .note(&format!("older memories were not compared: `ctl suggestions --before {next}`"));
    }
    Ok(())
}

/// Notes after an add what may be done about the memory.
pub(super) fn note(added: &AddedMemory, output: &mut Output) {
    for it in &added.suggestions {
        let other = if it.from == added.memory.id { it.to } else { it.from };
        let reason = &it.reason;
        output.note(&format!("similar to #{other}: {reason}; to act on it: `{}`", remedy(it)));
    }
}

/// The command that does what is suggested.
fn remedy(it: &Suggestion) -> String {
    let (from, to, kind) = (it.from, it.to, it.kind.as_str());
    match it.kind {
        SuggestionKind::Duplicate => format!("ctl delete {from}"),
        SuggestionKind::Updates | SuggestionKind::Contradicts => {
            format!("ctl link {from} {to} --type {kind}")
        }
    }
}
