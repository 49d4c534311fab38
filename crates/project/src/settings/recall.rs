//! Settings of recall.

use std::time::Duration;

use super::Resolved;

/// What the hooks of agents do, and how long what they leave is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecallSettings {
    /// Whether hooks give memories to sessions.
    pub inject: bool,
    /// Whether hooks record prompts and answers.
    pub record: bool,
    /// How long recorded prompts and answers are kept; zero for no limit.
    pub retention: Duration,
    /// How long entries of the recall log are kept; zero for no limit.
    pub log_retention: Duration,
}

impl Default for RecallSettings {
    /// The default values.
    fn default() -> Self {
        Self::resolve(&Resolved::defaults("recall"))
    }
}

impl RecallSettings {
    pub(super) fn resolve(resolved: &Resolved) -> Self {
        Self {
            inject: resolved.is_on("recall.inject"),
            record: resolved.is_on("recall.record"),
            retention: resolved.time("recall.retention"),
            log_retention: resolved.time("recall.log_retention"),
        }
    }
}
