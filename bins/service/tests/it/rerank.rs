//! With a cross-encoder: a tiny one with arbitrary weights, which runs like a real one.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use waypost_service::{Options, RerankOptions};

use crate::client::Answer;
use crate::service::Service;
use crate::wait::until;

fn with(folder: &Path, budget: Duration) -> impl FnOnce(&mut Options) {
    let rerank = RerankOptions { folder: folder.to_owned(), budget, candidates: 32 };
    move |it| it.rerank = Some(rerank)
}

fn search(service: &Service, more: &Value) -> Answer {
    let mut body = json!({"query": "the keeper of the lighthouse"});
    body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    service.post("/api/memory/search", &body)
}

fn fill(service: &Service) {
    for text in ["the keeper sleeps", "the lighthouse of the north", "a keeper", "the lighthouse"] {
        service.add(text);
    }
}

/// Waits for this value of the header.
fn wait_for_rerank(service: &Service, expected: &str) {
    until(|| match search(service, &json!({})).header("waypost-rerank") {
        Some(told) if told == expected => Ok(()),
        told => Err(format!("Waypost-Rerank is {told:?}")),
    });
}

fn column(answer: &Answer, name: &str) -> Vec<Value> {
    answer.json().as_array().expect("an array").iter().map(|array| array[name].clone()).collect()
}

fn reference(family: &str) -> std::path::PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates");
    crates.join("embedding/tests/reference").join(family)
}

#[test]
fn a_cross_encoder_orders_the_hits_and_their_scores_stay_at_their_places() {
    let plain = Service::start();
    fill(&plain);
    let ranked = search(&plain, &json!({}));
    assert_eq!(ranked.header("waypost-rerank"), None);

    let service = Service::start_with(with(&reference("bert"), Duration::from_secs(60)));
    fill(&service);
    wait_for_rerank(&service, "applied");
    let reranked = search(&service, &json!({"explain": true}));
    assert_eq!(reranked.header("waypost-rerank"), Some("applied"));
    assert_eq!(column(&reranked, "score"), column(&ranked, "score"));
    assert_eq!(
        reranked.header("waypost-answerable"),
        ranked.header("waypost-answerable"),
        "the order does not change whether there is an answer"
    );
    let (mut before, mut after) = (column(&ranked, "id"), column(&reranked, "id"));
    assert_ne!(before, after, "random weights give another order");
    before.sort_by_key(Value::to_string);
    after.sort_by_key(Value::to_string);
    assert_eq!(before, after);
    let first = search(&service, &json!({"limit": 1}));
    assert_eq!(column(&first, "id")[0], column(&reranked, "id")[0], "all were candidates");

    let mut last = f64::INFINITY;
    for hit in reranked.json().as_array().expect("an array") {
        let signals = hit["scores"]["signals"].as_array().expect("signals");
        let own = signals.iter().find(|signal| signal["name"] == "rerank").expect("its signal");
        let value = own["value"].as_f64().expect("a value");
        assert!(value <= last, "{value} after {last}");
        last = value;
    }
}

#[test]
fn a_reranker_that_exceeds_its_budget_or_does_not_load_leaves_the_order() {
    let plain = Service::start();
    fill(&plain);
    let ranked = column(&search(&plain, &json!({})), "id");
    let folder = tempfile::TempDir::new().expect("a temporary folder");
    for (folder, budget) in [(reference("bert"), 0), (folder.path().to_owned(), 60)] {
        let service = Service::start_with(with(&folder, Duration::from_secs(budget)));
        fill(&service);
        wait_for_rerank(&service, "skipped");
        assert_eq!(column(&search(&service, &json!({})), "id"), ranked);
        assert_eq!(column(&search(&service, &json!({"limit": 2})), "id"), ranked[..2]);
    }
}
