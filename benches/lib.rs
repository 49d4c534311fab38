//! Measurements: quality and speed.
