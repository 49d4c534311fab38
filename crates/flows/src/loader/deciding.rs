//! Checks that a command says literally which programs it runs: a name that the shell computes could
//! be that of a file that nobody approved.

mod programs;
mod words;

use std::collections::BTreeSet;

use tree_sitter::Node;

use self::words::{Shown, words_of};
use super::split::with_folder;
use super::values::Values;
use crate::INHERITED;
use crate::command::literals::is_resolving;
use crate::command::pieces::{Piece, expands, pieces};
use crate::command::programs::base;
use crate::command::tree::{TOO_NESTED, children, parsed};

/// Represents a value that is not from a list.
pub(super) const ANY: char = '\u{f8ff}';
/// The first of the characters that represent the values of `one of`.
pub(super) const CHOICE: u32 = 0xe000;
/// How deeply texts that are commands may be nested, and programs that run others.
const DEPTH_MAX: usize = 16;
/// The most values that a word can have.
const VALUES_MAX: usize = 1000;
/// The bytes of words and texts that are read, whatever the length of the command, and for each of
/// its bytes.
const BYTES_MIN: usize = 64 << 10;
const BYTES_FACTOR: usize = 32;
/// What to do about most errors.
const INSTEAD: &str = "name the program literally, or put the command into a script of the project";

/// Checks the text of a command. `given` are the variables that it gets; `choices` are the values of
/// each placeholder of a type `one of`.
pub(super) fn check_command(
    text: &str,
    given: Values,
    choices: &[&[String]],
) -> Result<(), String> {
    let mut first = Check::new(given, choices, text.len());
    // First, the values of variables, in every part of the text.
    first.is_first = true;
    first.code(text)?;
    let computed = first.computed;
    let mut check = Check { computed, ..Check::new(first.values, choices, text.len()) };
    check.code(text)?;
    check.folders()
}

/// Checks a program and its arguments, which no shell reads.
pub(super) fn check_words(
    words: &[String],
    given: Values,
    choices: &[&[String]],
) -> Result<(), String> {
    let words: Vec<Shown> = words.iter().map(|it| Shown::exact(it)).collect();
    let bytes = words.iter().map(Shown::len).sum();
    let mut first = Check::new(given, choices, bytes);
    first.is_first = true;
    first.simple(&words)?;
    let computed = first.computed;
    let mut check = Check { computed, ..Check::new(first.values, choices, bytes) };
    check.simple(&words)?;
    check.folders()
}

struct Check<'a> {
    /// The literal values of variables.
    values: Values,
    choices: &'a [&'a [String]],
    /// Variables with a value that only the shell can compute.
    computed: BTreeSet<String>,
    bytes: usize,
    depth: usize,
    /// Whether only the variables are looked for.
    is_first: bool,
    /// What `find` and `xargs` replace with a name.
    hole: Option<String>,
    /// A folder that is computed, and why, and a program that is looked for in the current folder.
    away: Option<(String, &'static str)>,
    relative: Option<String>,
}

impl<'a> Check<'a> {
    fn new(values: Values, choices: &'a [&'a [String]], bytes: usize) -> Self {
        let bytes = BYTES_MIN + BYTES_FACTOR * bytes;
        let computed = BTreeSet::new();
        Self {
            values,
            choices,
            computed,
            bytes,
            depth: 0,
            is_first: false,
            hole: None,
            away: None,
            relative: None,
        }
    }

    fn spend(&mut self, bytes: usize) -> Result<(), String> {
        let left = self.bytes.checked_sub(bytes.max(1)).filter(|_| self.depth < DEPTH_MAX);
        self.bytes = left.ok_or_else(|| format!("the command {TOO_NESTED}"))?;
        Ok(())
    }

    /// Checks a text that a shell reads.
    fn code(&mut self, text: &str) -> Result<(), String> {
        self.spend(text.len())?;
        let text = with_numbers(&with_folder(text));
        let tree = parsed(&text).ok_or_else(|| format!("the command {TOO_NESTED}"))?;
        if tree.root_node().has_error() {
            self.unread(&text)?;
        }
        self.depth += 1;
        let mut waiting = vec![tree.root_node()];
        while let Some(node) = waiting.pop() {
            self.node(node, &text)?;
            waiting.extend(children(node).filter(|it| it.is_named()));
        }
        self.depth -= 1;
        Ok(())
    }

    fn node(&mut self, node: Node<'_>, text: &str) -> Result<(), String> {
        let of = |node: Node<'_>| text.get(node.byte_range()).unwrap_or_default();
        let field = |name: &str| node.child_by_field_name(name);
        match node.kind() {
            "command" | "declaration_command" => self.simple(&words_of(node, text)),
            "variable_assignment" => {
                let name = field("name").map_or("", of);
                let value = field("value").map_or("", of);
                if of(node).starts_with(&format!("{name}=")) {
                    return self.assign(name, &Shown::new(value));
                }
                self.computed.insert(name.to_owned());
                calculated(of(node), false)
            }
            "for_statement" => {
                let name = field("variable").map_or("", of);
                let mut cursor = node.walk();
                let values: Vec<&str> =
                    node.children_by_field_name("value", &mut cursor).map(of).collect();
                let is_literal =
                    !values.is_empty() && values.iter().all(|it| expands(&pieces(it)).is_none());
                for value in values {
                    self.assign(name, &Shown::new(value))?;
                }
                self.computed.extend((!is_literal).then(|| name.to_owned()));
                Ok(())
            }
            "expansion" if of(node).starts_with("${!") && of(node).contains('=') => Err(format!(
                "{:?} sets a variable whose name the shell computes; write its name",
                of(node)
            )),
            "expansion" => {
                let reference = of(node);
                if is_plain_reference(reference) {
                    self.values.learn(reference);
                } else if reference.contains('=') {
                    self.computed.insert(name_of(reference).to_owned());
                }
                Ok(())
            }
            "arithmetic_expansion" | "c_style_for_statement" | "subscript" => {
                self.arithmetic(of(node))
            }
            "compound_statement" if of(node).starts_with("((") => self.arithmetic(of(node)),
            "heredoc_body" | "herestring_redirect" => self.input(node, text),
            _ => Ok(()),
        }
    }

    /// Checks what a shell reads from its input.
    fn input(&mut self, node: Node<'_>, text: &str) -> Result<(), String> {
        let above = std::iter::successors(node.parent(), |it| it.parent());
        let command =
            above.take_while(|it| it.kind() != "program").find_map(|it| match it.kind() {
                "command" => Some(it),
                "redirected_statement" => it.child_by_field_name("body"),
                _ => None,
            });
        let Some(command) = command.filter(|it| it.kind() == "command") else { return Ok(()) };
        let words = words_of(command, text);
        let is_shell = words
            .iter()
            .any(|it| it.plain().is_some_and(|it| programs::SHELLS.contains(&base(&it))));
        if !is_shell {
            return Ok(());
        }
        let input = text.get(node.byte_range()).unwrap_or_default();
        if let Some(word) = input.strip_prefix("<<<") {
            return self.run_code(&Shown::new(word.trim_start()));
        }
        let start = node.prev_sibling().filter(|it| it.kind() == "heredoc_start");
        let start = start.or_else(|| {
            let above = node.parent()?;
            children(above).find(|it| it.kind() == "heredoc_start")
        });
        let start = start.and_then(|it| text.get(it.byte_range())).unwrap_or_default();
        if start.contains(['\'', '"', '\\']) {
            return self.code(input);
        }
        // The outer shell expands its variables, as in double quotes.
        self.run_code(&Shown::new(&format!("\"{}\"", input.replace('"', "\\\""))))
    }

    /// Checks arithmetic, in which the shell first expands variables.
    fn arithmetic(&self, text: &str) -> Result<(), String> {
        calculated(text, true)?;
        let all = self.values.expanded(text, VALUES_MAX, &mut BYTES_MIN.clone());
        all.into_iter().flatten().try_for_each(|it| calculated(&it, false))
    }

    /// Learns the value of a variable. An array has several.
    fn assign(&mut self, name: &str, value: &Shown) -> Result<(), String> {
        match value.value().filter(|it| !it.starts_with('(')) {
            Some(text) => self.values.set(name, &text),
            None => drop(self.computed.insert(name.to_owned())),
        }
        // A shell evaluates its substitutions.
        if name == "PS4" {
            self.run_code(value)?;
        }
        // Where a number is expected, bash evaluates the value.
        calculated(&value.text(), false)
    }

    /// Checks a text that the grammar does not understand: any of its words could decide, and where
    /// its quotes and comments are is not known.
    fn unread(&self, text: &str) -> Result<(), String> {
        let is_braced = || {
            let (_, inside) = text.split_once('{')?;
            let (inside, _) = inside.rsplit_once('}')?;
            Some(inside.contains(',') || inside.contains(".."))
        };
        let is_computed = text.contains("$(") || text.contains('`');
        let mut words = text.split_whitespace().map(Shown::new);
        let unknown = words.find(|it| self.values_of(it).is_err());
        if unknown.is_none() && !is_computed && is_braced() != Some(true) {
            return Ok(());
        }
        let shown = unknown.unwrap_or_else(|| Shown::new(text)).quoted();
        Err(format!(
            "{shown} is in a command that cannot be parsed, so which programs it runs is not known; put the command into a script of the project"
        ))
    }

    /// The values of a word that decides what runs.
    fn decided(&mut self, word: &Shown) -> Result<Vec<String>, String> {
        let values = self.values_of(word).map_err(|what| {
            format!("{} is {what}, where it decides which program runs; {INSTEAD}", word.quoted())
        })?;
        self.spend(values.iter().map(String::len).sum())?;
        Ok(values)
    }

    /// What a word becomes; an error says why that is not known.
    fn values_of(&self, word: &Shown) -> Result<Vec<String>, &'static str> {
        match self.all_values_of(word) {
            Err(_) if self.is_first => Ok(vec![word.text()]),
            values => values,
        }
    }

    fn all_values_of(&self, word: &Shown) -> Result<Vec<String>, &'static str> {
        if let Some(what) = expands(&word.pieces) {
            return Err(what);
        }
        let mut values = vec![String::new()];
        let mut literal = String::new();
        let mut budget = BYTES_MIN;
        for piece in &word.pieces {
            let next = match piece {
                Piece::Char(it, _) => self.choices_of(*it).map(<[String]>::to_vec),
                Piece::Computed(what) => return Err(what),
                Piece::Variable(text, is_quoted) => {
                    let next = self.referred(text, &mut budget)?;
                    if !is_quoted && next.iter().any(|it| it.contains(['*', '?', '['])) {
                        return Err("a pattern");
                    }
                    Some(next)
                }
            };
            if let (None, Piece::Char(it, _)) = (&next, piece) {
                literal.push(*it);
                continue;
            }
            let next = next.unwrap_or_default();
            let pairs = values.iter().flat_map(|it| next.iter().map(move |end| (it, end)));
            let joined = pairs.map(|(it, end)| format!("{it}{literal}{end}"));
            values = joined.take(VALUES_MAX + 1).collect();
            literal.clear();
            if values.len() > VALUES_MAX
                || values.iter().map(String::len).sum::<usize>() > BYTES_MIN
            {
                return Err("a word with too many values");
            }
        }
        for value in &mut values {
            value.push_str(&literal);
        }
        let is_in_hole = |it: &String| {
            let hole = self.hole.as_ref().filter(|_| !it.starts_with('-'));
            hole.is_some_and(|hole| it.contains(hole))
        };
        if values.iter().any(is_in_hole) {
            return Err("a name that is inserted when the command runs");
        }
        Ok(values)
    }

    /// The values of a placeholder.
    fn choices_of(&self, mark: char) -> Option<&[String]> {
        let number = (mark as u32).checked_sub(CHOICE)?;
        self.choices.get(number as usize).copied()
    }

    /// The values of a variable, if the flow gives them literally.
    fn referred(&self, text: &str, budget: &mut usize) -> Result<Vec<String>, &'static str> {
        const UNKNOWN: &str = "a variable whose value the flow does not give literally";

        let name = name_of(text);
        if INHERITED.contains(&name) && text.len() <= name.len() + 3 {
            let known = self.values.expanded(text, VALUES_MAX, budget);
            return Ok(known.unwrap_or_default().into_iter().collect());
        }
        if !is_plain_reference(text) || self.is_computed(text, 0) {
            return Err(UNKNOWN);
        }
        let mut known = self.values.expanded(text, VALUES_MAX, budget).ok_or(UNKNOWN)?;
        known.remove(text);
        let is_known = !known.is_empty() && known.iter().all(|it| !it.contains(['$', '`']));
        if is_known { Ok(known.into_iter().collect()) } else { Err(UNKNOWN) }
    }

    /// Whether a reference, or a value of its variable, refers to a computed one.
    fn is_computed(&self, text: &str, depth: usize) -> bool {
        let mut names = text.match_indices('$').map(|(at, _)| name_of(&text[at..]));
        names.any(|name| {
            self.computed.contains(name)
                || (depth < DEPTH_MAX
                    && self
                        .values
                        .of(name)
                        .any(|it| it.contains('$') && self.is_computed(it, depth + 1)))
        })
    }

    /// Notes a folder that the command goes to.
    fn go(&mut self, folder: &Shown) {
        if let Err(what) = self.values_of(folder) {
            self.away = Some((folder.quoted(), what));
        }
    }

    /// Notes a program that is looked for in the current folder.
    fn look(&mut self, program: &str) {
        if !program.starts_with(['/', '~']) {
            self.relative = Some(program.to_owned());
        }
    }

    /// Checks that it is known where programs are looked for.
    fn folders(&self) -> Result<(), String> {
        let (Some((folder, what)), Some(program)) = (&self.away, &self.relative) else {
            return Ok(());
        };
        Err(format!(
            "{folder} is {what}, where it decides in which folder {program:.80?} is; write the folder literally, or put the command into a script of the project"
        ))
    }

    /// Checks a simple command: its first word is the name of the program.
    fn simple(&mut self, words: &[Shown]) -> Result<(), String> {
        let Some((name, rest)) = words.split_first() else { return Ok(()) };
        self.depth += 1;
        self.spend(words.iter().map(Shown::len).sum())?;
        let is_split = name.is_split();
        for value in self.decided(name)? {
            let mut all = if is_split { Shown::split(&value) } else { vec![Shown::exact(&value)] };
            all.extend_from_slice(rest);
            match all.split_first() {
                // It vanishes, or a variable is several words.
                Some((name, rest)) if is_split => self.known(&name.text(), rest)?,
                Some(_) => self.known(&value, rest)?,
                None => {}
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// Checks a word that is the text of a command.
    fn run_code(&mut self, word: &Shown) -> Result<(), String> {
        let hole = self.hole.take();
        let values = self.values_of(word).map_err(|what| {
            format!(
                "{} is a command in a text, and contains {what}; write the text literally, in single quotes, or put it into a script of the project",
                word.quoted()
            )
        });
        let checked = values.and_then(|all| all.iter().try_for_each(|it| self.code(it)));
        self.hole = hole;
        checked
    }

    /// Checks a word that sets a variable, or names one.
    fn set(&mut self, program: &str, word: &Shown) -> Result<(), String> {
        if self.is_first && word.name().is_none() {
            return Ok(());
        }
        let name = word.name().ok_or_else(|| {
            format!(
                "{} is the name of a variable that {program} sets, and has to be computed; write the name literally",
                word.quoted()
            )
        })?;
        let name = name.strip_suffix('+').unwrap_or(&name);
        if is_resolving(name) && (word.sets() || !programs::MARKERS.contains(&program)) {
            return Err(format!(
                "{} sets {name}, which changes the programs that it runs; do not set it, and name each program by its path",
                word.quoted()
            ));
        }
        match word.setting() {
            Some(value) if !word.text().contains("+=") => self.assign(name, &value),
            Some(_) => {
                self.computed.insert(name.to_owned());
                Ok(())
            }
            None => Ok(()),
        }
    }
}

/// The text with a number in place of each value in plain arithmetic: the grammar does not know the
/// characters that represent values there.
fn with_numbers(text: &str) -> String {
    let is_value = |it: char| (CHOICE..=ANY as u32).contains(&(it as u32));
    // No quote, and nothing that ends a command.
    let is_plain =
        |it: char| it.is_ascii_alphanumeric() || " _$+-*/%<>=!^~?:,".contains(it) || is_value(it);
    let mut replaced = String::with_capacity(text.len());
    let mut left = text;
    while let Some((before, rest)) = left.split_once("$((") {
        let Some((inside, after)) = rest.split_once("))") else { break };
        replaced.push_str(before);
        replaced.push_str("$((");
        if inside.chars().all(is_plain) && !before.ends_with('\\') {
            replaced.extend(inside.chars().map(|it| if is_value(it) { '1' } else { it }));
            replaced.push_str("))");
            left = after;
        } else {
            left = rest;
        }
    }
    replaced.push_str(left);
    replaced
}

/// Rejects a text that sets a variable when it is evaluated as arithmetic, if that could change which
/// program a name stands for.
fn calculated(text: &str, is_arithmetic: bool) -> Result<(), String> {
    let is_part = |it: char| it.is_ascii_alphanumeric() || it == '_';
    for (at, _) in text.match_indices('=') {
        if text[at + 1..].starts_with('=') || text[..at].ends_with(['=', '!', '<', '>']) {
            continue;
        }
        let before = text[..at].trim_end_matches(|it: char| "+-*/%&|^ ".contains(it));
        let name = before.rsplit(|it| !is_part(it)).next().unwrap_or_default();
        let around = &before[..before.len() - name.len()];
        if is_arithmetic && around.ends_with(['$', '}', ')']) {
            return Err(format!(
                "{} sets a variable whose name the shell computes; write its name",
                Shown::new(text).quoted()
            ));
        }
        if is_resolving(name) {
            return Err(format!(
                "{} sets {name}, which changes the programs that it runs; do not set it, and name each program by its path",
                Shown::new(text).quoted()
            ));
        }
    }
    Ok(())
}

/// The name of the variable at the beginning of a reference.
fn name_of(text: &str) -> &str {
    let name = text.trim_start_matches(['$', '{']);
    let end = name.find(|it: char| !it.is_ascii_alphanumeric() && it != '_');
    &name[..end.unwrap_or(name.len())]
}

/// Whether a reference stands for a value, or for what it says itself: `$x`, `${x:-a}`.
fn is_plain_reference(text: &str) -> bool {
    let name = name_of(text);
    let Some(rest) = text.strip_prefix("${") else { return true };
    let Some(rest) = rest.strip_prefix(name) else { return false };
    let operator = rest.strip_prefix(':').unwrap_or(rest);
    operator.starts_with(['}', '-', '=', '+'])
        && !rest.contains(['\'', '"', '\\', '`', '*', '?', '['])
        && !rest.contains("$(")
}
