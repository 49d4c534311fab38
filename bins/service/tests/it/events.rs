//! Events over HTTP: publishing, reading, streaming.

use std::collections::BTreeSet;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::{Mutex, mpsc};

use serde_json::{Value, json};
use tempfile::TempDir;
use waypost_api::StreamRequest;
use waypost_api::client::{Client, Told};

use crate::client::{Answer, connect, raw};
use crate::program::Program;
use crate::service::{Service, request, send};
use crate::wait::until;

impl Service {
    fn publish(&self, kind: &str, data: &Value) -> Answer {
        self.post("/api/events", &json!({"type": kind, "data": data}))
    }

    fn publish_with(&self, key: &str, body: &Value) -> Answer {
        let headers = [("idempotency-key", key)];
        let body = body.to_string();
        send(self.address, "POST", "/api/events", &self.token, &headers, body.as_bytes())
    }

    fn ids(&self, query: &str) -> Vec<u64> {
        ids(&self.get(&format!("/api/events{query}")).json())
    }
}

fn ids(events: &Value) -> Vec<u64> {
    let events = events.as_array().unwrap_or_else(|| panic!("{events} is no array"));
    events.iter().map(|event| event["id"].as_u64().expect("an id")).collect()
}

fn client(service: &Service) -> Client {
    Client::new(&format!("http://{}", service.address), Some(&service.token)).expect("a client")
}

/// The ids in a stream, up to and including `last`.
fn follow(service: &Service, pattern: Option<&str>, after: u64, last: u64) -> Vec<u64> {
    let mut told = Vec::new();
    let asked = StreamRequest { pattern: pattern.map(str::to_owned), after: Some(after) };
    let followed = client(service).follow_events(&asked, &mut |it| {
        let Told::Event(event) = it else { panic!("{it:?}") };
        told.push(event.id);
        Ok(event.id < last)
    });
    followed.expect("a stream");
    told
}

#[test]
fn an_event_is_published_and_read_as_the_order_writes_it() {
    let service = Service::start();
    let data = json!({"agent": "scout", "delta": 0.25, "improved": true, "pr_number": 412});
    let published = service.publish("eval:scored", &data);
    assert_eq!(published.status, 201, "{}", published.text());
    let event = published.json();
    assert_eq!((&event["id"], &event["type"]), (&json!(1), &json!("eval:scored")));
    let stored = json!({"agent": "scout", "delta": 0.25, "improved": "true", "pr_number": 412});
    assert_eq!((&event["data"], &event["duplicate"]), (&stored, &json!(false)));
    assert!(event["time"].as_str().is_some_and(|it| it.ends_with('Z')), "{event}");
    assert!(event["source"].as_str().is_some_and(|it| it.starts_with("token:")), "{event}");
    service.publish("kanban:done", &json!({}));
    let listed = service.get("/api/events").json();
    assert_eq!(ids(&listed), [1, 2]);
    assert_eq!(listed[0]["data"], stored);
    assert_eq!(service.get("/api/events/2").json(), listed[1]);
    service.get("/api/events/3").problem(404);
    let again = service.restart();
    assert_eq!(again.get("/api/events").json(), listed);
}

#[test]
fn events_are_read_by_cursor_pattern_and_time() {
    let service = Service::start();
    for number in 0..20 {
        let kind = if number % 5 == 0 { "rare:one" } else { "eval:scored" };
        service.publish(kind, &json!({"number": number}));
    }
    assert_eq!(service.ids("?limit=3"), [18, 19, 20], "without a cursor the newest");
    assert_eq!(service.ids("?limit=3&after=0"), [1, 2, 3]);
    assert_eq!(service.ids("?pattern=rare:*"), [1, 6, 11, 16]);
    assert_eq!(service.ids("?pattern=rare:one&limit=2"), [11, 16]);
    assert_eq!(service.ids("?pattern=rare:*&after=1&before=16"), [6, 11]);
    assert_eq!(service.ids("?pattern=none:*"), [0; 0]);
    assert_eq!(service.ids("?since=2100-01-01T00:00:00Z"), [0; 0]);
    let mut path = "/api/events?limit=7&after=0".to_owned();
    let mut all = Vec::new();
    loop {
        let page = service.get(&path);
        all.extend(ids(&page.json()));
        let Some(link) = page.header("link") else { break };
        path = link.split(['<', '>']).nth(1).expect("a target").to_owned();
    }
    assert_eq!(all, (1..=20).collect::<Vec<u64>>());
    let empty = service.get("/api/events?pattern=none:*&after=3");
    assert_eq!(empty.header("waypost-next-after"), Some("20"), "it examined them all");
}

#[test]
fn a_retry_with_the_same_key_publishes_nothing_twice() {
    let service = Service::start();
    let body = json!({"type": "a:b", "data": {"n": 1}});
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let publish = || service.publish_with("one", &body).status;
        let publishing: Vec<_> = (0..30).map(|_| scope.spawn(publish)).collect();
        publishing.into_iter().map(|publishing| publishing.join().expect("no panic")).collect()
    });
    assert_eq!(statuses.iter().filter(|it| **it == 201).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|it| [200, 201].contains(it)), "{statuses:?}");
    assert_eq!(service.ids(""), [1]);
    let other = service.publish_with("one", &json!({"type": "a:b", "data": {"n": 2}}));
    assert!(other.problem(409).contains("event 1"));
    let service = service.restart();
    let again = service.publish_with("one", &body);
    assert_eq!((again.status, &again.json()["duplicate"]), (200, &json!(true)));
    for key in ["", "two words", &"k".repeat(129), "k\u{e9}"] {
        service.publish_with(key, &body).problem(400);
    }
}

#[test]
fn what_is_no_event_is_refused_and_the_field_named() {
    let service = Service::start();
    let long = "x".repeat(10 << 10);
    for kind in ["", "eval", ":scored", "eval:", "a:b:c", "eval:sco*", "eval.x:y", "eval:scored\n"]
        .into_iter()
        .chain([long.as_str(), "\u{435}val:scored", "flow:dead", "memory:added", "system:x"])
    {
        service.publish(kind, &json!({})).field_problem("/type");
    }
    let many: serde_json::Map<String, Value> =
        (0..65).map(|number| (format!("k{number}"), json!(1))).collect();
    for (data, pointer) in [
        (json!([]), "/data"),
        (json!("text"), "/data"),
        (json!({"a": {"b": 1}}), "/data/a"),
        (json!({"a": null}), "/data/a"),
        (json!({"": 1}), "/data/"),
        (json!({"a.b": 1}), "/data/a.b"),
        (json!({"a b": 1}), "/data/a b"),
        (json!({"a": "x".repeat((64 << 10) + 1)}), "/data/a"),
        (Value::Object(many), "/data/k9"),
    ] {
        service.publish("a:b", &data).field_problem(pointer);
    }
    let raw = |body: &str| service.send("POST", "/api/events", &service.token, body.as_bytes());
    let deep = format!(r#"{{"type":"a:b","data":{}1{}}}"#, "[".repeat(10_000), "]".repeat(10_000));
    for body in [
        r#"{"type":"a:b","data":{"a":1e400}}"#,
        r#"{"type":"a:b","data":{"a":NaN}}"#,
        r#"{"type":"a:b","data":{"a":1,"a":2}}"#,
        r#"{"type":"a:b","data":{"a":"\u0000"}}"#,
        r#"{"type":"a:b","data":{"a":"\ud800"}}"#,
        deep.as_str(),
        "",
    ] {
        raw(body).problem(400);
    }
    let exact = raw(
        r#"{"type":"a:b","data":{"a":18446744073709551615,"b":0.30000000000000004,"c":9223372036854775808,"d":-9223372036854775808,"PATH":"x","__proto__":-0}}"#,
    );
    assert_eq!(exact.status, 201, "{}", exact.text());
    let stored = r#""a":18446744073709551615,"b":0.30000000000000004,"c":9223372036854775808,"d":-9223372036854775808,"PATH":"x","__proto__""#;
    assert!(exact.text().contains(stored), "{}", exact.text());
    let prefix = "a".repeat(10 << 10);
    for (query, pointer) in [
        ("?limit=0", "?limit"),
        ("?limit=1001", "?limit"),
        ("?limit=-1", "?limit"),
        ("?limit=abc", "?limit"),
        ("?limit=1e9", "?limit"),
        ("?after=99", "?after"),
        (&format!("?pattern={prefix}*"), "?pattern"),
        ("?after=-1", "?after"),
        ("?after=18446744073709551616", "?after"),
        ("?pattern=**", "?pattern"),
        ("?pattern=*:scored", "?pattern"),
        ("?since=yesterday", "?since"),
        ("?order=asc", "?order"),
    ] {
        service.get(&format!("/api/events{query}")).field_problem(pointer);
    }
    assert_eq!(service.ids(""), [1], "nothing of it was published");
    let keys: Vec<String> = (0..10_000).map(|number| format!("\"k{number}\":1")).collect();
    raw(&format!(r#"{{"type":"a:b","data":{{{}}}}}"#, keys.join(","))).problem(422);
}

#[test]
fn the_first_wrong_type_or_every_value_that_is_not_permitted_is_named() {
    let service = Service::start();
    let pointers = |answer: &Answer| -> Vec<String> {
        answer.problem(422);
        let errors = answer.json()["errors"].as_array().expect("an array").clone();
        let pointers =
            errors.iter().filter_map(|error| error["pointer"].as_str().map(str::to_owned));
        let mut pointers: Vec<String> = pointers.collect();
        pointers.sort_unstable();
        pointers
    };
    for (path, body, wanted) in [
        (
            "/api/events",
            json!({"type": "x", "data": {"a": [1], "b": null, "c": 1, "": 1}, "foo": 2}),
            &["/data/a"][..],
        ),
        // What only the bus refuses is named once the request has its form.
        ("/api/events", json!({"type": "x", "data": {"c": 1, "": 1}}), &["/data/", "/type"]),
        (
            "/api/events",
            json!({"type": "memory:x", "data": {"a b": 1, "1": 2}}),
            &["/data/1", "/data/a b", "/type"],
        ),
        ("/api/events", json!({"data": 1}), &["/data"]),
        ("/api/flows/a/test", json!({"type": "x", "data": {"1": 1}, "foo": 2}), &["/foo"]),
        ("/api/flows/a/test", json!({"type": "x", "data": {"1": 1}}), &["/data/1", "/type"]),
        (
            "/api/context",
            json!({"paths": ["[", "/a", "b"], "maxItems": 0}),
            &["/maxItems", "/paths/0", "/paths/1"],
        ),
    ] {
        assert_eq!(pointers(&service.post(path, &body)), wanted, "{path} {body}");
    }
    for (path, wanted) in [
        ("/api/events?limit=5000&pattern=*x&after=-1", &["?after"][..]),
        ("/api/events?limit=5000&pattern=*x", &["?limit", "?pattern"]),
        ("/api/flows/runs?flow=a%20b&state=lost", &["?state"]),
        ("/api/flows/runs?flow=a%20b&limit=0", &["?flow", "?limit"]),
        ("/api/flows/why?evnt=1", &["?evnt"]),
    ] {
        assert_eq!(pointers(&service.get(path)), wanted, "{path}");
    }
}

#[test]
fn a_stream_tells_what_was_and_what_comes_in_order() {
    let service = Service::start();
    for number in 0..10 {
        service.publish(if number % 2 == 0 { "a:even" } else { "b:odd" }, &json!({"n": number}));
    }
    assert_eq!(follow(&service, None, 0, 10), (1..=10).collect::<Vec<u64>>());
    assert_eq!(follow(&service, Some("b:*"), 3, 10), [4, 6, 8, 10]);
    // The data of an event cannot end its message or begin another one.
    let text = "a\n\nid: 99\r\nevent: end\rdata: x\u{2028}\n\n";
    assert_eq!(service.publish("c:text", &json!({"text": text})).status, 201);
    let told = service.wait_for_event("c:text", 0);
    assert_eq!((told.id, crate::flows::data(&told)), (11, json!({"text": text})));
    let (all, some) = std::thread::scope(|scope| {
        let all: Vec<_> = (0..20).map(|_| scope.spawn(|| follow(&service, None, 5, 211))).collect();
        let some = scope.spawn(|| follow(&service, Some("b:*"), 0, 212));
        // A client that never reads delays nobody.
        let idle = request(service.address, "GET", "/api/events/stream", &service.token, &[], b"");
        let mut silent = connect(service.address);
        silent.write_all(&idle).expect("a connection");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for number in 0..50 {
                        service.publish(
                            if number % 2 == 0 { "a:even" } else { "b:odd" },
                            &json!({"text": "x".repeat(1000)}),
                        );
                    }
                });
            }
        });
        // A client whose pattern excludes the last event ends with this one.
        service.publish("b:odd", &json!({}));
        let all: Vec<Vec<u64>> =
            all.into_iter().map(|item| item.join().expect("no panic")).collect();
        (all, some.join().expect("no panic"))
    });
    for told in all {
        assert_eq!(told, (6..=211).collect::<Vec<u64>>());
    }
    assert_eq!(some, service.ids("?pattern=b:*&limit=1000"));
}

#[test]
fn a_stream_is_resumed_by_its_last_id() {
    let service = Service::start();
    for _ in 0..5 {
        service.publish("a:b", &json!({}));
    }
    let ask = |headers: &[(&str, &str)], query: &str| {
        let path = format!("/api/events/stream{query}");
        send(service.address, "GET", &path, &service.token, headers, b"")
    };
    for bad in ["abc", "-1", "99999999999999999999", "6"] {
        ask(&[("last-event-id", bad)], "").problem(400);
    }
    ask(&[("last-event-id", "1"), ("last-event-id", "2")], "").problem(400);
    ask(&[], "?after=6").field_problem("?after");
    ask(&[], "?pattern=*b").field_problem("?pattern");
    let bytes = request(
        service.address,
        "GET",
        "/api/events/stream?after=0",
        &service.token,
        &[("last-event-id", "3")],
        b"",
    );
    let mut stream = connect(service.address);
    stream.write_all(&bytes).expect("a connection");
    let mut text = String::new();
    while !text.contains("id: 5\n") {
        let mut piece = [0; 4096];
        let read = std::io::Read::read(&mut stream, &mut piece).expect("a stream");
        assert_ne!(read, 0, "{text}");
        text.push_str(&String::from_utf8_lossy(&piece[..read]));
    }
    assert!(text.contains("content-type: text/event-stream"), "{text}");
    assert!(!text.contains("id: 3\n") && text.contains("id: 4\n"), "{text}");
}

#[test]
fn what_is_not_kept_any_more_is_410_and_a_reset() {
    let service = Service::start();
    for _ in 0..40 {
        service.publish("a:b", &json!({}));
    }
    let service = service.restart_with(|service| service.events.keep_count = Some(10));
    // Upkeep drops them within some seconds.
    let gone = until(|| {
        let answer = service.get("/api/events?after=0");
        if answer.status == 200 { Err("they are still there") } else { Ok(answer) }
    });
    let told = gone.problem(410);
    assert!(told.contains("31"), "{told}");
    assert_eq!(service.ids("?after=30"), (31..=40).collect::<Vec<u64>>());
    let mut resets = Vec::new();
    let asked = StreamRequest { pattern: None, after: Some(0) };
    let followed = client(&service).follow_events(&asked, &mut |it| match it {
        Told::Reset { first } => {
            resets.push(first);
            Ok(true)
        }
        Told::Event(event) => Ok(event.id < 40),
    });
    followed.expect("a stream");
    assert_eq!(resets, [31]);
}

#[test]
fn a_stopping_service_ends_its_streams_with_a_word() {
    let service = Service::start();
    let bytes = request(service.address, "GET", "/api/events/stream", &service.token, &[], b"");
    let mut stream = connect(service.address);
    stream.write_all(&bytes).expect("a connection");
    let mut head = [0; 12];
    std::io::Read::read_exact(&mut stream, &mut head).expect("an answer");
    let _stopped = service.restart();
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut stream, &mut rest).expect("the rest");
    assert!(rest.contains("event: end\n") && rest.contains("stopping"), "{rest}");
}

#[test]
fn published_events_survive_ten_kills_in_order_and_once() {
    let folder = TempDir::new().expect("a temporary folder");
    let mut kept: Vec<(u64, String)> = Vec::new();
    let mut unanswered: Vec<String> = Vec::new();
    for round in 0..10 {
        let mut program = Program::start(folder.path());
        check(&program, &kept);
        // Whether it was stored before the kill or now, it exists once.
        for name in unanswered.drain(..) {
            let again = || raw(program.address, &named(&program, &name));
            let (first, second) = (again(), again());
            assert!([200, 201].contains(&first.status), "{}", first.text());
            assert_eq!((second.status, &second.json()["duplicate"]), (200, &json!(true)));
            assert_eq!(first.json()["id"], second.json()["id"]);
            kept.push((first.json()["id"].as_u64().expect("an id"), name));
        }
        let (sender, receiver) = mpsc::channel();
        let left = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for publisher in 0..4 {
                let (sender, address) = (sender.clone(), program.address);
                let (left, program) = (&left, &program);
                scope.spawn(move || {
                    for number in 0.. {
                        let name = format!("{round}-{publisher}-{number}");
                        let bytes = named(program, &name);
                        let Some(id) = publish_at(address, &bytes) else {
                            left.lock().expect("no panic").push(name);
                            return;
                        };
                        if sender.send((id, name)).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            kept.extend(receiver.iter().take(20 + round * 5));
            program.signal("KILL");
            kept.extend(receiver.iter());
        });
        program.kill();
        unanswered = left.into_inner().expect("no panic");
    }
    check(&Program::start(folder.path()), &kept);
}

/// A request for an event of that name, with a key made of it.
fn named(program: &Program, name: &str) -> Vec<u8> {
    let body = json!({"type": "a:b", "data": {"name": name}}).to_string();
    let headers = [("idempotency-key", name)];
    request(program.address, "POST", "/api/events", &program.token, &headers, body.as_bytes())
}

/// The id of the event, unless the service is gone.
fn publish_at(address: SocketAddr, bytes: &[u8]) -> Option<u64> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.write_all(bytes).ok()?;
    let answer = crate::client::read(&mut stream)?;
    let event: Value = serde_json::from_slice(&answer.body).ok()?;
    Some(event["id"].as_u64().expect("an id"))
}

/// Every acknowledged event exists once, in one order without gaps.
fn check(program: &Program, kept: &[(u64, String)]) {
    let mut found = Vec::new();
    loop {
        let after = found.len();
        let path = format!("/api/events?limit=1000&after={after}");
        let page = program.send("GET", &path, b"").json();
        let page = page.as_array().expect("an array").clone();
        if page.is_empty() {
            break;
        }
        for it in page {
            found.push(it["data"]["name"].as_str().expect("a name").to_owned());
            assert_eq!(it["id"], found.len(), "no gaps");
        }
    }
    assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), found.len(), "each once");
    for (id, name) in kept {
        assert_eq!(found.get(*id as usize - 1), Some(name), "event {id} was answered");
    }
}
