//! The Waypost service: memory over HTTP.

fn main() {}
