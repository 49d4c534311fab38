//! How the client handles servers that are not proper services. The tests of the command line cover it with a real
//! service.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread::JoinHandle;

use waypost_api::client::{Client, Error};
use waypost_api::{IndexRequest, routes};

/// A server that answers one request with these bytes, and returns the request's head.
fn peer(answer: &'static str) -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("the peer plays along");
    let url = format!("http://{}", listener.local_addr().expect("the peer plays along"));
    let head = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("the peer plays along");
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n")
            && stream.read(&mut byte).expect("the peer plays along") == 1
        {
            head.push(byte[0]);
        }
        stream.write_all(answer.as_bytes()).expect("the peer plays along");
        String::from_utf8(head).expect("the peer plays along")
    });
    (url, head)
}

fn client(url: &str) -> Client {
    Client::new(url, Some("wp_id_secret")).expect("the peer plays along")
}

#[test]
fn a_service_of_an_earlier_release_revokes_a_token_without_a_body() {
    let (url, head) = peer("HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n");
    let revoked = client(&url).revoke_token("m0WhszLAWB").expect("it is revoked");
    assert_eq!(revoked.derived, Vec::<String>::new());
    let head = head.join().expect("the peer plays along");
    assert!(head.starts_with("DELETE /api/tokens/m0WhszLAWB HTTP/1.1\r\n"), "{head}");
    // Without a body, 200 is not a response of any release.
    let (url, head) = peer("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    assert!(client(&url).revoke_token("x").is_err());
    head.join().expect("the peer plays along");
}

#[test]
fn addresses_and_tokens_are_checked() {
    for url in [
        "",
        "127.0.0.1:4747",
        "ftp://host",
        "http://",
        "http://user:pass@localhost",
        "http://localhost/?q",
        "unix:service.sock",
        "unix:",
        "file:///etc",
    ] {
        assert!(matches!(Client::new(url, None), Err(Error::Address { .. })), "{url}");
    }
    for url in
        ["http://host", "http://10.0.0.1:4747", "http://127.0.0.1.example", "http://0.0.0.0:4747"]
    {
        assert!(matches!(Client::new(url, None), Err(Error::Plain { .. })), "{url}");
    }
    for token in ["", "a b", "a\r\nX-Evil: 1", "größe"] {
        assert!(
            matches!(Client::new("http://localhost", Some(token)), Err(Error::Token)),
            "{token:?}"
        );
    }
    assert_eq!(
        Client::new("https://host:1/prefix/", None).unwrap().base_url(),
        "https://host:1/prefix"
    );
    assert!(!format!("{:?}", client("http://localhost")).contains("secret"));
}

#[test]
fn nobody_there_is_not_reachable() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let error =
        client(&format!("http://127.0.0.1:{port}")).call(&routes::MEMORY_STATUS, ()).unwrap_err();
    assert!(matches!(error, Error::NotReachable { .. }), "{error:?}");
}

#[test]
fn a_problem_is_decoded_and_the_token_was_sent() {
    // Without a length, the body ends with the connection.
    let (url, head) = peer(
        "HTTP/1.1 422 x\r\nContent-Type: application/problem+json\r\nConnection: close\r\n\r\n\
         {\"type\":\"about:blank\",\"title\":\"t\",\"status\":422,\"detail\":\"d\",\"errors\":[{\"pointer\":\"/from\",\"message\":\"m\"}],\"more\":1}",
    );
    let error = client(&url).call(&routes::GET_MEMORY.at(1), ()).unwrap_err();
    assert_eq!(error.to_string(), "d");
    assert_eq!(error.problem().unwrap().errors[0].pointer, "/from");
    let head = head.join().unwrap().to_lowercase();
    assert!(head.starts_with("get /api/memory/1 http/1.1\r\n"), "{head}");
    assert!(head.contains("authorization: bearer wp_id_secret\r\n"), "{head}");
}

#[test]
fn a_redirect_is_not_followed() {
    let (elsewhere, _) = peer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
    // The response must live as long as the thread.
    let answer: &'static str =
        format!("HTTP/1.1 307 x\r\nLocation: {elsewhere}/\r\nContent-Length: 0\r\n\r\n").leak();
    let (url, _) = peer(answer);
    let error = client(&url).call(&routes::MEMORY_STATUS, ()).unwrap_err();
    assert!(
        matches!(&error, Error::NotUnderstood { reason, .. } if reason.contains("307")),
        "{error:?}"
    );
}

#[test]
fn something_else_is_not_understood() {
    let (url, _) =
        peer("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>");
    assert!(matches!(
        client(&url).call(&routes::MEMORY_STATUS, ()),
        Err(Error::NotUnderstood { .. })
    ));
    let (url, _) =
        peer("HTTP/1.1 404 x\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>");
    assert!(matches!(
        client(&url).call(&routes::GET_MEMORY.at(1), ()),
        Err(Error::NotUnderstood { .. })
    ));
}

#[test]
fn a_stream_that_breaks_off_is_no_whole_answer() {
    let (url, _) = peer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"a\":\r\n");
    let mut output = Vec::new();
    assert!(matches!(client(&url).export(&mut output), Err(Error::BrokenOff { .. })));
    let (url, _) = peer(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n\
         : alive\n\nevent: progress\ndata: {\"phase\":\"index\",\"done\":1,\"total\":2}\n\n",
    );
    let mut seen = Vec::new();
    let outcome =
        client(&url).reindex(&IndexRequest::default(), &mut |progress| seen.push(progress.done));
    assert!(matches!(outcome, Err(Error::BrokenOff { .. })), "{outcome:?}");
    assert_eq!(seen, [1]);
}

#[test]
fn a_reindex_ends_with_its_result_or_its_problem() {
    let (url, head) = peer(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n\
         event: done\r\ndata: {\"indexed\":3,\"embedded\":0,\r\ndata: \"failed\":0,\"skipped\":0,\"durationMs\":5}\r\n\r\n",
    );
    let done = client(&url).reindex(&IndexRequest { backfill: Some(true) }, &mut |_| {}).unwrap();
    assert_eq!((done.indexed, done.duration_ms), (3, 5));
    assert!(head.join().unwrap().to_lowercase().contains("accept: text/event-stream"));
    let (url, _) = peer(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n\
         event: problem\ndata: {\"status\":500,\"detail\":\"no\"}\n\n",
    );
    let error = client(&url).reindex(&IndexRequest::default(), &mut |_| {}).unwrap_err();
    assert_eq!(error.problem().unwrap().status, 500);
}

/// A peer that answers as soon as it has read the head of a request, and closes with the body unread.
fn hasty(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("the peer plays along");
    let url = format!("http://{}", listener.local_addr().expect("the peer plays along"));
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("the peer plays along");
        // The end of the head, and the beginning of the body.
        let mut bytes = [0; 4096];
        let read = stream.read(&mut bytes).expect("the peer plays along");
        assert!(read > 0);
        stream.write_all(answer.as_bytes()).expect("the peer plays along");
    });
    url
}

#[test]
fn an_answer_is_read_although_the_peer_does_not_take_the_request() {
    let url = hasty(
        "HTTP/1.1 403 x\r\nContent-Type: application/problem+json\r\nContent-Length: 32\r\n\r\n\
         {\"status\":403,\"detail\":\"not so\"}",
    );
    let content = "x".repeat(32 << 20);
    let request = waypost_api::AddRequest { content, ..Default::default() };
    let error = client(&url).store(&routes::ADD_MEMORY, &request).unwrap_err();
    assert_eq!(error.to_string(), "not so", "{error:?}");
}

#[test]
fn a_connection_that_is_closed_without_an_answer_is_told_apart_from_no_service() {
    let url = hasty("");
    let content = "x".repeat(32 << 20);
    let request = waypost_api::AddRequest { content, ..Default::default() };
    let error = client(&url).store(&routes::ADD_MEMORY, &request).unwrap_err();
    assert!(matches!(error, Error::Closed { .. }), "{error:?}");
}

/// A server that answers each request with these bytes or, without any, closes the connection; it returns the heads.
fn peers(answers: Vec<&'static str>) -> (String, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("the peer plays along");
    let url = format!("http://{}", listener.local_addr().expect("the peer plays along"));
    let heads = std::thread::spawn(move || {
        let each = answers.into_iter().map(|answer| {
            let (mut stream, _) = listener.accept().expect("the peer plays along");
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n")
                && stream.read(&mut byte).expect("the peer plays along") == 1
            {
                head.push(byte[0]);
            }
            stream.write_all(answer.as_bytes()).expect("the peer plays along");
            String::from_utf8(head).expect("the peer plays along").to_lowercase()
        });
        each.collect()
    });
    (url, heads)
}

fn key(head: &str) -> Option<&str> {
    head.lines().find_map(|line| line.strip_prefix("idempotency-key: "))
}

const HEALTHY: &str = "HTTP/1.1 200 OK\r\nwaypost-idempotency-keys: writes\r\nconnection: close\r\ncontent-length: 15\r\n\r\n{\"status\":\"ok\"}";
const DELETED: &str = "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";

#[test]
fn a_change_without_an_answer_is_sent_once_more_with_its_key() {
    let (url, heads) = peers(vec!["", HEALTHY, DELETED]);
    client(&url).call(&routes::DELETE_MEMORY.at(7), ()).expect("the second one is answered");
    let heads = heads.join().expect("the peer plays along");
    assert!(heads[1].starts_with("get /healthz "), "{heads:?}");
    assert!(heads[0].starts_with("delete /api/memory/7 ") && heads[2] == heads[0], "{heads:?}");
    assert_eq!(key(&heads[0]).map(str::len), Some(32), "{heads:?}");

    // Only once more.
    let (url, heads) = peers(vec!["", HEALTHY, ""]);
    assert!(matches!(
        client(&url).call(&routes::DELETE_MEMORY.at(7), ()),
        Err(Error::Closed { .. })
    ));
    heads.join().expect("the peer plays along");
}

#[test]
fn a_change_is_not_repeated_where_it_might_have_two_effects() {
    const OLD: &str =
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 15\r\n\r\n{\"status\":\"ok\"}";
    let (url, heads) = peers(vec!["", OLD]);
    assert!(matches!(
        client(&url).call(&routes::DELETE_MEMORY.at(7), ()),
        Err(Error::Closed { .. })
    ));
    heads.join().expect("the peer plays along");
    // A read has no key, and is the caller's to repeat.
    let (url, heads) = peers(vec![""]);
    assert!(matches!(client(&url).call(&routes::GET_MEMORY.at(7), ()), Err(Error::Closed { .. })));
    assert_eq!(key(&heads.join().expect("the peer plays along")[0]), None);
}

#[test]
fn each_change_has_a_key_of_its_own() {
    let (url, heads) = peers(vec![DELETED, DELETED]);
    let client = client(&url);
    client.call(&routes::DELETE_MEMORY.at(7), ()).expect("it is answered");
    client.call(&routes::DELETE_MEMORY.at(7), ()).expect("it is answered");
    let heads = heads.join().expect("the peer plays along");
    assert!(key(&heads[0]).is_some() && key(&heads[0]) != key(&heads[1]), "{heads:?}");
}
