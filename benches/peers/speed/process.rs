//! The programs that are measured, as processes of their own.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::laden;
use crate::rig::wall_seconds;

/// How long a program may take until it is what is waited for.
const START_SECONDS_MAX: f64 = 300.0;

/// A program that is ended in order, and waited for, when this is dropped.
pub struct Program {
    child: Child,
    pub address: SocketAddr,
    started: f64,
}

impl Program {
    fn start(command: &mut Command, address: SocketAddr) -> Result<Self> {
        let silent = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let started = wall_seconds();
        let child = silent.spawn().with_context(|| format!("starting {command:?}"))?;
        let mut program = Self { child, address, started };
        while program.age() < START_SECONDS_MAX {
            if TcpStream::connect(address).is_ok() {
                return Ok(program);
            }
            if let Some(status) = program.child.try_wait()? {
                bail!("{command:?} ended with {status}");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        bail!("{command:?} does not listen on {address}")
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Seconds since it was started.
    pub fn age(&self) -> f64 {
        wall_seconds() - self.started
    }

    /// Processor time that it has used, all its threads together.
    pub fn seconds(&self) -> f64 {
        // Linux tells times to programs in hundredths, whatever its own clock does.
        const TICKS_A_SECOND: f64 = 100.0;
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid()));
        let stat = stat.unwrap_or_default();
        // The name may hold blanks; user and system time are the 12th and 13th field after it.
        let fields = stat.rsplit_once(')').map_or("", |parts| parts.1);
        let ticks = fields.split_whitespace().skip(11).take(2);
        ticks.filter_map(|tick| tick.parse::<f64>().ok()).sum::<f64>() / TICKS_A_SECOND
    }

    /// Ends it at once.
    pub fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let process = Pid::from_child(&self.child);
        if matches!(self.child.try_wait(), Ok(None)) && kill_process(process, Signal::TERM).is_ok()
        {
            drop(self.child.wait());
        }
    }
}

fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

/// A Redis that syncs before each answer, if it is installed.
pub fn redis(folder: &Path) -> Result<Option<Program>> {
    if Command::new("redis-server").arg("--version").output().is_err() {
        return Ok(None);
    }
    let address = free_address()?;
    fs::create_dir_all(folder)?;
    let mut command = Command::new("redis-server");
    command.args(["--bind", "127.0.0.1", "--port", &address.port().to_string()]);
    command.args(["--appendonly", "yes", "--appendfsync", "always", "--save", ""]);
    Program::start(command.arg("--dir").arg(folder), address).map(Some)
}

/// A NATS with JetStream in files, if it is installed. It answers before anything is synced.
pub fn nats(folder: &Path) -> Result<Option<Program>> {
    if Command::new("nats-server").arg("--version").output().is_err() {
        return Ok(None);
    }
    let address = free_address()?;
    let mut command = Command::new("nats-server");
    command.args(["-a", "127.0.0.1", "-p", &address.port().to_string(), "-js", "-sd"]);
    Program::start(command.arg(folder), address).map(Some)
}

/// The service of the same profile as this program, or the words that say how to build it.
pub fn service_binary() -> Result<PathBuf, String> {
    let named = std::env::var_os("WAYPOST_PROGRAMS").map(PathBuf::from);
    // This program is target/peers/PROFILE/speed.
    let beside = std::env::current_exe()
        .ok()
        .and_then(|speed| Some(speed.ancestors().nth(3)?.join(speed.parent()?.file_name()?)));
    let mut programs = named.into_iter().chain(beside).map(|folder| folder.join("service"));
    programs.find(|program| program.is_file()).ok_or_else(|| {
        "the program `service` is missing: run `cargo build --release --bin service`, \
         and name its folder in WAYPOST_PROGRAMS"
            .to_owned()
    })
}

/// A running service with its token.
pub struct Service {
    pub program: Program,
    pub token: String,
}

impl Service {
    pub fn start(binary: &Path, project: &Path, model: &str) -> Result<Self> {
        let address = free_address()?;
        let mut command = Command::new(binary);
        command.args(["--offline", "--model", model, "--listen", &address.to_string()]);
        // What it is given to run is there before it starts, and nobody else's.
        command.env("WAYPOST_TRUST_PROJECT", "1");
        Self::of(command.arg("--project").arg(project), address, project)
    }

    /// The same, without a model, in a process that holds so many bytes of memory.
    pub fn start_laden(project: &Path, bytes: u64) -> Result<Self> {
        let address = free_address()?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(laden::NAME).arg(project).arg(address.to_string()).arg(bytes.to_string());
        Self::of(&mut command, address, project)
    }

    fn of(command: &mut Command, address: SocketAddr, project: &Path) -> Result<Self> {
        fs::create_dir_all(project)?;
        let program = Program::start(command, address)?;
        let token = fs::read_to_string(project.join(".waypost/token"))?.trim().to_owned();
        Ok(Self { program, token })
    }

    pub fn request(&self, method: &str, path: &str, body: &str) -> Vec<u8> {
        let Self { program: Program { address, .. }, token } = self;
        let length = body.len();
        format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .into_bytes()
    }

    /// The status and the body of the answer to a request on a connection of its own.
    pub fn answer(&self, method: &str, path: &str, body: &str) -> Result<(u16, String)> {
        let mut stream = TcpStream::connect(self.program.address)?;
        stream.set_read_timeout(Some(Duration::from_secs(120)))?;
        let request = self.request(method, path, body);
        let end = request.windows(4).position(|window| window == b"\r\n\r\n").context("no head")?;
        stream.write_all(&request[..end])?;
        stream.write_all(b"\r\nconnection: close")?;
        stream.write_all(&request[end..])?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").context("a whole head")?;
        let status = head.split(' ').nth(1).context("a status")?.parse()?;
        Ok((status, body.to_owned()))
    }

    /// The body of an answer that must be a success.
    pub fn send(&self, method: &str, path: &str, body: &str) -> Result<String> {
        let (status, body) = self.answer(method, path, body)?;
        anyhow::ensure!((200..300).contains(&status), "{method} {path}: {status} {body}");
        Ok(body)
    }

    pub fn status(&self) -> Result<Value> {
        Ok(serde_json::from_str(&self.send("GET", "/api/memory/status", "")?)?)
    }

    /// The ids that a search finds.
    pub fn search(&self, query: &str) -> Result<Vec<u64>> {
        let body = serde_json::json!({ "query": query }).to_string();
        let hits: Vec<Value> =
            serde_json::from_str(&self.send("POST", "/api/memory/search", &body)?)?;
        Ok(hits.iter().filter_map(|hit| hit["id"].as_u64()).collect())
    }

    /// Waits until it is ready and the index has so many memories: seconds since the start.
    pub fn ready(&self, count: usize) -> Result<f64> {
        self.wait("it did not become ready", 10, || {
            let (status, _) = self.answer("GET", "/readyz", "")?;
            Ok(status == 200 && self.status()?["index"]["documents"].as_u64() == Some(count as u64))
        })
    }

    /// Waits until the model is in use.
    pub fn wait_for_model(&self) -> Result<()> {
        let is_ready = || Ok(self.send("GET", "/metrics", "")?.contains("\nwaypost_model_ready 1"));
        self.wait("the model is not taken into use", 50, is_ready).map(drop)
    }

    /// Waits until every memory has its vector.
    pub fn embedded(&self, count: usize) -> Result<()> {
        let has_all = || Ok(self.status()?["embedded"].as_u64() == Some(count as u64));
        self.wait("vectors are missing", 50, has_all).map(drop)
    }

    fn wait(
        &self,
        failure: &str,
        milliseconds: u64,
        is_done: impl Fn() -> Result<bool>,
    ) -> Result<f64> {
        while !is_done()? {
            anyhow::ensure!(self.program.age() < START_SECONDS_MAX, "{failure}");
            std::thread::sleep(Duration::from_millis(milliseconds));
        }
        Ok(self.program.age())
    }
}
