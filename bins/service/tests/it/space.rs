//! A space-bound token sees no other space.

use std::collections::BTreeSet;
use std::io::{Read, Write};

use serde_json::{Value, json};

use crate::client::{Answer, connect};
use crate::service::{Service, request};
use crate::wait::until;

struct Spaces {
    service: Service,
    bound: String,
    mine: u64,
    theirs: u64,
}

impl Spaces {
    fn new() -> Self {
        let service = Service::start();
        let bound = service.new_token(&["memory:read", "memory:write"], Some("mine"));
        let add = |space: &str| {
            let body = json!({"content": format!("a secret of {space}"), "space": space});
            service.post("/api/memory/add", &body).json()["id"].as_u64().expect("an id")
        };
        let (mine, theirs) = (add("mine"), add("theirs"));
        Self { service, bound, mine, theirs }
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> Answer {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.service.send(method, path, &self.bound, body.as_bytes())
    }
}

#[test]
fn another_space_s_memories_are_not_there() {
    let it = Spaces::new();
    let theirs = format!("/api/memory/{}", it.theirs);
    let missing = it.send("GET", "/api/memory/999", &Value::Null).problem(404);
    let hidden = it.send("GET", &theirs, &Value::Null).problem(404);
    assert_eq!(hidden, missing.replace("999", &it.theirs.to_string()));
    it.send("PATCH", &theirs, &json!({"title": "x"})).problem(404);
    it.send("DELETE", &theirs, &Value::Null).problem(404);
    it.send("GET", &format!("{theirs}/history"), &Value::Null).problem(404);
    it.send("GET", &format!("{theirs}/links"), &Value::Null).problem(404);
    for (from, to) in [(it.mine, it.theirs), (it.theirs, it.mine)] {
        let link = json!({"from": from, "to": to, "type": "related_to"});
        it.send("POST", "/api/memory/link", &link).problem(404);
        it.send("DELETE", "/api/memory/link", &link).problem(404);
    }
    assert_eq!(it.service.get(&theirs).json()["content"], "a secret of theirs");
}

#[test]
fn lists_searches_and_adds_stay_in_the_space() {
    let it = Spaces::new();
    let list = it.send("GET", "/api/memory", &Value::Null).json();
    assert_eq!(list.as_array().map(Vec::len), Some(1));
    assert_eq!(list[0]["id"], it.mine);
    let hits = it.send("POST", "/api/memory/search", &json!({"query": "secret"})).json();
    assert_eq!(hits.as_array().map(Vec::len), Some(1));
    assert_eq!(hits[0]["id"], it.mine);
    let added = it.send("POST", "/api/memory/add", &json!({"content": "new"}));
    assert_eq!((added.status, &added.json()["space"]), (201, &json!("mine")));
    let batch = it.send("POST", "/api/memory/batch", &json!({"content": "b", "space": "theirs"}));
    assert_eq!(batch.lines()[0]["status"], 403);

    it.send("POST", "/api/memory/search", &json!({"query": "x", "space": "theirs"})).problem(403);
    it.send("GET", "/api/memory?space=theirs", &Value::Null).problem(403);
    let detail = it
        .send("POST", "/api/memory/add", &json!({"content": "x", "space": "theirs"}))
        .problem(403);
    assert!(detail.contains("mine"), "{detail}");
    for (method, path) in [
        ("GET", "/api/memory/export"),
        ("POST", "/api/memory/import"),
        ("POST", "/api/memory/index"),
    ] {
        it.send(method, path, &Value::Null).problem(403);
    }
    let count = it.send("POST", "/api/memory/count", &json!({"by": ["space"]})).json();
    assert_eq!(count, json!({"count": 2, "bySpace": {"mine": 2}}));
    it.send("POST", "/api/memory/count", &json!({"space": "theirs"})).problem(403);
    // The place of another space's memory is as unknown as one that does not exist.
    let place = |id: u64| {
        let path = format!("/api/memory?order=newest&after={id}");
        it.send("GET", &path, &Value::Null).problem(422)
    };
    assert_eq!(place(it.theirs), place(999).replace("999", &it.theirs.to_string()));
    let status = it.send("GET", "/api/memory/status", &Value::Null).json();
    assert_eq!(status["bySpace"], json!({"mine": 2}));
    assert_eq!((&status["memories"], &status["byType"]), (&json!(2), &json!({"note": 2})));
}

#[test]
fn links_across_spaces_do_not_show_the_other_end() {
    let it = Spaces::new();
    for kind in ["contradicts", "related_to", "updates"] {
        let link = json!({"from": it.theirs, "to": it.mine, "type": kind});
        assert_eq!(it.service.post("/api/memory/link", &link).status, 201);
    }
    let links = it.send("GET", &format!("/api/memory/{}/links?depth=3", it.mine), &Value::Null);
    assert_eq!(links.json(), json!([]));
    let body = json!({"query": "secret", "explain": true});
    let hits = it.send("POST", "/api/memory/search", &body).json();
    assert_eq!(hits[0]["links"], json!([]));
    assert!(hits[0].get("contradicts").is_none() && hits[0].get("supersededBy").is_none());
}

#[test]
fn a_link_from_another_space_does_not_replace_those_of_the_own_one() {
    let it = Spaces::new();
    let add = |space: &str, content: &str| {
        let body = json!({"content": content, "space": space});
        it.service.post("/api/memory/add", &body).json()["id"].as_u64().expect("an id")
    };
    let own = add("mine", "the key lies under the stone");
    let foreign = add("theirs", "a stone of theirs");
    // Newer than the own one, and both ends of a cycle.
    for (from, to) in [(own, it.mine), (foreign, it.mine), (foreign, own), (it.mine, foreign)] {
        let link = json!({"from": from, "to": to, "type": "updates"});
        assert_eq!(it.service.post("/api/memory/link", &link).status, 201);
    }
    let search = |token: &str, more: Value| {
        let mut body = json!({"query": "a secret of mine", "explain": true});
        body.as_object_mut().expect("an object").extend(more.as_object().expect("one").clone());
        it.service.send("POST", "/api/memory/search", token, body.to_string().as_bytes())
    };
    let bound = search(&it.bound, json!({}));
    let filtered = search(&it.service.token, json!({"space": "mine"}));
    for answer in [&bound, &filtered] {
        let hits = answer.json();
        let ids: Vec<_> = hits.as_array().expect("hits").iter().map(|array| &array["id"]).collect();
        assert_eq!(ids, [own, it.mine], "{hits}");
        assert_eq!(hits[1]["supersededBy"], own);
        assert!(hits[0].get("supersededBy").is_none());
        for hit in [&hits[0], &hits[1]] {
            let links = json!([{"from": own, "to": it.mine, "type": "updates"}]);
            let said = hit["links"].as_array().expect("links").iter();
            let said = said
                .map(|said| json!({"from": said["from"], "to": said["to"], "type": said["type"]}));
            assert_eq!(said.collect::<Value>(), links);
        }
    }
    assert_eq!(bound.body, filtered.body);
    let listed = it.service.get("/api/memory?space=mine").json();
    assert_eq!(listed[0]["supersededBy"], own);
    let read = format!("/api/memory/{}", it.mine);
    assert_eq!(it.send("GET", &read, &Value::Null).json()["supersededBy"], own);
    assert_eq!(it.service.get(&read).json()["supersededBy"], foreign);
}

/// What a space-bound token with every scope gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sees {
    /// Data of its space, and nothing about another.
    Own,
    /// Data of the project, which all spaces share.
    Shared,
    /// 403: the route concerns all spaces.
    Refused,
    /// 404: it belongs to another space, and seems not to exist.
    Hidden,
    /// The route needs no token.
    Open,
}

/// A search by the Model Context Protocol, as a client of an earlier revision sends it.
const SEARCH_BY_MCP: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_search","arguments":{"query":"secret","limit":50}}}"#;

/// Every route, with a valid body, and the result for a space-bound token. `{theirs}` is another
/// space's memory, `{event}` its event, `{mine}` a memory of the token's space.
const ROUTES: &[(&str, &str, &str, Sees)] = &[
    ("POST", "/api/memory/search", r#"{"query":"secret","explain":true,"limit":100}"#, Sees::Own),
    ("POST", "/api/memory/add", r#"{"content":"a secret of mine"}"#, Sees::Own),
    ("POST", "/api/memory/batch", r#"{"content":"a line of mine"}"#, Sees::Own),
    ("GET", "/api/memory/{theirs}", "", Sees::Hidden),
    ("GET", "/api/memory/{mine}", "", Sees::Own),
    ("PATCH", "/api/memory/{theirs}", r#"{"title":"y"}"#, Sees::Hidden),
    ("DELETE", "/api/memory/{theirs}", "", Sees::Hidden),
    ("POST", "/api/memory/{mine}/restore", r#"{"version":1}"#, Sees::Own),
    ("POST", "/api/memory/{theirs}/restore", r#"{"version":1}"#, Sees::Hidden),
    ("POST", "/api/memory/{theirs}/undelete", "", Sees::Hidden),
    ("POST", "/api/memory/{gone}/undelete", "", Sees::Hidden),
    ("GET", "/api/memory/{theirs}/history", "", Sees::Hidden),
    ("GET", "/api/memory/{gone}/history", "", Sees::Hidden),
    ("GET", "/api/memory/{mine}/history", "", Sees::Own),
    ("GET", "/api/memory/{theirs}/links", "", Sees::Hidden),
    ("GET", "/api/memory/{mine}/links?depth=5", "", Sees::Own),
    ("GET", "/api/memory?limit=1000", "", Sees::Own),
    ("GET", "/api/memory?limit=1000&order=newest", "", Sees::Own),
    ("POST", "/api/memory/count", r#"{"by":["type","tag","space"]}"#, Sees::Own),
    ("POST", "/api/memory/merge", r#"{"into":{mine},"from":{theirs}}"#, Sees::Hidden),
    ("POST", "/api/memory/merge", r#"{"into":{theirs},"from":{mine}}"#, Sees::Hidden),
    ("GET", "/api/memory/suggestions?limit=1000", "", Sees::Own),
    ("GET", "/api/memory/suggestions?id={mine}", "", Sees::Own),
    ("GET", "/api/memory/suggestions?id={theirs}", "", Sees::Hidden),
    ("GET", "/api/memory/status", "", Sees::Own),
    ("POST", "/api/memory/index", "{}", Sees::Refused),
    ("POST", "/api/memory/compact", "", Sees::Refused),
    ("POST", "/api/memory/link", r#"{"from":{mine},"to":{theirs},"type":"updates"}"#, Sees::Hidden),
    ("DELETE", "/api/memory/link?from={theirs}&to={mine}&type=updates", "", Sees::Hidden),
    ("GET", "/api/memory/export", "", Sees::Refused),
    ("POST", "/api/memory/import", "", Sees::Refused),
    ("GET", "/api/recall?limit=1000", "", Sees::Own),
    ("GET", "/api/recall/sessions/{session}", "", Sees::Hidden),
    ("POST", "/api/recall/brief", r#"{"session":"{session}","harness":"claude"}"#, Sees::Own),
    (
        "POST",
        "/api/recall/prompt",
        r#"{"session":"{session}","harness":"claude","prompt":"is there a secret of theirs?"}"#,
        Sees::Own,
    ),
    (
        "POST",
        "/api/recall/turns",
        r#"{"session":"mine","harness":"claude","turns":[{"role":"user","text":"of mine"}],"from":0,"to":9}"#,
        Sees::Own,
    ),
    ("POST", "/api/recall/compaction", r#"{"session":"mine","harness":"claude"}"#, Sees::Own),
    ("POST", "/api/recall/why", r#"{"session":"{session}","query":"secret"}"#, Sees::Own),
    (
        "POST",
        "/api/context",
        r#"{"query":"secret","sources":["memory"],"maxItems":200}"#,
        Sees::Own,
    ),
    ("GET", "/api/context/status", "", Sees::Shared),
    ("POST", "/api/context/rescan", "", Sees::Shared),
    ("POST", "/api/events", r#"{"type":"a:mine","data":{"of":"mine"}}"#, Sees::Own),
    ("GET", "/api/events?limit=1000", "", Sees::Own),
    ("GET", "/api/events?after=0&pattern=memory:*", "", Sees::Own),
    ("GET", "/api/events/{event}", "", Sees::Hidden),
    ("GET", "/api/events/stream?after=0", "", Sees::Own),
    ("GET", "/api/flows", "", Sees::Refused),
    ("POST", "/api/flows/rescan", "", Sees::Refused),
    ("GET", "/api/flows/runs", "", Sees::Refused),
    ("GET", "/api/flows/runs/a.1", "", Sees::Refused),
    ("GET", "/api/flows/why?event={event}", "", Sees::Refused),
    ("GET", "/api/flows/files/a.yaml", "", Sees::Refused),
    ("POST", "/api/flows/runs/a.1/retry", "", Sees::Refused),
    ("POST", "/api/flows/runs/a.1/cancel", "", Sees::Refused),
    ("POST", "/api/flows/a/test", r#"{"type":"a:b"}"#, Sees::Refused),
    ("POST", "/api/flows/a/replay", "{}", Sees::Refused),
    ("POST", "/api/flows/a/pause", "", Sees::Refused),
    ("POST", "/api/flows/a/resume", "", Sees::Refused),
    ("POST", "/api/flows/files/a.yaml/allow", r#"{"hash":"x"}"#, Sees::Refused),
    ("GET", "/api/browser", "", Sees::Refused),
    ("POST", "/api/browser/read", "", Sees::Refused),
    ("GET", "/api/mesh/peers", "", Sees::Refused),
    ("POST", "/api/mesh/call", r#"{"target":"a","command":"b"}"#, Sees::Refused),
    ("POST", "/api/mesh/events", r#"{"source":"a","event":{"type":"b"}}"#, Sees::Refused),
    ("GET", "/api/mesh/events", "", Sees::Refused),
    ("GET", "/api/tokens", "", Sees::Refused),
    ("POST", "/api/tokens", r#"{"scopes":["admin"]}"#, Sees::Refused),
    ("GET", "/api/tokens/current", "", Sees::Own),
    ("DELETE", "/api/tokens/aaaaaaaaaa", "", Sees::Refused),
    ("POST", "/api/dashboard/codes", "", Sees::Refused),
    // Without an `Origin` it is not the dashboard's page.
    ("POST", "/api/dashboard/token", r#"{"code":"x"}"#, Sees::Refused),
    ("POST", "/api/dashboard/proof", r#"{"id":"x","nonce":"x"}"#, Sees::Hidden),
    ("GET", "/api/backup", "", Sees::Refused),
    ("POST", "/mcp", SEARCH_BY_MCP, Sees::Own),
    ("GET", "/healthz", "", Sees::Open),
    ("GET", "/readyz", "", Sees::Open),
    ("GET", "/metrics", "", Sees::Refused),
    ("GET", "/openapi.json", "", Sees::Open),
];

/// A session of the other space.
const THEIR_SESSION: &str = "session-of-theirs";

/// Every scope that a space-bound token can have.
const SCOPES: [&str; 7] = [
    "memory:read",
    "memory:write",
    "context:read",
    "events:read",
    "events:publish",
    "flows:read",
    "flows:run",
];

/// The path of a row as the API description has it.
fn described(path: &str) -> String {
    let path = path.split('?').next().expect("a path");
    let is_id =
        |text: &str| text.starts_with('{') || ["a.1", "a", "a.yaml", "aaaaaaaaaa"].contains(&text);
    let parts = path.split('/').enumerate().map(|(at, it)| match it {
        "read" => "{command}".to_owned(),
        it if !is_id(it) => it.to_owned(),
        "a.yaml" => "{name}".to_owned(),
        "a" if at == 3 => "{name}".to_owned(),
        "{session}" => "{session}".to_owned(),
        _ => "{id}".to_owned(),
    });
    parts.collect::<Vec<_>>().join("/")
}

#[test]
fn every_route_is_in_the_table_of_what_a_space_bound_token_gets() {
    let rows: BTreeSet<(String, String)> =
        ROUTES.iter().map(|(method, path, ..)| ((*method).to_owned(), described(path))).collect();
    let routes: BTreeSet<(String, String)> = waypost_api::routes::ROUTES
        .iter()
        .map(|it| (it.method.to_owned(), it.path.to_owned()))
        .collect();
    let lacking: Vec<_> = routes.difference(&rows).collect();
    assert!(lacking.is_empty(), "a new route needs a row: {lacking:?}");
    let unknown: Vec<_> = rows.difference(&routes).collect();
    assert!(unknown.is_empty(), "no route is like it: {unknown:?}");
}

/// A service with memories, links, events and a deleted memory in two spaces.
struct Two {
    spaces: Spaces,
    gone: u64,
    event: u64,
}

impl Two {
    fn new() -> Self {
        let spaces = Spaces::new();
        let service = &spaces.service;
        let theirs = service.new_token(&["memory:write", "events:publish"], Some("theirs"));
        let add = |token: &str, content: &str| {
            let body = json!({"content": content}).to_string();
            let added = service.send("POST", "/api/memory/add", token, body.as_bytes());
            added.json()["id"].as_u64().expect("an id")
        };
        let bridge = add(&theirs, "a bridge of theirs");
        let gone = add(&theirs, "a deleted secret of theirs");
        let far = add(&spaces.bound, "a far one of mine");
        assert_eq!(service.delete(&format!("/api/memory/{gone}")).status, 204);
        for (from, to, kind) in [
            (spaces.theirs, spaces.mine, "updates"),
            (spaces.theirs, spaces.mine, "contradicts"),
            (spaces.mine, bridge, "related_to"),
            (bridge, far, "related_to"),
            (spaces.theirs, bridge, "part_of"),
        ] {
            let link = json!({"from": from, "to": to, "type": kind});
            assert_eq!(service.post("/api/memory/link", &link).status, 201);
        }
        let published = json!({"type": "a:theirs", "data": {"of": "theirs"}}).to_string();
        let event = service.send("POST", "/api/events", &theirs, published.as_bytes()).json();
        assert_eq!(event["space"], "theirs");
        let event = event["id"].as_u64().expect("an id");
        service.post("/api/events", &json!({"type": "a:of-nobody", "data": {"of": "theirs"}}));
        let prompt = json!({
            "session": THEIR_SESSION,
            "harness": "claude",
            "space": "theirs",
            "prompt": "which secrets and bridges are there?",
        });
        assert_eq!(service.post("/api/recall/prompt", &prompt).status, 200);
        // Every event about the memories exists before the first request.
        let wanted = 5 + 5 + 2;
        until(|| {
            let events = service.get("/api/events?limit=1000").json();
            if events.as_array().expect("events").len() < wanted { Err(events) } else { Ok(()) }
        });
        Self { spaces, gone, event }
    }

    fn filled(&self, text: &str) -> String {
        let it = &self.spaces;
        text.replace("{theirs}", &it.theirs.to_string())
            .replace("{mine}", &it.mine.to_string())
            .replace("{gone}", &self.gone.to_string())
            .replace("{event}", &self.event.to_string())
            .replace("{session}", THEIR_SESSION)
    }

    fn ask(&self, token: &str, (method, path, body): (&str, &str, &str)) -> Answer {
        let (path, body) = (self.filled(path), self.filled(body));
        if path == "/mcp" {
            let headers = [
                ("accept", "application/json, text/event-stream"),
                ("content-type", "application/json"),
            ];
            let address = self.spaces.service.address;
            return crate::service::send(address, method, &path, token, &headers, body.as_bytes());
        }
        if !path.contains("/stream") {
            return self.spaces.service.send(method, &path, token, body.as_bytes());
        }
        // It does not end by itself: reads what arrives shortly after its last event.
        let address = self.spaces.service.address;
        let mut stream = connect(address);
        stream.write_all(&request(address, method, &path, token, &[], b"")).expect("sent");
        let published = json!({"type": "a:last"}).to_string();
        let bound = &self.spaces.bound_all(&["events:publish"]);
        let sent = self.spaces.service.send("POST", "/api/events", bound, published.as_bytes());
        assert_eq!(sent.status, 201, "{}", sent.text());
        let (mut read, mut buffer) = (Vec::new(), [0; 4096]);
        while !String::from_utf8_lossy(&read).contains("a:last") {
            let count = stream.read(&mut buffer).expect("it is sent");
            read.extend_from_slice(&buffer[..count]);
            if count == 0 || read.starts_with(b"HTTP/1.1 4") {
                break;
            }
        }
        let status = std::str::from_utf8(&read[9..12]).expect("a status").parse().expect("one");
        Answer { status, headers: Vec::new(), body: read }
    }
}

impl Spaces {
    fn bound_all(&self, scopes: &[&str]) -> String {
        self.service.new_token(scopes, Some("mine"))
    }
}

#[test]
fn no_route_reveals_another_space_to_a_space_bound_token() {
    let two = Two::new();
    let all = two.spaces.bound_all(&SCOPES);
    let storage = two.spaces.service.get("/api/memory/status").json()["storageBytes"].to_string();
    for (method, path, body, sees) in ROUTES {
        // A reindex and a rescan produce the most events; nothing depends on their order.
        let answer = two.ask(&all, (method, path, body));
        let text = answer.text();
        let row = format!("{method} {path}: {} {text}", answer.status);
        match sees {
            Sees::Own => {
                assert!(answer.status < 300, "{row}");
                for word in ["theirs", "bridge", "of-nobody", "deleted", &*storage] {
                    assert!(!text.contains(word), "{word}: {row}");
                }
                for hidden in [two.spaces.theirs, two.spaces.theirs + 1] {
                    for key in ["id", "from", "to", "supersededBy"] {
                        let said = format!("\"{key}\":{hidden},");
                        let last = format!("\"{key}\":{hidden}}}");
                        let is_event = path.starts_with("/api/events") && key == "id";
                        assert!(
                            is_event || !(text.contains(&said) || text.contains(&last)),
                            "{said} {row}"
                        );
                    }
                }
            }
            Sees::Shared => assert!(answer.status < 300 || answer.status == 409, "{row}"),
            Sees::Refused => assert_eq!(answer.status, 403, "{row}"),
            Sees::Hidden => assert_eq!(answer.status, 404, "{row}"),
            Sees::Open => assert_eq!(answer.status, 200, "{row}"),
        }
    }
}

#[test]
fn each_scope_of_a_token_of_a_space_opens_no_more_than_the_same_scope_of_all_spaces() {
    let two = Two::new();
    for scope in SCOPES {
        let bound = two.spaces.bound_all(&[scope]);
        let free = two.spaces.service.new_token(&[scope], None);
        for (method, path, body, sees) in ROUTES {
            if path.contains("/stream") || *method == "DELETE" || path.ends_with("rescan") {
                continue;
            }
            let answers = [&bound, &free].map(|it| two.ask(it, (method, path, body)).status);
            let row = format!("{scope}: {method} {path} {answers:?}");
            if answers[1] == 403 || *sees == Sees::Refused {
                assert_eq!(answers[0], 403, "{row}");
            }
        }
    }
}

#[test]
fn a_link_over_a_hidden_memory_is_no_way_to_the_other_end() {
    let two = Two::new();
    let path = format!("/api/memory/{}/links?depth=5", two.spaces.mine);
    assert_eq!(two.spaces.send("GET", &path, &Value::Null).json(), json!([]));
    let memory = two.spaces.send("GET", &format!("/api/memory/{}", two.spaces.mine), &Value::Null);
    assert!(memory.json().get("supersededBy").is_none());
    let listed = two.spaces.send("GET", "/api/memory", &Value::Null).json();
    assert!(listed.as_array().expect("a list").iter().all(|it| it.get("supersededBy").is_none()));
}

#[test]
fn an_idempotency_key_of_another_space_is_free() {
    let two = Two::new();
    let service = &two.spaces.service;
    let theirs = service.new_token(&["events:publish"], Some("theirs"));
    let mine = two.spaces.bound_all(&["events:publish", "events:read"]);
    let publish = |token: &str, of: &str| {
        let body = json!({"type": "a:keyed", "data": {"of": of}}).to_string();
        let headers = [("idempotency-key", "same")];
        crate::service::send(
            service.address,
            "POST",
            "/api/events",
            token,
            &headers,
            body.as_bytes(),
        )
    };
    assert_eq!(publish(&theirs, "one").status, 201);
    let own = publish(&mine, "one");
    assert_eq!((own.status, &own.json()["space"]), (201, &json!("mine")));
    assert_eq!(publish(&theirs, "two").status, 409);
    assert_eq!(publish(&mine, "two").status, 409);
    assert_eq!(publish(&service.token, "three").status, 201);
}

#[test]
fn no_route_bypasses_the_scoped_reader() {
    let routes = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/http/routes");
    let mut folders = vec![routes];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("the routes") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a text");
            for way in ["app.store", "app.events", "shared.store", "shared.events"] {
                assert!(
                    !text.contains(way),
                    "{} uses {way}: take app.scoped or app.whole",
                    path.display()
                );
            }
        }
    }
}
