//! Suggestions about similar memories.

use serde_json::{Value, json};

use crate::service::{Service, batch};

fn add(service: &Service, token: &str, body: &Value) -> Value {
    let answer = service.send("POST", "/api/memory/add", token, body.to_string().as_bytes());
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()
}

fn port(number: u32, created_at: &str) -> Value {
    let content = format!("The service listens on port {number}.");
    json!({"content": content, "createdAt": created_at})
}

#[test]
fn an_add_and_a_list_suggest_what_may_be_done_and_do_nothing() {
    let service = Service::start();
    let old = add(&service, &service.token, &port(4000, "2026-01-01T00:00:00Z"));
    assert!(old.get("suggestions").is_none());
    let new = add(&service, &service.token, &port(4747, "2026-02-01T00:00:00Z"));
    let suggestions = &new["suggestions"];
    assert_eq!(suggestions[0]["type"], "updates");
    assert_eq!((&suggestions[0]["from"], &suggestions[0]["to"]), (&new["id"], &old["id"]));
    assert_eq!(suggestions[0]["reason"], "differs in \"4000\" → \"4747\"");
    assert_eq!(suggestions[0]["toTitle"], "The service listens on port 4000.");
    let listed = service.get("/api/memory/suggestions").json();
    assert_eq!(listed, json!({"suggestions": suggestions, "truncated": false}));
    let about = service.get(&format!("/api/memory/suggestions?id={}&limit=1", old["id"])).json();
    assert_eq!(about, listed);
    let links = service.get(&format!("/api/memory/{}/links", new["id"])).json();
    assert_eq!(links, json!([]));

    let link = json!({"from": new["id"], "to": old["id"], "type": "updates"});
    assert_eq!(service.post("/api/memory/link", &link).status, 201);
    let nothing = json!({"suggestions": [], "truncated": false});
    assert_eq!(service.get("/api/memory/suggestions").json(), nothing);
}

#[test]
fn a_caller_that_may_not_read_gets_no_suggestions() {
    let service = Service::start();
    let writing = service.new_token(&["memory:write"], None);
    add(&service, &writing, &port(4000, "2026-01-01T00:00:00Z"));
    let added = add(&service, &writing, &port(4747, "2026-02-01T00:00:00Z"));
    assert!(added.get("suggestions").is_none(), "{added}");
    service.send("GET", "/api/memory/suggestions", &writing, b"").problem(403);
}

#[test]
fn a_token_of_a_space_learns_of_no_memory_of_another() {
    let service = Service::start();
    let scopes = ["memory:read", "memory:write"];
    let mine = service.new_token(&scopes, Some("mine"));
    let theirs = service.new_token(&scopes, Some("theirs"));
    let hidden = add(&service, &theirs, &port(4000, "2026-01-01T00:00:00Z"));
    let own = add(&service, &mine, &port(4747, "2026-02-01T00:00:00Z"));
    assert!(own.get("suggestions").is_none(), "{own}");
    let list = |token: &str, query: &str| {
        service.send("GET", &format!("/api/memory/suggestions{query}"), token, b"")
    };
    let nothing = json!({"suggestions": [], "truncated": false});
    assert_eq!(list(&mine, "").json(), nothing);
    assert_eq!(list(&mine, &format!("?id={}", own["id"])).json(), nothing);
    // Not even the admin sees a pair of two spaces.
    assert_eq!(list(&service.token, "").json(), nothing);
    let missing = list(&mine, "?id=999").problem(404);
    let refused = list(&mine, &format!("?id={}", hidden["id"])).problem(404);
    assert_eq!(refused, missing.replace("999", &hidden["id"].to_string()));
    list(&mine, "?space=theirs").problem(403);

    add(&service, &theirs, &port(4748, "2026-03-01T00:00:00Z"));
    assert_eq!(list(&mine, "").json(), nothing);
    let found = list(&theirs, "").json();
    assert_eq!(found["suggestions"].as_array().map(Vec::len), Some(1), "{found}");
    assert_eq!(list(&service.token, "?space=theirs").json(), found);
    assert_eq!(list(&service.token, "?space=mine").json(), nothing);
}

#[test]
fn an_add_does_not_wait_for_reads() {
    let service = Service::start_with(|options| {
        options.limits.reads_max = 0;
        options.limits.store_time = std::time::Duration::from_secs(3_600);
    });
    add(&service, &service.token, &port(4000, "2026-01-01T00:00:00Z"));
    let added = add(&service, &service.token, &port(4747, "2026-02-01T00:00:00Z"));
    assert!(added.get("suggestions").is_none(), "{added}");
}

#[test]
fn what_a_limit_leaves_out_follows_with_the_next_request() {
    let service = Service::start();
    let lines = batch(400, |it| format!("The keeper of the lighthouse has {it} keys"));
    service.send("POST", "/api/memory/batch", &service.token, lines.as_bytes());
    let found = service.get("/api/memory/suggestions?limit=1000").json();
    assert_eq!(found["truncated"], true);
    let next = found["next"].as_u64().expect("more than a thousand pairs");
    let rest = format!("/api/memory/suggestions?limit=1000&before={next}");
    let rest = service.get(&rest).json();
    assert!(rest.get("next").is_none(), "{}", rest["next"]);
    let suggestions = rest["suggestions"].as_array().expect("an array");
    assert!(!suggestions.is_empty());
    assert!(suggestions.iter().all(|it| it["from"].as_u64() < Some(next)));
}

#[test]
fn what_is_out_of_range_is_a_problem_that_names_it() {
    let service = Service::start();
    service.get("/api/memory/suggestions?limit=0").field_problem("?limit");
    service.get("/api/memory/suggestions?limit=1001").field_problem("?limit");
    service.get("/api/memory/suggestions?id=0").field_problem("?id");
    service.get("/api/memory/suggestions?before=0").field_problem("?before");
    service.get("/api/memory/suggestions?before=7&id=7").field_problem("?before");
    service.get("/api/memory/suggestions?id=7").problem(404);
    let past_the_end = "/api/memory/suggestions?before=99999999999999999999";
    let told = service.get(past_the_end).field_problem("?before");
    assert!(told.contains("at most 9007199254740991 (2^53 - 1)"), "{told}");
}

#[test]
fn a_memory_of_another_space_is_not_missing() {
    let service = Service::start();
    let id = service.add("The port is 4747");
    let told = service.get(&format!("/api/memory/suggestions?id={id}&space=L")).problem(404);
    assert_eq!(told, format!("memory {id} is not in the space `L`"));
    // A token of that space learns nothing of it.
    let bound = service.new_token(&["memory:read"], Some("L"));
    let path = format!("/api/memory/suggestions?id={id}");
    let told = service.send("GET", &path, &bound, b"").problem(404);
    assert_eq!(told, format!("no memory {id}"));
}
