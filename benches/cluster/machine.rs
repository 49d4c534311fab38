//! A machine: a project folder and the service that runs for it.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustix::process::Signal;

use crate::http::Http;
use crate::process::{Process, run, until};

/// A machine, whose service runs or not.
#[derive(Debug)]
pub(crate) struct Machine {
    project: PathBuf,
    programs: PathBuf,
    service: Option<Process>,
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
}

impl Machine {
    /// A machine with an empty project.
    pub(crate) fn new(project: PathBuf, programs: &Path) -> Result<Self> {
        fs::create_dir_all(project.join(".waypost"))?;
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let programs = programs.to_path_buf();
        Ok(Self { project, programs, service: None, address, token: String::new() })
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.arg("--project").arg(&self.project);
        command.env("WAYPOST_TRUST_PROJECT", "1").env("HOME", &self.project);
        command
    }

    /// Starts the service, without a model, and waits until it answers; how long that took.
    pub(crate) fn start(&mut self) -> Result<Duration> {
        let mut command = self.command("service");
        command.args(["--offline", "--model", "none", "--listen", &self.address.to_string()]);
        let begun = Instant::now();
        let log = self.project.join("log");
        let mut service = Process::start(&mut command, &log, Signal::TERM)?;
        let pause = Duration::from_millis(1);
        until("the service answers", pause, || {
            service.check().with_context(|| format!("see {}", log.display()))?;
            let asked = Http::connect(self.address, "none")
                .and_then(|mut connection| connection.ask("GET", "/healthz", ""));
            Ok(asked.ok().filter(|asked| asked.status == 200))
        })?;
        let took = begun.elapsed();
        let token = fs::read_to_string(self.project.join(".waypost/token"))?;
        token.trim().clone_into(&mut self.token);
        self.service = Some(service);
        Ok(took)
    }

    /// Ends the service in order.
    pub(crate) fn stop(&mut self) {
        self.service = None;
    }

    pub(crate) fn ctl(&self, arguments: &[&str]) -> Result<String> {
        run(self.command("ctl").args(arguments))
    }

    pub(crate) fn connect(&self) -> Result<Http> {
        Http::connect(self.address, &self.token)
    }

    /// Adds many memories with few requests.
    pub(crate) fn fill(&self, count: usize, random: &mut crate::text::Random) -> Result<()> {
        const LINES: usize = 20_000;
        let mut http = self.connect()?;
        for from in (0..count).step_by(LINES) {
            let mut lines = String::new();
            for _ in from..(from + LINES).min(count) {
                lines.push_str(&random.memory());
                lines.push('\n');
            }
            let answer = http.ask("POST", "/api/memory/batch", &lines)?.ok()?;
            let added = answer.body.matches("\"status\":201").count();
            anyhow::ensure!(added == (count - from).min(LINES), "{added} of a batch were added");
        }
        Ok(())
    }

    /// The position of the journal that this machine has read.
    pub(crate) fn position(&self) -> Result<String> {
        let answer = self.connect()?.ask("GET", "/api/memory/status", "")?.ok()?;
        answer.position.context("no position")
    }

    /// Waits until this machine has applied a position.
    pub(crate) fn wait_for(&self, position: &str) -> Result<()> {
        until("the machine has the position", Duration::from_millis(5), || {
            let mut http = self.connect()?;
            http.send("GET", "/api/memory/status", Some(position), "")?;
            Ok((http.receive()?.status == 200).then_some(()))
        })
    }

    pub(crate) fn service(&self) -> Result<&Process> {
        self.service.as_ref().context("the service does not run")
    }
}
