//! Links to other files.

use std::collections::HashSet;

use super::Format;
use crate::Kind;

/// The most links of a document.
const LINKS_MAX: usize = 500;

/// The links of a document, each once.
pub(super) fn links(lines: &[&str], kind: Kind, format: Format) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut links = Vec::new();
    let mut fenced = false;
    for line in lines {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        let mut found = targets(line);
        if kind == Kind::Instructions {
            found.extend(mentioned(line));
        }
        if format == Format::Rst {
            found.extend(between(line, ":doc:`", "`").map(role));
        }
        for target in found {
            if links.len() < LINKS_MAX && seen.insert(target.clone()) {
                links.push(target);
            }
        }
    }
    links
}

/// The targets of the links on a line: `[text](path)`, `[[Target#Heading|alias]]`. URLs and
/// headings of the same document are excluded.
pub(super) fn targets(line: &str) -> Vec<String> {
    let wiki = between(line, "[[", "]]")
        .map(|inside| inside.split(['|', '#']).next().unwrap_or(inside).trim());
    let inline = between(line, "](", ")").map(|inside| {
        // `path "title"`, `<path>`, `path#heading`.
        let path = inside.split(" \"").next().unwrap_or(inside).trim().trim_matches(['<', '>']);
        path.split('#').next().unwrap_or(path)
    });
    wiki.chain(inline).filter(|wiki| is_path(wiki)).map(str::to_owned).collect()
}

/// `@path` in instructions: a file to include.
fn mentioned(line: &str) -> impl Iterator<Item = String> + '_ {
    line.split_whitespace().filter_map(|word| {
        let path = word.strip_prefix('@')?.trim_end_matches(['.', ',', ')', ':']);
        (path.contains(['/', '.']) && is_path(path)).then(|| path.to_owned())
    })
}

/// `Text <path>` or `path`.
fn role(inside: &str) -> String {
    inside.split_once('<').map_or(inside, |(_, path)| path.trim_end_matches('>')).to_owned()
}

fn is_path(text: &str) -> bool {
    let address =
        text.contains("://") || ["mailto:", "tel:", "data:"].iter().any(|it| text.starts_with(it));
    !text.is_empty() && text.len() <= 512 && !address
}

fn between<'a>(
    line: &'a str,
    open: &'static str,
    close: &'static str,
) -> impl Iterator<Item = &'a str> {
    line.split(open)
        .skip(1)
        .filter_map(move |rest| rest.split_once(close).map(|(inside, _)| inside))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_files_are_found_each_once() {
        let text = "See [a](docs/a.md#x \"T\"), [a](docs/a.md), [[Note#H|alias]], [b](<b c.md>).\n[web](https://x.y/z) [mail](mailto:a@b.c) [self](#here)\n```\n[code](no.md)\n```\n@docs/style.md and a@b.c @team";
        let lines: Vec<&str> = text.lines().collect();
        let found = links(&lines, Kind::Instructions, Format::Markdown);
        assert_eq!(found, ["Note", "docs/a.md", "b c.md", "docs/style.md"]);
        assert_eq!(
            links(&[":doc:`Use <use>` and :doc:`api`"], Kind::Guide, Format::Rst),
            ["use", "api"]
        );
    }
}
