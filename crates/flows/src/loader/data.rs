//! The words of a command that an interpreter passes to its script, or reads as data.

use tree_sitter::Node;

use crate::command::pieces::{Piece, expands, pieces};
use crate::command::programs::base;
use crate::command::rules::is_data;
use crate::command::tree::{children, parsed};
use crate::command::word::{Part, Word};

/// The text with blanks in place of the words that are data.
///
/// The text itself if it could write the data to a file that it runs.
pub(super) fn without_data(text: &str) -> String {
    let Some(tree) = parsed(text).filter(|it| !it.root_node().has_error()) else {
        return text.to_owned();
    };
    let mut bare = text.to_owned();
    let mut written = Vec::new();
    let mut waiting = vec![tree.root_node()];
    while let Some(node) = waiting.pop() {
        waiting.extend(children(node));
        match node.kind() {
            "command" => {
                let nodes: Vec<Node<'_>> = words_of(node);
                let words: Vec<Word> = nodes.iter().map(|it| word(*it, text)).collect();
                let program = words.first().and_then(Word::literal);
                if program.is_none_or(|it| ["dd", "sponge", "tee"].contains(&base(&it))) {
                    return text.to_owned();
                }
                for (idx, it) in nodes.iter().enumerate().filter(|(idx, _)| is_data(&words, *idx)) {
                    if words[idx].literal().is_some() {
                        bare.replace_range(it.byte_range(), &" ".repeat(it.byte_range().len()));
                    }
                }
            }
            "file_redirect" if children(node).any(|it| [">", ">>", ">|"].contains(&it.kind())) => {
                let target = node.child_by_field_name("destination");
                written.extend(target.map(|it| word(it, text).literal()));
            }
            _ => {}
        }
    }
    let is_named = |name: &Option<String>| {
        name.as_ref().is_none_or(|it| {
            let file = it.rsplit('/').next().unwrap_or_default();
            bare.matches(file).count() > written.iter().filter(|it| *it == name).count()
        })
    };
    if written.iter().any(is_named) { text.to_owned() } else { bare }
}

/// The name of a command and its arguments.
fn words_of(command: Node<'_>) -> Vec<Node<'_>> {
    let is_word = |it: &Node<'_>| {
        it.is_named() && it.kind() != "variable_assignment" && !it.kind().ends_with("_redirect")
    };
    children(command).filter(is_word).collect()
}

fn word(node: Node<'_>, text: &str) -> Word {
    let pieces = pieces(text.get(node.byte_range()).unwrap_or_default());
    let chars = pieces.iter().map(|it| match it {
        Piece::Char(it, _) => Some(*it),
        Piece::Value(..) | Piece::Variable(..) | Piece::Computed(_) => None,
    });
    let literal: Option<String> = chars.collect();
    let literal = literal.filter(|_| expands(&pieces).is_none());
    let part = literal.map_or(Part::Unknown, Part::Literal);
    Word { parts: vec![part], at: node.start_byte() }
}
