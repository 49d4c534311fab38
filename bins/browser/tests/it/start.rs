//! When the program refuses to start, and why.

use serde_json::json;

use crate::server::{Server, page};
use crate::world::{Browser, Place, call};

#[test]
fn a_wrong_start_says_what_would_be_right() {
    let place = Place::new();
    for (arguments, code, said) in [
        (&["https://a.example"][..], 1, "--headless"),
        (&[], 2, "<URL>"),
        (&["https://a.example", "--headless", "--listen", "0.0.0.0:4748"], 1, "requires no token"),
        (&["https://a.example", "--headless", "--listen", "[::]:4748"], 1, "ctl mesh pair"),
        (&["https://a.example", "--headless", "--listen", "here"], 1, "--listen"),
        (
            &["https://a.example", "--headless", "--engine", "gecko"],
            1,
            "auto or chromium or static",
        ),
        (&["https://a.example", "--headless", "--allow", "http://a/"], 1, "--allow"),
        (&["https://a.example", "--headless", "--profile", "../other"], 2, "a-z, 0-9 and -"),
        (&["https://a.example", "--headless", "--project", "nowhere"], 1, "nowhere"),
        (
            &["file:///etc/passwd", "--headless", "--listen", "127.0.0.1:0"],
            1,
            "expected http or https",
        ),
        (&["a b", "--headless", "--listen", "127.0.0.1:0"], 1, "url:"),
        (
            &["https://a.example", "--headless", "--engine", "static", "--profile", "work"],
            1,
            "the static engine keeps nothing",
        ),
    ] {
        let ended = place.command(arguments).output().expect("it ends");
        let told = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(code), "{arguments:?}: {told}");
        assert!(told.contains(said), "{arguments:?}: {told}");
        assert!(ended.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_second_browser_reports_the_first_and_changes_nothing() {
    let server = Server::start(|_| page("<h1>Hello</h1>"));
    let place = Place::new();
    let first = place.plain(&server.url("/"), &[]);
    let taken =
        place.command(&["about:blank", "--headless", "--listen", &first.address.to_string()]);
    let (code, said) = ended(taken);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("--listen 127.0.0.1:PORT"), "{said}");
    let usual = ["about:blank", "--headless", "--engine", "static", "--listen", "127.0.0.1:0"];
    let (code, said) = ended(place.command(&usual));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("browser.relay") && said.contains("--no-mesh"), "{said}");
    // A second one, without the mesh.
    let second = place.plain("about:blank", &["--no-mesh"]);
    assert!(second.said.contains("no mesh"), "{}", second.said);
    second.refused("read", &json!({ "mode": "everything" }), 422);
    let read = call(&place.peer(), "read", &json!({})).expect("the first answers");
    assert_eq!(read["dom_summary"]["headings"], json!(["Hello"]));
}

fn ended(mut command: std::process::Command) -> (Option<i32>, String) {
    let ended = command.output().expect("it ends");
    (ended.status.code(), String::from_utf8_lossy(&ended.stderr).into_owned())
}

#[test]
fn without_chromium_pages_are_shown_without_scripts_or_the_start_fails() {
    let server = Server::start(|_| page("<h1>Hello</h1>"));
    let place = Place::new();
    let empty = place.temporary();
    let mut asked = place.command(&["about:blank", "--headless", "--engine", "chromium"]);
    asked.args(["--listen", "127.0.0.1:0"]).env("PATH", &empty);
    let (code, said) = ended(asked);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("Debian's package `chromium`"), "{said}");
    let url = server.url("/");
    let mut command = place.command(&[&url, "--headless", "--listen", "127.0.0.1:0", "--no-mesh"]);
    command.env("PATH", &empty);
    let browser = Browser::begun(command);
    assert!(browser.said.contains("without their scripts"), "{}", browser.said);
    assert!(browser.said.contains("no mesh · static"), "{}", browser.said);
    assert_eq!(browser.done("read", &json!({}))["engine"], "static");
}

#[test]
fn a_first_page_that_does_not_come_is_told_and_the_browser_is_there() {
    let server = Server::start(|_| page("<h1>Hello</h1>"));
    let place = Place::new();
    let allow = format!("127.0.0.1:{}", server.port);
    // Nothing listens on port 1.
    let browser = place.plain("http://127.0.0.1:1/", &["--no-mesh", "--allow", &allow]);
    assert!(browser.said.contains("the first page did not come"), "{}", browser.said);
    assert_eq!(browser.done("navigate", &json!({ "url": server.url("/") }))["status"], 200);
}
