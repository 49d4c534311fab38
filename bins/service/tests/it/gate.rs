//! Web pages and rebound names are rejected, even with a valid token.

use crate::client::{Answer, raw};
use crate::service::{Service, send};

fn with_head(service: &Service, target: &str, headers: &str) -> Answer {
    let head = format!(
        "GET {target} HTTP/1.1\r\n{headers}authorization: Bearer {}\r\nconnection: close\r\n\r\n",
        service.token
    );
    raw(service.address, head.as_bytes())
}

#[test]
fn only_our_own_names_with_our_port_are_answered() {
    let service = Service::start();
    let port = service.address.port();
    let path = "/api/memory/status";
    let host = |text: &str| with_head(&service, path, &format!("host: {text}\r\n"));
    for good in [format!("127.0.0.1:{port}"), format!("LOCALHOST:{port}"), format!("[::1]:{port}")]
    {
        assert_eq!(host(&good).status, 200, "{good}");
    }
    let bad = [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        format!("127.0.0.1.evil.example:{port}"),
        "localhost:1".to_owned(),
        "localhost".to_owned(),
        format!("localhost.:{port}"),
        format!("0.0.0.0:{port}"),
        format!("user@localhost:{port}"),
        format!("localhost:{port}/x"),
        format!("localhost:{port}, evil.example"),
        String::new(),
    ];
    for bad in bad {
        host(&bad).problem(421);
    }
    with_head(&service, path, "").problem(400);
    with_head(&service, path, &format!("host: 127.0.0.1:{port}\r\nhost: 127.0.0.1:{port}\r\n"))
        .problem(400);
    let ours = format!("host: 127.0.0.1:{port}\r\n");
    with_head(&service, &format!("http://evil.example{path}"), &ours).problem(421);
    assert_eq!(with_head(&service, &format!("http://127.0.0.1:{port}{path}"), &ours).status, 200);
    // The public paths do not bypass the check.
    with_head(&service, "/healthz", "host: evil.example\r\n").problem(421);
    with_head(&service, "/metrics", "host: evil.example\r\n").problem(421);
}

#[test]
fn requests_of_web_pages_are_refused_and_never_get_cors_headers() {
    let service = Service::start();
    let pages = [
        [("origin", "https://evil.example")],
        [("origin", "null")],
        [("origin", "http://localhost:3000")],
        [("sec-fetch-site", "cross-site")],
        [("sec-fetch-site", "same-site")],
        [("sec-fetch-site", "NONE")],
    ];
    for headers in pages {
        for (method, path) in
            [("POST", "/api/memory/add"), ("GET", "/metrics"), ("OPTIONS", "/api")]
        {
            let answer = send(
                service.address,
                method,
                path,
                &service.token,
                &headers,
                br#"{"content":"x"}"#,
            );
            answer.problem(403);
            let cors = answer
                .headers
                .iter()
                .filter(|(name, _)| name.to_ascii_lowercase().starts_with("access-control-"));
            assert_eq!(cors.count(), 0);
        }
    }
    assert_eq!(service.get("/api/memory/status").json()["memories"], 0);
    for site in ["none", "same-origin"] {
        let headers = [("sec-fetch-site", site)];
        let answer = send(service.address, "GET", "/api/memory", &service.token, &headers, b"");
        assert_eq!(answer.status, 200);
    }
    let preflight = [("access-control-request-method", "POST")];
    let answer =
        send(service.address, "OPTIONS", "/api/memory/add", &service.token, &preflight, b"");
    assert_eq!(answer.problem(405), "this path accepts only POST");
}

#[test]
fn a_header_that_decides_is_sent_once() {
    let service = Service::start_with(|it| it.origins = vec!["https://app.example".to_owned()]);
    let host = format!("host: 127.0.0.1:{}\r\n", service.address.port());
    let doubles = [
        host.as_str(),
        "origin: https://app.example\r\norigin: https://app.example\r\n",
        "origin: https://app.example\r\norigin: https://evil.example\r\n",
        "sec-fetch-site: none\r\nsec-fetch-site: cross-site\r\n",
        "sec-fetch-site: same-origin\r\nsec-fetch-site: same-origin\r\n",
    ];
    for path in ["/api/memory/status", "/healthz"] {
        for double in doubles {
            let detail = with_head(&service, path, &format!("{host}{double}")).problem(400);
            assert!(detail.contains("more than one"), "{double}: {detail}");
        }
    }
}

#[test]
fn names_and_origins_of_the_settings_are_ours_too() {
    let service = Service::start_with(|it| {
        it.hosts = vec!["box.example".to_owned()];
        it.origins = vec!["https://app.example".to_owned()];
    });
    let answer =
        with_head(&service, "/api/memory", "host: box.example\r\norigin: https://app.example\r\n");
    assert_eq!(answer.status, 200);
    assert!(answer.header("access-control-allow-origin").is_none());
    with_head(&service, "/api/memory", "host: a.box.example\r\n").problem(421);
    with_head(&service, "/api/memory", "host: box.example\r\norigin: http://app.example\r\n")
        .problem(403);
}

#[test]
fn a_body_is_json_whatever_its_type_says() {
    let service = Service::start();
    let types = [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json; charset=latin1",
        "",
    ];
    for (number, kind) in types.iter().enumerate() {
        let body = format!("{{\"content\":\"{number}\"}}");
        let headers = [("content-type", *kind)];
        let path = "/api/memory/add";
        let answer = send(service.address, "POST", path, &service.token, &headers, body.as_bytes());
        assert_eq!(answer.status, 201, "{kind}: {}", answer.text());
        assert_eq!(answer.header("content-type"), Some("application/json"));
    }
}

#[test]
fn crooked_paths_lead_nowhere() {
    let service = Service::start();
    for path in [
        "/api//memory",
        "/api/memory/",
        "/api/%6demory",
        "/API/memory",
        "/api/memory/../tokens",
        "/api/memory/1/../../tokens",
        "/api/memory;x",
        "/api/tokens%00",
        "/api//events",
        "/api/events/",
        "/api/%65vents",
        "/api/events/../flows",
        "/api/flows;x",
        "/API/flows/runs",
        "/api/nothing",
        "/favicon.ico",
    ] {
        assert_eq!(service.get(path).problem(404), "no such path", "{path}");
    }
}

#[test]
fn a_wrong_method_is_told_the_right_ones() {
    let service = Service::start();
    for (method, path, allow) in [
        ("GET", "/api/memory/add", "POST"),
        ("PUT", "/api/memory/1", "GET,HEAD,PATCH,DELETE"),
        ("GET", "/api/memory/link", "POST,DELETE"),
        ("DELETE", "/api/memory/status", "GET,HEAD"),
        ("POST", "/healthz", "GET,HEAD"),
        ("FOO", "/api/memory", "GET,HEAD"),
    ] {
        let answer = service.send(method, path, &service.token, b"");
        answer.problem(405);
        assert_eq!(answer.header("allow"), Some(allow), "{method} {path}");
    }
}
