//! A service in this process, with its own project folder.

use std::net::SocketAddr;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use waypost_service::{Options, Running, start};

use crate::client::{Answer, raw};

pub(crate) struct Service {
    running: Option<Running>,
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
    pub(crate) folder: TempDir,
}

impl Service {
    pub(crate) fn start() -> Self {
        Self::start_with(|_| {})
    }

    pub(crate) fn start_with(change: impl FnOnce(&mut Options)) -> Self {
        Self::start_in(TempDir::new().expect("a temporary folder"), change)
    }

    pub(crate) fn start_in(folder: TempDir, change: impl FnOnce(&mut Options)) -> Self {
        let mut options = Options::for_project(folder.path()).expect("a project folder");
        change(&mut options);
        let running = start(&options).expect("the service starts");
        let token = read_token(folder.path());
        Self { address: running.address(), running: Some(running), token, folder }
    }

    /// Stops it in order and starts it again on the same folder.
    pub(crate) fn restart(self) -> Self {
        self.restart_with(|_| {})
    }

    pub(crate) fn restart_with(mut self, change: impl FnOnce(&mut Options)) -> Self {
        if let Some(running) = self.running.take() {
            running.shutdown().expect("it stops in order");
        }
        Self::start_in(self.folder, change)
    }

    /// Stops it in order.
    pub(crate) fn stopped(mut self) -> Self {
        self.running.take().expect("it runs").shutdown().expect("it stops in order");
        self
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &self.token, b"")
    }

    pub(crate) fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, &self.token, b"")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &self.token, body.to_string().as_bytes())
    }

    pub(crate) fn send(&self, method: &str, path: &str, token: &str, body: &[u8]) -> Answer {
        send(self.address, method, path, token, &[], body)
    }

    /// Adds a memory with that content; returns its id.
    pub(crate) fn add(&self, content: &str) -> u64 {
        let answer = self.post("/api/memory/add", &json!({"content": content}));
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()["id"].as_u64().expect("an id")
    }

    /// A new token with those scopes, bound to a space or not.
    pub(crate) fn new_token(&self, scopes: &[&str], space: Option<&str>) -> String {
        let answer = self.post("/api/tokens", &json!({"scopes": scopes, "space": space}));
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()["token"].as_str().expect("a token").to_owned()
    }
}

pub(crate) fn read_token(project: &Path) -> String {
    let text = std::fs::read_to_string(project.join(".waypost/token")).expect("the token's file");
    text.trim().to_owned()
}

/// One request on its own connection.
pub(crate) fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
    token: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Answer {
    raw(address, &request(address, method, path, token, headers, body))
}

/// The bytes of a request.
pub(crate) fn request(
    address: SocketAddr,
    method: &str,
    path: &str,
    token: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Vec<u8> {
    let start = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n"
    );
    let mut lines = vec![start];
    lines.extend(headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")));
    if !body.is_empty() || method == "POST" || method == "PATCH" {
        lines.push(format!("content-length: {}\r\n", body.len()));
    }
    lines.push("\r\n".to_owned());
    let head = lines.concat();
    [head.as_bytes(), body].concat()
}

/// A batch with that many memories.
pub(crate) fn batch(count: usize, content: impl Fn(usize) -> String) -> String {
    let lines: Vec<String> =
        (0..count).map(|number| format!("{}\n", json!({"content": content(number)}))).collect();
    lines.concat()
}
