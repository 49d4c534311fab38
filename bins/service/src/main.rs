//! The program `service`.

mod cli;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use mimalloc::MiMalloc;

/// A request makes and drops some hundred small pieces, often on two threads, which glibc's
/// allocator is slow at.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    let Err(error) = serve(cli::Arguments::parse()) else { return ExitCode::SUCCESS };
    // The log may not have begun, and may be filtered: why nothing runs is said in any case.
    let written = writeln!(std::io::stderr(), "error: {error:#}");
    if written.is_err() { ExitCode::from(2) } else { ExitCode::FAILURE }
}

fn serve(arguments: cli::Arguments) -> anyhow::Result<()> {
    let (options, log) = arguments.resolve()?;
    cli::start_log(&log)?;
    waypost_service::run(&options)
}
