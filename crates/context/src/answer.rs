//! What is answered.

use std::fmt;

use crate::{Kind, Source};

/// Items, best first, and how much they can be relied on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// The items. No two are of one text; every one's file was there, unchanged, when it was read
    /// for this answer.
    pub items: Vec<Item>,
    /// When the index last agreed with the whole folder, in seconds since 1970.
    pub indexed_at: Option<i64>,
    /// Files that are known to wait for indexing.
    pub pending: u64,
    /// Whether items, or parts of them, were left out because they did not fit `max_tokens`.
    pub truncated: bool,
    /// Files that are left out of the index; the status says why.
    pub skipped: u64,
}

/// A piece of the project.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Where it comes from.
    pub source: Source,
    /// What it is; `type` on the wire.
    pub kind: Kind,
    /// A document's title and headings (`Doc > Section`), or `path::Scope.name`.
    pub title: String,
    /// The text: a section, an entry, or documentation and signature.
    pub content: String,
    /// The file, relative to the project, with `/`. For a commit the first file that it changed and
    /// that is still there, or `.`.
    pub path: String,
    /// The first line, from 1.
    pub line: u32,
    /// The last line; for a definition its end, not its header's.
    pub end_line: u32,
    /// How well it fits, 0 to 1, within this answer.
    pub score: f32,
    /// What its text says of its date, or when it was last changed, in seconds since 1970.
    pub updated_at: Option<i64>,
    /// What title and content take, a token being four bytes.
    pub tokens: u32,
    /// Whether the content was cut to fit.
    pub truncated: bool,
    /// What spoke for it, the strongest first.
    pub why: Vec<Reason>,
}

/// What speaks for an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// The query names it, or its file.
    Named,
    /// The file has words of the query.
    Words,
    /// Its headings or signature have words of the query.
    Header,
    /// Its path has words of the query.
    Path,
    /// Changes of its file were described with words of the query.
    Commits,
    /// Its file changes often, or did lately.
    Active,
    /// It means something alike.
    Meaning,
    /// It says how to work in this project.
    Instructions,
    /// It is not committed yet.
    Uncommitted,
    /// It is new.
    Recent,
    /// Others refer to it, or it is where a project is explained.
    Central,
}

impl Reason {
    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Named => "named",
            Self::Words => "words",
            Self::Header => "header",
            Self::Path => "path",
            Self::Commits => "commits",
            Self::Active => "active",
            Self::Meaning => "meaning",
            Self::Instructions => "instructions",
            Self::Uncommitted => "uncommitted",
            Self::Recent => "recent",
            Self::Central => "central",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
