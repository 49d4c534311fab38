//! What the user reviews and confirms before something is approved or done.

use std::io::{self, BufRead, IsTerminal};

use waypost_flows::DiffLine;

use crate::failure::{Failure, Result};
use crate::output::{Look, Output};
use crate::visible::exact;

/// Lines of context around a change.
const CONTEXT_LINES: usize = 3;
/// The remedy for what was not shown.
pub const READ_FIRST: &str = "read the file, then use --sha256 with the hash of each file";

/// Shows the changes with some context, and escapes everything that a terminal would interpret or
/// hide.
pub fn show_difference(lines: &[DiffLine<'_>], output: &mut Output) -> Result<()> {
    let is_change = |it: &DiffLine<'_>| !matches!(it, DiffLine::Same(_));
    let mut last_shown = None;
    for (idx, line) in lines.iter().enumerate() {
        let near = idx.saturating_sub(CONTEXT_LINES)..(idx + CONTEXT_LINES + 1).min(lines.len());
        if !lines[near].iter().any(is_change) {
            continue;
        }
        if last_shown.is_some_and(|it: usize| it + 1 < idx) {
            output.styled(&[(Look::Dim, "…")])?;
        }
        last_shown = Some(idx);
        let (look, sign, text) = match line {
            DiffLine::Same(text) => (Look::Plain, "  ", *text),
            DiffLine::Removed(text) => (Look::Bad, "- ", *text),
            DiffLine::Added(text) => (Look::Name, "+ ", *text),
        };
        let ended = text.strip_suffix(b"\n");
        output.styled(&[(look, sign), (look, &exact(ended.unwrap_or(text)))])?;
        if ended.is_none() {
            output.styled(&[(Look::Dim, "\\ no newline at the end")])?;
        }
    }
    if last_shown.is_none() {
        output.note("no line differs from the last approved content");
    }
    Ok(())
}

/// Rejects a hash that no file has: it was mistyped, or the file has changed since.
pub fn refuse_unknown<'a>(given: &[String], known: impl Iterator<Item = &'a str>) -> Result<()> {
    let known: Vec<&str> = known.collect();
    match given.iter().find(|hash| !known.iter().any(|it| it.eq_ignore_ascii_case(hash))) {
        None => Ok(()),
        Some(hash) => Err(Failure::not_found(format!(
            "no file to approve has the SHA-256 {hash}; nothing was approved"
        ))
        .with_hint(
            "`ctl allow` shows pending files with their hashes, `ctl allow --list` approved ones",
        )),
    }
}

/// Asks for confirmation on the terminal.
pub fn is_wanted(question: &str, output: &mut Output) -> Result<bool> {
    if !io::stdin().is_terminal() {
        return Err(Failure::usage(
            "cannot ask for confirmation: standard input is not a terminal",
        )
        .with_hint("review the files, then use --yes, or --sha256 with the hash of each file"));
    }
    output.note(question);
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Asks for confirmation on the terminal; without one, `--yes` is required.
pub fn confirm(question: &str, output: &mut Output) -> Result<bool> {
    if !io::stdin().is_terminal() {
        return Err(Failure::usage(
            "cannot ask for confirmation without a terminal; review it and use --yes",
        ));
    }
    output.note(&format!("{question} [y/N]"));
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
