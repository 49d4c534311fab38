use std::sync::Arc;
use std::time::Duration;

use waypost_log::SharedJournal;
use waypost_time::Timestamp;

/// How a bus is opened.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// Size of the log's files, in bytes. Retention releases space by whole files.
    pub segment_bytes: u64,
    /// Publishing fails with [`Error::Full`](crate::Error::Full) if less than this would stay free
    /// on the disk.
    pub free_bytes_min: u64,
    /// What [`Bus::retain`](crate::Bus::retain) drops.
    pub retention: Retention,
    /// The last event that is known from outside the bus's folder, 0 for none: a bus that ends
    /// before it is [`Error::Damaged`](crate::Error::Damaged).
    pub reached: u64,
    /// What decides the order of the events, if several buses are replicas of one another.
    pub shared_journal: Option<Arc<dyn SharedJournal>>,
    /// Called before each change of a file of the log, for tests that end the process there.
    pub on_change: Option<fn()>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            segment_bytes: 32 << 20,
            free_bytes_min: 64 << 20,
            retention: Retention::default(),
            reached: 0,
            shared_journal: None,
            on_change: None,
        }
    }
}

impl Options {
    /// The same with files of the log of this size.
    #[must_use]
    pub fn with_segment_bytes(self, segment_bytes: u64) -> Self {
        Self { segment_bytes, ..self }
    }

    /// The same, refusing to publish when less than this would stay free on the disk.
    #[must_use]
    pub fn with_free_bytes_min(self, free_bytes_min: u64) -> Self {
        Self { free_bytes_min, ..self }
    }

    /// The same with these limits.
    #[must_use]
    pub fn with_retention(self, retention: Retention) -> Self {
        Self { retention, ..self }
    }

    /// The same with the last event that is known from outside.
    #[must_use]
    pub fn with_reached(self, reached: u64) -> Self {
        Self { reached, ..self }
    }

    /// Makes the bus a replica of those that use the same shared journal.
    ///
    /// The shared journal decides the order of the events and keeps them. A publish returns when it
    /// has the events and this bus shows them; [`Bus::follow`](crate::Bus::follow) gets those of
    /// others. If it cannot be reached, the bus opens, reads and follows what it has, and nothing can
    /// be published. What is dropped is decided for all replicas:
    /// [`Bus::decide_retention`](crate::Bus::decide_retention).
    #[must_use]
    pub fn with_shared_journal(self, journal: Arc<dyn SharedJournal>) -> Self {
        Self { shared_journal: Some(journal), ..self }
    }

    /// The same with a function that is called before each change of a file, for tests that end
    /// the process there.
    #[must_use]
    pub fn with_on_change(self, on_change: Option<fn()>) -> Self {
        Self { on_change, ..self }
    }
}

/// How much is kept; each limit is off when it is `None`. An event goes as soon as one limit is
/// passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Retention {
    /// Drops the oldest events up to the first one that is not older than this.
    pub age: Option<Duration>,
    /// Maximum number of events kept.
    pub events: Option<u64>,
    /// Maximum size of the log in bytes. Its oldest files are removed; the active one stays.
    pub bytes: Option<u64>,
}

impl Retention {
    /// The same without events that are older than this.
    #[must_use]
    pub fn with_age(self, age: Duration) -> Self {
        Self { age: Some(age), ..self }
    }

    /// The same with at most this many events.
    #[must_use]
    pub fn with_events(self, events: u64) -> Self {
        Self { events: Some(events), ..self }
    }

    /// The same with at most this many bytes of log.
    #[must_use]
    pub fn with_bytes(self, bytes: u64) -> Self {
        Self { bytes: Some(bytes), ..self }
    }
}

/// What opening a bus found and did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Opened {
    /// Number of events.
    pub events: u64,
    /// Bytes of an unfinished, unacknowledged write that were truncated from the end of the log.
    pub truncated_bytes: u64,
    /// Events that were missing from the index on disk and were read again.
    pub replayed: u64,
    /// Why the index was rebuilt, if it was.
    pub index_rebuilt: Option<String>,
}

/// Statistics of a bus.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Status {
    /// Number of retained events.
    pub events: u64,
    /// The first retained event; one after the last if there is none.
    pub first: u64,
    /// The last event, 0 for none.
    pub last: u64,
    /// When the first event that is kept was published.
    pub oldest: Option<Timestamp>,
    /// Bytes of the log.
    pub bytes: u64,
    /// Files of the log.
    pub segments: usize,
    /// Events by type, most frequent first. A block of 65,536 events counts its 64 most frequent
    /// types, and counts as a whole even if retention has dropped some of its events.
    pub kinds: Vec<(String, u64)>,
    /// Events of the types that are not among those.
    pub other_kinds: u64,
    /// The index on disk covers the events up to this one; opening reads those after it.
    pub indexed: u64,
    /// Number of remembered idempotency keys.
    pub keys: usize,
    /// Why nothing can be published until the bus is reopened, if so.
    pub fault: Option<String>,
}
