//! Tests over the repository as a whole.
