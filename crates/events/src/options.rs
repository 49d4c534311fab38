/// How a bus is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// Size of the log's files, in bytes. Retention gives room back by whole files.
    pub segment_bytes: u64,
    /// Publishing is refused with [`Error::Full`](crate::Error::Full) when less than this would
    /// stay free on the disk.
    pub free_bytes_min: u64,
    /// What [`Bus::retain`](crate::Bus::retain) drops.
    pub retention: Retention,
    /// The last event that is known from outside of the bus's folder, 0 for none: a bus that ends
    /// before it is [`Error::Damaged`](crate::Error::Damaged).
    pub reached: u64,
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
            on_change: None,
        }
    }
}

/// How much is kept; each limit is off when it is `None`. An event goes as soon as one limit is
/// passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Retention {
    /// Events from the oldest on that are older than this many milliseconds go, up to the first
    /// one that is not.
    pub age_ms: Option<u64>,
    /// At most so many events stay.
    pub events: Option<u64>,
    /// The log's oldest files go while it takes more than so many bytes. The file that is being
    /// written stays.
    pub bytes: Option<u64>,
}

/// What opening a bus found and did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Opened {
    /// How many events there are.
    pub events: u64,
    /// Bytes of an unfinished write that were cut from the end of the log; nobody had been told
    /// that they were published.
    pub truncated_bytes: u64,
    /// Events that the index on disk did not have, and that were read for it.
    pub replayed: u64,
    /// Why the index was built anew, if it was.
    pub index_rebuilt: Option<String>,
}

/// What there is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Status {
    /// How many events are kept.
    pub events: u64,
    /// The first event that is kept; one after the last if there is none.
    pub first: u64,
    /// The last event, 0 for none.
    pub last: u64,
    /// When the first event that is kept was published, in milliseconds since 1970.
    pub oldest_ms: Option<u64>,
    /// Bytes of the log.
    pub bytes: u64,
    /// Files of the log.
    pub segments: usize,
    /// Events by type, most frequent first. A block of 65,536 events counts its 64 most frequent
    /// types and counts as a whole, also where retention has dropped some of its events.
    pub kinds: Vec<(String, u64)>,
    /// Events of the types that are not among those.
    pub other_kinds: u64,
    /// The index on disk has the events up to this one; those after it are read at opening.
    pub indexed: u64,
    /// Idempotency keys that are known.
    pub keys: usize,
    /// Why nothing can be published until the bus is opened again, if so.
    pub fault: Option<String>,
}
