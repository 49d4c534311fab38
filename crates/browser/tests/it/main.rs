//! The browser on real pages, served here.

mod commands;
mod hostile;
mod person;
mod plain;
mod reach;
mod world;
