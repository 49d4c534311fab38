//! Tests of the crate through its public interface.

mod dates;
mod extremes;
mod fusion;
mod languages;
mod model;
mod similar;
mod snapshots;
mod terms;
mod text_search;
mod vector_search;
