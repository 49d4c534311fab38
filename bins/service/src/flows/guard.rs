//! A process beside the service of a cluster that ends the programs of flows when the lease ends,
//! even if the service is suspended or was killed: then another machine runs the flows.
//!
//! The service writes lines to its standard input:
//!
//! ```text
//! lease MILLISECONDS      the lease ends this much later, unless another line follows
//! began RUN KEY           an action with this idempotency key has begun
//! ended KEY               it has ended
//! ```

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::Context;
use parking_lot::Mutex;
use waypost_flows::{Orphan, RunId, end_orphans};

/// The hidden argument that makes the program a guard.
pub const GUARD_ARGUMENT: &str = "--guard";

/// How often programs are ended again that begin after the end of the lease.
const AGAIN: Duration = Duration::from_millis(200);

/// The guard, as the service has it.
#[derive(Debug)]
pub(crate) struct Guard {
    input: Mutex<Option<ChildStdin>>,
    process: Mutex<Child>,
}

impl Guard {
    /// Starts the program as a guard, in a session of its own, so that signals of a terminal do not
    /// reach it.
    pub(crate) fn start(program: &Path) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        command.arg(GUARD_ARGUMENT).stdin(Stdio::piped()).stdout(Stdio::null());
        command.process_group(0).current_dir("/");
        let mut process = command
            .spawn()
            .with_context(|| format!("failed to start {} as a guard", program.display()))?;
        let input = Mutex::new(process.stdin.take());
        Ok(Self { input, process: Mutex::new(process) })
    }

    pub(crate) fn lease(&self, left: Duration) {
        self.tell(&format!("lease {}", left.as_millis()));
    }

    pub(super) fn began(&self, run: &RunId, key: &str) {
        self.tell(&format!("began {run} {key}"));
    }

    pub(super) fn ended(&self, key: &str) {
        self.tell(&format!("ended {key}"));
    }

    fn tell(&self, line: &str) {
        let mut input = self.input.lock();
        let Some(pipe) = &mut *input else { return };
        if let Err(error) = writeln!(pipe, "{line}") {
            tracing::warn!(%error, "the guard of flows has ended");
            *input = None;
        }
    }

    /// Lets it end: no program of a flow runs any more.
    pub(crate) fn end(&self) {
        drop(self.input.lock().take());
        if let Err(error) = self.process.lock().wait() {
            tracing::warn!(%error, "failed to wait for the guard of flows");
        }
    }
}

/// Runs as a guard until the input ends and nothing is left to end.
pub fn run_guard(input: impl Read + Send + 'static) {
    let (lines, told) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(input).lines().map_while(Result::ok) {
            if lines.send(line).is_err() {
                return;
            }
        }
    });
    let mut watch = Watch::default();
    loop {
        match told.recv_timeout(watch.pause()) {
            Ok(line) => watch.note(&line),
            Err(RecvTimeoutError::Timeout) => watch.end_if_over(),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    // The service has ended. What it left running may run as long as its lease.
    if !watch.running.is_empty() {
        if let Some(ends) = watch.ends {
            std::thread::park_timeout(ends.saturating_duration_since(Instant::now()));
        }
        watch.end_all();
    }
}

/// What runs, and until when it may.
#[derive(Default)]
struct Watch {
    /// When the lease ends; `None` before the first one.
    ends: Option<Instant>,
    running: BTreeMap<String, RunId>,
}

impl Watch {
    /// How long to wait for the next line.
    fn pause(&self) -> Duration {
        let left = self.ends.map(|end| end.saturating_duration_since(Instant::now()));
        match left {
            Some(left) if !self.running.is_empty() => left.max(AGAIN),
            _ => Duration::from_secs(3600),
        }
    }

    fn note(&mut self, line: &str) {
        let mut words = line.split(' ');
        match (words.next(), words.next(), words.next()) {
            (Some("lease"), Some(left), None) => {
                let left = left.parse().map_or(Duration::ZERO, Duration::from_millis);
                self.ends = Some(Instant::now() + left);
            }
            (Some("began"), Some(run), Some(key)) => {
                if let Ok(run) = run.parse() {
                    self.running.insert(key.to_owned(), run);
                }
            }
            (Some("ended"), Some(key), None) => drop(self.running.remove(key)),
            _ => {}
        }
        self.end_if_over();
    }

    fn end_if_over(&self) {
        if self.ends.is_some_and(|end| Instant::now() >= end) {
            self.end_all();
        }
    }

    fn end_all(&self) {
        for (key, run) in &self.running {
            let (run, idempotency_key) = (run.clone(), key.clone());
            end_orphans(&Orphan { run, leader: None, idempotency_key }, Duration::ZERO);
        }
    }
}
