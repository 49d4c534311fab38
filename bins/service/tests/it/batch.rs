//! Many memories at once.

use std::io::Write;

use serde_json::{Value, json};

use crate::client::{connect, read};
use crate::service::{Service, batch, request, send};
use crate::wait::until;

const BATCH: &str = "/api/memory/batch";

#[test]
fn lines_are_answered_in_order_and_a_bad_one_fails_alone() {
    let service = Service::start();
    let existing = service.add("already here");
    let lines = [
        br#"{"content":"first","tags":["a"]}"#.as_slice(),
        b"not json",
        b"",
        br#"{"content":"already here"}"#,
        br#"{"content":"x","contnet":"y"}"#,
        b"{\"content\":\"\xff\"}",
        br#"{"content":""}"#,
        br#"{"content":"last"}"#,
    ];
    let answer = service.send("POST", BATCH, &service.token, &lines.join(&b'\n'));
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("application/x-ndjson"));
    let results = answer.lines();
    let seen: Vec<_> =
        results.iter().map(|result| (result["line"].clone(), result["status"].clone())).collect();
    let wanted = [(1, 201), (2, 400), (4, 200), (5, 422), (6, 400), (7, 422), (8, 201)];
    assert_eq!(seen, wanted.map(|(line, status)| (json!(line), json!(status))));
    assert_eq!(results[2]["id"], existing);
    assert_eq!(results[3]["problem"]["errors"][0]["pointer"], "/contnet");
    assert_eq!(service.get("/api/memory/status").json()["memories"], 3);
    let first = service.get(&format!("/api/memory/{}", results[0]["id"])).json();
    assert_eq!(first["tags"], json!(["a"]));
}

#[test]
fn a_client_that_reads_nothing_until_it_has_sent_everything_gets_all_results() {
    let service = Service::start();
    let count = 20_000;
    let line = |number: u32| format!("{{\"content\":\"{number}\",\"oops\":1}}\n");
    let body: String = (0..count).map(line).collect();
    let answer = service.send("POST", BATCH, &service.token, body.as_bytes());
    let lines = answer.lines();
    assert_eq!(lines.len(), count as usize);
    assert!(lines.iter().zip(1..).all(|(it, line)| it["line"] == line && it["status"] == 422));
}

#[test]
fn results_come_while_lines_are_still_being_sent() {
    let service = Service::start();
    let mut stream = connect(service.address);
    let head = format!(
        "POST {BATCH} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n",
        service.address, service.token
    );
    stream.write_all(head.as_bytes()).expect("a connection");
    stream.write_all(b"12\r\n{\"content\":\"one\"}\n\r\n").expect("a connection");
    // The first memory is there before the batch has ended.
    until(|| {
        let status = service.get("/api/memory/status").json();
        if status["memories"] == 0 { Err(status) } else { Ok(()) }
    });
    stream.write_all(b"12\r\n{\"content\":\"two\"}\n\r\n0\r\n\r\n").expect("a connection");
    let statuses: Vec<Value> = read(&mut stream)
        .expect("an answer")
        .lines()
        .iter()
        .map(|line| line["status"].clone())
        .collect();
    assert_eq!(statuses, [201, 201]);
}

#[test]
fn a_batch_over_the_limit_is_refused_and_a_line_over_its_own_fails_alone() {
    let service = Service::start_with(|it| {
        it.limits.batch_bytes_max = 100_000;
        it.limits.body_bytes_max = 10_000;
    });
    let spaces = " ".repeat(20_000);
    let body =
        format!("{{\"content\":\"a\"}}\n{{\"content\":\"b\"{spaces}}}\n{{\"content\":\"c\"}}");
    let results = service.send("POST", BATCH, &service.token, body.as_bytes()).lines();
    let statuses: Vec<_> = results.iter().map(|result| result["status"].clone()).collect();
    assert_eq!(statuses, [201, 413, 201]);

    let large = "{\"content\":\"d\"}\n".repeat(10_000);
    service.send("POST", BATCH, &service.token, large.as_bytes()).problem(413);
    // Without a length, the limit is detected while reading: earlier lines are stored, and the end
    // is reported.
    let head = format!(
        "POST {BATCH} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n{:x}\r\n",
        service.address,
        service.token,
        large.len()
    );
    let answer = crate::client::raw(
        service.address,
        &[head.as_bytes(), large.as_bytes(), b"\r\n0\r\n\r\n"].concat(),
    );
    assert_eq!(answer.lines().last().expect("a line")["status"], 413);
}

#[test]
fn batches_at_once_keep_their_own_order() {
    let service = Service::start();
    let (address, token) = (service.address, service.token.clone());
    std::thread::scope(|scope| {
        let (mut running, token) = (Vec::new(), &token);
        for client in 0..6 {
            running.push(scope.spawn(move || {
                let body: String = batch(300, |it| format!("client {client} line {it}"));
                let answer = send(address, "POST", BATCH, token, &[], body.as_bytes());
                (client, answer.lines())
            }));
        }
        for it in running {
            let (client, lines) = it.join().expect("no panic");
            assert_eq!(lines.len(), 300);
            for (number, line) in lines.iter().enumerate().step_by(97) {
                let path = format!("/api/memory/{}", line["id"]);
                let memory = send(address, "GET", &path, token, &[], b"").json();
                assert_eq!(memory["content"], format!("client {client} line {number}"));
            }
        }
    });
    assert_eq!(service.get("/api/memory/status").json()["memories"], 1800);
}

#[test]
fn a_client_that_leaves_takes_nothing_with_it() {
    let service = Service::start();
    let body = "{\"content\":\"kept\"}\n{\"content\":\"never ended";
    let mut bytes = request(service.address, "POST", BATCH, &service.token, &[], body.as_bytes());
    bytes.truncate(bytes.len() - 5);
    let mut stream = connect(service.address);
    stream.write_all(&bytes).expect("a connection");
    until(|| {
        let status = service.get("/api/memory/status").json();
        if status["memories"] == 0 { Err(status) } else { Ok(()) }
    });
    drop(stream);
    assert_eq!(service.get("/api/memory/1").json()["content"], "kept");
}
