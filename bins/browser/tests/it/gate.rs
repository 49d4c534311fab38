//! Who may send commands over HTTP, and how.

use serde_json::json;

use crate::server::{Server, page};
use crate::world::{Browser, Place, send};

fn opened(place: &Place) -> (Server, Browser) {
    let server = Server::start(|_| page("<h1>Hello</h1>"));
    let browser = place.plain(&server.url("/"), &["--no-mesh"]);
    (server, browser)
}

#[test]
fn web_pages_and_other_host_names_are_rejected() {
    let place = Place::new();
    let (server, browser) = opened(&place);
    let address = browser.address;
    let port = address.port();
    let read = |headers: &str| {
        send(address, &format!("POST /read HTTP/1.1\r\n{headers}content-length: 0\r\n"), b"")
    };
    for good in [format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("[::1]:{port}")]
    {
        assert_eq!(read(&format!("host: {good}\r\n")).status, 200, "{good}");
    }
    let ours = format!("host: {address}\r\n");
    assert_eq!(read(&format!("{ours}sec-fetch-site: none\r\n")).status, 200);
    // A name whose owner points it at 127.0.0.1.
    for evil in
        [format!("evil.example:{port}"), "evil.example".to_owned(), "127.0.0.1:1".to_owned()]
    {
        read(&format!("host: {evil}\r\n")).problem(421);
    }
    read("").problem(400);
    read(&format!("{ours}{ours}")).problem(400);
    for web in [
        "origin: https://evil.example\r\n".to_owned(),
        "origin: null\r\n".to_owned(),
        format!("origin: http://{address}\r\n"),
        format!("origin: {}\r\n", server.url("")),
        "sec-fetch-site: cross-site\r\n".to_owned(),
        "sec-fetch-site: same-site\r\n".to_owned(),
    ] {
        let answer = read(&format!("{ours}{web}"));
        answer.problem(403);
        assert!(!answer.head.contains("access-control"), "{answer:?}");
    }
    let preflight = format!("OPTIONS /click HTTP/1.1\r\n{ours}origin: https://evil.example\r\n");
    send(address, &preflight, b"").problem(403);
}

#[test]
fn bodies_are_json_whatever_their_content_type() {
    let place = Place::new();
    let (server, browser) = opened(&place);
    let address = browser.address;
    let body = json!({ "url": server.url("/x") }).to_string();
    let navigate = |kind: &str, body: &[u8]| {
        let head = format!(
            "POST /navigate HTTP/1.1\r\nhost: {address}\r\n{kind}content-length: {}\r\n",
            body.len()
        );
        send(address, &head, body)
    };
    for kind in [
        "",
        "content-type: application/json\r\n",
        "content-type: application/x-www-form-urlencoded\r\n",
        "content-type: text/plain\r\n",
    ] {
        assert_eq!(navigate(kind, body.as_bytes()).status, 200, "{kind}");
    }
    for broken in
        [&b"{"[..], b"{\"url\":\"\xff\"}", b"{\"url\":\"a\",\"url\":\"b\"}", b"\0", b"{}{}"]
    {
        navigate("", broken).problem(400);
    }
    for other in [&b"[]"[..], b"\"x\"", b"7", b"{}"] {
        navigate("", other).problem(422);
    }
    let missing = navigate("", b"").problem(422);
    assert!(missing["detail"].as_str().is_some_and(|it| it.contains("url")), "{missing}");
    // As on the mesh, the limit is 1 MiB.
    navigate("", &vec![b' '; 10 << 20]).problem(413);
    navigate("", &[vec![b' '; (1 << 20) - 2], b"{}".to_vec()].concat()).problem(422);
    navigate("", &[vec![b' '; (1 << 20) - 1], b"{}".to_vec()].concat()).problem(413);
    let chunked =
        format!("POST /read HTTP/1.1\r\nhost: {address}\r\ntransfer-encoding: chunked\r\n");
    assert_eq!(send(address, &chunked, b"2\r\n{}\r\n0\r\n\r\n").status, 200);
    send(address, &chunked, b"zz\r\n{}\r\n").problem(400);
}

#[test]
fn other_paths_and_methods_say_what_there_is() {
    let place = Place::new();
    let (_server, browser) = opened(&place);
    let ask = |method: &str, path: &str| {
        let head = format!("{method} {path} HTTP/1.1\r\nhost: {}\r\n", browser.address);
        send(browser.address, &head, b"")
    };
    let answer = ask("GET", "/read");
    answer.problem(405);
    assert!(answer.head.contains("allow: post"), "{answer:?}");
    for path in ["/", "/nothing", "/read/", "//read", "/READ", "/%72ead"] {
        let problem = ask("POST", path).problem(404);
        assert!(problem["detail"].as_str().is_some_and(|it| it.contains("/navigate")), "{problem}");
    }
    assert_eq!(ask("POST", "/read?x=1").status, 200, "nothing is asked in an address");
}
