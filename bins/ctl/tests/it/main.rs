//! The command line, run as a program.

mod alone;
mod ctl;
mod events;
mod flows;
mod reference;
mod service;
mod together;
mod visible;
