//! The store's behaviour through its public interface.

mod lifecycle;
mod world;
