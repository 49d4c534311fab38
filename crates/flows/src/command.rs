//! Shell commands with `{{data.key}}` in them.
//!
//! A command is code that the user has approved; a value is data. A value takes the place of its
//! placeholder as text, and only if it is plain ([`Code`]): then it is one word, without shell
//! syntax, for every shell and at any depth of quoting.

mod code;
mod lexer;
mod plain;

use std::str::FromStr;

use serde::Deserialize;
use waypost_events::Data;

pub(crate) use self::code::Code;
use self::lexer::{Lexer, Spot};
use crate::scalar::from_text;
use crate::template::InvalidTemplate;
use crate::{DataTypes, Unready};

/// The longest command, and the longest list of `exec`, in bytes.
pub const SCRIPT_BYTES_MAX: usize = 64 << 10;

/// A shell command of a flow.
#[derive(Debug, Clone)]
pub struct Command {
    pub(crate) code: Code,
    /// Whether values may begin with `-`.
    pub(crate) allow_dash: bool,
    /// Instead of the flow's.
    pub(crate) shell: Option<Shell>,
}

/// The shell that runs a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shell {
    /// `/bin/sh`.
    #[default]
    Sh,
    /// bash, in `/bin` or `/usr/bin`.
    Bash,
}

impl Shell {
    /// Where it can be.
    pub(crate) fn paths(self) -> &'static [&'static str] {
        match self {
            Self::Sh => &["/bin/sh"],
            Self::Bash => &["/bin/bash", "/usr/bin/bash"],
        }
    }

    /// The arguments with which it runs a script.
    pub(crate) fn arguments(self, script: String) -> Vec<String> {
        let options: &[&str] = match self {
            Self::Sh => &["-c"],
            // A shell that takes its input for a network connection reads a file of the user.
            Self::Bash => &["--norc", "-c"],
        };
        options.iter().map(|option| (*option).to_owned()).chain([script]).collect()
    }
}

impl Command {
    /// The script for an event, with its values.
    ///
    /// # Errors
    /// If the event lacks a value, or if a value is not plain.
    pub fn script(&self, data: &Data, types: &DataTypes) -> Result<String, Unready> {
        self.code.render(data, types, self.allow_dash)
    }

    /// The keys of values that must be plain although no type is declared for them.
    pub(crate) fn undeclared<'a>(&'a self, types: &'a DataTypes) -> impl Iterator<Item = &'a str> {
        self.code.undeclared(types)
    }

    /// The places of the source where a value is the name of a command, and what is wrong with it.
    pub(crate) fn cautions(&self) -> Vec<InvalidTemplate> {
        let found = Lexer::new(self.code.marked()).spots().into_iter();
        let names = found.filter(|(_, spot)| *spot == Spot::Name);
        let cautions = names.filter_map(|(number, _)| {
            let reference = self.code.template().references().get(number)?;
            let what = format!(
                "data.{} is the name of a command here, or a part of it: the event chooses what runs",
                reference.key
            );
            Some(InvalidTemplate::new(self.as_str(), reference.span.start, what))
        });
        cautions.collect()
    }

    /// The source text.
    pub fn as_str(&self) -> &str {
        self.code.template().as_str()
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

/// An error if a placeholder is where a value would not be a word.
impl FromStr for Command {
    type Err = InvalidTemplate;

    fn from_str(source: &str) -> Result<Self, InvalidTemplate> {
        let invalid = |at, what: &str| InvalidTemplate::new(source, at, what);
        if source.trim().is_empty() {
            return Err(invalid(0, "the command is empty"));
        }
        check_length("the command", source.len()).map_err(|error| invalid(0, &error))?;
        if let Some(at) = source.find('\0') {
            return Err(invalid(at, "the command has a NUL character"));
        }
        let code: Code = source.parse()?;
        let spots = Lexer::new(code.marked()).spots();
        for (number, spot) in spots {
            let what = match spot {
                Spot::Name => continue,
                Spot::Descriptor => "write a space between the placeholder and < or >",
                Spot::Delimiter => {
                    "the delimiter of a here-document is literal; write a word after <<"
                }
            };
            let at = code
                .template()
                .references()
                .get(number)
                .map_or(0, |reference| reference.span.start);
            return Err(invalid(at, what));
        }
        Ok(Self { code, allow_dash: false, shell: None })
    }
}

from_text!(Command: "a shell command");
