//! The records of [`Part::Notices`](crate::Part::Notices), whose payloads other crates define.

/// The version of every kind.
pub const VERSION: u8 = 1;
/// What the event bus drops: a point of retention.
pub const RETENTION: u8 = 1;
/// What became of tokens: a change of tokens.
pub const TOKENS: u8 = 2;
/// The digest of the leader's memories at a position, since feature level 2: the position as 8 bytes,
/// little-endian, and a SHA-256.
pub const DIGEST: u8 = 3;
