//! The limits of the journal.

use std::time::Duration;

/// The most bytes of payload in one append.
pub const BATCH_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The most records in one append.
pub const BATCH_RECORDS_MAX: usize = 65_536;

/// The most records that are appended under the lock of the head row.
pub const LOCKED_RECORDS_MAX: usize = 256;

/// The most bytes of payload that are appended under the lock. They are sent while others wait.
pub const LOCKED_BYTES_MAX: usize = 8 * 1024 * 1024;

/// How long the holder of the lock may be silent before the server ends its session.
pub const LOCK_IDLE_MAX: Duration = Duration::from_secs(2);

/// The most bytes of one chunk of a snapshot. All chunks but the last one have as many.
pub const SNAPSHOT_CHUNK_BYTES: usize = 1024 * 1024;

/// The most bytes of a machine's name, and of its release.
pub const MACHINE_TEXT_BYTES_MAX: usize = 128;

/// The most texts in one call about vectors.
pub const VECTORS_MAX: usize = 1000;

/// The most bytes of one vector.
pub const VECTOR_BYTES_MAX: usize = 64 * 1024;

/// The most bytes of the fingerprint of a model.
pub const MODEL_BYTES_MAX: usize = 128;

/// The most bytes of a query whose vector another machine computes.
pub const QUESTION_BYTES_MAX: usize = 64 * 1024;

/// How long an answer may take before it counts as lost, and another connection finds out. If the
/// network was interrupted, the answer itself may come much later than the network is back.
pub(crate) const ANSWER_MAX: Duration = Duration::from_secs(4);

/// The oldest major version of PostgreSQL that is supported.
pub const POSTGRES_MIN: u32 = 15;

/// The version of the tables that this release writes.
pub(crate) const SCHEMA_VERSION: i32 = 1;
