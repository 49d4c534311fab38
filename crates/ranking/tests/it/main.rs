//! Tests of the crate through its public interface.

#[path = "../../../../tests/doubling.rs"]
mod doubling;

mod dates;
mod extremes;
mod fusion;
mod languages;
mod model;
mod proportional;
mod similar;
mod snapshots;
mod terms;
mod text_search;
mod vector_search;
