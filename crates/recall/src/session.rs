//! What the log knows about a session.

use std::collections::BTreeSet;
use std::sync::Arc;

use waypost_time::Timestamp;

use crate::{Candidate, Reason, SessionKey};

/// What the log knows about a session; the default is a session that it does not know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Session {
    /// The program that runs it.
    pub harness: Arc<str>,
    /// The position in the transcript, in bytes, up to which turns were recorded.
    pub offset: u64,
    /// When turns were last recorded.
    pub(crate) recorded_at: Option<Timestamp>,
    /// Since the transcript became shorter and is read again: when turns were last recorded before. Those
    /// that were said up to then may have been recorded, and deleted since.
    pub before_restart: Option<Timestamp>,
    /// The memories that it got since its conversation began or was compacted.
    pub injected: BTreeSet<u64>,
    /// When its conversation was last compacted.
    pub compacted_at: Option<Timestamp>,
    /// Whether it was compacted and has not got its brief again.
    pub is_compacted: bool,
    /// When it was last seen.
    pub at: Timestamp,
    /// Its last record.
    pub(crate) last: u64,
}

impl Session {
    /// Whether the session's own conversation contains the memory: it was said in it, and no
    /// compaction has removed it since.
    pub fn says(&self, key: &SessionKey, memory: &Candidate) -> bool {
        memory.session.as_deref() == Some(&*key.session)
            && self.compacted_at.is_none_or(|at| memory.created_at > at)
    }

    /// Why the session does not need the memory again.
    pub(crate) fn has(&self, key: &SessionKey, memory: &Candidate) -> Option<Reason> {
        if self.says(key, memory) {
            return Some(Reason::SameSession);
        }
        if self.injected.contains(&memory.id) {
            return Some(Reason::AlreadyInjected);
        }
        memory.is_superseded.then_some(Reason::Superseded)
    }
}
