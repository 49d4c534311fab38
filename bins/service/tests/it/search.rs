//! Searching.

use serde_json::{Value, json};

use crate::client::Answer;
use crate::service::Service;

fn search(service: &Service, body: &Value) -> Answer {
    let answer = service.post("/api/memory/search", body);
    assert_eq!(answer.status, 200, "{body}: {}", answer.text());
    answer
}

fn ids(answer: &Answer) -> Vec<u64> {
    let hits = answer.json();
    let hits = hits.as_array().expect("a bare array").iter();
    hits.map(|hit| hit["id"].as_u64().expect("an id")).collect()
}

#[test]
fn a_memory_is_found_by_its_words_at_once() {
    let service = Service::start();
    let port = service.add("The service listens on port 4747");
    service.add("Lunch is at noon");
    let answer = search(&service, &json!({"query": "which port does it listen on"}));
    assert_eq!(answer.header("waypost-search-mode"), Some("lexical"));
    let hits = answer.json();
    assert_eq!(hits[0]["id"], port);
    let score = hits[0]["score"].as_f64().expect("a score");
    assert!(score > 0.0 && score <= 1.0, "{score}");
    assert_eq!(hits[0]["content"], "The service listens on port 4747");
    let answerable: f64 =
        answer.header("waypost-answerable").expect("it").parse().expect("a number");
    assert!((answerable - score).abs() < 0.001, "{answerable} is the best score");
    assert!(hits[0].get("scores").is_none() && hits[0].get("links").is_none());
    let nothing = search(&service, &json!({"query": "zebra"}));
    assert_eq!(nothing.header("waypost-answerable"), Some("0.000"));
    assert_eq!(nothing.json(), json!([]));
}

#[test]
fn a_query_of_stop_words_finds_only_texts_without_other_words_and_says_so() {
    let service = Service::start();
    let band = service.add("The Who played in the harbour");
    let quote = service.add("To be, or not to be");
    for (query, found, said) in [
        ("The Who", vec![], Some("only")),
        ("the", vec![], Some("only")),
        ("to be or not to be", vec![quote], Some("only")),
        ("the harbour", vec![band], None),
    ] {
        let answer = search(&service, &json!({"query": query}));
        assert_eq!((ids(&answer), answer.header("waypost-stop-words")), (found, said), "{query}");
    }
}

#[test]
fn a_threshold_is_set_once_and_a_search_may_have_its_own() {
    let service = Service::start_with(|it| it.min_score = 1.0);
    let port = service.add("The service listens on port 4747");
    let found = search(&service, &json!({"query": "port"}));
    assert_eq!(found.json(), json!([]));
    let answerable: f64 = found.header("waypost-answerable").expect("it").parse().expect("one");
    assert!(answerable > 0.0);
    let all = search(&service, &json!({"query": "port", "minScore": 0}));
    assert_eq!(ids(&all), [port]);
}

#[test]
fn filters_limits_and_times_narrow_the_search() {
    let service = Service::start();
    let add =
        |body: Value| service.post("/api/memory/add", &body).json()["id"].as_u64().expect("an id");
    let old = add(json!({"content": "apple old", "type": "fact", "tags": ["red", "old"],
        "createdAt": "2020-01-01T00:00:00Z"}));
    let new = add(json!({"content": "apple new", "tags": ["red"],
        "createdAt": "2024-01-01T00:00:00Z"}));
    let other = add(json!({"content": "apple elsewhere", "space": "other",
        "createdAt": "2024-01-01T00:00:00Z"}));
    let found = |body: Value| {
        let mut found = ids(&search(&service, &body));
        found.sort_unstable();
        found
    };
    assert_eq!(found(json!({"query": "apple"})), [old, new, other]);
    assert_eq!(found(json!({"query": "apple", "type": "fact"})), [old]);
    assert_eq!(
        found(json!({"query": "apple", "type": ["fact", "note"], "space": "default"})),
        [old, new]
    );
    assert_eq!(found(json!({"query": "apple", "tags": ["old", "red"]})), [old]);
    assert_eq!(found(json!({"query": "apple", "space": "other"})), [other]);
    assert_eq!(found(json!({"query": "apple", "since": "2024-01-01T00:00:00Z"})), [new, other]);
    assert_eq!(found(json!({"query": "apple", "until": "2024-01-01T00:00:00Z"})), [old]);
    assert_eq!(found(json!({"query": "apple", "limit": 1})).len(), 1);
    assert_eq!(found(json!({"query": "apple", "limit": 1000})).len(), 3);
}

#[test]
fn an_explained_hit_tells_its_signals_and_terms() {
    let service = Service::start();
    let id = service.add("The lighthouse keeper tends the light");
    let hit = search(&service, &json!({"query": "lighthouse", "explain": true})).json()[0].clone();
    assert_eq!(hit["id"], id);
    let signals = hit["scores"]["signals"].as_array().expect("signals");
    assert!(signals.iter().all(|it| it["value"].is_number() && it["weight"].is_number()));
    assert!(!signals.is_empty());
    assert!(hit["scores"]["terms"].as_array().is_some_and(|it| it.len() == 1));
    assert_eq!(hit["links"], json!([]));
}

#[test]
fn the_same_search_gives_the_same_bytes_also_after_a_restart() {
    let service = Service::start();
    for number in 0..50 {
        service.add(&format!("note {number} about trees and rivers and stones {}", number % 7));
    }
    let body = json!({"query": "rivers and trees 3", "limit": 20, "explain": true});
    let first = search(&service, &body).body;
    for _ in 0..5 {
        assert_eq!(search(&service, &body).body, first);
    }
    assert_eq!(service.post("/api/memory/index", &json!({})).status, 200);
    assert_eq!(search(&service, &body).body, first);
    let service = service.restart();
    assert_eq!(search(&service, &body).body, first);
}

#[test]
fn odd_queries_are_answered() {
    let service = Service::start();
    service.add("C++ and \"quotes\" AND (brackets)");
    for query in [
        "the and of",
        "🦀🦀",
        "\"unclosed",
        "AND OR NOT (",
        "+-!(){}[]^~*?:\\/",
        "a\tb\nc",
        "'; DROP",
    ] {
        search(&service, &json!({"query": query}));
    }
    search(&service, &json!({"query": "x ".repeat(4096)}));
}

#[test]
fn meaning_alone_without_a_model_says_what_to_do() {
    let service = Service::start();
    let body = json!({"query": "x", "mode": "semantic"});
    let detail = service.post("/api/memory/search", &body).problem(503);
    assert!(detail.contains("model"), "{detail}");
}

#[test]
fn a_superseded_memory_ranks_below_its_successor_and_is_marked() {
    let service = Service::start();
    let old = service.add("the deploy key is in the vault vault");
    let new = service.add("the deploy key is in the new safe");
    let link = json!({"from": new, "to": old, "type": "updates"});
    assert_eq!(service.post("/api/memory/link", &link).status, 201);
    let answer = search(&service, &json!({"query": "deploy key vault"}));
    assert_eq!(ids(&answer), [new, old]);
    assert_eq!(answer.json()[1]["supersededBy"], new);
    assert!(answer.json()[0].get("supersededBy").is_none());
    let all = search(&service, &json!({"query": "deploy key vault", "includeSuperseded": true}));
    assert_eq!(ids(&all), [old, new]);
}

#[test]
fn filters_by_tags_and_metadata_hold_for_searches_lists_and_the_past() {
    let service = Service::start();
    let add =
        |body: Value| service.post("/api/memory/add", &body).json()["id"].as_u64().expect("an id");
    let wiki = add(json!({"content": "apple one", "tags": ["red"],
        "metadata": {"source": "wiki", "priority": 2, "seen": "2026-03-01T01:00:00+01:00"}}));
    let mail = add(json!({"content": "apple two", "tags": ["green"],
        "metadata": {"source": "mail", "priority": 3.5, "open": true}}));
    let plain = add(json!({"content": "apple three", "space": "other"}));
    let found = |filter: Value| {
        let mut body = json!({"query": "apple"});
        let fields = filter.as_object().expect("an object");
        body.as_object_mut().expect("an object").extend(fields.clone());
        let mut found = ids(&search(&service, &body));
        body["asOf"] = json!("9999-01-01T00:00:00Z");
        let mut past = ids(&search(&service, &body));
        found.sort_unstable();
        past.sort_unstable();
        assert_eq!(found, past, "{body}");
        let pairs = fields.iter().flat_map(|(name, value)| match value {
            Value::Array(all) => all.iter().map(|item| (name, item.clone())).collect(),
            value => vec![(name, value.clone())],
        });
        let pairs = pairs.map(|(name, value)| {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let encode = |text: String, it| text + &format!("%{it:02X}");
            format!("{name}={}", value.bytes().fold(String::new(), encode))
        });
        let query = pairs.collect::<Vec<_>>().join("&");
        let list = service.get(&format!("/api/memory?{query}"));
        assert_eq!(list.status, 200, "{query}: {}", list.text());
        assert_eq!(ids(&list), found, "{query}");
        found
    };
    assert_eq!(found(json!({})), [wiki, mail, plain]);
    assert_eq!(found(json!({"tagsAny": ["red", "green"]})), [wiki, mail]);
    assert_eq!(found(json!({"tagsAny": ["red", "blue"], "tags": ["red"]})), [wiki]);
    assert_eq!(found(json!({"metadata": {"source": "wiki"}})), [wiki]);
    assert_eq!(found(json!({"metadata": {"source": ["wiki", "mail"]}})), [wiki, mail]);
    assert_eq!(found(json!({"metadata": {"priority": {"gte": 2, "lte": 3}}})), [wiki]);
    assert_eq!(found(json!({"metadata": {"priority": 2.0}})), [wiki]);
    assert_eq!(found(json!({"metadata": {"open": true, "priority": {"gte": 3.5}}})), [mail]);
    assert_eq!(found(json!({"metadata": {"open": "true"}})), Vec::<u64>::new());
    assert_eq!(found(json!({"metadata": {"seen": {"lte": "2026-03-01T00:00:00Z"}}})), [wiki]);
    let wrong = json!({"query": "apple", "metadata": {"priority": {"gt": 2}}});
    let detail = service.post("/api/memory/search", &wrong).problem(422);
    assert!(
        detail.contains("metadata/priority/gt: unknown field; did you mean `gte`?"),
        "{detail}"
    );
    // Numbers that a float does not tell apart are compared exactly, also by the store's own check.
    let beyond = json!({"gte": 9_007_199_254_740_993_u64, "lte": 9_007_199_254_740_992_u64});
    let wrong = json!({"query": "apple", "metadata": {"priority": beyond}});
    service.post("/api/memory/search", &wrong).problem(422);
    let bound = service.new_token(&["memory:read"], Some("other"));
    let body = json!({"query": "apple", "metadata": {"source": "wiki"}}).to_string();
    let hidden = service.send("POST", "/api/memory/search", &bound, body.as_bytes());
    assert_eq!(hidden.json(), json!([]));
    let list = service.send("GET", "/api/memory?tagsAny=red", &bound, b"");
    assert_eq!(list.json(), json!([]));
}

#[test]
fn the_newest_memories_are_listed_first_in_pages() {
    let service = Service::start();
    for (content, time) in [("b", "2024-01-02"), ("a", "2024-01-01"), ("c", "2024-01-02")] {
        let body = json!({"content": content, "createdAt": format!("{time}T00:00:00Z")});
        assert_eq!(service.post("/api/memory/add", &body).status, 201);
    }
    let mut next = Some("/api/memory?order=newest&limit=1&type=note".to_owned());
    let mut listed = Vec::new();
    while let Some(path) = next {
        let page = service.get(&path);
        listed.extend(ids(&page));
        // A memory that is newer than the place of the page moves nothing.
        service.add(&format!("newer {}", listed.len()));
        let link = page.header("link").map(str::to_owned);
        next = link.map(|link| link[1..link.find('>').expect("a target")].to_owned());
    }
    assert_eq!(listed, [3, 1, 2]);
    assert_eq!(ids(&service.get("/api/memory?limit=2")), [1, 2]);
    assert_eq!(ids(&service.get("/api/memory?order=id&limit=2")), [1, 2]);
    let detail = service.get("/api/memory?order=oldest").problem(422);
    assert!(detail.contains("`oldest` is not one of `id`, `newest`"), "{detail}");
    let unknown = service.get("/api/memory?order=newest&after=999");
    unknown.problem(422);
    assert_eq!(unknown.json()["errors"][0]["pointer"], "?after");
}

#[test]
fn memories_are_counted_by_filter() {
    let service = Service::start();
    let add = |body: Value| assert_eq!(service.post("/api/memory/add", &body).status, 201);
    add(json!({"content": "one", "type": "fact", "tags": ["a", "b"], "metadata": {"n": 1}}));
    add(json!({"content": "two", "tags": ["b"], "metadata": {"n": 2}}));
    add(json!({"content": "three", "space": "team", "metadata": {"n": 3}}));
    let count = |body: Value| {
        let answer = service.post("/api/memory/count", &body);
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    };
    assert_eq!(count(json!({})), json!({"count": 3}));
    assert_eq!(service.send("POST", "/api/memory/count", &service.token, b"").json()["count"], 3);
    assert_eq!(
        count(json!({"by": ["type", "tag", "space"]})),
        json!({"count": 3, "byType": {"fact": 1, "note": 2}, "byTag": {"a": 1, "b": 2},
            "bySpace": {"default": 2, "team": 1}})
    );
    let filter = json!({"metadata": {"n": {"gte": 2}}, "by": ["tag"]});
    assert_eq!(count(filter), json!({"count": 2, "byTag": {"b": 1}}));
    assert_eq!(count(json!({"tagsAny": ["a", "x"]})), json!({"count": 1}));
    assert_eq!(
        count(json!({"type": "unknown", "by": ["type"]})),
        json!({"count": 0, "byType": {}})
    );
    let detail = service.post("/api/memory/count", &json!({"by": ["kind"]})).problem(422);
    assert!(detail.contains("by/0"), "{detail}");
    let reader = service.new_token(&["memory:read"], None);
    assert_eq!(service.send("POST", "/api/memory/count", &reader, b"").status, 200);
    let writer = service.new_token(&["memory:write"], None);
    service.send("POST", "/api/memory/count", &writer, b"").problem(403);
    let tags =
        |from: usize| (from..from + 60).map(|number| format!("t{number:04}")).collect::<Vec<_>>();
    for number in 0..17 {
        add(json!({"content": format!("many {number}"), "tags": tags(number * 60)}));
    }
    let all = count(json!({"by": ["tag"]}));
    assert_eq!(all["byTag"].as_object().map(serde_json::Map::len), Some(1000));
    assert_eq!((&all["truncated"], &all["byTag"]["b"]), (&json!(true), &json!(2)));
}
