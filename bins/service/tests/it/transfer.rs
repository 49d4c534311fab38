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
    // An id that was used before the import is not used again after it.
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
