//! A document as headings and blocks: the smallest parts, which are never cut.

use std::ops::Range;

use super::Format;
use crate::extract::text::clip;

/// A longer heading is cut: the titles of all chunks below it contain it.
pub(super) const HEADING_BYTES_MAX: usize = 512;

/// A part of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) what: What,
    /// Its lines, from 0. Blank lines belong to no block.
    pub(super) lines: Range<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// A heading: its level, from 1, and its text.
    Heading(u8, String),
    /// A paragraph.
    Text,
    /// A table, a list item, or a code block.
    Solid,
}

/// Splits a document into blocks, starting at a line.
pub(super) fn blocks(lines: &[&str], from: usize, format: Format) -> Vec<Block> {
    let mut reader = Reader { lines, format, at: from, blocks: Vec::new(), underlines: Vec::new() };
    while reader.at < lines.len() {
        reader.block();
    }
    reader.blocks
}

struct Reader<'a> {
    lines: &'a [&'a str],
    format: Format,
    at: usize,
    blocks: Vec<Block>,
    /// Characters that underline (and overline) headings, in order of first use, which is their
    /// level.
    underlines: Vec<(u8, bool)>,
}

impl<'a> Reader<'a> {
    fn block(&mut self) {
        let start = self.at;
        if self.lines[start].trim().is_empty() {
            self.at += 1;
            return;
        }
        let what =
            self.code().or_else(|| self.heading()).or_else(|| self.table()).or_else(|| self.item());
        let what = what.unwrap_or_else(|| self.paragraph());
        self.blocks.push(Block { what, lines: start..self.at });
    }

    fn line(&self, at: usize) -> Option<&'a str> {
        self.lines.get(at).copied()
    }

    /// A code block between fences, or to the end of the document.
    fn code(&mut self) -> Option<What> {
        let close = Fence::open(self.lines[self.at], self.format)?;
        self.at += 1;
        self.skip_code(&close);
        Some(What::Solid)
    }

    fn skip_code(&mut self, close: &Fence) {
        while let Some(line) = self.line(self.at) {
            self.at += 1;
            if close.closes(line) {
                break;
            }
        }
    }

    fn heading(&mut self) -> Option<What> {
        let line = self.lines[self.at];
        let marked = match self.format {
            Format::Markdown => marked(line, '#', 6),
            Format::Asciidoc => marked(line, '=', 6),
            Format::Org => marked(line, '*', 6),
            Format::Rst | Format::Text => None,
        };
        if let Some((level, text)) = marked {
            self.at += 1;
            return Some(What::Heading(level, text));
        }
        self.underlined()
    }

    /// An underlined heading, optionally overlined.
    fn underlined(&mut self) -> Option<What> {
        let line = self.lines[self.at];
        let over = matches!(self.format, Format::Rst | Format::Text) && rule(line).is_some();
        let text_at = self.at + usize::from(over);
        let text = self.line(text_at)?.trim_end();
        let sign = rule(self.line(text_at + 1)?)?;
        let length = self.line(text_at + 1)?.trim_end().len();
        if text.trim().is_empty() || rule(text).is_some() {
            return None;
        }
        let level = match self.format {
            Format::Markdown if text.starts_with(['-', '*', '+', '|', '>', ' ']) => return None,
            Format::Markdown => match sign {
                b'=' => 1,
                b'-' => 2,
                _ => return None,
            },
            Format::Asciidoc | Format::Org => return None,
            Format::Text if !matches!(sign, b'=' | b'-' | b'~') => return None,
            Format::Rst | Format::Text => {
                if length + 2 < text.trim().chars().count() || over && rule(line) != Some(sign) {
                    return None;
                }
                self.level(sign, over)?
            }
        };
        let text = clip(text.trim(), HEADING_BYTES_MAX).into_owned();
        self.at = text_at + 2;
        Some(What::Heading(level, text))
    }

    fn level(&mut self, sign: u8, over: bool) -> Option<u8> {
        let known = self.underlines.iter().position(|underline| *underline == (sign, over));
        let at = known.unwrap_or_else(|| {
            self.underlines.push((sign, over));
            self.underlines.len() - 1
        });
        u8::try_from(at + 1).ok()
    }

    fn table(&mut self) -> Option<What> {
        let line = self.lines[self.at].trim_start();
        let bars = line.starts_with('|') && self.format != Format::Text;
        let ruled = line.contains('|') && self.line(self.at + 1).is_some_and(is_delimiter);
        // reStructuredText tables.
        let drawn = self.format == Format::Rst
            && (line.starts_with("+-") || line.starts_with("==") && line.contains("= ="));
        if !bars && !ruled && !drawn {
            return None;
        }
        while self.line(self.at).is_some_and(|line| {
            !line.trim().is_empty() && (!bars || line.trim_start().starts_with('|'))
        }) {
            self.at += 1;
        }
        Some(What::Solid)
    }

    /// A list item with everything that is indented below it.
    fn item(&mut self) -> Option<What> {
        let indent = item_indent(self.lines[self.at])?;
        self.at += 1;
        self.indented(indent);
        Some(What::Solid)
    }

    /// Advances to the first line that is indented less than this.
    fn indented(&mut self, indent: usize) {
        let mut after_blank = false;
        while let Some(line) = self.line(self.at) {
            if line.trim().is_empty() {
                let rest = &self.lines[self.at..];
                let blank = rest.iter().take_while(|it| it.trim().is_empty()).count();
                if rest.get(blank).is_none_or(|it| width(it) < indent) {
                    break;
                }
                after_blank = true;
                self.at += blank;
                continue;
            }
            let deeper = width(line) >= indent;
            let ends = !deeper
                && (after_blank
                    || item_indent(line).is_some()
                    || marked(line, '#', 6).is_some()
                    || Fence::open(line, self.format).is_some());
            if ends {
                break;
            }
            after_blank = false;
            self.at += 1;
            if let Some(fence) = Fence::open(line, self.format).filter(|_| deeper) {
                self.skip_code(&fence);
            }
        }
    }

    fn paragraph(&mut self) -> What {
        let first = self.lines[self.at];
        let indent = width(first);
        self.at += 1;
        // A reStructuredText directive, or code announced by two colons.
        let mut announces =
            first.trim_start().starts_with(".. ") || first.trim_end().ends_with("::");
        while let Some(line) = self.line(self.at).filter(|line| !line.trim().is_empty()) {
            let other = Fence::open(line, self.format).is_some()
                || marked(line, '#', 6).is_some() && self.format == Format::Markdown
                || item_indent(line).is_some() && width(line) <= indent
                || self.line(self.at + 1).is_some_and(|line| rule(line).is_some())
                    && self.format == Format::Rst;
            if other {
                break;
            }
            announces = line.trim_end().ends_with("::");
            self.at += 1;
        }
        if self.format == Format::Rst && announces {
            self.indented(indent + 1);
            return What::Solid;
        }
        What::Text
    }
}

/// The end of a code block.
enum Fence {
    /// At least this many of a character, alone on a line.
    Signs(u8, usize),
    /// A line with this prefix, in any case.
    Word(&'static str),
}

impl Fence {
    fn open(line: &str, format: Format) -> Option<Self> {
        let line = line.trim_start();
        let first = *line.as_bytes().first()?;
        let count = line.bytes().take_while(|byte| *byte == first).count();
        let alone = || line.trim_end().len() == count;
        match (format, first) {
            (Format::Markdown | Format::Text, b'`') => {
                (count >= 3 && !line[count..].contains('`')).then_some(Self::Signs(first, count))
            }
            (Format::Markdown, b'~') => (count >= 3).then_some(Self::Signs(first, count)),
            (Format::Asciidoc, b'-' | b'.' | b'=' | b'*' | b'_' | b'+') => {
                (count >= 4 && alone()).then_some(Self::Signs(first, count))
            }
            (Format::Asciidoc, b'|') => line.starts_with("|===").then_some(Self::Word("|===")),
            (Format::Org, b'#') => line
                .get(..8)
                .filter(|line| line.eq_ignore_ascii_case("#+begin_"))
                .map(|_| Self::Word("#+end_")),
            (Format::Org, b'@') => line.starts_with("@code").then_some(Self::Word("@end")),
            _ => None,
        }
    }

    fn closes(&self, line: &str) -> bool {
        let line = line.trim();
        match self {
            Self::Signs(sign, count) => {
                line.len() >= *count && line.bytes().all(|byte| byte == *sign)
            }
            Self::Word(word) => {
                line.get(..word.len()).is_some_and(|line| line.eq_ignore_ascii_case(word))
            }
        }
    }
}

/// A heading marked by prefix characters: its level and text.
fn marked(line: &str, sign: char, levels: usize) -> Option<(u8, String)> {
    let count = line.chars().take_while(|c| *c == sign).count();
    let rest = &line[count..];
    if count == 0 || count > levels || !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
        return None;
    }
    // `## Title ##`, `## Title {#id}`.
    let text = rest.trim();
    let text = text.trim_end_matches('#').trim_end();
    let text = text.split(" {#").next().unwrap_or(text).trim();
    (!text.is_empty()).then(|| (count as u8, clip(text, HEADING_BYTES_MAX).into_owned()))
}

/// The character of a line of three or more of only that character.
fn rule(line: &str) -> Option<u8> {
    let line = line.trim_end().as_bytes();
    let sign = *line.first()?;
    let is_rule = line.len() >= 3
        && b"=-~^\"'#*+`:.".contains(&sign)
        && line.iter().all(|line| *line == sign);
    is_rule.then_some(sign)
}

/// The delimiter row below a table's header.
fn is_delimiter(line: &str) -> bool {
    let line = line.trim();
    line.contains('-') && line.contains('|') && line.bytes().all(|byte| b"|-: ".contains(&byte))
}

/// Where the text of a list item starts, if the line is an item's first.
fn item_indent(line: &str) -> Option<usize> {
    let text = line.trim_start();
    let mark = match text.bytes().next()? {
        b'-' | b'*' | b'+' => 1,
        it if it.is_ascii_digit() => {
            let digits = text.bytes().take_while(u8::is_ascii_digit).count();
            matches!(text.as_bytes().get(digits), Some(b'.' | b')'))
                .then_some(digits + 1)
                .filter(|_| digits <= 9)?
        }
        _ => return None,
    };
    let rest = &text[mark..];
    (rest.starts_with([' ', '\t']) && !rest.trim().is_empty()).then(|| width(line) + mark + 1)
}

/// The indentation of a line; a tab counts as four.
fn width(line: &str) -> usize {
    line.bytes()
        .take_while(|byte| *byte == b' ' || *byte == b'\t')
        .map(|byte| if byte == b'\t' { 4 } else { 1 })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str, format: Format) -> String {
        let lines: Vec<&str> = text.lines().collect();
        let all = blocks(&lines, 0, format).into_iter().map(|block| {
            let what = match block.what {
                What::Heading(level, text) => format!("h{level} {text}"),
                What::Text => "text".to_owned(),
                What::Solid => "solid".to_owned(),
            };
            format!("{}-{} {what}\n", block.lines.start + 1, block.lines.end)
        });
        all.collect()
    }

    #[test]
    fn markdown() {
        let text = "# One #\n\ntext\nmore\n```sh\n# no heading\n\n```\nTwo\n---\n- a\n  - b\n\n  c\n- d\n| a | b |\n|---|---|\n| 1 | 2 |\n\n####### seven\n#hash\n\n~~~\nopen";
        expect_test::expect![[r"
            1-1 h1 One
            3-4 text
            5-8 solid
            9-10 h2 Two
            11-14 solid
            15-18 solid
            20-21 text
            23-24 solid
        "]]
        .assert_eq(&shape(text, Format::Markdown));
    }

    #[test]
    fn code_in_a_list_stays_in_it() {
        let text = "1. first\n   ```\n# no heading\n   ```\n   rest\n\n   paragraph\nafter\n";
        expect_test::expect![[r"
            1-8 solid
        "]]
        .assert_eq(&shape(text, Format::Markdown));
    }

    #[test]
    fn restructured_text() {
        let text = "=====\nTitle\n=====\n\nText::\n\n    code\n\n    more\n\nSection\n-------\n.. note:: Mind\n\n   this\n\n* item\n  more\n* item\n\n+---+\n| a |\n+---+\n";
        expect_test::expect![[r"
            1-3 h1 Title
            5-9 solid
            11-12 h2 Section
            13-15 solid
            17-18 solid
            19-19 solid
            21-23 solid
        "]]
        .assert_eq(&shape(text, Format::Rst));
    }

    #[test]
    fn other_formats() {
        expect_test::expect![[r"
            1-1 h1 Title
            3-5 solid
            7-7 h2 Section
        "]]
        .assert_eq(&shape("= Title\n\n----\n== code\n----\n\n== Section\n", Format::Asciidoc));
        expect_test::expect![[r"
            1-1 h1 Title
            2-4 solid
            5-5 h2 Sub
        "]]
        .assert_eq(&shape("* Title\n#+BEGIN_SRC sh\n* no\n#+END_SRC\n** Sub\n", Format::Org));
        expect_test::expect![[r"
            1-2 h1 Title
            4-4 text
        "]]
        .assert_eq(&shape("Title\n=====\n\ntext\n", Format::Text));
    }
}
