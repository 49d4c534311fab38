//! Programs that are started, and end with what started them.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};

/// How long a program may take until it is what is waited for.
const WAIT_MAX: Duration = Duration::from_secs(600);

/// A process that is ended with a signal, and waited for, when this is dropped.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    signal: Signal,
}

impl Process {
    /// Starts it; what it says goes to a file.
    pub(crate) fn start(command: &mut Command, log: &Path, signal: Signal) -> Result<Self> {
        let log = fs::File::options().create(true).append(true).open(log)?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = command.spawn().with_context(|| format!("starting {command:?}"))?;
        Ok(Self { child, signal })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Fails if it has ended.
    pub(crate) fn check(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            Some(status) => bail!("the process {} ended with {status}", self.id()),
            None => Ok(()),
        }
    }

    /// Its resident memory, in bytes.
    pub(crate) fn memory(&self) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.context("no VmRSS")?.trim().trim_end_matches(" kB");
        Ok(kilobytes.trim().parse::<u64>()? << 10)
    }

    /// Processor time that it has used, in seconds.
    pub(crate) fn seconds(&self) -> Result<f64> {
        // Linux tells times to programs in hundredths, whatever its own clock does.
        const TICKS_A_SECOND: f64 = 100.0;
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.id()))?;
        // The name may hold blanks; user and system time are the 12th and 13th field after it.
        let fields = stat.rsplit_once(')').map_or("", |parts| parts.1);
        let ticks = fields.split_whitespace().skip(11).take(2);
        Ok(ticks.filter_map(|tick| tick.parse::<f64>().ok()).sum::<f64>() / TICKS_A_SECOND)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let is_running = matches!(self.child.try_wait(), Ok(None));
        if is_running && kill_process(Pid::from_child(&self.child), self.signal).is_ok() {
            drop(self.child.wait());
        }
    }
}

/// Runs a program to its end, and returns what it wrote to its output.
pub(crate) fn run(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("running {command:?}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {errors}");
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}

/// Waits until `look` finds something, with pauses.
pub(crate) fn until<T>(
    what: &str,
    pause: Duration,
    mut look: impl FnMut() -> Result<Option<T>>,
) -> Result<T> {
    let begun = Instant::now();
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        ensure!(begun.elapsed() < WAIT_MAX, "waited in vain: {what}");
        thread::sleep(pause);
    }
}

/// The folder with `service` and `ctl`: that of this program, or `WAYPOST_BIN`.
pub(crate) fn programs() -> Result<PathBuf> {
    let beside = || Some(std::env::current_exe().ok()?.parent()?.to_path_buf());
    let folder = std::env::var_os("WAYPOST_BIN").map(PathBuf::from).or_else(beside);
    let folder = folder.context("this program has no folder")?;
    for name in ["service", "ctl"] {
        ensure!(
            folder.join(name).is_file(),
            "{name} is missing in {}: build it first",
            folder.display()
        );
    }
    Ok(folder)
}

/// Says on standard error what is being done.
pub(crate) fn progress(what: &str) {
    // Nothing depends on it.
    drop(writeln!(io::stderr(), "{what}"));
}
