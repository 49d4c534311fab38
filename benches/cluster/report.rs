//! The table that is printed, and notes below it.

use std::io::Write as _;

use anyhow::Result;

/// What is printed: rows at once, notes at the end.
#[derive(Debug)]
pub(crate) struct Report(Vec<String>);

impl Report {
    /// Prints the head of the table.
    pub(crate) fn begin(title: &str) -> Result<Self> {
        print(title)?;
        print(
            "\n| measurement | target | Waypost | compared with | ratio | |\n|---|---|---|---|---|---|",
        )?;
        Ok(Self(Vec::new()))
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
        print(&format!("| {what} | {target} | {ours} | {other} | {ratio} | {verdict} |"))
    }

    /// Keeps a note for the end.
    pub(crate) fn note(&mut self, note: String) {
        self.0.push(note);
    }

    /// Prints the notes.
    pub(crate) fn finish(self) -> Result<()> {
        print("")?;
        self.0.iter().try_for_each(|it| print(it))
    }
}

fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}
