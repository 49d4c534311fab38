//! Shell commands with `{{data.key}}` in them.
//!
//! The shell's parser never sees a value: each placeholder becomes a reference to an environment
//! variable, quoted as its place needs, and the variable holds the value. Where a value may occur
//! is decided on the command's syntax tree, by the type that the flow declares for the value
//! ([`DataTypes`]). The check rejects what it does not recognise.

pub(crate) mod literals;
pub(crate) mod pieces;
pub(crate) mod programs;
mod quotes;
pub(crate) mod rules;
pub(crate) mod subset;
pub(crate) mod tree;
pub(crate) mod variables;
pub(crate) mod word;

use std::collections::BTreeSet;
use std::ops::Range;
use std::str::FromStr;

use tree_sitter::Node;
use waypost_events::Data;

use self::rules::{Refused, refused};
use self::tree::{Words, children};
use self::word::{Part, Word};
use crate::declared::Class;
use crate::scalar::from_text;
use crate::template::{InvalidTemplate, MissingKey, Placeholder, Reference, placeholders};
use crate::{DataTypes, Unready};

/// The longest command containing values, in bytes.
pub const COMMAND_BYTES_MAX: usize = 16 << 10;
/// The longest command, and the longest list of `exec`, in bytes.
pub const SCRIPT_BYTES_MAX: usize = 64 << 10;
/// Represents a value while a text is checked.
const VALUE_MARK: char = pieces::LAST_MARK;
/// The prefix of the variables for values; a number follows.
pub(crate) const VALUE_PREFIX: &str = "WAYPOST_VALUE_";

/// A shell command of a flow, without its values.
#[derive(Debug, Clone)]
pub struct Command {
    source: String,
    script: String,
    /// The number of each value's variable, and the value's reference.
    values: Vec<(usize, Reference)>,
    /// For each word that may start with a value: the numbers of those values.
    leads: Vec<Vec<usize>>,
    receivers: BTreeSet<(String, String)>,
    allows_dash: bool,
}

/// How a reference to a value's variable is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Outside quotes.
    Bare,
    /// Inside double quotes: expanded, and not split.
    Expanding,
    SingleQuoted,
    /// Where quotes would be part of the text; only for values of closed types.
    Inert,
    Comment,
}

impl Command {
    /// A command with values of the declared types; an undeclared value is a text.
    ///
    /// # Errors
    /// If the command cannot be parsed, or a value is at a place that its type does not allow.
    pub fn new(source: &str, types: &DataTypes) -> Result<Self, InvalidTemplate> {
        let invalid = |(at, what): Refused| InvalidTemplate::new(source, at, what);
        if source.trim().is_empty() {
            return Err(invalid((0, "the command is empty".to_owned())));
        }
        check_length("the command", source.len()).map_err(|it| invalid((0, it)))?;
        if let Some(at) = source.find('\0') {
            return Err(invalid((at, "the command has a NUL character".to_owned())));
        }
        let placeholders = placeholders(source)?;
        if placeholders.is_empty() {
            return Ok(Self::plain(source));
        }
        Reading::new(source, &placeholders, types).and_then(|it| it.command()).map_err(invalid)
    }

    /// Uses the text as a script without values.
    fn plain(source: &str) -> Self {
        Self {
            source: source.to_owned(),
            script: source.to_owned(),
            values: Vec::new(),
            leads: Vec::new(),
            receivers: BTreeSet::new(),
            allows_dash: false,
        }
    }

    /// A command that is not checked yet: it always fails.
    pub(crate) fn unchecked(draft: &Draft) -> Self {
        let script = "echo 'this command was not checked' >&2; exit 126".to_owned();
        Self { script, ..Self::plain(&draft.0) }
    }

    /// Allows values to make words start with `-`.
    #[must_use]
    pub fn allowing_dash(mut self, allows_dash: bool) -> Self {
        self.allows_dash = allows_dash;
        self
    }

    /// Whether values may make words start with `-`.
    pub fn allows_dash(&self) -> bool {
        self.allows_dash
    }

    /// The script for the shell. The same for every event.
    pub fn script(&self) -> &str {
        &self.script
    }

    /// The variables that the script references, with their values.
    ///
    /// # Errors
    /// If the event lacks a name that has no default.
    pub fn variables(&self, data: &Data) -> Result<Vec<(String, String)>, MissingKey> {
        let values = self.values.iter();
        values.map(|(number, it)| Ok((variable(*number), it.value(data)?))).collect()
    }

    /// Like [`variables`](Self::variables), but an error if a value would be read as an option.
    pub(crate) fn checked_variables(&self, data: &Data) -> Result<Vec<(String, String)>, Unready> {
        let variables = self.variables(data)?;
        let value = |number: &usize| {
            let found = self.values.iter().position(|(it, _)| it == number);
            found.map_or("", |it| variables[it].1.as_str())
        };
        for lead in self.leads.iter().filter(|_| !self.allows_dash) {
            let begins = lead.iter().map(value).find(|it| !it.is_empty());
            if begins.is_some_and(|it| it.starts_with('-')) {
                let first = self.values.iter().find(|(number, _)| lead.contains(number));
                let key = first.map(|(_, it)| it.key.clone()).unwrap_or_default();
                return Err(Unready::Dash { place: format!("the word with data.{key}") });
            }
        }
        Ok(variables)
    }

    /// The programs that receive texts, each with the key of the text.
    pub(crate) fn receivers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.receivers.iter().map(|(program, key)| (program.as_str(), key.as_str()))
    }

    /// The source text.
    pub fn as_str(&self) -> &str {
        &self.source
    }
}

/// Checks the bytes of a command, or of all words of a list.
pub(crate) fn check_length(what: &str, bytes: usize) -> Result<(), String> {
    if bytes <= SCRIPT_BYTES_MAX {
        return Ok(());
    }
    Err(format!(
        "{what} has {bytes} bytes; the limit is {SCRIPT_BYTES_MAX}: put it into a script of the project"
    ))
}

/// Numbered: a name containing the key could change what the shell does with it.
fn variable(number: usize) -> String {
    format!("{VALUE_PREFIX}{number}")
}

/// The command with all values as texts.
impl FromStr for Command {
    type Err = InvalidTemplate;

    fn from_str(source: &str) -> Result<Self, InvalidTemplate> {
        Self::new(source, &DataTypes::default())
    }
}

/// A command that is not checked yet: the types of its values are unknown while a file is being
/// parsed.
#[derive(Debug, Clone)]
pub(crate) struct Draft(pub(crate) String);

impl FromStr for Draft {
    type Err = InvalidTemplate;

    fn from_str(source: &str) -> Result<Self, InvalidTemplate> {
        placeholders(source).map(|_| Self(source.to_owned()))
    }
}

from_text!(Draft: "a shell command");

/// A command being parsed.
struct Reading<'a> {
    source: &'a str,
    /// The source with each placeholder replaced by a word of the same length.
    marked: String,
    placeholders: &'a [Placeholder],
    spans: Vec<Range<usize>>,
    classes: Vec<Class>,
}

impl<'a> Reading<'a> {
    fn new(
        source: &'a str,
        placeholders: &'a [Placeholder],
        types: &DataTypes,
    ) -> Result<Self, Refused> {
        if source.len() > COMMAND_BYTES_MAX {
            let what = format!(
                "the command has {} bytes; the limit for commands with {{{{data.key}}}} is {COMMAND_BYTES_MAX}",
                source.len()
            );
            return Err((0, what));
        }
        if let Some(at) = source.find(VALUE_PREFIX) {
            return Err((at, format!("names that start with {VALUE_PREFIX} are reserved")));
        }
        check_forms(source, placeholders)?;
        let mut marked = source.to_owned();
        for (number, it) in placeholders.iter().enumerate() {
            // At least ten bytes: {{data.x}}.
            let mut mark = format!("W{number}Q");
            mark.extend(std::iter::repeat_n('Q', it.span.len().saturating_sub(mark.len())));
            marked.replace_range(it.span.clone(), &mark);
        }
        check_defaults(placeholders, types)?;
        let classes = placeholders.iter().map(|it| types.class(&it.reference.key)).collect();
        let spans = placeholders.iter().map(|it| it.span.clone()).collect();
        Ok(Self { source, marked, placeholders, spans, classes })
    }

    fn command(&self) -> Result<Command, Refused> {
        let tree = tree::parse(&self.marked)?;
        let root = tree.root_node();
        if let Some(at) = tree::misread_comment(root, &self.marked) {
            let what = "a shell may read this # in another way; write a space before a comment, and quotes around any other #";
            return Err((at, what.to_owned()));
        }
        let places = self.spans.iter().zip(&self.classes);
        let places: Vec<Place> = places
            .map(|(span, class)| tree::place(root, span, *class))
            .collect::<Result<_, _>>()?;
        // Even if it is in a comment: the rest of the command is checked in the same way.
        let has_text = self.classes.contains(&Class::Text);
        if has_text {
            tree::check_known(root, 0)?;
            let seen = quotes::places(&self.marked, &self.spans)?;
            if let Some(it) = (0..places.len()).find(|it| seen.get(*it) != Some(&places[*it])) {
                let what = "is in a word with ambiguous quoting; simplify the word";
                return refused(self.spans[it].start, what);
            }
        }
        let mut command = Command::plain(self.source);
        command.script.clear();
        let mut at = 0;
        let mut written = Vec::new();
        for (number, it) in self.placeholders.iter().enumerate() {
            command.script.push_str(&self.source[at..it.span.start]);
            at = it.span.end;
            let name = variable(number);
            let start = command.script.len();
            match places[number] {
                Place::Bare => command.script.extend(["\"${", &name, "}\""]),
                Place::Expanding | Place::Inert => command.script.extend(["${", &name, "}"]),
                Place::SingleQuoted => command.script.extend(["'\"${", &name, "}\"'"]),
                Place::Comment => continue,
            }
            written.push((start, places[number], self.spans[number].start));
            command.values.push((number, it.reference.clone()));
        }
        command.script.push_str(&self.source[at..]);
        check_script(&command.script, &written)?;
        self.judge(root, has_text, &mut command)?;
        Ok(command)
    }

    /// Checks each simple command of the tree.
    fn judge(&self, root: Node<'_>, has_text: bool, command: &mut Command) -> Result<(), Refused> {
        let reader = Words { text: &self.marked, spans: &self.spans, classes: &self.classes };
        let mut beside = Beside::default();
        let mut waiting = vec![root];
        while let Some(node) = waiting.pop() {
            let below: Vec<Node<'_>> = children(node).collect();
            waiting.extend(below.iter().rev().filter(|it| it.is_named()));
            match node.kind() {
                "pipeline" if has_text => {
                    self.check_pipeline(node, &reader, command, &mut beside)?;
                }
                "file_redirect" if has_text => beside.redirection(node, &reader)?,
                "command" | "test_command" => {
                    let words = reader.of(node);
                    // Only closed values may be in [[ ]], and nothing there is an option.
                    if words.first().and_then(Word::literal).as_deref() == Some("[[") {
                        continue;
                    }
                    rules::check(&words)?;
                    command.leads.extend(rules::leads(&words).into_iter().map(|(_, it)| it));
                    self.receive(&words, &words, command);
                    if has_text {
                        rules::check_beside(&words)?;
                        beside.commands.push(words);
                    }
                }
                _ => {}
            }
        }
        beside.check()
    }

    /// The commands after a text in a pipeline read it.
    fn check_pipeline(
        &self,
        pipeline: Node<'_>,
        reader: &Words<'_>,
        command: &mut Command,
        beside: &mut Beside,
    ) -> Result<(), Refused> {
        let mut given: Option<Vec<Word>> = None;
        for stage in children(pipeline).filter(|it| it.is_named() && it.kind() != "comment") {
            if let Some(given) = &given {
                let mut stage = stage;
                while stage.kind() == "redirected_statement" {
                    let Some(body) = stage.child_by_field_name("body") else { break };
                    stage = body;
                }
                if stage.kind() != "command" {
                    return refused(stage.start_byte(), "can be piped only into a simple command");
                }
                let words = reader.of(stage);
                rules::check_piped(&words)?;
                beside.written_by(&words)?;
                self.receive(&words, given, command);
            }
            let range = stage.byte_range();
            let within: Vec<usize> = (0..self.spans.len())
                .filter(|it| {
                    self.classes[*it] == Class::Text && range.contains(&self.spans[*it].start)
                })
                .collect();
            if !within.is_empty() {
                let parts = within.iter().map(|it| Part::Value(*it, Class::Text));
                given
                    .get_or_insert_default()
                    .push(Word { parts: parts.collect(), at: range.start });
                beside.is_written = true;
            }
        }
        Ok(())
    }

    /// Records that a program receives the texts in some words.
    fn receive(&self, program: &[Word], given: &[Word], command: &mut Command) {
        let Some(program) = program.first().and_then(Word::literal) else { return };
        for part in given.iter().flat_map(|it| &it.parts) {
            if let Part::Value(number, Class::Text) = part {
                let key = self.placeholders[*number].reference.key.clone();
                command.receivers.insert((program.clone(), key));
            }
        }
    }
}

/// Checks that all shells read the text in the same way, whatever the values are.
fn check_forms(source: &str, placeholders: &[Placeholder]) -> Result<(), Refused> {
    let mut text = source.to_owned();
    for it in placeholders {
        // Of the same length, and allowed in arithmetic, where the types of values are checked.
        let mut mark = VALUE_MARK.to_string();
        mark.extend(std::iter::repeat_n('0', it.span.len().saturating_sub(mark.len())));
        text.replace_range(it.span.clone(), &mark);
    }
    subset::check(&text, subset::Use::default())
        .map_err(|(at, what)| (at, format!("the text here {what}")))
}

/// A default replaces the value, so it must be of the same type.
pub(crate) fn check_defaults(
    placeholders: &[Placeholder],
    types: &DataTypes,
) -> Result<(), Refused> {
    for it in placeholders {
        let Reference { key, default } = &it.reference;
        let (Some(kind), Some(default)) = (types.get(key), default) else { continue };
        if !kind.admits(default) {
            let what =
                format!("the default {default:?} does not have the type of data.{key}: {kind}");
            return Err((it.span.start, what));
        }
    }
    Ok(())
}

/// Checks that the finished script parses as intended: each variable is an expansion, inside double
/// quotes unless the value is of a closed type.
fn check_script(script: &str, written: &[(usize, Place, usize)]) -> Result<(), Refused> {
    let unsure = |at: usize| {
        let what = "the event's value is in a word with ambiguous quoting; simplify the word";
        (at, what.to_owned())
    };
    let first = written.first().map_or(0, |(.., at)| *at);
    let tree = tree::parse(script).map_err(|_| unsure(first))?;
    for (start, place, at) in written {
        let len = script.get(*start..).and_then(|it| it.find('}'));
        let end = start + len.map_or(0, |it| it + 1);
        // The start of ${.
        let expansion = start
            + match place {
                Place::Bare => 1,
                Place::SingleQuoted => 2,
                Place::Expanding | Place::Inert | Place::Comment => 0,
            };
        let name = script.get(expansion..end).unwrap_or_default();
        let found = tree.root_node().descendant_for_byte_range(expansion, expansion + 2);
        let found = found.and_then(|it| it.parent());
        let is_right = found.is_some_and(|it| {
            let around = it.parent();
            // The grammar includes blanks before an expansion in it.
            let before = script.get(it.start_byte()..expansion);
            it.kind() == "expansion"
                && before.is_some_and(|it| it.trim().is_empty())
                && script.get(expansion..it.end_byte()) == Some(name)
                && (*place == Place::Inert || around.is_some_and(|it| it.kind() == "string"))
        });
        if !is_right {
            return Err(unsure(*at));
        }
    }
    Ok(())
}

/// The other contents of a command that contains a text.
#[derive(Default)]
struct Beside {
    commands: Vec<Vec<Word>>,
    /// The names of the written files.
    files: BTreeSet<String>,
    /// Whether some file is written, or a pipeline could write one.
    is_written: bool,
}

impl Beside {
    fn redirection(&mut self, node: Node<'_>, reader: &Words<'_>) -> Result<(), Refused> {
        let writes = children(node).any(|it| matches!(it.kind(), ">" | ">>"));
        let Some(target) = node.child_by_field_name("destination").filter(|_| writes) else {
            return Ok(());
        };
        let target = reader.word(target).literal().unwrap_or_default();
        if target == "/dev/null" {
            return Ok(());
        }
        self.write(&target, node.start_byte())
    }

    /// Adds the files that `tee` writes.
    fn written_by(&mut self, words: &[Word]) -> Result<(), Refused> {
        let literals: Vec<String> = words.iter().filter_map(Word::literal).collect();
        match literals.split_first() {
            Some((program, names)) if program.ends_with("tee") => {
                names.iter().try_for_each(|it| self.write(it, words[0].at))
            }
            _ => Ok(()),
        }
    }

    fn write(&mut self, target: &str, at: usize) -> Result<(), Refused> {
        let name = target.rsplit('/').next().unwrap_or_default();
        if name.starts_with('.') || target.split('/').any(|it| it == ".git") {
            return refused(
                at,
                "cannot be used in a command that writes a hidden file, which a program may read as its configuration",
            );
        }
        self.files.insert(name.to_owned());
        self.is_written = true;
        Ok(())
    }

    fn check(mut self) -> Result<(), Refused> {
        for words in self.commands.iter().filter(|it| rules::changes_files(it)) {
            self.files.extend(rules::named_files(words));
            self.is_written = true;
        }
        for words in self.commands.iter().filter(|_| self.is_written) {
            let at = words.first().map_or(0, |it| it.at);
            if rules::runs_code(words) {
                return refused(
                    at,
                    "cannot be used in a command that both writes files and runs code",
                );
            }
            let script = rules::script_of(words).unwrap_or_default();
            if self.files.contains(script.rsplit('/').next().unwrap_or_default()) {
                return refused(
                    at,
                    &format!("cannot be used in a command that writes {script} and runs it"),
                );
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
