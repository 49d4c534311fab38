//! A memory that may be injected.

use waypost_time::Timestamp;

/// A memory that may be injected, as its store has it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Candidate {
    /// Its id.
    pub id: u64,
    /// Its score, 0 to 1; `None` if no search found it.
    pub score: Option<f64>,
    /// Its title; empty if the content begins with it.
    pub title: String,
    /// Its content.
    pub content: String,
    /// Its type.
    pub kind: String,
    /// When it was written.
    pub created_at: Timestamp,
    /// The session in which it was said.
    pub session: Option<String>,
    /// Whether a newer memory updates it.
    pub is_superseded: bool,
}

impl Candidate {
    /// A memory with that content, of type `note`, from 1970.
    pub fn new(id: u64, content: impl Into<String>) -> Self {
        Self {
            id,
            score: None,
            title: String::new(),
            content: content.into(),
            kind: "note".to_owned(),
            created_at: Timestamp::EPOCH,
            session: None,
            is_superseded: false,
        }
    }

    /// Sets the score, 0 to 1.
    #[must_use]
    pub fn with_score(self, score: impl Into<Option<f64>>) -> Self {
        Self { score: score.into(), ..self }
    }

    /// Sets the title, unless the content begins with it.
    #[must_use]
    pub fn with_title(self, title: impl Into<String>) -> Self {
        let title = title.into();
        let repeats = self.content.trim_start().starts_with(title.trim_end_matches('…').trim());
        Self { title: if repeats { String::new() } else { title }, ..self }
    }

    /// Sets the type.
    #[must_use]
    pub fn with_kind(self, kind: impl Into<String>) -> Self {
        Self { kind: kind.into(), ..self }
    }

    /// Sets when it was written.
    #[must_use]
    pub fn with_created_at(self, created_at: Timestamp) -> Self {
        Self { created_at, ..self }
    }

    /// Sets the session in which it was said.
    #[must_use]
    pub fn with_session(self, session: impl Into<Option<String>>) -> Self {
        Self { session: session.into(), ..self }
    }

    /// Sets whether a newer memory updates it.
    #[must_use]
    pub fn with_is_superseded(self, is_superseded: bool) -> Self {
        Self { is_superseded, ..self }
    }
}
