//! Idempotency keys over HTTP: a request that is sent twice has one effect.

use std::fs;
use std::net::SocketAddr;

use serde_json::{Value, json};
use tempfile::TempDir;
use waypost_api::routes::{ROUTES, Repeat};

use crate::client::Answer;
use crate::flows::start;
use crate::program::Program;
use crate::service::{Service, send};

/// A request of a token with a key.
struct Keyed<'a> {
    address: SocketAddr,
    token: &'a str,
    key: &'a str,
}

impl Keyed<'_> {
    fn send(&self, method: &str, path: &str, body: &Value) -> Answer {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.send_bytes(method, path, body.as_bytes())
    }

    fn send_bytes(&self, method: &str, path: &str, body: &[u8]) -> Answer {
        let headers = [("idempotency-key", self.key)];
        send(self.address, method, path, self.token, &headers, body)
    }
}

impl Service {
    fn keyed<'a>(&'a self, key: &'a str) -> Keyed<'a> {
        Keyed { address: self.address, token: &self.token, key }
    }
}

fn export(service: &Service) -> String {
    service.get("/api/memory/export").text()
}

/// The problem of a key that was used for another request.
fn is_reused(answer: &Answer) -> bool {
    answer.status == 409 && answer.json()["type"] == "urn:waypost:problem:key-reused"
}

/// Every route that changes memories, in an order in which each has an effect: the method, the path, the
/// body, and the statuses of the first response and of the second.
fn changes() -> Vec<(&'static str, &'static str, Value, [u16; 2])> {
    let link = json!({"from": 1, "to": 2, "type": "related_to"});
    vec![
        ("POST", "/api/memory/add", json!({"content": "the first one"}), [201, 200]),
        ("POST", "/api/memory/add", json!({"content": "the second one"}), [201, 200]),
        ("POST", "/api/memory/add", json!({"content": "the third one"}), [201, 200]),
        ("PATCH", "/api/memory/1", json!({"content": "changed"}), [200, 200]),
        ("POST", "/api/memory/link", link.clone(), [201, 200]),
        ("DELETE", "/api/memory/link", link, [204, 204]),
        ("POST", "/api/memory/1/restore", json!({"version": 1}), [200, 200]),
        ("DELETE", "/api/memory/2", Value::Null, [204, 204]),
        ("POST", "/api/memory/2/undelete", Value::Null, [200, 200]),
        ("POST", "/api/memory/merge", json!({"into": 1, "from": 3}), [200, 200]),
    ]
}

/// The parts of a memory that a repeat returns, whatever happened since.
fn shown(answer: &Answer) -> Option<[Value; 5]> {
    if answer.status == 204 {
        return None;
    }
    let json = answer.json();
    Some(["id", "content", "updatedAt", "from", "createdAt"].map(|it| json[it].clone()))
}

#[test]
fn every_change_of_memories_has_one_effect_and_one_outcome() {
    let mut service = Service::start();
    let mut first = Vec::new();
    for (number, (method, path, body, [status, _])) in changes().into_iter().enumerate() {
        let answer = service.keyed(&format!("k{number}")).send(method, path, &body);
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.text());
        first.push(shown(&answer));
    }
    let before = export(&service);
    for round in 0..2 {
        for (number, (method, path, body, [_, status])) in changes().into_iter().enumerate() {
            let key = format!("k{number}");
            let answer = service.keyed(&key).send(method, path, &body);
            assert_eq!(answer.status, status, "{round} {method} {path}: {}", answer.text());
            assert_eq!(shown(&answer), first[number], "{method} {path}");
            // The key belongs to this request.
            let reused =
                service.keyed(&key).send("POST", "/api/memory/add", &json!({"content": "x"}));
            assert!(is_reused(&reused), "{method} {path}: {}", reused.text());
        }
        assert_eq!(export(&service), before);
        service = service.restart();
    }
    assert_eq!(
        service.get("/api/events?pattern=memory:*").json().as_array().map(Vec::len),
        Some(4)
    );
}

#[test]
fn a_refused_request_leaves_its_key_free() {
    let service = Service::start();
    let id = service.add("the first one");
    let keyed = service.keyed("k");
    keyed.send("PATCH", "/api/memory/77", &json!({"content": "changed"})).problem(404);
    keyed.send("POST", "/api/memory/add", &json!({"contents": "x"})).problem(422);
    let path = format!("/api/memory/{id}");
    assert_eq!(keyed.send("PATCH", &path, &json!({"content": "changed"})).status, 200);
}

#[test]
fn a_batch_continues_where_it_ended() {
    let service = Service::start();
    let keyed = service.keyed("batch");
    let all = "{\"content\":\"one\"}\n{\"contents\":\"two\"}\n{\"content\":\"three\"}\n";
    let half = &all[..=all.find('\n').expect("a line")];
    let results = |body: &str| {
        let answer = keyed.send_bytes("POST", "/api/memory/batch", body.as_bytes());
        let results = answer.lines();
        results
            .iter()
            .map(|result| (result["status"].clone(), result["id"].clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(results(half), [(json!(201), json!(1))]);
    // Of other lines, the stored ones must not be stored again.
    service.delete("/api/memory/1");
    let expected = [(json!(200), json!(1)), (json!(422), Value::Null), (json!(201), json!(2))];
    assert_eq!(results(all), expected);
    let [one, two, _] = expected;
    assert_eq!(results(all), [one, two, (json!(200), json!(2))]);
    let other = "{\"content\":\"another\"}\n{\"content\":\"two\"}\n";
    assert_eq!(results(other), [(json!(409), Value::Null), (json!(201), json!(3))]);
}

#[test]
fn a_repeated_import_restores_nothing_that_was_changed_since() {
    let from = Service::start();
    let (one, two) = (from.add("the first one"), from.add("the second one"));
    let link = json!({"from": one, "to": two, "type": "related_to"});
    assert_eq!(from.post("/api/memory/link", &link).status, 201);
    let file = export(&from);

    let service = Service::start();
    service.add("it has the first id");
    let import = |key: &str, file: &str| {
        let path = "/api/memory/import?ids=map";
        service.keyed(key).send_bytes("POST", path, file.as_bytes())
    };
    let first = import("k", &file);
    assert_eq!((first.status, &first.json()["memories"]), (200, &json!(2)), "{}", first.text());
    let ids = [0, 1].map(|it| first.json()["mapped"][it]["to"].as_u64().expect("an id"));
    let mapped = ids[0];
    let patch = json!({"content": "changed"}).to_string();
    service.send("PATCH", &format!("/api/memory/{mapped}"), &service.token, patch.as_bytes());
    let here = json!({"from": ids[0], "to": ids[1], "type": "related_to"}).to_string();
    let unlinked = service.send("DELETE", "/api/memory/link", &service.token, here.as_bytes());
    assert_eq!(unlinked.status, 204, "{}", unlinked.text());
    let before = export(&service);
    assert_eq!(import("k", &file).json(), first.json());
    assert_eq!(export(&service), before);
    let other = file.replace("the second one", "another one");
    assert!(is_reused(&import("k", &other)));
    assert_eq!(export(&service), before);
    // Without the key, the changed memory is imported again.
    assert_eq!(import("other", &file).status, 200);
    assert_ne!(export(&service), before);
}

#[test]
fn keys_survive_kills() {
    let folder = TempDir::new().expect("a folder");
    let mut program = Program::start(folder.path());
    for round in 0..4 {
        for (number, (method, path, body, status)) in changes().into_iter().enumerate() {
            let key = format!("k{number}");
            let keyed = Keyed { address: program.address, token: &program.token, key: &key };
            let answer = keyed.send(method, path, &body);
            assert_eq!(answer.status, status[usize::from(round > 0)], "{method} {path}");
        }
        program.kill();
        program = Program::start(folder.path());
    }
    let listed = program.send("GET", "/api/memory", b"").json();
    let ids: Vec<_> =
        listed.as_array().expect("a list").iter().map(|array| array["id"].clone()).collect();
    assert_eq!(ids, [json!(1), json!(2)]);
    let history = program.send("GET", "/api/memory/1/history", b"").json();
    assert_eq!(history.as_array().map(Vec::len), Some(3));
}

/// A client that gets no response sends the request again to the next process, until it gets one.
#[test]
fn a_request_that_is_repeated_over_kills_has_one_effect() {
    let folder = TempDir::new().expect("a folder");
    let mut program = Program::start(folder.path());
    let added = program.send("POST", "/api/memory/add", b"{\"content\":\"counted\"}");
    assert_eq!(added.status, 201);
    for number in 0..4_u32 {
        let (address, token) = (program.address, program.token.clone());
        let patch = json!({"tags": [format!("tag{number}")]}).to_string();
        let key = format!("patch{number}");
        let request = |address| {
            let headers = [("idempotency-key", key.as_str())];
            crate::service::request(
                address,
                "PATCH",
                "/api/memory/1",
                &token,
                &headers,
                patch.as_bytes(),
            )
        };
        // The response may come or not.
        let bytes = request(address);
        let sent = std::thread::spawn(move || crate::client::try_raw(address, &bytes).is_some());
        if number % 2 == 0 {
            sent.join().expect("it is sent");
            program.kill();
        } else {
            program.kill();
            sent.join().expect("it is sent");
        }
        program = Program::start(folder.path());
        let again = crate::client::raw(program.address, &request(program.address));
        assert_eq!(again.status, 200, "{}", again.text());
        let history = program.send("GET", "/api/memory/1/history", b"").json();
        assert_eq!(history.as_array().map(Vec::len), Some(number as usize + 2));
    }
}

#[test]
fn requests_at_the_same_time_have_one_effect() {
    let service = Service::start();
    let id = service.add("the first one");
    let path = format!("/api/memory/{id}");
    let keyed = service.keyed("k");
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let send = || scope.spawn(|| keyed.send("PATCH", &path, &json!({"content": "changed"})));
        let all: Vec<_> = (0..8).map(|_| send()).collect();
        all.into_iter().map(|item| item.join().expect("it is sent")).collect()
    });
    let times: Vec<_> = answers.iter().map(|answer| answer.json()["updatedAt"].clone()).collect();
    assert!(answers.iter().all(|it| it.status == 200) && times.iter().all(|it| *it == times[0]));
    let history = service.get(&format!("{path}/history")).json();
    assert_eq!(history.as_array().map(Vec::len), Some(2));
    // One creates the token; the others learn only which.
    let body = json!({"scopes": ["memory:read"]});
    let keyed = service.keyed("token");
    let mut statuses: Vec<u16> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..6)
            .map(|_| scope.spawn(|| keyed.send("POST", "/api/tokens", &body).status))
            .collect();
        all.into_iter().map(|item| item.join().expect("it is sent")).collect()
    });
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409, 409, 409, 409, 409]);
    assert_eq!(service.get("/api/tokens").json().as_array().map(Vec::len), Some(2));
}

#[test]
fn no_token_learns_of_the_keys_of_another() {
    let service = Service::start();
    let body = json!({"content": "the first one"});
    assert_eq!(service.keyed("k").send("POST", "/api/memory/add", &body).status, 201);
    let mine = service.new_token(&["memory:write"], Some("mine"));
    let same = service.new_token(&["memory:write"], None);
    for (token, content) in [(&mine, "the first one"), (&same, "of another token")] {
        let keyed = Keyed { address: service.address, token, key: "k" };
        let added = keyed.send("POST", "/api/memory/add", &json!({"content": content}));
        assert_eq!(added.status, 201, "{}", added.text());
        assert!(is_reused(&keyed.send("POST", "/api/memory/add", &json!({"content": "another"}))));
    }
    // It wrote the memory, but may not read what became of it.
    let keyed = Keyed { address: service.address, token: &same, key: "patch" };
    let patched = || keyed.send("PATCH", "/api/memory/1", &json!({"tags": ["a"]})).json();
    assert_eq!((patched()["content"].clone(), patched()), (json!(""), patched()));
}

#[test]
fn a_token_is_created_once_and_its_secret_is_not_kept() {
    let service = Service::start();
    let create = |note: &str| {
        let body = json!({"scopes": ["memory:read"], "note": note});
        service.keyed("k").send("POST", "/api/tokens", &body)
    };
    let first = create("a");
    assert_eq!(first.status, 201, "{}", first.text());
    let secret = first.json()["token"].as_str().expect("a token").to_owned();
    let id = first.json()["info"]["id"].as_str().expect("an id").to_owned();
    let again = create("a");
    assert!(again.problem(409).contains(&id) && !again.text().contains(&secret));
    assert_eq!(again.json()["type"], "urn:waypost:problem:already-done");
    assert!(is_reused(&create("b")));
    assert_eq!(service.get("/api/tokens").json().as_array().map(Vec::len), Some(2));
    let folder = service.stopped().folder;
    let log = folder.path().join(".waypost/data/memory/log");
    for entry in fs::read_dir(log).expect("the log") {
        let bytes = fs::read(entry.expect("an entry").path()).expect("a file");
        assert!(!bytes.windows(secret.len()).any(|it| it == secret.as_bytes()));
    }
}

#[test]
fn flows_are_controlled_at_most_once() {
    let service = start(
        "flows:\n  - name: marks\n    trigger: { pattern: \"a:*\" }\n    actions: [{ type: emit, event: \"e:f\" }]\n",
    );
    let event = service.emit("a:b", &json!({}));
    service.wait_for_event("flow:succeeded", 0);
    let control = |key: &str, path: &str, body: &Value| {
        service.keyed(key).send("POST", &format!("/api/flows/{path}"), body)
    };
    let paused = control("pause", "marks/pause", &json!({"why": "a reason"}));
    assert_eq!(paused.status, 200, "{}", paused.text());
    assert_eq!(control("resume", "marks/resume", &Value::Null).status, 200);
    // A late repeat pauses nothing.
    let again = control("pause", "marks/pause", &json!({"why": "a reason"}));
    assert_eq!((again.status, again.json()), (200, paused.json()));
    assert!(service.get("/api/flows").json()["flows"][0].get("paused").is_none_or(Value::is_null));
    assert!(is_reused(&control("pause", "marks/pause", &json!({"why": "another"}))));

    let range = json!({"after": event - 1, "until": event});
    let replayed = control("replay", "marks/replay", &range);
    assert_eq!(replayed.json()["replay"], 1, "{}", replayed.text());
    assert_eq!(control("replay", "marks/replay", &range).json(), replayed.json());
    assert_eq!(control("other", "marks/replay", &range).json()["replay"], 2);
    control("refused", "none/replay", &range).problem(404);
    control("refused", "nobody/replay", &range).problem(404);
}

#[test]
fn an_invalid_key_is_refused_by_every_route_that_changes_something_and_ignored_by_others() {
    let service = Service::start();
    for route in ROUTES {
        let path = route.path.replace("{id}", "1").replace("{name}", "a").replace("{session}", "s");
        let path = path.replace("{command}", "click");
        if matches!(route.name, "CREATE_DASHBOARD_TOKEN" | "FOLLOW_EVENTS") {
            // The one takes no token, and the other does not end.
            continue;
        }
        let keyed = service.keyed("a key with spaces");
        let answer = keyed.send_bytes(route.method, &path, b"");
        let is_bad = answer.status == 400 && answer.text().contains("Idempotency-Key");
        let changes = route.repeat != Repeat::Reads || route.name == "MCP";
        assert_eq!(is_bad, changes, "{} {path}: {}", route.method, answer.text());
    }
    let twice = [("idempotency-key", "a"), ("idempotency-key", "a")];
    let body = b"{\"content\":\"x\"}";
    let answer = send(service.address, "POST", "/api/memory/add", &service.token, &twice, body);
    assert!(answer.problem(400).contains("more than once"));
}

#[test]
fn a_tool_passes_the_key_of_its_message_on() {
    let service = Service::start();
    let call = |id: u64, content: &str| {
        let arguments = json!({"content": content});
        let body = json!({
            "jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": "memory_add", "arguments": arguments},
        });
        let headers = [
            ("idempotency-key", "k"),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        let body = body.to_string();
        send(service.address, "POST", "/mcp", &service.token, &headers, body.as_bytes())
    };
    assert_eq!(call(1, "once").status, 200);
    service.delete("/api/memory/1");
    assert_eq!(call(2, "once").status, 200);
    assert_eq!(service.get("/api/memory").json(), json!([]));
    assert!(call(3, "another").text().contains("used for another request"));
}
