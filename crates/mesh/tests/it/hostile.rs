//! Peers that have the credentials and violate the rules, with raw sessions of the transport.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use waypost_mesh::limits::PAYLOAD_BYTES_MAX;
use waypost_mesh::{Error, Mesh, Pattern, Settings};
use zenoh::Wait as _;
use zenoh::qos::CongestionControl;

use crate::{LONG, Place, now_ms, serve_echo};

/// Joins the folder's peers with that password, bypassing the crate.
fn raw(place: &Place, password: Option<&str>) -> zenoh::Session {
    let text = fs::read_to_string(place.folder().join("credentials")).unwrap();
    let right = text.trim().strip_prefix("peer:").unwrap();
    let sockets: Vec<String> = fs::read_dir(place.folder())
        .unwrap()
        .map(|it| it.unwrap().path())
        .filter(|it| it.extension().is_some_and(|it| it == "sock"))
        .map(|it| format!("unixsock-stream/{}", it.display()))
        .collect();
    let config = json!({
        "mode": "client",
        "connect": { "endpoints": sockets, "timeout_ms": 2000, "exit_on_failure": true },
        "scouting": { "multicast": { "enabled": false }, "gossip": { "enabled": false } },
        "transport": { "auth": { "usrpwd": {
            "user": "peer", "password": password.unwrap_or(right),
        } } },
    });
    zenoh::open(zenoh::Config::from_json5(&config.to_string()).unwrap()).wait().unwrap()
}

fn envelope(id: char, expires_ms: i64) -> Value {
    let id = id.to_string().repeat(32);
    json!({ "v": 1, "id": id, "from": "raw", "expires": expires_ms, "argument": null })
}

/// All replies to a query.
fn ask(
    session: &zenoh::Session,
    key: &str,
    payload: impl Into<zenoh::bytes::ZBytes>,
) -> Vec<Value> {
    let replies = session.get(key).payload(payload).timeout(Duration::from_secs(3)).wait().unwrap();
    replies
        .into_iter()
        .filter_map(|reply| {
            let sample = reply.result().ok()?;
            serde_json::from_slice(&sample.payload().to_bytes()).ok()
        })
        .collect()
}

#[test]
fn who_has_other_credentials_is_not_let_in() {
    let place = Place::new();
    let server = place.join("server");
    let _serving = serve_echo(&server);
    let config = fs::read_to_string(place.folder().join("credentials")).unwrap();
    let wrong = "0".repeat(64);
    fs::write(place.folder().join("credentials"), format!("peer:{wrong}\n")).unwrap();
    let refused = Mesh::open(&Settings::new(&place.folder(), "stranger")).unwrap_err();
    assert!(matches!(refused, Error::Refused { peers: 1, .. }), "{refused}");
    fs::write(place.folder().join("credentials"), config).unwrap();
    assert_eq!(place.join("friend").call("echo", "say", &json!(1), LONG), Ok(json!(1)));
}

#[test]
fn a_caller_that_claims_to_be_another_machine_is_denied() {
    let place = Place::new();
    let server = place.join("server");
    let _serving = serve_echo(&server);
    let session = raw(&place, None);
    let payload = envelope('a', now_ms() + 5_000).to_string();
    let answers = ask(&session, "mesh/waypost/call/echo/say/laptop", payload.clone());
    assert_eq!(answers[0]["problem"]["code"], "denied", "{answers:?}");
    // The name that it gives itself is only a claim, and the origin stays the proved one.
    let answers = ask(&session, "mesh/waypost/call/echo/who/local", payload);
    assert_eq!(answers[0]["result"], json!({ "origin": "local", "says": "raw" }));
}

#[test]
fn a_replayed_request_gets_the_same_response_and_is_not_executed_again() {
    let place = Place::new();
    let server = place.join("server");
    let done = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&done);
    let _serving =
        server.serve("count", move |_| Ok(json!(counted.fetch_add(1, Ordering::SeqCst)))).unwrap();
    let session = raw(&place, None);
    let key = "mesh/waypost/call/count/up/local";
    let payload = envelope('a', now_ms() + 60_000).to_string();
    for _ in 0..3 {
        assert_eq!(ask(&session, key, payload.clone()), [json!({ "v": 1, "result": 0 })]);
    }
    assert_eq!(done.load(Ordering::SeqCst), 1);
    let other = envelope('b', now_ms() + 60_000).to_string();
    assert_eq!(ask(&session, key, other), [json!({ "v": 1, "result": 1 })]);
    // A request that was held back until after its deadline is not executed.
    let late = ask(&session, key, envelope('c', now_ms() - 31_000).to_string());
    assert_eq!(late[0]["problem"]["code"], "expired");
    let early = ask(&session, key, envelope('d', now_ms() + 10_000_000).to_string());
    assert_eq!(early[0]["problem"]["code"], "bad_request");
    assert_eq!(done.load(Ordering::SeqCst), 2);
}

#[test]
fn wildcards_large_payloads_and_garbage_reach_no_handler() {
    let place = Place::new();
    let server = place.join("server");
    let done = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&done);
    let _serving =
        server.serve("count", move |_| Ok(json!(counted.fetch_add(1, Ordering::SeqCst)))).unwrap();
    let good = envelope('a', now_ms() + 60_000).to_string();
    let session = raw(&place, None);
    for key in [
        "mesh/waypost/call/**",
        "mesh/waypost/call/count/*/local",
        "**",
        "mesh/*/call/count/up/local",
    ] {
        for answer in ask(&session, key, good.clone()) {
            assert_eq!(answer["problem"]["code"], "bad_name", "{key}");
        }
    }
    let key = "mesh/waypost/call/count/up/local";
    let mut other = envelope('b', now_ms() + 60_000);
    other["v"] = json!(2);
    for rubbish in [
        String::new(),
        "{".into(),
        "[]".into(),
        "[".repeat(10_000),
        "\u{0}".into(),
        other.to_string(),
    ] {
        let answers = ask(&session, key, rubbish.clone());
        assert_eq!(answers[0]["problem"]["status"], 400, "{rubbish:.20}");
    }
    let over = ask(&session, key, "x".repeat(PAYLOAD_BYTES_MAX + 2_000));
    assert_eq!(over[0]["problem"]["code"], "too_large");
    // More than the transport accepts: it closes that link, and no other peer is affected.
    assert!(ask(&session, key, "x".repeat(10 * 1024 * 1024)).is_empty());
    drop(session);
    let caller = place.join("caller");
    assert_eq!(done.load(Ordering::SeqCst), 0);
    assert_eq!(caller.call("count", "up", &Value::Null, LONG), Ok(json!(0)));
}

#[test]
fn what_is_no_event_is_not_heard() {
    let place = Place::new();
    let mesh = place.join("agent");
    let heard = mesh.listen(&Pattern::all()).unwrap();
    let session = raw(&place, None);
    let id = "a".repeat(32);
    let notice =
        |kind: &str| json!({ "v": 1, "id": id, "from": "raw", "at": 0, "event": { "type": kind } });
    let put = |key: &str, payload: String| {
        // By default the transport would drop data that cannot be sent at once.
        let put = session.put(key.to_owned(), payload).congestion_control(CongestionControl::Block);
        put.wait().unwrap();
    };
    let good = "mesh/waypost/event/browser.relay/human_click/local";
    crate::eventually("a good one is heard", || {
        let mut notice = notice("human_click");
        notice["id"] = json!(format!("{:032x}", now_ms()));
        put(good, notice.to_string());
        heard.next(Duration::from_millis(20)).is_some()
    });
    while heard.next(Duration::from_millis(50)).is_some() {}
    put(good, notice("navigated").to_string());
    put(good, "rubbish".into());
    put(good, "x".repeat(200_000));
    put("mesh/waypost/event/browser.relay/human_click/laptop", notice("human_click").to_string());
    put(good, notice("human_click").to_string());
    let event = heard.next(LONG).unwrap();
    assert_eq!(event.id, id, "only the last one is an event");
    assert!(heard.next(Duration::from_millis(100)).is_none());
}
