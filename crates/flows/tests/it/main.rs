//! Behaviour of the engine through its public interface.

#![expect(clippy::panic, reason = "a test fails by panicking")]

mod control;
mod crash;
mod guards;
mod order;
mod world;
