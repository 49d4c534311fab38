//! The command line, run as a program.

mod alone;
mod backup;
mod browser;
#[path = "../../../../tests/child.rs"]
mod child;
#[path = "../../../../tests/chrome.rs"]
mod chrome;
mod cluster;
mod context;
mod ctl;
mod damage;
mod dashboard;
mod disk;
mod events;
mod filters;
mod flows;
mod hook;
mod install;
mod lifespan;
mod mcp;
mod mesh;
mod messages;
mod near;
mod operator;
mod planted;
mod recall;
mod recall_at_rest;
mod reference;
mod refused;
mod replaced;
mod sdk;
#[path = "../../../../crates/journal/tests/it/server.rs"]
#[expect(dead_code, clippy::unwrap_used, reason = "the tests of the journal need more of it")]
mod server;
mod service;
mod start;
mod state;
mod suggestions;
#[path = "../../../../crates/embedding/tests/it/tiny.rs"]
#[expect(dead_code, clippy::unwrap_used, reason = "embedding's own tests use more of it")]
mod tiny;
mod together;
mod trust;
#[path = "../../../../tests/unshare.rs"]
mod unshare;
mod visible;
#[path = "../../../../tests/wait.rs"]
mod wait;

use waypost_journal::{Journal, Settings, StoreId, Until};

/// Long enough for a busy machine.
fn long() -> Until {
    Until::within(std::time::Duration::from_secs(60))
}
