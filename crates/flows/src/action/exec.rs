//! A program and its arguments, without a shell.

use waypost_events::Data;

use crate::command::{Code, check_length};
use crate::task::{Call, Unready};
use crate::{DataTypes, Template};

/// Programs that read every argument as code, or pass it to another one.
const READERS: [&str; 6] = ["env", "make", "sed", "ssh", "sudo", "xargs"];
const SHELLS: [&str; 15] = [
    "ash", "bash", "busybox", "csh", "dash", "elvish", "fish", "ksh", "mksh", "nu", "pwsh",
    "rbash", "sh", "tcsh", "zsh",
];
/// In place of a value; no value has it.
const MARK: char = '\0';

/// A program and its arguments, without a shell.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Exec {
    /// The program; it contains no value of an event.
    pub program: String,
    /// Each is one argument.
    arguments: Vec<Argument>,
    /// Whether an argument that starts with a value may start with `-`.
    pub allow_dash: bool,
}

#[derive(Debug, Clone)]
enum Argument {
    /// Whatever a value contains.
    Any(Template),
    /// Something may read it as code.
    Plain(Code),
}

impl Argument {
    fn template(&self) -> &Template {
        match self {
            Self::Any(template) => template,
            Self::Plain(code) => code.template(),
        }
    }
}

impl Exec {
    pub(super) fn new(words: Vec<Template>, allow_dash: bool) -> Result<Self, String> {
        let mut words = words.into_iter();
        let Some(program) = words.next().filter(|word| !word.as_str().is_empty()) else {
            return Err("exec needs a program".to_owned());
        };
        if !program.references().is_empty() {
            return Err("the event's value would choose the program; write its name".to_owned());
        }
        let program = program.as_str().to_owned();
        let mut bytes = program.len();
        let mut is_code = precedes_code(&program);
        let mut arguments = Vec::new();
        for word in words {
            bytes += word.as_str().len();
            check_length("exec", bytes)?;
            let has_values = !word.references().is_empty();
            if has_values && (is_code || is_code_option(word.as_str())) {
                let code = word.as_str().parse::<Code>();
                arguments.push(Argument::Plain(code.map_err(|error| error.to_string())?));
                continue;
            }
            is_code = is_code || (!has_values && precedes_code(word.as_str()));
            arguments.push(Argument::Any(word));
        }
        Ok(Self { program, arguments, allow_dash })
    }

    /// The items of the list, as they are written.
    pub(crate) fn items(&self) -> impl Iterator<Item = &str> {
        let arguments = self.arguments.iter().map(|argument| argument.template().as_str());
        std::iter::once(self.program.as_str()).chain(arguments)
    }

    /// The keys of values that must be plain although no type is declared for them.
    pub(crate) fn undeclared<'a>(&'a self, types: &'a DataTypes) -> impl Iterator<Item = &'a str> {
        let codes = self.arguments.iter().filter_map(|argument| match argument {
            Argument::Any(_) => None,
            Argument::Plain(code) => Some(code),
        });
        codes.flat_map(|code| code.undeclared(types))
    }

    /// The arguments for an event.
    pub(super) fn arguments(&self, call: &Call<'_>) -> Result<Vec<String>, Unready> {
        let (data, types) = (&call.event.data, &call.flow.trigger.data);
        let mut texts = Vec::with_capacity(self.arguments.len());
        let mut may_dash = self.allow_dash;
        for (idx, argument) in self.arguments.iter().enumerate() {
            let text = match argument {
                Argument::Any(template) => template.render(data)?,
                Argument::Plain(code) => code.render(data, types, self.allow_dash)?,
            };
            if !may_dash && text.starts_with('-') && begins_with_value(argument.template(), data) {
                return Err(Unready(format!(
                    "argument {} starts with -, because of an event's value: put -- before it, or write allow_dash: true in the action",
                    idx + 1
                )));
            }
            may_dash = may_dash || argument.template().as_str() == "--";
            texts.push(text);
        }
        Ok(texts)
    }
}

/// Whether a value is the first thing of an argument; a default is the author's text.
fn begins_with_value(template: &Template, data: &Data) -> bool {
    template.marked(data, MARK).starts_with(MARK)
}

/// Whether what follows this literal item may be read as code.
fn precedes_code(item: &str) -> bool {
    let name = item.rsplit('/').next().unwrap_or_default();
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    is_code_option(item) || SHELLS.contains(&name) || READERS.contains(&name)
}

/// Whether an item begins with an option whose argument is code: `-c`, also after other letters and
/// digits (`-lc`, `-lane`), `-e`, `-E`, `--eval`, `--command` or `-exec`. The argument may be in the
/// item itself.
fn is_code_option(item: &str) -> bool {
    let option = item.split("{{").next().unwrap_or_default();
    let name = option.trim_end_matches('=');
    if matches!(name, "--eval" | "--command" | "-exec" | "-execdir" | "-ok" | "-okdir") {
        return true;
    }
    let letters = option.strip_prefix('-').unwrap_or_default();
    letters.bytes().all(|byte| byte.is_ascii_alphanumeric()) && letters.ends_with(['c', 'e', 'E'])
}
