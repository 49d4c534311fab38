//! The wire contract, through the public API.

mod body;
#[cfg(feature = "openapi")]
mod openapi;
mod query;
