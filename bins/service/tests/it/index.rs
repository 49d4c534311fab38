//! Rebuilding the index.

use serde_json::{Value, json};

use crate::service::{Service, batch, send};
use crate::wait::until;

#[test]
fn a_reindex_tells_what_it_did() {
    let service = Service::start();
    for number in 0..5 {
        service.add(&format!("memory {number}"));
    }
    for body in [json!({}), json!({"backfill": true})] {
        let result = service.post("/api/memory/index", &body).json();
        assert_eq!((&result["indexed"], &result["embedded"]), (&json!(5), &json!(0)));
        assert_eq!((&result["failed"], &result["skipped"]), (&json!(0), &json!(5)));
        assert!(result["durationMs"].is_u64());
    }
    let status = service.get("/api/memory/status").json();
    assert!(status["lastReindexAt"].is_string());
    assert_eq!(status["index"]["documents"], 5);
    let hits = service.post("/api/memory/search", &json!({"query": "memory 3", "limit": 1}));
    assert_eq!(hits.json()[0]["content"], "memory 3");
    service.post("/api/memory/index", &json!({"backfil": true})).field_problem("/backfil");
}

#[test]
fn progress_is_streamed_before_the_result() {
    let service = Service::start();
    let body: String = batch(500, |it| format!("memory {it}"));
    service.send("POST", "/api/memory/batch", &service.token, body.as_bytes());
    let headers = [("accept", "application/json;q=0.5, text/event-stream")];
    let path = "/api/memory/index";
    let answer = send(service.address, "POST", path, &service.token, &headers, b"{}");
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let text = answer.text();
    let events: Vec<(&str, Value)> = text
        .split_terminator("\n\n")
        .filter(|part| !part.starts_with(':'))
        .map(|part| {
            let (name, data) = part.split_once('\n').expect("two lines");
            let data = data.strip_prefix("data: ").expect("data");
            let name = name.strip_prefix("event: ").expect("a name");
            (name, serde_json::from_str(data).expect("JSON"))
        })
        .collect();
    let (last, progress) = events.split_last().expect("events");
    assert_eq!((last.0, &last.1["indexed"]), ("done", &json!(500)));
    assert!(!progress.is_empty());
    for (name, data) in progress {
        assert_eq!((*name, &data["phase"]), ("progress", &json!("index")));
        assert!(data["done"].as_u64() <= data["total"].as_u64());
    }
}

#[test]
fn compaction_takes_deleted_contents_off_the_disk() {
    let service = Service::start();
    let id = service.add("the launch code is 0451");
    service.delete(&format!("/api/memory/{id}"));
    let result = service.send("POST", "/api/memory/compact", &service.token, b"");
    assert_eq!(result.status, 200, "{}", result.text());
    assert!(result.json()["bytesBefore"].as_u64() >= result.json()["bytesAfter"].as_u64());
    let history = service.get(&format!("/api/memory/{id}/history")).text();
    assert!(!history.contains("0451"), "{history}");
}

/// The data of the `memory:added` events, once there are so many.
fn added(service: &Service, count: usize) -> Vec<Value> {
    until(|| {
        let events = service.get("/api/events?pattern=memory:added").json();
        let events = events.as_array().cloned().unwrap_or_default();
        let data: Vec<Value> = events.iter().map(|event| event["data"].clone()).collect();
        if data.len() >= count { Ok(data) } else { Err(format!("{data:?}")) }
    })
}

#[test]
fn compaction_erases_the_titles_of_purged_memories_from_their_events() {
    let service = Service::start();
    let (deleted, changed, kept) =
        (service.add("code 0451"), service.add("code 1234"), service.add("code 9999"));
    let before = added(&service, 3);
    assert_eq!(before[0]["title"], "code 0451");
    service.delete(&format!("/api/memory/{deleted}"));
    let patch = json!({"content": "changed"});
    let path = format!("/api/memory/{changed}");
    let patched = service.send("PATCH", &path, &service.token, patch.to_string().as_bytes());
    assert_eq!(patched.status, 200, "{}", patched.text());
    for _ in 0..2 {
        assert_eq!(service.post("/api/memory/compact", &json!({"versions": 1})).status, 200);
        let after = added(&service, 3);
        let erased =
            |id: u64| json!({"id": id, "type": "note", "space": "default", "erased": "true"});
        assert_eq!(after, [erased(deleted), erased(changed), before[2].clone()]);
    }
    assert_eq!(before[2]["id"], kept);
    let mut folders = vec![service.folder.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.is_file() {
                let bytes = std::fs::read(&path).expect("a file");
                let has = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
                assert!(!has(b"code 0451") && !has(b"code 1234"), "{}", path.display());
            }
        }
    }
}

#[test]
fn compaction_keeps_as_many_versions_as_it_is_told() {
    let service = Service::start();
    let path = format!("/api/memory/{}", service.add("the first code is 0451"));
    for code in ["0452", "0453"] {
        let body = json!({"content": format!("the code is {code}")}).to_string();
        service.send("PATCH", &path, &service.token, body.as_bytes());
    }
    let refused = service.post("/api/memory/compact", &json!({"versions": 0}));
    assert_eq!(
        (refused.status, &refused.json()["errors"][0]["pointer"]),
        (422, &json!("/versions"))
    );
    let result = service.post("/api/memory/compact", &json!({"versions": 2}));
    assert_eq!(result.json()["purgedVersions"], 1, "{}", result.text());
    let history = service.get(&format!("{path}/history")).json();
    let content = |version: usize| &history[version]["memory"]["content"];
    assert!(content(0).is_null(), "{history}");
    assert_eq!((content(1), content(2)), (&json!("the code is 0452"), &json!("the code is 0453")));
}

#[test]
fn a_second_reindex_while_one_runs_is_409_and_searches_go_on() {
    let service = Service::start();
    let lines = batch(3000, |it| format!("memory {it} of many"));
    service.send("POST", "/api/memory/batch", &service.token, lines.as_bytes());
    until(|| {
        let mut statuses = Vec::new();
        std::thread::scope(|scope| {
            let index = || service.post("/api/memory/index", &json!({}));
            let running: Vec<_> = (0..4).map(|_| scope.spawn(index)).collect();
            let hits = service.post("/api/memory/search", &json!({"query": "memory 77"}));
            assert_eq!(hits.json()[0]["content"], "memory 77 of many");
            for answer in running.into_iter().map(|running| running.join().expect("no panic")) {
                if answer.status != 200 {
                    answer.problem(409);
                }
                statuses.push(answer.status);
            }
        });
        assert!(statuses.contains(&200));
        statuses.contains(&409).then_some(()).ok_or("each was done before the next began")
    });
}
