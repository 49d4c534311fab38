//! What the user reviews and confirms before something is approved or done.

use std::io::{self, BufRead, IsTerminal};

use similar::{Algorithm, ChangeTag, capture_diff_slices, group_diff_ops};

use crate::failure::{Failure, Result};
use crate::output::{Look, Output};
use crate::visible::exact;

/// Lines of context around a change.
const CONTEXT_LINES: usize = 3;
/// The remedy for what was not shown.
pub const READ_FIRST: &str = "read the file, then use --sha256 with the hash of each file";

/// Shows the lines that differ with some context, and escapes everything that a terminal would interpret or hide. Every
/// byte of both contents is in a line, `\r` and the final `\n` included: contents that differ have lines that differ.
pub fn show_difference(before: &[u8], after: &[u8], output: &mut Output) -> Result<()> {
    let (old, new) = (lines(before), lines(after));
    let groups = group_diff_ops(capture_diff_slices(Algorithm::Myers, &old, &new), CONTEXT_LINES);
    for (idx, group) in groups.iter().enumerate() {
        if idx > 0 {
            output.styled(&[(Look::Dim, "…")])?;
        }
        for line in group.iter().flat_map(|op| op.iter_changes(&old[..], &new[..])) {
            let (look, sign) = match line.tag() {
                ChangeTag::Equal => (Look::Plain, "  "),
                ChangeTag::Delete => (Look::Bad, "- "),
                ChangeTag::Insert => (Look::Name, "+ "),
            };
            let text = line.value();
            let ended = text.strip_suffix(b"\n");
            output.styled(&[(look, sign), (look, &exact(ended.unwrap_or(text)))])?;
            if ended.is_none() {
                output.styled(&[(Look::Dim, "\\ no newline at the end")])?;
            }
        }
    }
    if groups.is_empty() {
        output.note("no line differs from the last approved content");
    }
    Ok(())
}

fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Rejects a hash that no file has: it was mistyped, or the file has changed since.
pub fn refuse_unknown<'a>(given: &[String], known: impl Iterator<Item = &'a str>) -> Result<()> {
    let known: Vec<&str> = known.collect();
    match given.iter().find(|hash| !known.iter().any(|known| known.eq_ignore_ascii_case(hash))) {
        None => Ok(()),
        Some(hash) => Err(Failure::not_found(format!(
            "no file to approve has the SHA-256 {hash}; nothing was approved"
        ))
        .with_hint(
            "`ctl allow` shows pending files with their hashes, `ctl allow --list` approved ones",
        )),
    }
}

/// Asks for the approval of what was shown, on the terminal.
pub fn is_wanted(question: &str, output: &mut Output) -> Result<bool> {
    let failure = Failure::usage("cannot ask for confirmation: standard input is not a terminal")
        .with_hint("review the files, then use --yes, or --sha256 with the hash of each file");
    ask(question, failure, output)
}

/// Asks for confirmation on the terminal; without one, `--yes` is required.
pub fn confirm(question: &str, output: &mut Output) -> Result<bool> {
    let without = "cannot ask for confirmation without a terminal; review it and use --yes";
    ask(question, Failure::usage(without), output)
}

fn ask(question: &str, without_terminal: Failure, output: &mut Output) -> Result<bool> {
    if !io::stdin().is_terminal() {
        return Err(without_terminal);
    }
    output.note(&format!("{question} [y/N]"));
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
