//! Shutdown leaves nothing behind.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;

use crate::server::{Server, page};
use crate::world::{Browser, Place, going_for_long, slow};

/// Ends a browser with a signal, and checks what is left of it.
fn ends_without_a_trace(place: &Place, browser: &mut Browser, signal: &str) {
    browser.signal(signal);
    let (status, said) = browser.end();
    assert_eq!(status.code(), Some(0), "{signal}: {said}");
    assert_eq!(said, "", "{signal}");
    let left: Vec<_> = fs::read_dir(place.temporary()).expect("a folder").flatten().collect();
    assert!(left.is_empty(), "{signal}: {left:?}");
    place.until_no_chromium();
}

#[test]
fn a_signal_ends_chromium_and_removes_what_is_temporary() {
    let server = Server::start(|_| page("<h1>Hello</h1>"));
    for signal in ["TERM", "HUP"] {
        let place = Place::new();
        let mut browser = place.chromium(&server.url("/"), &[]);
        assert!(!place.chromiums().is_empty(), "Chromium runs");
        ends_without_a_trace(&place, &mut browser, signal);
        assert!(place.peer().peers().iter().all(|it| it.is_self), "it has left");
    }
}

#[test]
fn who_waits_is_told_of_the_end() {
    let server = Server::start(slow);
    let place = Place::new();
    let mut browser = place.plain(&server.url("/"), &["--no-mesh"]);
    let waiting = going_for_long(&server, &browser);
    ends_without_a_trace(&place, &mut browser, "INT");
    let told = waiting.join().expect("no panic").problem(503);
    assert!(told["detail"].as_str().is_some_and(|it| it.contains("ending")), "{told}");
}

#[test]
fn a_named_profile_stays_with_its_cookies() {
    let server = Server::start(|request| {
        let cookie = request.headers.get("cookie").cloned().unwrap_or_default();
        let set = ("set-cookie".to_owned(), "login=yes; Max-Age=86400".to_owned());
        Some((200, vec![set], format!("<title>x</title><p>{cookie}</p>")))
    });
    let place = Place::new();
    let kept = ["--no-mesh", "--profile", "work"];
    let mut first = place.chromium(&server.url("/"), &kept);
    ends_without_a_trace(&place, &mut first, "TERM");
    let second = place.chromium(&server.url("/"), &kept);
    let read = second.done("read", &json!({}));
    assert_eq!(read["dom_summary"]["text_content"], "login=yes", "{read}");
    assert!(place.file(".waypost/.gitignore").exists(), "sessions are kept out of git");
}

#[test]
fn leftovers_of_a_killed_browser_are_removed_by_the_next() {
    let server = Server::start(|_| page("<h1>Hello</h1>"));
    let place = Place::new();
    let left = || -> Vec<_> {
        fs::read_dir(place.temporary())
            .expect("a folder")
            .flatten()
            .map(|entry| entry.path())
            .collect()
    };
    let mut first = place.chromium(&server.url("/"), &["--no-mesh"]);
    let of_first = left();
    assert!(!of_first.is_empty(), "a profile, and what Chromium keeps beside it");
    first.kill();
    place.until_no_chromium();
    assert!(of_first.iter().all(|it| it.exists()), "nobody was there to remove it");
    let second = place.chromium(&server.url("/"), &["--no-mesh"]);
    assert!(of_first.iter().all(|it| !it.exists()), "{of_first:?} {:?}", left());
    // While a second one runs, that one's profile stays.
    let of_second = left();
    let third = place.chromium(&server.url("/"), &["--no-mesh"]);
    assert!(of_second.iter().all(|it| it.exists()), "{of_second:?} {:?}", left());
    for browser in [&second, &third] {
        browser.done("reload", &json!({}));
    }
}

#[test]
fn a_profile_belongs_to_one_browser_at_a_time() {
    let server = Server::start(|_| page("<h1>Hello</h1>"));
    let place = Place::new();
    let profiles = place.file(".waypost/data/browser");
    let kept = ["--no-mesh", "--profile", "work"];
    let first = place.chromium(&server.url("/"), &kept);
    let refused = |name: &str| {
        let usual = ["about:blank", "--headless", "--listen", "127.0.0.1:0", "--no-mesh"];
        let of_it = ["--engine", "chromium", "--no-sandbox", "--profile", name];
        let ended = place.command(&[&usual[..], &of_it].concat()).output().expect("it ends");
        assert_eq!(ended.status.code(), Some(1), "{name}: {ended:?}");
        String::from_utf8_lossy(&ended.stderr).into_owned()
    };
    refused("work");
    assert_eq!(first.done("read", &json!({}))["dom_summary"]["headings"], json!(["Hello"]));
    fs::create_dir(profiles.join("open")).expect("a folder");
    fs::set_permissions(profiles.join("open"), fs::Permissions::from_mode(0o755)).expect("a mode");
    symlink(profiles.join("work"), profiles.join("link")).expect("a link");
    for name in ["open", "link"] {
        let said = refused(name);
        assert!(said.contains("mode 0700, and not a symbolic link"), "{said}");
    }
}
