//! Turns an extract into what the index stores.

use std::cmp::Reverse;
use std::ops::Range;

use waypost_ranking::{Analyzer, Document};
use waypost_time::Timestamp;

use crate::history::History;
use crate::index::{ChunkFact, FileFact, Prepared, link_key, name_key, own_keys, replaced_keys};
use crate::text::hash;
use crate::texts::{Hash, TextAt};
use crate::{Chunk, Extract, Found, Kind, Parser, Prior, Source};

/// Analyses an extract. `hash` is of the file's bytes, `found.stat` the state of the file when they
/// were read.
pub(crate) fn prepare(
    analyzer: &Analyzer,
    found: Found,
    hash: Hash,
    extract: Extract,
    history: Option<&History>,
    now: Timestamp,
) -> Prepared {
    let links = extract.links.iter().filter_map(|link| link_key(&found.path, link)).collect();
    let replaces = extract.supersedes.iter().flat_map(|name| replaced_keys(&found.path, name));
    let replaces = replaces.collect();
    let redactions = extract.redactions.iter().map(|(kind, count)| ((*kind).into(), *count));
    let redactions = redactions.collect();
    let mut file = FileFact {
        stat: found.stat,
        seen_at: now,
        hash,
        kind: extract.kind,
        prior: Prior {
            generated: found.class.prior.generated || extract.generated,
            ..found.class.prior
        },
        by_lines: extract.parser == Parser::Lines,
        standing: extract.standing,
        date: extract.date,
        changed_at: None,
        frecency: 0.0,
        keys: own_keys(&found.path, &extract),
        links,
        replaces,
        redactions,
        chunks: Vec::new(),
        path: found.path.into(),
    };
    if let Some(history) = history {
        remember(&mut file, history);
    }
    let chunk_words: Vec<Document> = extract
        .chunks
        .iter()
        .map(|chunk| analyzer.document(chunk.own_title(), &chunk.content))
        .collect();
    let chunks = extract.chunks.iter().map(chunk_fact).collect();
    let (body, inside) = inside(analyzer, &words_of(extract.body, extract.parser), &extract.spans);
    let path = analyzer.document("", &file.path.replace(['/', '-'], " "));
    Prepared { file, chunks, body, path, chunk_words, inside, texts: extract.chunks }
}

/// The words of a file, and the words that belong to each definition alone: words of a nested
/// definition count only for that one. So every word is analysed once.
fn inside(analyzer: &Analyzer, text: &str, spans: &[Range<u32>]) -> (Document, Vec<Document>) {
    let mut texts = vec![String::new(); spans.len()];
    let mut rest = String::new();
    // By start, outer spans first.
    let mut order: Vec<usize> =
        (0..spans.len()).filter(|&number| !spans[number].is_empty()).collect();
    order.sort_by_key(|&order| (spans[order].start, Reverse(spans[order].end)));
    let mut open: Vec<usize> = Vec::new();
    let mut at = 0;
    let mut take = |open: &[usize], at: &mut usize, to: u32| {
        let to = to as usize;
        if let Some(piece) = text.get(*at..to) {
            let own = open.last().map_or(&mut rest, |&open| &mut texts[open]);
            own.push_str(piece);
            own.push('\n');
        }
        *at = to.max(*at);
    };
    for next in order {
        while let Some(&last) = open.last().filter(|&&it| spans[it].end <= spans[next].start) {
            take(&open, &mut at, spans[last].end);
            open.pop();
        }
        take(&open, &mut at, spans[next].start);
        open.push(next);
    }
    while let Some(&last) = open.last() {
        take(&open, &mut at, spans[last].end);
        open.pop();
    }
    take(&open, &mut at, text.len() as u32);
    let inside: Vec<Document> = texts.iter().map(|text| analyzer.document("", text)).collect();
    let rest = analyzer.document("", &rest);
    (Document::union(inside.iter().chain([&rest])), inside)
}

/// Adds a file's history to its facts.
pub(crate) fn remember(file: &mut FileFact, history: &History) {
    (file.frecency, file.changed_at) =
        (history.frecency(&file.path), history.last_change(&file.path));
}

/// The key of the last part of a chunk's name.
pub(crate) fn last_name(name: &str) -> u64 {
    name_key(name.rsplit(['.', ':']).next().unwrap_or_default())
}

fn chunk_fact(chunk: &Chunk) -> ChunkFact {
    ChunkFact {
        file: 0,
        text: TextAt::default(),
        kind: chunk.kind,
        line: chunk.line,
        name: last_name(&chunk.name),
        meaning: hash(chunk.embedded().as_bytes()),
        date: chunk.date,
        is_bare: is_bare(chunk),
    }
}

/// Whether a piece of a document says nothing by itself: a heading without a text, or the part of a
/// change log that has neither a version nor a list, such as a reference to where it has moved.
fn is_bare(chunk: &Chunk) -> bool {
    let is_mark = |c: char| c.is_whitespace() || c.is_ascii_punctuation();
    let is_text = |text: &&str| {
        let plain = text.trim_matches(is_mark);
        !plain.is_empty() && plain != chunk.name && !text.starts_with(['#', '='])
    };
    let mut lines = chunk.content.lines().filter(is_text).peekable();
    match chunk.kind.source() {
        Source::Code => false,
        _ if lines.peek().is_none() => true,
        _ if chunk.kind == Kind::Changelog && chunk.date.is_none() => {
            let is_item = |text: &str| text.trim_start().starts_with(['-', '*', '+', '•']);
            !chunk.name.contains(|c: char| c.is_ascii_digit()) && !lines.any(is_item)
        }
        _ => false,
    }
}

/// Code with paths split at their separators: otherwise `a.b.c` and `a::b` would become terms,
/// although they are not names, and the dictionary would grow to the size of the code.
fn words_of(body: String, parser: Parser) -> String {
    if parser == Parser::None {
        return body;
    }
    let mut bytes = body.into_bytes();
    for byte in &mut bytes {
        if matches!(byte, b'.' | b':') {
            *byte = b' ';
        }
    }
    String::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_of_the_innermost_definition() {
        let text = "head class { outer fn { inner one } middle fn { inner } last } tail";
        let span = |from: &str, to: &str| {
            let start = text.find(from).expect("it is there");
            let end = start + text[start..].find(to).expect("it is there") + to.len();
            start as u32..end as u32
        };
        // The file itself, the class, its two functions.
        let second = span("fn { inner }", "}");
        let spans = [0..0, span("class", "last }"), span("fn { inner one", "}"), second];
        let analyzer = Analyzer::english();
        let (all, inside) = inside(&analyzer, text, &spans);
        let words = |text: &str| analyzer.document("", text).length();
        assert_eq!(all.length(), words(text));
        let expected = ["", "class outer middle last", "fn inner one", "fn inner"].map(words);
        assert_eq!(inside.iter().map(Document::length).collect::<Vec<_>>(), expected);
    }
}
