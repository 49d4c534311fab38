//! The wire contract, through the public API.

#![expect(clippy::result_large_err, reason = "the problem is what is looked at")]

#[path = "../../../../tests/doubling.rs"]
mod doubling;

mod body;
#[cfg(feature = "client")]
mod client;
mod context;
mod openapi;
mod proportional;
mod query;
mod recall;
mod vocabulary;
