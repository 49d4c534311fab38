//! Filters of `search`, `list` and `count`, and the order of lists.

use crate::service::Service;

#[test]
fn tags_and_metadata_select_memories() {
    let service = Service::start();
    let add = |arguments: &[&str]| {
        let all = [&["--json", "add"], arguments].concat();
        service.ctl(&all).json()["id"].to_string()
    };
    let wiki = add(&["one port", "--tag", "a", "--meta", "source=wiki", "--meta", "priority=2"]);
    let time = "seen=2026-03-01T00:00:00Z";
    let mail = add(&["two port", "--tag", "b", "--meta", "source=mail", "--meta", time]);
    let found = |arguments: &[&str]| {
        let ids = |command: &[&str]| {
            let all = [&["--json"], command, arguments].concat();
            let found = service.ctl(&all).json();
            let found = found.as_array().expect("an array").iter();
            let mut ids: Vec<String> = found.map(|found| found["id"].to_string()).collect();
            ids.sort();
            ids
        };
        let list = ids(&["list"]);
        assert_eq!(ids(&["search", "port"]), list);
        list
    };
    assert_eq!(found(&["--tag-any", "a", "--tag-any", "b"]), [&*wiki, &*mail]);
    assert_eq!(found(&["--tag-any", "a", "--tag-any", "c"]), [&*wiki]);
    assert_eq!(found(&["--meta", "source=wiki"]), [&*wiki]);
    assert_eq!(found(&["--meta", "source=wiki", "--meta", "source=mail"]), [&*wiki, &*mail]);
    assert_eq!(found(&["--meta", "priority>=2", "--meta", "priority<=2.5"]), [&*wiki]);
    assert_eq!(found(&["--meta", "priority=\"2\""]), Vec::<String>::new());
    assert_eq!(found(&["--meta", "seen>=2026-01-01T00:00:00Z"]), [&*mail]);
    for (wrong, reason) in [
        (&["source"][..], "expected KEY=VALUE, KEY>=VALUE or KEY<=VALUE"),
        (&["a=1", "a>=1"], "the key already has a value"),
        (&["a>=1", "a=1"], "the key already has a range"),
        (&["a>=1", "a>=2"], "the key already has this bound"),
        (&["a=1", "a=x"], "mixes types"),
        (&["a>=x"], "neither a number nor an RFC 3339 time"),
    ] {
        let tests = wrong.iter().flat_map(|wrong| ["--meta", wrong]);
        let all: Vec<&str> = ["list"].into_iter().chain(tests).collect();
        let refused = service.ctl(&all);
        assert!(refused.code != 0 && refused.err.contains(reason), "{refused:?}");
    }
}

#[test]
fn memories_are_counted_and_the_newest_listed_first() {
    let service = Service::start();
    for (text, day, kind) in [("b", "02", "fact"), ("a", "01", "note"), ("c", "03", "note")] {
        let time = format!("2024-01-{day}");
        service.ctl(&["add", text, "--created-at", &time, "--type", kind, "--tag", "t"]).done();
    }
    service.ctl(&["update", "2", "--pin"]).done();
    let ids = |arguments: &[&str]| {
        let all = [&["--json", "list"], arguments].concat();
        let list = service.ctl(&all).json();
        let ids = list.as_array().expect("an array").iter();
        ids.map(|id| id["id"].as_u64().expect("an id")).collect::<Vec<_>>()
    };
    assert_eq!(ids(&["--newest"]), [3, 1, 2]);
    assert_eq!(ids(&["--newest", "-n", "1"]), [3]);
    assert_eq!(ids(&["--newest", "--after", "3"]), [1, 2]);
    assert_eq!(ids(&["--newest", "--all", "--type", "note"]), [3, 2]);
    let more = service.ctl(&["list", "--newest", "-n", "2"]).err;
    assert!(more.contains("`ctl list --newest --after 1`, or `--all`"), "{more}");
    assert_eq!(service.ctl(&["count"]).done(), "3 memories\n");
    assert_eq!(service.ctl(&["count", "--type", "fact"]).done(), "1 memory\n");
    let by = service.ctl(&["count", "--by", "type", "--by", "tag"]).done();
    let words: Vec<&str> = by.split_whitespace().collect();
    assert_eq!(words[..8], ["3", "memories", "TYPE", "MEMORIES", "note", "2", "fact", "1"]);
    assert_eq!(words[8..], ["TAG", "MEMORIES", "t", "3"]);
    let json = service.ctl(&["--json", "count", "--by", "space", "--pinned"]).json();
    assert_eq!(json.to_string(), r#"{"bySpace":{"default":1},"count":1}"#);
    assert_eq!(service.ctl(&["count", "--by", "kind"]).code, 2);
}
