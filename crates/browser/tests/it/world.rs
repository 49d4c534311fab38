//! A server of pages, and an engine that looks at them.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

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
    /// With its query.
    pub(crate) path: String,
    pub(crate) body: String,
}

/// A server on a port of this machine; every page is a string. It ends with the test.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) port: u16,
}

impl Server {
    pub(crate) fn start(
        handler: impl Fn(&Request) -> Option<Reply> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let handler: Arc<Handler> = Arc::new(handler);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let handler = handler.clone();
                thread::spawn(move || answer(client, &*handler));
            }
        });
        Self { port }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

fn answer(client: TcpStream, handler: &Handler) -> Option<()> {
    let mut reader = BufReader::new(client);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let path = words.nth(1)?.to_owned();
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
    let body = String::from_utf8_lossy(&body).into_owned();
    let request = Request { path, body };
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
    _folder: tempfile::TempDir,
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
        Self { relay, engine, _folder: folder }
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

    pub(crate) async fn end(self) {
        let by = waypost_browser::Deadline::after(std::time::Duration::from_secs(20));
        self.engine.end(by).await.expect("Chromium ends");
    }
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
