//! The program `service`.

mod cli;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use mimalloc::MiMalloc;
use waypost_project::LogFormat;

/// A request makes and drops some hundred small pieces, often on two threads, which glibc's
/// allocator is slow at.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Has the allocator give free pages back to the system. By itself it does so only while more is
/// asked of it, and a service that has nothing to do would keep what its first index took.
#[expect(unsafe_code, reason = "the allocator is written in C")]
fn give_memory_back() {
    unsafe extern "C" {
        fn mi_collect(force: bool);
    }
    // SAFETY: declared as in mimalloc.h; it may be called from any thread at any time.
    unsafe { mi_collect(true) }
}

fn main() -> ExitCode {
    let arguments = cli::Arguments::parse();
    // As far as it is known before the settings are.
    let mut format = arguments.log_format();
    let Err(error) = serve(arguments, &mut format) else { return ExitCode::SUCCESS };
    // The log may not have begun, and may be filtered: why nothing runs is said in any case.
    let text = cli::startup_error(&error, format);
    let written = writeln!(std::io::stderr(), "{text}");
    if written.is_err() { ExitCode::from(2) } else { ExitCode::FAILURE }
}

fn serve(arguments: cli::Arguments, format: &mut LogFormat) -> anyhow::Result<()> {
    let (mut options, log) = arguments.resolve()?;
    *format = log.format;
    options.give_memory_back = give_memory_back;
    cli::start_log(&log)?;
    waypost_service::run(&options)
}
