//! Checks of a flow's actions that need the types of its events' values.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::invalid::InvalidFile;
use super::{Flow, Kind, yaml};
use crate::command::rules::{self, Refused};
use crate::command::word::{Part, Word};
use crate::command::{Command, check_defaults};
use crate::declared::Class;
use crate::{DataTypes, Template};

/// A step of a path in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Key(&'static str),
    Index(usize),
}

/// The error, and its position in the document.
pub(super) struct Wrong {
    pub(super) path: Vec<Step>,
    pub(super) message: String,
}

/// Checks the actions of a flow, and replaces their commands by checked ones.
pub(super) fn judge(flow: &mut Flow, idx: usize) -> Result<(), Wrong> {
    let types = &flow.trigger.data;
    for (number, action) in flow.actions.iter_mut().enumerate() {
        let wrong = |rest: &[Step], message: String| {
            let mut path = vec![Step::Key("flows"), Step::Index(idx)];
            path.extend([Step::Key("actions"), Step::Index(number)]);
            path.extend_from_slice(rest);
            Wrong { path, message }
        };
        match &mut action.kind {
            Kind::Command(command) => {
                let allows_dash = command.allows_dash();
                let checked = Command::new(command.as_str(), types)
                    .map_err(|it| wrong(&[Step::Key("command")], it.to_string()))?;
                *command = checked.allowing_dash(allows_dash);
            }
            Kind::Exec { program, arguments, .. } => {
                check_exec(program, arguments, types)
                    .map_err(|(at, it)| wrong(&[Step::Key("exec"), Step::Index(at)], it))?;
            }
            Kind::Http { url, .. } => {
                check_url(url, types).map_err(|it| wrong(&[Step::Key("url")], it))?;
            }
            Kind::Emit { .. } | Kind::MemoryAdd { .. } => {}
        }
    }
    Ok(())
}

/// The words of an `exec` list, the program first; each position is its index in the list.
pub(crate) fn words_of(program: &str, arguments: &[Template], types: &DataTypes) -> Vec<Word> {
    let program = Word { parts: vec![Part::Literal(program.to_owned())], at: 0 };
    let arguments = arguments.iter().enumerate().map(|(idx, it)| {
        let parts = it.parts().map(|part| match part {
            Ok(text) => Part::Literal(text.to_owned()),
            Err((number, reference)) => Part::Value(number, types.class(&reference.key)),
        });
        Word { parts: parts.collect(), at: idx + 1 }
    });
    std::iter::once(program).chain(arguments).collect()
}

fn check_exec(program: &str, arguments: &[Template], types: &DataTypes) -> Result<(), Refused> {
    for (idx, argument) in arguments.iter().enumerate() {
        check_defaults(argument.placeholders(), types).map_err(|(_, it)| (idx + 1, it))?;
    }
    rules::check(&words_of(program, arguments, types))
}

/// A value is escaped in a URL, so it can only be part of its path, query or fragment. The parts
/// before may depend only on a list in the flow.
fn check_url(url: &Template, types: &DataTypes) -> Result<(), String> {
    check_defaults(url.placeholders(), types).map_err(|(_, it)| it)?;
    let mut host_ends = false;
    let mut before = String::new();
    for part in url.parts() {
        match part {
            Ok(text) => before.push_str(text),
            Err((_, reference)) => {
                let host = before.strip_prefix("https://").or(before.strip_prefix("http://"));
                host_ends = host_ends || host.is_some_and(|it| it.contains(['/', '?', '#']));
                let is_choice = host.is_some() && types.class(&reference.key) == Class::Choice;
                if !host_ends && !is_choice {
                    return Err(format!(
                        "data.{} would choose the scheme or the host of the URL; use it after the host's /, or declare it as one of [a, b] in trigger.data",
                        reference.key
                    ));
                }
                before.push('x');
            }
        }
    }
    let after = before.split_once("://").map_or("", |(_, after)| after);
    let authority = after.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    if url.parts().any(|it| it.is_err()) && (host.is_empty() || host.starts_with(':')) {
        return Err("the URL has no host, so the event's value would become it".to_owned());
    }
    Ok(())
}

/// What is wrong, with its place in the document.
pub(super) fn located(text: &str, wrong: &Wrong) -> InvalidFile {
    yaml::fault(text, At { path: &wrong.path, message: &wrong.message }, &wrong.message)
}

/// Fails with a message at the end of a path.
#[derive(Clone, Copy)]
struct At<'a> {
    path: &'a [Step],
    message: &'a str,
}

impl<'de> DeserializeSeed<'de> for At<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.path.first() {
            Some(Step::Key(_)) => deserializer.deserialize_map(self),
            Some(Step::Index(_)) => deserializer.deserialize_seq(self),
            None => deserializer.deserialize_str(self),
        }
    }
}

impl<'de> Visitor<'de> for At<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what was there before")
    }

    fn visit_str<E: de::Error>(self, _: &str) -> Result<(), E> {
        Err(E::custom(self.message))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Some((Step::Key(wanted), rest)) = self.path.split_first() else { return Ok(()) };
        while let Some(key) = map.next_key::<String>()? {
            if key == *wanted {
                map.next_value_seed(At { path: rest, ..self })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Some((Step::Index(wanted), rest)) = self.path.split_first() else { return Ok(()) };
        for _ in 0..*wanted {
            items.next_element::<IgnoredAny>()?;
        }
        items.next_element_seed(At { path: rest, ..self })?;
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
}
