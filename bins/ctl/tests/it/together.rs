//! Commands against a real service.

use std::fs;

use serde_json::{Value, json};
use waypost_api::routes;

use crate::service::Service;

#[test]
fn a_memory_lives() {
    let service = Service::start();
    let added = service.ctl(&[
        "--json",
        "add",
        "The spare keys are in the blue tin\nin the cellar",
        "--title",
        "Keys",
        "--type",
        "fact",
        "--tag",
        "home",
        "--meta",
        "shelf=3",
        "--meta",
        "zip=\"0815\"",
        "--meta",
        "sure=true",
        "--session",
        "s1",
        "--created-at",
        "2025-01-31",
    ]);
    let memory = added.json();
    let id = memory["id"].to_string();
    assert_eq!(memory["metadata"], json!({ "shelf": 3, "sure": true, "zip": "0815" }));
    assert_eq!(memory["createdAt"], "2025-01-31T00:00:00.000Z");

    // Nothing is stored twice.
    let again = service.ctl(&[
        "add",
        "The spare keys are in the blue tin\nin the cellar",
        "--title",
        "Keys",
        "--type",
        "fact",
        "--session",
        "s1",
    ]);
    assert_eq!(again.done(), format!("already exists: #{id}  Keys\n"));

    let shown = service.ctl(&["get", &format!("#{id}")]).done();
    assert!(shown.starts_with(&format!("#{id}  Keys\n")), "{shown}");
    assert!(
        shown.contains("meta       zip = 0815\n") && shown.ends_with("blue tin\nin the cellar\n"),
        "{shown}"
    );

    let found = service
        .ctl(&["--json", "search", "spare", "keys", "--explain", "--type", "fact", "--tag", "home"])
        .json();
    assert_eq!(found[0]["id"].to_string(), id);
    assert!(found[0]["scores"]["signals"].as_array().is_some_and(|it| !it.is_empty()), "{found}");
    assert_eq!(service.ctl(&["--json", "search", "spare keys", "--since", "7d"]).json(), json!([]));
    let human = service.ctl(&["search", "spare keys"]);
    assert!(human.out.contains(&format!("#{id}  Keys")), "{human:?}");
    assert!(human.err.contains("note: searched lexical instead of hybrid"), "{human:?}");

    let changed = service
        .ctl(&["--json", "update", &id, "--content", "They are gone", "--no-session", "--no-meta"])
        .json();
    assert_eq!(
        (changed["content"].as_str(), &changed["metadata"]),
        (Some("They are gone"), &json!({}))
    );
    assert!(changed.get("session").is_none());
    let history = service.ctl(&["--json", "history", &id]).json();
    assert_eq!(history.as_array().unwrap().len(), 2);
    assert_eq!(history[0]["memory"]["metadata"]["zip"], "0815");

    let listed = service.ctl(&["list"]).done();
    assert!(listed.contains("fact") && listed.contains("Keys"), "{listed}");
    service.ctl(&["delete", &id]).done();
    assert_eq!(service.ctl(&["get", &id]).code, 3);
    assert_eq!(service.ctl(&["delete", &id]).code, 3);
}

/// As after a command that was interrupted between its deletions and the purge.
#[test]
fn a_deletion_is_repeated_with_ids_that_are_gone() {
    let service = Service::start();
    let (one, two) = (service.add("first secret").to_string(), service.add("second secret"));
    service.ctl(&["delete", &one]).done();
    let two = two.to_string();
    let repeated = service.ctl(&["--json", "delete", &one, &two, "999", "--purge"]);
    assert_eq!(repeated.code, 3);
    assert!(repeated.err.contains("no memory 999"), "{repeated:?}");
    let done: Value = serde_json::from_str(&repeated.out).unwrap();
    assert_eq!(done["deleted"], json!([two.parse::<u64>().unwrap()]));
    assert_eq!(done["compacted"]["purgedVersions"], 2);
}

#[test]
fn links_lead_both_ways() {
    let service = Service::start();
    let (old, new) = (
        service.add("The door code is 1111").to_string(),
        service.add("The door code is 2222").to_string(),
    );
    let linked = service.ctl(&["link", &new, &old, "--type", "updates"]).done();
    assert_eq!(linked, format!("linked #{new} updates #{old}\n"));
    assert!(
        service
            .ctl(&["link", &new, &old, "--type", "updates"])
            .done()
            .starts_with("already exists")
    );
    for id in [&old, &new] {
        let links = service.ctl(&["--json", "links", id]).json();
        assert_eq!(
            (links[0]["from"].to_string(), links[0]["to"].to_string()),
            (new.clone(), old.clone())
        );
    }
    let found = service.ctl(&["search", "door code"]).done();
    assert!(found.contains(&format!("superseded by #{new}")), "{found}");
    assert!(found.find("2222") < found.find("1111"), "{found}");

    let unknown = service.ctl(&["link", "999", &old, "--type", "part_of"]);
    assert_eq!(unknown.code, 3, "{unknown:?}");
    assert!(unknown.err.contains("999"), "{}", unknown.err);
    let itself = service.ctl(&["link", &old, &old, "--type", "part_of"]);
    assert_eq!(itself.code, 2, "{itself:?}");
    service.ctl(&["unlink", &new, &old, "--type", "updates"]).done();
    assert_eq!(service.ctl(&["unlink", &new, &old, "--type", "updates"]).code, 3);
}

#[test]
fn a_batch_tells_each_bad_line_and_adds_the_others() {
    let service = Service::start();
    let lines = (0..2500).map(|number| format!("{{\"content\":\"memory number {number}\"}}\n"));
    let mut input: String = lines.collect();
    input += "\n{\"contents\":\"x\"}\nnot json\n{\"content\":\"memory number 7\"}";
    let ran = service.ctl_with_input(&["batch", "-"], input.as_bytes());
    assert_eq!(ran.code, 1, "{ran:?}");
    assert_eq!(ran.out, "2500 memories added, 1 already present\n");
    assert!(
        ran.err.contains("warning: line 2502: ") && ran.err.contains("did you mean `content`?"),
        "{}",
        ran.err
    );
    assert!(
        ran.err.contains("warning: line 2503: ") && ran.err.contains("line 1 column 2"),
        "{}",
        ran.err
    );
    assert!(ran.err.ends_with("error: 2 lines failed\n"), "{}", ran.err);

    let lines =
        service.ctl_with_input(&["--json", "batch", "-"], b"\n{\"content\":\"one more\"}\n").done();
    let result: Value = serde_json::from_str(&lines).unwrap();
    assert_eq!((&result["line"], &result["status"]), (&json!(2), &json!(201)));

    let all = service.ctl(&["--json", "list", "--all", "--type", "note"]).json();
    assert_eq!(all.as_array().unwrap().len(), 2501);
    let some = service.ctl(&["list", "-n", "3"]);
    assert!(some.err.contains("more memories follow"), "{some:?}");
}

#[test]
fn an_export_comes_back_whole() {
    let service = Service::start();
    let (a, b) = (service.add("first \u{1b}[31m").to_string(), service.add("second").to_string());
    service.ctl(&["link", &b, &a, "--type", "related_to"]).done();
    service.ctl(&["update", &a, "--title", "renamed"]).done();
    let exported = service.ctl(&["export"]).done();
    service.ctl(&["export", "out.ndjson"]).done();
    let file = service.folder().join("out.ndjson");
    assert_eq!(fs::read_to_string(&file).unwrap(), exported);
    #[cfg(unix)]
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&file).unwrap().permissions())
            & 0o777,
        0o600
    );

    let other = Service::start();
    let imported = other.ctl(&["--json", "import", file.to_str().unwrap()]).json();
    assert_eq!((&imported["memories"], &imported["links"]), (&json!(2), &json!(1)));
    assert_eq!(other.ctl(&["export"]).done(), exported);
    let again = other.ctl_with_input(&["import", "-"], exported.as_bytes());
    assert!(again.done().starts_with("0 memories imported, 0 links"));
}

#[test]
fn stored_text_never_commands_the_terminal() {
    let service = Service::start();
    let evil = "x \u{1b}]52;c;aGk=\u{7} \u{1b}[2J \u{9b}31m \u{202e}exe.txt \u{7f}\r over";
    let line = json!({ "title": evil, "content": evil, "tags": [evil], "metadata": { "k": evil }, "space": evil, "session": evil });
    let added =
        service.ctl_with_input(&["--json", "batch", "-"], line.to_string().as_bytes()).done();
    let id = serde_json::from_str::<Value>(&added).unwrap()["id"].to_string();
    for command in [
        &["get", &id][..],
        &["search", "exe.txt", "--explain"],
        &["list"],
        &["history", &id],
        &["status"],
        &["--color", "never", "--json", "get", &id],
        &["--json", "search", "exe.txt"],
        &["--json", "status"],
    ] {
        let ran = service.ctl(command);
        assert_eq!(ran.code, 0, "{command:?}: {ran:?}");
        for (place, text) in [("out", &ran.out), ("err", &ran.err)] {
            let bad = text.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
            assert_eq!(bad, None, "{command:?} {place}: {text:?}");
        }
        assert!(
            ran.out.contains("\\u{1b}") || ran.out.contains("\\u001b"),
            "{command:?}: {}",
            ran.out
        );
    }
    let memory = service.ctl(&["--json", "get", &id]).json();
    assert_eq!(memory["content"], evil, "JSON escapes lose nothing");
}

#[test]
fn a_token_permits_what_it_says_and_no_more() {
    let service = Service::start();
    let token =
        service.ctl(&["token", "create", "--scope", "memory:read", "--note", "reader"]).done();
    fs::write(service.folder().join("reader"), &token).unwrap();
    let reader =
        |arguments: &[&str]| service.ctl(&[&["--token-file", "reader"], arguments].concat());
    assert_eq!(reader(&["search", "x"]).code, 0);
    let refused = reader(&["add", "x"]);
    assert_eq!(refused.code, 4, "{refused:?}");
    assert!(
        refused.err.contains("memory:write") && refused.err.contains("hint: "),
        "{}",
        refused.err
    );
    service.ctl(&["token", "revoke", token.trim()]).done();
    assert_eq!(reader(&["search", "x"]).code, 4, "revoked at once");
    assert!(service.ctl(&["token", "list"]).done().contains("revoked"));
    assert_eq!(service.ctl(&["token", "revoke", "nosuch"]).code, 3);
    let none = service.ctl(&["--token-file", "missing", "status"]);
    assert_eq!(none.code, 3, "{none:?}");
}

#[test]
fn the_index_is_rebuilt_and_the_state_told() {
    let service = Service::start();
    let id = service.add("to be forgotten").to_string();
    service.add("to be kept");
    let done = service.ctl(&["--json", "reindex"]).json();
    assert_eq!(done["indexed"], 2);
    let purged = service.ctl(&["--json", "delete", &id, "--purge"]).json();
    assert_eq!(purged["deleted"], json!([id.parse::<u64>().unwrap()]));
    let log = service.folder().join(".waypost/data/memory/log");
    for entry in fs::read_dir(log).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap_or_default();
        assert!(
            !bytes.windows(15).any(|it| it == b"to be forgotten"),
            "the content is still in the log"
        );
    }
    let status = service.ctl(&["--json", "status"]).json();
    assert_eq!(
        (&status["status"], &status["memories"]),
        (&json!("degraded"), &json!(1)),
        "{status}"
    );
    assert!(service.ctl(&["status"]).done().contains("memories   1"));
}

#[test]
fn doctor_looks_at_the_running_service_and_at_the_store_of_a_stopped_one() {
    let mut service = Service::start();
    service.add("something");
    let part = |findings: &Value, part: &str| {
        findings
            .as_array()
            .unwrap()
            .iter()
            .find(|array| array["part"] == part)
            .cloned()
            .unwrap_or_default()
    };
    let findings = service.ctl(&["--json", "doctor"]).json();
    // It runs without a model here, which causes a warning.
    assert!(part(&findings, "service")["hint"].as_str().unwrap().contains("model"), "{findings}");
    let repair = service.ctl(&["doctor", "--repair"]);
    assert_eq!(repair.code, 1, "{repair:?}");
    assert!(repair.out.contains("stop the service"), "{}", repair.out);

    service.stop();
    let findings = service.ctl(&["--json", "doctor"]).json();
    assert_eq!(part(&findings, "service")["verdict"], "warning");
    assert_eq!(part(&findings, "store")["verdict"], "ok", "{findings}");
    assert!(
        part(&findings, "store")["detail"].as_str().unwrap().contains("all valid"),
        "{findings}"
    );
}

#[test]
fn a_version_that_a_repair_lost_is_named_and_no_older_one_takes_its_place() {
    let mut service = Service::start();
    service.add("On call is Anna.");
    for name in ["Bert", "Carl"] {
        let content = format!("On call is {name}.");
        service.ctl(&["update", "1", "--content", &content]).done();
    }
    let versions = service.ctl(&["--json", "history", "1"]).json();
    let then = versions[1]["changedAt"].as_str().expect("a time").to_owned();
    service.stop();
    let log = service.folder().join(".waypost/data/memory/log");
    let segment = log.join(format!("{:020}.log", 1));
    let mut bytes = fs::read(&segment).expect("a segment");
    let place = bytes.windows(4).position(|window| window == b"Bert").expect("the text");
    bytes[place] ^= 1;
    fs::write(&segment, bytes).expect("a damaged segment");
    let repair = service.ctl(&["doctor", "--repair"]);
    assert!(repair.out.contains("lost an earlier text"), "{repair:?}");

    let service = service.restart();
    let found = service.ctl(&["search", "--as-of", &then, "call"]);
    assert_eq!((found.code, &*found.out), (0, ""), "{found:?}");
    assert!(found.err.contains("1 memory of that time can no longer be found"), "{found:?}");
    let versions = service.ctl(&["--json", "history", "1"]).json();
    assert_eq!(versions.as_array().map(Vec::len), Some(2));
    assert_eq!((&versions[0]["version"], &versions[0]["missingBefore"]), (&json!(1), &Value::Null));
    assert_eq!((&versions[1]["version"], &versions[1]["missingBefore"]), (&json!(3), &json!(1)));
    let said = service.ctl(&["history", "1"]).done();
    assert!(said.contains("version 2  missing (lost by damage)\nversion 3"), "{said}");
}

#[test]
fn the_client_reads_what_every_route_answers() {
    let service = Service::start();
    let token = fs::read_to_string(service.folder().join(".waypost/token")).unwrap();
    let client = waypost_api::client::Client::new(service.url(), Some(token.trim())).unwrap();
    assert_eq!(client.call(&routes::LIVE, ()).unwrap().status, "ok");
    assert_eq!(client.call(&routes::READY, ()).unwrap().status, "ready");
    assert!(client.metrics().unwrap().contains("waypost"));
    assert_eq!(client.call(&routes::OPENAPI, ()).unwrap()["openapi"], "3.1.0");
    assert_eq!(client.call(&routes::LIST_TOKENS, ()).unwrap().len(), 1);
    let refused = client.call(&routes::GET_MEMORY.at(12345), ()).unwrap_err();
    let problem = refused.problem().unwrap();
    assert_eq!((problem.status, problem.instance.as_deref()), (404, Some("/api/memory/12345")));
}

#[test]
fn an_export_replaces_files_alone() {
    let service = Service::start();
    service.ctl(&["add", "one"]).done();
    let folder = tempfile::tempdir().expect("a folder");
    let link = folder.path().join("link");
    std::os::unix::fs::symlink("/dev/null", &link).expect("a link");
    for place in [folder.path(), link.as_path()] {
        let ran = service.ctl(&["export", place.to_str().expect("a path")]);
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.err.contains("is not a regular file"), "{ran:?}");
    }
    assert!(link.is_symlink());
}
