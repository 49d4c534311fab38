//! Events: what happened, said by one program and heard by others that need not know it.
//!
//! An event has a type, `namespace:name`, and data: an object with string, number or boolean values.
//! [`Pattern`] selects events by their type.
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
//! [`Bus`] keeps them: a durable log in one total order. What was answered is on disk, and nobody
//! has seen it before. Many threads that publish share one sync; readers have cursors, patterns
//! and times, and cost those who publish nothing.
//!
//! ```
//! use std::sync::Arc;
//! use waypost_events::{Bus, Data, Draft, Options, Tail};
//!
//! # let dir = tempfile::tempdir()?;
//! # let dir = dir.path();
//! let (bus, _) = Bus::open(dir, &Options::default())?;
//! let bus = Arc::new(bus);
//! let mut tail = Tail::new(Arc::clone(&bus), Some("eval:*".parse()?), bus.last());
//!
//! let draft = Draft::new("eval:scored".parse()?, Data::default(), "scout");
//! let published = bus.publish(draft, 1_700_000_000_000)?;
//!
//! assert_eq!(published.event.id, 1);
//! assert_eq!(tail.next_batch(10)?.events, [published.event]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The library starts no threads and reads no clock: whoever owns a bus calls [`Bus::retain`] now
//! and then, and gives the time.

mod backup;
mod bus;
mod codec;
mod data;
mod doctor;
mod error;
mod event;
mod floor;
mod index;
mod keys;
mod kind;
mod live;
mod number;
mod options;
mod pattern;
mod publish;
mod read;
mod repairing;
mod settle;
mod tail;
mod upkeep;
mod wire;

pub use bus::Bus;
pub use waypost_log::{SyncStep, observe_syncs};

pub use codec::{Malformed, check_record};
pub use data::{Data, InvalidData, Value};
pub use doctor::{Checked, Repaired, repair, repair_watched, verify};
pub use error::{Error, ErrorKind, Refused, Result};
pub use event::{
    Draft, Event, IDEMPOTENCY_KEY_BYTES_MAX, IdempotencyKey, InvalidKey, LINEAGE_FLOWS_MAX,
    LINEAGE_NAME_BYTES_MAX, Lineage, Published, SOURCE_BYTES_MAX, SPACE_BYTES_MAX,
};
pub use keys::{KEY_WINDOW_EVENTS, KEY_WINDOW_MS};
pub use kind::{EventType, InvalidType};
pub use live::Subscription;
pub use number::{NotFinite, Number};
pub use options::{Opened, Options, Retention, Status};
pub use pattern::{InvalidPattern, Pattern};
pub use publish::{BATCH_BYTES_MAX, BATCH_DRAFTS_MAX};
pub use read::{LIMIT_MAX, Order, Page, Query};
pub use tail::{Tail, Tailed};
pub use upkeep::Compacted;

/// The most keys that an event's data may have.
pub const KEYS_MAX: usize = 64;
/// The longest key of an event's data.
pub const KEY_BYTES_MAX: usize = 64;
/// The longest value, in bytes of UTF-8. A program's environment cannot hold a string of 128 KiB.
pub const VALUE_BYTES_MAX: usize = 64 << 10;
/// The keys and values of one event together, in bytes.
pub const DATA_BYTES_MAX: usize = 256 << 10;
/// The longest namespace, and the longest name.
pub const NAME_BYTES_MAX: usize = 64;
