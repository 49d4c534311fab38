//! A token that is bound to a space knows of no other.

use serde_json::{Value, json};

use crate::client::Answer;
use crate::service::Service;

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
