//! A command as a syntax tree, and the place of each value in it.
//!
//! The grammar is bash's, by tree-sitter, which names the kind of every node and marks what it does
//! not understand. Marked nodes and kinds of places not listed here are rejected.

use std::ops::{ControlFlow, Range};

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use super::Place;
use super::rules::{Refused, refused};
use super::word::{Part, Word};
use crate::declared::Class;

/// The deepest nesting.
const DEPTH_MAX: usize = 64;

/// What to do about a command that takes the parser too long.
pub(crate) const TOO_NESTED: &str =
    "is nested too deeply to be checked; put it into a script of the project, and call that";

/// The most `(`, `[` and `<<` of a text, each: the parser's time grows with the square of their
/// number, to a tenth of a second for this one.
pub(crate) const OPENING_MAX: usize = 500;

/// The deepest tree. Each `&&` of a list adds a level, and the parent of a node is found from the
/// root.
const TREE_DEPTH_MAX: u32 = 1000;

/// The tree of a text; nothing if its nesting makes the parser try too many readings of it.
pub(crate) fn parsed(text: &str) -> Option<Tree> {
    if ["(", "[", "<<"].iter().any(|it| text.matches(it).count() > OPENING_MAX) {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    // The parser reports each hundred steps. It takes about one step for each byte.
    let mut reports = 100 + text.len() / 10;
    let mut progress = |_: &ParseState| {
        reports = reports.saturating_sub(1);
        if reports == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let mut rest = |at: usize, _| text.as_bytes().get(at..).unwrap_or_default();
    let tree = parser.parse_with_options(&mut rest, None, Some(options))?;
    is_shallow(&tree).then_some(tree)
}

fn is_shallow(tree: &Tree) -> bool {
    let mut cursor = tree.walk();
    loop {
        if cursor.depth() > TREE_DEPTH_MAX {
            return false;
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return true;
            }
        }
    }
}

/// The tree of a text, if all of it is understood.
pub(super) fn parse(text: &str) -> Result<Tree, Refused> {
    let tree = parsed(text).ok_or_else(|| (0, format!("the command {TOO_NESTED}")))?;
    match first_error(tree.root_node()) {
        None => Ok(tree),
        Some(at) => {
            let what = "invalid shell syntax; a command with {{data.key}} must be valid, so check its quotes, or put it into a script of the project";
            Err((at, what.to_owned()))
        }
    }
}

fn first_error(root: Node<'_>) -> Option<usize> {
    if !root.has_error() {
        return None;
    }
    let mut node = root;
    while let Some(child) = children(node).find(|it| it.has_error() || it.is_missing()) {
        node = child;
    }
    Some(node.start_byte())
}

/// Each child is found from the one before it: `Node::child` counts from the first.
pub(crate) fn children(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    node.children(&mut node.walk()).collect::<Vec<_>>().into_iter()
}

/// The position of a `#` that begins a comment for the grammar alone, or for a shell alone.
pub(crate) fn misread_comment(root: Node<'_>, text: &str) -> Option<usize> {
    text.match_indices('#').map(|(at, _)| at).find(|at| {
        let Some(node) = root.descendant_for_byte_range(*at, at + 1) else { return true };
        match node.kind() {
            "comment" => node.start_byte() == *at && !begins_comment(&text[..*at]),
            "string_content" | "string" | "raw_string" | "ansi_c_string" | "translated_string"
            | "heredoc_body" | "heredoc_content" | "heredoc_redirect" => false,
            // In `${x%% #*}`, it is none.
            _ => begins_comment(&text[..*at]) && !is_in_expansion(node),
        }
    })
}

fn is_in_expansion(node: Node<'_>) -> bool {
    let above = std::iter::successors(Some(node), |it| it.parent());
    let mut kinds = above.map(|it| it.kind()).take_while(|it| *it != "command_substitution");
    kinds.any(|it| it == "expansion")
}

/// Whether a shell reads a `#` after this text, outside quotes, as a comment.
fn begins_comment(before: &str) -> bool {
    let Some(last) = before.chars().next_back() else { return true };
    let above = &before[..before.len() - last.len_utf8()];
    let escapes = above.len() - above.trim_end_matches('\\').len();
    match last {
        '\n' | ' ' | '\t' | ';' | '|' | '&' => escapes.is_multiple_of(2),
        // `$(#` is one, `@(#` is a pattern.
        '(' => escapes.is_multiple_of(2) && !above.ends_with(['@', '+', '!', '?', '*']),
        _ => false,
    }
}

fn is_first(node: Node<'_>, token: &str) -> bool {
    node.child(0).is_some_and(|it| it.kind() == token)
}

/// The nodes from the root's child down to the smallest one around a span.
fn path<'a>(root: Node<'a>, span: &Range<usize>) -> Vec<Node<'a>> {
    let mut path = vec![root];
    let mut node = root;
    let holds = |it: &Node<'_>| it.start_byte() <= span.start && it.end_byte() >= span.end;
    while let Some(child) = children(node).find(holds) {
        path.push(child);
        node = child;
    }
    path
}

/// How the reference to a value is written at its place. Rejects places where a value of the class
/// may not be, whatever the program.
pub(super) fn place(root: Node<'_>, span: &Range<usize>, class: Class) -> Result<Place, Refused> {
    let path = path(root, span);
    let no = |what: &str| Err((span.start, format!("the event's value cannot be used {what}")));
    let Some((leaf, above)) = path.split_last() else { return no("here") };
    if leaf.kind() == "comment" {
        return Ok(Place::Comment);
    }
    let is_arithmetic = above.iter().any(|it| evaluates(*it));
    if is_arithmetic && class != Class::Number {
        return no(
            "in arithmetic, where a shell evaluates names and text; declare it as integer in trigger.data",
        );
    }
    if class == Class::Text {
        check_text(&path, span)?;
    }
    let parent = above.last().map_or("", |it| it.kind());
    let in_backticks =
        above.iter().any(|it| it.kind() == "command_substitution" && is_first(*it, "`"));
    match leaf.kind() {
        "string_content" | "raw_string" if in_backticks => {
            no("in quotes between backticks; write $( )")
        }
        "string_content" | "string" => Ok(Place::Expanding),
        "raw_string" => Ok(Place::SingleQuoted),
        "variable_name" | "word" | "number" if is_arithmetic => Ok(Place::Inert),
        "word" if parent == "function_definition" => no("as the name of a function"),
        "word" if parent == "declaration_command" && class != Class::Choice => {
            no("as the name of a variable; write NAME=VALUE")
        }
        "word" if parent == "expansion" || in_backticks => Ok(Place::Inert),
        "word" | "extglob_pattern" => Ok(Place::Bare),
        "heredoc_body" | "heredoc_content" => {
            let here = above.iter().rev().find(|it| it.kind() == "heredoc_redirect");
            let here = here.or(Some(leaf).filter(|it| it.kind() == "heredoc_redirect"));
            let start = here.and_then(|it| children(*it).find(|it| it.kind() == "heredoc_start"));
            // A quoted delimiter is longer than the line that ends the text.
            let end = here.and_then(|it| children(*it).find(|it| it.kind() == "heredoc_end"));
            let len = |it: Node<'_>| it.byte_range().len();
            match (start.map(len), end.map(len)) {
                (Some(start), Some(end)) if start == end => Ok(Place::Inert),
                _ => no(
                    "in a here-document with a quoted delimiter; write the delimiter without quotes",
                ),
            }
        }
        "variable_name" => no("as the name of a variable"),
        "heredoc_start" => no("as the delimiter of a here-document"),
        kind => no(&format!("here ({kind})")),
    }
}

/// Whether a shell evaluates its contents as arithmetic: names are variables there, and their
/// values are evaluated in turn.
fn evaluates(node: Node<'_>) -> bool {
    match node.kind() {
        "arithmetic_expansion" | "subscript" | "c_style_for_statement" => true,
        "compound_statement" => is_first(node, "(("),
        "test_command" => is_first(node, "[["),
        "declaration_command" => !is_first(node, "export") && !is_first(node, "readonly"),
        _ => false,
    }
}

/// A text must be in a word of a simple command, which may be only in lists, pipelines and compound
/// commands.
fn check_text(path: &[Node<'_>], span: &Range<usize>) -> Result<(), Refused> {
    let mut in_word = true;
    for node in path.iter().rev() {
        let kind = node.kind();
        let may = if in_word {
            in_word = !matches!(kind, "command" | "test_command");
            matches!(
                kind,
                "word"
                    | "string_content"
                    | "raw_string"
                    | "string"
                    | "concatenation"
                    | "command"
                    | "test_command"
                    | "binary_expression"
                    | "unary_expression"
                    | "command_name"
            )
        } else {
            matches!(
                kind,
                "program"
                    | "list"
                    | "pipeline"
                    | "redirected_statement"
                    | "subshell"
                    | "compound_statement"
                    | "if_statement"
                    | "elif_clause"
                    | "else_clause"
                    | "while_statement"
                    | "for_statement"
                    | "do_group"
                    | "negated_command"
                    | "case_statement"
                    | "case_item"
            )
        };
        if may {
            continue;
        }
        let place = match kind {
            "variable_assignment" | "declaration_command" | "array" => "in an assignment",
            "file_redirect" => "in a redirection",
            "herestring_redirect"
            | "heredoc_redirect"
            | "heredoc_body"
            | "heredoc_content"
            | "heredoc_start" => "in a here-document",
            "command_substitution" => "in a command substitution",
            "process_substitution" => "in a process substitution",
            "expansion" => "in ${ }",
            "function_definition" => "in a function",
            "for_statement" | "case_statement" | "case_item" => "in the words of for or case",
            _ => return refused(span.start, &format!("cannot stand here ({kind})")),
        };
        return refused(span.start, &format!("cannot be used {place}"));
    }
    Ok(())
}

/// Rejects every unknown kind of node and token, in a command that contains a text.
pub(super) fn check_known(node: Node<'_>, depth: usize) -> Result<(), Refused> {
    let at = node.start_byte();
    if depth > DEPTH_MAX {
        return refused(at, "cannot be used in a command that is nested this deeply");
    }
    let kind = node.kind();
    let is_known = if node.is_named() { NODES.contains(&kind) } else { TOKENS.contains(&kind) };
    if !is_known {
        return refused(at, &format!("cannot be used in a command with {kind:?}"));
    }
    if kind == "expansion" {
        let mut inside = children(node).skip(1);
        let first = inside.next().map_or("", |it| it.kind());
        let operator = inside.next().map_or("", |it| it.kind());
        if first != "variable_name" || !["}", ":-", ":+"].contains(&operator) {
            return refused(
                at,
                "can be used only in commands whose expansions are ${name}, ${name:-word} and ${name:+word}",
            );
        }
    }
    children(node).try_for_each(|it| check_known(it, depth + 1))
}

const NODES: &[&str] = &[
    "program",
    "list",
    "pipeline",
    "redirected_statement",
    "subshell",
    "compound_statement",
    "if_statement",
    "elif_clause",
    "else_clause",
    "while_statement",
    "for_statement",
    "do_group",
    "negated_command",
    "case_statement",
    "case_item",
    "command",
    "command_name",
    "test_command",
    "binary_expression",
    "unary_expression",
    "test_operator",
    "variable_assignment",
    "declaration_command",
    "variable_name",
    "special_variable_name",
    "word",
    "number",
    "concatenation",
    "string",
    "string_content",
    "raw_string",
    "simple_expansion",
    "expansion",
    "command_substitution",
    "file_redirect",
    "file_descriptor",
    "extglob_pattern",
    "comment",
];

const TOKENS: &[&str] = &[
    ";", "\n", "&&", "||", "|", "&", "(", ")", "{", "}", "\"", "$", "${", "$(", ":-", ":+", "=",
    "!=", "!", "-", "[", "]", ";;", "if", "then", "elif", "else", "fi", "while", "until", "do",
    "done", "for", "in", "case", "esac", "export", "readonly", ">", ">>", "<", ">&",
];

/// Extracts words from a tree.
pub(super) struct Words<'a> {
    pub(super) text: &'a str,
    pub(super) spans: &'a [Range<usize>],
    pub(super) classes: &'a [Class],
}

impl Words<'_> {
    /// The name and arguments of a `command` or `test_command`, without assignments and
    /// redirections.
    pub(super) fn of(&self, command: Node<'_>) -> Vec<Word> {
        if command.kind() == "test_command" {
            let mut words = Vec::new();
            self.flat(command, &mut words);
            return words;
        }
        children(command)
            .filter(|it| {
                !matches!(
                    it.kind(),
                    "variable_assignment"
                        | "file_redirect"
                        | "herestring_redirect"
                        | "heredoc_redirect"
                        | "subshell"
                )
            })
            .map(|it| self.word(it))
            .collect()
    }

    /// The words of `[ ]`, which the grammar parses as an expression.
    fn flat(&self, node: Node<'_>, words: &mut Vec<Word>) {
        for child in children(node) {
            match child.kind() {
                "binary_expression" | "unary_expression" | "parenthesized_expression" => {
                    self.flat(child, words);
                }
                _ => words.push(self.word(child)),
            }
        }
    }

    pub(super) fn word(&self, node: Node<'_>) -> Word {
        let mut parts = Vec::new();
        self.parts(node, &mut parts);
        Word { parts, at: node.start_byte() }
    }

    fn parts(&self, node: Node<'_>, parts: &mut Vec<Part>) {
        let range = node.byte_range();
        match node.kind() {
            "command_name" | "concatenation" => {
                children(node).for_each(|it| self.parts(it, parts));
            }
            "raw_string" => self.literal(range.start + 1..range.end - 1, parts, false),
            "string" => {
                let mut at = range.start + 1;
                let inside =
                    children(node).filter(|it| it.is_named() && it.kind() != "string_content");
                for child in inside {
                    // The grammar includes blanks before an expansion in it.
                    let text = self.text.get(child.byte_range()).unwrap_or_default();
                    let blanks = text.len() - text.trim_start().len();
                    self.literal(at..child.start_byte() + blanks, parts, true);
                    parts.push(Part::Unknown);
                    at = child.end_byte();
                }
                self.literal(at..range.end - 1, parts, true);
            }
            "simple_expansion"
            | "expansion"
            | "command_substitution"
            | "arithmetic_expansion"
            | "process_substitution"
            | "ansi_c_string"
            | "translated_string"
            | "brace_expression" => parts.push(Part::Unknown),
            _ => self.literal(range, parts, true),
        }
    }

    /// A piece of text that may contain values.
    fn literal(&self, range: Range<usize>, parts: &mut Vec<Part>, is_escaped: bool) {
        let literal = |range: Range<usize>| {
            let text = self.text.get(range).unwrap_or_default();
            Part::Literal(if is_escaped {
                text.replace("\\\n", "").replace('\\', "")
            } else {
                text.to_owned()
            })
        };
        let mut at = range.start;
        for (number, span) in self.spans.iter().enumerate() {
            if span.start < at || span.end > range.end {
                continue;
            }
            parts.push(literal(at..span.start));
            parts.push(Part::Value(number, self.classes[number]));
            at = span.end;
        }
        parts.push(literal(at..range.end));
    }
}
