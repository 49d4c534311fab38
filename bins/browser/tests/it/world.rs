//! The program, and ways to communicate with it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use waypost_mesh::{CallError, Mesh, Settings};

use crate::child::end_of;
use crate::processes::processes;
use crate::server::{Reply, Request, Server, page};
use crate::wait::until;

/// Every response arrives long before this.
const PATIENCE: Duration = Duration::from_secs(60);

/// A project's folder, and what else a browser may need.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("tmp")).expect("a folder");
        Self { folder }
    }

    /// The folder in which fresh profiles are created.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.folder.path().join("tmp")
    }

    /// A file of the project.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes the project's settings.
    pub(crate) fn configure(&self, settings: &str) {
        fs::create_dir(self.file(".waypost")).expect("a folder");
        fs::write(self.file(".waypost/config.yaml"), settings).expect("a file");
    }

    /// The program.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        self.command_of(Path::new(env!("CARGO_BIN_EXE_browser")), arguments)
    }

    /// A program in the project's folder, without any of the tester's environment except the search
    /// path.
    pub(crate) fn command_of(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.folder.path()).env_clear();
        command
            .env("WAYPOST_TRUST_PROJECT", "1")
            .env("HOME", self.folder.path())
            .env("TMPDIR", self.temporary());
        command.env("PATH", std::env::var_os("PATH").expect("there is a PATH"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// A browser that has started at the address.
    fn browser(&self, url: &str, arguments: &[&str]) -> Browser {
        let usual = [url, "--headless", "--listen", "127.0.0.1:0"];
        Browser::begun(self.command(&[&usual, arguments].concat()))
    }

    /// One with the static engine.
    pub(crate) fn plain(&self, url: &str, arguments: &[&str]) -> Browser {
        self.browser(url, &[&["--engine", "static"], arguments].concat())
    }

    /// One with Chromium. Tests run as root in containers, and their pages are ours.
    pub(crate) fn chromium(&self, url: &str, arguments: &[&str]) -> Browser {
        self.browser(url, &[&["--engine", "chromium", "--no-sandbox"], arguments].concat())
    }

    /// A peer of this project's mesh.
    pub(crate) fn peer(&self) -> Mesh {
        let meeting = self.file(".waypost/data/mesh");
        Mesh::open(&Settings::new(&meeting, "agent")).expect("the peer joins")
    }

    /// Chromium's processes: their profiles are in this place.
    pub(crate) fn chromiums(&self) -> Vec<i32> {
        let folder = self.folder.path().display().to_string();
        let all = processes();
        let leaders =
            all.iter().filter(|item| item.command.contains(&folder)).map(|item| item.group);
        let groups: Vec<i32> = leaders.collect();
        all.iter().filter(|item| groups.contains(&item.group)).map(|item| item.id).collect()
    }

    /// Waits until none of them runs: killed ones take a moment to end.
    #[track_caller]
    pub(crate) fn until_no_chromium(&self) {
        until(|| {
            let left = self.chromiums();
            if left.is_empty() { Ok(()) } else { Err(format!("{left:?} still run")) }
        });
    }
}

/// Calls the browser like another program.
pub(crate) fn call(mesh: &Mesh, command: &str, arguments: &Value) -> Result<Value, CallError> {
    mesh.call("browser.relay", command, arguments, PATIENCE)
}

/// A running browser. It ends with the test.
pub(crate) struct Browser {
    child: Child,
    pub(crate) address: SocketAddr,
    /// What it printed at its start.
    pub(crate) said: String,
    lines: BufReader<ChildStderr>,
}

impl Browser {
    /// One that has started.
    pub(crate) fn begun(mut command: Command) -> Self {
        let mut child = command.spawn().expect("it starts");
        let mut lines = BufReader::new(child.stderr.take().expect("its errors are piped"));
        let mut said = String::new();
        let address = loop {
            let begun = said.len();
            lines.read_line(&mut said).expect("it says something");
            assert!(said.len() > begun, "it has ended: {said}");
            if let Some(rest) = said[begun..].strip_prefix("listening on http://") {
                let address = rest.split(' ').next().unwrap_or_default();
                break address.parse().expect("an address");
            }
        };
        Self { child, address, said, lines }
    }

    /// Sends a command over HTTP.
    pub(crate) fn post(&self, command: &str, arguments: &Value) -> Answer {
        post(self.address, command, arguments)
    }

    /// The same for a command that must succeed.
    #[track_caller]
    pub(crate) fn done(&self, command: &str, arguments: &Value) -> Value {
        let answer = self.post(command, arguments);
        assert_eq!(answer.status, 200, "{command} {arguments}: {answer:?}");
        answer.json()
    }

    /// The same for a command that must be rejected.
    #[track_caller]
    pub(crate) fn refused(&self, command: &str, arguments: &Value, status: u16) -> Value {
        let answer = self.post(command, arguments);
        let problem = answer.problem(status);
        assert_eq!(problem["instance"], format!("/{command}"));
        problem
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status().expect("there is kill");
        assert!(sent.success(), "{name}");
    }

    /// Kills it at once, so that it can do nothing more.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it is killed");
        end_of(&mut self.child);
    }

    /// Waits for the end, and returns what was printed since the start.
    pub(crate) fn end(&mut self) -> (ExitStatus, String) {
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).expect("its last words");
        let status = end_of(&mut self.child);
        assert_eq!(status.signal(), None, "it ends by itself: {rest}");
        (status, rest)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Shut down in order, so that nothing of it remains; a browser that has ended needs
        // nothing.
        if matches!(self.child.try_wait(), Ok(None)) {
            self.signal("TERM");
            end_of(&mut self.child);
        }
    }
}

/// An HTTP response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    body: String,
}

impl Answer {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("the body is JSON")
    }

    /// The problem in a response with this status.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        assert!(self.head.contains("content-type: application/problem+json"), "{self:?}");
        let problem = self.json();
        assert_eq!(problem["status"], status, "{self:?}");
        for member in ["type", "title", "detail"] {
            assert!(problem[member].as_str().is_some_and(|it| !it.is_empty()), "{self:?}");
        }
        problem
    }
}

/// Sends a command: its arguments as the body, or no body, and no content type.
pub(crate) fn post(address: SocketAddr, command: &str, arguments: &Value) -> Answer {
    let body = if arguments.is_null() { String::new() } else { arguments.to_string() };
    let head = format!(
        "POST /{command} HTTP/1.1\r\nhost: {address}\r\ncontent-length: {}\r\n",
        body.len()
    );
    send(address, &head, body.as_bytes())
}

/// Sends a request whose head is complete except for its end.
pub(crate) fn send(address: SocketAddr, head: &str, body: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time");
    let head = format!("{head}connection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("it reads");
    stream.write_all(body).expect("it reads all of it");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it answers");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head and a body");
    let status = head.split(' ').nth(1).and_then(|part| part.parse().ok()).expect("a status");
    Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
}

/// Pages of which one takes longer than any test.
pub(crate) fn slow(request: &Request) -> Option<Reply> {
    if request.path == "/slow" {
        thread::park_timeout(PATIENCE);
    }
    page("<h1>Hello</h1>")
}

/// A program that is navigating to the slow page.
pub(crate) fn going_for_long(server: &Server, browser: &Browser) -> JoinHandle<Answer> {
    let address = browser.address;
    let going = thread::spawn(move || post(address, "navigate", &json!({ "url": "/slow" })));
    until(|| {
        let is_asked = server.asked().iter().any(|asked| asked == "GET /slow");
        is_asked.then_some(()).ok_or("it does not go there")
    });
    going
}
