//! Documents: titles, standing, and sections or entries.

mod blocks;
mod head;
mod interface;
mod links;
mod sections;

use std::borrow::Cow;

use waypost_time::Timestamp;

use super::{Extract, Parser, date, frontmatter};
use crate::text::file_name;
use crate::{Found, Kind, Source};

/// How a document marks headings, code and lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Markdown,
    Rst,
    Asciidoc,
    Org,
    Text,
}

impl Format {
    fn of(path: &str) -> Self {
        let name = file_name(path).to_ascii_lowercase();
        match name.rsplit_once('.').map_or("", |(_, it)| it) {
            "md" | "mdx" | "markdown" | "mdc" => Self::Markdown,
            "rst" => Self::Rst,
            "adoc" | "asciidoc" => Self::Asciidoc,
            "org" | "norg" => Self::Org,
            // `.cursorrules` and the like are Markdown.
            _ if name.ends_with("rules") || name == "llms.txt" => Self::Markdown,
            _ => Self::Text,
        }
    }
}

/// Extracts a document. `text` has no secrets.
pub(super) fn extract(found: &Found, text: Cow<'_, str>, now: Timestamp) -> Extract {
    let path = found.path.as_str();
    if let Some(chunk) = interface::chunk(path, &text) {
        let (kind, title) = (found.class.kind, chunk.title.clone());
        return Extract::plain(kind, title, vec![chunk], text.into_owned(), Parser::None);
    }
    let head = frontmatter::read(&text);
    let lines: Vec<&str> = text.lines().collect();
    let format = Format::of(path);
    let blocks = blocks::blocks(&lines, head.lines, format);
    let kind = head::kind(&head, found.class.kind);
    let title = head::title(&head, &blocks, path);
    let bears = head::date(&head).or_else(|| date::find(stem(path)));
    let date = date::plausible(bears, now);
    let mut chunks = if kind.source() == Source::Journal {
        sections::entries(&lines, &blocks, kind, &title)
    } else {
        sections::sections(&lines, &blocks, kind, &title)
    };
    for chunk in &mut chunks {
        let own = chunk.date.take();
        chunk.date = match kind {
            Kind::Changelog => date::plausible(own, now),
            _ if kind.source() == Source::Journal => date::plausible(own, now).or(date),
            _ => None,
        };
    }
    let links = links::links(&lines, kind, format);
    let (standing, supersedes) = head::standing(&head, kind, &lines, &blocks);
    Extract {
        date: date.or_else(|| chunks.iter().filter_map(|chunk| chunk.date).max()),
        standing,
        supersedes,
        aliases: head.any(&["aliases", "alias"]).to_vec(),
        links,
        ..Extract::plain(kind, title, chunks, text.into_owned(), Parser::None)
    }
}

/// A file name without folders and extension.
fn stem(path: &str) -> &str {
    let name = file_name(path);
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    }
}
