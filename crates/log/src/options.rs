use crate::Damage;

/// How a log is opened.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// Maximum size of a segment. A batch is never split, so a segment with one larger batch is
    /// larger.
    pub segment_bytes: u64,
    /// Number of zero bytes by which a segment's file grows at a time, ahead of the records, so
    /// that a sync need not write the file's metadata.
    pub preallocate_bytes: u64,
    /// Appends fail with [`Error::Full`](crate::Error::Full) if a file would have to grow and less
    /// than this would remain free: the state built from the log needs space, too.
    pub free_bytes_min: u64,
    /// What to do about damage that is not a torn tail.
    pub on_damage: OnDamage,
    /// What opening reads.
    pub verify: Verify,
    /// The highest sequence that anything outside the log's folder knows, such as data derived from
    /// it or a [`Witness`](crate::Witness), 0 for none. The log records how far it has reached;
    /// this is for the case that its files are missing or are an older copy. A log that ends before
    /// either is damaged, and salvaging it never assigns a sequence up to there again.
    pub reached: u64,
    /// Whether the caller can read records of a kind and a version. If opening reads one that the
    /// caller cannot read, it fails with [`Error::NewerRecord`](crate::Error::NewerRecord) and
    /// changes nothing.
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

impl Options {
    /// Sets the maximum size of a segment in bytes.
    #[must_use]
    pub fn with_segment_bytes(self, segment_bytes: u64) -> Self {
        Self { segment_bytes, ..self }
    }

    /// Sets by how many bytes a segment's file grows at a time.
    #[must_use]
    pub fn with_preallocate_bytes(self, preallocate_bytes: u64) -> Self {
        Self { preallocate_bytes, ..self }
    }

    /// Sets how many bytes of the disk appends leave free.
    #[must_use]
    pub fn with_free_bytes_min(self, free_bytes_min: u64) -> Self {
        Self { free_bytes_min, ..self }
    }

    /// Sets what to do about damage that is not a torn tail.
    #[must_use]
    pub fn with_on_damage(self, on_damage: OnDamage) -> Self {
        Self { on_damage, ..self }
    }

    /// Sets what opening reads.
    #[must_use]
    pub fn with_verify(self, verify: Verify) -> Self {
        Self { verify, ..self }
    }

    /// Sets the highest sequence that is known from outside the log's folder.
    #[must_use]
    pub fn with_reached(self, reached: u64) -> Self {
        Self { reached, ..self }
    }

    /// Sets which kinds and versions of records the caller can read.
    #[must_use]
    pub fn with_can_read(self, can_read: fn(kind: u8, version: u8) -> bool) -> Self {
        Self { can_read, ..self }
    }

    /// Sets what is called before each change of a file, for tests that end the process there.
    #[must_use]
    pub fn with_on_change(self, on_change: Option<fn()>) -> Self {
        Self { on_change, ..self }
    }
}

/// What opening reads and checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verify {
    /// Every byte.
    All,
    /// The header and the end marker of each sealed segment; the end marker is written when
    /// everything before it is on disk. The rest of a segment is checked before its first entry is
    /// read; if it is damaged, that read fails with [`Error::Damaged`](crate::Error::Damaged). The
    /// active segment is read completely. Opening to salvage checks every byte.
    Unsealed,
}

/// What to do about damage that is not a torn tail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDamage {
    /// Fail with [`Error::Damaged`](crate::Error::Damaged) and change nothing on disk.
    Refuse,
    /// Copy the damaged ranges to `*.damaged` files and keep every record whose checksum is valid.
    Salvage,
}

/// A record to append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// The kind of the payload; the log does not interpret it.
    pub kind: u8,
    /// The version of the payload's format; the log does not interpret it.
    pub version: u8,
    /// At most [`PAYLOAD_BYTES_MAX`](crate::PAYLOAD_BYTES_MAX).
    pub payload: &'a [u8],
}

/// A record read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its position in the log.
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
    /// Bytes of a torn tail, an unfinished write, that were truncated.
    pub truncated_bytes: u64,
    /// Whether the truncated bytes may have been acknowledged: the machine stopped while the log
    /// was open, and an acknowledged last write cannot be distinguished from an unacknowledged one.
    /// If `false`, they were not acknowledged.
    pub is_unsure: bool,
    /// The damage; empty unless the log was salvaged.
    pub damage: Vec<Damage>,
}

/// What [`Log::verify`](crate::Log::verify) found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Number of segment files.
    pub segments: usize,
    /// Number of records with a valid checksum.
    pub records: u64,
    /// Bytes in use by headers and records.
    pub bytes: u64,
    /// The first sequence the log covers.
    pub first_sequence: u64,
    /// The last assigned sequence, 0 for none.
    pub last_sequence: u64,
    /// Bytes of a torn tail that opening would truncate.
    pub torn_bytes: u64,
    /// The damage.
    pub damage: Vec<Damage>,
}

/// What compaction does with one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keep {
    /// The entry stays.
    Yes,
    /// The entry is removed; its sequence stays unused.
    No,
    /// The payload of the entry is replaced; its kind and version stay.
    Replace(Vec<u8>),
}

/// What [`Log::compact`](crate::Log::compact) did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Removed entries.
    pub removed: u64,
    /// Entries whose payload was replaced.
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
