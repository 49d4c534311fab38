//! Machines that meet at a zenoh router.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use serde_json::{Value, json};
use waypost_mesh::{CallError, Error, Event, Listener, Mesh, Origin, Pairing, Pattern};

use crate::far::{Machine, call_of, rights};
use crate::routing::{Meeting, Raw, edit};
use crate::{LONG, now, serve_echo};

fn say(mesh: &Mesh) -> Result<Value, CallError> {
    mesh.call("echo", "say", &json!(1), LONG)
}

fn listen(mesh: &Mesh) -> Listener {
    mesh.listen(&Pattern::parse("mesh:*").unwrap()).unwrap()
}

fn tell(mesh: &Mesh, n: usize) {
    mesh.broadcast("ctl", &json!({ "type": "mesh:task", "n": n })).unwrap();
}

/// Broadcasts events until one is received, and consumes those that arrive late.
fn met(from: &Mesh, heard: &Listener) -> Event {
    let (mut n, mut event) = (0, None);
    crate::eventually("an event is heard", || {
        tell(from, n);
        n += 1;
        event = heard.next(Duration::from_millis(50));
        event.is_some()
    });
    let event = event.unwrap();
    let mut last = event.body["n"].clone();
    while last != json!(n - 1) {
        last = heard.next(LONG).unwrap().body["n"].clone();
    }
    event
}

fn sees(mesh: &Mesh, name: &str, origin: &str) -> bool {
    let origin = Origin::Machine(origin.into());
    mesh.peers().unwrap().iter().any(|it| it.name == name && it.origin == origin)
}

#[test]
fn machines_that_know_a_router_alone_call_tell_and_see_each_other() {
    let meeting = Meeting::new(&["echo/say", "echo/who", "echo/router", "slow/*"]);
    edit(&meeting.laptop.pairing, |list| list["machines"][0]["calls"] = json!(["back/say"]));
    let _router = meeting.route();
    let server = meeting.home.join("server", false);
    let _serving = serve_echo(&server);
    let caller = meeting.laptop.join("caller", false);
    let _back = caller.serve("back", |call| Ok(call.argument)).unwrap();
    assert_eq!(call_of(&caller, "echo", "say"), Ok(json!(1)));
    let who = call_of(&caller, "echo", "who");
    assert_eq!(who, Ok(json!({ "origin": "laptop", "says": "caller" })));
    assert_eq!(call_of(&caller, "echo", "router"), Ok(json!("meeting")), "it is the router's word");
    assert_eq!(call_of(&server, "back", "say"), Ok(json!(1)));
    for (from, by, origin) in [(&caller, &server, "laptop"), (&server, &caller, "home")] {
        let event = met(from, &listen(by));
        assert_eq!(event.from.origin, Origin::Machine(origin.into()));
        assert_eq!(event.from.router.as_deref(), Some("meeting"));
    }
    assert!(sees(&caller, "server", "home") && sees(&server, "caller", "laptop"));
    // The reasons why a call fails are distinguished here, too.
    for (mesh, target) in [(&caller, "echo"), (&server, "back")] {
        let called = call_of(mesh, target, "fail");
        assert!(matches!(called, Err(CallError::Denied(_))), "{called:?}");
    }
    let nobody = caller.call("nobody", "say", &Value::Null, LONG);
    assert!(matches!(nobody, Err(CallError::Offline(_))), "{nobody:?}");
    let (end, ended) = channel::<()>();
    let ended = parking_lot::Mutex::new(ended);
    let slow = server.serve("slow", move |call| {
        if call.command == "wait" {
            ended.lock().recv_timeout(LONG).unwrap_or_default();
        }
        Ok(Value::Null)
    });
    assert_eq!(call_of(&caller, "slow", "go"), Ok(Value::Null));
    // A link may drop for a moment; the call then fails as offline.
    let waits = || {
        let waited = caller.call("slow", "wait", &Value::Null, Duration::from_millis(300));
        matches!(waited, Err(CallError::Timeout(_)))
    };
    crate::eventually("what is there and does not answer is waited for", waits);
    drop((end, slow));
}

#[test]
fn a_router_that_goes_away_and_comes_back_is_met_again() {
    let meeting = Meeting::new(&["echo/say"]);
    let server = meeting.home.join("server", false);
    let _serving = serve_echo(&server);
    let caller = meeting.laptop.join("caller", false);
    let heard = listen(&server);
    for mesh in [&server, &caller] {
        let says_so = || mesh.trouble().is_some_and(|it| it.contains("router meeting"));
        crate::eventually("that there is no router is said", says_so);
    }
    for _ in 0..2 {
        let router = meeting.route();
        assert_eq!(call_of(&caller, "echo", "say"), Ok(json!(1)));
        met(&caller, &heard);
        assert_eq!((server.trouble(), caller.trouble()), (None, None));
        drop(router);
        let is_offline = || matches!(say(&caller), Err(CallError::Offline(_)));
        crate::eventually("nobody is there without it", is_offline);
        crate::eventually("it sees itself alone", || caller.peers().unwrap().len() == 1);
    }
}

#[test]
fn machines_with_two_links_and_peers_of_one_machine_get_each_call_and_event_once() {
    let mut meeting = Meeting::new(&["echo/*", "count/*"]);
    let desk = meeting.pair("desk", &[]);
    let direct = meeting.pairing.address().unwrap().to_owned();
    edit(&meeting.laptop.pairing, |list| list["connect"] = json!([direct]));
    edit(&desk.pairing, |list| {
        let laptop = json!({ "name": "laptop", "events": true });
        list["machines"].as_array_mut().unwrap().push(laptop);
    });
    let _router = meeting.route();
    let server = meeting.home.join("server", true);
    let done = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&done);
    let _serving = serve_echo(&server);
    let _counting =
        server.serve("count", move |_| Ok(json!(counted.fetch_add(1, Ordering::SeqCst)))).unwrap();
    let caller = meeting.laptop.join("caller", false);
    let beside = meeting.laptop.join("beside", false);
    let onlooker = desk.join("onlooker", false);
    let (far, near, routed) = (listen(&server), listen(&beside), listen(&onlooker));
    // Both links are open: the desk receives events of the laptop only through the router.
    assert_eq!(met(&caller, &routed).from.router.as_deref(), Some("meeting"));
    met(&server, &routed);
    crate::eventually("they are linked directly", || {
        call_of(&caller, "echo", "router") == Ok(json!(null))
    });
    met(&caller, &far);
    met(&caller, &near);
    while far.next(Duration::from_millis(100)).is_some() {}
    while near.next(Duration::from_millis(100)).is_some() {}
    for n in 1_000..1_050 {
        tell(&caller, n);
        let (far, near) = (far.next(LONG).unwrap(), near.next(LONG).unwrap());
        // A duplicate would be received in place of the next one.
        assert_eq!((&far.body["n"], &near.body["n"]), (&json!(n), &json!(n)));
        assert_eq!((&near.from.origin, near.from.router), (&Origin::Local, None));
    }
    for n in 0..50 {
        assert_eq!(caller.call("count", "up", &json!(null), LONG), Ok(json!(n)));
    }
    assert_eq!(done.load(Ordering::SeqCst), 50);
    let peers = caller.peers().unwrap();
    assert_eq!(peers.iter().filter(|it| it.name == "server").count(), 1, "{peers:?}");
    assert_eq!(peers.iter().filter(|it| it.name == "beside").count(), 1, "{peers:?}");
}

#[test]
fn a_target_that_two_machines_serve_is_not_called_through_a_router() {
    let mut meeting = Meeting::new(&[]);
    let desk = meeting.pair("desk", &["echo/*"]);
    edit(&desk.pairing, |list| {
        list["machines"].as_array_mut().unwrap().push(json!({ "name": "laptop" }));
    });
    let _router = meeting.route();
    let (first, second) =
        (meeting.home.join("server", false), meeting.laptop.join("server", false));
    let (_first, _second) = (serve_echo(&first), serve_echo(&second));
    let caller = desk.join("caller", false);
    crate::eventually("both are there", || {
        sees(&caller, "server", "home") && sees(&caller, "server", "laptop")
    });
    let Err(CallError::Failed(problem)) = say(&caller) else { panic!("it was called") };
    assert_eq!(problem.code, "ambiguous");
    assert!(problem.detail.contains("home and laptop"), "{problem}");
}

#[test]
fn no_machine_can_use_another_name_through_a_router() {
    let meeting = Meeting::new(&["echo/say"]);
    let _router = meeting.route();
    let server = meeting.home.join("server", false);
    let (_serving, heard) = (serve_echo(&server), listen(&server));
    let raw = Raw::open(&meeting.laptop.pairing, &meeting.address).unwrap();
    crate::eventually("its own name is answered", || {
        raw.ask("mesh/waypost/call/echo/say/laptop", 'a') == 1
    });
    for (key, id) in [
        ("mesh/waypost/call/echo/say/home", 'b'),
        ("mesh/waypost/call/echo/say/meeting", 'c'),
        ("mesh/waypost/call/echo/say/local", 'd'),
        ("mesh/waypost/call/echo/fail/laptop", 'e'),
        ("mesh/waypost/call/echo/*/laptop", 'f'),
        ("mesh/waypost/call/echo/say/*", '1'),
        ("**", '2'),
    ] {
        assert_eq!(raw.ask(key, id), 0, "{key}");
    }
    for (origin, id) in [("home", 'a'), ("meeting", 'b'), ("local", 'c'), ("laptop", 'd')] {
        raw.tell(&format!("mesh/waypost/event/ctl/mesh:task/{origin}"), id);
    }
    let event = heard.next(LONG).unwrap();
    assert_eq!(event.from.origin, Origin::Machine("laptop".into()), "the others were not heard");
}

#[test]
fn an_unlisted_machine_is_rejected_by_the_router_and_without_it() {
    let mut meeting = Meeting::new(&["echo/say"]);
    let file = meeting.home.pairing.join("paired.json");
    let before = std::fs::read(&file).unwrap();
    let stranger = meeting.pair("stranger", &["echo/*"]);
    std::fs::write(&file, before).unwrap();
    meeting.pairing = Pairing::open(&meeting.home.pairing).unwrap().unwrap();
    meeting.write();
    let server = meeting.home.join("server", false);
    let (_serving, heard) = (serve_echo(&server), listen(&server));
    let router = meeting.route();
    let good = Raw::open(&meeting.laptop.pairing, &meeting.address).unwrap();
    let key = |name: &str| format!("mesh/waypost/call/echo/say/{name}");
    crate::eventually("the good one is answered", || good.ask(&key("laptop"), 'a') == 1);
    assert!(good.sees() > 0);
    // Its certificate is of the same authority, and opens a link over which nothing is allowed.
    let raw = Raw::open(&stranger.pairing, &meeting.address).unwrap();
    assert_eq!(
        (raw.ask(&key("stranger"), 'b'), raw.ask(&key("laptop"), 'c'), raw.sees()),
        (0, 0, 0)
    );
    drop((raw, good, router));
    // A router without rules: the machine itself rejects the call.
    meeting.edit_router(|config| config["access_control"] = json!({ "enabled": false }));
    let _router = meeting.route();
    let good = Raw::open(&meeting.laptop.pairing, &meeting.address).unwrap();
    crate::eventually("the good one is answered", || good.ask(&key("laptop"), 'd') == 1);
    let raw = Raw::open(&stranger.pairing, &meeting.address).unwrap();
    assert_eq!(raw.ask(&key("stranger"), 'e'), 0);
    raw.tell("mesh/waypost/event/ctl/mesh:task/stranger", 'a');
    drop(raw);
    met(&meeting.laptop.join("teller", false), &heard);
    assert_eq!(heard.next(Duration::from_millis(100)), None, "the stranger was not heard");
    // A certificate of another authority opens nothing.
    let other = Machine::new();
    other.found("laptop");
    assert!(Raw::open(&other.pairing, &meeting.address).is_err());
}

#[test]
fn a_revoked_machine_is_denied_at_once_and_shut_out_when_the_router_hears_of_it() {
    let mut meeting = Meeting::new(&["echo/say"]);
    let desk = meeting.pair("desk", &["echo/say"]);
    let router = meeting.route();
    let server = meeting.home.join("server", false);
    let (_serving, heard) = (serve_echo(&server), listen(&server));
    let (caller, other) = (meeting.laptop.join("caller", false), desk.join("other", false));
    assert_eq!(call_of(&caller, "echo", "say"), Ok(json!(1)));
    assert_eq!(met(&caller, &heard).from.origin, Origin::Machine("laptop".into()));
    assert!(meeting.pairing.revoke("laptop").unwrap());
    crate::eventually("it is denied", || matches!(say(&caller), Err(CallError::Denied(_))));
    while heard.next(Duration::from_millis(100)).is_some() {}
    tell(&caller, 0);
    assert_eq!(met(&other, &heard).from.origin, Origin::Machine("desk".into()));
    assert!(!sees(&server, "caller", "laptop"));
    meeting.write();
    drop(router);
    let _router = meeting.route();
    assert_eq!(call_of(&other, "echo", "say"), Ok(json!(1)));
    let raw = Raw::open(&meeting.laptop.pairing, &meeting.address).unwrap();
    assert_eq!(raw.ask("mesh/waypost/hello/echo/laptop", 'a'), 0);
    assert_eq!(raw.sees(), 0);
}

#[test]
fn a_router_that_does_not_answer_holds_up_nobody() {
    let meeting = Meeting::new(&["echo/say"]);
    let direct = meeting.pairing.address().unwrap().to_owned();
    edit(&meeting.laptop.pairing, |list| list["connect"] = json!([direct]));
    // It accepts connections, and sends nothing on them.
    let _silent = std::net::TcpListener::bind(&meeting.address).unwrap();
    let server = meeting.home.join("server", true);
    let caller = meeting.laptop.join("caller", false);
    let _serving = serve_echo(&server);
    assert_eq!(call_of(&caller, "echo", "say"), Ok(json!(1)));
    let mut pairing = meeting.pairing;
    assert!(pairing.revoke("laptop").unwrap());
    crate::eventually("it is denied", || matches!(say(&caller), Err(CallError::Denied(_))));
    let says_so = || caller.trouble().is_some_and(|it| it.contains("router meeting"));
    crate::eventually("that it does not answer is said", says_so);
}

#[test]
fn a_router_s_certificate_speaks_for_nobody_else_on_a_direct_link() {
    let meeting = Meeting::new(&["echo/say"]);
    let server = meeting.home.join("server", true);
    let _serving = serve_echo(&server);
    let direct = meeting.pairing.address().unwrap();
    let laptop = Raw::open(&meeting.laptop.pairing, direct).unwrap();
    assert_eq!(laptop.ask("mesh/waypost/call/echo/say/laptop", 'a'), 1);
    let router = Raw::open(&meeting.folder, direct).unwrap();
    assert_eq!(router.ask("mesh/waypost/call/echo/say/laptop", 'b'), 0);
    assert_eq!(router.ask("mesh/waypost/call/echo/say/meeting", 'c'), 0);
}

#[test]
fn a_router_whose_certificate_is_of_another_host_is_not_taken_for_it() {
    let (home, laptop) = (Machine::new(), Machine::new());
    let mut pairing = home.found("home");
    let folder = home.place.0.path().join("meeting");
    let address = crate::far::free_address();
    let port = address.rsplit_once(':').unwrap().1;
    let elsewhere = rights(&[]).with_router(format!("meeting.invalid:{port}"));
    pairing.pair("meeting", elsewhere, &folder, now()).unwrap();
    crate::far::pair(&mut pairing, "laptop", &[], &laptop.pairing);
    let meeting = Meeting { home, laptop, pairing, address, folder };
    meeting.edit_router(|config| {
        config["listen"]["endpoints"] = json!([format!("tls/{}", meeting.address)]);
    });
    let _router = meeting.route();
    let known = |list: &mut Value| list["machines"][0]["address"] = json!(meeting.address);
    edit(&meeting.home.pairing, known);
    let mesh = meeting.home.join("server", false);
    crate::eventually("it is refused", || {
        mesh.trouble().is_some_and(|it| it.contains("cannot reach router meeting"))
    });
}

#[test]
fn those_paired_after_a_router_know_it_and_its_file_names_who_is_on_the_list() {
    let mut meeting = Meeting::new(&[]);
    meeting.pair("desk", &[]);
    let read = |pairing: &std::path::Path| {
        let bytes = std::fs::read(pairing.join("paired.json")).unwrap();
        serde_json::from_slice::<Value>(&bytes).unwrap()
    };
    let theirs = &read(&meeting.laptop.pairing)["machines"][1];
    assert_eq!(theirs["name"], "meeting");
    assert_eq!((&theirs["router"], &theirs["address"]), (&json!(true), &json!(meeting.address)));
    assert_eq!(theirs["calls"], json!([]));
    let named = |pairing: &Pairing| {
        let config: Value = serde_json::from_str(&pairing.router("meeting").unwrap()).unwrap();
        let subjects = config["access_control"]["subjects"].as_array().unwrap().clone();
        subjects.iter().map(|it| it["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(named(&meeting.pairing), ["home", "laptop", "desk"]);
    assert!(meeting.pairing.revoke("laptop").unwrap());
    assert_eq!(named(&meeting.pairing), ["home", "desk"]);
    assert!(matches!(meeting.pairing.router("desk"), Err(Error::Invalid(_))));
    assert!(!meeting.folder.join("paired.json").exists(), "a router has no list of its own");
    for wrong in ["nowhere", "a/b:1", "meeting:0"] {
        let folder = meeting.home.place.0.path().join("other");
        let rights = rights(&[]).with_router(wrong);
        let refused = meeting.pairing.pair("other", rights, &folder, now());
        assert!(matches!(refused, Err(Error::Invalid(_))), "{wrong}");
        assert!(!folder.exists(), "nothing is made");
    }
}
