//! The kinds of items, and the tasks they are for.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// Where an item comes from.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    strum::Display,
    strum::IntoStaticStr,
    VariantArray,
)]
#[strum(serialize_all = "lowercase")]
pub enum Source {
    /// What happened: dated notes, work logs, change logs, commits.
    Journal,
    /// What is known and decided: documents.
    Knowledge,
    /// Code headers: doc comments and signatures.
    Code,
}

impl Source {
    /// All sources, in order.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl FromStr for Source {
    type Err = Unknown;

    fn from_str(text: &str) -> Result<Self, Unknown> {
        named("source", text)
    }
}

/// The kind of an item; `type` on the wire.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    strum::Display,
    strum::IntoStaticStr,
    VariantArray,
)]
#[strum(serialize_all = "lowercase")]
pub enum Kind {
    /// A dated note.
    Daily,
    /// A work log, hand-over or meeting note.
    Worklog,
    /// An entry of a change log.
    Changelog,
    /// A commit: its subject, body and paths.
    Commit,
    /// Instructions for agents and contributors, such as `AGENTS.md`.
    Instructions,
    /// A decision record.
    Decision,
    /// A specification or design.
    Spec,
    /// Plans, goals, road maps.
    Strategy,
    /// Texts for publication: posts, articles, drafts.
    Content,
    /// A `README`.
    Readme,
    /// Documentation.
    Guide,
    /// Any other document.
    Note,
    /// A code file: its leading comment, its docs, its top-level names.
    Module,
    /// A definition of a type, class, trait or interface.
    Type,
    /// A definition of a function or method.
    Function,
    /// A constant, static or variable.
    Value,
    /// A macro.
    Macro,
}

impl Kind {
    /// All kinds, in order.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The source of items of this kind.
    pub fn source(self) -> Source {
        match self {
            Self::Daily | Self::Worklog | Self::Changelog | Self::Commit => Source::Journal,
            Self::Instructions
            | Self::Decision
            | Self::Spec
            | Self::Strategy
            | Self::Content
            | Self::Readme
            | Self::Guide
            | Self::Note => Source::Knowledge,
            Self::Module | Self::Type | Self::Function | Self::Value | Self::Macro => Source::Code,
        }
    }
}

impl FromStr for Kind {
    type Err = Unknown;

    fn from_str(text: &str) -> Result<Self, Unknown> {
        named("type", text)
    }
}

/// What the items are for. It shifts weights and excludes nothing.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    strum::Display,
    strum::IntoStaticStr,
    VariantArray,
)]
#[strum(serialize_all = "lowercase")]
pub enum TaskType {
    /// Writing or changing code.
    Code,
    /// Specifying or designing.
    Spec,
    /// Writing texts for publication.
    Content,
    /// Planning.
    Strategy,
    /// No particular task.
    General,
}

impl TaskType {
    /// All task types, in order.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl FromStr for TaskType {
    type Err = Unknown;

    fn from_str(text: &str) -> Result<Self, Unknown> {
        named("task type", text)
    }
}

/// An unknown name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} {text:?}; expected one of {known}")]
#[non_exhaustive]
pub struct Unknown {
    /// What it should have named.
    pub what: &'static str,
    /// The given name.
    pub text: String,
    /// The known names.
    pub known: String,
}

fn named<T>(what: &'static str, text: &str) -> Result<T, Unknown>
where
    T: Copy + Into<&'static str> + VariantArray,
{
    let names = || T::VARIANTS.iter().map(|&it| it.into());
    let known = T::VARIANTS.iter().zip(names()).find(|(_, name)| *name == text);
    known.map(|(value, _)| *value).ok_or_else(|| Unknown {
        what,
        text: text.to_owned(),
        known: names().collect::<Vec<_>>().join(", "),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        assert!(Kind::ALL.iter().all(|it| it.name().parse() == Ok(*it)));
        assert!(Source::ALL.iter().all(|it| it.name().parse() == Ok(*it)));
        assert!(TaskType::ALL.iter().all(|it| it.name().parse() == Ok(*it)));
    }

    #[test]
    fn an_unknown_name_is_told_what_there_is() {
        let error = "Code".parse::<TaskType>().expect_err("upper case");
        assert_eq!(
            error.to_string(),
            "unknown task type \"Code\"; expected one of code, spec, content, strategy, general"
        );
    }
}
