//! Earlier versions and deleted memories come back.

use serde_json::json;

use crate::service::Service;

#[test]
fn an_earlier_version_is_restored_as_a_new_one() {
    let service = Service::start();
    let id = service.add("the first text");
    let path = format!("/api/memory/{id}");
    service.send("PATCH", &path, &service.token, br#"{"content":"the second","tags":["t"]}"#);
    let restored = service.post(&format!("{path}/restore"), &json!({"version": 1}));
    assert_eq!(restored.status, 200, "{}", restored.text());
    assert_eq!(restored.json()["content"], "the first text");
    assert_eq!(restored.json()["tags"], json!([]));
    assert_eq!(service.get(&path).json(), restored.json());
    let history = service.get(&format!("{path}/history")).json();
    let of = |name: &str| {
        let all = history.as_array().expect("an array").iter();
        all.map(|item| item[name].clone()).collect::<Vec<_>>()
    };
    assert_eq!(of("version"), [1, 2, 3]);
    assert_eq!(of("change"), ["added", "updated", "updated"]);
    let restore = |id: &str, version: serde_json::Value| {
        service.post(&format!("/api/memory/{id}/restore"), &json!({"version": version}))
    };
    let id = id.to_string();
    let detail = restore(&id, json!(9)).problem(404);
    assert!(detail.contains("memory 1 has no version 9; it has versions 1 to 3"), "{detail}");
    restore("99", json!(1)).problem(404);
    for wrong in [json!(0), json!(4_294_967_296_u64), json!("1"), json!(null)] {
        restore(&id, wrong).problem(422);
    }
    service.post("/api/memory/compact", &json!({"versions": 1}));
    let detail = restore(&id, json!(2)).problem(410);
    assert!(detail.contains("version 2 of memory 1 is gone: a compaction removed it"), "{detail}");
}

#[test]
fn a_deleted_memory_is_restored_until_it_is_purged() {
    let service = Service::start();
    let (id, other) = (service.add("the lighthouse"), service.add("another"));
    let path = format!("/api/memory/{id}");
    let undelete = format!("{path}/undelete");
    let link = json!({"from": id, "to": other, "type": "related_to"});
    assert_eq!(service.post("/api/memory/link", &link).status, 201);
    let detail = service.send("POST", &undelete, &service.token, b"").problem(409);
    assert!(detail.contains("memory 1 is not deleted"), "{detail}");
    assert_eq!(service.delete(&path).status, 204);
    service.get(&path).problem(404);
    let restored = service.send("POST", &undelete, &service.token, b"");
    assert_eq!((restored.status, &restored.json()["content"]), (200, &json!("the lighthouse")));
    assert_eq!(service.get(&path).json(), restored.json());
    assert_eq!(service.get(&format!("{path}/links")).json(), json!([]));
    let found = service.post("/api/memory/search", &json!({"query": "lighthouse"})).json();
    assert_eq!(found[0]["id"], id);
    let history = service.get(&format!("{path}/history")).json();
    let changes: Vec<_> = history.as_array().expect("an array").iter().collect();
    let numbers: Vec<_> =
        changes.iter().map(|change| (&change["version"], &change["change"])).collect();
    let wanted = [(1, "added"), (2, "deleted"), (2, "restored")];
    let wanted = wanted.map(|(version, change)| (json!(version), json!(change)));
    assert_eq!(numbers, wanted.each_ref().map(|(version, change)| (version, change)));
    assert!(changes[1].get("memory").is_none() && changes[2].get("memory").is_some());
    // It survives a restart, and an export of it is imported as it was.
    let service = service.restart();
    assert_eq!(service.get(&format!("{path}/history")).json(), history);
    let export = service.get("/api/memory/export").body;
    let copy = Service::start();
    let imported = copy.send("POST", "/api/memory/import", &copy.token, &export);
    assert_eq!(imported.status, 200, "{}", imported.text());
    assert_eq!(copy.get("/api/memory/export").body, export);
    assert_eq!(service.delete(&path).status, 204);
    service.post("/api/memory/compact", &json!({}));
    let detail = service.send("POST", &undelete, &service.token, b"").problem(410);
    assert!(detail.contains("is gone: a compaction removed it"), "{detail}");
    service.send("POST", "/api/memory/99/undelete", &service.token, b"").problem(404);
}

#[test]
fn tokens_restore_what_they_may_write_and_read_only_what_they_may_read() {
    let service = Service::start();
    let mine = service.new_token(&["memory:write"], Some("mine"));
    let add = |space: &str| {
        let body = json!({"content": format!("a text of {space}"), "space": space});
        service.post("/api/memory/add", &body).json()["id"].as_u64().expect("an id")
    };
    let (own, theirs) = (add("mine"), add("theirs"));
    for id in [own, theirs] {
        assert_eq!(service.delete(&format!("/api/memory/{id}")).status, 204);
    }
    let ask = |token: &str, id: u64| {
        service.send("POST", &format!("/api/memory/{id}/undelete"), token, b"")
    };
    let reader = service.new_token(&["memory:read"], None);
    ask(&reader, own).problem(403);
    assert_eq!(ask(&mine, theirs).problem(404), format!("no memory {theirs}"));
    let restored = ask(&mine, own);
    assert_eq!((restored.status, &restored.json()["content"]), (200, &json!("")));
    let restore = |token: &str, id: u64| {
        let path = format!("/api/memory/{id}/restore");
        service.send("POST", &path, token, br#"{"version":1}"#)
    };
    restore(&reader, own).problem(403);
    assert_eq!(ask(&service.token, theirs).status, 200);
    restore(&mine, theirs).problem(404);
    let restored = restore(&mine, own);
    assert_eq!((restored.status, &restored.json()["content"]), (200, &json!("")));
}
