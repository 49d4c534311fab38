//! The command line, run as a program.

mod alone;
mod context;
mod ctl;
mod events;
mod flows;
mod mesh;
mod reference;
mod service;
mod together;
mod visible;
