//! Bodies that are wrong, each told precisely.

use serde_json::{Value, json};

use crate::client::Answer;
use crate::service::Service;

const ADD: &str = "/api/memory/add";
const SEARCH: &str = "/api/memory/search";

fn post(service: &Service, path: &str, body: &[u8]) -> Answer {
    service.send("POST", path, &service.token, body)
}

#[test]
fn malformed_json_is_400_with_line_and_column() {
    let service = Service::start();
    for path in [ADD, SEARCH, "/api/memory/link", "/api/tokens", "/api/memory/index"] {
        let detail = post(&service, path, b"{\n  \"content\": ,\n}").problem(400);
        assert!(detail.contains("line 2") && detail.contains("column"), "{detail}");
    }
    for body in
        [&b"{"[..], b"{\"a\":1}}", b"\xef\xbb\xbf{}", b"{'a':1}", b"{\"content\":\"a\x01\"}"]
    {
        post(&service, ADD, body).problem(400);
    }
    post(&service, ADD, b"").problem(400);
    post(&service, ADD, b" \n ").problem(400);
    assert_eq!(post(&service, "/api/memory/index", b"").status, 200);
}

#[test]
fn nul_bad_utf8_double_keys_and_deep_nesting_are_400() {
    let service = Service::start();
    let nested = |depth: usize| {
        format!("{{\"content\":{}{}}}", "[".repeat(depth - 1), "]".repeat(depth - 1)).into_bytes()
    };
    let bodies: [&[u8]; 8] = [
        b"{\"content\":\"a\\u0000b\"}",
        b"{\"content\":\"a\0b\"}",
        b"{\"content\":\"\xff\xfe\"}",
        b"{\"content\":\"\xc3\x28\"}",
        b"{\"content\":\"\\ud800\"}",
        b"{\"content\":\"a\",\"content\":\"b\"}",
        b"{\"content\":\"a\",\"metadata\":{\"k\":1,\"k\":2}}",
        &nested(33),
    ];
    for body in bodies {
        post(&service, ADD, body).problem(400);
    }
    post(&service, ADD, &nested(10_000)).problem(400);
    post(&service, ADD, &nested(32)).problem(422);
    assert_eq!(service.get("/api/memory/status").json()["memories"], 0);
}

#[test]
fn a_field_at_fault_is_named() {
    let service = Service::start();
    let wrong =
        |path: &str, body: Value, pointer: &str| service.post(path, &body).field_problem(pointer);
    let unknown = wrong(ADD, json!({"content": "x", "titel": "y"}), "/titel");
    assert!(unknown.contains("title"), "{unknown}");
    assert!(wrong(SEARCH, json!({"query": "x", "Limit": 3}), "/Limit").contains("limit"));
    wrong(ADD, json!({}), "/content");
    wrong(ADD, json!({"content": ""}), "/content");
    wrong(ADD, json!({"content": 7}), "/content");
    wrong(ADD, json!({"content": "x", "tags": "a"}), "/tags");
    wrong(ADD, json!({"content": "x", "tags": ["a", 1]}), "/tags/1");
    wrong(ADD, json!({"content": "x", "type": "No Type"}), "/type");
    wrong(ADD, json!({"content": "x", "type": "t".repeat(65)}), "/type");
    wrong(ADD, json!({"content": "x", "metadata": {"k": {"a": 1}}}), "/metadata/k");
    wrong(ADD, json!({"content": "x", "metadata": {"k": null}}), "/metadata/k");
    wrong(ADD, json!({"content": "x", "createdAt": "yesterday"}), "/createdAt");
    wrong(SEARCH, json!({"query": ""}), "/query");
    wrong(SEARCH, json!({"query": "x", "limit": 0}), "/limit");
    wrong(SEARCH, json!({"query": "x", "limit": 1001}), "/limit");
    wrong(SEARCH, json!({"query": "x", "limit": 1.5}), "/limit");
    wrong(SEARCH, json!({"query": "x", "limit": -1}), "/limit");
    wrong(SEARCH, json!({"query": "x", "limit": "10"}), "/limit");
    wrong(SEARCH, json!({"query": "x", "mode": "fuzzy"}), "/mode");
    wrong(SEARCH, json!({"query": "x", "minScore": 2}), "/minScore");
    for body in ["[]", "\"x\"", "1", "null", "true"] {
        post(&service, ADD, body.as_bytes()).problem(422);
    }
    assert_eq!(service.get("/api/memory/status").json()["memories"], 0);
}

#[test]
fn limits_hold_at_the_edge_and_one_above() {
    let service = Service::start();
    let add = |content: &str| service.post(ADD, &json!({"content": content}));
    assert_eq!(add(&"a".repeat(1024 * 1024)).status, 201);
    add(&"a".repeat(1024 * 1024 + 1)).field_problem("/content");
    let search = |query: &str| service.post(SEARCH, &json!({"query": query}));
    assert_eq!(search(&"\u{e9}".repeat(8192)).status, 200);
    search(&"\u{e9}".repeat(8193)).field_problem("/query");

    let padded = |bytes: usize| {
        let mut body = br#"{"content":"padded"}"#.to_vec();
        body.resize(bytes, b' ');
        body
    };
    let limit = 8 * 1024 * 1024;
    assert_eq!(post(&service, ADD, &padded(limit)).status, 201);
    let detail = post(&service, ADD, &padded(limit + 1)).problem(413);
    assert!(detail.contains("8388608"), "{detail}");
}
