//! Requests that are invalid below HTTP's semantics, and slow clients.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;
use waypost_api::client::Client;
use waypost_api::routes;

use crate::client::{Answer, connect, raw, read, try_raw};
use crate::service::{Service, request};
use crate::wait::until;

fn add_with(service: &Service, headers: &str, body: &[u8]) -> Option<Answer> {
    let head = format!(
        "POST /api/memory/add HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n{headers}\r\n",
        service.address, service.token
    );
    try_raw(service.address, &[head.as_bytes(), body].concat())
}

fn memories(service: &Service) -> u64 {
    service.get("/api/memory/status").json()["memories"].as_u64().expect("a number")
}

#[test]
fn crooked_framing_is_refused_and_adds_nothing() {
    let service = Service::start_with(|it| it.limits.body_read_time = Duration::from_millis(300));
    let body = br#"{"content":"x"}"#;
    let status = |headers: &str, body: &[u8]| {
        add_with(&service, headers, body).map_or(400, |response| response.status)
    };
    assert_eq!(status("content-length: 15\r\ncontent-length: 16\r\n", body), 400);
    assert_eq!(status("content-length: -1\r\n", body), 400);
    assert_eq!(status("content-length: 99999999999999999999999\r\n", body), 400);
    assert_eq!(status("transfer-encoding: gzip\r\n", body), 400);
    // It never arrives, so the time limit ends the request.
    assert_eq!(status("transfer-encoding: chunked\r\n", b"FFFFFFFFFFFFFFFF\r\nx"), 408);
    assert_eq!(status("transfer-encoding: chunked\r\n", b"10000000000000000\r\nx"), 400);
    assert_eq!(status("transfer-encoding: chunked\r\n", b"zz\r\nx\r\n"), 400);
    assert_eq!(status("content-length: 18446744073709551614\r\n", body), 431);
    assert_eq!(status("content-length: 99999999999\r\n", body), 413);
    // The announced length is larger than the body.
    let short = add_with(&service, "content-length: 400\r\n", body).expect("an answer");
    short.problem(408);
    assert_eq!(short.header("connection"), Some("close"));
    assert_eq!(memories(&service), 0);
    // The announced length is smaller than the body: the rest is neither a part of it nor a valid
    // request.
    let long = add_with(&service, "content-length: 15\r\n", b"{\"content\":\"x\"}garbage\r\n\r\n");
    assert_eq!(long.map(|it| it.status), Some(201));
    assert_eq!(memories(&service), 1);
}

#[test]
fn both_lengths_at_once_read_as_chunks_and_smuggle_nothing() {
    let service = Service::start();
    let chunks = b"f\r\n{\"content\":\"x\"}\r\n0\r\n\r\n";
    let headers = "content-length: 4\r\ntransfer-encoding: chunked\r\nconnection: close\r\n";
    let answer = add_with(&service, headers, chunks).expect("an answer");
    assert_eq!(answer.status, 201, "{}", answer.text());
    assert_eq!(memories(&service), 1);
}

#[test]
fn an_endless_body_is_413_and_a_trickle_408() {
    let service = Service::start_with(|it| {
        it.limits.body_read_time = Duration::from_millis(300);
        it.limits.body_bytes_max = 64 * 1024;
    });
    let chunk = [b"4000\r\n".as_slice(), &[b' '; 0x4000], b"\r\n"].concat();
    let endless = chunk.repeat(8);
    let answer = add_with(&service, "transfer-encoding: chunked\r\n", &endless);
    answer.expect("an answer").problem(413);

    // A trickle: the service must end it, whatever the client still sends.
    let whole =
        request(service.address, "POST", "/api/memory/add", &service.token, &[], &[b' '; 999]);
    let mut stream = connect(service.address);
    stream.write_all(&whole[..whole.len() - 990]).expect("a connection");
    read(&mut stream).expect("an answer").problem(408);

    // Headers that never end: closed with or without a response.
    let mut stream = connect(service.address);
    stream.write_all(b"GET / HTTP/1.1\r\nhost:").expect("a connection");
    drop(stream);
    assert_eq!(service.get("/healthz").status, 200);
}

/// hyper itself responds to these.
#[test]
fn what_is_not_http_is_a_problem_like_all_others() {
    let service = Service::start();
    for (bytes, status, says) in [
        (b"NO HTTP AT ALL\r\n\r\n".to_vec(), 400, "malformed"),
        (b"\x16\x03\x01\x02\x00\x01\r\n\r\n".to_vec(), 400, "malformed"),
        (b"GET /healthz HTTP/1.1\r\nhost: x\r\nbad header\r\n\r\n".to_vec(), 400, "malformed"),
        (format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(500)).into_bytes(), 431, "headers"),
    ] {
        let answer = raw(service.address, &bytes);
        assert!(answer.problem(status).contains(says), "{}", answer.text());
        assert_eq!(answer.header("connection"), Some("close"));
    }
    // After a valid request, in the same packet.
    let mut stream = connect(service.address);
    let good = format!("GET /healthz HTTP/1.1\r\nhost: {}\r\n\r\n", service.address);
    stream.write_all(&[good.as_bytes(), b"NO HTTP\r\n\r\n"].concat()).expect("a connection");
    let mut both = String::new();
    stream.read_to_string(&mut both).expect("two answers");
    assert!(both.starts_with("HTTP/1.1 200 OK\r\n"), "{both}");
    let second = both.split_once("}HTTP/1.1 ").expect("a second answer").1;
    assert!(second.starts_with("400 ") && second.contains("application/problem+json"), "{both}");
}

#[test]
fn headers_must_come_in_time_and_in_size() {
    let service = Service::start_with(|it| it.limits.header_read_time = Duration::from_millis(200));
    let mut slow = connect(service.address);
    slow.write_all(b"GET /healthz HTTP/1.1\r\nhos").expect("a connection");
    let ended = read(&mut slow);
    assert!(ended.as_ref().is_none_or(|it| it.status == 408), "{ended:?}");
    let large = format!("GET / HTTP/1.1\r\nhost: x\r\nx: {}\r\n\r\n", "y".repeat(200_000));
    assert_eq!(try_raw(service.address, large.as_bytes()).map_or(431, |it| it.status), 431);
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(500));
    assert_eq!(try_raw(service.address, many.as_bytes()).map_or(431, |it| it.status), 431);
    assert_eq!(
        try_raw(service.address, b"\x16\x03\x01\x02\x00\x01\r\n\r\n").map_or(400, |it| it.status),
        400
    );
    assert_eq!(service.get("/healthz").status, 200);
}

/// What clients without a token send over the network, and then wait.
fn without_request(service: &Service) -> [String; 4] {
    let to = service.address;
    [
        String::new(),
        "GET /healthz HTTP/1.1\r\nhos".to_owned(),
        format!("POST /api/memory/add HTTP/1.1\r\nhost: {to}\r\ncontent-length: 99\r\n\r\n{{"),
        half_exchange(service, 99),
    ]
}

/// The head of an exchange of a code, as any user of the machine can send it, and a part of its body.
fn half_exchange(service: &Service, bytes: usize) -> String {
    let to = service.address;
    format!(
        "POST /api/dashboard/token HTTP/1.1\r\nhost: {to}\r\norigin: http://{to}\r\n\
         sec-fetch-site: same-origin\r\ncontent-length: {bytes}\r\n\r\n{}",
        " ".repeat(bytes / 2)
    )
}

#[test]
fn bodies_without_a_token_do_not_use_up_the_memory_for_bodies() {
    let service = Service::start_with(|it| it.limits.bodies_bytes_max = 1024 * 1024);
    let bytes = half_exchange(&service, 1024 * 1024);
    let mut half = connect(service.address);
    // The service does not have to read everything.
    drop(half.write_all(bytes.as_bytes()));
    let answer = read(&mut half);
    assert!(answer.as_ref().is_none_or(|it| it.status == 413), "{answer:?}");
    service.add(&"x".repeat(600 * 1024));
}

/// The client of the service's socket.
fn near(service: &Service) -> Client {
    let socket = service.folder.path().join(".waypost/data/service.sock");
    Client::new(&format!("unix:{}", socket.display()), Some(&service.token)).expect("an address")
}

#[test]
fn connections_without_a_request_keep_no_client_out() {
    const PLACES: usize = 40;
    let service = Service::start_with(|it| it.limits.connections_max = PLACES);
    for bytes in without_request(&service) {
        for count in [PLACES / 10, PLACES, 2 * PLACES] {
            let waiting: Vec<TcpStream> = (0..count)
                .map(|_| {
                    let mut stream = connect(service.address);
                    stream.write_all(bytes.as_bytes()).expect("a connection");
                    stream
                })
                .collect();
            for _ in 0..2 {
                assert_eq!(service.get("/api/memory/status").status, 200, "{count} of {bytes:?}");
                near(&service)
                    .call(&routes::MEMORY_STATUS, ())
                    .unwrap_or_else(|error| panic!("{count}: {error}"));
            }
            drop(waiting);
        }
    }
}

#[test]
fn a_connection_with_a_request_keeps_its_place_and_one_too_many_is_told() {
    const PLACES: usize = 3;
    let service = Service::start_with(|it| it.limits.connections_max = PLACES);
    let path = "/api/events/stream";
    let bytes = request(service.address, "GET", path, &service.token, &[], b"");
    let mut streams: Vec<TcpStream> = (0..PLACES)
        .map(|_| {
            let mut stream = connect(service.address);
            stream.write_all(&bytes).expect("a connection");
            let mut start = [0; 15];
            stream.read_exact(&mut start).expect("a response");
            assert_eq!(&start, b"HTTP/1.1 200 OK");
            stream
        })
        .collect();
    let answer = read(&mut connect(service.address)).expect("a response");
    answer.problem(503);
    assert_eq!(answer.header("retry-after"), Some("1"));
    near(&service).call(&routes::MEMORY_STATUS, ()).expect("the socket has places of its own");
    streams.pop();
    until(|| {
        let bytes = request(service.address, "GET", "/healthz", &service.token, &[], b"");
        let status = try_raw(service.address, &bytes).map_or(0, |answer| answer.status);
        if status == 200 { Ok(()) } else { Err(status) }
    });
    // The other streams were not closed for that.
    service.post("/api/events", &json!({"type": "a:b", "data": {}}));
    for stream in &mut streams {
        let mut text = String::new();
        while !text.contains("a:b") {
            let mut bytes = [0; 512];
            let count = stream.read(&mut bytes).expect("an event");
            assert_ne!(count, 0, "{text}");
            text.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
    }
}

#[test]
fn a_connection_takes_one_request_after_the_other() {
    let service = Service::start();
    let mut stream = connect(service.address);
    let get = format!(
        "GET /api/memory/status HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\r\n",
        service.address, service.token
    );
    for _ in 0..3 {
        stream.write_all(get.as_bytes()).expect("a connection");
        assert_eq!(read(&mut stream).expect("an answer").status, 200);
    }
    // A problem does not end the connection if the framing is valid.
    let bad = get.replace("/status", "/nothing/at/all");
    stream.write_all(bad.as_bytes()).expect("a connection");
    read(&mut stream).expect("an answer").problem(404);
    stream.write_all(get.as_bytes()).expect("a connection");
    assert_eq!(read(&mut stream).expect("an answer").status, 200);
}

#[test]
fn old_http_and_head_are_served() {
    let service = Service::start();
    let old = format!("GET /healthz HTTP/1.0\r\nhost: {}\r\n\r\n", service.address);
    assert_eq!(raw(service.address, old.as_bytes()).status, 200);
    let head = request(service.address, "HEAD", "/api/memory/1", &service.token, &[], b"");
    let mut stream = connect(service.address);
    stream.write_all(&head).expect("a connection");
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("an answer");
    let text = String::from_utf8(bytes).expect("text");
    assert!(text.starts_with("HTTP/1.1 404") && text.ends_with("\r\n\r\n"), "{text}");
}

#[test]
fn the_problem_of_a_request_for_an_authority_names_it() {
    let service = Service::start();
    let head = format!(
        "CONNECT {0} HTTP/1.1\r\nhost: {0}\r\nauthorization: Bearer {1}\r\n\r\n",
        service.address, service.token
    );
    let answer = raw(service.address, head.as_bytes());
    assert!(answer.status >= 400);
    assert_eq!(answer.json()["instance"], service.address.to_string());
}
