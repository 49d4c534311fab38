//! Shell commands with `{{data.key}}` in them.
//!
//! A value never passes through the shell's parser: each placeholder becomes a reference to a
//! variable of the environment, quoted as the place where it stands needs it, and the value goes
//! into the variable. Where the shell, or a program that the command names, would parse the
//! value again, there is no safe form, and the command is refused when it is read.

mod scan;

use std::str::FromStr;

use waypost_events::Data;

use self::scan::{Place, Scanner};
use crate::scalar::from_text;
use crate::template::{InvalidTemplate, MissingKey, Reference, placeholders};

/// A shell command of a flow, with its values taken out.
#[derive(Debug, Clone)]
pub struct Command {
    source: String,
    script: String,
    references: Vec<Reference>,
}

impl Command {
    /// What the shell is given. The same for every event.
    pub fn script(&self) -> &str {
        &self.script
    }

    /// The variables that the script refers to, with their values.
    ///
    /// # Errors
    /// If the event lacks a name that has no default.
    pub fn variables(&self, data: &Data) -> Result<Vec<(String, String)>, MissingKey> {
        self.references
            .iter()
            .enumerate()
            .map(|(number, reference)| Ok((variable(number), reference.value(data)?)))
            .collect()
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.source
    }
}

/// Numbered: a name made of the key could change what the shell does with it.
fn variable(number: usize) -> String {
    format!("WAYPOST_VALUE_{number}")
}

impl FromStr for Command {
    type Err = InvalidTemplate;

    fn from_str(source: &str) -> Result<Self, InvalidTemplate> {
        if source.trim().is_empty() {
            return Err(InvalidTemplate::new(source, 0, "the command is empty"));
        }
        if let Some(at) = source.find('\0') {
            return Err(InvalidTemplate::new(source, at, "the command has a NUL character"));
        }
        let mut script = String::with_capacity(source.len());
        let mut references = Vec::new();
        let mut scanner = Scanner::new(source);
        let mut at = 0;
        for placeholder in placeholders(source)? {
            script.push_str(&source[at..placeholder.span.start]);
            at = placeholder.span.end;
            let place = scanner
                .placeholder(placeholder.span.clone())
                .map_err(|what| InvalidTemplate::new(source, placeholder.span.start, what))?;
            let name = variable(references.len());
            match place {
                Place::Bare => script.extend(["\"${", &name, "}\""]),
                Place::Expanding => script.extend(["${", &name, "}"]),
                Place::SingleQuoted => script.extend(["'\"${", &name, "}\"'"]),
                Place::Comment => continue,
            }
            references.push(placeholder.reference);
        }
        scanner.finish().map_err(|(at, what)| InvalidTemplate::new(source, at, what))?;
        script.push_str(&source[at..]);
        Ok(Self { source: source.to_owned(), script, references })
    }
}

from_text!(Command: "a shell command");

#[cfg(test)]
mod tests;
