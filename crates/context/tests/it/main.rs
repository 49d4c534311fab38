//! The crate's guarantees, through its public API.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../../../tests/doubling.rs"]
mod doubling;

mod asked;
mod changed;
mod history;
mod hostile;
mod proportional;
mod repository;
mod watch;
