//! The browser on real pages from a local server.

mod bounds;
mod commands;
mod delta;
mod flow;
mod frame;
mod hang;
mod hostile;
mod letters;
mod memory;
mod person;
mod picture;
mod plain;
mod processes;
mod reach;
mod reading;
mod scope;
mod secrets;
mod server;
mod slow;
#[path = "../../../../tests/wait.rs"]
mod wait;
mod world;
