use crate::Damage;

/// How a log is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// A segment is sealed and the next begun when it would outgrow this. A batch is never split,
    /// so that a segment with one larger batch is larger.
    pub segment_bytes: u64,
    /// A segment's file grows by so many zero bytes at a time, ahead of the records, so that a sync
    /// need not write the file's metadata.
    pub preallocate_bytes: u64,
    /// Appends are refused with [`Error::Full`](crate::Error::Full) when a file would have to grow
    /// and less than this would remain free: the state built from the log needs room, too.
    pub free_bytes_min: u64,
    /// What to do about damage that is not a torn tail.
    pub on_damage: OnDamage,
    /// What opening reads.
    pub verify: Verify,
    /// The highest sequence that anything outside of the log's folder knows of, such as data derived
    /// from it or a [`Witness`](crate::Witness), 0 for none. The log notes how far it has reached;
    /// this is for when its files are gone, or are an older copy. A log that ends before either is
    /// damaged, and salvaging it never gives out a sequence up to there again.
    pub reached: u64,
    /// Whether the caller can read records of a kind and a version. Opening refuses a log with
    /// others as [`Error::NewerRecord`](crate::Error::NewerRecord) and changes nothing, as far as
    /// it reads records at all.
    pub can_read: fn(kind: u8, version: u8) -> bool,
    /// Called before each change of a file, for tests that end the process there.
    pub on_change: Option<fn()>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            segment_bytes: 32 << 20,
            preallocate_bytes: 1 << 20,
            free_bytes_min: 64 << 20,
            on_damage: OnDamage::Refuse,
            verify: Verify::All,
            reached: 0,
            can_read: |_, _| true,
            on_change: None,
        }
    }
}

/// What of a log opening reads and checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verify {
    /// Every byte.
    All,
    /// Of a sealed segment its header and its end marker, which is written when all before it is
    /// on disk; the rest is checked as a whole before the first entry of the segment is read, and
    /// damage is that read's [`Error::Damaged`](crate::Error::Damaged). The segment that is being
    /// appended to is read as a whole. Opening to salvage checks every byte.
    Unsealed,
}

/// What to do about damage that is not a torn tail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDamage {
    /// Fail with [`Error::Damaged`](crate::Error::Damaged) and change nothing on disk.
    Refuse,
    /// Copy the damaged ranges aside to `*.damaged` files and keep every record whose checksum is
    /// right.
    Salvage,
}

/// A record to append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// What the payload is; the log does not care.
    pub kind: u8,
    /// The version of the payload's format; the log does not care.
    pub version: u8,
    /// At most [`PAYLOAD_BYTES_MAX`](crate::PAYLOAD_BYTES_MAX).
    pub payload: &'a [u8],
}

/// A record read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its place in the log's order.
    pub sequence: u64,
    /// As appended.
    pub kind: u8,
    /// As appended.
    pub version: u8,
    /// As appended.
    pub payload: Vec<u8>,
}

/// One segment file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// The first sequence that it covers.
    pub first: u64,
    /// Bytes in use by its header and records.
    pub bytes: u64,
}

/// What opening a log found and did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Bytes of a torn tail that were cut off: a write that was not finished.
    pub truncated_bytes: u64,
    /// Whether what was cut off may have been acknowledged: the machine stopped while the log was
    /// open, and the last write before that cannot be told from one that was never acknowledged.
    /// Otherwise it was not.
    pub is_unsure: bool,
    /// What was damaged; empty unless the log was salvaged.
    pub damage: Vec<Damage>,
}

/// What [`Log::verify`](crate::Log::verify) found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// How many segment files there are.
    pub segments: usize,
    /// How many records have a right checksum.
    pub records: u64,
    /// Bytes in use by headers and records.
    pub bytes: u64,
    /// The first sequence the log covers.
    pub first_sequence: u64,
    /// The last sequence handed out, 0 for none.
    pub last_sequence: u64,
    /// Bytes of a torn tail that opening would cut off.
    pub torn_bytes: u64,
    /// What is damaged.
    pub damage: Vec<Damage>,
}

/// What compaction does with one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keep {
    /// The entry stays.
    Yes,
    /// The entry goes; its sequence stays unused.
    No,
    /// The entry stays with another payload, of the same kind and version.
    Replace(Vec<u8>),
}

/// What [`Log::compact`](crate::Log::compact) did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Entries that went.
    pub removed: u64,
    /// Entries that have another payload now.
    pub replaced: u64,
    /// Segment files before.
    pub segments_before: usize,
    /// Segment files after.
    pub segments_after: usize,
    /// Bytes in use before.
    pub bytes_before: u64,
    /// Bytes in use after.
    pub bytes_after: u64,
}
