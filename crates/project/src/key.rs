//! One setting: its name, its type, its default.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use crate::value::{Kind, Value};

#[derive(Debug)]
pub(crate) struct Key {
    /// `section.name`, or `name` at the top level.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// A value in the form that a variable takes; words, if it depends on something.
    pub(crate) default: &'static str,
    description: &'static str,
    pub(crate) is_computed: bool,
    pub(crate) is_harmless: bool,
    pub(crate) is_of_one_project: bool,
}

impl Key {
    pub(crate) const fn new(
        name: &'static str,
        kind: Kind,
        default: &'static str,
        description: &'static str,
    ) -> Self {
        Self {
            name,
            kind,
            default,
            description,
            is_computed: false,
            is_harmless: false,
            is_of_one_project: false,
        }
    }

    /// The default depends on something, and is described in words.
    pub(crate) const fn computed(self) -> Self {
        Self { is_computed: true, ..self }
    }

    /// A project's file may set it without approval. Only for a key of which no value makes the service do more than
    /// the default, or that determines how it prints.
    pub(crate) const fn harmless(self) -> Self {
        Self { is_harmless: true, ..self }
    }

    /// One value for all projects would be wrong: the user's own file may set it only for a single project.
    pub(crate) const fn of_one_project(self) -> Self {
        Self { is_of_one_project: true, ..self }
    }

    pub(crate) fn section(&self) -> Option<&'static str> {
        self.name.split_once('.').map(|(section, _)| section)
    }

    pub(crate) fn leaf(&self) -> &'static str {
        self.name.split_once('.').map_or(self.name, |(_, leaf)| leaf)
    }

    pub(crate) fn variable(&self) -> String {
        format!("WAYPOST_{}", self.name.replace('.', "_").to_ascii_uppercase())
    }

    /// The default as far as it depends on nothing, else an empty value.
    pub(crate) fn fixed_default(&self) -> Value {
        match self.kind {
            Kind::Path if self.is_computed => Value::Path(PathBuf::new()),
            _ if self.is_computed => Value::Text(String::new()),
            kind => kind.read_text(self.default).expect("a default is a right value"),
        }
    }

    /// For people, in one line.
    pub(crate) fn description(&self) -> &'static str {
        self.description.trim()
    }
}

/// Where a setting's value came from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// A flag.
    Flag(String),
    /// A variable.
    Variable(String),
    /// The user's own `config.yaml`.
    User(PathBuf),
    /// The project's `config.yaml`.
    Config(PathBuf),
    /// It was not set.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "flag {flag}"),
            Self::Variable(name) => write!(f, "variable {name}"),
            Self::User(path) | Self::Config(path) => write!(f, "{}", path.display()),
            Self::Default => f.write_str("default"),
        }
    }
}

/// The value and the origin of each key.
pub(crate) type Resolved = BTreeMap<&'static str, (Value, Origin)>;
