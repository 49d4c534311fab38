//! Searches that ask about a time.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use waypost_memory::{Draft, Lifespan, LinkKind, Store, StoreOptions};
use waypost_time::Timestamp;

use crate::client::Answer;
use crate::service::Service;
use crate::wait::until;

fn add(service: &Service, body: &Value) -> u64 {
    let answer = service.post("/api/memory/add", body);
    assert_eq!(answer.status, 201, "{body}: {}", answer.text());
    answer.json()["id"].as_u64().expect("an id")
}

fn patch(service: &Service, path: &str, body: &Value) -> Answer {
    service.send("PATCH", path, &service.token, body.to_string().as_bytes())
}

fn found(service: &Service, body: &Value) -> Vec<u64> {
    let answer = service.post("/api/memory/search", body);
    assert_eq!(answer.status, 200, "{body}: {}", answer.text());
    let hits = answer.json();
    let hits = hits.as_array().expect("a bare array").iter();
    hits.map(|hit| hit["id"].as_u64().expect("an id")).collect()
}

#[test]
fn a_question_has_a_time_of_its_own() {
    let service = Service::start();
    let at =
        |content: &str, time: &str| add(&service, &json!({"content": content, "createdAt": time}));
    let march = at("The team discussed releases, one.", "2026-03-04T10:00:00Z");
    let april = at("The team discussed releases, two.", "2026-04-08T10:00:00Z");
    let asked =
        |now: &str| found(&service, &json!({"query": "releases discussed last week", "now": now}));
    assert_eq!(asked("2026-03-10T00:00:00Z"), [march, april]);
    assert_eq!(asked("2026-04-15T00:00:00Z"), [april, march]);
    // In UTC it is still Sunday, so that last week is the one before.
    assert_eq!(asked("2026-04-20T00:30:00+02:00"), [april, march]);
    for wrong in ["2026-02-30T00:00:00Z", "last week", "2026-03-10", ""] {
        let body = json!({"query": "releases", "now": wrong});
        let detail = service.post("/api/memory/search", &body).problem(422);
        assert!(detail.contains("now"), "{detail}");
    }
}

#[test]
fn a_memory_has_a_lifespan_that_can_be_changed() {
    let service = Service::start();
    let id = add(
        &service,
        &json!({"content": "Ada is on call", "validFrom": "2026-01-01T01:00:00+01:00",
            "validUntil": "2026-02-01T00:00:00Z", "expiresAt": "9999-12-31T23:59:59Z", "pinned": true}),
    );
    let path = format!("/api/memory/{id}");
    let memory = service.get(&path).json();
    assert_eq!(memory["validFrom"], "2026-01-01T00:00:00.000Z");
    assert_eq!(memory["expiresAt"], "9999-12-31T23:59:59.000Z");
    assert_eq!(memory["pinned"], true);
    let change = json!({"validFrom": null, "expiresAt": null, "pinned": false});
    let changed = patch(&service, &path, &change).json();
    assert_eq!(changed["validUntil"], "2026-02-01T00:00:00.000Z");
    for absent in ["validFrom", "expiresAt", "pinned"] {
        assert!(changed.get(absent).is_none(), "{changed}");
    }
    assert_eq!(patch(&service, &path, &json!({"pinned": true})).json()["pinned"], true);
    // Alone, and together with another field, null removes it, too.
    let unpinned = patch(&service, &path, &json!({"pinned": null}));
    assert_eq!(unpinned.status, 200, "{}", unpinned.text());
    assert!(unpinned.json().get("pinned").is_none(), "{}", unpinned.text());
    patch(&service, &path, &json!({"pinned": true}));
    let unpinned = patch(&service, &path, &json!({"pinned": null, "title": "Duty"})).json();
    assert!(unpinned.get("pinned").is_none() && unpinned["title"] == "Duty", "{unpinned}");
    let history = service.get(&format!("{path}/history")).json();
    assert_eq!(history[0]["memory"]["pinned"], true);
    assert_eq!(history[0]["memory"]["validFrom"], "2026-01-01T00:00:00.000Z");
    for (field, body) in [
        (
            "validUntil",
            json!({"content": "x", "validFrom": "2026-01-01T00:00:00Z", "validUntil": "2026-01-01T00:00:00Z"}),
        ),
        ("expiresAt", json!({"content": "x", "expiresAt": "2020-01-01T00:00:00Z"})),
        ("expiresAt", json!({"content": "x", "expiresAt": "2026-02-30T00:00:00Z"})),
        ("validFrom", json!({"content": "x", "validFrom": "10000-01-01T00:00:00Z"})),
        ("pinned", json!({"content": "x", "pinned": "yes"})),
    ] {
        let detail = service.post("/api/memory/add", &body).problem(422);
        assert!(detail.contains(field), "{detail}");
    }
}

#[test]
fn an_expired_memory_is_gone_for_everybody() {
    let service = Service::start();
    let older = add(&service, &json!({"content": "an old dog"}));
    let fox = service.add("a red fox");
    let newer = add(&service, &json!({"content": "a grey fox"}));
    for from in [older, fox] {
        let link = json!({"from": from, "to": newer, "type": "updates"});
        assert_eq!(service.post("/api/memory/link", &link).status, 201);
    }
    let path = format!("/api/memory/{fox}");
    until(|| {
        let soon = Timestamp::from(SystemTime::now()).saturating_add(Duration::from_secs(1));
        let answer = patch(&service, &path, &json!({"expiresAt": soon.to_string()}));
        if answer.status == 200 { Ok(()) } else { Err(answer.text()) }
    });
    until(|| match service.get(&path).status {
        404 => Ok(()),
        status => Err(format!("the memory has not expired: {status}")),
    });
    // What it hid, another one that updates the same memory, is the newest again, and is found with it.
    assert_eq!(found(&service, &json!({"query": "fox"})), [older, newer]);
    assert_eq!(service.get("/api/memory").json().as_array().map(Vec::len), Some(2));
    assert_eq!(service.get(&format!("/api/memory/{newer}")).json()["supersededBy"], older);
    let links = service.get(&format!("/api/memory/{newer}/links")).json();
    assert_eq!((links[0]["from"].as_u64(), links.as_array().map(Vec::len)), (Some(older), Some(1)));
    let link = json!({"from": newer, "to": fox, "type": "related_to"});
    service.post("/api/memory/link", &link).problem(404);
    patch(&service, &path, &json!({"title": "x"})).problem(404);
    service.delete(&path).problem(404);
    until(|| {
        let history = service.get(&format!("{path}/history")).json();
        let last = history.as_array().and_then(|array| array.last()).expect("versions");
        if last["change"] == "deleted" { Ok(()) } else { Err(format!("it is kept: {last}")) }
    });
    assert_eq!(service.get("/api/memory/status").json()["memories"], 2);
}

#[test]
fn pinned_memories_are_listed_alone_and_come_first_in_a_context() {
    let service = Service::start();
    let plain = add(&service, &json!({"content": "The port is 4747"}));
    let pinned = add(&service, &json!({"content": "Always answer in French", "pinned": true}));
    let elsewhere = json!({"content": "Always answer in Latin", "pinned": true, "space": "other"});
    add(&service, &elsewhere);
    let list = |query: &str| {
        let list = service.get(&format!("/api/memory?space=default&{query}")).json();
        let ids = list.as_array().expect("an array").iter().map(|array| array["id"].clone());
        ids.collect::<Vec<_>>()
    };
    assert_eq!(list(""), [json!(plain), json!(pinned)]);
    assert_eq!(list("pinned=true"), [json!(pinned)]);
    assert_eq!(list("pinned=false"), [json!(plain)]);
    let bound = service.new_token(&["memory:read", "context:read"], Some("default"));
    for query in ["which port is it", ""] {
        let body = json!({"query": query, "sources": ["memory"]}).to_string();
        let answer = service.send("POST", "/api/context", &bound, body.as_bytes()).json();
        let items = answer["items"].as_array().expect("items");
        assert_eq!(items[0]["content"], "Always answer in French", "{answer}");
        assert_eq!(items[0]["why"], json!(["pinned"]));
        assert_eq!(items.len(), if query.is_empty() { 1 } else { 2 });
    }
}

#[test]
fn a_search_of_the_past_names_what_has_expired_since_to_every_token() {
    let service = Service::start();
    let bound = service.new_token(&["memory:read"], Some("default"));
    let service = service.stopped();
    let time = |text: &str| text.parse::<Timestamp>().expect("a time");
    let then = time("2020-01-01T00:00:00Z");
    // Started more than a day after the last change, the service deletes nothing for a day.
    let data = service.folder.path().join(".waypost/data");
    let (store, _) = Store::open(&data, StoreOptions::default()).expect("it opens");
    let lifespan = Lifespan::default().with_expires_at(time("2021-01-01T00:00:00Z"));
    let newer = Draft::new("the port is 4747").with_lifespan(lifespan);
    let drafts = [Draft::new("the port is 4000"), newer];
    let [old, new] = drafts.map(|draft| store.add(draft, then).expect("an add").into_memory().id);
    for kind in [LinkKind::Updates, LinkKind::Contradicts] {
        store.link(new, old, kind, then).expect("a link");
    }
    store.close().expect("a clean close");
    let service = service.restart();
    for token in [&service.token, &bound] {
        let body = json!({"query": "4000", "asOf": then.to_string(), "explain": true}).to_string();
        let answer = service.send("POST", "/api/memory/search", token, body.as_bytes()).json();
        let hit =
            answer.as_array().and_then(|array| array.iter().find(|value| value["id"] == old.get()));
        let hit = hit.unwrap_or_else(|| panic!("{answer}"));
        assert_eq!((&hit["supersededBy"], &hit["contradicts"]), (&json!(2), &json!([2])));
        assert_eq!(hit["links"].as_array().map(Vec::len), Some(2), "{hit}");
        // Today it is hidden.
        let now = service.send("POST", "/api/memory/search", token, br#"{"query": "4000"}"#).json();
        assert!(now[0].get("supersededBy").is_none() && now[1].is_null(), "{now}");
    }
}

#[test]
fn a_search_of_the_past_stays_in_the_space_of_a_token() {
    let service = Service::start();
    let bound = service.new_token(&["memory:read"], Some("mine"));
    let mine = add(&service, &json!({"content": "my secret port", "space": "mine"}));
    let theirs = add(&service, &json!({"content": "their secret port", "space": "theirs"}));
    for (id, content) in [(mine, "my open gate"), (theirs, "their open gate")] {
        let answer = patch(&service, &format!("/api/memory/{id}"), &json!({"content": content}));
        assert_eq!(answer.status, 200);
    }
    let history = service.get(&format!("/api/memory/{theirs}/history")).json();
    let then = history[0]["changedAt"].as_str().expect("a time").to_owned();
    service.delete(&format!("/api/memory/{mine}"));
    service.delete(&format!("/api/memory/{theirs}"));
    let search = |token: &str, body: &Value| {
        service.send("POST", "/api/memory/search", token, body.to_string().as_bytes())
    };
    let past = json!({"query": "secret port", "asOf": then, "validAt": then});
    let contents = |answer: &Answer| {
        let hits = answer.json();
        let hits = hits.as_array().expect("an array").iter();
        let mut contents: Vec<String> = hits.map(|hit| hit["content"].to_string()).collect();
        contents.sort();
        contents
    };
    let whole = search(&service.token, &past);
    assert_eq!(contents(&whole), ["\"my secret port\"", "\"their secret port\""]);
    assert_eq!(whole.header("waypost-search-mode"), Some("lexical"));
    assert_eq!(whole.header("waypost-forgotten"), Some("0"));
    assert_eq!(contents(&search(&bound, &past)), ["\"my secret port\""]);
    let elsewhere = json!({"query": "secret", "asOf": then, "space": "theirs"});
    search(&bound, &elsewhere).problem(403);
    assert_eq!(service.post("/api/memory/compact", &json!({})).status, 200);
    assert_eq!(search(&service.token, &past).header("waypost-forgotten"), Some("2"));
    let after = search(&bound, &past);
    assert_eq!((after.json(), after.header("waypost-forgotten")), (json!([]), Some("1")));
    let now = search(&service.token, &json!({"query": "port"}));
    assert_eq!(now.header("waypost-forgotten"), None);
    for (field, body) in [
        ("mode", json!({"query": "x", "asOf": then, "mode": "semantic"})),
        ("asOf", json!({"query": "x", "asOf": "2026-02-30T00:00:00Z"})),
        ("validAt", json!({"query": "x", "validAt": 7})),
        ("recency", json!({"query": "x", "recency": "yes"})),
    ] {
        let detail = service.post("/api/memory/search", &body).problem(422);
        assert!(detail.contains(field), "{detail}");
    }
}

#[test]
fn a_search_as_of_a_time_to_come_finds_what_is_known_now() {
    let service = Service::start();
    let body = json!({"content": "the sale has begun", "expiresAt": "2900-01-01T00:00:00Z"});
    let id = add(&service, &body);
    for time in ["2899-12-31T23:59:59Z", "2900-01-01T00:00:00Z", "9999-12-31T23:59:59Z"] {
        let found = found(&service, &json!({"query": "sale", "asOf": time}));
        assert_eq!(found, [id], "{time}");
    }
}
