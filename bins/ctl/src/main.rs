//! The Waypost command line.

fn main() {}
