//! The words of a command that may name files, from its syntax tree.

use tree_sitter::Node;

use super::pieces::ansi_c;
use super::programs::runs_files;
use super::tree::{children, parsed};
pub(crate) use super::variables::is_resolving;
use super::variables::resolves_as;

/// Builtins that set the variables that they name, or run a builtin that does.
const SETTERS: &[&str] =
    &["builtin", "command", "eval", "getopts", "mapfile", "printf", "read", "readarray"];

/// A value without the quotes around it.
pub(crate) fn unquoted(value: &str) -> &str {
    let inside = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    inside('"').or_else(|| inside('\'')).unwrap_or(value)
}

/// The variable that `NAME=VALUE` or `NAME+=VALUE` sets, if it changes what a name stands for.
fn assigned_name(word: &str) -> Option<String> {
    let (name, value) = word.split_once('=')?;
    let name = name.strip_suffix('+').unwrap_or(name);
    resolves_as(name, value).then(|| name.to_owned())
}

/// The variable that `${NAME:=VALUE}` sets, if it changes what a name stands for.
fn set_by_default(expansion: &str) -> Option<String> {
    let (name, _) = expansion.strip_prefix("${")?.split_once('=')?;
    let name = name.strip_suffix(':').unwrap_or(name);
    is_resolving(name).then(|| name.to_owned())
}

/// What a command contains.
#[derive(Debug, Default)]
pub(crate) struct Literals {
    /// Every word without its quotes, and every text of a here-document; without the files that are
    /// only written.
    pub(crate) words: Vec<String>,
    /// A variable that it sets and that changes which program a name stands for.
    pub(crate) resolving: Option<String>,
    /// The variables of its loops, with each of their values.
    pub(crate) assigned: Vec<(String, String)>,
    /// Whether all of it was understood. If not, words may be missing.
    pub(crate) is_whole: bool,
}

impl Literals {
    /// Reads a text. Nothing if its nesting makes that too expensive: the bytes that may be read,
    /// in this text and in the words in it, are limited.
    pub(crate) fn of(text: &str, bytes: &mut usize) -> Option<Self> {
        *bytes = bytes.checked_sub(text.len())?;
        let tree = parsed(text)?;
        let is_whole = !tree.root_node().has_error();
        let mut found = Self { is_whole, ..Self::default() };
        let mut waiting = vec![(tree.root_node(), false)];
        while let Some((node, is_target)) = waiting.pop() {
            found.add(node, is_target, text, bytes)?;
            let mut is_first = true;
            for child in children(node) {
                let is_word_of_target = match node.kind() {
                    "file_redirect" => {
                        let is_written = child.is_named() && child.kind() != "file_descriptor";
                        writes(node) && is_written && std::mem::take(&mut is_first)
                    }
                    "concatenation" | "string" => is_target,
                    _ => false,
                };
                waiting.push((child, is_word_of_target));
            }
        }
        Some(found)
    }

    fn add(
        &mut self,
        node: Node<'_>,
        is_target: bool,
        text: &str,
        bytes: &mut usize,
    ) -> Option<()> {
        let of = |node: Node<'_>| text.get(node.byte_range()).unwrap_or_default();
        match node.kind() {
            "command_name" | "concatenation" | "word" | "string" | "raw_string"
            | "ansi_c_string" | "translated_string" | "extglob_pattern"
                if !is_target =>
            {
                let mut word = String::new();
                literal(node, text, &mut word);
                *bytes = bytes.checked_sub(word.len())?;
                self.words.push(word);
                // To a shell without `$'…'`, it is a dollar sign before plain quotes.
                if of(node).contains("$'") {
                    *bytes = bytes.checked_sub(of(node).len())?;
                    self.words.push(of(node).replace('\'', ""));
                }
            }
            "for_statement" => {
                let name = node.child_by_field_name("variable").map_or("", of);
                self.resolve(is_resolving(name).then(|| name.to_owned()));
                let mut cursor = node.walk();
                for value in node.children_by_field_name("value", &mut cursor) {
                    let mut word = String::new();
                    literal(value, text, &mut word);
                    self.assigned.push((name.to_owned(), word));
                }
            }
            "heredoc_body" => self.words.push(of(node).to_owned()),
            "variable_assignment" => {
                let name = node.child_by_field_name("name").map_or("", of);
                // `IFS= read` concerns only what is read.
                let is_read = name == "IFS"
                    && node.parent().and_then(|it| it.child_by_field_name("name")).map(of)
                        == Some("read");
                let value = node.child_by_field_name("value").map_or("", of);
                let is_resolving = resolves_as(name, unquoted(value));
                self.resolve((!is_read && is_resolving).then(|| name.to_owned()));
            }
            // `${PATH:=…}`.
            "expansion" => self.resolve(set_by_default(of(node))),
            // `export "PATH=…"`.
            "declaration_command" => {
                for word in children(node).filter(|it| it.kind() != "variable_assignment") {
                    let mut argument = String::new();
                    literal(word, text, &mut argument);
                    self.resolve(assigned_name(&argument));
                }
            }
            // `env PATH=… program`, `sh -c 'PATH=…; program'`, `read PATH`.
            "command" => {
                let program = node.child_by_field_name("name").map_or("", of);
                for word in children(node).skip(1).filter(|_| SETTERS.contains(&program)) {
                    let mut argument = String::new();
                    literal(word, text, &mut argument);
                    let name = argument.strip_prefix("-v").unwrap_or(&argument);
                    let named = is_resolving(name).then(|| name.to_owned());
                    self.resolve(named.or_else(|| assigned_name(&argument)));
                }
                // The variables of a container are not those of a program on this machine.
                let is_inside = ["docker", "nerdctl", "podman"].contains(&program);
                let reads = runs_files(program) && !is_inside;
                for word in children(node).skip(1).filter(|_| reads) {
                    let mut argument = String::new();
                    literal(word, text, &mut argument);
                    self.resolve(Self::of(&argument, bytes)?.resolving);
                }
            }
            _ => {}
        }
        Some(())
    }

    fn resolve(&mut self, name: Option<String>) {
        self.resolving = self.resolving.take().or(name);
    }
}

/// Whether a redirection only writes its file.
fn writes(redirect: Node<'_>) -> bool {
    let operators = [">", ">>", ">|", ">&", "&>", "&>>"];
    children(redirect).any(|it| operators.contains(&it.kind()))
}

/// A word without its quotes; expansions stay as written.
fn literal(node: Node<'_>, text: &str, word: &mut String) {
    let range = node.byte_range();
    let inside = |before: usize| text.get(range.start + before..range.end.saturating_sub(1));
    match node.kind() {
        "command_name" | "concatenation" => {
            children(node).for_each(|it| literal(it, text, word));
        }
        "raw_string" => word.push_str(inside(1).unwrap_or_default()),
        "ansi_c_string" => word.push_str(&ansi_c(inside(2).unwrap_or_default())),
        "translated_string" => word.push_str(&unescaped_in_quotes(inside(2).unwrap_or_default())),
        "string" => word.push_str(&unescaped_in_quotes(inside(1).unwrap_or_default())),
        _ => word.push_str(&unescaped(text.get(range).unwrap_or_default())),
    }
}

/// In double quotes, a backslash before any other character stands for itself.
fn unescaped_in_quotes(text: &str) -> String {
    let mut unescaped = String::new();
    let mut chars = text.chars().peekable();
    while let Some(it) = chars.next() {
        match chars.next_if(|next| it == '\\' && "$`\"\\\n".contains(*next)) {
            Some('\n') => {}
            Some(next) => unescaped.push(next),
            None => unescaped.push(it),
        }
    }
    unescaped
}

fn unescaped(text: &str) -> String {
    text.replace("\\\n", "").replace('\\', "")
}
