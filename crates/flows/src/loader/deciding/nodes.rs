//! The parts of a text that a shell reads, in their order.

use tree_sitter::Node;

use super::arithmetic::{evaluated, targets};
use super::input::inputs;
use super::known::name_of;
use super::scope::is_identifier;
use super::words::{Shown, words_of};
use super::{Check, INSTEAD};
use crate::command::literals::{is_resolving, unquoted};
use crate::command::pieces::{ansi_c, is_mark};
use crate::command::tree::children;
use crate::command::variables::resolves_as;

/// Where an assignment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Where it may not happen, or not in this shell, or more than once.
    Inner,
    /// In the text itself.
    Top,
    /// At the beginning of a list, in which only `&&` may be.
    Left { is_and: bool },
    /// After a `&&`: it has happened in the rest of the list.
    Right,
}

/// What is to be done next.
enum Step<'t> {
    Enter {
        node: Node<'t>,
        place: Place,
        /// The redirections of the commands around it that are also its own.
        redirects: Vec<Node<'t>>,
    },
    /// A loop ends.
    Forget(String),
    /// A list ends.
    EndList,
}

impl Check<'_> {
    pub(super) fn nodes(&mut self, root: Node<'_>, text: &str) -> Result<(), String> {
        self.find_descriptors(text);
        let place = if root.has_error() { Place::Inner } else { Place::Top };
        let mut waiting = vec![Step::Enter { node: root, place, redirects: Vec::new() }];
        while let Some(step) = waiting.pop() {
            match step {
                Step::Forget(name) => drop(self.scope.values.remove(&name)),
                Step::EndList => {
                    for name in std::mem::take(&mut self.scope.chained) {
                        self.scope.values.remove(&name);
                    }
                }
                Step::Enter { node, place, redirects } => {
                    self.node(node, place, &redirects, text)?;
                    if node.kind() == "for_statement" {
                        let name = node.child_by_field_name("variable");
                        let name = name.and_then(|it| text.get(it.byte_range()));
                        waiting.push(Step::Forget(name.unwrap_or_default().to_owned()));
                    }
                    if node.kind() == "list" && place == Place::Top {
                        waiting.push(Step::EndList);
                    }
                    let mut below = steps_below(node, place, &redirects);
                    waiting.extend(std::iter::from_fn(|| below.pop()));
                }
            }
        }
        Ok(())
    }

    /// Notes variables that a redirection sets: `{x}<file`.
    fn find_descriptors(&mut self, text: &str) {
        for (at, _) in text.match_indices('{') {
            let Some((name, after)) = text[at + 1..].split_once('}') else { continue };
            if is_identifier(name) && after.starts_with(['<', '>']) {
                self.unknown(name);
            }
        }
    }

    fn node(
        &mut self,
        node: Node<'_>,
        place: Place,
        redirects: &[Node<'_>],
        text: &str,
    ) -> Result<(), String> {
        let of = |node: Node<'_>| text.get(node.byte_range()).unwrap_or_default();
        match node.kind() {
            "command" | "declaration_command" | "unset_command" => {
                let input = inputs(node, redirects, text);
                let before = std::mem::replace(&mut self.input, input);
                self.exported = exported(node, text);
                let words = words_of(node, redirects, text);
                self.guard(&words);
                let checked = self.simple(&words);
                self.exported.clear();
                self.input = before;
                checked
            }
            "variable_assignment" => self.assignment(node, place, text),
            "number" | "word" if is_descriptor(node, text) => Err(format!(
                "{:?} before a redirection is read as a word; write the redirection of the input without a number",
                of(node)
            )),
            "for_statement" => self.loop_variable(node, text),
            "test_command" => self.test_command(node, text),
            "expansion" if of(node).starts_with("${!") && of(node).contains('=') => Err(format!(
                "{:?} sets a variable whose name the shell computes; write its name",
                of(node)
            )),
            "expansion" => {
                let (reference, name) = (of(node), name_of(of(node)));
                if !reference.contains('=') {
                    return Ok(());
                }
                if is_resolving(name) && is_default(reference, name) {
                    return Err(format!(
                        "{reference:.80?} sets {name}, which changes the programs that it runs; do not set it, and name each program by its path"
                    ));
                }
                self.unknown(name);
                // `${y:x=5}` is arithmetic.
                for it in targets(reference) {
                    self.unknown(&it);
                }
                Ok(())
            }
            "arithmetic_expansion" | "c_style_for_statement" | "subscript" => {
                self.arithmetic(of(node))
            }
            "compound_statement" if of(node).starts_with("((") => self.arithmetic(of(node)),
            _ => Ok(()),
        }
    }

    fn assignment(&mut self, node: Node<'_>, place: Place, text: &str) -> Result<(), String> {
        let of = |node: Node<'_>| text.get(node.byte_range()).unwrap_or_default();
        let name = node.child_by_field_name("name").map_or("", of);
        let plain = name.split('[').next().unwrap_or_default();
        let value = node.child_by_field_name("value").map_or("", of);
        let is_command_s = |kinds: &[&str]| {
            node.parent().is_some_and(|above| {
                let program = above.child_by_field_name("name").map_or("", of);
                kinds.contains(&program)
            })
        };
        if resolves_as(plain, unquoted(value)) && !(plain == "IFS" && is_command_s(&["read"])) {
            return Err(format!(
                "{:.80?} sets {plain}, which changes the programs that it runs; do not set it, and name each program by its path",
                of(node)
            ));
        }
        if name.contains(is_mark) {
            return Err(format!(
                "{:.80} names a variable by a value of the event; write the name",
                of(node)
            ));
        }
        let is_plain = is_identifier(name) && of(node).starts_with(&format!("{name}="));
        if !is_plain || value.starts_with('(') {
            self.unknown(plain);
            return self.check_value(&Shown::new(value));
        }
        let shown = Shown::new(value);
        // Some shells expand the words of `export` as any others.
        let is_one =
            node.parent().is_none_or(|it| it.kind() != "declaration_command") || !shown.is_split();
        let values = self.assign(name, &shown, node.start_byte())?;
        let Some(values) = values.filter(|_| place != Place::Inner && is_one) else {
            return Ok(());
        };
        self.scope.values.insert(name.to_owned(), values);
        self.scope.chained.extend((place == Place::Right).then(|| name.to_owned()));
        Ok(())
    }

    /// The variable of a loop over literal words is known in its body.
    fn loop_variable(&mut self, node: Node<'_>, text: &str) -> Result<(), String> {
        let of = |node: Node<'_>| text.get(node.byte_range()).unwrap_or_default();
        let name = node.child_by_field_name("variable").map_or("", of);
        let mut cursor = node.walk();
        let words = node.children_by_field_name("value", &mut cursor);
        let words: Vec<Shown> = words.map(|it| Shown::new(of(it))).collect();
        for it in &words {
            self.check_value(it)?;
            self.event_variable(name, it)?;
        }
        let known = |it: &Shown| self.assigned_values(it).ok().filter(|_| !it.is_split());
        let values: Option<Vec<Vec<String>>> = words.iter().map(known).collect();
        match values.filter(|it| !it.is_empty() && of(node).starts_with("for")) {
            Some(values) => {
                let place = (self.scope.text, node.start_byte());
                self.found.assigned.entry(name.to_owned()).or_default().insert(place);
                self.scope.values.insert(name.to_owned(), values.concat());
            }
            None => self.unknown(name),
        }
        if name.contains(is_mark) {
            return Err(format!(
                "for {name} names a variable by a value of the event; write the name"
            ));
        }
        if is_resolving(name) {
            return Err(format!(
                "for sets {name}, which changes the programs that it runs; do not set it, and name each program by its path"
            ));
        }
        Ok(())
    }

    /// Checks `[ ]` and `[[ ]]`.
    fn test_command(&mut self, node: Node<'_>, text: &str) -> Result<(), String> {
        let of = |node: Node<'_>| text.get(node.byte_range()).unwrap_or_default();
        let written = of(node);
        let words: Vec<&str> = written.split_whitespace().collect();
        for pair in words.windows(2).filter(|it| ["-v", "-R"].contains(&it[0])) {
            self.variable_name("[ -v ]", &Shown::new(pair[1]))?;
        }
        let compares = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
        if !written.starts_with("[[") || !words.iter().any(|it| compares.contains(it)) {
            return Ok(());
        }
        let mut waiting = vec![node];
        while let Some(it) = waiting.pop() {
            let inside = match it.kind() {
                "raw_string" => of(it).to_owned(),
                "ansi_c_string" => ansi_c(of(it)),
                _ => String::new(),
            };
            if evaluated(&inside) {
                return Err(format!(
                    "{inside:.80?} contains a subscript with a command, which [[ ]] would run; {INSTEAD}"
                ));
            }
            waiting.extend(children(it));
        }
        self.arithmetic(written)
    }
}

/// The variables that an `export` sets by assignments.
fn exported(command: Node<'_>, text: &str) -> Vec<String> {
    let of = |node: Node<'_>| text.get(node.byte_range()).unwrap_or_default();
    if command.kind() != "declaration_command" || !of(command).starts_with("export") {
        return Vec::new();
    }
    let set = children(command).filter(|it| it.kind() == "variable_assignment");
    let names = set.filter_map(|it| it.child_by_field_name("name"));
    names.map(|it| of(it).to_owned()).collect()
}

/// Whether a number belongs to a redirection, and the grammar takes it for a word: `sh 0<file`.
fn is_descriptor(node: Node<'_>, text: &str) -> bool {
    let written = text.get(node.byte_range()).unwrap_or_default();
    let after = text.get(node.end_byte()..).unwrap_or_default();
    written.chars().all(|it| it.is_ascii_digit())
        && after.starts_with(['<', '>'])
        && node.parent().is_some_and(|it| !it.kind().ends_with("_expression"))
}

/// Whether it is `${NAME=VALUE}` or `${NAME:=VALUE}`.
fn is_default(reference: &str, name: &str) -> bool {
    let operator = reference.strip_prefix("${").and_then(|it| it.strip_prefix(name));
    operator.is_some_and(|it| it.starts_with('=') || it.starts_with(":=") || it.starts_with('['))
}

/// The steps for the parts of a node, in their order.
fn steps_below<'t>(node: Node<'t>, place: Place, redirects: &[Node<'t>]) -> Vec<Step<'t>> {
    let all: Vec<Node<'t>> = children(node).collect();
    let named: Vec<usize> = (0..all.len()).filter(|it| all[*it].is_named()).collect();
    let last = named.last().copied();
    let own = |it: Node<'_>| {
        matches!(it.kind(), "file_redirect" | "heredoc_redirect" | "herestring_redirect")
    };
    let inner = match (node.kind(), place) {
        ("list", Place::Top) => Place::Left { is_and: has_only_and(node) },
        ("list", place) => place,
        _ => Place::Inner,
    };
    let steps = named.into_iter().map(|idx| {
        let place = match node.kind() {
            // In the background, it does not happen in this shell.
            "program" if all.get(idx + 1).is_some_and(|it| it.kind() == "&") => Place::Inner,
            "program" | "variable_assignments" => place,
            "declaration_command" if all[0].kind() == "export" => place,
            "list" if idx == 0 => inner,
            "list" if inner == Place::Left { is_and: true } => Place::Right,
            _ => Place::Inner,
        };
        let redirects = match node.kind() {
            "redirected_statement" if idx == 0 => {
                redirects.iter().copied().chain(all.iter().copied().filter(|it| own(*it))).collect()
            }
            "list" | "pipeline" | "negated_command" if Some(idx) == last => redirects.to_vec(),
            _ => Vec::new(),
        };
        Step::Enter { node: all[idx], place, redirects }
    });
    steps.collect()
}

/// Whether all operators of a list are `&&`.
fn has_only_and(list: Node<'_>) -> bool {
    let mut node = list;
    while node.kind() == "list" {
        if children(node).any(|it| it.kind() == "||") {
            return false;
        }
        let Some(first) = node.child(0) else { return false };
        node = first;
    }
    true
}
