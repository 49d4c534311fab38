//! `recall`: what sessions were told, and why.

use clap::{Args, Subcommand};
use waypost_api::limits::{LIMIT_MAX, RECALL_WHY_LIMIT_MAX};
use waypost_api::{
    RecallEntry, RecallFate, RecallFound, RecallListRequest, RecallWhyRequest, Vocabulary, routes,
};
use waypost_cli::failure::Result;
use waypost_cli::output::{Look, Output};
use waypost_cli::program::Program;

use super::text_or_stdin;

#[derive(Debug, Subcommand)]
pub(crate) enum RecallCommand {
    Log(RecallLogArgs),
    Why(RecallWhyArgs),
}

/// List what was injected into sessions and what was withheld, newest first
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ctl recall log\n  ctl recall log --session 7f3a2c --limit 5\n  ctl recall log --memory 12"
)]
pub(crate) struct RecallLogArgs {
    /// Show only entries of this session
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Show only entries that injected or withheld this memory
    #[arg(long, value_name = "ID")]
    memory: Option<u64>,
    /// Show only entries of this space
    #[arg(long, value_name = "SPACE")]
    space: Option<String>,
    /// Maximum number of entries
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=LIMIT_MAX))]
    limit: u64,
    /// Show only entries before this one
    #[arg(long, value_name = "ENTRY")]
    before: Option<u64>,
}

/// Explain why a session did or did not know something
///
/// Searches the store for the question, and prints what became of each hit in the session: injected, withheld and why,
/// added after the session's last entry, expired, deleted, or not found by any prompt.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ctl recall why --session 7f3a2c which port does the service use"
)]
pub(crate) struct RecallWhyArgs {
    /// The session
    #[arg(long, value_name = "SESSION")]
    session: String,
    /// Search only this space
    #[arg(long, value_name = "SPACE")]
    space: Option<String>,
    /// Maximum number of memories [default: 10]
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=RECALL_WHY_LIMIT_MAX))]
    limit: Option<u64>,
    /// What the session should have known; `-` reads standard input
    #[arg(value_name = "QUESTION", required = true)]
    question: Vec<String>,
}

pub(super) fn run(program: &Program, command: RecallCommand, output: &mut Output) -> Result<()> {
    match command {
        RecallCommand::Log(args) => log(program, args, output),
        RecallCommand::Why(args) => why(program, args, output),
    }
}

fn log(program: &Program, args: RecallLogArgs, output: &mut Output) -> Result<()> {
    let RecallLogArgs { session, memory, space, limit, before } = args;
    let asked = RecallListRequest { session, memory, space, limit: Some(limit), before };
    let entries = program.client()?.call(&routes::LIST_RECALL, &asked)?;
    if output.json(&entries)? {
        return Ok(());
    }
    if entries.is_empty() {
        output.note("no entries");
    }
    for entry in &entries {
        show(entry, output)?;
    }
    if entries.len() as u64 == limit
        && let Some(last) = entries.last()
    {
        output.note(&format!("there may be more: `--before {}`", last.id));
    }
    Ok(())
}

fn show(entry: &RecallEntry, output: &mut Output) -> Result<()> {
    let space = entry.space.as_ref().map(|space| format!("  space {space}")).unwrap_or_default();
    let search = match (entry.answerable, entry.threshold) {
        (Some(answerable), Some(threshold)) => {
            format!("  answerable {answerable:.3}, threshold {threshold:.3}")
        }
        _ => String::new(),
    };
    output.styled(&[
        (Look::Name, &format!("{:<6} ", entry.id)),
        (Look::Plain, &format!("{}  {:<7}  ", entry.at, entry.moment.as_str())),
        (Look::Plain, &format!("{} {}", entry.harness, entry.session)),
        (Look::Dim, &format!("{space}{search}")),
    ])?;
    if let Some(reason) = entry.reason {
        output.styled(&[
            (Look::Dim, "       nothing injected: "),
            (Look::Dim, reason.describe().1),
        ])?;
    }
    if let Some(it) = entry.refused {
        let what = format!("not recorded: the turn before byte {} of the transcript. ", it.before);
        output.styled(&[
            (Look::Warn, "       "),
            (Look::Warn, &what),
            (Look::Plain, it.reason.describe().1),
        ])?;
    }
    for it in &entry.used {
        line(output, Look::Good, "used", it.id, it.score, it.part.describe().1)?;
    }
    for it in &entry.withheld {
        line(output, Look::Dim, "withheld", it.id, it.score, it.reason.describe().1)?;
    }
    Ok(())
}

fn line(
    output: &mut Output,
    look: Look,
    what: &str,
    id: u64,
    score: Option<f64>,
    why: &str,
) -> Result<()> {
    let score = score.map_or_else(|| "     ".to_owned(), |score| format!("{score:.3}"));
    output.styled(&[
        (look, &format!("       {what:<8}  ")),
        (Look::Name, &format!("{:<8}", format!("#{id}"))),
        (Look::Plain, &format!("  {score}  {why}")),
    ])
}

fn why(program: &Program, args: RecallWhyArgs, output: &mut Output) -> Result<()> {
    let RecallWhyArgs { session, space, limit, question } = args;
    let query = text_or_stdin(question.join(" "))?;
    let asked = RecallWhyRequest { session, query, space, limit };
    let found = program.client()?.call(&routes::WHY_RECALL, &asked)?;
    if output.json(&found)? {
        return Ok(());
    }
    if found.entries == 0 {
        output.note("the recall log has no start and no prompt of this session: `ctl recall log` lists sessions, `ctl hook install` adds the hooks that log them, and `recall.log_retention` limits the age of entries");
    }
    if found.hits.is_empty() {
        output.note("no memory matches the question");
    }
    for it in &found.hits {
        output.styled(&[
            (Look::Good, &format!("{:.3}  ", it.score)),
            (Look::Name, &format!("{:<8}  ", format!("#{}", it.id))),
            (Look::Plain, &fate(it)),
            (Look::Dim, &format!("  {}", it.title)),
        ])?;
    }
    if found.answerable < found.threshold {
        output.note(&format!(
            "the store probably has no answer: answerable {:.3}, threshold {:.3}",
            found.answerable, found.threshold
        ));
    }
    Ok(())
}

/// What became of a memory, in a few words.
fn fate(it: &RecallFound) -> String {
    let at = it.at.map(|at| format!(" at {at}")).unwrap_or_default();
    let entry = it.entry.map(|entry| format!(" (entry {entry})")).unwrap_or_default();
    let reason = it.reason.map(|reason| format!(": {}", reason.describe().1)).unwrap_or_default();
    let what = match it.fate {
        RecallFate::Injected => "injected",
        RecallFate::Withheld => "withheld",
        RecallFate::Later => "added later",
        RecallFate::Expired => "expired",
        RecallFate::Deleted => "deleted",
        RecallFate::NotConsidered => "not found by any prompt",
    };
    format!("{what}{at}{entry}{reason}")
}
