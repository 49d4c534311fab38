//! The wire contract, through the public API.

mod body;
#[cfg(feature = "client")]
mod client;
#[cfg(feature = "openapi")]
mod openapi;
mod query;
