//! The service as a process.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::rig::wall_seconds;

/// How long a start may take before it is given up.
const START_SECONDS_MAX: f64 = 300.0;

/// A running service; killed when dropped.
pub struct Service {
    child: Child,
    address: String,
    token: String,
    started: f64,
}

impl Service {
    /// Starts it, and returns when it says that it listens.
    pub fn start(program: &Path, project: &Path, model: &str) -> Result<Self> {
        let started = wall_seconds();
        let mut child = Command::new(program)
            .args(["--listen", "127.0.0.1:0", "--offline", "--model", model, "--project"])
            .arg(project)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut lines = BufReader::new(child.stderr.take().context("its log")?);
        let mut log = String::new();
        let address = loop {
            let start = log.len();
            if lines.read_line(&mut log)? == 0 {
                bail!("the service ended: {log}");
            }
            if let Some((_, rest)) = log[start..].split_once("listening on http://") {
                break rest.split_whitespace().next().context("an address")?.to_owned();
            }
        };
        // Its log must not fill the pipe.
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        let token = std::fs::read_to_string(project.join(".waypost/token"))?.trim().to_owned();
        Ok(Self { child, address, token, started })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Seconds since the process was started.
    pub fn age(&self) -> f64 {
        wall_seconds() - self.started
    }

    /// Seconds of processor time that it has used.
    pub fn cpu(&self) -> f64 {
        let stat =
            std::fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap_or_default();
        // After the name in brackets, whose spaces do not count: fields 14 and 15 of proc(5).
        let fields = stat.rsplit(')').next().unwrap_or_default();
        let ticks =
            fields.split_whitespace().skip(11).take(2).filter_map(|it| it.parse::<f64>().ok());
        // Linux tells times to programs in hundredths, whatever its own clock does.
        ticks.sum::<f64>() / 100.0
    }

    /// One request on a connection of its own: the status and the body.
    pub fn send(&self, method: &str, path: &str, body: &[u8]) -> Result<(u16, Vec<u8>)> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(Duration::from_secs(120)))?;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\
             connection: close\r\ncontent-length: {}\r\n\r\n",
            self.address,
            self.token,
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let end = answer.windows(4).position(|it| it == b"\r\n\r\n").context("a whole head")?;
        let head = String::from_utf8_lossy(&answer[..end]).into_owned();
        let status = head.split(' ').nth(1).context("a status")?.parse()?;
        Ok((status, answer.split_off(end + 4)))
    }

    pub fn status(&self) -> Result<Value> {
        let (status, body) = self.send("GET", "/api/memory/status", b"")?;
        anyhow::ensure!(status == 200, "status: {status}");
        Ok(serde_json::from_slice(&body)?)
    }

    /// The ids that a search finds.
    pub fn search(&self, query: &str) -> Result<Vec<u64>> {
        let body = serde_json::json!({ "query": query }).to_string();
        let (status, body) = self.send("POST", "/api/memory/search", body.as_bytes())?;
        anyhow::ensure!(status == 200, "search: {status} {}", String::from_utf8_lossy(&body));
        let hits: Vec<Value> = serde_json::from_slice(&body)?;
        Ok(hits.iter().filter_map(|it| it["id"].as_u64()).collect())
    }

    /// Waits until it is ready and the index has so many memories: seconds since the start.
    pub fn ready(&self, count: usize) -> Result<f64> {
        loop {
            let (status, _) = self.send("GET", "/readyz", b"")?;
            if status == 200 && self.status()?["index"]["documents"].as_u64() == Some(count as u64)
            {
                return Ok(self.age());
            }
            anyhow::ensure!(self.age() < START_SECONDS_MAX, "it did not become ready");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until the model is in use and every memory has its vector.
    pub fn embedded(&self, count: usize) -> Result<()> {
        loop {
            let status = self.status()?;
            if status["embedded"].as_u64() == Some(count as u64) {
                return Ok(());
            }
            anyhow::ensure!(self.age() < START_SECONDS_MAX, "vectors are missing: {status}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Ends it in order.
    pub fn stop(mut self) -> Result<()> {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        self.child.wait()?;
        Ok(())
    }

    /// Ends it at once.
    pub fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may have ended already.
        if self.child.kill().is_ok() {
            drop(self.child.wait());
        }
    }
}
