//! An append-only durable log with group commit and verified recovery.

mod error;
mod log;
mod options;

pub use error::{Damage, DamageKind, Error, ErrorKind, Result};
pub use log::{Entries, Log};
pub use options::{Compacted, Entry, Keep, OnDamage, Options, Record, Recovery, Report};

/// The largest payload of one record.
pub const PAYLOAD_BYTES_MAX: usize = 64 << 20;
