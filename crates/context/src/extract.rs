//! Extraction of a file: its title, date and standing, and the chunks that an answer may contain.
//!
//! [`read`] opens a file safely, an [`Extractor`] parses its bytes. Secrets are replaced before
//! anything else, so nothing that leaves this module contains any.
//!
//! ```no_run
//! # use waypost_context::{Discovery, Extractor, Root, Rules, Timestamp, read, walk};
//! # fn main() -> Result<(), waypost_context::Error> {
//! let root = Root::open("/home/me/project")?;
//! let rules = Rules::new(&Discovery::default())?;
//! let mut extractor = Extractor::new();
//! for found in walk(&root, &rules, &|| false)?.found {
//!     let Ok((bytes, _)) = read(&root, &found, rules.limits()) else { continue };
//!     let now = Timestamp::from_millis(1_780_000_000_000);
//!     let Ok(extract) = extractor.extract(&found, &bytes, now) else { continue };
//!     for chunk in extract.chunks {
//!         println!("{}:{} {}", found.path, chunk.line, chunk.title);
//!     }
//! }
//! # Ok(())
//! # }
//! ```

mod code;
mod date;
mod document;
mod frontmatter;
mod read;
mod text;

pub use read::read;
pub(crate) use read::read_at_most;

use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use waypost_redact::redact;
use waypost_time::{Timestamp, millis};

use crate::{Found, Kind, Language, Skip, Source};

/// The content of a file, extracted.
#[derive(Debug, Clone, PartialEq)]
pub struct Extract {
    /// Its kind: the kind of its path, unless its frontmatter names another.
    pub kind: Kind,
    /// A document's title (frontmatter, else its first heading, else its file stem); the path of
    /// code.
    pub title: String,
    /// Its date: from its frontmatter, else from its name. `None` if it has
    /// no date, or one more than a year in the future.
    pub date: Option<Timestamp>,
    /// Whether it is in force.
    pub standing: Standing,
    /// What it replaces, as written: paths, titles, decision numbers.
    pub supersedes: Vec<String>,
    /// Its aliases, from its frontmatter.
    pub aliases: Vec<String>,
    /// What it links to, as written: targets of Markdown links to files and of `[[…]]` (without
    /// heading and alias), and `@file` lines of instructions. Each once, in order.
    pub links: Vec<String>,
    /// Whether it states that it is generated.
    pub generated: bool,
    /// What answers are made of, in line order. Never empty for a file with content.
    pub chunks: Vec<Chunk>,
    /// The whole text without secrets, for the index of files. Not to be stored or returned.
    pub body: String,
    /// For each chunk of code, the range of its whole definition in `body`: from its signature to
    /// its end. Empty for documents, and for chunks that are not definitions.
    pub spans: Vec<Range<u32>>,
    /// The number of secrets replaced, by type.
    pub redactions: BTreeMap<&'static str, u32>,
    /// How its definitions were found.
    pub parser: Parser,
}

impl Extract {
    /// The extract of a file that has only its chunks: no date, and no names besides its title.
    fn plain(kind: Kind, title: String, chunks: Vec<Chunk>, body: String, parser: Parser) -> Self {
        Self {
            kind,
            title,
            date: None,
            standing: Standing::Current,
            supersedes: Vec::new(),
            aliases: Vec::new(),
            links: Vec::new(),
            generated: false,
            chunks,
            body,
            spans: Vec::new(),
            redactions: BTreeMap::new(),
            parser,
        }
    }
}

/// A part of a file that can be an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// Its kind.
    pub kind: Kind,
    /// `Document > Section > Subsection`, or `path::Scope.name`.
    pub title: String,
    /// `Scope.name` of a definition, the last heading of a section; the path of a whole file of
    /// code, the title of a whole document.
    pub name: String,
    /// Its first line, from 1.
    pub line: u32,
    /// Its last line.
    pub end_line: u32,
    /// The text that is returned: a section, or a doc comment with attributes and signature.
    pub content: String,
    /// The range of the signature in `content`; empty for documents and whole files.
    pub signature: Range<u32>,
    /// The date of an entry of a journal or change log.
    #[serde(with = "millis::optional")]
    pub date: Option<Timestamp>,
}

impl Chunk {
    /// The part of its title that is not its path.
    pub(crate) fn own_title(&self) -> &str {
        if self.kind.source() == Source::Code { &self.name } else { &self.title }
    }

    /// The text that is embedded: the title without the path, so that a moved file keeps its
    /// vectors, then the signature and the first paragraph of its docs, or the section.
    pub fn embedded(&self) -> String {
        let (start, end) = (self.signature.start as usize, self.signature.end as usize);
        let signature = self.content.get(start..end).unwrap_or_default();
        if signature.is_empty() || self.kind.source() != Source::Code {
            return format!("{}\n{}", self.own_title(), self.content);
        }
        let mut docs = [&self.content[..start], &self.content[end..]];
        docs.sort_by_key(|doc| doc.trim().is_empty());
        let docs = docs[0].trim();
        // A line of only comment marks ends the paragraph.
        let empty = |line: &&str| line.trim().trim_matches(['/', '*', '#', '!']).is_empty();
        let paragraph: Vec<&str> =
            docs.lines().skip_while(empty).take_while(|line| !empty(line)).collect();
        format!("{}\n{signature}\n{}", self.own_title(), paragraph.join("\n"))
    }
}

/// Whether a document is in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Standing {
    /// In force, or not stated.
    #[default]
    Current,
    /// Stated to be accepted.
    Accepted,
    /// A draft or a proposal.
    Draft,
    /// Replaced, deprecated or rejected.
    Past,
}

/// How the definitions of a code file were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Parser {
    /// It is a document.
    None,
    /// By its syntax tree.
    Tree,
    /// Line by line: there is no grammar for its language, or parsing took too long.
    Lines,
}

/// Parses files. It reuses parsers and buffers between files: use one for each thread.
#[derive(Debug)]
pub struct Extractor {
    trees: code::Trees,
}

impl Extractor {
    /// An extractor with a parsing deadline of 250 ms for each file. Ordinary files take 1–2 ms.
    pub fn new() -> Self {
        Self::with_deadline(Duration::from_millis(250))
    }

    /// An extractor with this parsing deadline for each file; after it, a file is parsed by lines.
    pub fn with_deadline(deadline: Duration) -> Self {
        Self { trees: code::Trees::new(deadline) }
    }

    /// Extracts a file. The same bytes give the same result, except for what depends on
    /// [`Extract::parser`] when the deadline passes.
    ///
    /// # Errors
    ///
    /// [`Skip::Binary`], [`Skip::Encoding`] or [`Skip::Generated`], depending on its content, and
    /// [`Skip::Parser`] if parsing failed.
    pub fn extract(
        &mut self,
        found: &Found,
        bytes: &[u8],
        now: Timestamp,
    ) -> Result<Extract, Skip> {
        let decoded = text::decode(bytes)?;
        text::refuse_data(&decoded, found.class.language.is_some())?;
        // One odd file must not end a scan. No state is left half changed: parsers are reset for
        // each file.
        let done = catch_unwind(AssertUnwindSafe(|| self.take_apart(found, &decoded, now)));
        done.map_err(|_| Skip::Parser)
    }

    fn take_apart(&mut self, found: &Found, decoded: &str, now: Timestamp) -> Extract {
        let settings = |it| matches!(it, Language::Toml | Language::Yaml | Language::Docker);
        let is_code = found.class.language.is_some_and(|language| !settings(language));
        let (clean, redactions) = redact(decoded, is_code);
        let generated = text::is_generated(&clean);
        let extract = match found.class.language {
            Some(language) => code::extract(&mut self.trees, &found.path, language, clean),
            None => document::extract(found, clean, now),
        };
        Extract { generated, redactions, ..extract }
    }
}

impl Default for Extractor {
    fn default() -> Self {
        Self::new()
    }
}
