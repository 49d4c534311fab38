//! The recall log on a terminal.

use serde_json::json;
use waypost_api::routes;

use crate::service::Service;

#[test]
fn the_log_and_its_reasons_are_shown_without_texts() {
    let service = Service::start();
    assert_eq!(service.ctl(&["recall", "log"]).err.trim(), "note: no entries");
    let id = service.add("The secret of the \u{1b}[31mharbour is a tunnel.");
    let request = waypost_api::RecallPromptRequest {
        session: "evil\u{1b}[31m".to_owned(),
        harness: "claude".to_owned(),
        prompt: "what is the secret of the harbour?".to_owned(),
        space: None,
    };
    let recalled = service.client().call(&routes::RECALL_FOR_PROMPT, &request).expect("it answers");
    assert!(recalled.used.iter().chain([]).all(|it| it.id == id));
    let log = service.ctl(&["recall", "log"]).done();
    assert!(log.contains("evil\\u{1b}[31m") && !log.contains('\u{1b}'), "{log}");
    assert!(!log.contains("tunnel"), "{log}");
    let listed = service.ctl(&["--json", "recall", "log", "--memory", &id.to_string()]).json();
    assert_eq!(listed[0]["harness"], "claude");
    assert_eq!(service.ctl(&["--json", "recall", "log", "--memory", "999"]).json(), json!([]));
    let why = service.ctl(&["recall", "why", "--session", "nobody", "the secret of the harbour"]);
    assert!(why.err.contains("no prompt of this session"), "{why:?}");
    assert_eq!(service.ctl(&["recall", "why", "--session", "nobody"]).code, 2);
}
