//! Filters of `search` and `list`.

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
            let mut ids: Vec<String> = found.map(|it| it["id"].to_string()).collect();
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
        let tests = wrong.iter().flat_map(|it| ["--meta", it]);
        let all: Vec<&str> = ["list"].into_iter().chain(tests).collect();
        let refused = service.ctl(&all);
        assert!(refused.code != 0 && refused.err.contains(reason), "{refused:?}");
    }
}
