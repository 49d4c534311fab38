//! The Model Context Protocol on standard input and output.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use waypost_api::routes;

use crate::browser::{Browser, on_the_mesh};
use crate::ctl::{self, Ran};
use crate::service::Service;
use crate::wait::until;

/// A running `ctl mcp`.
pub(crate) struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Server {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).spawn().expect("the program starts");
        let input = child.stdin.take().expect("its input is piped");
        let output = BufReader::new(child.stdout.take().expect("its output is piped"));
        Self { child, input, output }
    }

    fn of(service: &Service) -> Self {
        Self::start(&mut service.ctl_command(&["mcp"]))
    }

    pub(crate) fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").expect("it reads");
    }

    /// The next line of its output, which is one message.
    pub(crate) fn read(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("it writes");
        let message = serde_json::from_str(&line);
        assert!(message.is_ok(), "{message:?} in {line:?}");
        message.unwrap_or_default()
    }

    pub(crate) fn ask(&mut self, message: &Value) -> Value {
        self.send(message);
        let answer = self.read();
        assert_eq!(
            (&answer["jsonrpc"], &answer["id"]),
            (&json!("2.0"), &message["id"]),
            "{answer}"
        );
        answer
    }

    /// The result of a call.
    pub(crate) fn call(&mut self, name: &str, arguments: &Value) -> Value {
        let message = modern("tools/call", &json!({"name": name, "arguments": arguments}));
        self.ask(&message)["result"].clone()
    }

    /// Closes its input; nothing more is written, and it ends.
    pub(crate) fn end(self) -> Ran {
        let Self { child, input, mut output } = self;
        drop(input);
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut output, &mut rest).expect("it writes text");
        let ended = child.wait_with_output().expect("it ends");
        Ran { out: rest, ..ctl::ran(ended) }
    }
}

/// A request of the revision 2026-07-28.
pub(crate) fn modern(method: &str, params: &Value) -> Value {
    let mut params = params.clone();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
}

fn initialize(version: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"},
    }})
}

fn cancelled(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
}

#[test]
fn a_client_of_2026_07_28_uses_the_tools_without_a_handshake() {
    let service = Service::start();
    let mut server = Server::of(&service);
    let added = server.call("memory_add", &json!({"content": "The office is in Basel"}));
    assert_eq!(added["structuredContent"]["new"], true, "{added}");
    let found = server.call("memory_search", &json!({"query": "where is the office"}));
    assert_eq!(found["structuredContent"]["hits"][0]["id"], added["structuredContent"]["id"]);
    let discovered = server.ask(&modern("server/discover", &json!({})))["result"].clone();
    assert_eq!(discovered["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "waypost");
    assert_eq!(service.ctl(&["--json", "list"]).json().as_array().map(Vec::len), Some(1));
    let ended = server.end();
    assert_eq!((ended.code, ended.out.as_str(), ended.err.as_str()), (0, "", ""));
}

#[test]
fn a_probe_that_is_cancelled_is_followed_by_initialize() {
    let service = Service::start();
    let mut server = Server::of(&service);
    // Notifications and replies that come first are no reason to end.
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    server.send(&cancelled(3));
    server.send(&json!({"jsonrpc": "2.0", "id": 9, "result": {}}));
    let found = server.ask(&modern("server/discover", &json!({})));
    assert!(found["result"]["supportedVersions"].is_array(), "{found}");
    server.send(&cancelled(7));
    assert_eq!(server.ask(&initialize("2025-11-25"))["result"]["protocolVersion"], "2025-11-25");
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    server.send(&cancelled(99));
    let listed = server.ask(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}));
    assert_eq!(listed["result"]["tools"].as_array().map(Vec::len), Some(7));
    assert!(listed["result"].get("resultType").is_none());
    // A request of the later revision on the same connection.
    assert_eq!(server.call("memory_search", &json!({"query": "x"}))["resultType"], "complete");
    assert_eq!(server.end().code, 0);
}

#[test]
fn a_client_is_told_when_a_browser_comes_and_goes() {
    let service = Service::start_with(on_the_mesh);
    let (mut told, mut asks) = (Server::of(&service), Server::of(&service));
    let first = told.ask(&initialize("2025-11-25"))["result"].clone();
    assert_eq!(first["capabilities"]["tools"], json!({"listChanged": true}));
    // A client of the later revision asks again after ten seconds.
    let discovered = asks.ask(&modern("server/discover", &json!({})))["result"].clone();
    assert_eq!(discovered["capabilities"]["tools"], json!({}));
    told.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let tools = |answer: &Value| answer["result"]["tools"].as_array().map(Vec::len);
    assert_eq!(tools(&told.ask(&list)), Some(7));
    assert_eq!(tools(&asks.ask(&modern("tools/list", &json!({})))), Some(7));
    // Notices the change with the next call.
    let call = json!({"name": "events", "arguments": {"action": "list"}});
    let call = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": call});
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    let mut browser = None;
    for expected in [8, 7] {
        browser = match browser {
            None => Some(Browser::open(&service)),
            Some(browser) => {
                drop(browser);
                until(|| {
                    let found = service.client().call(&routes::LIST_BROWSERS, ()).expect("a list");
                    if found.is_empty() { Ok(()) } else { Err("it is still on the mesh") }
                });
                None
            }
        };
        told.send(&call);
        // Either may come first.
        let (one, other) = (told.read(), told.read());
        let answer = if one == changed { &other } else { &one };
        assert!(one == changed || other == changed, "{one} {other}");
        assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(3), &json!(false)));
        assert_eq!(tools(&told.ask(&list)), Some(expected));
        asks.call("events", &json!({"action": "list"}));
        assert_eq!(tools(&asks.ask(&modern("tools/list", &json!({})))), Some(expected));
    }
    for server in [told, asks] {
        let ended = server.end();
        assert_eq!((ended.code, ended.out.as_str()), (0, ""), "nothing else is said");
    }
}

#[test]
fn lines_that_are_no_requests_do_not_stop_it() {
    let service = Service::start();
    let mut server = Server::of(&service);
    let mut errors = |line: &str| {
        writeln!(server.input, "\n{line}").expect("it reads");
        server.read()
    };
    for line in ["hello", "{\"jsonrpc\":\"2.0\"", "\u{1b}[2J"] {
        let refused = errors(line);
        assert_eq!((&refused["error"]["code"], refused.get("id")), (&json!(-32700), None));
    }
    let refused = errors(r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#);
    assert_eq!((&refused["error"]["code"], &refused["id"]), (&json!(-32600), &json!("a")));
    let refused =
        errors(&format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"x\":\"{}\"}}", "x".repeat(16 << 20)));
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    let said = refused["error"]["message"].as_str().expect("it");
    assert!(said.contains("at most 16777216 bytes"), "{said}");
    server.send(&json!({"jsonrpc": "2.0", "id": 5, "method": "tools/list"}));
    let refused = server.read();
    assert_eq!(
        (&refused["id"], &refused["error"]["code"]),
        (&json!(5), &json!(-32602)),
        "{refused}"
    );
    let unknown = server.ask(&modern("nothing/known", &json!({})));
    assert_eq!(unknown["error"]["code"], -32601);
    let unknown = server.ask(&modern("tools/call", &json!({"name": "nothing"})));
    assert_eq!(unknown["error"]["code"], -32602);
    assert_eq!(server.end().code, 0);
}

#[test]
fn calls_before_the_end_of_the_input_are_answered() {
    let service = Service::start();
    let mut messages = String::new();
    for id in 0..20 {
        let mut message = modern(
            "tools/call",
            &json!({"name": "memory_add", "arguments": {"content": format!("fact {id}")}}),
        );
        message["id"] = json!(id);
        messages.extend([message.to_string(), "\n".to_owned()]);
    }
    let ran = service.ctl_with_input(&["mcp"], messages.as_bytes());
    assert_eq!(ran.code, 0, "{ran:?}");
    let mut ids: Vec<u64> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("each line is a message"))
        .map(|value| value["id"].as_u64().expect("an id"))
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..20).collect::<Vec<_>>());
    assert_eq!(service.ctl_with_input(&["mcp"], b"").code, 0);
    // A last line without an end.
    for (last, pointer, expected) in [
        (modern("tools/list", &json!({})).to_string(), "/id", 7),
        ("hello".to_owned(), "/error/code", -32700),
    ] {
        let ran = service.ctl_with_input(&["mcp"], last.as_bytes());
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(ran.json().pointer(pointer), Some(&json!(expected)));
    }
}

#[test]
fn a_thousand_calls_at_once_are_all_answered() {
    let service = Service::start();
    let Server { child, mut input, output } = Server::of(&service);
    let writing = std::thread::spawn(move || {
        for id in 0..1000 {
            let call =
                json!({"name": "memory_search", "arguments": {"query": format!("call {id}")}});
            let mut message = modern("tools/call", &call);
            message["id"] = json!(id);
            writeln!(input, "{message}").expect("it reads");
        }
        input
    });
    let lines = output.lines().take(1000).map(|line| line.expect("it writes"));
    let answers: Vec<Value> =
        lines.map(|line| serde_json::from_str(&line).expect("a message")).collect();
    drop(writing.join());
    let ended = ctl::ran(child.wait_with_output().expect("it ends"));
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    let mut ids: Vec<u64> =
        answers.iter().map(|answer| answer["id"].as_u64().expect("an id")).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..1000).collect::<Vec<u64>>());
    for answer in &answers {
        let result = &answer["result"];
        // The service may have too much to do, and says so.
        let is_busy = result["structuredContent"]["status"] == 503;
        assert!(result["isError"] == false || is_busy, "{answer}");
    }
}

/// The protocol forbids it: at least one of them is answered, and the rest of the connection works.
#[test]
fn two_calls_with_the_same_id_do_no_harm() {
    let service = Service::start();
    let mut server = Server::of(&service);
    let call = json!({"name": "memory_search", "arguments": {"query": "x"}});
    let mut message = modern("tools/call", &call);
    message["id"] = json!(1);
    server.send(&message);
    server.send(&message);
    let answer = server.read();
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(1), &json!(false)));
    message["id"] = json!(2);
    server.send(&message);
    while server.read()["id"] != 2 {}
    assert_eq!(server.end().code, 0);
}

#[test]
fn a_cancelled_call_leaves_the_others() {
    let service = Service::start();
    let mut server = Server::of(&service);
    for id in 0..20_u64 {
        let call = json!({"name": "memory_search", "arguments": {"query": "x"}});
        let mut message = modern("tools/call", &call);
        message["id"] = json!(id);
        server.send(&message);
        if id.is_multiple_of(2) {
            server.send(&cancelled(id));
        }
    }
    // A call that is cancelled may have been answered before.
    let mut left: Vec<u64> = (1..20).step_by(2).collect();
    while !left.is_empty() {
        let answer = server.read();
        let id = answer["id"].as_u64().expect("an id");
        assert!(answer["result"]["isError"] == false || id.is_multiple_of(2), "{answer}");
        left.retain(|left| *left != id);
    }
    assert_eq!(server.end().code, 0);
}

#[test]
fn without_a_service_each_call_says_what_to_do_until_one_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join(".waypost")).expect("a folder");
    let mut server = Server::start(&mut ctl::command(folder.path(), &["mcp", "--no-start"]));
    let listed = server.ask(&modern("tools/list", &json!({})))["result"].clone();
    assert_eq!(listed["tools"].as_array().map(Vec::len), Some(7));
    let failed = server.call("memory_search", &json!({"query": "x"}));
    assert_eq!(failed["isError"], true);
    let said = failed["content"][0]["text"].as_str().expect("a text").to_owned();
    assert!(
        said.contains("error: no service responds at")
            && said.contains("remedy: start the service"),
        "{said}"
    );
    let service = Service::start_at(folder, |_, _| {});
    let found = server.call("memory_search", &json!({"query": "x"}));
    assert_eq!(found["isError"], false, "{found}");
    drop(service);
    assert_eq!(server.call("memory_search", &json!({"query": "x"}))["isError"], true);
    assert_eq!(server.end().code, 0);
}

#[test]
fn messages_behind_a_handshake_are_of_its_revision() {
    let search = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "memory_search", "arguments": {"query": "x"},
    }});
    let service = Service::start();
    let lines = format!("{}\n{search}\n", initialize("2025-06-18"));
    let ran = service.ctl_with_input(&["mcp"], lines.as_bytes());
    let last: Value =
        serde_json::from_str(ran.out.lines().last().expect("responses")).expect("JSON");
    assert_eq!(last["result"]["isError"], false, "{ran:?}");
    // The same if no service answers the handshake.
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join(".waypost")).expect("a folder");
    let mut server = Server::start(&mut ctl::command(folder.path(), &["mcp", "--no-start"]));
    let agreed = server.ask(&initialize("2025-06-18"));
    assert_eq!(agreed["result"]["protocolVersion"], "2025-06-18", "{agreed}");
    let _service = Service::start_at(folder, |_, _| {});
    let found = server.ask(&search);
    assert_eq!(found["result"]["isError"], false, "{found}");
    assert_eq!(server.end().code, 0);
}

#[test]
fn in_a_project_that_waits_for_approval_each_call_names_the_remedy() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join(".waypost")).expect("a folder");
    std::fs::write(folder.path().join(".waypost/config.yaml"), "url: https://elsewhere.example\n")
        .expect("a file");
    let mut server = Server::start(&mut ctl::command(folder.path(), &["mcp"]));
    let failed = server.call("memory_add", &json!({"content": "x"}));
    assert_eq!(failed["isError"], true, "{failed}");
    let said = failed["content"][0]["text"].as_str().expect("a text");
    assert!(said.contains("ctl allow"), "{said}");
    // What needs no service is answered.
    let found = server.ask(&modern("server/discover", &json!({})));
    assert!(found["result"]["instructions"].is_string());
    assert_eq!(server.end().code, 0);
}
