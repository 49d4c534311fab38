//! Calls between peers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::time::Duration;

use serde_json::{Value, json};
use waypost_mesh::limits::{CALLS_RUNNING_MAX, PAYLOAD_BYTES_MAX};
use waypost_mesh::{CallError, Error, Problem};

use crate::{LONG, Place, serve_echo};

#[test]
fn a_call_brings_its_argument_and_its_result() {
    let place = Place::new();
    let server = place.join("server");
    let _serving = serve_echo(&server);
    let caller = place.join("caller");
    for argument in [
        json!(null),
        json!({ "selector": "a[href=\"/x\"]", "n": 1.5, "text": "\u{0}\u{1b}é漢😀" }),
        json!("x".repeat(PAYLOAD_BYTES_MAX - 2)),
    ] {
        assert_eq!(caller.call("echo", "say", &argument, LONG), Ok(argument));
    }
    let who = caller.call("echo", "who", &Value::Null, LONG);
    assert_eq!(who, Ok(json!({ "origin": "local", "says": "caller" })));
    // A peer may call itself.
    assert_eq!(server.call("echo", "say", &json!(7), LONG), Ok(json!(7)));
}

#[test]
fn whoever_came_first_calls_whoever_came_last_and_the_other_way_round() {
    let place = Place::new();
    let peers: Vec<_> = (0..4).map(|n| place.join(&format!("peer-{n}"))).collect();
    let _serving: Vec<_> = (0_usize..4)
        .map(|n| peers[n].serve(&format!("target-{n}"), move |_| Ok(json!(n))).unwrap())
        .collect();
    for from in &peers {
        for to in 0..4 {
            let target = format!("target-{to}");
            crate::eventually("it is known what the last one serves", || {
                from.call(&target, "number", &Value::Null, LONG) == Ok(json!(to))
            });
        }
    }
}

#[test]
fn what_comes_of_a_call_is_told_apart() {
    let place = Place::new();
    let server = place.join("server");
    let _serving = serve_echo(&server);
    let (release, held) = mpsc::channel::<()>();
    let held = std::sync::Mutex::new(held);
    let _slow = server
        .serve("slow", move |_| {
            held.lock().unwrap().recv_timeout(LONG).unwrap();
            Ok(Value::Null)
        })
        .unwrap();
    let caller = place.join("caller");
    let call = |target: &str, command: &str| {
        caller.call(target, command, &Value::Null, Duration::from_millis(300))
    };
    assert!(matches!(call("nobody", "say"), Err(CallError::Offline(_))));
    assert!(matches!(call("slow", "say"), Err(CallError::Timeout(_))));
    release.send(()).unwrap();
    let long = |command| caller.call("echo", command, &Value::Null, LONG);
    assert_eq!(
        long("fail"),
        Err(CallError::Failed(Problem::new(404, "not_found", "no element matches #gone")))
    );
    assert_eq!(long("deny"), Err(CallError::Denied("the human has not allowed it".into())));
    let failed = |outcome| match outcome {
        Err(CallError::Failed(problem)) => (problem.status, problem.code),
        other => panic!("{other:?}"),
    };
    assert_eq!(failed(long("panic")), (500, "internal".into()));
    assert_eq!(failed(long("large")), (500, "result_too_large".into()));
    // None of it harmed the target.
    assert_eq!(caller.call("echo", "say", &json!(1), LONG), Ok(json!(1)));
}

#[test]
fn names_that_could_be_wildcards_are_never_sent() {
    let place = Place::new();
    let server = place.join("server");
    let _serving = serve_echo(&server);
    for bad in ["*", "**", "$*", "", "echo/say", "ech*", "@x", "Echo", "e cho", "é"] {
        for (target, command) in [(bad, "say"), ("echo", bad)] {
            let called = server.call(target, command, &Value::Null, LONG);
            assert!(matches!(called, Err(CallError::BadName(_))), "{target} {command}: {called:?}");
        }
        assert!(matches!(server.serve(bad, |_| Ok(Value::Null)), Err(Error::Invalid(_))));
        let event = json!({ "type": bad });
        assert!(matches!(server.broadcast("echo", &event), Err(Error::Invalid(_))), "{bad}");
    }
}

#[test]
fn an_argument_above_the_limit_is_refused_before_it_is_sent() {
    let place = Place::new();
    let server = place.join("server");
    let _serving = serve_echo(&server);
    let over = json!("x".repeat(PAYLOAD_BYTES_MAX - 1));
    assert_eq!(
        server.call("echo", "say", &over, LONG),
        Err(CallError::TooLarge { bytes: PAYLOAD_BYTES_MAX + 1, bytes_max: PAYLOAD_BYTES_MAX })
    );
}

#[test]
fn a_second_server_of_one_name_is_refused_with_who_has_it() {
    let place = Place::new();
    let (first, second) = (place.join("first"), place.join("second"));
    let serving = serve_echo(&first);
    for mesh in [&second, &first] {
        let Err(Error::Taken { target, by }) = mesh.serve("echo", |_| Ok(Value::Null)) else {
            panic!("it was served twice");
        };
        assert_eq!(target, "echo");
        assert_eq!(by, format!("first, process {}", std::process::id()));
    }
    drop(serving);
    let _serving = second.serve("echo", |_| Ok(json!("second"))).unwrap();
    crate::eventually("the second is called", || {
        first.call("echo", "x", &Value::Null, LONG) == Ok(json!("second"))
    });
}

#[test]
fn calls_run_at_once_and_no_more_of_them_than_allowed() {
    let place = Place::new();
    let server = place.join("server");
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let together = Arc::new(Barrier::new(CALLS_RUNNING_MAX));
    let counted = (Arc::clone(&running), Arc::clone(&most));
    let _serving = server
        .serve("meet", move |_| {
            let now = counted.0.fetch_add(1, Ordering::SeqCst) + 1;
            counted.1.fetch_max(now, Ordering::SeqCst);
            // None continues before the maximum number is running.
            together.wait();
            counted.0.fetch_sub(1, Ordering::SeqCst);
            Ok(Value::Null)
        })
        .unwrap();
    let caller = place.join("caller");
    std::thread::scope(|scope| {
        for _ in 0..2 * CALLS_RUNNING_MAX {
            scope.spawn(|| caller.call("meet", "all", &Value::Null, LONG).unwrap());
        }
    });
    assert_eq!(most.load(Ordering::SeqCst), CALLS_RUNNING_MAX);
}

#[test]
fn peers_are_listed_with_what_they_serve_and_go_when_they_leave() {
    let place = Place::new();
    let (server, other) = (place.join("server"), place.join("other"));
    let _serving = serve_echo(&server);
    let _more = server.serve("another", |_| Ok(Value::Null)).unwrap();
    let shown = |mesh: &waypost_mesh::Mesh| {
        let peers = mesh.peers();
        peers.into_iter().map(|peer| (peer.name, peer.targets, peer.is_self)).collect::<Vec<_>>()
    };
    let both = [
        ("other".to_owned(), vec![], true),
        ("server".to_owned(), vec!["another".to_owned(), "echo".to_owned()], false),
    ];
    crate::eventually("both are seen", || shown(&other) == both);
    drop(server);
    crate::eventually("one is left", || shown(&other) == both[..1]);
}
