//! The program itself, as a process.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use crate::child::end_of;
use crate::client::Answer;
use crate::service::{read_token, send};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_service");

/// A running `service`; killed when dropped.
pub(crate) struct Program {
    child: Child,
    stderr: BufReader<std::process::ChildStderr>,
    pub(crate) log: String,
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
}

/// The program with the options of every test: a free port, no model, nothing of this machine.
pub(crate) fn command(project: &Path) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(["--listen", "127.0.0.1:0", "--model", "none", "--project"]).arg(project);
    command.env_clear().env("WAYPOST_TRUST_PROJECT", "1").stdin(Stdio::null());
    command
}

impl Program {
    pub(crate) fn start(project: &Path) -> Self {
        Self::start_as(command(project), project)
    }

    /// Starts that command; the test finds its project at `project`.
    pub(crate) fn start_as(mut command: Command, project: &Path) -> Self {
        Self::try_start(&mut command, |_| project.to_owned()).unwrap_or_else(|log| panic!("{log}"))
    }

    /// Starts that command and waits until it listens; otherwise returns its output.
    pub(crate) fn try_start(
        command: &mut Command,
        project: impl FnOnce(u32) -> PathBuf,
    ) -> Result<Self, String> {
        let mut child =
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it can be run");
        let mut stderr = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut log = String::new();
        let address = loop {
            let start = log.len();
            if stderr.read_line(&mut log).expect("its log is text") == 0 {
                end_of(&mut child);
                return Err(log);
            }
            if let Some((_, rest)) = log[start..].split_once("listening on http://") {
                let address = rest.split_whitespace().next().expect("an address");
                break address.parse().expect("an address");
            }
        };
        let token = read_token(&project(child.id()));
        Ok(Self { child, stderr, log, address, token })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn send(&self, method: &str, path: &str, body: &[u8]) -> Answer {
        send(self.address, method, path, &self.token, &[], body)
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(self.pid(), name);
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
        end_of(&mut self.child);
    }

    /// Waits for its end; returns its status and its output.
    pub(crate) fn end(mut self) -> (ExitStatus, String) {
        self.stderr.read_to_string(&mut self.log).expect("its log is text");
        let status = end_of(&mut self.child);
        (status, std::mem::take(&mut self.log))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended already.
        if self.child.kill().is_ok() {
            end_of(&mut self.child);
        }
    }
}

pub(crate) fn signal(pid: u32, name: &str) {
    let status = Command::new("kill").args([format!("-{name}"), pid.to_string()]).status();
    assert!(status.expect("kill runs").success());
}
