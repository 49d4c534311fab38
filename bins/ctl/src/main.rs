//! The Waypost command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    waypost_ctl::run(std::env::args_os())
}
