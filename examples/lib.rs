//! Programs that embed the crates, run in CI.
