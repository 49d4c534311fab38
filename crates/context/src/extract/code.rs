//! Code: what a file is about, and the header of each definition in it.
//!
//! Definitions come from the syntax tree where a grammar is linked and parsing ends in time
//! ([`tree`]), else from line patterns ([`lines`]). Both return [`Item`]s, which become chunks
//! here.

mod cfg;
mod comments;
mod grammars;
mod headers;
mod lines;
mod tree;

pub(super) use self::tree::Trees;

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use super::text::clip;
use super::{Chunk, Extract, Parser};
use crate::{Kind, Language};

/// The most definitions of a file.
const ITEMS_MAX: usize = 2_000;

/// The most names in the chunk of a whole file.
const NAMES_MAX: usize = 40;

/// The longest doc comment that is stored.
const DOC_BYTES_MAX: usize = 2_000;

/// The longest signature.
const SIGNATURE_BYTES_MAX: usize = 600;

/// A definition: the positions of its parts in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Item {
    kind: Kind,
    /// `Scope.name`.
    name: String,
    /// Comments and attributes before it.
    lead: Range<usize>,
    signature: Range<usize>,
    /// The part omitted from the signature: a body in the middle of it.
    hole: Option<Range<usize>>,
    /// A doc comment after the signature.
    doc: Option<Range<usize>>,
    /// The end of the definition.
    end: usize,
    is_top_level: bool,
}

/// Extracts a code file. `text` has no secrets.
pub(super) fn extract(
    trees: &mut Trees,
    path: &str,
    language: Language,
    text: Cow<'_, str>,
) -> Extract {
    let (items, parser) = match trees.items(language, &text) {
        Some(items) => (items, Parser::Tree),
        None => (lines::items(language, &text), Parser::Lines),
    };
    let mut starts = Lines::new(&text);
    let module = module(path, language, &text, &items);
    let mut chunks: Vec<Chunk> = module.into_iter().collect();
    let mut spans = vec![0..0; chunks.len()];
    chunks.extend(items.iter().map(|item| chunk(path, &text, item, &mut starts)));
    spans.extend(items.iter().map(|item| item.signature.start as u32..item.end as u32));
    let extract = Extract::plain(Kind::Module, path.to_owned(), chunks, text.into_owned(), parser);
    Extract { spans, ..extract }
}

/// The chunk of a whole file: the text of its first comment, and its top-level names.
fn module(path: &str, language: Language, text: &str, items: &[Item]) -> Option<Chunk> {
    // The comment of the first definition describes that one.
    let first = items.first().filter(|item| !item.lead.is_empty());
    let about =
        comments::leading(&text[..first.map_or(text.len(), |first| first.lead.start)], language);
    let mut seen = HashSet::new();
    let names: Vec<&str> = items
        .iter()
        .filter(|item| item.is_top_level && seen.insert(item.name.as_str()))
        .map(|item| item.name.as_str())
        .take(NAMES_MAX)
        .collect();
    if about.is_empty() && names.is_empty() && text.trim().is_empty() {
        return None;
    }
    let mut content = clip(&about, DOC_BYTES_MAX).into_owned();
    if !names.is_empty() {
        if !content.is_empty() {
            content.push_str("\n\n");
        }
        content.push_str("defines ");
        content.push_str(&names.join(", "));
    }
    Some(Chunk {
        kind: Kind::Module,
        title: path.to_owned(),
        name: path.to_owned(),
        line: 1,
        end_line: text.lines().count().max(1) as u32,
        content,
        signature: 0..0,
        date: None,
    })
}

fn chunk(path: &str, text: &str, item: &Item, lines: &mut Lines<'_>) -> Chunk {
    let indent = indent_of(text, item.lead.start.min(item.signature.start));
    let lead = dedent(text[item.lead.clone()].trim(), indent);
    let mut content = clip(&lead, DOC_BYTES_MAX).into_owned();
    if !content.is_empty() {
        content.push('\n');
    }
    let start = content.len() as u32;
    let signature = match &item.hole {
        Some(hole) => {
            let (before, after) = (item.signature.start..hole.start, hole.end..item.signature.end);
            Cow::Owned(format!("{}{{…}}{}", &text[before], &text[after]))
        }
        None => Cow::Borrowed(&text[item.signature.clone()]),
    };
    // In C, a macro continues on the next line after a backslash.
    let signature = dedent(signature.trim().trim_end_matches('\\').trim_end(), indent);
    content.push_str(&clip(&signature, SIGNATURE_BYTES_MAX));
    let end = content.len() as u32;
    if let Some(doc) = &item.doc {
        content.push('\n');
        let inside = dedent(&text[doc.clone()], indent_of(text, doc.start));
        content.push_str(&clip(&inside, DOC_BYTES_MAX));
    }
    let first = if item.lead.is_empty() { item.signature.start } else { item.lead.start };
    Chunk {
        kind: item.kind,
        title: format!("{path}::{}", item.name),
        name: item.name.clone(),
        line: lines.of(first),
        end_line: lines.of(item.end.max(first + 1) - 1),
        content,
        signature: start..end,
        date: None,
    }
}

/// The indentation of the line at a position.
fn indent_of(text: &str, at: usize) -> usize {
    let start = text[..at].rfind('\n').map_or(0, |at| at + 1);
    text[start..at].bytes().take_while(|byte| *byte == b' ' || *byte == b'\t').count()
}

/// A text with this much indentation removed from every line but the first.
fn dedent(text: &str, indent: usize) -> Cow<'_, str> {
    if indent == 0 || !text.contains('\n') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for (at, line) in text.split('\n').enumerate() {
        if at > 0 {
            out.push('\n');
        }
        let blank =
            line.bytes().take(indent).take_while(|byte| *byte == b' ' || *byte == b'\t').count();
        out.push_str(if at > 0 { &line[blank..] } else { line });
    }
    Cow::Owned(out)
}

/// Line numbers, looked up in nearly increasing order.
struct Lines<'a> {
    text: &'a [u8],
    at: usize,
    line: u32,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        Self { text: text.as_bytes(), at: 0, line: 1 }
    }

    /// The line at a position, from 1.
    fn of(&mut self, at: usize) -> u32 {
        let at = at.min(self.text.len());
        if at >= self.at {
            self.line += memchr::memchr_iter(b'\n', &self.text[self.at..at]).count() as u32;
        } else {
            self.line -= memchr::memchr_iter(b'\n', &self.text[at..self.at]).count() as u32;
        }
        self.at = at;
        self.line
    }
}
