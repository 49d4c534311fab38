//! The wire contract, through the public API.

mod body;
mod query;
