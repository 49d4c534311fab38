//! The answer to a query.

use waypost_time::Timestamp;

use crate::{Kind, Source};

/// Items, best first, and how reliable they are.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// The items. No two have the same text. The file of each was present and unchanged when it was
    /// read for this answer.
    pub items: Vec<Item>,
    /// When the index last matched the whole folder.
    pub indexed_at: Option<Timestamp>,
    /// Files known to be waiting for indexing.
    pub pending: u64,
    /// Whether items, or parts of them, were omitted because they did not fit in `max_tokens`.
    pub truncated: bool,
    /// Files left out of the index; the status gives the reasons.
    pub skipped: u64,
}

/// A piece of the project.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Where it comes from.
    pub source: Source,
    /// Its kind; `type` on the wire.
    pub kind: Kind,
    /// A document's title and headings (`Doc > Section`), or `path::Scope.name`.
    pub title: String,
    /// The text: a section, an entry, or documentation and signature.
    pub content: String,
    /// The file, relative to the project, with `/`. For a commit, the first file that it changed
    /// and that still exists, or `.`.
    pub path: String,
    /// The first line, from 1.
    pub line: u32,
    /// The last line; for a definition, the end of the definition, not of its header.
    pub end_line: u32,
    /// How well it matches, 0 to 1, within this answer.
    pub score: f32,
    /// The date that its text states, or when it was last changed.
    pub updated_at: Option<Timestamp>,
    /// Tokens in title and content together, at four bytes a token.
    pub tokens: u32,
    /// Whether the content was cut to fit.
    pub truncated: bool,
    /// Why it was selected, strongest reason first.
    pub why: Vec<Reason>,
}

/// Why an item was selected.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, strum::Display, strum::IntoStaticStr,
)]
#[strum(serialize_all = "lowercase")]
pub enum Reason {
    /// The query names it, or its file.
    Named,
    /// The file contains words of the query.
    Words,
    /// Its headings or signature contain words of the query.
    Header,
    /// Its path contains words of the query.
    Path,
    /// Commit subjects of its file contain words of the query.
    Commits,
    /// Its file changes often, or changed recently.
    Active,
    /// Its meaning is similar to the query's.
    Meaning,
    /// It says how to work in this project.
    Instructions,
    /// It is not committed.
    Uncommitted,
    /// It is new.
    Recent,
    /// Other files refer to it, or it explains the project.
    Central,
}

impl Reason {
    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
