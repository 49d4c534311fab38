//! Recall through its public API.

mod cycle;
mod log;
mod transcripts;
