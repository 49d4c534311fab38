//! Adding, reading, changing and deleting memories.

use serde_json::json;

use crate::service::{Service, send};

#[test]
fn an_added_memory_is_read_back_with_its_defaults() {
    let service = Service::start();
    let body = json!({"content": "Use port 4747\nfor the service"});
    let added = service.post("/api/memory/add", &body);
    assert_eq!(added.status, 201, "{}", added.text());
    let memory = added.json();
    assert_eq!(memory["title"], "Use port 4747");
    assert_eq!(memory["type"], "note");
    assert_eq!(memory["space"], "default");
    assert_eq!(memory["tags"], json!([]));
    assert_eq!(memory["metadata"], json!({}));
    assert_eq!(memory["embedded"], false);
    assert!(memory.get("session").is_none() && memory.get("supersededBy").is_none());
    let created = memory["createdAt"].as_str().expect("a time");
    assert!(created.len() == 24 && created.ends_with('Z'), "{created}");
    assert_eq!(service.get(&format!("/api/memory/{}", memory["id"])).json(), memory);
}

#[test]
fn every_field_of_an_added_memory_is_kept() {
    let service = Service::start();
    let sent = json!({
        "title": "Ports", "content": "4747 serves", "type": "decision", "tags": ["net", "ops"],
        "metadata": {"text": "x", "whole": -3, "float": 0.5, "flag": true},
        "space": "infra", "session": "s-1", "createdAt": "2024-02-29T12:00:00.25+01:00",
    });
    let memory = service.post("/api/memory/add", &sent).json();
    for field in ["title", "content", "type", "tags", "metadata", "space", "session"] {
        assert_eq!(memory[field], sent[field], "{field}");
    }
    assert_eq!(memory["createdAt"], "2024-02-29T11:00:00.250Z");
}

#[test]
fn the_same_memory_again_is_answered_with_the_first_one() {
    let service = Service::start();
    let body = json!({"title": "t", "content": "c", "type": "note"});
    let first = service.post("/api/memory/add", &body);
    let second = service.post("/api/memory/add", &body);
    assert_eq!((first.status, second.status), (201, 200));
    assert_eq!(first.json()["id"], second.json()["id"]);
    assert_eq!(service.get("/api/memory/status").json()["memories"], 1);
}

#[test]
fn a_change_keeps_what_it_does_not_name_and_the_earlier_versions() {
    let service = Service::start();
    let sent = json!({"title": "t", "content": "one", "tags": ["a"], "session": "s"});
    let id = service.post("/api/memory/add", &sent).json()["id"].clone();
    let path = format!("/api/memory/{id}");
    let patch = br#"{"content": "two", "session": null}"#;
    let changed = service.send("PATCH", &path, &service.token, patch);
    assert_eq!(changed.status, 200, "{}", changed.text());
    let memory = changed.json();
    assert_eq!((&memory["content"], &memory["title"]), (&json!("two"), &json!("t")));
    assert_eq!(memory["tags"], json!(["a"]));
    assert!(memory.get("session").is_none());
    assert_eq!(service.get(&path).json(), memory);

    assert_eq!(service.delete(&path).status, 204);
    service.get(&path).problem(404);
    service.delete(&path).problem(404);
    let history = service.get(&format!("{path}/history")).json();
    let changes: Vec<_> = history
        .as_array()
        .expect("an array")
        .iter()
        .map(|array| {
            (array["version"].clone(), array["change"].clone(), array["memory"]["content"].clone())
        })
        .collect();
    assert_eq!(
        changes,
        [
            (json!(1), json!("added"), json!("one")),
            (json!(2), json!("updated"), json!("two")),
            (json!(3), json!("deleted"), json!(null)),
        ]
    );
}

#[test]
fn the_pages_of_a_history_are_the_history() {
    let service = Service::start();
    let path = format!("/api/memory/{}", service.add("0"));
    for number in 1..4 {
        let patch = json!({"content": number.to_string()}).to_string();
        service.send("PATCH", &path, &service.token, patch.as_bytes());
        if number == 2 {
            assert_eq!(service.delete(&path).status, 204);
            assert_eq!(service.post(&format!("{path}/undelete"), &json!(null)).status, 200);
        }
    }
    let whole = service.get(&format!("{path}/history"));
    assert_eq!(whole.header("link"), None);
    let whole = whole.json().as_array().expect("an array").clone();
    let changes: Vec<_> =
        whole.iter().map(|whole| whole["change"].as_str()).map(Option::unwrap_or_default).collect();
    assert_eq!(changes, ["added", "updated", "updated", "deleted", "restored", "updated"]);
    for limit in 1..=5 {
        let (mut paged, mut next) = (Vec::new(), format!("{path}/history?limit={limit}"));
        loop {
            let page = service.get(&next);
            assert_eq!(page.status, 200, "{}", page.text());
            paged.extend(page.json().as_array().expect("an array").clone());
            let Some(link) = page.header("link") else { break };
            let target =
                link.strip_prefix('<').and_then(|rest| rest.strip_suffix(">; rel=\"next\""));
            next = target.expect("a link").to_owned();
        }
        assert_eq!(paged, whole, "{limit} at a time");
    }
    service.get(&format!("{path}/history?limit=1001")).field_problem("?limit");
    service.get(&format!("{path}/history?limit=0")).field_problem("?limit");
}

#[test]
fn ids_that_name_nothing_are_404_and_ids_that_cannot_be_are_422() {
    let service = Service::start();
    for (id, status) in [
        ("1", 404),
        ("9007199254740991", 404),
        ("9007199254740992", 422),
        ("18446744073709551616", 422),
        ("0", 422),
        ("-1", 422),
        ("1.5", 422),
        ("1e3", 422),
        ("%31x", 422),
        ("abc", 422),
    ] {
        let path = format!("/api/memory/{id}");
        service.get(&path).problem(status);
        service.delete(&path).problem(status);
        service.send("PATCH", &path, &service.token, br#"{"title":"x"}"#).problem(status);
        service.get(&format!("{path}/history")).problem(status);
        service.get(&format!("{path}/links")).problem(status);
    }
}

#[test]
fn pages_follow_the_link_until_there_is_none() {
    let service = Service::start();
    let ids: Vec<u64> =
        (0..7).map(|number| service.add(&format!("memory number {number}"))).collect();
    let mut seen = Vec::new();
    let mut next = Some("/api/memory?limit=3&type=note".to_owned());
    let mut pages = 0;
    while let Some(path) = next {
        let page = service.get(&path);
        assert_eq!(page.status, 200, "{}", page.text());
        seen.extend(
            page.json().as_array().expect("an array").iter().map(|array| array["id"].clone()),
        );
        next = page.header("link").map(|header| {
            let (path, relation) = header.split_once(';').expect("a relation");
            assert_eq!(relation.trim(), "rel=\"next\"");
            path.trim_matches(['<', '>']).to_owned()
        });
        pages += 1;
    }
    assert_eq!(seen, ids);
    assert_eq!(pages, 3);
    assert!(service.get("/api/memory?limit=7").header("link").is_none());
    assert_eq!(service.get("/api/memory?limit=1000").json().as_array().map(Vec::len), Some(7));
    service.get("/api/memory?limit=0").field_problem("?limit");
    service.get("/api/memory?limit=1001").field_problem("?limit");
    service.get("/api/memory?limt=3").field_problem("?limt");
    service.get("/api/memory?after=-1").field_problem("?after");
    service.get("/api/memory?type=%ff").problem(400);
}

#[test]
fn the_request_id_comes_back_if_it_is_harmless() {
    let service = Service::start();
    let headers = [("x-request-id", "my-id.1")];
    let answer = send(service.address, "GET", "/api/memory/status", &service.token, &headers, b"");
    assert_eq!(answer.header("x-request-id"), Some("my-id.1"));
    for bad in ["", "a b", "\u{e4}", &"x".repeat(129)] {
        let headers = [("x-request-id", bad)];
        let answer = send(service.address, "GET", "/healthz", "", &headers, b"");
        let made = answer.header("x-request-id").expect("an id");
        assert!(made != bad && made.len() == 16, "{made}");
    }
}
