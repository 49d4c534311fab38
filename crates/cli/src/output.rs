//! The only module that writes to the terminal.
//!
//! Untrusted text (stored memories, responses, file names) goes through [`visible`] here, so that
//! no command can forget it.

use std::io::{self, BufWriter, IsTerminal, StderrLock, Stdout, Write};

use clap::ValueEnum;
use console::measure_text_width;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use crate::failure::{Failure, Result};
use crate::visible::{Lines, visible, visible_json};

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The style of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// As it is.
    Plain,
    /// A heading.
    Bold,
    /// What matters less.
    Dim,
    /// What is as it should be.
    Good,
    /// What needs attention.
    Warn,
    /// What is wrong.
    Bad,
    /// A name.
    Name,
}

impl Look {
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Good => "32",
            Self::Warn => "33",
            Self::Bad => "1;31",
            Self::Name => "36",
        }
    }
}

/// Standard output, locked and buffered, and standard error.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "four facts about two streams, each asked by itself"
)]
pub struct Output {
    out: BufWriter<Stdout>,
    json: bool,
    is_terminal: bool,
    colors_out: bool,
    colors_err: bool,
    width: usize,
}

impl Output {
    /// The streams of this process, for JSON or for people.
    pub fn new(json: bool, color: Color) -> Self {
        let stdout = io::stdout();
        let is_terminal = stdout.is_terminal();
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        let auto = !set("NO_COLOR") && !dumb;
        let colored = |terminal: bool| match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => auto && terminal,
        };
        let width = console::Term::stdout()
            .size_checked()
            .map_or(100, |(_, columns)| usize::from(columns).max(40));
        Self {
            out: BufWriter::new(stdout),
            json,
            is_terminal,
            colors_out: colored(is_terminal),
            colors_err: colored(io::stderr().is_terminal()),
            width,
        }
    }

    /// Whether to print JSON.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// The width for layout, in columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// One JSON document: indented on a terminal, one line in a pipe.
    pub fn document(&mut self, value: &impl Serialize) -> Result<()> {
        let text = if self.is_terminal {
            serde_json::to_string_pretty(value)
        } else {
            serde_json::to_string(value)
        };
        let text = text.map_err(io::Error::from)?;
        Ok(writeln!(self.out, "{}", visible_json(&text))?)
    }

    /// One JSON document, if JSON was asked for. Returns whether it was.
    pub fn json(&mut self, value: &impl Serialize) -> Result<bool> {
        if self.json {
            self.document(value)?;
        }
        Ok(self.json)
    }

    /// One JSON document, or a line for people.
    pub fn answer(&mut self, value: &impl Serialize, line: &str) -> Result<()> {
        if self.json(value)? { Ok(()) } else { self.line(line) }
    }

    /// One JSON value on its own line.
    pub fn line_of_json(&mut self, value: &impl Serialize) -> Result<()> {
        let text = serde_json::to_string(value).map_err(io::Error::from)?;
        Ok(writeln!(self.out, "{}", visible_json(&text))?)
    }

    /// A line of text.
    pub fn line(&mut self, text: &str) -> Result<()> {
        self.styled(&[(Look::Plain, text)])
    }

    /// A line of styled pieces. Line breaks in them become spaces.
    pub fn styled(&mut self, pieces: &[(Look, &str)]) -> Result<()> {
        for (look, text) in pieces {
            let text = visible(text, Lines::Fold);
            write!(self.out, "{}", painted(self.colors_out, *look, &text))?;
        }
        Ok(writeln!(self.out)?)
    }

    /// A text of several lines.
    pub fn text(&mut self, text: &str) -> Result<()> {
        Ok(writeln!(self.out, "{}", visible(text, Lines::Keep).trim_end_matches('\n'))?)
    }

    /// Flushes the output, for commands that print incrementally.
    pub fn flush(&mut self) -> Result<()> {
        Ok(self.out.flush()?)
    }

    /// Raw bytes, for output that is a file's content, such as an export.
    pub fn raw(&mut self) -> &mut dyn Write {
        &mut self.out
    }

    /// A table with one line per row; the last column is truncated to the terminal's width.
    pub fn table(&mut self, heads: &[&str], rows: &[Vec<(Look, String)>]) -> Result<()> {
        let shown: Vec<Vec<(Look, String)>> = rows
            .iter()
            .map(|row| {
                row.iter()
                    .map(|(look, text)| (*look, visible(text, Lines::Fold).into_owned()))
                    .collect()
            })
            .collect();
        let mut widths: Vec<usize> = heads.iter().map(|head| measure_text_width(head)).collect();
        for row in &shown {
            for (width, (_, cell)) in widths.iter_mut().zip(row) {
                *width = (*width).max(measure_text_width(cell)).min(60);
            }
        }
        let heads: Vec<_> = heads.iter().map(|head| (Look::Dim, (*head).to_owned())).collect();
        for row in std::iter::once(&heads).chain(&shown) {
            self.row(row, &widths)?;
        }
        Ok(())
    }

    fn row(&mut self, row: &[(Look, String)], widths: &[usize]) -> Result<()> {
        let last = row.len().saturating_sub(1);
        let mut used = 0;
        for (idx, ((look, cell), width)) in row.iter().zip(widths).enumerate() {
            let room = if idx == last && self.is_terminal {
                self.width.saturating_sub(used).max(10)
            } else {
                *width
            };
            let room = if idx == last && !self.is_terminal { usize::MAX } else { room };
            let cell = cut(cell, room);
            let padding =
                if idx == last { 0 } else { width.saturating_sub(measure_text_width(&cell)) + 2 };
            used += width + 2;
            write!(self.out, "{}{}", painted(self.colors_out, *look, &cell), " ".repeat(padding))?;
        }
        Ok(writeln!(self.out)?)
    }

    /// A note on standard error, which is not part of the result.
    pub fn note(&mut self, text: &str) {
        if self.json {
            return self.json_on_stderr(&serde_json::json!({ "note": text }));
        }
        self.on_stderr(&[(Look::Dim, "note:"), (Look::Plain, text)]);
    }

    /// A warning on standard error.
    pub fn warn(&mut self, text: &str) {
        if self.json {
            return self.json_on_stderr(&serde_json::json!({ "warning": text }));
        }
        self.on_stderr(&[(Look::Warn, "warning:"), (Look::Plain, text)]);
    }

    /// Reports the failure and its remedy.
    pub fn fail(&mut self, failure: &Failure) {
        // A closed output needs no report; any other error of the output is reported with the
        // failure.
        let is_gone = self.finish().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
        if is_gone || failure.code() == crate::exit::DONE {
            return;
        }
        if self.json {
            return self.json_on_stderr(&failure.to_json());
        }
        self.on_stderr(&[(Look::Bad, "error:"), (Look::Plain, failure.message())]);
        for cause in failure.causes() {
            self.on_stderr(&[(Look::Dim, "  because:"), (Look::Plain, cause)]);
        }
        if let Some(hint) = failure.hint() {
            self.on_stderr(&[(Look::Name, "hint:"), (Look::Plain, hint)]);
        }
    }

    /// A JSON object on its own line: with `--json`, standard error has nothing else.
    #[expect(clippy::unused_self, reason = "whoever writes must hold the output")]
    fn json_on_stderr(&mut self, value: &serde_json::Value) {
        // Standard error is the last place for errors.
        drop(writeln!(io::stderr().lock(), "{}", visible_json(&value.to_string())));
    }

    fn on_stderr(&mut self, pieces: &[(Look, &str)]) {
        let colors = self.colors_err;
        let words: Vec<_> = pieces
            .iter()
            .map(|(look, text)| painted(colors, *look, &visible(text, Lines::Keep)))
            .collect();
        let mut stderr: StderrLock<'_> = io::stderr().lock();
        // Standard error is the last place for errors.
        drop(writeln!(stderr, "{}", words.join(" ")));
    }

    /// A progress bar on standard error, for terminals only.
    pub fn progress(&mut self, unit: Unit) -> ProgressBar {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        let template = match unit {
            Unit::Things => "{msg:12} {bar:30} {pos}/{len}",
            Unit::Bytes => "{msg:28} {bar:30} {bytes}/{total_bytes}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar
    }

    /// Flushes the buffers.
    pub fn finish(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The unit of a progress bar.
#[derive(Debug, Clone, Copy)]
pub enum Unit {
    /// A count.
    Things,
    /// A size.
    Bytes,
}

fn painted(colors: bool, look: Look, text: &str) -> String {
    if !colors || look == Look::Plain || text.is_empty() {
        return text.to_owned();
    }
    format!("\u{1b}[{}m{text}\u{1b}[0m", look.code())
}

/// The text, truncated to that many columns.
pub fn cut(text: &str, columns: usize) -> String {
    if measure_text_width(text) <= columns {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += measure_text_width(c.encode_utf8(&mut [0; 4]));
        if used > columns {
            break;
        }
        kept.push(c);
    }
    kept.push('…');
    kept
}
