//! Why a session knew a memory, or did not.

use waypost_time::Timestamp;

use crate::{Entry, Reason};

/// What became of a memory in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The session got it, in that entry.
    Injected(u64, Timestamp),
    /// It was found and left out, in that entry.
    Withheld(u64, Timestamp, Reason),
    /// It was added after the session's last entry.
    Later(Timestamp),
    /// No entry of the session names it.
    NotConsidered,
}

/// What became of a memory in a session. `entries` are those of the session, the newest first;
/// `created_at` is when the memory was stored.
///
/// An entry that injected it says more than one that withheld it, and a newer one more than an older
/// one.
pub fn fate(memory: u64, created_at: Timestamp, entries: &[Entry]) -> Fate {
    let used = entries.iter().find(|entry| entry.used.iter().any(|used| used.id == memory));
    if let Some(entry) = used {
        return Fate::Injected(entry.id, entry.at);
    }
    for entry in entries {
        if let Some(it) = entry.withheld.iter().find(|withheld| withheld.id == memory) {
            return Fate::Withheld(entry.id, entry.at, it.reason);
        }
    }
    match entries.first() {
        Some(last) if created_at > last.at => Fate::Later(created_at),
        _ => Fate::NotConsidered,
    }
}
