//! Timestamps, through the public API.

mod arithmetic;
#[cfg(feature = "serde")]
mod json;
mod text;
