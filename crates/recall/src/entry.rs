//! An entry of the recall log: ids, scores and reasons, no texts.

use std::sync::Arc;

use waypost_time::Timestamp;

use crate::Told;

/// A session, and the space that it is bound to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionKey {
    /// The name that the harness gives it.
    pub session: Arc<str>,
    /// Its space; `None` for all spaces.
    pub space: Option<Arc<str>>,
}

impl SessionKey {
    /// The session with that name in that space, or in all spaces.
    pub fn new(session: &str, space: Option<&str>) -> Self {
        Self { session: session.into(), space: space.map(Into::into) }
    }
}

/// What happened in a session at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Positive, growing, never reused; 0 before it is appended.
    pub id: u64,
    /// When it was appended.
    pub at: Timestamp,
    /// The session.
    pub key: SessionKey,
    /// The program that runs the session.
    pub harness: Arc<str>,
    /// What happened.
    pub moment: Moment,
    /// Whether the session had nothing of what was injected before: its conversation is new, or was
    /// compacted.
    pub is_fresh: bool,
    /// How likely the search found an answer, 0 to 1; `None` if there was no search.
    pub answerable: Option<f32>,
    /// The least score of what is injected; `None` if there was no search.
    pub threshold: Option<f32>,
    /// What was injected.
    pub used: Vec<Used>,
    /// What was found and left out.
    pub withheld: Vec<Withheld>,
    /// Why nothing was injected; `None` if something was, or was not to be.
    pub silence: Option<Silence>,
}

impl Entry {
    /// An entry that names no memory, to be [appended](crate::RecallLog::append).
    pub fn new(key: SessionKey, harness: &str, moment: Moment) -> Self {
        Self {
            id: 0,
            at: Timestamp::EPOCH,
            key,
            harness: harness.into(),
            moment,
            is_fresh: false,
            answerable: None,
            threshold: None,
            used: Vec::new(),
            withheld: Vec::new(),
            silence: None,
        }
    }

    /// Sets how likely the search found an answer, and the least score of what is injected.
    #[must_use]
    pub fn with_search(self, answerable: f64, threshold: f64) -> Self {
        Self { answerable: Some(answerable as f32), threshold: Some(threshold as f32), ..self }
    }

    /// Sets what was injected and what was left out.
    #[must_use]
    pub fn with_told(self, told: &Told) -> Self {
        let (used, withheld) = (told.used.clone(), told.withheld.clone());
        Self { used, withheld, silence: told.silence, ..self }
    }

    /// Whether it injected or withheld that memory.
    pub fn names(&self, memory: u64) -> bool {
        self.used.iter().any(|used| used.id == memory)
            || self.withheld.iter().any(|withheld| withheld.id == memory)
    }
}

/// A memory that was injected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Used {
    /// Its id.
    pub id: u64,
    /// Its score, 0 to 1; `None` if no search found it.
    pub score: Option<f32>,
    /// Why it was injected.
    pub part: Part,
}

/// A memory that was found and left out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Withheld {
    /// Its id.
    pub id: u64,
    /// Its score, 0 to 1; `None` if no search found it.
    pub score: Option<f32>,
    /// Why it was left out.
    pub reason: Reason,
}

/// What happened in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Moment {
    /// It started, and got its brief.
    Start,
    /// The user sent a prompt.
    Prompt,
    /// It got its brief again, after a compaction.
    Compact,
    /// A turn of it was not recorded.
    Refused {
        /// Where the turn ends in the transcript, in bytes.
        before: u64,
        /// Why it was refused.
        why: Refusal,
    },
}

/// Why a turn was not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// The request with it is not what the service reads.
    Malformed,
    /// The request with it is too large.
    TooLarge,
    /// Something in it is not valid.
    Invalid,
}

/// Why a memory was injected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// It is pinned.
    Pinned,
    /// It is a recent decision.
    Decision,
    /// An earlier session ended with it.
    Thread,
    /// It fits what was done last.
    Task,
    /// It answers the prompt.
    Answer,
}

/// Why a memory was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Its score is below the threshold.
    BelowThreshold,
    /// The session has it.
    AlreadyInjected,
    /// It was said in the session.
    SameSession,
    /// The text had no space left.
    Budget,
    /// A newer memory updates it.
    Superseded,
}

/// Why nothing was injected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Silence {
    /// The prompt has fewer characters than [`PROMPT_CHARS_MIN`](crate::limits::PROMPT_CHARS_MIN).
    ShortPrompt,
    /// No memory was found.
    NothingFound,
    /// The memory probably has no answer.
    NotAnswerable,
    /// Every memory that was found was left out.
    AllWithheld,
}
