//! The words of a simple command, each with its pieces.

use std::ops::Range;

use tree_sitter::Node;

use crate::command::pieces::{Piece, expands, pieces};
use crate::command::tree::children;

/// A word, as it is written.
#[derive(Debug, Clone)]
pub(super) struct Shown {
    pub(super) pieces: Vec<Piece>,
    written: String,
    /// Whether a shell computes a part outside quotes.
    is_bare: bool,
}

impl Shown {
    pub(super) fn new(text: &str) -> Self {
        Self { pieces: pieces(text), written: text.to_owned(), is_bare: false }
    }

    /// A word that no shell reads.
    pub(super) fn exact(text: &str) -> Self {
        let pieces = text.chars().map(|it| Piece::of(it, true)).collect();
        Self { pieces, written: text.to_owned(), is_bare: false }
    }

    /// Several words with a space between them.
    pub(super) fn joined(words: &[Self]) -> Self {
        let space = [Piece::Char(' ', true)];
        let all: Vec<&[Piece]> = words.iter().map(|it| it.pieces.as_slice()).collect();
        let written: Vec<&str> = words.iter().map(|it| it.written.as_str()).collect();
        Self { pieces: all.join(&space[..]), written: written.join(" "), is_bare: false }
    }

    pub(super) fn written(&self) -> &str {
        &self.written
    }

    pub(super) fn len(&self) -> usize {
        self.written.len()
    }

    /// As it is written, short enough for a message.
    pub(super) fn quoted(&self) -> String {
        let mut start: String = self.written.chars().take(80).collect();
        if start.len() < self.written.len() {
            start.push('…');
        }
        format!("{start:?}")
    }

    /// The characters that are known.
    pub(super) fn text(&self) -> String {
        let chars = self.pieces.iter().map_while(|it| match it {
            Piece::Char(it, _) => Some(*it),
            Piece::Value(..) | Piece::Variable(..) | Piece::Computed(_) => None,
        });
        chars.collect()
    }

    /// Whether it has no values of the event, variables and substitutions.
    pub(super) fn is_literal(&self) -> bool {
        self.pieces.iter().all(|it| matches!(it, Piece::Char(..)))
    }

    /// The whole word, if it is one literal.
    pub(super) fn plain(&self) -> Option<String> {
        (self.is_literal() && expands(&self.pieces).is_none()).then(|| self.text())
    }

    /// Whether it can be no word, or several.
    pub(super) fn is_split(&self) -> bool {
        let inside = self.written.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
        let is_quoted = inside.is_some_and(|it| !it.contains('"'));
        let splits = |it: &Piece| matches!(it, Piece::Variable(_, false) | Piece::Computed(_));
        !is_quoted && (self.pieces.iter().any(splits) || expands(&self.pieces).is_some())
    }

    /// Whether a shell can make no word of it, or several, when it computes it.
    pub(super) fn may_split(&self) -> bool {
        let lists = ["$@", "${@"];
        self.is_bare || (!self.is_literal() && lists.iter().any(|it| self.written.contains(it)))
    }

    /// Whether a shell makes one word of it, whatever its variables are, and whatever files there
    /// are.
    pub(super) fn is_one(&self) -> bool {
        !self.may_split() && expands(&self.pieces).is_none()
    }

    /// Whether a variable or a value of the event can be at its beginning.
    pub(super) fn begins_unknown(&self) -> bool {
        !matches!(self.pieces.first(), None | Some(Piece::Char(..)))
    }

    /// Whether the name of a file, or one of several words, can be at its beginning.
    pub(super) fn begins_pattern(&self) -> bool {
        let begins = |it: char| self.pieces.first() == Some(&Piece::Char(it, false));
        ['*', '?', '[', '{'].into_iter().any(begins) && expands(&self.pieces).is_some()
    }

    /// The name in `NAME=VALUE` or `NAME`, if it is literal.
    pub(super) fn name(&self) -> Option<String> {
        let end = self.pieces.iter().position(|it| matches!(it, Piece::Char('=', _)));
        let name = Self {
            pieces: self.pieces[..end.unwrap_or(self.pieces.len())].to_vec(),
            written: String::new(),
            is_bare: false,
        };
        // Braces in the value make several words of it, too.
        let is_one = end.is_none() || name.pieces.iter().all(|it| *it != Piece::Char('{', false));
        name.plain().filter(|_| is_one)
    }

    /// Whether it sets a value.
    pub(super) fn sets(&self) -> bool {
        self.pieces.iter().any(|it| matches!(it, Piece::Char('=', _)))
    }

    /// The part after the first `=`.
    pub(super) fn setting(&self) -> Option<Self> {
        let at = self.pieces.iter().position(|it| matches!(it, Piece::Char('=', _)))?;
        Some(Self { pieces: self.pieces[at + 1..].to_vec(), ..self.clone() })
    }
}

/// The words of a command, in the order of the text: its name, its arguments, also those after a
/// redirection, without assignments before the name.
pub(super) fn words_of(command: Node<'_>, redirects: &[Node<'_>], text: &str) -> Vec<Shown> {
    let is_declaration = command.kind() == "declaration_command";
    let mut ranges: Vec<(Range<usize>, bool)> = Vec::new();
    for child in children(command) {
        match child.kind() {
            "variable_assignment" if !is_declaration => {}
            "file_redirect" | "heredoc_redirect" | "herestring_redirect" => {
                after_target(child, text, &mut ranges);
            }
            _ => ranges.push((child.byte_range(), is_bare(child, text))),
        }
    }
    for it in redirects {
        after_target(*it, text, &mut ranges);
    }
    ranges.sort_unstable_by_key(|(it, _)| it.start);
    let mut words: Vec<(Range<usize>, bool)> = Vec::new();
    for (range, is_bare) in ranges {
        match words.last_mut() {
            Some((last, was_bare)) if last.end == range.start => {
                last.end = range.end;
                *was_bare |= is_bare;
            }
            _ => words.push((range, is_bare)),
        }
    }
    let shown = words.into_iter().map(|(range, is_bare)| {
        let word = Shown::new(text.get(range).unwrap_or_default());
        Shown { is_bare, ..word }
    });
    shown.collect()
}

/// Whether a part of a word outside quotes is computed, or beside quotes a pattern: what is after a
/// substitution in quotes is in no piece.
fn is_bare(node: Node<'_>, text: &str) -> bool {
    let has_pattern = |it: Node<'_>| {
        let written = text.get(it.byte_range()).unwrap_or_default();
        !it.kind().ends_with("string") && written.contains(['*', '?', '[', '{'])
    };
    match node.kind() {
        "arithmetic_expansion" | "command_substitution" | "expansion" | "simple_expansion" => true,
        "concatenation" if children(node).any(|it| it.kind() == "string") => {
            children(node).any(|it| is_bare(it, text) || has_pattern(it))
        }
        "command_name" | "concatenation" | "variable_assignment" => {
            children(node).any(|it| is_bare(it, text))
        }
        _ => false,
    }
}

/// The grammar has the arguments after a redirection in it.
fn after_target(redirect: Node<'_>, text: &str, ranges: &mut Vec<(Range<usize>, bool)>) {
    let is_word = |it: &Node<'_>| {
        !matches!(
            it.kind(),
            "file_descriptor"
                | "heredoc_start"
                | "heredoc_body"
                | "heredoc_end"
                | "file_redirect"
                | "herestring_redirect"
                | "pipeline"
                | "list"
        )
    };
    match redirect.kind() {
        "file_redirect" | "herestring_redirect" => {
            let words = children(redirect).filter(|it| it.is_named() && is_word(it));
            ranges.extend(words.skip(1).map(|it| (it.byte_range(), is_bare(it, text))));
        }
        "heredoc_redirect" => {
            for child in children(redirect) {
                match child.kind() {
                    "file_redirect" | "herestring_redirect" => after_target(child, text, ranges),
                    _ if redirect_has_argument(redirect, child) => {
                        ranges.push((child.byte_range(), is_bare(child, text)));
                    }
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

fn redirect_has_argument(redirect: Node<'_>, child: Node<'_>) -> bool {
    let mut cursor = redirect.walk();
    redirect.children_by_field_name("argument", &mut cursor).any(|it| it == child)
}
