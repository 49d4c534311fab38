//! The browser on real pages, served here.

mod commands;
mod flow;
mod frame;
mod hostile;
mod person;
mod plain;
mod processes;
mod reach;
mod server;
mod world;
