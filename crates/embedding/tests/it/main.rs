//! Tests of the crate through its public API.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod bring;
mod broken;
mod cross_encoders;
mod default_model;
mod families;
mod import;
mod loopback_hub;
mod reference;
mod tiny;
mod tokenizers;
