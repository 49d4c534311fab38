//! Authentication and scopes.

use serde_json::json;

use crate::client::{Answer, raw};
use crate::service::{Service, request, send};

const EMPTY_EXPORT: &str = r#"{"format":"waypost-memory","version":1}"#;

/// Every route with a valid body, and the scope that it requires.
const ROUTES: &[(&str, &str, &str, &str)] = &[
    ("POST", "/api/memory/search", r#"{"query":"x"}"#, "memory:read"),
    ("POST", "/api/memory/add", r#"{"content":"x"}"#, "memory:write"),
    ("POST", "/api/memory/batch", r#"{"content":"x"}"#, "memory:write"),
    ("GET", "/api/memory/1", "", "memory:read"),
    ("PATCH", "/api/memory/1", r#"{"title":"y"}"#, "memory:write"),
    ("GET", "/api/memory/1/history", "", "memory:read"),
    ("GET", "/api/memory/1/links", "", "memory:read"),
    ("GET", "/api/memory", "", "memory:read"),
    ("GET", "/api/memory/suggestions", "", "memory:read"),
    ("GET", "/api/memory/status", "", "memory:read"),
    ("POST", "/api/memory/index", "{}", "memory:write"),
    ("POST", "/api/memory/link", r#"{"from":1,"to":2,"type":"updates"}"#, "memory:write"),
    ("DELETE", "/api/memory/link?from=1&to=2&type=updates", "", "memory:write"),
    ("GET", "/api/memory/export", "", "memory:read"),
    ("POST", "/api/memory/import", EMPTY_EXPORT, "memory:write"),
    ("POST", "/api/memory/compact", "", "admin"),
    ("GET", "/api/backup", "", "admin"),
    ("GET", "/api/recall", "", "memory:read"),
    ("GET", "/api/recall/sessions/s", "", "memory:read"),
    ("POST", "/api/recall/brief", r#"{"session":"s","harness":"claude"}"#, "memory:read"),
    (
        "POST",
        "/api/recall/prompt",
        r#"{"session":"s","harness":"claude","prompt":"x"}"#,
        "memory:read",
    ),
    ("POST", "/api/recall/why", r#"{"session":"s","query":"x"}"#, "memory:read"),
    (
        "POST",
        "/api/recall/turns",
        r#"{"session":"s","harness":"claude","turns":[],"from":0,"to":9}"#,
        "memory:write",
    ),
    ("POST", "/api/recall/compaction", r#"{"session":"s","harness":"claude"}"#, "memory:write"),
    ("POST", "/api/context", r#"{"query":"x"}"#, "context:read"),
    ("GET", "/api/context/status", "", "context:read"),
    ("POST", "/api/context/rescan", "", "context:read"),
    ("GET", "/api/flows", "", "flows:read"),
    ("POST", "/api/flows/rescan", "", "flows:read"),
    ("GET", "/api/flows/runs", "", "flows:read"),
    ("GET", "/api/flows/runs/a.1", "", "flows:read"),
    ("GET", "/api/flows/why?event=1", "", "flows:read"),
    ("GET", "/api/flows/files/a.yaml", "", "flows:read"),
    ("POST", "/api/flows/runs/a.1/retry", "", "flows:run"),
    ("POST", "/api/flows/runs/a.1/cancel", "", "flows:run"),
    ("POST", "/api/flows/a/test", r#"{"type":"a:b"}"#, "flows:run"),
    ("POST", "/api/flows/a/replay", "{}", "flows:run"),
    ("POST", "/api/flows/a/pause", "", "flows:run"),
    ("POST", "/api/flows/a/resume", "", "flows:run"),
    ("POST", "/api/flows/files/a.yaml/allow", "{}", "admin"),
    ("GET", "/api/browser", "", "browser:use"),
    ("POST", "/api/browser/read", "", "browser:use"),
    ("GET", "/api/mesh/peers", "", "admin"),
    ("POST", "/api/mesh/call", r#"{"target":"a","command":"b"}"#, "admin"),
    ("POST", "/api/mesh/events", r#"{"source":"a","event":{"type":"b"}}"#, "admin"),
    ("GET", "/api/mesh/events", "", "admin"),
    ("GET", "/api/tokens", "", "admin"),
    ("POST", "/api/tokens", r#"{"scopes":["admin"]}"#, "admin"),
    ("DELETE", "/api/tokens/aaaaaaaaaa", "", "admin"),
    ("POST", "/api/dashboard/codes", "{}", "admin"),
    ("DELETE", "/api/memory/1", "", "memory:write"),
];

fn with_header(service: &Service, path: &str, header: &[u8]) -> Answer {
    let mut bytes = format!("GET {path} HTTP/1.1\r\nhost: {}\r\n", service.address).into_bytes();
    bytes.extend_from_slice(header);
    bytes.extend_from_slice(b"connection: close\r\n\r\n");
    raw(service.address, &bytes)
}

#[test]
fn without_a_token_every_path_is_401_before_anything_else() {
    let service = Service::start();
    let paths = ROUTES.iter().map(|(_, path, ..)| *path);
    let odd = ["/health", "/api", "/api/nothing", "/api//memory", "/API/memory", "/api/memory/"];
    let tricks = ["/api/%6demory", "/api/memory/../tokens", "/api/tokens;x", "//", "/metrics/"];
    for path in paths.chain(odd).chain(tricks) {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "FOO"] {
            let head = format!(
                "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n",
                service.address
            );
            let answer = raw(service.address, head.as_bytes());
            answer.problem(401);
            assert_eq!(answer.header("www-authenticate"), Some("Bearer realm=\"waypost\""));
        }
    }
}

#[test]
fn what_is_not_a_good_bearer_token_is_401_with_one_answer() {
    let service = Service::start();
    let good = &service.token;
    let path = "/api/memory/status";
    let ok = with_header(&service, path, format!("authorization: bEaReR {good}\r\n").as_bytes());
    assert_eq!(ok.status, 200);

    let mut wrong_secret = good.clone().into_bytes();
    let at = good.len() - 20;
    wrong_secret[at] = if wrong_secret[at] == b'a' { b'b' } else { b'a' };
    let wrong_secret = String::from_utf8(wrong_secret).expect("text");
    let bad = [wrong_secret, "wp_x".to_owned(), format!("{good}x"), "x".repeat(600)];
    let answers: Vec<String> = bad
        .iter()
        .map(|bad| {
            with_header(&service, path, format!("authorization: Bearer {bad}\r\n").as_bytes())
        })
        .map(|response| response.problem(401))
        .collect();
    assert!(answers.windows(2).all(|it| it[0] == it[1]), "{answers:?}");

    let refused = [
        "authorization: Bearer\r\n".to_owned(),
        "authorization: Bearer \r\n".to_owned(),
        format!("authorization: Bearer  {good}\r\n"),
        format!("authorization: Basic {good}\r\n"),
        format!("authorization: {good}\r\n"),
        format!("authorization: Bearer {good} x\r\n"),
        format!("authorization: Bearer {good}\r\nauthorization: Bearer {good}\r\n"),
        format!("cookie: token={good}\r\n"),
        format!("x-token: {good}\r\n"),
    ];
    for header in refused {
        with_header(&service, path, header.as_bytes()).problem(401);
    }
    let query = format!("{path}?token={good}&access_token={good}");
    with_header(&service, &query, b"").problem(401);
    let body = format!("{{\"token\":\"{good}\"}}");
    send(service.address, "POST", "/api/memory/search", "", &[], body.as_bytes()).problem(401);
}

#[test]
fn odd_bytes_in_the_token_do_no_harm() {
    let service = Service::start();
    let good = service.token.clone();
    let with = |bytes: &[u8]| {
        let header = [b"authorization: Bearer ", good.as_bytes(), bytes, b"\r\n"].concat();
        with_header(&service, "/api/memory/status", &header).status
    };
    assert_eq!(with(b"\0"), 400);
    assert_eq!(with(b"\nx"), 400);
    assert_eq!(with("\u{e9}".as_bytes()), 401);
    assert_eq!(with(&[0xff, 0xfe]), 401);
    assert_eq!(with(&vec![b'x'; 1024 * 1024]), 431);
    assert_eq!(with(b""), 200);
}

#[test]
fn a_scope_opens_its_own_routes_and_no_other() {
    let service = Service::start();
    service.add("one");
    service.add("two");
    let read = service.new_token(&["memory:read"], None);
    let write = service.new_token(&["memory:write"], None);
    let look = service.new_token(&["flows:read"], None);
    let run = service.new_token(&["flows:run"], None);
    let context = service.new_token(&["context:read"], None);
    let browser = service.new_token(&["browser:use"], None);
    let other = service.new_token(&["events:publish"], None);
    for (method, path, body, scope) in ROUTES {
        for (token, has) in [
            (&read, "memory:read"),
            (&write, "memory:write"),
            (&look, "flows:read"),
            (&run, "flows:run"),
            (&context, "context:read"),
            (&browser, "browser:use"),
            (&other, "-"),
        ] {
            let answer = service.send(method, path, token, body.as_bytes());
            if has == *scope {
                // There is no browser.
                let is_open = answer.status < 400 || matches!(answer.status, 404 | 503);
                assert!(is_open, "{method} {path} {has}: {}", answer.text());
            } else {
                let detail = answer.problem(403);
                assert!(detail.contains(scope), "{method} {path}: {detail}");
            }
        }
    }
}

#[test]
fn a_token_is_shown_once_listed_and_revoked_at_once() {
    let service = Service::start();
    let sent =
        json!({"scopes": ["memory:read"], "note": "ci", "expiresAt": "2999-01-01T00:00:00Z"});
    let made = service.post("/api/tokens", &sent);
    assert_eq!(made.status, 201, "{}", made.text());
    let made = made.json();
    let token = made["token"].as_str().expect("a token");
    assert!(token.starts_with("wp_"));
    assert_eq!(made["info"]["expiresAt"], "2999-01-01T00:00:00.000Z");
    let path = "/api/memory/status";
    assert_eq!(service.send("GET", path, token, b"").status, 200);

    let list = service.get("/api/tokens");
    assert!(!list.text().contains(token), "the secret is listed");
    let listed = list.json().as_array().expect("an array").clone();
    assert!(listed.iter().any(|it| it["id"] == made["info"]["id"] && it["note"] == "ci"));

    let id = made["info"]["id"].as_str().expect("an id");
    assert_eq!(service.delete(&format!("/api/tokens/{id}")).status, 200);
    service.send("GET", path, token, b"").problem(401);
    service.delete("/api/tokens/nothing").problem(404);
    service.post("/api/tokens", &json!({"scopes": []})).problem(422);
    service.post("/api/tokens", &json!({"scopes": ["memory:reed"]})).field_problem("/scopes/0");
    let past = json!({"scopes": ["memory:read"], "expiresAt": "2001-01-01T00:00:00Z"});
    service.post("/api/tokens", &past).problem(422);
}

#[test]
fn tokens_work_after_a_restart() {
    let service = Service::start();
    let kept = service.new_token(&["memory:read"], None);
    let admin = service.token.clone();
    let service = service.restart();
    assert_eq!(service.token, admin);
    assert_eq!(service.send("GET", "/api/memory/status", &kept, b"").status, 200);
    let used = service.get("/api/tokens").json();
    assert!(used.as_array().expect("an array").iter().any(|it| it["lastUsedAt"].is_string()));
}

#[test]
fn a_project_s_token_is_not_another_s() {
    let (one, two) = (Service::start(), Service::start());
    send(two.address, "GET", "/api/memory/status", &one.token, &[], b"").problem(401);
}

#[cfg(unix)]
#[test]
fn the_first_start_leaves_a_private_token_and_a_gitignore() {
    use std::os::unix::fs::PermissionsExt;
    let service = Service::start();
    let dir = service.folder.path().join(".waypost");
    let mode = |name: &str| {
        let metadata = std::fs::metadata(dir.join(name)).expect("it is there");
        metadata.permissions().mode() & 0o777
    };
    assert_eq!(mode("token"), 0o600);
    assert_eq!(mode("data") & 0o077, 0);
    let ignored = std::fs::read_to_string(dir.join(".gitignore")).expect("it is there");
    for line in ["data", "token"] {
        assert!(ignored.lines().any(|it| it.trim_matches('/') == line), "{ignored}");
    }
    let stored = std::fs::read(dir.join("data/tokens.json")).expect("it is there");
    let secret = service.token.rsplit('_').next().expect("a secret");
    assert!(!String::from_utf8_lossy(&stored).contains(secret), "the token is stored in the clear");
}

#[test]
fn a_refused_request_may_be_as_large_as_it_likes() {
    let service = Service::start();
    let body = vec![b' '; 20 * 1024 * 1024];
    let bytes = request(service.address, "POST", "/api/memory/add", "wp_no", &[], &body);
    raw(service.address, &bytes).problem(401);
}

#[test]
fn a_token_that_may_only_write_reads_nothing_by_writing() {
    let service = Service::start();
    let sent = json!({"content": "the secret is out", "title": "Secret", "tags": ["hidden"]});
    let id = service.post("/api/memory/add", &sent).json()["id"].clone();
    let write = service.new_token(&["memory:write"], None);
    let path = format!("/api/memory/{id}");
    for body in [r#"{"session":null}"#, r#"{"metadata":{}}"#, r#"{"type":"fact"}"#] {
        let answer = service.send("PATCH", &path, &write, body.as_bytes());
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.json()["id"], id);
        assert!(!answer.text().contains("ecret") && !answer.text().contains("hidden"), "{body}");
    }
    // A client that repeats it learns only that it exists.
    let again = json!({"content": "the secret is out", "title": "Secret", "type": "fact"});
    let answer = service.send("POST", "/api/memory/add", &write, again.to_string().as_bytes());
    assert_eq!((answer.status, &answer.json()["id"]), (200, &id));
    assert!(!answer.text().contains("hidden"), "{}", answer.text());
}
