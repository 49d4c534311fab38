//! Broadcasts and listeners.

use std::time::Duration;

use serde_json::{Value, json};
use waypost_mesh::limits::{EVENT_BYTES_MAX, EVENTS_WAITING_MAX};
use waypost_mesh::{Error, Mesh, Origin, Pattern};

use crate::{LONG, Place, many_objects, resident_mib, serve_echo};

/// Until the other side knows the subscription, its events are lost: send events until one arrives.
fn meet(from: &Mesh, heard: &waypost_mesh::Listener) {
    crate::eventually("the first event is heard", || {
        from.broadcast("test", &json!({ "type": "human_hello" })).unwrap();
        heard.next(Duration::from_millis(20)).is_some()
    });
    while heard.next(Duration::from_millis(50)).is_some() {}
}

#[test]
fn an_event_is_heard_in_its_shape_by_whoever_asked_for_it() {
    let place = Place::new();
    let (browser, agent) = (place.join("browser"), place.join("agent"));
    let clicks = agent.listen(&Pattern::parse("human_*").unwrap());
    let others = agent.listen(&Pattern::parse("other/human_*").unwrap());
    meet(&browser, &clicks);
    let element = json!({ "tag": "a", "class": "", "text": "More", "selector": "a.more" });
    let click = json!({ "type": "human_click", "element": element });
    let id = browser.broadcast("browser.relay", &click).unwrap();
    browser.broadcast("browser.relay", &json!({ "type": "navigated" })).unwrap();
    let event = clicks.next(LONG).unwrap();
    assert_eq!((event.kind.as_str(), event.source.as_str()), ("human_click", "browser.relay"));
    assert_eq!((event.body, event.id), (click, id));
    assert_eq!((event.from.origin, event.from.says.as_str()), (Origin::Local, "browser"));
    assert!(clicks.next(Duration::from_millis(100)).is_none(), "navigated was not asked for");
    assert!(others.next(Duration::ZERO).is_none(), "another source was asked for");
}

#[test]
fn a_slow_listener_loses_old_events_and_delays_no_call() {
    let place = Place::new();
    let (server, slow) = (place.join("server"), place.join("slow"));
    let _serving = serve_echo(&server);
    let heard = slow.listen(&Pattern::all());
    meet(&server, &heard);
    // Ten times what it queues, and more than the transport's own queue, between calls over the
    // same link. None of them is read.
    let many = 10 * EVENTS_WAITING_MAX;
    for n in 0..many {
        server.broadcast("test", &json!({ "type": "tick", "n": n })).unwrap();
        if n % 16 == 0 {
            assert_eq!(slow.call("echo", "say", &json!(n), LONG), Ok(json!(n)));
        }
    }
    crate::eventually("more came than it keeps", || heard.dropped() > 0);
    let mut last = None;
    while let Some(event) = heard.next(Duration::from_millis(200)) {
        let n = event.body["n"].as_u64().unwrap();
        assert!(last.is_none_or(|it| it < n), "they come in order");
        last = Some(n);
    }
    assert!(last.is_some());
    assert_eq!(slow.call("echo", "say", &Value::Null, LONG), Ok(Value::Null));
}

#[test]
fn listeners_that_do_not_read_need_little_memory() {
    let place = Place::new();
    let mesh = place.join("browser");
    let listeners: Vec<_> = (0..8).map(|_| mesh.listen(&Pattern::all())).collect();
    let event = json!({ "type": "tick", "list": many_objects(EVENT_BYTES_MAX - 100) });
    let before = resident_mib();
    for _ in 0..EVENTS_WAITING_MAX {
        mesh.broadcast("test", &event).unwrap();
    }
    let more = resident_mib().saturating_sub(before);
    assert!(more < 150, "{more} MiB");
    assert!(listeners.iter().all(|listener| listener.dropped() > 0));
    assert_eq!(listeners[0].next(LONG).unwrap().body, event);
}

#[test]
fn an_event_has_a_type_and_a_size() {
    let place = Place::new();
    let mesh = place.join("browser");
    for bad in [json!(null), json!({}), json!({ "type": 1 }), json!("human_click")] {
        assert!(matches!(mesh.broadcast("test", &bad), Err(Error::Invalid(_))), "{bad}");
    }
    let sized = |bytes: usize| {
        let empty = json!({ "type": "x", "text": "" }).to_string().len();
        json!({ "type": "x", "text": "x".repeat(bytes - empty) })
    };
    mesh.broadcast("test", &sized(EVENT_BYTES_MAX)).unwrap();
    let over = mesh.broadcast("test", &sized(EVENT_BYTES_MAX + 1));
    assert!(matches!(over, Err(Error::Invalid(_))));
}

#[test]
fn a_listener_ends_with_its_mesh() {
    let place = Place::new();
    let mesh = place.join("browser");
    let heard = mesh.listen(&Pattern::all());
    drop(mesh);
    assert!(heard.is_closed());
    assert!(heard.next(LONG).is_none());
}
