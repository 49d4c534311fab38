//! Export and import.

use serde_json::json;

use crate::service::{Service, batch};

fn fill(service: &Service) {
    let a = service.add("a memory with history");
    let path = format!("/api/memory/{a}");
    service.send("PATCH", &path, &service.token, br#"{"content":"a changed memory"}"#);
    let sent = json!({"content": "b", "title": "T", "type": "fact", "tags": ["x"], "space": "s",
        "session": "q", "metadata": {"k": 1.5, "u": "\u{1f980}"}, "createdAt": "2001-02-03T04:05:06Z"});
    let b = service.post("/api/memory/add", &sent).json()["id"].clone();
    let gone = service.add("gone soon");
    service.delete(&format!("/api/memory/{gone}"));
    service.post("/api/memory/link", &json!({"from": b, "to": a, "type": "caused_by"}));
}

#[test]
fn what_was_exported_is_imported_the_same() {
    let one = Service::start();
    fill(&one);
    let exported = one.get("/api/memory/export");
    assert_eq!(exported.status, 200);
    assert_eq!(exported.header("content-type"), Some("application/x-ndjson"));
    assert!(!exported.lines().is_empty());

    let two = Service::start();
    let import = |body: &[u8]| two.send("POST", "/api/memory/import", &two.token, body);
    let imported = import(&exported.body);
    assert_eq!(imported.status, 200, "{}", imported.text());
    assert_eq!(imported.json()["problems"], json!([]));
    assert_eq!(two.get("/api/memory/export").text(), exported.text());
    assert_eq!(two.get("/api/memory").text(), one.get("/api/memory").text());
    assert_eq!(two.get("/api/memory/1/history").text(), one.get("/api/memory/1/history").text());

    let again = import(&exported.body).json();
    assert_eq!((&again["memories"], &again["links"]), (&json!(0), &json!(0)));
    assert_eq!(two.get("/api/memory/export").text(), exported.text());
    // An id that was used before the import is not reused after it.
    assert!(two.add("new") > 3);
}

#[test]
fn what_is_no_export_is_refused_and_bad_lines_are_told() {
    let service = Service::start();
    let import = |body: &[u8]| service.send("POST", "/api/memory/import", &service.token, body);
    for nothing in [&b""[..], b"{\"content\":\"x\"}\n", b"nonsense", b"\xff\xfe"] {
        import(nothing).problem(422);
    }
    let export = service.get("/api/memory/export").text();
    let answer = import(format!("{}\nnonsense\n", export.trim_end()).as_bytes());
    assert_eq!(answer.status, 200, "{}", answer.text());
    let problems = answer.json()["problems"].clone();
    assert_eq!(problems.as_array().map(Vec::len), Some(1));
    assert_eq!(problems[0]["line"], export.lines().count() + 1);
    assert_eq!(service.get("/api/memory/status").json()["memories"], 0);
}

#[test]
fn ids_that_are_taken_are_refused_or_mapped_as_the_request_says() {
    let one = Service::start();
    fill(&one);
    let exported = one.get("/api/memory/export").body;
    let two = Service::start();
    let unrelated = two.add("something else");
    let import = |query: &str| {
        two.send("POST", &format!("/api/memory/import{query}"), &two.token, &exported)
    };
    let kept = import("").json();
    assert_eq!((&kept["memories"], &kept["links"]), (&json!(2), &json!(0)));
    assert_eq!(
        (&kept["problems"][0]["line"], &kept["problems"][0]["idTaken"]),
        (&json!(2), &json!(true))
    );
    let links = format!("/api/memory/{unrelated}/links");
    assert_eq!(two.get(&links).json(), json!([]));
    let mapped = import("?ids=map").json();
    assert_eq!((&mapped["problems"], &mapped["memories"]), (&json!([]), &json!(1)));
    let to = mapped["mapped"][0]["to"].as_u64().expect("an id");
    let history = two.get(&format!("/api/memory/{to}/history")).json();
    assert_eq!(history.as_array().map(Vec::len), Some(2), "the history came along");
    assert_eq!(two.get(&format!("/api/memory/{to}/links")).json()[0]["to"], json!(to));
    assert_eq!(two.get(&links).json(), json!([]));
    import("?ids=other").problem(422);
    import("?id=map").problem(422);
}

#[test]
fn memories_of_the_last_moments_that_a_time_can_name_are_listed_found_and_imported() {
    let one = Service::start();
    let times = ["9999-12-30T22:00:00.999Z", "9999-12-31T23:59:59.999Z"];
    for at in times {
        one.post("/api/memory/add", &json!({"content": at, "createdAt": at}));
    }
    let beyond = json!({"content": "beyond", "createdAt": "9999-12-31T23:59:59-01:00"});
    let refused = one.post("/api/memory/add", &beyond);
    assert_eq!(refused.status, 422);
    assert!(refused.text().contains("to 9999-12-31T23:59:59.999Z"), "{}", refused.text());
    let two = Service::start();
    let exported = one.get("/api/memory/export").body;
    let imported = two.send("POST", "/api/memory/import", &two.token, &exported).json();
    assert_eq!(imported["problems"], json!([]));
    for service in [&one, &two] {
        let found = service.post("/api/memory/search", &json!({"query": "9999"}));
        let listed = service.get("/api/memory");
        for answer in [found, listed] {
            assert_eq!(answer.status, 200, "{}", answer.text());
            assert!(
                times.iter().all(|it| answer.text().contains(&format!("\"createdAt\":\"{it}\"")))
            );
        }
    }
}

#[test]
fn a_backup_needs_the_scope_admin_for_all_spaces() {
    let service = Service::start();
    fill(&service);
    let backup = |token: &str| service.send("GET", "/api/backup", token, b"");
    let whole = backup(&service.token);
    assert_eq!(whole.status, 200);
    let mut reader = waypost_api::backup::Reader::new(&whole.body[..]).expect("a backup");
    let mut names = Vec::new();
    let summary = loop {
        let next = reader.next_file(&mut |name, _| {
            names.push(name.to_owned());
            Ok(std::io::sink())
        });
        if let waypost_api::backup::Next::End(summary) = next.expect("it is whole") {
            break summary;
        }
    };
    assert_eq!(whole.header("waypost-backup-bytes"), Some(summary.bytes.to_string().as_str()));
    let first = |prefix: &str| names.iter().position(|name| name.starts_with(prefix));
    assert!(
        first("flows/log/") < first("events/log/") && first("events/log/") < first("memory/log/")
    );
    assert!(first("tokens.json").is_some() && first("format").is_some(), "{names:?}");
    for derived in ["memory/state", "memory/index", "events/state", "lock", "project-id", "service"]
    {
        assert_eq!(first(derived), None, "{names:?}");
    }
    let reader = service.new_token(&["memory:read", "memory:write", "events:read"], None);
    backup(&reader).problem(403);
    let bound = service.new_token(&["memory:read"], Some("s"));
    backup(&bound).problem(403);
}

#[test]
fn an_export_goes_on_while_memories_are_added() {
    let service = Service::start();
    let lines: String = batch(2000, |it| format!("m {it}"));
    service.send("POST", "/api/memory/batch", &service.token, lines.as_bytes());
    std::thread::scope(|scope| {
        let exporting = scope.spawn(|| service.get("/api/memory/export").lines().len());
        for number in 0..50 {
            service.add(&format!("meanwhile {number}"));
        }
        assert!(exporting.join().expect("no panic") >= 2000);
    });
}

#[test]
fn a_line_of_another_shape_is_a_problem_in_plain_words() {
    let service = Service::start();
    let lines = [
        r#"{"format":"waypost-memory","version":1}"#,
        r#"{"record":"memory","id":1,"content":"a","lifespan":[]}"#,
        r#"["memory",{"id":2}]"#,
        r#"{"record":"memory","id":"3","content":"c"}"#,
        r#"{"record":"memory","id":4,"content":"d","createdAt":"2025-02-30T00:00:00Z"}"#,
        r#"{"record":"link","from":1,"to":2,"type":{"updates":null}}"#,
    ];
    let body = lines.join("\n");
    let imported = service.send("POST", "/api/memory/import", &service.token, body.as_bytes());
    let imported = imported.json();
    let problems = imported["problems"].as_array().expect("problems");
    let told: Vec<_> = problems.iter().filter_map(|problem| problem["message"].as_str()).collect();
    assert_eq!(
        told,
        [
            "lifespan: must be an object, not an array",
            "must be an object, not an array",
            "id: must be a whole number, not a string",
            "createdAt: must be an RFC 3339 time such as 2025-01-31T09:30:00.000Z, not \
             `2025-02-30T00:00:00Z`: the day is 30; 2025-02 has the days 01 to 28",
            "type: must be one of `updates`, `contradicts`, `related_to`, `caused_by`, `part_of`, \
             not an object",
            "the end is missing: the file is truncated",
        ]
    );
    assert_eq!((&imported["memories"], &imported["links"]), (&json!(0), &json!(0)));
    for first in ["[\"waypost-memory\",1]", "7", "{\"format\":7}"] {
        let refused = service.send("POST", "/api/memory/import", &service.token, first.as_bytes());
        let told = refused.problem(422);
        assert!(told.contains("must begin with `{\"format\":\"waypost-memory\""), "{told}");
    }
}
