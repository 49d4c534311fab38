//! Memories that are pinned, expire, hold for a time or come back, and searches of the past.

use crate::service::Service;

#[test]
fn pinned_memories_come_first_in_a_list() {
    let service = Service::start();
    let plain = service.add("the first note");
    let pinned = service.ctl(&["--json", "add", "a house rule", "--pin"]).json()["id"].to_string();
    let ids = |arguments: &[&str]| {
        let all = [&["--json", "list"], arguments].concat();
        let list = service.ctl(&all).json();
        let ids = list.as_array().expect("an array").iter().map(|array| array["id"].to_string());
        ids.collect::<Vec<_>>()
    };
    let plain = plain.to_string();
    assert_eq!(ids(&[]), [&*pinned, &*plain]);
    assert_eq!(ids(&["-n", "1"]), [&*pinned]);
    assert_eq!(ids(&["--pinned"]), [&*pinned]);
    assert_eq!(ids(&["--after", &plain]), [&*pinned]);
    assert!(service.ctl(&["list", "-n", "1"]).err.contains("--all"));
    assert!(service.ctl(&["list", "-n", "2"]).err.is_empty());
    assert!(service.ctl(&["list"]).done().contains("a house rule (pinned)"));
    service.ctl(&["update", &pinned, "--unpin"]).done();
    assert_eq!(ids(&[]), [plain, pinned]);
}

#[test]
fn a_lifespan_is_set_shown_and_removed() {
    let service = Service::start();
    let added = service.ctl(&[
        "--json",
        "add",
        "Ada is on call",
        "--valid-from",
        "2026-01-01",
        "--valid-until",
        "2026-02-01T00:00:00Z",
        "--expires-at",
        "3000d",
        "--pin",
    ]);
    let id = added.json()["id"].to_string();
    let shown = service.ctl(&["get", &id]).done();
    assert!(shown.contains("valid from 2026-01-01T00:00:00.000Z"), "{shown}");
    assert!(shown.contains("valid to   2026-02-01T00:00:00.000Z"), "{shown}");
    assert!(shown.contains("expires ") && shown.contains("pinned     yes"), "{shown}");
    let found = |time: &str| {
        let found = service.ctl(&["--json", "search", "--valid-at", time, "on call"]).json();
        found.as_array().map(Vec::len)
    };
    assert_eq!((found("2026-01-15"), found("2026-02-01")), (Some(1), Some(0)));
    service.ctl(&["update", &id, "--no-valid-from", "--no-valid-until", "--no-expires-at"]).done();
    let shown = service.ctl(&["get", &id]).done();
    assert!(!shown.contains("valid") && !shown.contains("expires"), "{shown}");
    for wrong in ["7d ago", "2026-02-30", "2020-01-01"] {
        assert_eq!(service.ctl(&["add", "x", "--expires-at", wrong]).code, 2, "{wrong}");
    }
    assert_eq!(service.ctl(&["update", &id, "--pin", "--unpin"]).code, 2);
}

#[test]
fn a_search_of_the_past_says_what_it_cannot_find() {
    let service = Service::start();
    let id = service.add("the port is 4747").to_string();
    let known = "9999-01-01";
    let found = |time: &str| service.ctl(&["search", "--as-of", time, "port"]);
    assert!(found(known).out.contains("the port is 4747"));
    assert!(found("2000-01-01").err.contains("nothing found"));
    service.ctl(&["update", &id, "--content", "the gate is 4747"]).done();
    let version = service.ctl(&["--json", "history", &id]).json()[0]["changedAt"].clone();
    let then = version.as_str().expect("a time");
    assert!(found(then).out.contains("the port is 4747"));
    service.ctl(&["compact", "--versions", "1"]).done();
    let after = found(then);
    assert!(after.err.contains("1 memory of that time can no longer be found"), "{after:?}");
    assert!(!after.err.contains("instead of"), "{after:?}");
}

#[test]
fn versions_and_deleted_memories_come_back() {
    let service = Service::start();
    let id = service.add("the first text").to_string();
    service.ctl(&["update", &id, "--content", "the second text"]).done();
    let reverted = service.ctl(&["revert", &id, "--to", "1"]).done();
    assert_eq!(reverted, "reverted #1  the first text\n");
    let missing = service.ctl(&["revert", &id, "--to", "9"]);
    assert!(missing.code == 3 && missing.err.contains("it has versions 1 to 3"), "{missing:?}");
    assert_eq!(service.ctl(&["revert", &id, "--to", "0"]).code, 2);
    let refused = service.ctl(&["undelete", &id]);
    assert!(refused.code == 1 && refused.err.contains("memory 1 is not deleted"), "{refused:?}");
    service.ctl(&["delete", &id]).done();
    assert_eq!(service.ctl(&["undelete", &id]).done(), "restored #1  the first text\n");
    let history = service.ctl(&["history", &id]).done();
    assert!(history.contains("version 4  deleted") && history.contains("version 4  restored"));
    service.ctl(&["delete", &id, "--purge"]).done();
    let gone = service.ctl(&["undelete", &id]);
    assert!(gone.code != 0 && gone.err.contains("a compaction removed it"), "{gone:?}");
}

#[test]
fn a_memory_is_merged_into_another_one() {
    let service = Service::start();
    let [one, two, three] = ["one", "two", "three"].map(|it| service.add(it).to_string());
    service.ctl(&["link", &two, &three, "--type", "part_of"]).done();
    let merged = service.ctl(&["merge", &two, "--into", &one, "--content", "both", "--tag", "t"]);
    assert_eq!(merged.done(), "merged #2 into #1  both\n");
    assert_eq!(service.ctl(&["get", &two]).code, 3);
    assert!(service.ctl(&["links", &one]).done().contains("#3"));
    let plain = service.ctl(&["--json", "merge", &three, "--into", &one]).json();
    assert_eq!((&plain["content"], &plain["tags"][0]), (&"both".into(), &"t".into()));
    let same = service.ctl(&["merge", &one, "--into", &one]);
    assert_eq!(same.code, 2);
    assert!(same.err.contains("<ID>: must be another memory than `--into`"), "{}", same.err);
    assert_eq!(service.ctl(&["merge", &one]).code, 2);
}
