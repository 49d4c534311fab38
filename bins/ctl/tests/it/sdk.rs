//! A client of the official SDK uses `ctl mcp`, in both eras of the protocol.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use rmcp::model::{CallToolRequestParams, ProtocolVersion, ReadResourceRequestParams};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RoleClient, RunningService};
use serde_json::{Value, json};
use waypost_project::MeshSettings;

use crate::child::end_of;
use crate::ctl;
use crate::service::Service;
use crate::wait::until;

/// The client, and the program that it talks to.
struct Session {
    client: RunningService<RoleClient, ()>,
    server: Child,
    /// The client's end of the connection.
    line: UnixStream,
}

impl Session {
    async fn open(service: &Service, lifecycle: ClientLifecycleMode) -> Self {
        let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
        let input: OwnedFd = theirs.try_clone().expect("a copy").into();
        let output: OwnedFd = theirs.into();
        let mut command = service.ctl_command(&["mcp"]);
        let server = command.stdin(Stdio::from(input)).stdout(Stdio::from(output)).spawn();
        // The command holds copies of the other end.
        drop(command);
        let line = ours.try_clone().expect("a copy");
        ours.set_nonblocking(true).expect("it can");
        let stream = tokio::net::UnixStream::from_std(ours).expect("a stream");
        let client = ().serve_with_lifecycle(stream, lifecycle).await.expect("they agree");
        Self { client, server: server.expect("the program starts"), line }
    }

    /// The structured result of a call that succeeds.
    async fn call(&self, name: &'static str, arguments: Value) -> Value {
        let Value::Object(arguments) = arguments else { return Value::Null };
        let asked = CallToolRequestParams::new(name).with_arguments(arguments);
        let result = self.client.call_tool(asked).await.expect("an answer");
        assert_ne!(result.is_error, Some(true), "{result:?}");
        result.structured_content.expect("a structured result")
    }

    async fn close(self) {
        self.client.cancel().await.expect("it closes");
        // Tasks of the client may still hold it.
        self.line.shutdown(Shutdown::Both).expect("it closes");
        let ended = ctl::ran(self.server.wait_with_output().expect("it ends"));
        assert_eq!((ended.code, ended.err.as_str()), (0, ""), "{ended:?}");
    }
}

/// Serves a page with a link to itself at every path. It ends with the test.
fn serve_pages() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let mut head = [0; 4096];
            let length = client.read(&mut head).unwrap_or_default();
            let head = String::from_utf8_lossy(&head[..length]);
            let path = head.split(' ').nth(1).unwrap_or_default();
            let page = format!("<title>Harbour</title><h1>{path}</h1><a href=/berths>Berths</a>");
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close";
            let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{page}", page.len());
            // A client that leaves needs no answer.
            client.write_all(answer.as_bytes()).unwrap_or_default();
        }
    });
    address
}

/// The program `browser`, which ends with the test.
struct Browser(Child);

impl Browser {
    /// One on the mesh of the service.
    fn open(service: &Service) -> Self {
        let program = Path::new(env!("CARGO_BIN_EXE_ctl")).with_file_name("browser");
        let mut command = Command::new(program);
        command.args([&serve_pages().to_string(), "--headless", "--engine", "static"]);
        command.args(["--listen", "127.0.0.1:0"]).current_dir(service.folder()).env_clear();
        command.env("HOME", service.folder()).env("WAYPOST_TRUST_PROJECT", "1");
        let browser = command.stderr(Stdio::null()).spawn().expect("`browser` is built");
        let browser = Self(browser);
        until(|| {
            let found = service.client().browsers().expect("a list");
            if found.is_empty() { Err("no browser is on the mesh") } else { Ok(()) }
        });
        browser
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Without Chromium, nothing remains.
        self.0.kill().expect("it is killed");
        end_of(&mut self.0);
    }
}

#[test]
fn a_client_of_the_sdk_uses_the_tools_in_both_eras() {
    let service = Service::start_with(|folder, options| {
        options.mesh = Some(MeshSettings {
            enabled: true,
            folder: folder.join(".waypost/data/mesh"),
            pairing_dir: folder.join(".waypost/data/pairing"),
            listen: false,
            human_events: false,
        });
        std::fs::write(folder.join("README.md"), "# Harbour\n\nThe crane lifts boats.\n")
            .expect("it");
    });
    service.ctl(&["context", "rescan"]);
    let _browser = Browser::open(&service);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let modern = ProtocolVersion::V_2026_07_28;
    for (lifecycle, version) in [
        (ClientLifecycleMode::Initialize, "2025-11-25"),
        (ClientLifecycleMode::Discover { preferred_versions: vec![modern.clone()] }, "2026-07-28"),
        (
            ClientLifecycleMode::Auto { preferred_versions: vec![modern], legacy_version: None },
            "2026-07-28",
        ),
    ] {
        runtime.block_on(use_tools(&service, lifecycle, version));
    }
}

async fn use_tools(service: &Service, lifecycle: ClientLifecycleMode, version: &str) {
    let session = Session::open(service, lifecycle.clone()).await;
    let tools = session.client.list_all_tools().await.expect("a list");
    assert_eq!(tools.len(), 8);
    let unique = format!("{lifecycle:?}").len();
    let old =
        session.call("memory_add", json!({"content": format!("Berth {unique} is free")})).await;
    let new = session
        .call("memory_add", json!({"content": format!("Berth {unique} is taken by a yacht")}))
        .await;
    let link = json!({"from": new["id"], "to": old["id"], "type": "updates"});
    assert_eq!(session.call("memory_link", link).await["new"], true, "{version}");
    let found =
        session.call("memory_search", json!({"query": format!("who has berth {unique}")})).await;
    assert_eq!(found["hits"][0]["id"], new["id"], "{found}");
    let got = session.call("memory_get", json!({"ids": [old["id"]]})).await;
    assert_eq!(got["memories"][0]["supersededBy"], new["id"]);
    let context = session.call("context", json!({"query": "what lifts boats"})).await;
    assert_eq!(context["items"][0]["path"], "README.md", "{context}");
    let event =
        session.call("events", json!({"action": "publish", "type": "a:b", "data": {"n": 1}})).await;
    let events = session.call("events", json!({"action": "list", "pattern": "a:b"})).await;
    assert!(events["events"].as_array().expect("events").iter().any(|it| it["id"] == event["id"]));
    let uri = format!("waypost://memory/{}", new["id"]);
    let read = session.client.read_resource(ReadResourceRequestParams::new(uri)).await;
    assert!(serde_json::to_string(&read.expect("a resource")).expect("JSON").contains("yacht"));
    let page = session.call("browser", json!({"action": "navigate", "url": "/"})).await;
    assert_eq!((&page["mode"], &page["headings"]), (&json!("outline"), &json!(["/"])), "{page}");
    let page = session.call("browser", json!({"action": "read", "whole": true})).await;
    let link = json!({"action": "click", "ref": page["links"][0]["ref"]});
    let page = session.call("browser", link).await;
    assert_eq!(page["headings"], json!(["/berths"]), "{page}");
    let page = session.call("browser", json!({"action": "read"})).await;
    assert!(page["mode"] == "diff" && page.get("headings").is_none(), "{page}");
    session.close().await;
}
