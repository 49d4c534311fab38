//! Behaviour of the log through its public interface.

mod append;
