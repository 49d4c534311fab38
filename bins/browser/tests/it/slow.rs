//! Clients that send slowly and never finish.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::server::{Server, page};
use crate::tmux::PATIENCE;
use crate::world::Place;

/// This many are served at once.
const CONNECTIONS_MAX: usize = 128;
/// The pause between two pieces of a trickle.
const REST: Duration = Duration::from_millis(100);

#[test]
fn slow_clients_are_disconnected_and_others_are_served() {
    let server = Server::start(|_| page("<h1>Hello</h1>"));
    let place = Place::new();
    let browser = place.plain(&server.url("/"), &["--no-mesh"]);
    let address = browser.address;
    let connect = || TcpStream::connect(address).expect("it listens");
    let to = |path: &str, rest: &str| format!("POST {path} HTTP/1.1\r\nhost: {address}\r\n{rest}");

    // Byte by byte, but eventually complete.
    let mut patient = connect();
    patient.set_nodelay(true).expect("small pieces");
    for byte in to("/read", "content-length: 2\r\nconnection: close\r\n\r\n{}").bytes() {
        patient.write_all(&[byte]).expect("it reads");
    }
    assert!(until_away(patient, "").starts_with("HTTP/1.1 200"));

    let length = "content-length: 1000\r\n\r\n{";
    let chunked = "transfer-encoding: chunked\r\n\r\n";
    let slow = [
        (String::new(), "", ""),
        ("POST /re".to_owned(), "", ""),
        (to("/read", "x-long: "), "x", ""),
        (to("/read", length), "", "HTTP/1.1 408"),
        (to("/read", length), " ", "HTTP/1.1 408"),
        (to("/read", &format!("{chunked}5\r\n{{")), "", "HTTP/1.1 408"),
        (to("/read", chunked), "1\r\n \r\n", "HTTP/1.1 408"),
        (to("/nothing", length), " ", "HTTP/1.1 404"),
    ];
    thread::scope(|scope| {
        let begun = slow.map(|(begun, more, expected)| {
            let mut stream = connect();
            stream.write_all(begun.as_bytes()).expect("it reads");
            (begun, expected, scope.spawn(move || until_away(stream, more)))
        });
        let others: Vec<TcpStream> =
            (begun.len()..CONNECTIONS_MAX - 1).map(|_| connect()).collect();
        // There is room for one more, and then for none until they are disconnected.
        browser.done("read", &json!({}));
        let last = connect();
        browser.done("read", &json!({}));
        for (begun, expected, waiting) in begun {
            let answer = waiting.join().expect("it is sent away");
            let is_expected =
                answer.starts_with(expected) && answer.is_empty() == expected.is_empty();
            assert!(is_expected, "{begun:?}: {answer:?}");
        }
        for silent in others.into_iter().chain([last]) {
            assert_eq!(until_away(silent, ""), "");
        }
    });
}

/// What is returned to a client that keeps sending the same data, until it is disconnected.
fn until_away(mut stream: TcpStream, more: &str) -> String {
    stream.set_read_timeout(Some(REST)).expect("a time");
    let (mut answer, begun) = (Vec::new(), Instant::now());
    loop {
        match stream.read_to_end(&mut answer) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                assert!(begun.elapsed() < PATIENCE, "it is never sent away");
                // A server that has responded reads no more.
                stream.write_all(more.as_bytes()).unwrap_or_default();
            }
            // Whether closed in order or not.
            Ok(_) | Err(_) => return String::from_utf8_lossy(&answer).into_owned(),
        }
    }
}
