//! Searches that ask about a time.

use serde_json::{Value, json};

use crate::service::Service;

fn add(service: &Service, body: &Value) -> u64 {
    let answer = service.post("/api/memory/add", body);
    assert_eq!(answer.status, 201, "{body}: {}", answer.text());
    answer.json()["id"].as_u64().expect("an id")
}

fn found(service: &Service, body: &Value) -> Vec<u64> {
    let answer = service.post("/api/memory/search", body);
    assert_eq!(answer.status, 200, "{body}: {}", answer.text());
    let hits = answer.json();
    let hits = hits.as_array().expect("a bare array").iter();
    hits.map(|it| it["id"].as_u64().expect("an id")).collect()
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
