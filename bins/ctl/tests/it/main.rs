//! The command line, run as a program.

mod alone;
mod ctl;
mod reference;
mod service;
mod together;
mod visible;
