//! Messages: what a command prints when something is wrong, and its exit status.

use std::fs;

use serde_json::{Value, json};

use crate::ctl::{command, ran, run};
use crate::service::Service;

/// The lines of standard error, each as JSON.
fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

#[test]
fn a_value_that_the_service_refuses_is_a_wrong_command_line() {
    let service = Service::start();
    for arguments in [
        &["emit", "foo"][..],
        &["emit", "memory:added"],
        &["search", ""],
        &["add", "x", "--type", "No Type"],
        &["events", "list", "--pattern", "a*b"],
        &["list", "--since", "2025-02-01", "--until", "2025-01-01"],
    ] {
        let refused = service.ctl(arguments);
        assert_eq!(refused.code, 2, "{arguments:?}: {refused:?}");
    }
}

#[test]
fn every_invalid_field_is_told() {
    let service = Service::start();
    let long = "t".repeat(600);
    let refused = service.ctl(&["add", "x", "--type", "No Type", "--title", &long, "--space", " "]);
    for field in ["type", "title", "space"] {
        assert!(refused.err.contains(&format!("{field}: ")), "{field}: {}", refused.err);
    }
}

#[test]
fn a_field_is_called_as_on_the_command_line() {
    let service = Service::start();
    let id = service.add("x").to_string();
    let mut wrong = Vec::new();
    for (arguments, named) in [
        (&["search", ""][..], "<QUERY>: "),
        (&["search", "x", "--tag", ""], "--tag: "),
        (&["add", "x", "--tag", "", "--meta", "=1"], "--tag: "),
        (&["add", ""], "<CONTENT>: "),
        (&["update", &id, "--content", ""], "--content: "),
        (&["emit", "foo"], "<NAME>: "),
        (&["emit", "a:b", "--set", "no key=1"], "--data"),
        (&["events", "list", "--pattern", "a*b"], "--pattern: "),
        (&["token", "create", "--scope", "memory:read", "--space", " "], "--space: "),
    ] {
        let refused = service.ctl(arguments);
        if refused.code != 2 || !refused.err.contains(named) {
            wrong.push(format!("{arguments:?}: {refused:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
    // For scripts, a field has the name that it has in the request.
    let refused = service.ctl(&["--json", "search", "x", "--tag", ""]);
    let told = &lines(&refused.err)[0];
    assert_eq!(told["errors"][0]["pointer"], "/tags/0");
}

#[test]
fn a_score_is_from_0_to_1() {
    let service = Service::start();
    service.add("x");
    for score in ["nan", "inf", "-inf", "NaN", "2", "-0.1", "1e999", "x"] {
        let refused = service.ctl(&["search", "x", &format!("--min-score={score}")]);
        assert_eq!((refused.code, refused.out.as_str()), (2, ""), "{score}: {refused:?}");
        assert!(refused.err.contains("expected a number from 0 to 1"), "{score}: {}", refused.err);
    }
    for score in ["0", "1", "0.5"] {
        assert_eq!(service.ctl(&["search", "x", "--min-score", score]).code, 0, "{score}");
    }
}

#[test]
fn a_message_names_options_and_ranges() {
    let service = Service::start();
    let id = service.add("x").to_string();
    let long = "y".repeat(5_000);
    for (arguments, parts) in [
        (
            &["search", "x", "--since", "2025-02-30"][..],
            &["--since: \"2025-02-30\"", "the day is 30; 2025-02 has the days 01 to 28"][..],
        ),
        (&["search", "x", "--until", "soon"], &["--until: \"soon\" is not a valid time; write"]),
        (&["search", "x", "--valid-at", "x"], &["--valid-at: \"x\""]),
        (
            &["search", "x", "--as-of", "2025-01-01T25:00:00Z"],
            &["--as-of: ", "the hour is 25; valid are 00 to 23"],
        ),
        (&["search", "x", "--now", "x\u{1b}[31m"], &["--now: \"x\\u{1b}[31m\""]),
        (&["list", "--since", &long], &["--since: \"yyy", "\"... is not a valid time"]),
        (&["events", "list", "--since", "x"], &["--since: \"x\""]),
        (&["add", "y", "--created-at", "x"], &["--created-at: \"x\""]),
        (
            &["add", "y", "--expires-at", "2020-01-01"],
            &["--expires-at: \"2020-01-01\" is in the past"],
        ),
        (&["token", "create", "--scope", "memory:read", "--expires", "x"], &["--expires: \"x\""]),
        (&["context", "--max-tokens", "0", "x"], &["--max-tokens", "1..=1000000"]),
        (
            &["list", "--since", "2025-02-01", "--until", "2025-01-01"],
            &["--until: must be after `--since`"],
        ),
        (
            &["add", "y", "--valid-from", "2025-02-01", "--valid-until", "2025-01-01"],
            &["--valid-until: is 2025-01-01T00:00:00.000Z; it must be after `--valid-from`"],
        ),
        (&["link", &id, &id, "--type", "updates"], &["<TO>: must be another memory than `<FROM>`"]),
    ] {
        let refused = service.ctl(arguments);
        assert_eq!(refused.code, 2, "{arguments:?}: {refused:?}");
        for part in parts {
            assert!(refused.err.contains(part), "{arguments:?}: {}", refused.err);
        }
        assert!(refused.err.len() < 500, "{}", refused.err);
    }
}

#[test]
fn with_json_every_error_is_json() {
    let service = Service::start();
    let refused = service.ctl(&["--json", "emit", "foo"]);
    let told = &lines(&refused.err)[0];
    assert_eq!((&told["status"], &told["exitStatus"]), (&json!(422), &json!(2)));
    assert!(told["errors"][0]["pointer"].is_string(), "{told}");
    let missing = service.ctl(&["--json", "get", "99"]);
    let told = &lines(&missing.err)[0];
    assert_eq!((&told["status"], &told["exitStatus"]), (&json!(404), &json!(3)));
    assert!(told["detail"].as_str().is_some_and(|it| it.contains("99")), "{told}");

    let folder = tempfile::tempdir().expect("a folder");
    for arguments in [
        &["--json", "nope"][..],
        &["--json", "get"],
        &["get", "x", "--json"],
        &["--json", "--url", "http://127.0.0.1:9", "status"],
        &["--json", "--project", "missing", "status"],
        &["--json", "restore", "missing"],
    ] {
        let refused = run(folder.path(), arguments);
        let told = lines(&refused.err);
        assert_eq!(told.len(), 1, "{arguments:?}: {}", refused.err);
        assert_eq!(told[0]["exitStatus"], json!(refused.code), "{arguments:?}");
        assert!(told[0]["type"].is_string() && told[0]["detail"].is_string(), "{}", told[0]);
        assert_eq!(refused.out, "");
    }
    // Notes are JSON, too.
    service.add("something");
    let found = service.ctl(&["--json", "search", "something"]);
    lines(&found.err);
}

#[test]
fn hints_follow_the_reason() {
    let service = Service::start();
    let id = service.add("x").to_string();
    let scoped = service.ctl(&["--json", "token", "create", "--scope", "memory:read"]).json();
    let file = service.folder().join("reader");
    fs::write(&file, scoped["token"].as_str().expect("a token")).expect("a file");
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .expect("a file");
    let as_reader =
        |arguments: &[&str]| service.ctl(&[&["--token-file", "reader"][..], arguments].concat());
    let denied = as_reader(&["add", "y"]);
    assert_eq!(denied.code, 4, "{denied:?}");
    assert!(denied.err.contains("memory:write") && denied.err.contains("ctl token create"));

    let keyed = |n: &str| {
        service.ctl(&["emit", "a:b", "--data", &format!("n={n}"), "--idempotency-key", "k"])
    };
    keyed("1").done();
    let reused = keyed("2");
    assert_eq!(reused.code, 1, "{reused:?}");
    assert!(reused.err.contains("--idempotency-key") && !reused.err.contains("when the other one"));

    let gone = service.ctl(&["--token-file", "gone", "get", &id]);
    assert_eq!(gone.code, 3, "{gone:?}");
    assert!(gone.err.contains("no token file") && gone.err.contains("gone"), "{}", gone.err);
    fs::remove_file(service.folder().join(".waypost/token")).expect("the token goes");
    let without = service.ctl(&["get", &id]);
    assert_eq!(without.code, 4, "{without:?}");
    assert!(without.err.contains("token file"), "{}", without.err);
}

#[test]
fn spans_of_time_are_written_alike_everywhere() {
    let service = Service::start();
    service.ctl(&["emit", "a:b"]).done();
    for since in ["1h", "30d", "2020-01-01", "2020-01-01T00:00:00Z"] {
        let found = service.ctl(&["--json", "events", "list", "--since", since]).json();
        assert_eq!(found.as_array().map(Vec::len), Some(1), "{since}");
        service.ctl(&["list", "--since", since]).done();
    }
    assert_eq!(service.ctl(&["events", "list", "--since", "soon"]).code, 2);
}

#[test]
fn a_subcommand_with_a_typing_error_is_no_query() {
    let service = Service::start();
    let missed = service.ctl(&["context", "statsu"]);
    assert_eq!(missed.code, 2, "{missed:?}");
    assert!(missed.err.contains("did you mean `status`?"), "{}", missed.err);
    assert!(missed.err.contains("ctl context -- statsu"), "{}", missed.err);
    for query in
        [&["context", "--", "statsu"][..], &["context", "statsu of tokens"], &["context", "state"]]
    {
        assert_eq!(service.ctl(query).code, 0, "{query:?}");
    }
}

#[test]
fn an_import_says_how_ids_that_are_taken_are_mapped() {
    let (one, two) = (Service::start(), Service::start());
    let (a, b) = (one.add("a of one"), one.add("b of one"));
    one.ctl(&["link", &b.to_string(), &a.to_string(), "--type", "updates"]).done();
    let unrelated = two.add("something else");
    assert_eq!(unrelated, a);
    let file = two.folder().join("one.ndjson");
    fs::write(&file, one.ctl(&["export"]).done()).expect("a file");
    let kept = two.ctl(&["import", "one.ndjson"]);
    assert_eq!(kept.code, 1, "{kept:?}");
    assert!(kept.err.contains("id 1 belongs to another memory") && kept.err.contains("--ids map"));
    assert_eq!(two.ctl(&["--json", "links", &unrelated.to_string()]).json(), json!([]));
    let mapped = two.ctl(&["--json", "import", "--ids", "map", "one.ndjson"]).json();
    let new = mapped["mapped"][0]["to"].as_u64().expect("an id");
    assert_eq!(mapped["mapped"][0]["from"], json!(a));
    let superseded = two.ctl(&["--json", "get", &new.to_string()]).json();
    assert_eq!(superseded["content"], "a of one");
    assert!(superseded["supersededBy"].is_u64(), "{superseded}");
    assert_eq!(two.ctl(&["--json", "links", &unrelated.to_string()]).json(), json!([]));
    let again = two.ctl(&["import", "--ids", "map", "one.ndjson"]).done();
    assert!(
        again.contains("0 memories imported")
            && again.contains(&format!("#{a} in the file is now #{new}")),
        "{again}"
    );
}

#[test]
fn a_reader_of_much_output_may_go_away() {
    let service = Service::start();
    let lines = (0..3000).map(|number| format!("{{\"content\":\"memory {number}\"}}\n"));
    let lines: Vec<String> = lines.collect();
    service.ctl_with_input(&["batch", "-"], lines.concat().as_bytes()).done();
    for arguments in [&["export"][..], &["--json", "list", "--all"], &["list", "--all"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let arguments = [&["--url", service.url()][..], arguments].concat();
        let mut command = command(service.folder(), &arguments);
        let ended = ran(command.stdout(writer).output().expect("it runs"));
        assert_eq!((ended.code, ended.err.as_str()), (0, ""), "{arguments:?}");
    }
}
