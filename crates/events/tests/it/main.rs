//! The bus's behaviour through its public interface.

#![expect(clippy::panic, reason = "a test fails by panicking")]

#[path = "../../../../tests/doubling.rs"]
mod doubling;

#[path = "../../../../tests/child.rs"]
mod child;
mod concurrency;
mod damage;
#[path = "../../../../tests/hub.rs"]
mod hub;
mod index;
mod keys;
mod kill;
#[path = "../../../../tests/killed_repair.rs"]
mod killed_repair;
mod lifecycle;
mod model;
mod proportional;
mod publish;
mod read;
mod repair;
mod retention;
mod shared;
mod spaces;
#[path = "../../../../tests/wait.rs"]
mod wait;
mod world;
