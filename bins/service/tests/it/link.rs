//! Typed edges.

use serde_json::json;

use crate::service::Service;

const LINK: &str = "/api/memory/link";

#[test]
fn a_link_is_made_once_listed_from_both_ends_and_removed() {
    let service = Service::start();
    let (a, b) = (service.add("a"), service.add("b"));
    for kind in ["updates", "contradicts", "related_to", "caused_by", "part_of"] {
        let body = json!({"from": a, "to": b, "type": kind});
        let first = service.post(LINK, &body);
        assert_eq!(first.status, 201, "{}", first.text());
        let link = first.json();
        assert_eq!(
            (&link["from"], &link["to"], &link["type"]),
            (&json!(a), &json!(b), &json!(kind))
        );
        let again = service.post(LINK, &body);
        assert_eq!((again.status, again.json()), (200, link));
    }
    for id in [a, b] {
        let links = service.get(&format!("/api/memory/{id}/links")).json();
        assert_eq!(links.as_array().map(Vec::len), Some(5));
    }
    let removed = service.delete(&format!("{LINK}?from={a}&to={b}&type=updates"));
    assert_eq!(removed.status, 204);
    service.delete(&format!("{LINK}?from={a}&to={b}&type=updates")).problem(404);
    let body = json!({"from": a, "to": b, "type": "part_of"}).to_string();
    assert_eq!(service.send("DELETE", LINK, &service.token, body.as_bytes()).status, 204);
    let links = service.get(&format!("/api/memory/{a}/links")).json();
    assert_eq!(links.as_array().map(Vec::len), Some(3));
}

#[test]
fn a_wrong_link_is_refused() {
    let service = Service::start();
    let a = service.add("a");
    let link = |from: serde_json::Value, to: serde_json::Value| {
        service.post(LINK, &json!({"from": from, "to": to, "type": "related_to"}))
    };
    assert!(link(json!(a), json!(77)).problem(404).contains("77"));
    assert!(link(json!(78), json!(a)).problem(404).contains("78"));
    link(json!(a), json!(a)).problem(422);
    link(json!(-1), json!(a)).field_problem("/from");
    link(json!(1.5), json!(a)).field_problem("/from");
    link(json!(a), json!(9_007_199_254_740_992_u64)).field_problem("/to");
    link(json!(a), json!("2")).field_problem("/to");
    let body = json!({"from": a, "to": a, "type": "likes"});
    service.post(LINK, &body).field_problem("/type");
    service.get(&format!("/api/memory/{a}/links?depth=0")).field_problem("?depth");
    service.get(&format!("/api/memory/{a}/links?depth=99")).field_problem("?depth");
}

#[test]
fn a_walk_goes_breadth_first_through_cycles() {
    let service = Service::start();
    let ids: Vec<u64> = (0..4).map(|number| service.add(&format!("m{number}"))).collect();
    for (from, to) in [(0, 1), (1, 2), (2, 3), (3, 0)] {
        let body = json!({"from": ids[from], "to": ids[to], "type": "related_to"});
        assert_eq!(service.post(LINK, &body).status, 201);
    }
    let depths = |depth: u32| {
        let links = service.get(&format!("/api/memory/{}/links?depth={depth}", ids[0])).json();
        let links = links.as_array().expect("an array").clone();
        links.iter().map(|link| link["depth"].as_u64().expect("a depth")).collect::<Vec<_>>()
    };
    assert_eq!(depths(1), [1, 1]);
    assert_eq!(depths(2), [1, 1, 2, 2]);
    assert_eq!(depths(16), [1, 1, 2, 2]);
}

#[test]
fn what_contradicts_is_shown_on_both_hits() {
    let service = Service::start();
    let (a, b) = (service.add("tea is green"), service.add("tea is black"));
    let body = json!({"from": a, "to": b, "type": "contradicts"});
    assert_eq!(service.post(LINK, &body).status, 201);
    let hits = service.post("/api/memory/search", &json!({"query": "tea"})).json();
    for hit in hits.as_array().expect("an array") {
        let other = if hit["id"] == a { b } else { a };
        assert_eq!(hit["contradicts"], json!([other]));
    }
}

#[test]
fn two_memories_are_merged_in_one_change() {
    let service = Service::start();
    let [into, from, other] = ["into", "from", "other"].map(|it| service.add(it));
    for (start, end, kind) in
        [(from, other, "part_of"), (into, other, "part_of"), (from, into, "updates")]
    {
        let link = json!({"from": start, "to": end, "type": kind});
        assert_eq!(service.post("/api/memory/link", &link).status, 201);
    }
    let merge = |body: serde_json::Value| service.post("/api/memory/merge", &body);
    let set = json!({"title": "Both", "content": "into and from", "tags": ["t"]});
    let merged = merge(json!({"into": into, "from": from, "set": set}));
    assert_eq!(merged.status, 200, "{}", merged.text());
    assert_eq!((&merged.json()["title"], &merged.json()["id"]), (&json!("Both"), &json!(into)));
    assert_eq!(service.get(&format!("/api/memory/{into}")).json(), merged.json());
    service.get(&format!("/api/memory/{from}")).problem(404);
    let links = service.get(&format!("/api/memory/{into}/links")).json();
    let ends: Vec<_> = links.as_array().expect("links").iter().collect();
    assert_eq!(ends.len(), 1, "{links}");
    assert_eq!((&ends[0]["from"], &ends[0]["to"]), (&json!(into), &json!(other)));
    merge(json!({"into": into, "from": from})).problem(404);
    assert!(merge(json!({"into": into, "from": into})).problem(422).contains("another memory"));
    let wrong = merge(json!({"into": into, "from": other, "set": {"type": "Not A Type"}}));
    assert!(wrong.problem(422).contains("set/type: must be"));
    // What only the store can check is named by its place, too.
    let past = json!({"expiresAt": "2020-01-01T00:00:00Z"});
    let wrong = merge(json!({"into": into, "from": other, "set": past}));
    assert!(wrong.problem(422).contains("set/expiresAt: "));
    assert!(merge(json!({"into": into, "from": other, "set": {}})).problem(422).contains("set: "));
    let body = json!({"content": "elsewhere", "space": "team"});
    let team = service.post("/api/memory/add", &body).json()["id"].clone();
    let detail = merge(json!({"into": into, "from": team})).problem(422);
    assert!(detail.contains("is in the space `team`"), "{detail}");
    let reader = service.new_token(&["memory:read"], None);
    let body = json!({"into": into, "from": other}).to_string();
    service.send("POST", "/api/memory/merge", &reader, body.as_bytes()).problem(403);
    let bound = service.new_token(&["memory:write"], Some("default"));
    let merged = service.send("POST", "/api/memory/merge", &bound, body.as_bytes());
    assert_eq!((merged.status, &merged.json()["content"]), (200, &json!("")));
}
