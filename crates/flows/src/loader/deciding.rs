//! Checks that a command says literally which programs it runs: a name that the shell computes could
//! be that of a file that nobody approved.

mod arithmetic;
mod known;
mod options;
mod programs;
mod words;

use std::collections::BTreeSet;

use tree_sitter::Node;

use self::arithmetic::{calculated, with_numbers};
use self::known::{is_plain_reference, name_of};
use self::options::{MARKERS, SHELLS};
use self::words::{Shown, words_of};
use super::split::with_folder;
use super::values::Values;
use crate::command::literals::is_resolving;
use crate::command::pieces::{expands, pieces};
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
        let is_shell =
            words.iter().any(|it| it.plain().is_some_and(|it| SHELLS.contains(&base(&it))));
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
        if is_resolving(name) && (word.sets() || !MARKERS.contains(&program)) {
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
