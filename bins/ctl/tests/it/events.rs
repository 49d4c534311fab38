//! `emit` and `events` against a real service.

use serde_json::json;

use crate::service::Service;

#[test]
fn an_event_is_emitted_and_listed() {
    let service = Service::start();
    let data = r#"agent=scout,delta=0.25,improved=true,note="a, b",pr_number=412"#;
    let emitted = service.ctl(&["--json", "emit", "eval:scored", "--data", data]).json();
    let stored = json!({
        "agent": "scout", "delta": 0.25, "improved": "true", "note": "a, b", "pr_number": 412
    });
    assert_eq!((&emitted["id"], &emitted["data"]), (&json!(1), &stored));
    // A value from elsewhere cannot add a key.
    let text = "text=x,admin=1 \u{1b}[31m";
    let kept = service.ctl(&["--json", "emit", "note:taken", "--set", text]).json();
    assert_eq!(kept["data"], json!({"text": "x,admin=1 \u{1b}[31m"}));
    for (data, stored) in [
        ("k=", json!({"k": ""})),
        ("k=a=b", json!({"k": "a=b"})),
        (r"k=a\,b", json!({"k": "a,b"})),
        ("k=v,k2=v2", json!({"k": "v", "k2": "v2"})),
        (r#"k="1""#, json!({"k": "1"})),
        ("k=1e400", json!({"k": "1e400"})),
    ] {
        let emitted = service.ctl(&["--json", "emit", "kept:as", "--data", data]).json();
        assert_eq!(emitted["data"], stored, "{data}");
    }
    let listed = service.ctl(&["events", "list"]).done();
    let lines: Vec<&str> = listed.lines().collect();
    assert!(lines[0].starts_with("#1 ") && lines[0].contains("eval:scored agent=scout"));
    assert!(lines[0].ends_with(r#"note="a, b" pr_number=412"#), "{listed}");
    assert!(!listed.contains('\u{1b}'), "{listed:?}");
    let some = service.ctl(&["--json", "events", "list", "--pattern", "note:*"]).json();
    assert_eq!(some.as_array().map(Vec::len), Some(1));
    let key = ["emit", "a:b", "--idempotency-key", "once"];
    assert_eq!(service.ctl(&key).done(), "published #9 a:b\n");
    assert_eq!(service.ctl(&key).done(), "already exists: #9 a:b\n");
}

#[test]
fn what_cannot_be_emitted_is_said() {
    let service = Service::start();
    for (arguments, code, said) in [
        (vec!["emit", "a:b", "--data", "k"], 2, "expected key=value"),
        (vec!["emit", "a:b", "--data", "=v"], 2, "has no key"),
        (vec!["emit", "a:b", "--data", "k=1,k=2"], 2, "duplicate key"),
        (vec!["emit", "a:b", "--set", "k"], 2, "expected key=value"),
        (vec!["emit", "eval"], 2, "namespace"),
        (vec!["emit", "flow:dead"], 2, "is reserved for the service"),
        (vec!["events", "list", "--pattern", "*b"], 2, "pattern"),
    ] {
        let ran = service.ctl(&arguments);
        assert_eq!(ran.code, code, "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains(said), "{arguments:?}: {}", ran.err);
    }
}

#[test]
fn a_tail_shows_what_was_and_what_comes() {
    let service = Service::start();
    service.ctl(&["emit", "a:b", "--data", "n=1"]).done();
    let tail = ["--json", "events", "tail", "--after", "0", "--pattern", "a:*", "-n", "3"];
    let tailed = std::thread::scope(|scope| {
        let tailing = scope.spawn(|| service.ctl(&tail).done());
        for kind in ["c:d", "a:b", "a:c"] {
            service.ctl(&["emit", kind]).done();
        }
        tailing.join().expect("no panic")
    });
    let ids: Vec<serde_json::Value> = tailed
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON")["id"].clone())
        .collect();
    assert_eq!(ids, [json!(1), json!(3), json!(4)]);
}
