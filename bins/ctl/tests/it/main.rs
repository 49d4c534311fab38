//! The command line, run as a program.

mod alone;
mod ctl;
mod reference;
mod visible;
