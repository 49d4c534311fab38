//! Flow files: the contents of a flow, and the errors of a file that cannot be read.

mod action;
mod brackets;
mod read;
pub(crate) mod yaml;

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use waypost_events::Pattern;

pub use self::action::{Action, OnInterrupt, Retry, RetryOn};
pub use self::read::{FILE_BYTES_MAX, FLOWS_MAX, InvalidFile, parse};
use crate::scalar::from_text;
use crate::{Condition, DataTypes, Shell, Span};

/// What to do when an event matches a pattern and a condition.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Flow {
    /// Unique in a project: the flow's progress is stored under it.
    pub name: FlowName,
    /// For people.
    pub description: Option<String>,
    /// Whether it is enabled.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Which events it matches.
    pub trigger: Trigger,
    /// Where it starts when it is new.
    #[serde(default)]
    pub start: Start,
    /// The number of its concurrent runs.
    #[serde(default)]
    pub concurrency: Concurrency,
    /// If given, one run for the last event starts once no further one has come for a while.
    pub debounce: Option<Debounce>,
    /// If given, events beyond it are skipped, and each skip is recorded.
    pub rate_limit: Option<RateLimit>,
    /// How often the flow may be in the chain of runs that led to its event.
    #[serde(default)]
    pub allow_recursion: u32,
    /// More runs than this in a minute count as a loop: further ones wait until none was
    /// created for a minute. 0 for no such limit.
    #[serde(default = "breaker")]
    pub breaker: u32,
    /// Variables of all its actions.
    #[serde(default)]
    pub env: Variables,
    /// Names of the secrets that its actions get as variables.
    #[serde(default)]
    pub secrets: BTreeSet<String>,
    /// The working directory of its actions, within the project.
    pub cwd: Option<ProjectPath>,
    /// The shell of its commands.
    #[serde(default)]
    pub shell: Shell,
    /// Files of the project that the approval covers, too.
    #[serde(default)]
    pub files: Vec<ProjectPath>,
    /// The actions, in order. At least one.
    pub actions: Vec<Action>,
}

fn yes() -> bool {
    true
}

fn breaker() -> u32 {
    60
}

/// Which events a flow matches.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Trigger {
    /// By type.
    pub pattern: Pattern,
    /// By their data; without one, every event of these types.
    pub condition: Option<Condition>,
    /// The types of these events' values. An event whose data has other values, or lacks one, does
    /// not match.
    #[serde(default)]
    pub data: DataTypes,
}

/// Where a new flow starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Start {
    /// With the next event.
    #[default]
    Latest,
    /// With the oldest retained event.
    Earliest,
    /// After this event.
    After(u64),
}

impl FromStr for Start {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "latest" => Ok(Self::Latest),
            "earliest" => Ok(Self::Earliest),
            _ => match text.strip_prefix("after ").map(str::parse) {
                Some(Ok(id)) => Ok(Self::After(id)),
                _ => Err(format!("{text:?} is unknown; write latest, earliest or after ID")),
            },
        }
    }
}

/// The number of concurrent runs of a flow.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Concurrency {
    /// At least 1.
    pub limit: u32,
    /// If given, the limit applies to each value of this name separately.
    pub key: Option<DataKey>,
    /// What happens to a run beyond the limit.
    pub mode: Mode,
    /// The most waiting runs; further ones are skipped, and the skip is recorded.
    pub max_queued: u32,
}

impl Default for Concurrency {
    fn default() -> Self {
        Self { limit: 1, key: None, mode: Mode::Queue, max_queued: 10_000 }
    }
}

/// What happens to a run beyond the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// It waits, in the order of the events.
    Queue,
    /// It is skipped, and the skip is recorded.
    Skip,
    /// It replaces the oldest, which is ended.
    Restart,
}

/// Runs only once no further events come.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Debounce {
    /// How long no further event must have come.
    pub quiet: Span,
    /// It runs after this time at the latest.
    pub max: Option<Span>,
    /// If given, each value of this name is debounced separately.
    pub key: Option<DataKey>,
}

/// How often a flow may run.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct RateLimit {
    /// The number of runs, at least 1,
    pub runs: u32,
    /// in this time.
    pub per: Span,
    /// If given, each value of this name is counted separately.
    pub key: Option<DataKey>,
}

/// A flow's name: 1 to 64 letters, digits, `_` and `-`, starting with a letter or digit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct FlowName(String);

impl FlowName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FlowName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for FlowName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let right = text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.chars().all(is_part)
            && text.len() <= 64;
        if right {
            return Ok(Self(text.to_owned()));
        }
        Err(format!(
            "{text:?} is not a valid flow name: use 1 to 64 letters, digits, _ and -, starting with a letter or digit"
        ))
    }
}

/// A name in the event's data, written `data.key`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataKey(String);

impl DataKey {
    /// The name, without `data.`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for DataKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("data.") {
            Some(key) if !key.is_empty() => Ok(Self(key.to_owned())),
            _ => Err(format!("{text:?} is not a value of the event; write data.key")),
        }
    }
}

/// A file or folder of the project, by a relative path that does not leave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectPath(String);

impl ProjectPath {
    /// The path, relative to the project.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ProjectPath {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        use std::path::{Component, Path};

        let is_inner = |it| matches!(it, Component::Normal(_) | Component::CurDir);
        let is_within = Path::new(text).components().all(is_inner);
        if is_within && !text.is_empty() && !text.contains('\0') {
            return Ok(Self(text.to_owned()));
        }
        Err(format!("{text:?} is not in the project; write a relative path without .."))
    }
}

/// Names and values for a process's environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Variables(pub Vec<(String, String)>);

from_text! {
    Start: "latest, earliest or after ID",
    FlowName: "a flow's name",
    DataKey: "data.key",
    ProjectPath: "a path within the project",
}
