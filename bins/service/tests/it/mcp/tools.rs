//! Each tool: what it does, with which token, and with which arguments.

use serde_json::{Value, json};

use super::{ask, call, call_as, error, failure, names, result, text};
use crate::client::Answer;
use crate::flows::start;
use crate::service::Service;
use crate::wait::until;

#[test]
fn an_agent_adds_searches_links_and_reads_memories() {
    let service = Service::start();
    let add = |content: &str| {
        let added = call(
            &service,
            "memory_add",
            &json!({"content": content, "type": "decision", "tags": ["db"]}),
        );
        assert_eq!(added["new"], true);
        added["id"].as_u64().expect("an id")
    };
    let old = add("The orders service uses SQLite");
    let new = add(
        "The orders service uses PostgreSQL\nSQLite locked the whole file under concurrent writes.",
    );
    let again = call(
        &service,
        "memory_add",
        &json!({"content": "The orders service uses SQLite", "type": "decision", "tags": ["db"]}),
    );
    assert_eq!((&again["new"], &again["id"]), (&json!(false), &json!(old)));

    let linked = call(&service, "memory_link", &json!({"from": new, "to": old, "type": "updates"}));
    assert_eq!(linked["new"], true);
    let linked = call(&service, "memory_link", &json!({"from": new, "to": old, "type": "updates"}));
    assert_eq!(linked["new"], false);

    let found = call_as(
        &service,
        &service.token,
        "memory_search",
        &json!({"query": "orders service database PostgreSQL"}),
    );
    let hits = found["structuredContent"]["hits"].as_array().expect("hits");
    assert_eq!(hits[0]["id"], new);
    assert!(hits[0]["content"].as_str().expect("it").contains("concurrent writes"));
    let older = hits.iter().find(|hit| hit["id"] == old).expect("the older one");
    assert_eq!(older["supersededBy"], new);
    let said = text(&found);
    assert!(
        said.contains(&format!("\n#{new} "))
            && said.contains("decision: The orders service uses PostgreSQL"),
        "{said}"
    );
    assert!(said.contains(&format!("(superseded by #{new})")), "{said}");
    assert!(said.contains("concurrent writes"), "{said}");

    let got = call(&service, "memory_get", &json!({"ids": [new, old, new, 999]}));
    let memories = got["memories"].as_array().expect("memories");
    assert_eq!(memories.len(), 2);
    assert_eq!(memories[0]["links"][0], json!({"from": new, "type": "updates", "to": old}));
    assert_eq!(memories[0]["tags"], json!(["db"]));
    assert_eq!(got["notFound"], json!([999]));
    assert!(
        failure(&service, &service.token, "memory_get", &json!({"ids": [999]})).contains("999")
    );
}

#[test]
fn a_search_says_when_nothing_answers() {
    let service = Service::start();
    let found = call_as(&service, &service.token, "memory_search", &json!({"query": "anything"}));
    assert_eq!(text(&found), "Nothing stored matches the query.");
    assert_eq!(found["structuredContent"]["hits"], json!([]));
    service.add("The coffee machine on the second floor is broken");
    service.add("Deploys run on Fridays");
    let found = call_as(
        &service,
        &service.token,
        "memory_search",
        &json!({"query": "which database does the second service use"}),
    );
    let answerable = found["structuredContent"]["answerable"].as_f64().expect("a number");
    assert!(answerable < 0.5, "{found}");
    assert!(text(&found).starts_with("Probably nothing stored answers this"), "{found}");
}

#[test]
fn results_stay_within_their_budget_and_say_how_to_get_the_rest() {
    let service = Service::start();
    for at in 0..30 {
        service.add(&format!(
            "A long report about the harbour, number {at}\n{}",
            "The harbour was quiet. ".repeat(400)
        ));
    }
    let found = call_as(
        &service,
        &service.token,
        "memory_search",
        &json!({"query": "harbour report", "limit": 50}),
    );
    let said = text(&found);
    assert!(said.len() <= 6000, "{} bytes", said.len());
    assert!(said.contains("memory_get"), "{said}");
    let few =
        call_as(&service, &service.token, "memory_search", &json!({"query": "harbour report"}));
    assert_eq!(few["structuredContent"]["hits"].as_array().map(Vec::len), Some(8));
    let id = few["structuredContent"]["hits"][0]["id"].as_u64().expect("an id");

    // The whole text, piece by piece.
    let whole = service.get(&format!("/api/memory/{id}")).json()["content"]
        .as_str()
        .expect("it")
        .to_owned();
    let (mut offset, mut read) = (0, String::new());
    while read.len() < whole.len() {
        let got = call_as(
            &service,
            &service.token,
            "memory_get",
            &json!({"ids": [id], "offset": offset}),
        );
        assert!(text(&got).len() <= 6000);
        let memory = &got["structuredContent"]["memories"][0];
        read.push_str(memory["content"].as_str().expect("it"));
        match memory["nextOffset"].as_u64() {
            Some(next) => offset = next,
            None => break,
        }
    }
    assert_eq!(read, whole);
    let got = call(&service, "memory_get", &json!({"ids": [id], "maxTokens": 20000}));
    assert_eq!(got["memories"][0]["content"], whole.as_str());
}

#[test]
fn an_agent_asks_for_context_and_hears_of_events_and_flows() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("docs")).expect("a folder");
    std::fs::write(
        folder.path().join("docs/parser.md"),
        "# Parser\n\nThe parser reads one line at a time.\n",
    )
    .expect("a file");
    let service = Service::start_in(folder, |_| {});
    service.send("POST", "/api/context/rescan", &service.token, b"");
    let found =
        call_as(&service, &service.token, "context", &json!({"query": "how does the parser read"}));
    let items = found["structuredContent"]["items"].as_array().expect("items");
    assert_eq!(items[0]["path"], "docs/parser.md");
    assert!(text(&found).contains("one line at a time"), "{found}");
    let nothing = call_as(
        &service,
        &service.token,
        "context",
        &json!({"query": "parser", "paths": ["none/**"]}),
    );
    assert!(text(&nothing).starts_with("Nothing in the project matches."), "{nothing}");

    let published = call(
        &service,
        "events",
        &json!({"action": "publish", "type": "build:done", "data": {"ok": "yes", "ms": 12}}),
    );
    let id = published["id"].as_u64().expect("an id");
    let listed = call(&service, "events", &json!({"action": "list", "pattern": "build:*"}));
    assert_eq!(listed["events"][0]["id"], id);
    assert_eq!(listed["events"][0]["data"], json!({"ok": "yes", "ms": 12}));
    let after = call(&service, "events", &json!({"action": "list", "after": listed["nextAfter"]}));
    assert_eq!(after["events"], json!([]));

    assert!(call(&service, "flows", &json!({"action": "list"}))["flows"].is_array());
    assert_eq!(call(&service, "flows", &json!({"action": "runs"}))["runs"], json!([]));
    assert_eq!(call(&service, "flows", &json!({"action": "why", "event": id}))["why"], json!([]));
    let lost =
        failure(&service, &service.token, "flows", &json!({"action": "runs", "run": "none.1"}));
    assert!(lost.contains("none"), "{lost}");
}

const GREET: &str = r#"
flows:
  - name: greet
    description: "says hello; `ignore` it"
    trigger: { pattern: "a:*", condition: data.n > 1 }
    actions:
      - { type: command, command: "echo out; echo err >&2; test -e well" }
"#;

#[test]
fn runs_of_flows_and_their_output_are_shown() {
    let service = start(GREET);
    let listed = call(&service, "flows", &json!({"action": "list"}));
    assert_eq!(listed["flows"][0]["name"], "greet", "{listed}");
    let event = call(
        &service,
        "events",
        &json!({"action": "publish", "type": "a:hello", "data": {"n": 2}}),
    )["id"]
        .clone();
    let small = service.emit("a:hello", &json!({"n": 1}));
    until(|| {
        let runs = call(&service, "flows", &json!({"action": "runs", "flow": "greet"}));
        if runs["runs"][0]["state"] == "failed" { Ok(()) } else { Err(runs) }
    });
    let why = call(&service, "flows", &json!({"action": "why", "event": event}));
    assert_eq!(why["why"][0]["wants"], true);
    let why = call(&service, "flows", &json!({"action": "why", "event": small}));
    assert_eq!(why["why"][0]["wants"], false);
    assert!(why["why"][0]["reasons"].to_string().contains("data.n > 1"), "{why}");
    let run = format!("greet.{event}");
    let one = call_as(&service, &service.token, "flows", &json!({"action": "runs", "run": run}));
    let tries = &one["structuredContent"]["tries"][0];
    assert_eq!((&tries["stdout"], &tries["stderr"]), (&json!("out"), &json!("err")), "{one}");
    assert!(text(&one).contains("```stderr\nerr\n```"), "{one}");
}

#[test]
fn a_token_sees_and_uses_only_its_own_tools() {
    let service = Service::start();
    let all =
        ["memory_search", "memory_get", "memory_add", "memory_link", "context", "events", "flows"];
    assert_eq!(names(&service, &service.token), all);
    for (scope, tools) in [
        ("memory:read", vec!["memory_search", "memory_get"]),
        ("memory:write", vec!["memory_add", "memory_link"]),
        ("context:read", vec!["context"]),
        ("events:read", vec!["events"]),
        ("events:publish", vec!["events"]),
        ("flows:read", vec!["flows"]),
        ("flows:run", vec![]),
        // There is none.
        ("browser:use", vec![]),
    ] {
        let token = service.new_token(&[scope], None);
        assert_eq!(names(&service, &token), tools, "{scope}");
    }
    let read = service.new_token(&["memory:read"], None);
    let refused = failure(&service, &read, "memory_add", &json!({"content": "x"}));
    assert!(
        refused.contains("the token lacks the scope memory:write")
            && refused.contains("ctl token create"),
        "{refused}"
    );
    let refused = ask(&service, &read, "resources/read", &json!({"uri": "waypost://context/x"}));
    let refused = error(&refused, 200, -32603)["message"].to_string();
    assert!(refused.contains("context:read"), "{refused}");
    let refused = failure(&service, &read, "flows", &json!({"action": "list"}));
    assert!(refused.contains("flows:read"), "{refused}");
    let publish = service.new_token(&["events:publish"], None);
    assert!(
        failure(&service, &publish, "events", &json!({"action": "list"})).contains("events:read")
    );
    assert_eq!(
        call_as(&service, &publish, "events", &json!({"action": "publish", "type": "a:b"}))["isError"],
        false
    );
    // A resource is refused as well.
    let memory = service.add("secret");
    let uri = format!("waypost://memory/{memory}");
    let answer = ask(&service, &publish, "resources/read", &json!({"uri": uri})).json();
    assert!(answer["error"]["message"].as_str().expect("it").contains("memory:read"), "{answer}");
}

#[test]
fn a_token_of_one_space_stays_in_it() {
    let service = Service::start();
    let theirs = service.add("a secret plan of the others");
    let mine = service.new_token(&["memory:read", "memory:write", "flows:read"], Some("mine"));
    assert_eq!(
        names(&service, &mine),
        ["memory_search", "memory_get", "memory_add", "memory_link"]
    );
    let added = call_as(&service, &mine, "memory_add", &json!({"content": "a plan of mine"}));
    assert_eq!(added["structuredContent"]["space"], "mine");
    let found = call_as(&service, &mine, "memory_search", &json!({"query": "plan"}));
    assert!(!text(&found).contains("secret"), "{found}");
    failure(&service, &mine, "memory_get", &json!({"ids": [theirs]}));
    let other =
        failure(&service, &mine, "memory_add", &json!({"content": "x", "space": "default"}));
    assert!(other.contains("bound to the space mine") && other.contains("omit `space`"), "{other}");
}

#[test]
fn a_revoked_token_is_401_at_once() {
    let service = Service::start();
    let token = service.new_token(&["memory:read"], None);
    let id = token.split('_').nth(1).expect("an id").to_owned();
    assert_eq!(names(&service, &token).len(), 2);
    assert_eq!(service.delete(&format!("/api/tokens/{id}")).status, 200);
    let answer: Answer = ask(&service, &token, "tools/list", &json!({}));
    answer.problem(401);
}

#[test]
fn invalid_arguments_are_named_with_what_is_valid() {
    let service = Service::start();
    let long = "x".repeat(8193);
    let large = "x".repeat((1 << 20) + 1);
    let ids: Vec<u64> = (1..=51).collect();
    let cases: Vec<(&str, Value, &[&str])> = vec![
        ("memory_search", json!({}), &["query", "is required", "limit"]),
        ("memory_search", json!({"query": 7}), &["query", "must be a string"]),
        ("memory_search", json!({"query": ""}), &["query", "must not be empty"]),
        ("memory_search", json!({"query": long}), &["query", "8193", "8192"]),
        ("memory_search", json!({"query": "x", "limt": 3}), &["limt", "unknown argument", "limit"]),
        ("memory_search", json!({"query": "x", "limit": 0}), &["limit", "between 1 and"]),
        ("memory_search", json!({"query": "x", "limit": 51}), &["limit", "between 1 and 50"]),
        ("memory_search", json!({"query": "x", "limit": "8"}), &["limit", "whole number"]),
        ("memory_search", json!({"query": "x", "since": "yesterday"}), &["since"]),
        ("memory_search", json!({"query": "x", "tags": "a"}), &["tags", "must be an array"]),
        ("memory_search", json!({"query": "x\u{0}"}), &["NUL"]),
        ("memory_get", json!({}), &["ids", "is required"]),
        ("memory_get", json!({"ids": []}), &["ids", "1 to 50"]),
        ("memory_get", json!({"ids": ids}), &["ids", "1 to 50", "51"]),
        ("memory_get", json!({"ids": [0]}), &["ids/0"]),
        ("memory_get", json!({"ids": ["1"]}), &["ids/0"]),
        ("memory_get", json!({"ids": [1, 2], "offset": 5}), &["offset", "one id"]),
        ("memory_get", json!({"ids": [1], "maxTokens": 1_000_000}), &["maxTokens", "20000"]),
        ("memory_add", json!({}), &["content", "is required"]),
        ("memory_add", json!({"content": ""}), &["content", "must not be empty"]),
        ("memory_add", json!({"content": large}), &["content", "1 MiB"]),
        ("memory_add", json!({"content": "x", "type": "A b"}), &["type", "a-z"]),
        (
            "memory_add",
            json!({"content": "x", "text": "y", "z": 1}),
            &["text", "z", "unknown argument"],
        ),
        (
            "memory_link",
            json!({"from": 1, "to": 2}),
            &["type", "is required", "updates|contradicts"],
        ),
        ("memory_link", json!({"from": 1, "to": 1, "type": "updates"}), &["to", "another memory"]),
        (
            "memory_link",
            json!({"from": 1, "to": 2, "type": "update"}),
            &["type", "did you mean `updates`"],
        ),
        ("memory_link", json!({"from": 1, "to": 2, "type": "updates"}), &["1"]),
        ("context", json!({}), &["query", "is required"]),
        ("context", json!({"query": "x", "maxTokens": 10}), &["maxTokens", "200"]),
        ("context", json!({"query": "x", "paths": ["../**"]}), &["paths", "relative"]),
        ("context", json!({"query": "x", "sources": ["web"]}), &["sources", "journal"]),
        ("events", json!({}), &["action", "is required", "list, publish"]),
        ("events", json!({"action": "delete"}), &["action", "unknown", "list, publish"]),
        (
            "events",
            json!({"action": "list", "type": "a:b"}),
            &["type", "unknown argument", "pattern"],
        ),
        ("events", json!({"action": "list", "limit": 1000}), &["limit", "between 1 and 100"]),
        ("events", json!({"action": "publish"}), &["type", "is required"]),
        ("events", json!({"action": "publish", "type": "memory:added"}), &["type", "reserved"]),
        ("events", json!({"action": "publish", "type": "a:b", "data": {"x": [1]}}), &["data/x"]),
        ("flows", json!({"action": "run"}), &["action", "list, runs, why"]),
        ("flows", json!({"action": "why"}), &["event", "is required"]),
        ("flows", json!({"action": "runs", "state": "lost"}), &["state", "failed"]),
        ("flows", json!({"action": "runs", "run": "../x"}), &["run", "id of a run"]),
        ("flows", json!({"action": "list", "flow": "x"}), &["flow", "unknown argument"]),
    ];
    for (name, arguments, words) in cases {
        let said = failure(&service, &service.token, name, &arguments);
        let shown: String = arguments.to_string().chars().take(100).collect();
        for word in words {
            assert!(said.contains(word), "{name} {shown}: no {word:?} in {said}");
        }
        assert!(said.len() < 2000, "{name} {shown}: {} bytes", said.len());
    }
    // Absent arguments are empty ones.
    let answer = ask(&service, &service.token, "tools/call", &json!({"name": "memory_search"}));
    assert_eq!(result(&answer)["isError"], true);
    assert_eq!(service.get("/api/memory/status").json()["memories"], 0);
}
