//! The browser, run as a program, with pages served here.

mod commands;
mod faults;
mod gate;
mod pictures;
mod policy;
#[path = "../../../../crates/browser/tests/it/processes.rs"]
mod processes;
#[path = "../../../../crates/browser/tests/it/server.rs"]
mod server;
mod start;
mod stop;
mod terminal;
mod tmux;
mod world;
