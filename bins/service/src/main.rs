//! The program `service`.

mod cli;
mod maintenance;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use mimalloc::MiMalloc;
use waypost_project::LogFormat;

/// A request allocates and frees hundreds of small blocks, often on two threads, which is slow with
/// glibc's allocator.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Makes the allocator return free pages to the system. It does so itself only when memory is
/// allocated, so an idle service would keep the memory of its first indexing.
#[expect(unsafe_code, reason = "the allocator is written in C")]
fn release_memory() {
    unsafe extern "C" {
        fn mi_collect(force: bool);
    }
    // SAFETY: declared as in mimalloc.h; it may be called from any thread at any time.
    unsafe { mi_collect(true) }
}

fn main() -> ExitCode {
    let first = std::env::args_os().nth(1).unwrap_or_default();
    if first == waypost_service::GUARD_ARGUMENT {
        waypost_service::run_guard(std::io::stdin());
        return ExitCode::SUCCESS;
    }
    if first == waypost_cli::maintenance::ARGUMENT {
        return maintenance::run(std::iter::once("ctl".into()).chain(std::env::args_os().skip(2)));
    }
    let arguments = cli::Arguments::parse();
    // As far as it is known before the settings are read.
    let (mut format, mut data_dir) = (arguments.log_format(), None);
    let Err(error) = serve(arguments, &mut format, &mut data_dir) else { return ExitCode::SUCCESS };
    // The log may not have started, and may be filtered: the reason is printed in any case.
    let text = cli::startup_error(&error, format, data_dir.as_deref());
    let written = writeln!(std::io::stderr(), "{text}");
    if cli::is_in_use(&error) {
        ExitCode::from(waypost_project::STATUS_IN_USE)
    } else if written.is_err() {
        ExitCode::from(2)
    } else {
        ExitCode::FAILURE
    }
}

fn serve(
    arguments: cli::Arguments,
    format: &mut LogFormat,
    data_dir: &mut Option<PathBuf>,
) -> anyhow::Result<()> {
    arguments.detach()?;
    let (mut options, log) = arguments.resolve()?;
    *format = log.format;
    *data_dir = Some(options.data_dir.clone());
    options.release_memory = release_memory;
    options.flows.guard = std::env::current_exe().ok();
    cli::start_log(&log)?;
    waypost_service::run(&options)
}
