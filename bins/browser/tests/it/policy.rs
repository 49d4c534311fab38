//! What programs and pages can access.

use std::fs;

use serde_json::json;

use crate::server::{Server, page};
use crate::world::Place;

#[test]
fn what_is_not_public_needs_the_person_or_a_permission() {
    let begun = Server::start(|_| page("<h1>Begun</h1>"));
    let other = Server::start(|_| page("<h1>Other</h1>"));
    let place = Place::new();
    let arguments = json!({ "url": other.url("/") });
    {
        let browser = place.plain(&begun.url("/"), &["--no-mesh"]);
        // The person started there.
        assert_eq!(browser.done("read", &json!({}))["dom_summary"]["headings"], json!(["Begun"]));
        let problem = browser.refused("navigate", &arguments, 403);
        assert!(problem["detail"].as_str().is_some_and(|it| it.contains("--allow")), "{problem}");
        let by_name = json!({ "url": format!("http://localhost:{}/", other.port) });
        browser.refused("navigate", &by_name, 403);
        let metadata = json!({ "url": "http://169.254.169.254/latest/meta-data/" });
        browser.refused("navigate", &metadata, 403);
    }
    assert!(other.asked().is_empty(), "nobody came: {:?}", other.asked());
    for allow in [format!("127.0.0.1:{}", other.port), "127.0.0.1".to_owned(), "private".to_owned()]
    {
        let browser = place.plain("about:blank", &["--no-mesh", "--allow", &allow]);
        assert_eq!(browser.done("navigate", &arguments)["status"], 200, "{allow}");
    }
}

#[test]
fn ports_of_waypost_are_reached_by_nobody() {
    let service = Server::start(|_| page("<h1>The service</h1>"));
    let place = Place::new();
    let listen = format!("listen: 127.0.0.1:{}\n", service.port);
    place.configure(&listen);
    let browser = place.plain("about:blank", &["--no-mesh", "--allow", "private"]);
    browser.refused("navigate", &json!({ "url": service.url("/") }), 403);
    let itself = json!({ "url": format!("http://{}/read", browser.address) });
    browser.refused("navigate", &itself, 403);
    assert!(service.asked().is_empty(), "nobody came: {:?}", service.asked());
    // Nor may the person.
    let mut start = place.command(&[&service.url("/"), "--headless", "--listen", "127.0.0.1:0"]);
    let refused = start.output().expect("it ends");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("a port of Waypost itself"), "{said}");
}

/// A service takes a free port if the one of its settings is in use, and may start after the browser.
#[test]
fn the_port_of_the_running_service_is_reached_by_nobody() {
    let service = Server::start(|_| page("<h1>The service</h1>"));
    let place = Place::new();
    place.configure("");
    let browser = place.plain("about:blank", &["--no-mesh", "--allow", "private"]);
    let there = json!({ "url": service.url("/") });
    assert_eq!(browser.done("navigate", &there)["status"], 200);
    fs::create_dir_all(place.file(".waypost/data")).expect("a folder");
    let described = json!({ "pid": 1, "url": format!("http://127.0.0.1:{}", service.port) });
    fs::write(place.file(".waypost/data/service.json"), described.to_string()).expect("a file");
    browser.refused("navigate", &there, 403);
    let other = Server::start(|_| page("<h1>Another</h1>"));
    assert_eq!(browser.done("navigate", &json!({ "url": other.url("/") }))["status"], 200);
}

#[test]
fn a_page_reaches_no_port_of_waypost_either() {
    let service = Server::start(|_| page("<h1>The service</h1>"));
    let port = service.port;
    let pages = Server::start(move |_| {
        page(&format!(
            "<img src=http://127.0.0.1:{port}/image><script>
            fetch('http://127.0.0.1:{port}/fetch', {{ method: 'POST', mode: 'no-cors', body: '{{}}' }})
                .finally(() => document.body.append('done'))</script>"
        ))
    });
    let place = Place::new();
    place.configure(&format!("listen: 127.0.0.1:{port}\n"));
    let browser = place.chromium(&pages.url("/"), &["--no-mesh", "--allow", "private"]);
    browser.done("wait", &json!({ "text": "done", "timeout": 30_000 }));
    let read = browser.done("read", &json!({}));
    let errors = read["dom_summary"]["errors"].to_string();
    assert!(errors.contains("/image") && errors.contains("403"), "{errors}");
    assert!(service.asked().is_empty(), "nobody came: {:?}", service.asked());
}

#[test]
fn pictures_are_made_if_a_setting_says_so() {
    let server = Server::start(|_| page("<h1>Hello</h1>"));
    let place = Place::new();
    place.configure("browser:\n  screenshots: true\n");
    let browser = place.chromium(&server.url("/"), &["--no-mesh"]);
    let picture = browser.done("screenshot", &json!({}));
    assert!(picture["data"].as_str().is_some_and(|it| it.starts_with("iVBOR")), "a PNG");
}

#[test]
fn the_launcher_takes_the_program_beside_it() {
    let place = Place::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/launch.sh");
    let beside = place.temporary().join("launch.sh");
    fs::copy(script, &beside).expect("the script is copied");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_browser"), place.temporary().join("browser"))
        .expect("a link");
    let run = |arguments: &[&str]| {
        let output = place.command_of(&beside, arguments).output().expect("it runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = run(&[]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("launch.sh URL"), "{said}");
    let (code, said) = run(&["file:///etc/passwd", "--headless", "--listen", "127.0.0.1:0"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("expected http or https"), "{said}");
}
