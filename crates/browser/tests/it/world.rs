//! A server of pages, and an engine that looks at them.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{fs, thread};

use serde_json::{Value, json};
use waypost_browser::{
    Chromium, ChromiumSettings, Engine, Policy, Problem, ProblemKind, Relay, RelaySettings,
    find_chromium,
};

/// What a server answers: status, more headers, body.
pub(crate) type Reply = (u16, Vec<(String, String)>, String);
type Handler = dyn Fn(&Request) -> Option<Reply> + Send + Sync;

/// A request that came.
pub(crate) struct Request {
    pub(crate) method: String,
    /// With its query.
    pub(crate) path: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: String,
}

/// A server on a port of this machine; every page is a string. It ends with the test.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(crate) fn start(
        handler: impl Fn(&Request) -> Option<Reply> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let (handler, log): (Arc<Handler>, _) = (Arc::new(handler), asked.clone());
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (handler, log) = (handler.clone(), log.clone());
                thread::spawn(move || answer(client, &*handler, &log));
            }
        });
        Self { port, asked }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Method and path of everything that was asked for.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("nobody panicked").clone()
    }
}

fn answer(client: TcpStream, handler: &Handler, log: &Mutex<Vec<String>>) -> Option<()> {
    let mut reader = BufReader::new(client);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|it| it.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    log.lock().expect("nobody panicked").push(format!("{method} {path}"));
    let body = String::from_utf8_lossy(&body).into_owned();
    let request = Request { method, path, headers, body };
    let (status, more, body) =
        handler(&request).unwrap_or((404, Vec::new(), "<title>none</title>not here".to_owned()));
    let mut head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\n");
    if !more.iter().any(|it| it.0 == "content-type") {
        head.push_str("content-type: text/html; charset=utf-8\r\n");
    }
    for (name, value) in &more {
        head.extend([name, ": ", value, "\r\n"]);
    }
    let mut client = reader.into_inner();
    client.write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes()).ok()
}

/// A page.
#[expect(clippy::unnecessary_wraps, reason = "it is what handlers answer")]
pub(crate) fn page(body: &str) -> Option<Reply> {
    Some((200, Vec::new(), format!("<!doctype html><title>Test</title>{body}")))
}

/// Chromium with a relay, which may reach the servers of the test.
pub(crate) struct World {
    pub(crate) relay: Arc<Relay>,
    pub(crate) engine: Arc<Chromium>,
    folder: tempfile::TempDir,
}

pub(crate) fn chromium() -> PathBuf {
    let path = std::env::var_os("PATH").expect("there is a PATH");
    find_chromium(&path).expect("Chromium is installed: scripts/prepare does it")
}

impl World {
    pub(crate) async fn start(servers: &[&Server]) -> Self {
        let allow = servers
            .iter()
            .map(|it| format!("127.0.0.1:{}", it.port).parse().expect("a host and port"));
        let policy = Arc::new(Policy::new(allow.collect(), []));
        let folder = tempfile::tempdir().expect("a folder");
        let mut settings = ChromiumSettings::new(chromium(), folder.path().to_owned());
        // Tests run as root in containers, and their pages are ours.
        settings.sandbox = false;
        let engine = Chromium::start(settings, policy.clone()).await.expect("Chromium starts");
        let engine = Arc::new(engine);
        let settings = RelaySettings::default();
        let relay = Arc::new(Relay::new(engine.clone(), policy, &settings));
        Self { relay, engine, folder }
    }

    pub(crate) async fn ask(&self, command: &str, arguments: Value) -> Value {
        let shown = format!("{command} {arguments}");
        let answer = self.relay.handle(command, arguments).await;
        answer.map_err(|problem| format!("{shown}: {problem:?}")).expect("it is done")
    }

    pub(crate) async fn go(&self, url: &str) -> Value {
        self.ask("navigate", json!({ "url": url })).await
    }

    pub(crate) async fn read(&self) -> Value {
        self.ask("read", json!({})).await
    }

    pub(crate) async fn refused(
        &self,
        command: &str,
        arguments: Value,
        kind: ProblemKind,
    ) -> Problem {
        let shown = format!("{command} {arguments}");
        let answer = self.relay.handle(command, arguments).await;
        let problem = answer.expect_err(&shown);
        assert_eq!(problem.kind, kind, "{shown}: {problem:?}");
        problem
    }

    /// Ends it, and looks that nothing of it stays.
    pub(crate) async fn end(self) {
        let leader = self.leader();
        let by = waypost_browser::Deadline::after(Duration::from_secs(20));
        self.engine.end(by).await.expect("Chromium ends");
        // What was killed may need a moment to go.
        while processes().iter().any(|it| it.group == leader) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let profiles = fs::read_dir(self.folder.path()).expect("the folder").count();
        assert_eq!(profiles, 0, "fresh profiles");
    }

    fn leader(&self) -> i32 {
        let folder = self.folder.path().display().to_string();
        let is_main =
            |it: &Process| it.command.contains(&folder) && !it.command.contains("--type=");
        let main = processes().into_iter().find(|it| is_main(it) && it.id == it.group);
        main.expect("Chromium runs").id
    }

    /// Kills Chromium's processes of a kind; all of them without one.
    pub(crate) fn kill(&self, kind: &str) {
        let leader = self.leader();
        let mut killed = 0;
        for process in processes() {
            if process.group == leader && process.command.contains(kind) {
                let id = process.id.to_string();
                // Some end with others.
                Command::new("kill").args(["-9", &id]).output().expect("there is kill");
                killed += 1;
            }
        }
        assert!(killed > 0, "there are processes {kind}");
    }
}

struct Process {
    id: i32,
    group: i32,
    command: String,
}

fn processes() -> Vec<Process> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("there is /proc").flatten() {
        let id = entry.file_name().to_str().and_then(|it| it.parse().ok());
        let Some(id) = id else { continue };
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        let mut fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
        // One that has ended and waits for its parent runs no more.
        let (state, group) = (fields.next(), fields.nth(1).and_then(|it| it.parse().ok()));
        let Some(group) = group.filter(|_| state != Some("Z")) else { continue };
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        found.push(Process { id, group, command });
    }
    found
}

/// The texts of the entries of a list of a summary.
pub(crate) fn texts(summary: &Value, list: &str) -> Vec<String> {
    let entries = summary["dom_summary"][list].as_array().expect("a list");
    let text = |it: &Value| it["text"].as_str().or(it.as_str()).unwrap_or_default().to_owned();
    entries.iter().map(text).collect()
}

/// The entry of a list with this text.
pub(crate) fn entry(summary: &Value, list: &str, text: &str) -> Value {
    let entries = summary["dom_summary"][list].as_array().expect("a list");
    let found = entries.iter().find(|it| it["text"] == text || it["id"] == text);
    found.ok_or_else(|| format!("no {text:?} in {entries:#?}")).expect("it is there").clone()
}
