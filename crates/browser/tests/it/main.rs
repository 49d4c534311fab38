//! The browser on real pages, served here.

mod commands;
mod world;
