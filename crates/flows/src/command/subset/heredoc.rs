//! Here-documents.

use super::{Checked, Reader, Unclear};

pub(super) const LINE: &str = "is a here-document on a line that has another one, or an open quote or parenthesis; end the line after it, or put the command into a script of the project";
pub(super) const END: &str = "is a here-document without a line that ends it";
const DELIMITER: &str = "is a here-document whose delimiter is not a plain name or one in quotes; write <<END or <<'END'";
const EXPANDS: &str = "is a here-document that contains $(…), ${…}, a backtick or a backslash, which shells read differently; write <<'END' to keep its text as it is, or only plain $NAME in it";

/// A here-document whose text is still to come.
#[derive(Debug, Clone, Copy)]
pub(super) struct Here<'a> {
    pub(super) at: usize,
    delimiter: &'a str,
    is_quoted: bool,
}

impl Reader<'_> {
    /// Reads `<<` and the delimiter.
    pub(super) fn here_document(&mut self) -> Checked {
        let at = self.at;
        if self.here.is_some() {
            return Err((at, LINE));
        }
        let rest = self.rest()[2..].trim_start_matches([' ', '\t']);
        let start = self.text.len() - rest.len();
        let quote = rest.chars().next().filter(|it| matches!(it, '\'' | '"'));
        let inside = if quote.is_some() { &rest[1..] } else { rest };
        let is_part = |it: char| it.is_ascii_alphanumeric() || "_.".contains(it);
        let len = inside.find(|it| !is_part(it)).unwrap_or(inside.len());
        let (delimiter, after) = inside.split_at(len);
        let after = quote.map_or(Some(after), |it| after.strip_prefix(it));
        let ends = |it: &&str| {
            it.is_empty() || it.starts_with([' ', '\t', '\n', ';', '&', '|', ')', '>', '<'])
        };
        let after = after.filter(ends).filter(|_| !delimiter.is_empty());
        if after.is_none() {
            return Err((at, DELIMITER));
        }
        let bytes = delimiter.len() + 2 * usize::from(quote.is_some());
        self.at = start + bytes;
        self.here = Some(Here { at, delimiter, is_quoted: quote.is_some() });
        Ok(())
    }

    /// Reads the text of a here-document after the end of its line.
    pub(super) fn document(&mut self) -> Checked {
        let Some(here) = self.here.take() else { return Ok(()) };
        let mut end = 0;
        let rest = self.rest();
        for line in rest.split_inclusive('\n') {
            let body = &rest[..end];
            end += line.len();
            if line.strip_suffix('\n').unwrap_or(line) != here.delimiter {
                continue;
            }
            if self.has_value(body) {
                return Err((here.at, super::IN_DOCUMENT));
            }
            let odd = ["$(", "${", "$[", "`", "\\"].iter().any(|it| body.contains(it));
            if odd && !here.is_quoted {
                return Err((here.at, EXPANDS));
            }
            self.at += end;
            return Ok(());
        }
        let unclear: Unclear = (here.at, END);
        Err(unclear)
    }
}
