//! What a file says: its title, date and standing, and the chunks that an answer may hold.
//!
//! [`read`] opens a file safely, an [`Extractor`] takes its bytes apart. Secrets are replaced
//! before anything else is done, so that nothing that leaves this module has any.
//!
//! ```no_run
//! # use waypost_context::{Discovery, Extractor, Root, Rules, read, walk};
//! # fn main() -> Result<(), waypost_context::Error> {
//! let root = Root::open("/home/me/project")?;
//! let rules = Rules::new(&Discovery::default())?;
//! let mut extractor = Extractor::new();
//! for found in walk(&root, &rules, &|| false)?.found {
//!     let Ok((bytes, _)) = read(&root, &found, rules.limits()) else { continue };
//!     let Ok(extract) = extractor.extract(&found, &bytes, 1_780_000_000) else { continue };
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
mod redact;
mod text;

pub use read::read;
pub(crate) use read::read_at_most;
pub use redact::redact;

use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crate::{Found, Kind, Language, Skip, Source};

/// What a file says.
#[derive(Debug, Clone, PartialEq)]
pub struct Extract {
    /// What it is: the kind of its path, unless its frontmatter names another.
    pub kind: Kind,
    /// A document's title (frontmatter, else its first heading, else the stem of its name); the
    /// path of code.
    pub title: String,
    /// The date it bears, in seconds since 1970: of its frontmatter, else of its name. `None` if it
    /// bears none, or one that lies more than a year ahead of now.
    pub date: Option<i64>,
    /// Whether it holds.
    pub standing: Standing,
    /// What it replaces, as written there: paths, titles, numbers of decisions.
    pub supersedes: Vec<String>,
    /// Other names of it, by its frontmatter.
    pub aliases: Vec<String>,
    /// Its tags, by its frontmatter.
    pub tags: Vec<String>,
    /// What it links to, as written there: targets of Markdown links to files and of `[[…]]`
    /// (without heading and alias), and `@file` lines of instructions. Each once, in order.
    pub links: Vec<String>,
    /// Whether it says of itself that a program wrote it.
    pub generated: bool,
    /// What answers are made of, in order of their lines. Never empty for a file that says
    /// anything.
    pub chunks: Vec<Chunk>,
    /// The whole text without secrets, for the index of files. Not to be stored or given out.
    pub body: String,
    /// Of each chunk of code, where its whole definition is in `body`: from its signature to its
    /// end. Empty for documents, and for what is no definition.
    pub spans: Vec<Range<u32>>,
    /// How many secrets were replaced, by what they are.
    pub redactions: BTreeMap<&'static str, u32>,
    /// How its definitions were found.
    pub parser: Parser,
}

impl Extract {
    /// What a file says that bears nothing but its parts: no date, no names beside its title.
    fn plain(kind: Kind, title: String, chunks: Vec<Chunk>, body: String, parser: Parser) -> Self {
        Self {
            kind,
            title,
            date: None,
            standing: Standing::Current,
            supersedes: Vec::new(),
            aliases: Vec::new(),
            tags: Vec::new(),
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// What it is.
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
    /// The text that is given out: a section, or a doc comment with attributes and signature.
    pub content: String,
    /// Where in `content` the signature is; empty for documents and whole files.
    pub signature: Range<u32>,
    /// The date of an entry of a journal or change log, in seconds since 1970.
    pub date: Option<i64>,
}

impl Chunk {
    /// The text that stands for it in a vector: its title, then the signature and the first
    /// paragraph of its docs, or the section.
    pub fn embedded(&self) -> String {
        let (start, end) = (self.signature.start as usize, self.signature.end as usize);
        let signature = self.content.get(start..end).unwrap_or_default();
        if signature.is_empty() || self.kind.source() != Source::Code {
            return format!("{}\n{}", self.title, self.content);
        }
        let mut docs = [&self.content[..start], &self.content[end..]];
        docs.sort_by_key(|it| it.trim().is_empty());
        let docs = docs[0].trim();
        // A line of nothing but the sign of comments ends the paragraph.
        let empty = |line: &&str| line.trim().trim_matches(['/', '*', '#', '!']).is_empty();
        let paragraph: Vec<&str> =
            docs.lines().skip_while(empty).take_while(|line| !empty(line)).collect();
        format!("{}\n{signature}\n{}", self.title, paragraph.join("\n"))
    }
}

/// Whether a document holds.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Standing {
    /// It holds, or says nothing of it.
    #[default]
    Current,
    /// It says that it is accepted.
    Accepted,
    /// A draft or a proposal.
    Draft,
    /// Replaced, by what is named, if anything is.
    Superseded(Option<String>),
    /// No longer to be followed.
    Deprecated,
    /// Decided against.
    Rejected,
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

/// Takes files apart. It keeps parsers and buffers from file to file: one for each thread.
#[derive(Debug)]
pub struct Extractor {
    code: code::Reader,
}

impl Extractor {
    /// One that gives a file 250 ms to be parsed. Ordinary files take one or two.
    pub fn new() -> Self {
        Self::with_deadline(Duration::from_millis(250))
    }

    /// One that gives a file this long to be parsed, then goes by its lines.
    pub fn with_deadline(deadline: Duration) -> Self {
        Self { code: code::Reader::new(deadline) }
    }

    /// What a file says. The same for the same bytes, but for what follows from
    /// [`Extract::parser`] where the deadline passes. `now` is in seconds since 1970.
    ///
    /// # Errors
    ///
    /// [`Skip::Binary`], [`Skip::Encoding`] or [`Skip::Generated`] by what is in it,
    /// [`Skip::Parser`] if taking it apart failed.
    pub fn extract(&mut self, found: &Found, bytes: &[u8], now: i64) -> Result<Extract, Skip> {
        let decoded = text::decode(bytes)?;
        text::refuse_data(&decoded, found.class.language.is_some())?;
        // One odd file must not end a scan. Nothing is half done: parsers begin anew for each file.
        let done = catch_unwind(AssertUnwindSafe(|| self.take_apart(found, &decoded, now)));
        done.map_err(|_| Skip::Parser)
    }

    fn take_apart(&mut self, found: &Found, decoded: &str, now: i64) -> Extract {
        let settings = |it| matches!(it, Language::Toml | Language::Yaml | Language::Docker);
        let is_code = found.class.language.is_some_and(|it| !settings(it));
        let (clean, redactions) = redact(decoded, is_code);
        let generated = text::is_generated(&clean);
        let extract = match found.class.language {
            Some(language) => self.code.extract(&found.path, language, clean),
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
