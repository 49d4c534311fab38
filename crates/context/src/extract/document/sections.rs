//! Chunks of documents: sections by heading, journal entries by date.

use std::ops::Range;

use waypost_time::Timestamp;

use super::blocks::{Block, What};
use crate::Kind;
use crate::extract::{Chunk, date};

/// A smaller section is merged into the next one.
const SECTION_BYTES_MIN: usize = 200;

/// A larger section is cut between its blocks.
const SECTION_BYTES_MAX: usize = 1_600;

/// A larger block is cut between its lines after all.
const BLOCK_BYTES_MAX: usize = 16_000;

/// Headings below this level do not start a section.
const LEVEL_MAX: u8 = 3;

/// The most headings of merged sections that a title names.
const NAMES_MAX: usize = 4;

/// A run of blocks under one heading.
#[derive(Debug)]
struct Section {
    blocks: Range<usize>,
    level: u8,
    /// The path of headings to it, its own last.
    crumbs: Vec<String>,
    /// Headings of sections that were merged into it, and its own.
    names: Vec<String>,
    date: Option<Timestamp>,
}

/// The chunks of a document that is not a journal.
pub(super) fn sections(lines: &[&str], blocks: &[Block], kind: Kind, title: &str) -> Vec<Chunk> {
    let mut joined: Vec<Section> = Vec::new();
    for section in cut(blocks, title, |level, _| level <= LEVEL_MAX) {
        let bytes = |section: &Section| bytes(lines, blocks, &section.blocks);
        match joined.last_mut() {
            // A small section is merged with its next sibling, and text before the first section of
            // a part with that section.
            Some(last) if bytes(last) < SECTION_BYTES_MIN && section.level >= last.level => {
                let sibling = section.level == last.level;
                last.blocks.end = section.blocks.end;
                last.level = section.level;
                last.crumbs = section.crumbs;
                if !sibling {
                    last.names.clear();
                }
                last.names.extend(section.names);
            }
            _ => joined.push(section),
        }
    }
    joined.iter().flat_map(|joined| chunks(lines, blocks, joined, kind, title)).collect()
}

/// The chunks of a journal: one for each entry, or several for a long one.
pub(super) fn entries(lines: &[&str], blocks: &[Block], kind: Kind, title: &str) -> Vec<Chunk> {
    let has_headings = blocks.iter().any(|block| matches!(block.what, What::Heading(..)));
    let stamped = if has_headings { Vec::new() } else { stamped(lines) };
    if !stamped.is_empty() {
        let chunks = |(block, section): &(Block, Section)| {
            chunks(lines, std::slice::from_ref(block), section, kind, title)
        };
        return stamped.iter().flat_map(chunks).collect();
    }
    let headings = || {
        blocks.iter().filter_map(|block| match &block.what {
            What::Heading(level, text) => Some((*level, text)),
            _ => None,
        })
    };
    // Entries are at the level of the dates (or versions), else at the second level.
    let level =
        headings().filter(|(_, text)| is_entry(text)).map(|(level, _)| level).min().unwrap_or(2);
    let sections = cut(blocks, title, |at, _| at <= level);
    sections.iter().flat_map(|section| chunks(lines, blocks, section, kind, title)).collect()
}

/// Whether a heading is a date or a version.
fn is_entry(text: &str) -> bool {
    let version = text.trim_start_matches(['[', 'v', 'V']);
    let digits = version.bytes().take_while(u8::is_ascii_digit).count();
    let is_version = digits > 0 && version[digits..].starts_with('.');
    is_version
        || text.eq_ignore_ascii_case("unreleased")
        || text.eq_ignore_ascii_case("[unreleased]")
        || date::find(text).is_some()
}

/// Cuts at headings that start a section.
fn cut(blocks: &[Block], title: &str, begins: impl Fn(u8, &str) -> bool) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut path: Vec<(u8, String)> = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        match &block.what {
            What::Heading(level, text) if begins(*level, text) => {
                path.retain(|(above, _)| above < level);
                // The title of the document is not repeated.
                if !(path.is_empty() && text == title) {
                    path.push((*level, text.clone()));
                }
                sections.push(Section {
                    blocks: at..at + 1,
                    level: *level,
                    crumbs: path.iter().map(|(_, text)| text.clone()).collect(),
                    names: path.last().map(|(_, text)| text.clone()).into_iter().collect(),
                    date: date::find(text),
                });
            }
            _ => match sections.last_mut() {
                Some(section) => section.blocks.end = at + 1,
                None => sections.push(Section {
                    blocks: at..at + 1,
                    level: 0,
                    crumbs: Vec::new(),
                    names: Vec::new(),
                    date: None,
                }),
            },
        }
    }
    sections
}

fn bytes(lines: &[&str], blocks: &[Block], range: &Range<usize>) -> usize {
    blocks[range.clone()].iter().map(|block| span_bytes(lines, &block.lines)).sum()
}

fn span_bytes(lines: &[&str], span: &Range<usize>) -> usize {
    lines[span.clone()].iter().map(|line| line.len() + 1).sum()
}

/// The chunks of a section; a long one is cut between blocks.
fn chunks(
    lines: &[&str],
    blocks: &[Block],
    section: &Section,
    kind: Kind,
    title: &str,
) -> Vec<Chunk> {
    let mut spans: Vec<Range<usize>> = Vec::new();
    let mut bytes = 0;
    let mut only_headings = true;
    for block in &blocks[section.blocks.clone()] {
        let is_heading = matches!(block.what, What::Heading(..));
        for span in pieces(lines, block) {
            let more = span_bytes(lines, &span);
            match spans.last_mut() {
                // A heading stays with the text below it.
                Some(last) if only_headings || bytes + more <= SECTION_BYTES_MAX => {
                    last.end = span.end;
                }
                _ => {
                    spans.push(span.clone());
                    bytes = 0;
                    only_headings = true;
                }
            }
            bytes += more;
            only_headings &= is_heading;
        }
    }
    spans.iter().map(|span| chunk(lines, span, section, kind, title)).collect()
}

/// A block as a whole; a long paragraph is cut between its lines.
fn pieces(lines: &[&str], block: &Block) -> Vec<Range<usize>> {
    let bytes_max = match block.what {
        What::Text => SECTION_BYTES_MAX,
        What::Heading(..) | What::Solid => BLOCK_BYTES_MAX,
    };
    if span_bytes(lines, &block.lines) <= bytes_max {
        return vec![block.lines.clone()];
    }
    let mut pieces: Vec<Range<usize>> = Vec::new();
    let mut bytes = 0;
    for at in block.lines.clone() {
        let more = lines[at].len() + 1;
        match pieces.last_mut() {
            Some(last) if bytes + more <= bytes_max => last.end = at + 1,
            _ => {
                pieces.push(at..at + 1);
                bytes = 0;
            }
        }
        bytes += more;
    }
    pieces
}

fn chunk(lines: &[&str], span: &Range<usize>, section: &Section, kind: Kind, title: &str) -> Chunk {
    let (own, above) =
        section.crumbs.split_last().map_or((None, &[][..]), |(own, above)| (Some(own), above));
    let name = match (section.names.len(), own) {
        (2.., _) => {
            let mut name = section.names[..section.names.len().min(NAMES_MAX)].join("; ");
            if section.names.len() > NAMES_MAX {
                name.push_str("; …");
            }
            name
        }
        (_, Some(own)) => own.clone(),
        (_, None) => String::new(),
    };
    let mut crumbs: Vec<&str> = vec![title];
    crumbs.extend(above.iter().map(String::as_str));
    if !name.is_empty() {
        crumbs.push(&name);
    }
    Chunk {
        kind,
        title: crumbs.join(" > "),
        name: if name.is_empty() { title.to_owned() } else { name.clone() },
        line: span.start as u32 + 1,
        end_line: span.end as u32,
        content: lines[span.clone()].join("\n").trim_end().to_owned(),
        signature: 0..0,
        date: section.date,
    }
}

/// The entries of a plain text journal in jrnl's format, `[2026-01-31 09:00] Title`: each as a block
/// and its section.
fn stamped(lines: &[&str]) -> Vec<(Block, Section)> {
    let mut entries: Vec<(Block, Section)> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if let Some((stamp, rest)) = stamp(line) {
            let title = Some(rest.trim().to_owned()).filter(|text| !text.is_empty());
            let section = Section {
                blocks: 0..1,
                level: 2,
                crumbs: title.into_iter().collect(),
                names: Vec::new(),
                date: date::find(stamp),
            };
            entries.push((Block { what: What::Text, lines: at..at + 1 }, section));
        } else if let Some((block, _)) = entries.last_mut()
            && !line.trim().is_empty()
        {
            block.lines.end = at + 1;
        }
    }
    entries
}

/// The date and time at the start of a line, and the rest of it.
fn stamp(line: &str) -> Option<(&str, &str)> {
    let (stamp, rest) = match line.strip_prefix('[') {
        Some(inside) => inside.split_once(']')?,
        None => (line.get(..16)?, line.get(16..)?),
    };
    let shape: String = stamp.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
    let is_stamp = ["9999-99-99 99:99", "9999-99-99T99:99"].iter().any(|it| shape.starts_with(it));
    (is_stamp && rest.starts_with([' ', ':', '\t'])).then_some((stamp, rest))
}
