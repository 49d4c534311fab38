//! Pasting into the terminal inserts text, and nothing else.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use waypost_mesh::Pattern;

use crate::server::{Server, page};
use crate::tmux::Terminal;
use crate::world::call;

const CANARY: &str = "kanarienvogel7";
/// Typed, it would ask for help, start an address, open a tab, submit a form, and quit in three
/// ways.
const KEYS: &str = "?o\rt\tf\u{1b}[A\u{1b}OP\u{9b}1~\u{7f}\u{3}\u{11}q";
/// The same as one line of text.
const KEYS_AS_TEXT: &str = "?o t\tf[AOP1~q";

const FORM: &str = "<h1>Form</h1><form action=/sent method=post>
  <p><label>One <input name=one size=30></label></p>
  <p><label>Two <textarea name=two rows=4></textarea></label></p>
  <p><label>Code <input name=code type=password oninput='told.textContent = this.value'></label></p>
  <button>Send</button></form><p id=told></p>";

#[test]
fn pasted_input_is_text_and_a_secret_is_not_revealed() {
    let sent = Arc::new(Mutex::new(String::new()));
    let body = Arc::clone(&sent);
    let server = Server::start(move |request| {
        if request.path == "/sent" {
            body.lock().expect("nobody panicked").clone_from(&request.body);
            return page("<h1>It was sent</h1>");
        }
        page(FORM)
    });
    let terminal = Terminal::start(&server.url("/"), &[], (100, 30));
    terminal.address();
    terminal.shows("Send");
    let mesh = terminal.place.peer();
    let listener = mesh.listen(&Pattern::all());
    let read = || call(&mesh, "read", &json!({})).expect("it reads");

    // If nothing takes text, it has no effect; the next key is handled after it.
    terminal.paste(KEYS);
    terminal.press(&["i"]);
    let screen = terminal.shows("Esc leaves the field");
    assert!(!screen.contains("go to") && !screen.contains("It was sent"), "{screen}");
    terminal.paste(KEYS);
    terminal.until("the text", |terminal| terminal.contains("1~q"));
    terminal.press(&["Tab"]);
    terminal.paste("first\nsecond");
    terminal.shows("second");
    terminal.press(&["Tab"]);
    terminal.paste(CANARY);
    let mut told = terminal.shows(&"•".repeat(CANARY.len()));
    told.push_str(&read().to_string());

    // In the address line, too, the end of a line sends nothing.
    terminal.press(&["Escape"]);
    terminal.until("the field is left", |terminal| !terminal.contains("Esc leaves the field"));
    terminal.press(&["o"]);
    terminal.shows("go to");
    terminal.paste("\u{1b}[2J127.0.0.1:1/elsewhere\r\r");
    told.push_str(&terminal.shows("[2J127.0.0.1:1/elsewhere"));
    terminal.press(&["Escape"]);
    terminal.until("the line is gone", |terminal| !terminal.contains("go to"));
    terminal.press(&["f"]);
    terminal.shows("fSend");
    terminal.press(&["f"]);
    told.push_str(&terminal.shows("It was sent"));
    told.push_str(&read().to_string());

    let body = sent.lock().expect("nobody panicked").clone();
    let values: Vec<String> =
        url::form_urlencoded::parse(body.as_bytes()).map(|value| value.1.into_owned()).collect();
    assert_eq!(values, [KEYS_AS_TEXT, "first\r\nsecond", CANARY]);
    let mut events = Vec::new();
    loop {
        let event = listener.next(crate::tmux::PATIENCE).expect("it was told");
        let is_last = event.kind == "navigated" && event.body["url"] == server.url("/sent");
        events.push(event.body);
        if is_last {
            break;
        }
    }
    let inputs = events.iter().filter(|event| event["type"] == "human_input").count();
    assert_eq!(inputs, 6, "with Tab and Escape: {events:?}");
    told.push_str(&Value::from(events).to_string());
    assert!(!told.contains(CANARY), "{told}");
    let files = files_with(&terminal.place.file(""), CANARY.as_bytes());
    assert_eq!(files, Vec::<PathBuf>::new(), "neither ours nor Chromium's");
    assert_eq!(
        call(&mesh, "tabs", &json!({})).expect("it lists")["tabs"].as_array().map(Vec::len),
        Some(1)
    );
}

/// The files in a folder that contain a text.
fn files_with(folder: &Path, text: &[u8]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let kind = entry.file_type().expect("a kind");
        if kind.is_dir() {
            found.append(&mut files_with(&entry.path(), text));
        } else if kind.is_file() {
            // Some are deleted while others are read.
            let content = fs::read(entry.path()).unwrap_or_default();
            if content.windows(text.len()).any(|window| window == text) {
                found.push(entry.path());
            }
        }
    }
    found
}
