//! Programs of this user that violate the rules, with plain sockets.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use waypost_mesh::limits::{CALLS_RUNNING_MAX, PAYLOAD_BYTES_MAX};
use waypost_mesh::{CallError, Mesh, Pattern, Serving};

use crate::{LONG, Place, many_objects, now_ms, resident_mib, serve_echo};

/// The sockets in a folder.
fn sockets(place: &Place) -> Vec<PathBuf> {
    let paths = std::fs::read_dir(place.folder()).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "sock")).collect()
}

/// Connects to the only peer of a folder.
fn raw(place: &Place) -> UnixStream {
    let [socket] = &sockets(place)[..] else { panic!("one peer") };
    let stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream
}

fn head(method: &str, path: &str, bytes: usize) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nhost: mesh\r\nconnection: close\r\ncontent-length: {bytes}\r\n\r\n"
    )
}

/// Sends a request over a connection, and returns the status and the body of the response.
pub(crate) fn ask(
    mut stream: impl Read + Write,
    method: &str,
    path: &str,
    body: &str,
) -> std::io::Result<(u16, Value)> {
    // A request that is rejected early is not read to its end.
    stream.write_all(head(method, path, body.len()).as_bytes())?;
    drop(stream.write_all(body.as_bytes()));
    let mut said = Vec::new();
    let ended = stream.read_to_end(&mut said);
    let said = String::from_utf8_lossy(&said);
    let Some((head, body)) = said.split_once("\r\n\r\n") else {
        ended?;
        return Err(ErrorKind::UnexpectedEof.into());
    };
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Ok((status, serde_json::from_str(body).unwrap_or_default()))
}

fn post(place: &Place, path: &str, body: &str) -> (u16, Value) {
    ask(raw(place), "POST", path, body).unwrap()
}

fn envelope(place: &Place, id: char, expires_ms: i64) -> Value {
    let about = ask(raw(place), "GET", "/peer", "").unwrap().1;
    let id = id.to_string().repeat(32);
    json!({ "v": 2, "id": id, "from": "raw", "to": about["id"], "expires": expires_ms, "argument": null })
}

fn counting(server: &Mesh) -> (Arc<AtomicUsize>, Serving) {
    let done = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&done);
    let serving = server.serve("count", move |_| Ok(json!(counted.fetch_add(1, Ordering::SeqCst))));
    (done, serving.unwrap())
}

#[test]
fn a_replayed_request_gets_the_same_response_and_is_not_executed_again() {
    let place = Place::new();
    let server = place.join("server");
    let (done, _serving) = counting(&server);
    let path = "/call/count/up";
    let payload = envelope(&place, 'a', now_ms() + 60_000).to_string();
    for _ in 0..3 {
        assert_eq!(post(&place, path, &payload), (200, json!({ "v": 2, "result": 0 })));
    }
    assert_eq!(done.load(Ordering::SeqCst), 1);
    let other = envelope(&place, 'b', now_ms() + 60_000).to_string();
    assert_eq!(post(&place, path, &other).1, json!({ "v": 2, "result": 1 }));
    // A request that was held back until after its deadline is not executed.
    let late = post(&place, path, &envelope(&place, 'c', now_ms() - 31_000).to_string());
    assert_eq!(late.1["problem"]["code"], "expired");
    let early = post(&place, path, &envelope(&place, 'd', now_ms() + 10_000_000).to_string());
    assert_eq!(early.1["problem"]["code"], "bad_request");
    // One that was meant for another peer may have been executed there.
    let mut elsewhere = envelope(&place, 'e', now_ms() + 60_000);
    elsewhere["to"] = json!("0".repeat(32));
    assert_eq!(post(&place, path, &elsewhere.to_string()).0, 421);
    assert_eq!(done.load(Ordering::SeqCst), 2);
}

#[test]
fn a_request_without_a_caller_that_waits_is_executed_once() {
    let place = Place::new();
    let server = place.join("server");
    let (done, _serving) = counting(&server);
    let payload = envelope(&place, 'a', now_ms() + 60_000).to_string();
    let mut stream = raw(&place);
    stream.write_all(head("POST", "/call/count/up", payload.len()).as_bytes()).unwrap();
    stream.write_all(payload.as_bytes()).unwrap();
    crate::eventually("it is executed", || done.load(Ordering::SeqCst) == 1);
    stream.shutdown(Shutdown::Both).unwrap();
    assert_eq!(post(&place, "/call/count/up", &payload).1["result"], 0);
    assert_eq!(done.load(Ordering::SeqCst), 1);
}

#[test]
fn wildcards_large_payloads_and_garbage_reach_no_handler() {
    let place = Place::new();
    let server = place.join("server");
    let (done, _serving) = counting(&server);
    let good = envelope(&place, 'a', now_ms() + 60_000);
    for path in ["/call/**", "/call/count/*", "/call/count/", "/call/count/up/more", "/"] {
        let (status, said) = post(&place, path, &good.to_string());
        assert_eq!((status, &said["problem"]["code"]), (400, &json!("bad_name")), "{path}");
    }
    let path = "/call/count/up";
    let mut other = good.clone();
    other["v"] = json!(1);
    for rubbish in [
        String::new(),
        "{".into(),
        "[]".into(),
        "[".repeat(10_000),
        "\u{0}".into(),
        other.to_string(),
    ] {
        assert_eq!(post(&place, path, &rubbish).1["problem"]["status"], 400, "{rubbish:.20}");
    }
    for bytes in [PAYLOAD_BYTES_MAX + 2_000, 10 * 1024 * 1024] {
        // The body is not awaited.
        let mut stream = raw(&place);
        stream.write_all(head("POST", path, bytes).as_bytes()).unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        assert!(said.starts_with("HTTP/1.1 413 ") && said.contains("too_large"), "{said}");
    }
    // Without a length, it is read up to the limit.
    let mut stream = raw(&place);
    stream
        .write_all(
            format!("POST {path} HTTP/1.1\r\nhost: mesh\r\ntransfer-encoding: chunked\r\n\r\n")
                .as_bytes(),
        )
        .unwrap();
    let chunk = format!("{:x}\r\n{}\r\n", 64 * 1024, "x".repeat(64 * 1024));
    while stream.write_all(chunk.as_bytes()).is_ok() {}
    for rubbish in ["\u{16}\u{3}\u{1}", "GET\r\n\r\n", "POST / HTTP/9.9\r\n\r\n"] {
        let mut stream = raw(&place);
        stream.write_all(rubbish.as_bytes()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        drop(stream.read_to_end(&mut Vec::new()));
    }
    assert_eq!(done.load(Ordering::SeqCst), 0);
    let caller = place.join("caller");
    assert_eq!(caller.call("count", "up", &Value::Null, LONG), Ok(json!(0)));
}

#[test]
fn peers_that_stop_in_the_middle_of_a_request_or_do_not_read_delay_nobody() {
    let place = Place::new();
    let server = place.join("server");
    let _serving = serve_echo(&server);
    let mut payload = envelope(&place, 'a', now_ms() + 60_000);
    payload["argument"] = json!("x".repeat(PAYLOAD_BYTES_MAX - 1_000));
    let payload = payload.to_string();
    let stopped: Vec<UnixStream> = (0..64)
        .map(|n| {
            let mut stream = raw(&place);
            let head = head("POST", "/call/echo/say", payload.len());
            // Within the head, within the body, or without reading the response.
            match n % 3 {
                0 => stream.write_all(&head.as_bytes()[..20]).unwrap(),
                1 => stream.write_all(format!("{head}{}", &payload[..1_000]).as_bytes()).unwrap(),
                _ => stream.write_all(format!("{head}{payload}").as_bytes()).unwrap(),
            }
            stream
        })
        .collect();
    let caller = place.join("caller");
    for n in 0..100 {
        assert_eq!(caller.call("echo", "say", &json!(n), LONG), Ok(json!(n)));
    }
    drop(stopped);
}

#[test]
fn a_socket_that_nobody_answers_is_no_peer_and_delays_no_call() {
    let place = Place::new();
    let server = place.join("server");
    let _serving = serve_echo(&server);
    // One of a peer that hangs: it accepts connections, and never answers.
    let hangs = UnixListener::bind(place.folder().join("000000000000.sock")).unwrap();
    let caller = place.join("caller");
    for n in 0..100 {
        assert_eq!(caller.call("echo", "say", &json!(n), LONG), Ok(json!(n)));
        caller.broadcast("test", &json!({ "type": "tick" })).unwrap();
    }
    // A target that only such a peer could serve, as the file of an earlier release says.
    std::fs::write(place.folder().join("old.target"), "browser, process 1").unwrap();
    let (peers, called) = std::thread::scope(|scope| {
        let peers = scope.spawn(|| caller.peers());
        let called = caller.call("old", "say", &json!(1), LONG);
        (peers.join().unwrap(), called)
    });
    let names: Vec<_> = peers.into_iter().map(|peer| peer.name).collect();
    assert_eq!(names, ["caller", "server"]);
    let Err(CallError::Offline(why)) = called else { panic!("it was called") };
    assert!(why.contains("a peer here: it does not respond"), "{why}");
    drop(hangs);
    // Its socket stays behind, and refuses connections.
    assert_eq!(caller.peers().len(), 2);
    assert_eq!(sockets(&place).len(), 2, "it was removed");
}

#[test]
fn what_is_no_event_is_not_heard() {
    let place = Place::new();
    let mesh = place.join("agent");
    let heard = mesh.listen(&Pattern::all());
    let id = "a".repeat(32);
    let notice = |kind: &str, source: &str| {
        let event = json!({ "type": kind });
        json!({ "v": 2, "id": id, "from": "raw", "at": 0, "source": source, "event": event })
    };
    let mut other = notice("human_click", "browser.relay");
    other["v"] = json!(1);
    for wrong in [
        notice("human click", "browser.relay").to_string(),
        notice("human_click", "browser/relay").to_string(),
        other.to_string(),
        "rubbish".into(),
        "x".repeat(200_000),
    ] {
        assert!([400, 413].contains(&post(&place, "/event", &wrong).0), "{wrong:.60}");
    }
    let good = notice("human_click", "browser.relay").to_string();
    assert_eq!(post(&place, "/event", &good).0, 200);
    let event = heard.next(LONG).unwrap();
    assert_eq!(event.id, id, "only the last one is an event");
    assert!(heard.next(Duration::from_millis(100)).is_none());
}

#[test]
fn a_response_that_is_not_read_ends_its_connection() {
    let place = Place::new();
    let server = place.join("server");
    let _serving = serve_echo(&server);
    let mut payload = envelope(&place, 'a', now_ms() + 60_000);
    payload["argument"] = json!("x".repeat(PAYLOAD_BYTES_MAX - 1_000));
    let payload = payload.to_string();
    let mut stream = raw(&place);
    stream.write_all(head("POST", "/call/echo/say", payload.len()).as_bytes()).unwrap();
    stream.write_all(payload.as_bytes()).unwrap();
    stream.set_nonblocking(true).unwrap();
    crate::eventually("it ends", || {
        stream.write(b"\n").is_err_and(|error| error.kind() != ErrorKind::WouldBlock)
    });
}

#[test]
fn calls_that_wait_need_little_more_memory_than_their_bytes() {
    let place = Place::new();
    let server = place.join("server");
    let (begun, begins) = std::sync::mpsc::channel();
    let _serving = server.serve("hang", move |_| {
        begun.send(()).unwrap();
        std::thread::park_timeout(LONG);
        Ok(Value::Null)
    });
    let mut payload = envelope(&place, 'a', now_ms() + 60_000);
    let mut send = |n: usize, argument: &str| {
        payload["id"] = json!(format!("{n:032x}"));
        let payload = payload.to_string().replace("null", argument);
        let mut stream = raw(&place);
        stream.write_all(head("POST", "/call/hang/up", payload.len()).as_bytes()).unwrap();
        stream.write_all(payload.as_bytes()).unwrap();
        stream
    };
    let running: Vec<_> = (0..CALLS_RUNNING_MAX).map(|n| send(n, "null")).collect();
    for _ in &running {
        begins.recv_timeout(LONG).unwrap();
    }
    let argument = many_objects(PAYLOAD_BYTES_MAX).to_string();
    let before = resident_mib();
    let waiting: Vec<_> = (100..164).map(|n| send(n, &argument)).collect();
    // Time to parse them, if that is done.
    std::thread::park_timeout(Duration::from_secs(1));
    let more = resident_mib().saturating_sub(before);
    assert!(more < 300, "{more} MiB");
    drop((running, waiting));
}
