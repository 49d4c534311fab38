//! An append-only durable log with group commit and verified recovery.
//!
//! Records get sequences from 1 on, without gaps or duplicates. Every acknowledged append has been
//! synced to disk. Threads that append at the same time share one sync; the log starts no threads.
//! Every byte that is read back is checked.
//!
//! ```
//! use waypost_log::{Log, Options, Record};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! # let dir = dir.path();
//! let (log, recovery) = Log::open(dir, &Options::default())?;
//! assert!(recovery.damage.is_empty());
//! let sequence = log.append(Record { kind: 1, version: 1, payload: b"remember this" })?;
//!
//! let entry = log.read(sequence)?.expect("it was just appended");
//! assert_eq!(entry.payload, b"remember this");
//! assert_eq!(log.entries_after(0).count(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! After a crash, [`Log::open`] truncates a torn tail, which was never acknowledged. Damage, that
//! is stored bytes that have changed, is reported with its position and sequences, and nothing is
//! dropped unless [`OnDamage::Salvage`] is set. `docs/formats.md` describes the bytes and how to
//! distinguish the two.
//!
//! One module, `disk`, changes files. The tests record every write, sync and rename there, and
//! build from them the states in which a crash may leave the disk.

mod active;
mod compact;
mod digest;
mod disk;
mod entries;
mod error;
mod format;
pub mod group_commit;
mod lock;
mod log;
mod marker;
mod observe;
mod options;
mod reached;
mod recovery;
mod repair;
mod rewrite;
mod scan;
mod segment;
mod shared;
mod snapshot;
mod upstream;
mod witness;
mod writer;

pub use digest::Digest;
pub use disk::{create_folder, free_bytes, read_small};
pub use entries::{Entries, EntryRef};
pub use error::{Damage, DamageKind, Error, ErrorKind, Result};
pub use lock::FolderLock;
pub use log::{Log, Pinned};
pub use marker::{Marked, Marker};
pub use observe::{SyncStep, observe_syncs};
pub use options::{
    Compacted, Entry, Extent, Keep, OnDamage, Options, Record, Recovery, Report, Verify,
};
pub use repair::{Repair, RepairNotes, RepairedDamage};
pub use shared::{AppendMax, SharedError, SharedJournal};
pub use snapshot::{Snapshot, SnapshotFile};
pub use upstream::{Held, Refused, Upstream};
pub use witness::Witness;

/// The largest payload of one record.
pub const PAYLOAD_BYTES_MAX: usize = 64 << 20;
/// The largest sum of payloads in one batch.
pub const BATCH_BYTES_MAX: usize = 256 << 20;

#[cfg(test)]
mod tests;
