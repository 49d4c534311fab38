//! The table that is printed, and notes below it.

use std::io::{Stdout, Write as _};

use anyhow::Result;

/// What is printed: rows at once, notes at the end.
#[derive(Debug)]
pub(crate) struct Report {
    out: Stdout,
    notes: Vec<String>,
}

impl Report {
    /// Prints the head of the table.
    pub(crate) fn begin(title: &str) -> Result<Self> {
        let mut report = Self { out: std::io::stdout(), notes: Vec::new() };
        report.print(title)?;
        report.print(
            "\n| measurement | target | Waypost | compared with | ratio | |\n|---|---|---|---|---|---|",
        )?;
        Ok(report)
    }

    /// Prints a row. Without a verdict, it has no target.
    pub(crate) fn row(
        &mut self,
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
        self.print(&format!("| {what} | {target} | {ours} | {other} | {ratio} | {verdict} |"))
    }

    /// Keeps a note for the end.
    pub(crate) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Prints the notes.
    pub(crate) fn finish(mut self) -> Result<()> {
        let notes = std::mem::take(&mut self.notes);
        self.print("")?;
        notes.iter().try_for_each(|note| self.print(note))
    }

    fn print(&mut self, text: &str) -> Result<()> {
        writeln!(self.out, "{text}")?;
        Ok(self.out.flush()?)
    }
}
