//! The crate's behaviour through its public interface.

mod model;
mod text_search;
