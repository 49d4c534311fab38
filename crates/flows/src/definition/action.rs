use std::collections::BTreeSet;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};

use super::{ProjectPath, Variables};
use crate::action::{Fields, Kind};
use crate::scalar::pairs;
use crate::{Condition, Event, Span, Truth};

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
    pub cwd: Option<ProjectPath>,
}

impl Action {
    /// Whether it runs for an event: it has no condition, or its condition holds.
    pub(crate) fn runs_for(&self, event: &Event) -> bool {
        self.condition.as_ref().is_none_or(|condition| condition.holds(event) == Truth::True)
    }
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

impl<'de> Deserialize<'de> for Variables {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        pairs(deserializer, "an object with string values", |name, value: &String| {
            check_variable(name, value)
        })
        .map(Self)
    }
}

fn check_variable(name: &str, value: &str) -> Result<(), String> {
    let right = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
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
