//! Tokens through the crate's public API.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod admin;
mod change;
#[path = "../../../../tests/child.rs"]
mod child;
mod crash;
mod damage;
mod derived;
mod machines;
mod orders;
mod shared;
mod store;
mod text;
#[path = "../../../../tests/wait.rs"]
mod wait;

use std::path::PathBuf;

use tempfile::TempDir;
use waypost_auth::{Timestamp, TokenStore};

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const MINUTE: i64 = 60_000;
const DAY: i64 = 24 * 60 * MINUTE;

fn after(millis: i64) -> Timestamp {
    Timestamp::from_millis(NOW.as_millis() + millis)
}

/// A folder with a store in it.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("auth/tokens.json")
    }

    fn open(&self) -> TokenStore {
        TokenStore::open(&self.file()).unwrap()
    }
}
