//! The store's behaviour through its public interface.

#![expect(clippy::panic, reason = "a test fails by panicking")]

mod concurrency;
mod crash;
mod duplicates;
mod filters;
mod history;
#[path = "../../../../tests/hub.rs"]
mod hub;
mod keys;
mod kill;
#[path = "../../../../tests/killed_repair.rs"]
mod killed_repair;
mod lifecycle;
mod lifespan;
mod limits;
mod links;
mod model;
mod newest;
mod old;
mod outbox;
mod rebuild;
mod repair;
mod rerank;
mod restore;
mod score;
mod search;
mod shared;
mod sight;
mod suggestions;
mod suggestions_quality;
mod time;
mod transfer;
mod vectors;
mod world;
