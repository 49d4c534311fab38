//! What operators see.

use std::collections::BTreeSet;

use serde_json::json;

use crate::client::raw;
use crate::service::Service;

#[test]
fn status_counts_what_is_there() {
    let service = Service::start();
    let first = service.add("one");
    let sent = json!({"content": "two", "type": "fact", "space": "other"});
    let second = service.post("/api/memory/add", &sent).json()["id"].clone();
    service.post("/api/memory/link", &json!({"from": first, "to": second, "type": "part_of"}));
    let status = service.get("/api/memory/status").json();
    assert_eq!(status["memories"], 2);
    assert_eq!(status["byType"], json!({"fact": 1, "note": 1}));
    assert_eq!(status["bySpace"], json!({"default": 1, "other": 1}));
    assert_eq!((&status["links"], &status["embedded"]), (&json!(1), &json!(0)));
    assert_eq!(status["pendingEmbeddings"], 2);
    assert_eq!(status["index"]["documents"], 2);
    assert!(status["storageBytes"].as_u64() > Some(0));
    assert!(status["version"].is_string() && status["uptimeSeconds"].is_u64());
    assert_eq!(status["status"], "degraded");
    assert_eq!(status["model"]["state"], "off");
    assert!(status["remedy"].as_str().expect("a remedy").contains("model"));
}

#[test]
fn a_model_that_cannot_be_had_degrades_and_says_what_to_do() {
    let service = Service::start_with(|it| {
        it.model.model = waypost_project::Model::Named("all-MiniLM-L6-v2".to_owned());
    });
    let status = loop {
        let status = service.get("/api/memory/status").json();
        if status["model"]["state"] == "missing" {
            break status;
        }
    };
    assert_eq!(status["status"], "degraded");
    let remedy = status["remedy"].as_str().expect("a remedy");
    assert!(remedy.contains("ctl model"), "{remedy}");
    let folder = service.folder.path().to_string_lossy().into_owned();
    assert!(!status.to_string().contains(&folder), "a path of the server is told");
    let id = service.add("found by its words");
    let hits = service.post("/api/memory/search", &json!({"query": "words"})).json();
    assert_eq!(hits[0]["id"], id);
}

#[test]
fn health_readiness_and_the_description_need_no_token() {
    let service = Service::start();
    let open = |path: &str| {
        let head = format!(
            "GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n",
            service.address
        );
        raw(service.address, head.as_bytes())
    };
    assert_eq!(open("/healthz").json(), json!({"status": "ok"}));
    assert_eq!(open("/readyz").json(), json!({"status": "ready"}));
    let description = open("/openapi.json").json();
    assert!(description["openapi"].as_str().is_some_and(|it| it.starts_with("3.")));

    service.add("counted");
    service.get("/api/memory/1");
    service.get("/api/memory/2");
    service.get("/a/path/of/a/client");
    // Over the network, any user of this machine could request it.
    open("/metrics").problem(401);
    let metrics = service.get("/metrics");
    assert!(metrics.header("content-type").is_some_and(|it| it.starts_with("text/plain")));
    let metrics = metrics.text();
    for line in [
        "waypost_http_requests_total{method=\"POST\",route=\"/api/memory/add\",status=\"201\"} 1",
        "waypost_http_requests_total{method=\"GET\",route=\"/api/memory/{id}\",status=\"200\"} 1",
        "waypost_http_requests_total{method=\"GET\",route=\"/api/memory/{id}\",status=\"404\"} 1",
        "waypost_http_requests_total{method=\"GET\",route=\"unmatched\",status=\"404\"} 1",
        "waypost_http_request_duration_seconds_count{method=\"POST\",route=\"/api/memory/add\"} 1",
        "waypost_memories 1",
        "waypost_queue_writes 0",
        "waypost_model_ready 0",
    ] {
        assert!(metrics.lines().any(|it| it == line), "{line} is not in\n{metrics}");
    }
    assert_follows_conventions(&metrics);
    assert!(!metrics.contains("/a/path/of/a/client"));
}

#[test]
fn metrics_are_for_the_socket_and_for_readers_of_all_spaces() {
    let service = Service::start();
    let with = |scopes: &[&str], space: Option<&str>| {
        let token = service.new_token(scopes, space);
        service.send("GET", "/metrics", &token, b"")
    };
    assert_eq!(with(&["memory:read"], None).status, 200);
    assert!(with(&["events:read", "events:publish"], None).problem(403).contains("memory:read"));
    assert!(with(&["memory:read"], Some("team")).problem(403).contains("all spaces"));
}

#[test]
fn every_route_of_the_description_is_served_and_every_served_one_described() {
    let service = Service::start();
    let description = service.get("/openapi.json").json();
    let paths = description["paths"].as_object().expect("paths");
    for (path, operations) in paths {
        let concrete = path.replace("{id}", "1");
        let described: Vec<String> = operations
            .as_object()
            .expect("operations")
            .keys()
            .map(|key| key.to_uppercase())
            .filter(|method| ["GET", "POST", "PATCH", "DELETE", "PUT"].contains(&method.as_str()))
            .collect();
        let answer = service.send("FOO", &concrete, &service.token, b"");
        answer.problem(405);
        let allow = answer.header("allow").expect("Allow").replace("HEAD", "");
        let mut allowed: Vec<String> =
            allow.split(',').map(str::to_owned).filter(|part| !part.is_empty()).collect();
        let mut described = described;
        allowed.sort();
        described.sort();
        assert_eq!(allowed, described, "{path}");
    }
    let routes: BTreeSet<&str> = waypost_api::routes::ROUTES.iter().map(|it| it.path).collect();
    let described: BTreeSet<&str> = paths.keys().map(String::as_str).collect();
    assert_eq!(described, routes);
}

#[test]
fn no_response_contains_a_path_or_a_token_of_the_server() {
    let service = Service::start();
    let folder = service.folder.path().to_string_lossy().into_owned();
    let mut answers = vec![
        service.get("/api/memory/7").text(),
        service.get("/nothing").text(),
        service.get("/api/memory/status").text(),
        service.get("/metrics").text(),
        service.post("/api/memory/index", &json!({})).text(),
        service.post("/api/memory/add", &json!({"content": 1})).text(),
    ];
    // The store's folder is removed while the service runs.
    std::fs::remove_dir_all(service.folder.path().join(".waypost/data")).expect("it is there");
    answers.push(service.post("/api/memory/compact", &json!(null)).text());
    answers.push(service.post("/api/tokens", &json!({"scopes": ["admin"]})).text());
    for answer in answers {
        assert!(!answer.contains(&folder) && !answer.contains(&service.token), "{answer}");
    }
}

/// Each metric has a help and a type, counters end in `_total`, and the metrics for operators
/// exist.
#[track_caller]
fn assert_follows_conventions(metrics: &str) {
    let value = |name: &str| -> f64 {
        let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{name} is not in\n{metrics}")).parse().expect("a number")
    };
    assert!(value("process_cpu_seconds_total") >= 0.0);
    assert!(value("process_resident_memory_bytes") > 1_000_000.0);
    assert!(value("process_open_fds") > 3.0);
    assert!(value("process_start_time_seconds") > 1_700_000_000.0);
    assert!(value("waypost_disk_free_bytes") > 0.0 && value("waypost_storage_bytes") > 0.0);
    assert!(value("waypost_sync_duration_seconds_count") >= 1.0);
    assert_eq!(value("waypost_write_fault"), 0.0);
    let version = format!("waypost_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"));
    assert_eq!(value(&version), 1.0);
    for reason in ["missing", "malformed", "unknown", "expired", "revoked", "unavailable"] {
        assert!(value(&format!("waypost_auth_failures_total{{reason=\"{reason}\"}}")) >= 0.0);
    }
    for state in ["succeeded", "failed", "skipped", "cancelled"] {
        let name = format!("waypost_flow_runs_ended_total{{state=\"{state}\"}}");
        assert_eq!(value(&name), 0.0);
    }
    assert!(metrics.contains("le=\"60\""));
    for line in metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = line.split_once(' ').expect("a name and a type");
        assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
        assert!(name.starts_with("waypost_") || name.starts_with("process_"), "{line}");
        assert!(metrics.contains(&format!("# HELP {name} ")), "{name}");
    }
}
