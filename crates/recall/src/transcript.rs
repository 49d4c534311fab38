//! Prompts and answers from the files in which harnesses write a session, from a position on.
//!
//! A file has one JSON object per line. Lines that are not understood are skipped: the formats are
//! not ours, and change. A line without its end is left for the next time.

mod claude;
mod codex;
mod cursor;
mod texts;

use std::io::{self, BufRead, Read, Seek, SeekFrom};

use waypost_time::Timestamp;

use crate::clean::start;
use crate::limits::{LINE_BYTES_MAX, TURN_BYTES_MAX};

/// A program that runs sessions of an agent, by the format of its transcripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Harness {
    /// Claude Code: `projects/*/SESSION.jsonl`.
    Claude,
    /// Codex: `sessions/YYYY/MM/DD/rollout-*.jsonl`.
    Codex,
    /// Cursor: `agent-transcripts/SESSION/SESSION.jsonl`.
    Cursor,
}

impl Harness {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Claude, Self::Codex, Self::Cursor];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Cursor => "cursor",
        }
    }
}

/// Who said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
}

/// A prompt or an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Who said it.
    pub role: Role,
    /// What was said, as the transcript has it but without NUL characters: it may contain secrets
    /// and injected text. At most about [`TURN_BYTES_MAX`] bytes more than that are cut off.
    pub text: String,
    /// When it was said, if the transcript says so.
    pub at: Option<Timestamp>,
}

/// Turns that were read at once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Batch {
    /// The turns, in order.
    pub turns: Vec<Turn>,
    /// The position from which they were read, in bytes.
    pub from: u64,
    /// The position up to which they were read: the end of a line.
    pub to: u64,
    /// Whether the file was read from its beginning because it no longer has what was read before:
    /// its turns may have been recorded.
    pub is_restart: bool,
    /// Whether the file has more complete lines.
    pub has_more: bool,
    /// Lines that are no record of the format, or too long.
    pub skipped: u64,
}

/// Reads a transcript from a position on, in batches, with bounded memory.
///
/// ```
/// use std::io::Cursor;
/// use waypost_recall::{Harness, Role, Transcript};
///
/// let file = br#"{"role":"user","message":{"content":[{"type":"text","text":"Why port 4747?"}]}}
/// "#;
/// let mut transcript = Transcript::open(Harness::Cursor, Cursor::new(file), 0)?;
/// let batch = transcript.next_batch(100)?;
/// assert_eq!((batch.turns[0].role, &*batch.turns[0].text), (Role::User, "Why port 4747?"));
/// assert_eq!(batch.to, file.len() as u64);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Transcript<R> {
    harness: Harness,
    input: io::BufReader<R>,
    at: u64,
    is_restart: bool,
    line: Vec<u8>,
    last: Option<Turn>,
}

/// What one line has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    /// Something that was said.
    Said(Turn),
    /// A record of something else.
    Other,
    /// No record of the format.
    Unknown,
}

impl Line {
    /// A turn, unless it is empty or begins with something that the user did not type.
    fn said(role: Role, text: &str, timestamp: Option<String>, not_typed: &[&str]) -> Self {
        let text = text.trim();
        let is_typed =
            role == Role::Assistant || !not_typed.iter().any(|typed| text.starts_with(typed));
        if text.is_empty() || !is_typed {
            return Self::Other;
        }
        let at = timestamp.and_then(|timestamp| timestamp.parse().ok());
        Self::Said(Turn { role, text: text.to_owned(), at })
    }
}

/// Bytes of turns in a batch: a request has at most 8 MiB.
const BATCH_BYTES_MAX: usize = 1 << 20;

impl<R: Read + Seek> Transcript<R> {
    /// Goes to that position; to the beginning if the file is shorter, or if no line ends there.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn open(harness: Harness, mut file: R, from: u64) -> io::Result<Self> {
        let is_restart = from > 0 && !ends_a_line(&mut file, from)?;
        let at = if is_restart { 0 } else { from };
        file.seek(SeekFrom::Start(at))?;
        let input = io::BufReader::with_capacity(256 << 10, file);
        Ok(Self { harness, input, at, is_restart, line: Vec::new(), last: None })
    }

    /// The next turns, at most that many. Without more, `has_more` is false.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn next_batch(&mut self, turns_max: usize) -> io::Result<Batch> {
        let mut batch = Batch {
            from: self.at,
            to: self.at,
            is_restart: std::mem::take(&mut self.is_restart),
            ..Batch::default()
        };
        let mut bytes = 0;
        while batch.turns.len() < turns_max && bytes < BATCH_BYTES_MAX {
            let Some(whole) = self.next_line()? else { return Ok(batch) };
            batch.to = self.at;
            let line = if whole { self.parse() } else { Line::Unknown };
            match line {
                Line::Said(turn) if self.last.as_ref() != Some(&turn) => {
                    bytes += turn.text.len();
                    self.last = Some(turn.clone());
                    batch.turns.push(turn);
                }
                Line::Unknown => batch.skipped += 1,
                Line::Said(_) | Line::Other => {}
            }
        }
        batch.has_more = true;
        Ok(batch)
    }

    fn parse(&self) -> Line {
        let line = match self.harness {
            Harness::Claude => claude::line(&self.line),
            Harness::Codex => codex::line(&self.line),
            Harness::Cursor => cursor::line(&self.line),
        };
        match line {
            Line::Said(mut turn) => {
                // The service takes no NUL characters.
                turn.text.retain(|text| text != '\0');
                if turn.text.trim().is_empty() {
                    return Line::Other;
                }
                // Twice the limit: what is recorded is cut after injected text is removed.
                turn.text.truncate(start(&turn.text, 2 * TURN_BYTES_MAX).len());
                Line::Said(turn)
            }
            other => other,
        }
    }

    /// Reads the next line, without its end. `None` if there is no complete one, `Some(false)` if it
    /// is longer than the limit.
    fn next_line(&mut self) -> io::Result<Option<bool>> {
        self.line.clear();
        let (mut length, mut fits) = (0, true);
        loop {
            let buffer = match self.input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            if buffer.is_empty() {
                return Ok(None);
            }
            let end = memchr::memchr(b'\n', buffer);
            let part = &buffer[..end.unwrap_or(buffer.len())];
            fits &= self.line.len() + part.len() <= LINE_BYTES_MAX;
            if fits {
                self.line.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            length += used as u64;
            self.input.consume(used);
            if end.is_some() {
                self.at += length;
                return Ok(Some(fits));
            }
        }
    }
}

/// Whether the file has a line that ends at that position.
fn ends_a_line(file: &mut (impl Read + Seek), position: u64) -> io::Result<bool> {
    file.seek(SeekFrom::Start(position - 1))?;
    let mut last = [0];
    match file.read_exact(&mut last) {
        Ok(()) => Ok(last == *b"\n"),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}
