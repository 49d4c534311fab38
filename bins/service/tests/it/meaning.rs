//! With an embedding model: a tiny one with arbitrary weights, which runs like a real one.

use serde_json::{Value, json};
use tempfile::TempDir;
use waypost_project::Model;
use waypost_service::Options;

use crate::service::{Service, batch};
use crate::tiny;
use crate::wait::until;

fn model(seed: u64) -> TempDir {
    let folder = TempDir::new().expect("a temporary folder");
    tiny::write(folder.path(), &tiny::files(seed));
    folder
}

fn with(model: &TempDir) -> impl FnOnce(&mut Options) {
    let folder = model.path().to_owned();
    move |it| it.model.model = Model::Folder(folder)
}

/// Waits until every memory has its vector; returns the status.
fn embedded(service: &Service) -> Value {
    loop {
        let status = service.get("/api/memory/status").json();
        assert_ne!(status["model"]["state"], "missing", "{status}");
        if status["model"]["state"] == "ready" && status["pendingEmbeddings"] == 0 {
            return status;
        }
    }
}

#[test]
fn a_memory_is_embedded_in_the_background_and_then_found_by_meaning() {
    let model = model(1);
    let service = Service::start_with(with(&model));
    let id = service.add("a lighthouse keeper");
    service.add("an unrelated sentence");
    let status = embedded(&service);
    assert_eq!((&status["status"], &status["embedded"]), (&json!("ok"), &json!(2)));
    assert_eq!(status["model"]["dimensions"], tiny::DIMENSIONS);
    assert!(status.get("remedy").is_none());
    assert_eq!(service.get(&format!("/api/memory/{id}")).json()["embedded"], true);
    for (mode, told) in
        [(None, "hybrid"), (Some("semantic"), "semantic"), (Some("lexical"), "lexical")]
    {
        let body = json!({"query": "a lighthouse keeper", "mode": mode.unwrap_or("hybrid")});
        let answer = service.post("/api/memory/search", &body);
        assert_eq!(answer.header("waypost-search-mode"), Some(told));
        assert_eq!(answer.json()[0]["id"], id);
    }
    // A changed text needs a new vector, and gets it.
    let path = format!("/api/memory/{id}");
    service.send("PATCH", &path, &service.token, br#"{"content":"something else"}"#);
    embedded(&service);
    assert_eq!(service.get(&path).json()["embedded"], true);
    let metrics = service.get("/metrics").text();
    assert!(metrics.lines().any(|it| it == "waypost_embeddings_total 3"), "{metrics}");
}

#[test]
fn a_model_that_fails_on_a_text_is_named_in_the_status() {
    let model = model(1);
    let file = model.path().join("model.safetensors");
    let mut weights = std::fs::read(&file).expect("weights");
    let header = u64::from_le_bytes(*weights.first_chunk().expect("a length")) as usize;
    // The first number of the first tensor's row for the letter z.
    let z = 8 + header + (5 + 2 * 25) * tiny::DIMENSIONS * 4;
    weights[z..z + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    std::fs::write(&file, weights).expect("weights");
    let service = Service::start_with(with(&model));
    service.add("a lighthouse keeper");
    let id = service.add("z");
    let status = until(|| {
        let status = service.get("/api/memory/status").json();
        let is_told = status["remedy"].as_str().is_some_and(|text| text.contains("backfill"));
        if is_told { Ok(status) } else { Err(status) }
    });
    assert_eq!(status["status"], "degraded");
    assert_eq!(service.get(&format!("/api/memory/{id}")).json()["embedded"], false);
    // Once every memory has its vector, the status is ok.
    service.send("DELETE", &format!("/api/memory/{id}"), &service.token, b"");
    assert_eq!(embedded(&service)["status"], "ok");
}

#[test]
fn what_was_added_without_a_model_or_under_another_is_embedded_later() {
    let service = Service::start();
    let lines = batch(40, |it| format!("memory number {it}"));
    service.send("POST", "/api/memory/batch", &service.token, lines.as_bytes());
    assert_eq!(service.get("/api/memory/status").json()["pendingEmbeddings"], 40);
    let (first, second) = (model(1), model(2));
    let service = service.restart_with(with(&first));
    assert_eq!(embedded(&service)["embedded"], 40);
    let result = service.post("/api/memory/index", &json!({"backfill": true})).json();
    assert_eq!((&result["embedded"], &result["skipped"]), (&json!(0), &json!(40)));
    // Vectors of two models are not compared: all are computed again.
    let service = service.restart_with(with(&second));
    let status = embedded(&service);
    assert_eq!(status["embedded"], 40);
    let metrics = service.get("/metrics").text();
    assert!(metrics.lines().any(|it| it == "waypost_embeddings_total 40"), "{metrics}");
}

#[test]
fn a_damaged_model_is_told_and_search_goes_by_words() {
    let model = model(1);
    let weights = model.path().join("model.safetensors");
    let bytes = std::fs::read(&weights).expect("it is there");
    std::fs::write(&weights, &bytes[..bytes.len() / 2]).expect("it can be written");
    let service = Service::start_with(with(&model));
    let status = loop {
        let status = service.get("/api/memory/status").json();
        if status["model"]["state"] == "missing" {
            break status;
        }
    };
    assert!(status["remedy"].as_str().is_some_and(|it| it.contains("damaged")), "{status}");
    service.add("by words");
    let answer = service.post("/api/memory/search", &json!({"query": "words"}));
    assert_eq!(answer.header("waypost-search-mode"), Some("lexical"));
    assert_eq!(answer.json().as_array().map(Vec::len), Some(1));
}
