//! `recall`: what sessions were told, and why.

use waypost_api::{
    RecallEntry, RecallFate, RecallFound, RecallListRequest, RecallWhyRequest, Vocabulary,
};

use super::text_or_stdin;
use crate::cli::{RecallCommand, RecallLogArgs, RecallWhyArgs};
use crate::failure::Result;
use crate::output::{Look, Output};
use crate::program::Program;

pub(super) fn run(program: &Program, command: RecallCommand, output: &mut Output) -> Result<()> {
    match command {
        RecallCommand::Log(args) => log(program, args, output),
        RecallCommand::Why(args) => why(program, args, output),
    }
}

fn log(program: &Program, args: RecallLogArgs, output: &mut Output) -> Result<()> {
    let RecallLogArgs { session, memory, space, limit, before } = args;
    let asked = RecallListRequest { session, memory, space, limit: Some(limit), before };
    let entries = program.client()?.recall(&asked)?;
    if output.is_json() {
        output.document(&entries)?;
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
    let space = entry.space.as_ref().map(|it| format!("  space {it}")).unwrap_or_default();
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
    let score = score.map_or_else(|| "     ".to_owned(), |it| format!("{it:.3}"));
    output.styled(&[
        (look, &format!("       {what:<8}  ")),
        (Look::Name, &format!("{:<8}", format!("#{id}"))),
        (Look::Plain, &format!("  {score}  {why}")),
    ])?;
    Ok(())
}

fn why(program: &Program, args: RecallWhyArgs, output: &mut Output) -> Result<()> {
    let RecallWhyArgs { session, space, limit, question } = args;
    let query = text_or_stdin(question.join(" "))?;
    let asked = RecallWhyRequest { session, query, space, limit };
    let found = program.client()?.why_recall(&asked)?;
    if output.is_json() {
        output.document(&found)?;
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
    let reason = it.reason.map(|it| format!(": {}", it.describe().1)).unwrap_or_default();
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
