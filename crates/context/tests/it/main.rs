//! The crate's guarantees, through its public API.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../../../tests/doubling.rs"]
mod doubling;

#[cfg(feature = "git")]
mod asked;
#[cfg(feature = "git")]
mod changed;
#[cfg(feature = "git")]
mod history;
#[cfg(feature = "git")]
mod hostile;
#[cfg(feature = "git")]
mod proportional;
mod repository;
#[cfg(feature = "watch")]
mod watch;
