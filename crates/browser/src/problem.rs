//! Why a command was not done.

use serde_json::{Value, json};
use thiserror::Error;

/// What kind of thing went wrong: each has one status of HTTP and one name that never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProblemKind {
    /// There is no such command.
    UnknownCommand,
    /// An argument is missing, unknown or malformed.
    Invalid,
    /// No element, option or tab is what was asked for.
    NotFound,
    /// The element that a reference meant is gone. It will not come back.
    StaleRef,
    /// Something else would get the click.
    Covered,
    /// The element is disabled or takes no such action.
    Disabled,
    /// The element is there, but not drawn.
    Hidden,
    /// What was waited for did not come in time.
    Timeout,
    /// A person has the page now.
    HumanInControl,
    /// The policy does not let an agent do that.
    Forbidden,
    /// The engine cannot do that, whatever the page.
    Unsupported,
    /// The page's process ended; going somewhere starts another.
    Crashed,
    /// The server of the page could not be reached, or gave no page.
    Unreachable,
    /// The engine itself is not there.
    Unavailable,
}

impl ProblemKind {
    /// The status of HTTP that says it.
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

/// Why a command was not done, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{detail}")]
#[non_exhaustive]
pub struct Problem {
    /// What kind of thing it is.
    pub kind: ProblemKind,
    /// What is wrong, where, and what would be right.
    pub detail: String,
}

impl Problem {
    /// One of this kind.
    pub fn new(kind: ProblemKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into() }
    }

    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(ProblemKind::Invalid, detail)
    }

    /// As it goes over the wire: `type`, `title`, `status`, `detail`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "type": format!("urn:waypost:browser:{}", self.kind.as_str()),
            "title": self.kind.as_str(),
            "status": self.kind.status(),
            "detail": self.detail,
        })
    }
}
