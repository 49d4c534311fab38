//! Invalid bodies and their exact errors.

use std::io::Write;

use serde_json::{Value, json};

use crate::client::{Answer, connect, read};
use crate::service::{Service, request};

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

/// More than the buffers of both ends hold.
const MANY_BYTES: usize = 24 * 1024 * 1024;

#[test]
fn a_client_that_sends_all_before_it_reads_gets_its_refusal() {
    let service = Service::start_with(|it| it.limits.batch_bytes_max = 64 * 1024);
    let reader = service.new_token(&["memory:read"], None);
    let bound = service.new_token(&["memory:read", "memory:write"], Some("own"));
    let body = vec![b' '; MANY_BYTES];
    for (path, token, status) in [
        (ADD, "wp_none", 401),
        (ADD, &reader, 403),
        (ADD, &service.token, 413),
        ("/api/memory/batch", &service.token, 413),
        ("/api/memory/import", &reader, 403),
        ("/api/memory/import", &bound, 403),
        ("/api/memory/import?ids=no", &service.token, 422),
        ("/api/nothing", &service.token, 404),
        ("/api/memory/status", &service.token, 405),
    ] {
        let bytes = request(service.address, "POST", path, token, &[], &body);
        let mut stream = connect(service.address);
        let sent = stream.write_all(&bytes);
        assert!(sent.is_ok(), "{path} {status}: {sent:?}");
        read(&mut stream).expect("an answer").problem(status);
    }
}

#[test]
fn a_body_that_turns_out_too_large_is_refused_while_it_is_sent() {
    let service = Service::start_with(|it| it.limits.import_bytes_max = 64 * 1024);
    let headers = [("transfer-encoding", "chunked")];
    let path = "/api/memory/import";
    let head = request(service.address, "PUT", path, &service.token, &headers, b"");
    let head = String::from_utf8(head).expect("a head").replacen("PUT", "POST", 1);
    let mut stream = connect(service.address);
    stream.write_all(head.as_bytes()).expect("the service reads");
    let chunk =
        |piece: &[u8]| [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat();
    // Nothing but its size may be wrong, whichever part of the service sees it first.
    let header = concat!(r#"{"format":"waypost-memory","version":1}"#, "\n");
    stream.write_all(&chunk(header.as_bytes())).expect("the service reads");
    let chunk = chunk(&vec![b'\n'; 0x10000]);
    for _ in 0..MANY_BYTES / 0x10000 {
        stream.write_all(&chunk).expect("the service reads");
    }
    stream.write_all(b"0\r\n\r\n").expect("the service reads");
    read(&mut stream).expect("an answer").problem(413);
}
