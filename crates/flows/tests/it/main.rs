//! Behaviour of the engine through its public interface.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod cel;
#[path = "../../../../tests/child.rs"]
mod child;
mod concurrent;
mod conditions;
mod control;
mod crash;
mod damage;
mod definitions;
mod files;
mod forms;
mod guards;
#[path = "../../../../tests/hub.rs"]
mod hub;
mod model;
mod order;
mod ordinary;
mod pages;
mod programs;
mod shared;
mod types;
#[path = "../../../../tests/wait.rs"]
mod wait;
mod world;
