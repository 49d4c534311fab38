//! A second check of quotes, for commands that contain a text.
//!
//! The grammar's parser reads bash as well as it can; this reader knows only quotes, parentheses
//! and comments, and rejects everything else. A text is accepted only where both agree.

use std::ops::Range;

use super::Place;
use super::rules::{Refused, refused};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Double,
    /// `(` or `$(`.
    Paren,
    /// `${`.
    Brace,
}

/// The place of each span: inside which quotes.
pub(super) fn places(text: &str, spans: &[Range<usize>]) -> Result<Vec<Place>, Refused> {
    let mut reader = Reader { text, at: 0, open: Vec::new(), places: Vec::new() };
    while reader.at < text.len() {
        if let Some(span) = spans.iter().find(|it| it.start == reader.at) {
            let is_quoted = reader.open.last() == Some(&Open::Double);
            reader.places.push(if is_quoted { Place::Expanding } else { Place::Bare });
            reader.at = span.end;
            continue;
        }
        reader.step(spans)?;
    }
    match reader.open.last() {
        Some(Open::Double) => Err((text.len(), "unclosed double quote".to_owned())),
        Some(_) => Err((text.len(), "unclosed parenthesis or brace".to_owned())),
        None => Ok(reader.places),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    open: Vec<Open>,
    places: Vec<Place>,
}

impl Reader<'_> {
    fn step(&mut self, spans: &[Range<usize>]) -> Result<(), Refused> {
        let at = self.at;
        let rest = &self.text[at..];
        let Some(it) = rest.chars().next() else { return Ok(()) };
        let is_quoted = self.open.last() == Some(&Open::Double);
        self.at += it.len_utf8();
        let cannot = |what: &str| refused(at, &format!("cannot be used in a command with {what}"));
        match it {
            '`' => return cannot("backticks; write $( )"),
            '\\' if is_quoted => {
                self.at += rest[1..].chars().next().map_or(0, char::len_utf8);
            }
            '\\' => {
                let continues =
                    rest[1..].starts_with('\n') && self.text[..at].ends_with([' ', '\t', '\n']);
                if !continues {
                    return cannot("a backslash outside quotes; quote the character");
                }
                self.at += 1;
            }
            '$' if rest.starts_with("$((") => return cannot("arithmetic"),
            '$' if rest.starts_with("$(") => {
                self.open.push(Open::Paren);
                self.at += 1;
            }
            '$' if rest.starts_with("${") => {
                self.open.push(Open::Brace);
                self.at += 1;
            }
            '$' if !is_quoted && (rest.starts_with("$'") || rest.starts_with("$\"")) => {
                return cannot("$'…' or $\"…\", which shells interpret differently");
            }
            '"' if is_quoted => drop(self.open.pop()),
            '"' => self.open.push(Open::Double),
            '}' if self.open.last() == Some(&Open::Brace) => drop(self.open.pop()),
            _ if is_quoted => {}
            '\'' => return self.single(at, spans),
            _ if self.open.last() == Some(&Open::Brace) => {}
            '{' if !rest[1..].starts_with(|it: char| it.is_whitespace() || it == '}') => {
                return cannot("a brace expansion; write out each word");
            }
            '(' => self.open.push(Open::Paren),
            // A `case` pattern ends with its own parenthesis.
            ')' => drop(self.open.pop()),
            '#' if self.text[..at].is_empty()
                || self.text[..at].ends_with([' ', '\t', '\n', ';', '&', '|', '(', ')']) =>
            {
                self.comment(spans);
            }
            '<' if rest.starts_with("<<") => return cannot("a here-document"),
            it if !it.is_ascii() => return cannot(&format!("{it:?} outside quotes")),
            _ => {}
        }
        Ok(())
    }

    fn single(&mut self, at: usize, spans: &[Range<usize>]) -> Result<(), Refused> {
        let Some(end) = self.text[self.at..].find('\'').map(|it| self.at + it) else {
            return Err((at, "unclosed single quote".to_owned()));
        };
        let within = spans.iter().filter(|it| it.start >= self.at && it.start < end);
        self.places.extend(within.map(|_| Place::SingleQuoted));
        self.at = end + 1;
        Ok(())
    }

    fn comment(&mut self, spans: &[Range<usize>]) {
        let end = self.text[self.at..].find('\n').map_or(self.text.len(), |it| self.at + it);
        let within = spans.iter().filter(|it| it.start >= self.at && it.start < end);
        self.places.extend(within.map(|_| Place::Comment));
        self.at = end;
    }
}
