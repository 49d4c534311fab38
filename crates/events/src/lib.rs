//! Events: what happened, said by one program and heard by others that need not know it.
//!
//! An event has a type, `namespace:name`, and data: names with a text or a number each.
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

mod data;
mod kind;
mod number;
mod pattern;

pub use data::{Data, InvalidData, Value};
pub use kind::{EventType, InvalidType};
pub use number::Number;
pub use pattern::{InvalidPattern, Pattern};

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
