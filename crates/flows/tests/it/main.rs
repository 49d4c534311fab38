//! Behaviour of the engine through its public interface.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod beside;
mod cel;
#[path = "../../../../tests/child.rs"]
mod child;
mod closed;
mod control;
mod crash;
mod damage;
mod deciding;
mod files;
mod forms;
mod guards;
#[path = "../../../../tests/hub.rs"]
mod hub;
mod model;
mod order;
mod others;
mod pages;
mod portable;
mod programs;
mod shared;
mod undecided;
#[path = "../../../../tests/wait.rs"]
mod wait;
mod world;
