//! A durable event bus: programs publish events for others that they need not know.
//!
//! An event has a type, `namespace:name`, and data: an object with string, number or boolean
//! values. [`Pattern`] selects events by their type.
//!
//! ```
//! use waypost_events::{Data, EventType, Pattern};
//!
//! let kind: EventType = "eval:scored".parse()?;
//! let pattern: Pattern = "eval:*".parse()?;
//! assert!(pattern.matches(&kind));
//!
//! let data: Data = serde_json::from_str(r#"{"agent": "scout", "delta": 0.25, "improved": true}"#)?;
//! assert_eq!(data.get("improved").map(ToString::to_string).as_deref(), Some("true"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Bus`] stores them in a durable log with one total order. Every acknowledged event is on disk,
//! and was not visible before that. Threads that publish at the same time share one sync; readers
//! have cursors, patterns and times, and never slow down a publisher.
//!
//! ```
//! use std::sync::Arc;
//! use waypost_events::{Bus, Data, Draft, Options, Tail, Timestamp};
//!
//! # let dir = tempfile::tempdir()?;
//! # let dir = dir.path();
//! let (bus, _) = Bus::open(dir, &Options::default())?;
//! let bus = Arc::new(bus);
//! let mut tail = Tail::new(Arc::clone(&bus), Some("eval:*".parse()?), bus.last());
//!
//! let draft = Draft::new("eval:scored".parse()?, Data::default(), "scout");
//! let published = bus.publish(draft, Timestamp::from_millis(1_700_000_000_000))?;
//!
//! assert_eq!(published.event.id, 1);
//! assert_eq!(tail.next_batch(10)?.events, [published.event]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The library starts no threads and reads no clock: the owner of a bus calls [`Bus::retain`] at
//! intervals and passes the time.

mod backup;
mod bus;
mod codec;
mod data;
mod decide;
mod doctor;
mod error;
mod event;
mod floor;
mod flush;
mod index;
mod keys;
mod kind;
mod live;
mod number;
mod options;
mod pattern;
mod publish;
mod read;
mod replica;
mod retention;
mod tail;
mod upkeep;
mod wire;

pub use bus::Bus;
pub use waypost_log::{Compacted, Digest, SyncStep, observe_syncs};

pub use codec::{Malformed, check_record};
pub use data::{Data, InvalidData, Value};
pub use doctor::{Checked, Repaired, check_log, check_versions, repair, repair_watched, verify};
pub use error::{Error, ErrorKind, Refused, Result};
pub use event::{
    Draft, Event, IDEMPOTENCY_KEY_BYTES_MAX, IdempotencyKey, InvalidKey, LINEAGE_FLOWS_MAX,
    LINEAGE_NAME_BYTES_MAX, Lineage, Published, SOURCE_BYTES_MAX, SPACE_BYTES_MAX,
};
pub use keys::{KEY_WINDOW, KEY_WINDOW_EVENTS};
pub use kind::{EventType, InvalidType};
pub use live::Subscription;
pub use number::{NotFinite, Number};
pub use options::{Opened, Options, Retention, Status};
pub use pattern::{InvalidPattern, Pattern};
pub use publish::{BATCH_BYTES_MAX, BATCH_DRAFTS_MAX};
pub use read::{LIMIT_MAX, Page, Query};
pub use replica::is_same_record;
pub use retention::RetentionPoint;
pub use tail::{Tail, Tailed};
pub use waypost_time::Timestamp;

/// Maximum number of keys in an event's data.
pub const KEYS_MAX: usize = 64;
/// Maximum length of a key in an event's data.
pub const KEY_BYTES_MAX: usize = 64;
/// Maximum length of a value, in bytes of UTF-8. A program's environment cannot hold a string of
/// 128 KiB.
pub const VALUE_BYTES_MAX: usize = 64 << 10;
/// Maximum size of the keys and values of one event together, in bytes.
pub const DATA_BYTES_MAX: usize = 256 << 10;
/// Maximum length of a namespace, and of a name.
pub const NAME_BYTES_MAX: usize = 64;
