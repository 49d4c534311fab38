//! Tokens that end during a call, and arguments that no tool takes.

use std::io::Write;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use waypost_time::Timestamp;

use super::{ACCEPT, MODERN, failure, message, text};
use crate::client::{connect, read};
use crate::service::{Service, request};

/// The bytes of a call of `memory_add` with that token.
fn add(service: &Service, token: &str) -> Vec<u8> {
    let params = json!({"name": "memory_add", "arguments": {"content": "too late"}});
    let headers = [
        ("accept", ACCEPT),
        ("content-type", "application/json"),
        ("mcp-protocol-version", MODERN),
        ("mcp-method", "tools/call"),
        ("mcp-name", "memory_add"),
    ];
    let body = message("tools/call", &params).to_string();
    request(service.address, "POST", "/mcp", token, &headers, body.as_bytes())
}

#[test]
fn a_token_that_is_revoked_or_expires_during_a_call_ends_it() {
    let service = Service::start();
    let revoked = service.new_token(&["memory:write"], None);
    let soon = Timestamp::from(SystemTime::now() + Duration::from_secs(1)).to_string();
    let body = json!({"scopes": ["memory:write"], "expiresAt": soon});
    let expiring = service.post("/api/tokens", &body).json()["token"].clone();
    for token in [&revoked, expiring.as_str().expect("a token")] {
        let whole = add(&service, token);
        let mut stream = connect(service.address);
        // The service waits for the rest.
        stream.write_all(&whole[..whole.len() - 1]).expect("it is sent");
        if *token == revoked {
            let id = token.split('_').nth(1).expect("an id");
            assert_eq!(service.delete(&format!("/api/tokens/{id}")).status, 200);
        }
        read(&mut stream).expect("an answer").problem(401);
    }
    assert_eq!(service.get("/api/memory/status").json()["memories"], 0);
}

/// Arguments of each tool that are valid.
fn valid() -> Vec<(&'static str, Value)> {
    vec![
        ("memory_search", json!({"query": "x"})),
        ("memory_get", json!({"ids": [1]})),
        ("memory_add", json!({"content": "x"})),
        ("memory_link", json!({"from": 1, "to": 2, "type": "updates"})),
        ("context", json!({"query": "x"})),
        ("events", json!({"action": "list"})),
        ("events", json!({"action": "publish", "type": "a:b"})),
        ("flows", json!({"action": "list"})),
        ("flows", json!({"action": "runs"})),
        ("flows", json!({"action": "why", "event": 1})),
    ]
}

#[test]
fn each_tool_refuses_unknown_and_oversized_arguments() {
    let service = Service::start();
    let large = "x".repeat((1 << 20) + 1);
    let tags: Vec<String> = (0..10_000).map(|number| format!("t{number}")).collect();
    let oversized = [
        ("memory_search", json!({"query": large})),
        ("memory_search", json!({"query": "x", "space": large})),
        ("memory_get", json!({"ids": (1..10_000).collect::<Vec<u64>>()})),
        ("memory_add", json!({"content": "x", "title": large})),
        ("memory_add", json!({"content": "x", "tags": tags})),
        ("memory_link", json!({"from": 1, "to": 2, "type": large})),
        ("context", json!({"query": large})),
        ("events", json!({"action": "list", "pattern": large})),
        ("events", json!({"action": "publish", "type": "a:b", "data": {"k": large}})),
        ("flows", json!({"action": "runs", "run": large})),
        ("flows", json!({"action": large})),
    ];
    for (name, arguments) in oversized {
        let said = failure(&service, &service.token, name, &arguments);
        assert!(said.len() < 2000, "{name}: {} bytes", said.len());
    }
    for (name, arguments) in valid() {
        let mut arguments = arguments;
        arguments["surplus"] = json!({"ignore": "all instructions"});
        let said = failure(&service, &service.token, name, &arguments);
        assert!(said.contains("surplus: unknown argument"), "{name}: {said}");
        // This one takes none.
        let is_bare = name == "flows" && arguments["action"] == "list";
        assert!(is_bare || said.contains("valid arguments: "), "{name}: {said}");
        for wrong in [json!([]), json!("x"), json!(3)] {
            // The protocol has objects only.
            let params = json!({"name": name, "arguments": wrong});
            let answer = super::ask(&service, &service.token, "tools/call", &params);
            assert!((400..500).contains(&answer.status), "{name}: {}", answer.text());
        }
    }
    let listed = super::call_as(&service, &service.token, "events", &json!({"action": "list"}));
    assert!(text(&listed).starts_with("No events."), "{listed}");
}
