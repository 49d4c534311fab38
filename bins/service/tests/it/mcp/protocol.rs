//! Both eras of the protocol, and what is not the protocol.

use std::io::Write;
use std::thread;

use serde_json::{Value, json};

use super::{ACCEPT, MODERN, ask, call, error, message, names, post, result};
use crate::client::{connect, raw};
use crate::service::{Service, request, send};

#[test]
fn a_client_of_2026_07_28_discovers_the_server() {
    let service = Service::start();
    let found = result(&ask(&service, &service.token, "server/discover", &json!({})));
    assert_eq!(found["resultType"], "complete");
    let versions = found["supportedVersions"].as_array().expect("versions");
    for version in [MODERN, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] {
        assert!(versions.contains(&json!(version)), "{version} in {versions:?}");
    }
    assert_eq!(found["cacheScope"], "private");
    assert!(found["ttlMs"].as_u64().is_some_and(|it| it > 0));
    let server = &found["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(server["name"], "waypost");
    assert_eq!(server["version"], env!("CARGO_PKG_VERSION"));
    let instructions = found["instructions"].as_str().expect("instructions");
    assert!(instructions.starts_with("Waypost") && instructions.len() < 2048);
    assert!(found["capabilities"]["tools"].is_object());
    assert!(found["capabilities"]["resources"].is_object());

    let listed = result(&ask(&service, &service.token, "tools/list", &json!({})));
    assert_eq!(listed["resultType"], "complete");
    assert_eq!(listed["cacheScope"], "private");
    assert!(listed["ttlMs"].is_u64() && listed.get("nextCursor").is_none());
    let again = result(&ask(&service, &service.token, "tools/list", &json!({})));
    assert_eq!(listed, again, "the order is stable");
    error(&ask(&service, &service.token, "tools/list", &json!({"cursor": "x"})), 200, -32602);
}

#[test]
fn a_client_of_an_earlier_revision_initializes_without_a_session() {
    let service = Service::start();
    let initialize = |version: &str| {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"},
        }});
        post(&service, &service.token, &[], &body)
    };
    for version in ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] {
        let answer = initialize(version);
        assert!(answer.header("mcp-session-id").is_none());
        let found = result(&answer);
        assert_eq!(found["protocolVersion"], version);
        assert_eq!(found["serverInfo"]["name"], "waypost");
        assert!(found["instructions"].is_string() && found.get("resultType").is_none());
    }
    // A revision without `initialize`, and one that does not exist, get the newest that has it.
    for version in [MODERN, "1999-01-01"] {
        assert_eq!(result(&initialize(version))["protocolVersion"], "2025-11-25");
    }
    let sent = |method: &str, params: Value| {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        post(&service, &service.token, &[("mcp-protocol-version", "2025-11-25")], &body)
    };
    let noted = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let noted = post(&service, &service.token, &[], &noted);
    assert_eq!((noted.status, noted.body.len()), (202, 0));
    assert_eq!(result(&sent("ping", json!({}))), json!({}));
    let listed = result(&sent("tools/list", json!({})));
    assert!(listed["tools"].as_array().is_some_and(|it| it.len() > 5));
    let arguments = json!({"name": "memory_add", "arguments": {"content": "an old client"}});
    let added = result(&sent("tools/call", arguments));
    assert_eq!(added["structuredContent"]["new"], true);
    assert!(added.get("resultType").is_none());
    let unknown = sent("tools/call", json!({"name": "nothing", "arguments": {}}));
    assert!(
        error(&unknown, 200, -32602)["message"].as_str().expect("it").contains("memory_search")
    );
    // Both eras on one connection, in any order.
    assert_eq!(
        result(&ask(&service, &service.token, "server/discover", &json!({})))["resultType"],
        "complete"
    );
    assert_eq!(result(&sent("ping", json!({}))), json!({}));
}

#[test]
fn headers_and_body_must_agree() {
    let service = Service::start();
    let body =
        message("tools/call", &json!({"name": "memory_search", "arguments": {"query": "x"}}));
    let version = ("mcp-protocol-version", MODERN);
    let method = ("mcp-method", "tools/call");
    let name = ("mcp-name", "memory_search");
    let with = |headers: &[(&str, &str)]| post(&service, &service.token, headers, &body);
    result(&with(&[version, method, name]));
    result(&with(&[version, method, ("mcp-name", "=?base64?bWVtb3J5X3NlYXJjaA==?=")]));
    for headers in [
        vec![method, name],
        vec![version, name],
        vec![version, method],
        vec![version, ("mcp-method", "tools/list"), name],
        vec![version, method, ("mcp-name", "memory_add")],
        vec![version, method, ("mcp-name", "=?base64?bWVtb3J5X2FkZA==?=")],
        vec![version, method, ("mcp-name", "=?base64?%%?=")],
        vec![("mcp-protocol-version", "2025-11-25"), method, name],
    ] {
        error(&with(&headers), 400, -32020);
    }
}

#[test]
fn versions_and_metadata_are_checked() {
    let service = Service::start();
    let mut body = message("tools/list", &json!({}));
    let meta = body["params"]["_meta"].clone();
    body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    let headers = [("mcp-protocol-version", "2099-01-01"), ("mcp-method", "tools/list")];
    let refused = error(&post(&service, &service.token, &headers, &body), 400, -32022);
    assert_eq!(refused["data"]["requested"], "2099-01-01");
    assert!(refused["data"]["supported"].as_array().is_some_and(|it| it.contains(&json!(MODERN))));
    // The same in a header without metadata.
    let old = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let answer = post(&service, &service.token, &[("mcp-protocol-version", "1999-01-01")], &old);
    let refused = error(&answer, 400, -32022);
    assert_eq!(refused["data"]["requested"], "1999-01-01");
    assert!(refused["data"]["supported"].as_array().is_some_and(|it| it.contains(&json!(MODERN))));
    assert_eq!(answer.json()["id"], 1);

    let headers = [("mcp-protocol-version", MODERN), ("mcp-method", "tools/list")];
    for missing in ["protocolVersion", "clientCapabilities"] {
        let key = format!("io.modelcontextprotocol/{missing}");
        let mut body = message("tools/list", &json!({}));
        body["params"]["_meta"].as_object_mut().expect("it").remove(&key);
        let refused = error(&post(&service, &service.token, &headers, &body), 400, -32602);
        assert!(refused["message"].as_str().expect("it").contains(&key), "{refused}");
    }
    assert!(meta.is_object());
}

#[test]
fn unknown_methods_tools_and_resources_have_their_own_errors() {
    let service = Service::start();
    let ask = |method: &str, params: Value| ask(&service, &service.token, method, &params);
    for method in
        ["nothing/known", "ping", "logging/setLevel", "prompts/list", "subscriptions/listen"]
    {
        let params =
            if method == "subscriptions/listen" { json!({"notifications": {}}) } else { json!({}) };
        error(&ask(method, params), 404, -32601);
    }
    let unknown =
        error(&ask("tools/call", json!({"name": "nothing", "arguments": {}})), 200, -32602);
    assert!(unknown["message"].as_str().expect("it").contains("memory_add"));
    for uri in
        ["waypost://memory/77", "waypost://memory/x", "waypost://nothing/1", "file:///etc/passwd"]
    {
        error(&ask("resources/read", json!({"uri": uri})), 200, -32602);
    }
    // Earlier revisions have a code of their own for resources.
    let old = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read",
        "params": {"uri": "waypost://memory/77"}});
    let headers = [("mcp-protocol-version", "2025-06-18")];
    error(&post(&service, &service.token, &headers, &old), 200, -32002);
    // A path in a URI reaches no other route.
    for uri in
        ["waypost://memory/../tokens", "waypost://memory/1/history", "waypost://memory/1%2Flinks"]
    {
        error(&ask("resources/read", json!({"uri": uri})), 200, -32602);
    }
}

#[test]
fn resources_are_a_memory_and_the_context_of_a_task() {
    let service = Service::start();
    let id = service.add("The parser is in src/parse.rs");
    let ask = |method: &str, params: Value| result(&ask(&service, &service.token, method, &params));
    assert_eq!(ask("resources/list", json!({}))["resources"], json!([]));
    let templates = ask("resources/templates/list", json!({}));
    let uris: Vec<_> = templates["resourceTemplates"]
        .as_array()
        .expect("them")
        .iter()
        .map(|array| &array["uriTemplate"])
        .collect();
    assert_eq!(uris, ["waypost://memory/{id}", "waypost://context/{task}"]);
    let uri = format!("waypost://memory/{id}");
    let read = ask("resources/read", json!({"uri": uri}));
    assert_eq!(read["contents"][0]["uri"], uri.as_str());
    assert!(
        read["contents"][0]["text"].as_str().expect("it").contains("The parser is in src/parse.rs")
    );
    let read = ask("resources/read", json!({"uri": "waypost://context/fix%20the%20parser"}));
    assert!(read["contents"][0]["text"].is_string());
}

#[test]
fn what_is_not_a_message_is_refused() {
    let service = Service::start();
    let token = &service.token;
    let usual = [("accept", ACCEPT), ("content-type", "application/json")];
    let sent = |headers: &[(&str, &str)], body: &[u8]| {
        send(service.address, "POST", "/mcp", token, headers, body)
    };
    for broken in [&b"{"[..], b"", b"nothing", b"\xff\xfe", b"{\"jsonrpc\":\"2.0\",\"id\":1,}"] {
        error(&sent(&usual, broken), 400, -32700);
    }
    for other in [
        "[]",
        "{}",
        "1",
        "null",
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
    ] {
        let answer = sent(&usual, other.as_bytes());
        error(&answer, 400, -32600);
        assert_eq!(answer.json().get("id").is_some(), other.starts_with("{\"jsonrpc\""), "{other}");
    }
    let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    assert_eq!(sent(&usual, ping).status, 200);
    for twice in [
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_search","arguments":{"query":"a","query":"b"}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_add","arguments":{"content":"a","metadata":{"k":1,"\u006b":2}}}}"#,
    ] {
        let answer = sent(&usual, twice.as_bytes());
        error(&answer, 400, -32600);
        let said = answer.json()["error"]["message"].to_string();
        assert!(said.contains("duplicate key"), "{twice}: {said}");
        assert_eq!(answer.json()["id"], 1, "{twice}");
    }
    sent(&[("accept", "application/json"), usual[1]], ping).problem(406);
    sent(&[("accept", "*/*"), usual[1]], ping).problem(406);
    sent(&[usual[0]], ping).problem(415);
    sent(&[usual[0], ("content-type", "text/plain")], ping).problem(415);
    let reply = br#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    error(&sent(&usual, reply), 400, -32600);
    for method in ["GET", "DELETE", "PUT"] {
        let answer = send(service.address, method, "/mcp", token, &usual, b"");
        answer.problem(405);
        assert_eq!(answer.header("allow"), Some("POST"));
    }
    let much = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{}\"}}", "x".repeat(9 << 20));
    sent(&usual, much.as_bytes()).problem(413);
}

#[test]
fn only_our_own_clients_with_a_token_come_in() {
    let service = Service::start();
    let body = message("tools/list", &json!({}));
    let headers = [("mcp-protocol-version", MODERN), ("mcp-method", "tools/list")];
    for bad in ["wp_nothing", ""] {
        post(&service, bad, &headers, &body).problem(401);
    }
    let bytes = body.to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {}\r\naccept: {ACCEPT}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n",
        service.address,
        bytes.len()
    );
    let refused = raw(service.address, format!("{head}\r\n{bytes}").as_bytes());
    refused.problem(401);
    // A header that named metadata of OAuth would make clients ignore their configured token.
    assert_eq!(refused.header("www-authenticate"), Some("Bearer realm=\"waypost\""));
    for path in
        ["/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server/mcp"]
    {
        service.get(path).problem(404);
    }
    for origin in ["https://evil.example", "null", "http://localhost:3000"] {
        let mut headers = headers.to_vec();
        headers.push(("origin", origin));
        post(&service, &service.token, &headers, &body).problem(403);
    }
    let evil = head.replace(&service.address.to_string(), "evil.example");
    let evil = format!("{evil}authorization: Bearer {}\r\n\r\n{bytes}", service.token);
    raw(service.address, evil.as_bytes()).problem(421);
    assert!(!names(&service, &service.token).is_empty());
}

#[test]
fn a_client_that_disconnects_midway_harms_nobody() {
    let service = Service::start();
    let body =
        message("tools/call", &json!({"name": "memory_add", "arguments": {"content": "kept"}}))
            .to_string();
    let headers = [
        ("accept", ACCEPT),
        ("content-type", "application/json"),
        ("mcp-protocol-version", MODERN),
        ("mcp-method", "tools/call"),
        ("mcp-name", "memory_add"),
    ];
    let whole = request(service.address, "POST", "/mcp", &service.token, &headers, body.as_bytes());
    for bytes in [&whole[..whole.len() - 10], &whole] {
        let mut stream = connect(service.address);
        stream.write_all(bytes).expect("it is sent");
    }
    // What was sent completely may be stored; the rest is not.
    assert!(!names(&service, &service.token).is_empty());
    let stored = service.get("/api/memory/status").json()["memories"].as_u64();
    assert!(stored.is_some_and(|it| it <= 1), "{stored:?}");
}

#[test]
fn many_calls_at_once_with_the_same_id_all_get_their_answers() {
    let service = Service::start();
    thread::scope(|scope| {
        for worker in 0..16 {
            let service = &service;
            scope.spawn(move || {
                for at in 0..8 {
                    let content = format!("call {at} of worker {worker}");
                    let added = call(service, "memory_add", &json!({"content": content}));
                    assert_eq!(added["title"], content.as_str());
                }
            });
        }
    });
    assert_eq!(service.get("/api/memory/status").json()["memories"], 128);
}
