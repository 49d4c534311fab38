//! Programs that embed the crates. Each checks what it shows: an example that stops being true
//! fails. Run one with `cargo run --package waypost-examples --example add_and_search`, all of them
//! with `cargo test --package waypost-examples`.
