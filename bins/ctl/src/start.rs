//! Starts the project's service, for commands that somebody uses who cannot.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use waypost_cli::SERVICE_LOG;
use waypost_cli::exit;
use waypost_cli::failure::{Failure, Result};
use waypost_cli::maintenance::ARGUMENT;
use waypost_cli::program::Program;
use waypost_project::{Origin, STATUS_IN_USE};

/// A log that has grown beyond this is set aside by the next start.
const LOG_BYTES_MAX: u64 = 1 << 20;
/// How long to wait for a service: less than clients wait for a response.
const WAIT_MAX: Duration = Duration::from_secs(20);
const CHECK_EVERY: Duration = Duration::from_millis(5);
/// How long a service that responds may take to describe itself, or one that lost against it to end.
const DESCRIBED_MAX: Duration = Duration::from_secs(2);
/// How long to wait before a start is repeated while a service that is stopping has the store open.
const RETRY_AFTER: Duration = Duration::from_millis(100);
/// Bytes of the end of the log that an error shows.
const SHOWN_BYTES: u64 = 2000;

/// Starts services, one at a time.
#[derive(Debug)]
pub(crate) struct Starter {
    /// How long a service stays idle before it ends, in the form of settings.
    exit_idle: String,
    /// A service that was started and does not respond yet.
    starting: Mutex<Option<Child>>,
}

/// A service that responds.
#[derive(Debug)]
pub(crate) enum Started {
    /// This process started it; what to tell the user.
    Here(String),
    /// Another process did.
    Elsewhere,
}

impl Starter {
    pub(crate) fn new(exit_idle: String) -> Self {
        Self { exit_idle, starting: Mutex::new(None) }
    }

    /// Starts the service of the project, and waits until `responds`. Where two processes do so at once, the lock of
    /// the store decides, and both use the service that got it.
    pub(crate) fn start(&self, program: &Program, responds: impl Fn() -> bool) -> Result<Started> {
        let mut starting = self.starting.lock().unwrap_or_else(PoisonError::into_inner);
        if starting.is_none() && responds() {
            // Another call started it while this one waited for the lock.
            return Ok(Started::Elsewhere);
        }
        check(program)?;
        let service = service().map_err(|failure| {
            let failure = failure.while_doing("no service runs").with_code(exit::NOT_REACHABLE);
            failure.with_hint(
                "install `service` of the same release beside `ctl`, or start it yourself",
            )
        })?;
        // Rejects a store that is not this project's, before a file is created in it. The service checks the rest.
        program.claim_data()?;
        let log = program.settings()?.data_dir.join(SERVICE_LOG);
        let begun = Instant::now();
        let (mut child, mut from) = match starting.take() {
            Some(child) => (child, 0),
            None => self.spawn(program, &service, &log)?,
        };
        loop {
            if responds() {
                return Ok(self.started(program, child, &log));
            }
            if let Some(status) = child.try_wait()? {
                if status.code() != Some(i32::from(STATUS_IN_USE)) {
                    let why = format!("the service could not start ({status})");
                    let hint = format!("its log is {}", log.display());
                    return Err(end_of(&log, from)
                        .map_or_else(
                            || Failure::new(why.clone()),
                            |said| Failure::new(format!("{why}: {said}")),
                        )
                        .with_hint(hint));
                }
                thread::sleep(RETRY_AFTER);
                if !responds() {
                    (child, from) = self.spawn(program, &service, &log)?;
                }
            }
            if begun.elapsed() > WAIT_MAX {
                // The next call waits for it again.
                *starting = Some(child);
                let hint = format!("try again in a moment; its log is {}", log.display());
                return Err(Failure::new("the service is still starting")
                    .with_code(exit::NOT_REACHABLE)
                    .with_hint(hint));
            }
            thread::sleep(CHECK_EVERY);
        }
    }

    /// Starts the program, apart from this one: it has its own session and log, and no input.
    fn spawn(&self, program: &Program, service: &Path, log: &Path) -> Result<(Child, u64)> {
        let file = open_log(log)?;
        let from = file.metadata()?.len();
        let mut command = Command::new(service);
        command.arg("--project").arg(program.project().root());
        command.args(["--detach", "--exit-idle", &self.exit_idle]);
        if program.global().trust_project {
            command.arg("--trust-project");
        }
        for variable in program.ignored() {
            command.env_remove(variable);
        }
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let child = command.spawn().map_err(|error| {
            Failure::of(&error).while_doing(format!("cannot start {}", service.display()))
        })?;
        Ok((child, from))
    }

    fn started(&self, program: &Program, mut child: Child, log: &Path) -> Started {
        let begun = Instant::now();
        let is_ours = loop {
            // Another one has the store.
            if matches!(child.try_wait(), Ok(Some(_))) {
                return Started::Elsewhere;
            }
            // A service responds a moment before it describes itself.
            match program.described_service().and_then(|described| described.pid) {
                Some(pid) if pid == child.id() => break true,
                described if begun.elapsed() > DESCRIBED_MAX => break described.is_none(),
                _ => thread::sleep(CHECK_EVERY),
            }
        };
        // Collects its status once it ends.
        thread::spawn(move || child.wait());
        if !is_ours {
            return Started::Elsewhere;
        }
        Started::Here(format!(
            "No service ran for {}, so `ctl mcp` started one. It stops after {} without use; its log is {}.",
            program.project().root().display(),
            self.exit_idle,
            log.display()
        ))
    }
}

/// Whether to start a service: only for the project's own socket, in a folder that is a Waypost project or that the
/// command line names.
fn check(program: &Program) -> Result<()> {
    let settings = program.settings()?;
    let not_here = |why: String| {
        Failure::new(why)
            .with_code(exit::NOT_REACHABLE)
            .with_hint("start the service (`service`), or pass its address with --url")
    };
    if settings.origin("url") != Some(&Origin::Default) {
        return Err(not_here(format!("no service responds at {}", settings.url)));
    }
    if program.global().project.is_none() && !program.project().dir().is_dir() {
        let root = program.project().root().display();
        return Err(Failure::new(format!(
            "no service runs for {root}, which is not a Waypost project yet"
        ))
        .with_code(exit::NOT_REACHABLE)
        .with_hint(format!(
            "start the service there once (`service --project {root}`), or pass --project DIR"
        )));
    }
    Ok(())
}

/// Continues as the program `service`, which reads the same arguments.
pub(crate) fn become_service() -> Result<()> {
    let service = service()?;
    let mut command = Command::new(&service);
    let error = command.arg(ARGUMENT).args(std::env::args_os().skip(1)).exec();
    Err(Failure::of(&error).while_doing(format!("cannot start {}", service.display())))
}

/// The program `service`, which is beside this one. The search path may lead to another program of that name, such as
/// Debian's, or to one that a project brought.
fn service() -> Result<PathBuf> {
    let exe = std::env::current_exe().and_then(fs::canonicalize).unwrap_or_default();
    let beside = exe.with_file_name("service");
    if fs::metadata(&beside)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    {
        return Ok(beside);
    }
    let why = format!("the program `service` is not beside {}", exe.display());
    Err(Failure::new(why).with_hint("install `service` of the same release beside `ctl`"))
}

/// Opens the log for appending, for this user only. A link is an error.
fn open_log(path: &Path) -> Result<File> {
    let cannot = |error: std::io::Error| {
        Failure::of(&error).while_doing(format!("cannot write the log {}", path.display()))
    };
    if path.symlink_metadata().is_ok_and(|metadata| metadata.len() > LOG_BYTES_MAX) {
        fs::rename(path, path.with_extension("log.old")).map_err(cannot)?;
    }
    let flags = OFlags::WRONLY
        | OFlags::CREATE
        | OFlags::APPEND
        | OFlags::NOFOLLOW
        | OFlags::NONBLOCK
        | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR);
    let file = File::from(file.map_err(|error| cannot(error.into()))?);
    let found = file.metadata().map_err(cannot)?;
    if !found.is_file() || found.uid() != rustix::process::geteuid().as_raw() {
        return Err(Failure::new(format!("{} is not a file of this user", path.display())));
    }
    Ok(file)
}

/// The end of what was logged from there on.
fn end_of(log: &Path, from: u64) -> Option<String> {
    let mut file = File::open(log).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(from.max(length.saturating_sub(SHOWN_BYTES)))).ok()?;
    let mut bytes = Vec::new();
    file.take(SHOWN_BYTES).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes).trim().to_owned();
    (!text.is_empty()).then_some(text)
}
