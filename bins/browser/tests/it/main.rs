//! The browser as a program, with pages from a local server.

mod agent;
#[path = "../../../../tests/child.rs"]
mod child;
mod commands;
mod faults;
mod gate;
#[path = "../../../service/tests/it/namespace.rs"]
mod namespace;
mod paste;
mod pictures;
mod policy;
#[path = "../../../../crates/browser/tests/it/processes.rs"]
mod processes;
mod rebinding;
#[path = "../../../../crates/browser/tests/it/server.rs"]
mod server;
mod slow;
mod start;
mod stop;
mod terminal;
mod tmux;
mod tool;
#[path = "../../../../tests/unshare.rs"]
mod unshare;
mod users;
#[path = "../../../../tests/wait.rs"]
mod wait;
mod world;
