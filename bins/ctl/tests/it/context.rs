//! `context` against a real service.

use std::fs;
use std::path::Path;

use crate::service::Service;

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
}

fn indexed() -> Service {
    let service = Service::start_with(|folder, _| {
        write(folder, "AGENTS.md", "# Working here\n\nRun the tests of the lamp first.\n");
        write(
            folder,
            "src/lamp.rs",
            "/// Turns the lamp by so many degrees.\npub fn rotate_lamp(degrees: u32) -> u32 {\n    degrees % 360\n}\n",
        );
        write(
            folder,
            "docs/odd.md",
            "# The status of the lamp\n\nIt \u{1b}[31m glows \u{1b}[0m \u{202e}red.\n",
        );
    });
    service.ctl(&["context", "rescan"]).done();
    service
}

#[test]
fn a_listing_says_where_what_and_why() {
    let service = indexed();
    let listed = service.ctl(&["context", "--task", "code", "rotate", "lamp"]).done();
    let first = listed.lines().next().expect("an item");
    assert!(first.contains("  src/lamp.rs:1  code function  "), "{listed}");
    assert!(first.contains("rotate_lamp  "), "{listed}");
    let reasons = first.rsplit("  ").next().expect("reasons");
    assert!(!reasons.trim().is_empty() && !reasons.contains("rotate_lamp"), "{listed}");
    assert!(listed.contains("Turns the lamp by so many degrees."), "{listed}");
    let json = service.ctl(&["--json", "context", "rotate lamp", "-n", "1"]).json();
    assert_eq!(json["items"].as_array().map(Vec::len), Some(1), "{json}");
    assert_eq!(json["items"][0]["line"], 1, "{json}");
    let narrowed = ["context", "lamp", "--source", "knowledge", "--path", "docs/**", "--full"];
    let narrowed = service.ctl(&narrowed).done();
    assert!(narrowed.contains("docs/odd.md:1") && !narrowed.contains("src/"), "{narrowed}");
    let now = service.ctl(&["context"]).done();
    assert!(now.contains("AGENTS.md:1  knowledge instructions"), "{now}");
    let few = service.ctl(&["context", "lamp", "--max-tokens", "10"]);
    assert!(few.err.contains("--max-tokens"), "{few:?}");
    let piped = service.ctl_with_input(&["context", "-"], b"rotate lamp\n").done();
    assert!(piped.contains("src/lamp.rs:1"), "{piped}");
    let memory = service.add("the lamp is insured");
    let with = service.ctl(&["context", "lamp", "--source", "code,memory"]).done();
    assert!(with.contains(&format!("/api/memory/{memory}  memory note")), "{with}");
}

#[test]
fn what_would_command_a_terminal_is_shown_instead() {
    let service = indexed();
    for arguments in [
        &["context", "glows"][..],
        &["context", "glows", "--full"],
        &["--json", "context", "glows"],
    ] {
        let out = service.ctl(arguments).done();
        assert!(out.contains("glows"), "{out:?}");
        assert!(!out.contains('\u{1b}') && !out.contains('\u{202e}'), "{out:?}");
    }
}

#[test]
fn status_is_a_command_and_can_be_a_query() {
    let service = indexed();
    let status = service.ctl(&["context", "status"]).done();
    assert!(status.contains("files") && status.contains("watching"), "{status}");
    let json = service.ctl(&["context", "--json", "status"]).json();
    assert_eq!(json["files"], 3, "{json}");
    let found = service.ctl(&["context", "--", "status"]).done();
    assert!(found.contains("docs/odd.md:1"), "{found}");
    let found = service.ctl(&["context", "lamp", "status"]).done();
    assert!(found.contains("docs/odd.md:1"), "{found}");
    let mixed = service.ctl(&["context", "--task", "code", "status"]);
    assert_eq!(mixed.code, 2, "{mixed:?}");
    assert!(mixed.err.contains("put `--` before"), "{mixed:?}");
    assert_eq!(service.ctl(&["context", "--task", "cooking", "x"]).code, 2);
    assert_eq!(service.ctl(&["context", "--max", "201", "x"]).code, 2);
    let climbs = service.ctl(&["context", "x", "--path", "../**"]);
    assert!(climbs.code != 0 && climbs.err.contains("relative to the project"), "{climbs:?}");
    let scan = service.ctl(&["context", "rescan"]).done();
    assert!(scan.contains("3 files, 0 indexed, 0 removed"), "{scan}");
}
