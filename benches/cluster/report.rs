//! The table that is printed.

use std::io::Write as _;

use anyhow::Result;

/// Prints the head of the table.
pub(crate) fn head() -> Result<()> {
    line("| measurement | target | Waypost | compared with | ratio | |")?;
    line("|---|---|---|---|---|---|")
}

/// Prints a row. Without a verdict, it has no target.
pub(crate) fn row(
    what: &str,
    target: &str,
    [ours, other, ratio]: [&str; 3],
    is_met: Option<bool>,
) -> Result<()> {
    let verdict = match is_met {
        None => "",
        Some(true) => "met",
        Some(false) => "**missed**",
    };
    line(&format!("| {what} | {target} | {ours} | {other} | {ratio} | {verdict} |"))
}

/// Prints a line that is not of the table.
pub(crate) fn line(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}
