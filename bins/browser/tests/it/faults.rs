//! Failures underneath the commands.

use std::process::Command;
use std::thread;

use serde_json::json;

use crate::server::{Server, page};
use crate::world::{Place, post};

#[test]
fn a_chromium_killed_during_a_call_is_reported_and_restarted() {
    let server = Server::start(|_| page("<h1>Hello</h1>"));
    let place = Place::new();
    let browser = place.chromium(&server.url("/"), &["--no-mesh"]);
    let address = browser.address;
    let waiting = thread::spawn(move || {
        post(address, "wait", &json!({ "text": "never", "timeout": 60_000 }))
    });
    // It waits by now; if it is late, it arrives at a page that has crashed.
    browser.done("read", &json!({}));
    for id in place.chromiums() {
        // Some end together with others.
        Command::new("kill").args(["-9", &id.to_string()]).output().expect("there is kill");
    }
    let told = waiting.join().expect("no panic").problem(409);
    assert_eq!(told["type"], "urn:waypost:browser:crashed");
    let again = browser.done("navigate", &json!({ "url": server.url("/") }));
    assert_eq!(again["status"], 200);
    assert_eq!(browser.done("read", &json!({}))["dom_summary"]["headings"], json!(["Hello"]));
}
