use std::collections::BTreeSet;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use waypost_events::{Data, EventType, Number};

use super::{Folder, Variables};
use crate::command::Draft;
use crate::scalar::pairs;
use crate::{Command, Condition, Span, Template};

/// One action of a flow.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Action {
    /// For people.
    pub name: Option<String>,
    /// If given, the action is skipped unless it holds.
    pub condition: Option<Condition>,
    /// What it does.
    pub kind: Kind,
    /// It is ended after this.
    pub timeout: Span,
    /// Whether it is retried when it fails.
    pub retry: Retry,
    /// What to do after a crash of the service interrupted it.
    pub on_interrupt: OnInterrupt,
    /// Whether the next action runs even if this one fails.
    pub continue_on_error: bool,
    /// Variables in addition to the flow's.
    pub env: Variables,
    /// Secrets in addition to the flow's.
    pub secrets: BTreeSet<String>,
    /// Replaces the flow's.
    pub cwd: Option<Folder>,
}

/// What an action does.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Kind {
    /// A command for the shell.
    Command(Command),
    /// A program and its arguments, without a shell.
    Exec {
        /// The program; it contains no value of an event.
        program: String,
        /// Each is one argument, whatever a value contains.
        arguments: Vec<Template>,
        /// Whether an argument that starts with a value may start with `-`.
        allow_dash: bool,
    },
    /// Publishes an event.
    Emit {
        /// Its type; not one of the service's own.
        event: EventType,
        /// Its data.
        data: Values,
    },
    /// Posts to a web hook.
    Http {
        /// The URL.
        url: Template,
        /// The body, a JSON object; without it the event itself is sent.
        body: Option<Values>,
        /// The name of the secret that signs it (Standard Webhooks).
        sign: Option<String>,
    },
    /// Adds a memory.
    MemoryAdd {
        /// Its text.
        content: Template,
        /// Its title; without it the first line of the text.
        title: Option<Template>,
        /// Its type; without it `note`.
        kind: Option<String>,
        /// Its tags.
        tags: Vec<Template>,
        /// Its space; without it `default`.
        space: Option<String>,
    },
}

/// The data that an action sends: names with a value each, in the order written.
#[derive(Debug, Clone, Default)]
pub struct Values(pub Vec<(String, EmitValue)>);

/// A value that an action sends.
#[derive(Debug, Clone)]
pub enum EmitValue {
    /// A text that may contain values of the event.
    Text(Template),
    /// A number as written.
    Number(Number),
}

/// Whether a failed action is retried.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Retry {
    /// The most retries after the first attempt.
    pub max: u32,
    /// The upper limit of the first delay; the actual delay is random.
    pub initial: Span,
    /// The factor from each delay to the next.
    pub factor: f64,
    /// The upper limit of all delays.
    pub cap: Span,
    /// The failures that are retried.
    pub on: BTreeSet<RetryOn>,
}

impl Default for Retry {
    fn default() -> Self {
        use std::time::Duration;

        Self {
            max: 0,
            initial: Span(Duration::from_secs(1)),
            factor: 2.0,
            cap: Span(Duration::from_secs(300)),
            on: [RetryOn::Failure, RetryOn::Timeout].into(),
        }
    }
}

/// A failure that can be retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RetryOn {
    /// It ended with an error.
    Failure,
    /// It took too long.
    Timeout,
}

/// What to do after a crash of the service interrupted an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnInterrupt {
    /// It runs again, three times in all: at least once.
    #[default]
    Retry,
    /// The run fails: at most once.
    Fail,
}

const TIMEOUT: Span = Span(std::time::Duration::from_secs(600));

/// An action as written in the file: which fields belong together is checked after parsing, so that
/// each field that is invalid in itself is reported at its own position.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    #[serde(rename = "type")]
    kind: KindName,
    name: Option<String>,
    #[serde(rename = "if")]
    condition: Option<Condition>,
    timeout: Option<Span>,
    #[serde(default)]
    retry: Retry,
    #[serde(default)]
    on_interrupt: OnInterrupt,
    #[serde(default)]
    continue_on_error: bool,
    #[serde(default)]
    env: Variables,
    #[serde(default)]
    secrets: BTreeSet<String>,
    cwd: Option<Folder>,
    command: Option<Draft>,
    exec: Option<Vec<Template>>,
    allow_dash: Option<bool>,
    event: Option<EventType>,
    data: Option<Values>,
    url: Option<Template>,
    body: Option<Values>,
    sign: Option<String>,
    content: Option<Template>,
    title: Option<Template>,
    memory_type: Option<String>,
    tags: Option<Vec<Template>>,
    space: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
enum KindName {
    #[serde(rename = "command")]
    Command,
    #[serde(rename = "exec")]
    Exec,
    #[serde(rename = "emit")]
    Emit,
    #[serde(rename = "http")]
    Http,
    #[serde(rename = "memory.add")]
    MemoryAdd,
}

impl KindName {
    fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Exec => "exec",
            Self::Emit => "emit",
            Self::Http => "http",
            Self::MemoryAdd => "memory.add",
        }
    }

    /// The fields that only actions of this type have; the first one is required.
    fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Command => &["command", "allow_dash"],
            Self::Exec => &["exec", "allow_dash"],
            Self::Emit => &["event", "data"],
            Self::Http => &["url", "body", "sign"],
            Self::MemoryAdd => &["content", "title", "memory_type", "tags", "space"],
        }
    }
}

impl Fields {
    /// The given fields that belong to one type of action.
    fn special(&self) -> Vec<&'static str> {
        [
            ("command", self.command.is_some()),
            ("exec", self.exec.is_some()),
            ("allow_dash", self.allow_dash.is_some()),
            ("event", self.event.is_some()),
            ("data", self.data.is_some()),
            ("url", self.url.is_some()),
            ("body", self.body.is_some()),
            ("sign", self.sign.is_some()),
            ("content", self.content.is_some()),
            ("title", self.title.is_some()),
            ("memory_type", self.memory_type.is_some()),
            ("tags", self.tags.is_some()),
            ("space", self.space.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, there)| there.then_some(name))
        .collect()
    }

    fn action(mut self) -> Result<Action, String> {
        let name = self.kind.name();
        let known = self.kind.fields();
        if let Some(other) = self.special().into_iter().find(|it| !known.contains(it)) {
            return Err(format!(
                "an action of type {name} has no field {other}; expected {}",
                known.join(", ")
            ));
        }
        let missing = format!("an action of type {name} needs {}", known[0]);
        let kind = self.kind()?.ok_or(missing)?;
        if self.retry.max > 100 || !(1.0..=100.0).contains(&self.retry.factor) {
            return Err("retry: max is 0 to 100 and factor 1 to 100".to_owned());
        }
        Ok(Action {
            name: self.name,
            condition: self.condition,
            kind,
            timeout: self.timeout.unwrap_or(TIMEOUT),
            retry: self.retry,
            on_interrupt: self.on_interrupt,
            continue_on_error: self.continue_on_error,
            env: self.env,
            secrets: self.secrets,
            cwd: self.cwd,
        })
    }

    /// Nothing if the field is missing that defines what is done.
    fn kind(&mut self) -> Result<Option<Kind>, String> {
        Ok(match self.kind {
            KindName::Command => {
                let allows_dash = self.allow_dash.unwrap_or(false);
                let command = self.command.take().as_ref().map(Command::unchecked);
                command.map(|it| Kind::Command(it.allowing_dash(allows_dash)))
            }
            KindName::Exec => match self.exec.take() {
                Some(words) => Some(exec(words, self.allow_dash.unwrap_or(false))?),
                None => None,
            },
            KindName::Emit => match self.event.take() {
                Some(event) if event.is_reserved() => {
                    let namespace = event.namespace();
                    return Err(format!("only the service publishes events of {namespace}:"));
                }
                Some(event) => {
                    let data = self.data.take().unwrap_or_default();
                    let mut names = Data::default();
                    for (name, _) in &data.0 {
                        names.insert(name, "").map_err(|it| it.to_string())?;
                    }
                    Some(Kind::Emit { event, data })
                }
                None => None,
            },
            KindName::Http => self.url.take().map(|url| Kind::Http {
                url,
                body: self.body.take(),
                sign: self.sign.take(),
            }),
            KindName::MemoryAdd => self.content.take().map(|content| Kind::MemoryAdd {
                content,
                title: self.title.take(),
                kind: self.memory_type.take(),
                tags: self.tags.take().unwrap_or_default(),
                space: self.space.take(),
            }),
        })
    }
}

fn exec(words: Vec<Template>, allow_dash: bool) -> Result<Kind, String> {
    let mut words = words.into_iter();
    let Some(program) = words.next().filter(|it| !it.as_str().is_empty()) else {
        return Err("exec needs a program".to_owned());
    };
    if program.references().next().is_some() {
        return Err("the event's value would choose the program; write its name".to_owned());
    }
    let program = program.as_str().to_owned();
    Ok(Kind::Exec { program, arguments: words.collect(), allow_dash })
}

impl<'de> Deserialize<'de> for Action {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Map;

        impl<'de> Visitor<'de> for Map {
            type Value = Action;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an action with a type")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Action, A::Error> {
                let fields = Fields::deserialize(MapAccessDeserializer::new(map))?;
                fields.action().map_err(de::Error::custom)
            }
        }

        deserializer.deserialize_map(Map)
    }
}

impl<'de> Deserialize<'de> for EmitValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Scalar;

        impl Visitor<'_> for Scalar {
            type Value = EmitValue;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, a finite number or a boolean")
            }

            fn visit_bool<E: de::Error>(self, it: bool) -> Result<EmitValue, E> {
                self.visit_str(if it { "true" } else { "false" })
            }

            fn visit_i64<E>(self, it: i64) -> Result<EmitValue, E> {
                Ok(EmitValue::Number(it.into()))
            }

            fn visit_u64<E>(self, it: u64) -> Result<EmitValue, E> {
                Ok(EmitValue::Number(it.into()))
            }

            fn visit_f64<E: de::Error>(self, it: f64) -> Result<EmitValue, E> {
                let number = Number::from_float(it);
                number.map(EmitValue::Number).ok_or_else(|| E::custom("the number is not finite"))
            }

            fn visit_str<E: de::Error>(self, it: &str) -> Result<EmitValue, E> {
                it.parse().map(EmitValue::Text).map_err(E::custom)
            }
        }

        deserializer.deserialize_any(Scalar)
    }
}

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        pairs(deserializer, "an object with string, number or boolean values", |_, _| Ok(()))
            .map(Self)
    }
}

impl<'de> Deserialize<'de> for Variables {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        pairs(deserializer, "an object with string values", |name, value: &String| {
            check_variable(name, value)
        })
        .map(Self)
    }
}

fn check_variable(name: &str, value: &str) -> Result<(), String> {
    let right = name.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_')
        && name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_');
    if !right {
        return Err(format!("{name:?} is not a valid variable name: use letters, digits and _"));
    }
    if name.starts_with("WAYPOST_") {
        return Err(format!("{name}: names that start with WAYPOST_ are reserved"));
    }
    if value.contains('\0') {
        return Err(format!("{name}: the value has a NUL character"));
    }
    Ok(())
}
