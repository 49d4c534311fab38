//! A web server for tests.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A response: status, additional headers, body.
pub(crate) type Reply = (u16, Vec<(String, String)>, String);
type Handler = dyn Fn(&Request) -> Option<Reply> + Send + Sync;

/// A header of responses whose body is endless.
pub(crate) const ENDLESS: &str = "x-endless";

/// A received request.
pub(crate) struct Request {
    pub(crate) method: String,
    /// The path with its query.
    pub(crate) path: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: String,
}

/// A server on a local port; every page is a string. It ends with the test.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(crate) fn start(
        handler: impl Fn(&Request) -> Option<Reply> + Send + Sync + 'static,
    ) -> Self {
        Self::start_at("127.0.0.1:0", handler)
    }

    /// A server on an address of this machine.
    pub(crate) fn start_at(
        address: &str,
        handler: impl Fn(&Request) -> Option<Reply> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).expect("a port");
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

    /// Method and path of every request.
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
    let length = headers.get("content-length").and_then(|header| header.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    log.lock().expect("nobody panicked").push(format!("{method} {path}"));
    let body = String::from_utf8_lossy(&body).into_owned();
    let request = Request { method, path, headers, body };
    let (status, more, body) =
        handler(&request).unwrap_or((404, Vec::new(), "<title>none</title>not here".to_owned()));
    let mut head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\n");
    if !more.iter().any(|more| more.0 == "content-type") {
        head.push_str("content-type: text/html; charset=utf-8\r\n");
    }
    for (name, value) in &more {
        head.extend([name, ": ", value, "\r\n"]);
    }
    let mut client = reader.into_inner();
    if more.iter().any(|more| more.0 == ENDLESS) {
        client.write_all(format!("{head}\r\n{body}").as_bytes()).ok()?;
        // Until the client has gone.
        while client.write_all(b"<p>and so on</p>\n").is_ok() {
            thread::park_timeout(Duration::from_millis(1));
        }
        return Some(());
    }
    client.write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes()).ok()
}

/// A page.
#[expect(clippy::unnecessary_wraps, reason = "it is what handlers answer")]
pub(crate) fn page(body: &str) -> Option<Reply> {
    Some((200, Vec::new(), format!("<!doctype html><title>Test</title>{body}")))
}
