//! Suggestions about similar memories.

use crate::service::Service;

#[test]
fn an_add_notes_a_similar_memory_and_a_list_names_the_command() {
    let service = Service::start();
    assert!(service.ctl(&["suggestions"]).err.contains("no suggestions"));
    let add = |port: &str, created_at: &str| {
        let content = format!("The service listens on port {port}");
        service.ctl(&["add", &content, "--created-at", created_at])
    };
    assert!(add("4000", "2026-01-01").err.is_empty());
    let added = add("4747", "2026-02-01");
    let reason = "differs in \"4000\" → \"4747\"";
    assert!(added.err.contains(&format!("similar to #1: {reason}")), "{added:?}");
    assert!(added.err.contains("`ctl link 2 1 --type updates`"), "{added:?}");

    let listed = service.ctl(&["suggestions"]).done();
    let expected = format!(
        "0.833  updates      #2 \"The service listens on port 4747\"  \
         #1 \"The service listens on port 4000\"  {reason}  `ctl link 2 1 --type updates`\n"
    );
    assert_eq!(listed, expected);
    assert_eq!(service.ctl(&["suggestions", "#1", "--limit", "1"]).done(), expected);
    let found = service.ctl(&["--json", "suggestions", "2", "--space", "default"]).json();
    assert_eq!(found["suggestions"][0]["reason"], reason);
    assert!(service.ctl(&["suggestions", "--before", "2"]).done().is_empty());
    assert_eq!(service.ctl(&["suggestions", "--before", "3"]).done(), expected);
    assert_eq!(service.ctl(&["suggestions", "2", "--before", "3"]).code, 2);
    assert_eq!(service.ctl(&["suggestions", "9"]).code, 3);
    assert_eq!(service.ctl(&["suggestions", "--limit", "0"]).code, 2);

    service.ctl(&["link", "2", "1", "--type", "updates"]).done();
    assert!(service.ctl(&["suggestions"]).done().is_empty());
}

#[test]
fn a_title_and_a_reason_do_not_reach_the_terminal_as_control_characters() {
    let service = Service::start();
    let text = "The keys \u{1b}[31mare in the blue tin";
    for kind in ["note", "decision"] {
        service.ctl(&["add", text, "--type", kind]).done();
    }
    let text = format!("{text} \u{1b}]0;x\u{7}");
    let added = service.ctl(&["add", &text, "--title", "\u{1b}[2J"]);
    let listed = service.ctl(&["suggestions"]).done();
    assert_eq!(listed.matches("ctl delete").count(), 3, "{listed}");
    for shown in [listed, added.err] {
        assert!(!shown.contains(['\u{1b}', '\u{7}']), "{shown:?}");
    }
}
