//! An append-only durable log with group commit and verified recovery.

mod active;
mod compact;
mod disk;
mod entries;
mod error;
mod format;
mod log;
mod options;
mod recovery;
mod rewrite;
mod scan;
mod segment;
mod writer;

pub use entries::Entries;
pub use error::{Damage, DamageKind, Error, ErrorKind, Result};
pub use log::Log;
pub use options::{Compacted, Entry, Keep, OnDamage, Options, Record, Recovery, Report};

/// The largest payload of one record.
pub const PAYLOAD_BYTES_MAX: usize = 64 << 20;
/// The largest sum of payloads in one batch.
pub const BATCH_BYTES_MAX: usize = 256 << 20;

#[cfg(test)]
mod tests;
