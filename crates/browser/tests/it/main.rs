//! The browser on real pages, served here.

mod bounds;
mod commands;
mod flow;
mod frame;
mod hostile;
mod person;
mod picture;
mod plain;
mod processes;
mod reach;
mod reading;
mod server;
mod world;
