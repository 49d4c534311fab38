//! Checks of a flow's actions that need the types of its events' values.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::invalid::InvalidFile;
use super::{Flow, Variables, yaml};
use crate::Kind;

/// A step of a path in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

/// The error, and its position in the document.
pub(super) struct Wrong<'a> {
    pub(super) path: Vec<Step<'a>>,
    pub(super) message: String,
}

/// The most bytes of all commands and lists of `exec` in a file, each with the variables that it
/// gets: checking them takes time before anyone has approved the file.
pub const COMMANDS_BYTES_MAX: usize = 256 << 10;

/// Checks the length of all commands of a file.
pub(super) fn measure(flows: &[Flow]) -> Result<(), Wrong<'static>> {
    let bytes_of =
        |env: &Variables| env.0.iter().map(|(it, value)| it.len() + value.len()).sum::<usize>();
    let mut bytes = 0_usize;
    for (idx, flow) in flows.iter().enumerate() {
        let of_flow = bytes_of(&flow.env);
        for (number, action) in flow.actions.iter().enumerate() {
            let of_action = match &action.kind {
                Kind::Command(it) => it.as_str().len(),
                Kind::Exec(it) => it.bytes(),
                _ => continue,
            };
            bytes += of_action + of_flow + bytes_of(&action.env);
            if bytes > COMMANDS_BYTES_MAX {
                let message = format!(
                    "the commands of the file, each with its variables, exceed {COMMANDS_BYTES_MAX} bytes here; put long commands into scripts of the project, or flows into another file"
                );
                let path = command_path((idx, number), &action.kind);
                return Err(Wrong { path, message });
            }
        }
    }
    Ok(())
}

/// The path of an action's command or program; `at` are the indexes of the flow and the action.
fn command_path(at: (usize, usize), kind: &Kind) -> Vec<Step<'static>> {
    let mut path = vec![Step::Key("flows"), Step::Index(at.0)];
    path.extend([Step::Key("actions"), Step::Index(at.1)]);
    match kind {
        Kind::Exec(_) => path.extend([Step::Key("exec"), Step::Index(0)]),
        _ => path.push(Step::Key("command")),
    }
    path
}

/// An error of a command; `at` are the indexes of the flow and the action.
pub(crate) fn invalid_command(
    text: &str,
    at: (usize, usize),
    kind: &Kind,
    message: String,
) -> InvalidFile {
    located(text, &Wrong { path: command_path(at, kind), message })
}

/// An error of a variable of `env:`; `at` are the indexes of the flow and of its action, if it is the
/// action's.
pub(crate) fn invalid_env(
    text: &str,
    at: (usize, Option<usize>),
    name: &str,
    message: String,
) -> InvalidFile {
    let mut path = vec![Step::Key("flows"), Step::Index(at.0)];
    path.extend(at.1.into_iter().flat_map(|it| [Step::Key("actions"), Step::Index(it)]));
    path.extend([Step::Key("env"), Step::Key(name)]);
    located(text, &Wrong { path, message })
}

/// Checks the actions of a flow, and replaces their commands by checked ones.
pub(super) fn judge(flow: &mut Flow, idx: usize) -> Result<(), Wrong<'static>> {
    let types = &flow.trigger.data;
    for (number, action) in flow.actions.iter_mut().enumerate() {
        action.kind.check(types).map_err(|it| {
            let mut path = vec![Step::Key("flows"), Step::Index(idx)];
            path.extend([Step::Key("actions"), Step::Index(number), Step::Key(it.field)]);
            path.extend(it.index.map(Step::Index));
            Wrong { path, message: it.message }
        })?;
    }
    Ok(())
}

/// What is wrong, with its place in the document.
pub(super) fn located(text: &str, wrong: &Wrong<'_>) -> InvalidFile {
    yaml::fault(text, At { path: &wrong.path, message: &wrong.message }, &wrong.message)
}

/// Fails with a message at the end of a path.
#[derive(Clone, Copy)]
struct At<'a> {
    path: &'a [Step<'a>],
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
