//! Recall through its public API.

#[path = "../../../../tests/doubling.rs"]
mod doubling;

mod cycle;
mod log;
mod proportional;
mod transcripts;
