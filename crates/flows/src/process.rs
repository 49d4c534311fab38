//! Runs a program to its end. The only module that starts processes.
//!
//! The caller's thread does everything: it reads both outputs, writes the input and watches the
//! clock, with one `poll`. Nothing is used that would keep `std::process::Command` from using
//! `posix_spawn` (`pre_exec`, `uid`, `gid`, a program that is looked up in a changed `PATH`): a
//! fork copies the page tables of the whole store.

mod capture;
mod group;
mod mask;

use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, WaitId, WaitIdOptions, waitid};

pub use self::capture::{Captured, HEAD_BYTES_MAX, TAIL_BYTES_MAX};
pub use self::group::{Leader, end_orphans};
use self::group::{kill_group, pid_of};
use self::mask::Mask;
use crate::{Outcome, Report};

/// How long a process group may take to end after `SIGTERM`, before it is killed.
pub const GRACE: Duration = Duration::from_secs(10);
/// How long outputs are read that another process keeps open after the program has ended.
pub const DRAIN: Duration = Duration::from_secs(2);
/// How often the end of the program is checked on systems without pid descriptors.
const ASK: Duration = Duration::from_millis(20);
/// Longer than the kernel needs to end a killed process.
const LONG: Duration = Duration::from_secs(3600);
/// Bytes of one read.
const READ_BYTES: usize = 64 << 10;
/// The most consecutive reads of one output.
const READS_MAX: usize = 16;

/// A program to run.
#[derive(Debug, Clone)]
pub struct Program {
    /// The absolute path of the executable.
    pub path: PathBuf,
    /// Its arguments, without its own name.
    pub arguments: Vec<String>,
    /// Its whole environment.
    pub variables: Vec<(String, String)>,
    /// Its working directory.
    pub folder: PathBuf,
    /// Its standard input.
    pub input: Vec<u8>,
    /// It is ended after this.
    pub timeout: Duration,
    /// The time from its ending until it is killed.
    pub grace: Duration,
    /// Texts masked in its output, as they are and in base64 and URL encoding.
    pub secrets: Vec<String>,
}

/// The output and the result of a program.
#[derive(Debug, Clone)]
pub struct Finished {
    /// For [`Engine::ended`](crate::Engine::ended).
    pub report: Report,
    /// Standard output.
    pub stdout: Captured,
    /// Standard error.
    pub stderr: Captured,
}

/// Ends a program from another thread.
#[derive(Debug)]
pub struct Stop {
    /// Readable once the program is to end.
    read: PipeReader,
    write: PipeWriter,
}

impl Stop {
    /// A stop for one program.
    ///
    /// # Errors
    /// If the process has no descriptors left.
    pub fn new() -> io::Result<Self> {
        let (read, write) = io::pipe()?;
        Ok(Self { read, write })
    }

    /// Ends the program, now or when it starts.
    pub fn stop(&self) {
        // A pipe has room for more stops than anyone requests; one is enough.
        (&self.write).write_all(&[1]).unwrap_or_default();
    }
}

/// Runs a program until it has ended, on this thread. `spawned` is called with its process once it
/// has started. `boot` identifies this boot of the machine.
///
/// The program leads its own process group, which gets `SIGTERM` at the timeout or on `stop`, and
/// `SIGKILL` if it still exists after the grace. Outputs that another process keeps open after the
/// program has ended are read for [`DRAIN`], then the group is killed.
pub fn run(program: &Program, boot: &str, stop: &Stop, spawned: impl FnOnce(Leader)) -> Finished {
    let begun = now();
    let mut command = Command::new(&program.path);
    command
        .args(&program.arguments)
        .env_clear()
        .envs(program.variables.iter().map(|(name, value)| (name, value)))
        .current_dir(&program.folder)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return refused(&format!("{}: {error}", program.path.display())),
    };
    spawned(Leader::of(&child, boot));
    match Watch::new(child, program, begun).and_then(|watch| watch.until_end(stop)) {
        Ok(finished) => finished,
        Err(error) => refused(&format!("failed to watch it: {error}")),
    }
}

fn refused(detail: &str) -> Finished {
    Finished {
        report: Report::new(Outcome::Refused, detail),
        stdout: Captured::default(),
        stderr: Captured::default(),
    }
}

#[expect(clippy::disallowed_methods, reason = "timeouts of processes are of the real clock")]
fn now() -> Instant {
    Instant::now()
}

/// A running program.
struct Watch<'a> {
    child: Child,
    program: &'a Program,
    begun: Instant,
    /// Readable once the program has ended; nothing if the system does not support this.
    ended: Option<OwnedFd>,
    stdin: Option<(OwnedFd, &'a [u8])>,
    stdout: Output,
    stderr: Output,
    /// Why it is to end, and when it is killed.
    ending: Option<(Outcome, Instant)>,
    killed: bool,
}

/// One of the two outputs.
struct Output {
    /// Nothing once it is closed.
    pipe: Option<OwnedFd>,
    mask: Mask,
    captured: Captured,
}

impl<'a> Watch<'a> {
    fn new(mut child: Child, program: &'a Program, begun: Instant) -> io::Result<Self> {
        let ended = descriptor_of(&child);
        let output = |pipe: Option<OwnedFd>| {
            pipe.as_ref().map_or(Ok(()), unblock)?;
            let mask = Mask::new(&program.secrets);
            io::Result::Ok(Output { pipe, mask, captured: Captured::default() })
        };
        let stdin = child.stdin.take().map(OwnedFd::from);
        stdin.as_ref().map_or(Ok(()), unblock)?;
        let stdout = output(child.stdout.take().map(OwnedFd::from))?;
        let stderr = output(child.stderr.take().map(OwnedFd::from))?;
        Ok(Self {
            stdin: stdin.map(|stdin| (stdin, program.input.as_slice())),
            child,
            program,
            begun,
            ended,
            stdout,
            stderr,
            ending: None,
            killed: false,
        })
    }

    fn until_end(mut self, stop: &Stop) -> io::Result<Finished> {
        let deadline = self.begun + self.program.timeout;
        let mut drained_by = None;
        let mut leaked = false;
        loop {
            let is_over = drained_by.is_some();
            let next = drained_by.or(self.ending.map(|(_, at)| at)).unwrap_or(deadline);
            let stopped = self.wait(stop, next, is_over)?;
            self.feed();
            self.stdout.read();
            self.stderr.read();
            let now = now();
            if drained_by.is_none() && self.has_ended()? {
                // A program that no longer reads its input gets no more.
                self.stdin = None;
                drained_by = Some(now + DRAIN);
            }
            if let Some(by) = drained_by {
                if self.stdout.pipe.is_none() && self.stderr.pipe.is_none() {
                    break;
                }
                if now >= by {
                    leaked = true;
                    break;
                }
            } else if self.ending.is_none() && (stopped || now >= deadline) {
                let why = if stopped { Outcome::Cancelled } else { Outcome::TimedOut };
                self.ending = Some((why, now + self.program.grace));
                kill_group(&self.child, Signal::TERM);
            } else if self.ending.is_some_and(|(_, at)| now >= at) && !self.killed {
                self.killed = true;
                kill_group(&self.child, Signal::KILL);
                // The kernel needs a moment; the descriptor reports when it is done.
                self.ending = self.ending.map(|(why, at)| (why, at + LONG));
            }
        }
        if leaked || self.ending.is_some() {
            // The program is not reaped yet, so the group's number is still its own.
            kill_group(&self.child, Signal::KILL);
            self.kill_strays();
        }
        let status = self.child.wait()?;
        Ok(self.finished(status, leaked))
    }

    /// Ends processes that left the group, but are still identified by their environment.
    fn kill_strays(&self) {
        let variable = self.program.variables.iter().find(|(name, _)| name == group::KEY_VARIABLE);
        if let Some((_, key)) = variable {
            group::kill_members(key);
        }
    }

    /// Waits for something to do, until `next` at the latest. Returns whether a stop was requested.
    fn wait(&self, stop: &Stop, next: Instant, is_over: bool) -> io::Result<bool> {
        let mut timeout = next.saturating_duration_since(now());
        let mut watched = Vec::with_capacity(5);
        let pipes = [&self.stdout.pipe, &self.stderr.pipe];
        for pipe in pipes.into_iter().flatten() {
            watched.push(PollFd::new(pipe, PollFlags::IN));
        }
        if let Some((pipe, _)) = &self.stdin {
            watched.push(PollFd::new(pipe, PollFlags::OUT));
        }
        let mut stop_at = None;
        if !is_over {
            match &self.ended {
                Some(ended) => watched.push(PollFd::new(ended, PollFlags::IN)),
                None => timeout = timeout.min(ASK),
            }
            if self.ending.is_none() {
                stop_at = Some(watched.len());
                watched.push(PollFd::new(&stop.read, PollFlags::IN));
            }
        }
        let timeout = Timespec::try_from(timeout).ok();
        match poll(&mut watched, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(stop_at.is_some_and(|at| watched[at].revents().contains(PollFlags::IN)))
    }

    /// Writes as much of the input as the program accepts.
    fn feed(&mut self) {
        let Some((pipe, rest)) = &mut self.stdin else { return };
        while !rest.is_empty() {
            match rustix::io::write(&*pipe, rest) {
                Ok(n) => *rest = &rest[n..],
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return,
                // It does not read.
                Err(_) => break,
            }
        }
        self.stdin = None;
    }

    /// Whether the program has ended. It is not reaped by this.
    fn has_ended(&self) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(pid_of(&self.child)), options)?.is_some())
    }

    fn finished(mut self, status: ExitStatus, leaked: bool) -> Finished {
        self.stdout.finish();
        self.stderr.finish();
        let timeout = crate::Span(self.program.timeout);
        let (outcome, detail) = match (self.ending, status.code(), status.signal()) {
            (Some((Outcome::TimedOut, _)), ..) => {
                (Outcome::TimedOut, format!("it took longer than {timeout}"))
            }
            (Some((outcome, _)), ..) => (outcome, "stopped".to_owned()),
            (None, Some(0), _) => (Outcome::Succeeded, "exit status 0".to_owned()),
            (None, Some(code), _) => (Outcome::Failed, format!("exit status {code}")),
            (None, None, Some(signal)) => (Outcome::Failed, format!("killed by signal {signal}")),
            (None, None, None) => (Outcome::Failed, "ended with an unknown status".to_owned()),
        };
        let report = Report {
            outcome,
            detail,
            leaked,
            took_ms: u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            stdout_bytes: self.stdout.captured.bytes(),
            stderr_bytes: self.stderr.captured.bytes(),
        };
        Finished { report, stdout: self.stdout.captured, stderr: self.stderr.captured }
    }
}

impl Output {
    /// Reads what is available, a megabyte at most: a program that never stops writing must not
    /// keep this thread from watching the time.
    fn read(&mut self) {
        let Some(pipe) = &self.pipe else { return };
        let mut buffer = vec![0; READ_BYTES];
        for _ in 0..READS_MAX {
            match rustix::io::read(pipe, &mut buffer) {
                Ok(n) if n > 0 => self.mask.push(&buffer[..n], &mut self.captured),
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return,
                // Closed, or no longer usable.
                Ok(_) | Err(_) => {
                    self.pipe = None;
                    return;
                }
            }
        }
    }

    fn finish(&mut self) {
        self.mask.finish(&mut self.captured);
    }
}

fn unblock(pipe: &OwnedFd) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(pipe)?;
    Ok(rustix::fs::fcntl_setfl(pipe, flags | rustix::fs::OFlags::NONBLOCK)?)
}

#[cfg(target_os = "linux")]
fn descriptor_of(child: &Child) -> Option<OwnedFd> {
    rustix::process::pidfd_open(pid_of(child), rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn descriptor_of(_: &Child) -> Option<OwnedFd> {
    None
}
