//! A memory that may be injected.

use waypost_time::Timestamp;

/// A memory that may be injected, as its store has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Its id.
    pub id: u64,
    /// Its score, 0 to 1; `None` if no search found it.
    pub score: Option<f64>,
    /// Its title.
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
}
