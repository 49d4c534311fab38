//! `context`.

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use indicatif::HumanBytes;
use waypost_api::limits::{ITEMS_MAX, TOKENS_MAX};
use waypost_api::{
    ContextItem, ContextRequest, ContextScan, ContextSource, ContextState, ContextStatus,
    ContextTask, ContextWatch, ContextWatchMode, Vocabulary, routes,
};
use waypost_cli::failure::{Failure, Result};
use waypost_cli::output::{Look, Output, cut};
use waypost_cli::program::Program;
use waypost_cli::show;

use super::{names, text_or_stdin};

/// Find project context for a task in journals, documents and code headers
///
/// Without a query, shows what currently matters in the project. Put `--` before a query that starts with `status` or
/// `rescan`, or that is a single word similar to one of them.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ctl context --task code how tokens are revoked\n  ctl context --task strategy --max 10\n  ctl context --source knowledge --path 'docs/**' approvals\n  ctl context -- status"
)]
pub(crate) struct ContextArgs {
    #[command(subcommand)]
    command: Option<ContextCommand>,
    #[command(flatten)]
    find: ContextFindArgs,
    /// Whether the query follows `--`.
    #[arg(skip)]
    pub(crate) is_literal: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ContextCommand {
    /// Show which files are indexed, which are excluded, and why
    #[command(after_help = "Example:\n  ctl context status")]
    Status,
    /// Rescan the whole project, and wait until the index is up to date
    #[command(after_help = "Example:\n  ctl context rescan")]
    Rescan,
}

/// A query for project context.
#[derive(Debug, Default, PartialEq, Args)]
pub(crate) struct ContextFindArgs {
    /// Words, names in code or paths that describe the task; `-` reads standard input
    #[arg(value_name = "QUERY")]
    query: Vec<String>,
    /// Kind of task, which decides the ranking [default: general]
    #[arg(long, value_name = "TASK", value_parser = names::<ContextTask>())]
    task: Option<ContextTask>,
    /// Maximum number of items [default: 30]
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=ITEMS_MAX))]
    max: Option<u64>,
    /// Maximum number of tokens, of four bytes each
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=TOKENS_MAX))]
    max_tokens: Option<u64>,
    /// Include only this source; may be repeated; `memory` is searched only if given here
    #[arg(long = "source", value_name = "SOURCE", value_delimiter = ',', value_parser = names::<ContextSource>())]
    sources: Vec<ContextSource>,
    /// Include only items of this type; may be repeated
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',')]
    types: Vec<String>,
    /// Include only files whose path matches this glob; may be repeated
    #[arg(long = "path", value_name = "GLOB")]
    paths: Vec<String>,
    /// Show the full contents
    #[arg(long)]
    full: bool,
}

/// Lines of content under an item.
const SNIPPET_LINES: usize = 2;
/// Number of excluded paths that are shown for each reason.
const SAMPLES_SHOWN: usize = 3;

pub(super) fn run(program: &Program, args: ContextArgs, output: &mut Output) -> Result<()> {
    let ContextArgs { command, find, is_literal } = args;
    let Some(command) = command else {
        if !is_literal
            && let [word] = &find.query[..]
            && let Some(meant) = near_miss(word)
        {
            let message =
                format!("`{word}` is not a subcommand of `ctl context`; did you mean `{meant}`?");
            let hint = format!("to search for it: `ctl context -- {word}`");
            return Err(Failure::usage(message).with_hint(hint));
        }
        return self::find(program, find, output);
    };
    if find != ContextFindArgs::default() {
        let message = "`status` and `rescan` accept no query options; put `--` before a query that starts with one of these words";
        return Err(Failure::usage(message));
    }
    match command {
        ContextCommand::Status => {
            status(&program.client()?.call(&routes::CONTEXT_STATUS, ())?, output)
        }
        ContextCommand::Rescan => rescan(program, output),
    }
}

/// The subcommand that differs from a word by one letter: left out, added, changed, or swapped with
/// its neighbour.
fn near_miss(word: &str) -> Option<&'static str> {
    let word = word.to_lowercase();
    ["status", "rescan"].into_iter().find(|name| strsim::osa_distance(&word, name) <= 1)
}

fn find(program: &Program, args: ContextFindArgs, output: &mut Output) -> Result<()> {
    let query = text_or_stdin(args.query.join(" "))?;
    let request = ContextRequest {
        query: Some(query).filter(|query| !query.is_empty()),
        max_items: args.max,
        task_type: args.task,
        max_tokens: args.max_tokens,
        sources: args.sources,
        types: args.types,
        paths: args.paths,
    };
    let answer = program.client()?.call(&routes::QUERY_CONTEXT, &request)?;
    if output.json(&answer)? {
        return Ok(());
    }
    for item in &answer.items {
        show_item(item, args.full, output)?;
    }
    if answer.items.is_empty() {
        output.note("nothing found");
    }
    if answer.truncated {
        output.note("some items exceeded --max-tokens and were left out");
    }
    if answer.pending > 0 {
        let files = show::count(answer.pending, "file waits", "files wait");
        output.note(&format!("{files} for indexing; see `ctl context status`"));
    }
    Ok(())
}

fn show_item(item: &ContextItem, full: bool, output: &mut Output) -> Result<()> {
    let place = match item.line {
        Some(line) => format!("{}:{line}", item.path),
        None => item.path.clone(),
    };
    // The title of code begins with the path, which is shown already.
    let title = item.title.strip_prefix(&item.path).and_then(|rest| rest.strip_prefix("::"));
    output.styled(&[
        (Look::Good, &format!("{:.3}", item.score)),
        (Look::Name, &format!("  {place}  ")),
        (Look::Dim, &format!("{} {}  ", item.source.as_str(), item.kind)),
        (Look::Bold, title.unwrap_or(&item.title)),
        (Look::Dim, &format!("  {}", item.why.join(", "))),
    ])?;
    if full {
        output.text(&item.content)?;
        output.line("")?;
        return Ok(());
    }
    let room = output.width().saturating_sub(7);
    let lines = item.content.lines().map(str::trim).filter(|text| !text.is_empty());
    for line in lines.take(SNIPPET_LINES) {
        output.styled(&[(Look::Plain, "       "), (Look::Dim, &cut(line, room))])?;
    }
    Ok(())
}

fn status(status: &ContextStatus, output: &mut Output) -> Result<()> {
    if output.json(status)? {
        return Ok(());
    }
    let look = match status.status {
        ContextState::Ready => Look::Good,
        ContextState::Indexing | ContextState::Off => Look::Warn,
    };
    output.styled(&[(look, status.status.as_str())])?;
    for (name, value) in lines(status) {
        output.styled(&[(Look::Dim, &format!("{name:<11}")), (Look::Plain, &value)])?;
    }
    for (reason, left_out) in &status.skipped {
        let shown: Vec<_> =
            left_out.samples.iter().take(SAMPLES_SHOWN).map(String::as_str).collect();
        let more =
            if left_out.files > shown.len() as u64 && !shown.is_empty() { ", …" } else { "" };
        let samples = format!("{}{more}", shown.join(", "));
        output.styled(&[
            (Look::Dim, "excluded   "),
            (Look::Plain, &format!("{} {reason}  ", left_out.files)),
            (Look::Dim, &samples),
        ])?;
    }
    Ok(())
}

fn lines(status: &ContextStatus) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    let mut tell = |name, value: Option<String>| lines.extend(value.map(|value| (name, value)));
    tell("why", status.why.clone());
    if status.status == ContextState::Off {
        return lines;
    }
    let waiting = match status.pending {
        0 => String::new(),
        waiting => format!(", {waiting} waiting"),
    };
    tell("files", Some(format!("{}{waiting}", status.files)));
    tell("pieces", listed(&status.chunks));
    tell("limit", status.truncated.then(|| "a limit excluded files".to_owned()));
    tell("indexed", Some(status.indexed_at.map_or("never".to_owned(), |at| at.to_string())));
    tell("last scan", status.last_scan.as_ref().map(scanned));
    tell("watching", Some(watching(&status.watch)));
    tell("secrets", listed(&status.redactions).map(|listed| format!("replaced: {listed}")));
    let head = status.head.as_ref();
    let commits = show::count(status.commits, "commit", "commits");
    tell("history", head.map(|head| format!("{commits} up to {}", cut(head, 12))));
    let vectors = format!("{}, {} waiting", status.vectors, status.vectors_pending);
    tell("embedded", Some(vectors));
    tell("rebuilt", status.rebuilt.clone());
    let sizes = [status.memory_bytes, status.disk_bytes].map(|it| HumanBytes(it).to_string());
    tell("size", Some(format!("{} in memory, {} on disk", sizes[0], sizes[1])));
    lines
}

fn listed(counts: &BTreeMap<String, u64>) -> Option<String> {
    let parts: Vec<_> = counts.iter().map(|(name, number)| format!("{name} {number}")).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn watching(watch: &ContextWatch) -> String {
    match watch.mode {
        ContextWatchMode::Native => {
            show::count(watch.folders.unwrap_or_default(), "folder", "folders")
        }
        ContextWatchMode::Poll => {
            let seconds = watch.every_ms.unwrap_or_default() as f64 / 1000.0;
            let why = watch.why.as_deref().unwrap_or("notifications do not work");
            format!("by polling every {seconds} s: {why}")
        }
        ContextWatchMode::Off => "not at all".to_owned(),
    }
}

fn scanned(scan: &ContextScan) -> String {
    let ContextScan { at, found, indexed, removed, duration_ms, .. } = scan;
    let found = show::count(*found, "file", "files");
    format!("{at}: {found}, {indexed} indexed, {removed} removed, in {duration_ms} ms")
}

fn rescan(program: &Program, output: &mut Output) -> Result<()> {
    let scan = program.client()?.call(&routes::RESCAN_CONTEXT, ())?;
    output.answer(&scan, &scanned(&scan))
}

#[cfg(test)]
mod tests {
    use super::near_miss;

    #[test]
    fn one_wrong_letter_is_a_near_miss_and_two_are_a_query() {
        for word in [
            "statsu", "stats", "statu", "sttus", "statuss", "stztus", "Status", "statuz", "rescna",
            "resca",
        ] {
            assert!(near_miss(word).is_some(), "{word}");
        }
        for word in ["state", "static", "scan", "approvals", "s", "", "restart", "statistics"] {
            assert_eq!(near_miss(word), None, "{word}");
        }
    }
}
