//! Why a command failed.

use thiserror::Error;

/// The kind of a problem: each has one HTTP status and one name that never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProblemKind {
    /// The command does not exist.
    UnknownCommand,
    /// An argument is missing, unknown or malformed.
    Invalid,
    /// No element, option or tab matches.
    NotFound,
    /// The element of a reference is gone, for good.
    StaleRef,
    /// Another element would get the click.
    Covered,
    /// The element is disabled or does not support the action.
    Disabled,
    /// The element exists, but is not drawn.
    Hidden,
    /// The awaited condition was not met in time.
    Timeout,
    /// A person controls the page now.
    HumanInControl,
    /// The policy forbids it to agents.
    Forbidden,
    /// The engine does not support it, on any page.
    Unsupported,
    /// The page's process ended; navigating starts another one.
    Crashed,
    /// The page's server could not be reached, or returned no page.
    Unreachable,
    /// The engine itself is unavailable.
    Unavailable,
}

impl ProblemKind {
    /// Its HTTP status.
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            Self::Forbidden => 403,
            Self::UnknownCommand | Self::NotFound => 404,
            Self::Timeout => 408,
            Self::StaleRef
            | Self::Covered
            | Self::Disabled
            | Self::Hidden
            | Self::HumanInControl
            | Self::Crashed => 409,
            Self::Invalid | Self::Unsupported => 422,
            Self::Unreachable => 502,
            Self::Unavailable => 503,
        }
    }

    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnknownCommand => "unknown_command",
            Self::Invalid => "invalid",
            Self::NotFound => "not_found",
            Self::StaleRef => "stale_ref",
            Self::Covered => "covered",
            Self::Disabled => "disabled",
            Self::Hidden => "hidden",
            Self::Timeout => "timeout",
            Self::HumanInControl => "human_in_control",
            Self::Forbidden => "forbidden",
            Self::Unsupported => "unsupported",
            Self::Crashed => "crashed",
            Self::Unreachable => "unreachable",
            Self::Unavailable => "unavailable",
        }
    }
}

/// Why a command failed, and what would be valid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{detail}")]
#[non_exhaustive]
pub struct Problem {
    /// Its kind.
    pub kind: ProblemKind,
    /// What is wrong, where, and what would be valid.
    pub detail: String,
}

impl Problem {
    /// A problem of this kind.
    pub fn new(kind: ProblemKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into() }
    }

    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(ProblemKind::Invalid, detail)
    }
}
