//! A client of the official SDK uses `ctl mcp`, in both eras of the protocol.

use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};

use rmcp::model::{CallToolRequestParams, ProtocolVersion, ReadResourceRequestParams};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RoleClient, RunningService};
use serde_json::{Value, json};

use crate::browser::{Browser, on_the_mesh};
use crate::ctl;
use crate::service::Service;

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

#[test]
fn a_client_of_the_sdk_uses_the_tools_in_both_eras() {
    let service = Service::start_with(|folder, options| {
        on_the_mesh(folder, options);
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
