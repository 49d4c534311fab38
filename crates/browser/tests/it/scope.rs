//! State that belongs to one command, and to no other.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;
use waypost_browser::{Act, Done, Holder, Plain, Policy, ProblemKind, Relay};

use crate::server::{Server, page};
use crate::wait::until;
use crate::world::World;

const ASKING: &str = r#"<style>button { position: fixed; left: 20px; width: 90px; height: 24px }
  #ask { top: 100px } #under { top: 150px } #over { position: fixed; inset: 140px auto auto 0; width: 300px; height: 60px; background: red }
  #hidden { display: none } #gone { top: 200px }</style>
  <button id=ask onclick="out.textContent = confirm('Sure?') ? 'yes' : 'no'">Ask</button>
  <button id=under>Under</button><div id=over></div><button id=hidden>Hidden</button>
  <button id=gone disabled>Disabled</button><p id=out></p>"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_click_accepts_no_later_dialog() {
    let server = Server::start(|_| page(ASKING));
    let world = World::start(&[&server]).await;
    world.go(&server.url("/")).await;
    let accepted = |done: &Done| done.dialogs[0].accepted;
    let click = |selector: &str| json!({ "selector": selector, "dialog": "accept" });
    for (selector, kind) in [
        ("#under", ProblemKind::Covered),
        ("#hidden", ProblemKind::Hidden),
        ("#gone", ProblemKind::Disabled),
        ("#none", ProblemKind::NotFound),
    ] {
        world.refused("click", click(selector), kind).await;
        let done = world.relay.human(Act::Click(40.0, 110.0)).await.expect("clicked");
        assert!(!accepted(&done), "{selector}");
        world.relay.hand_back();
    }
    // A click that a person interrupts while the covered element is still being tried.
    let relay = Arc::clone(&world.relay);
    let going = tokio::spawn(async move { relay.handle("click", click_covered()).await });
    until(|| world.relay.doing().ok_or("the click has not begun"));
    let done = world.relay.human(Act::Click(40.0, 110.0)).await.expect("clicked");
    assert!(!accepted(&done));
    going.await.expect("no panic").expect_err("it was broken off, or the element is covered");
    world.relay.hand_back();
    // And the command for which it was given.
    let done = world.ask("click", click("#ask")).await;
    assert_eq!(done["dialogs"][0]["accepted"], true);
    let done = world.relay.human(Act::Click(40.0, 110.0)).await.expect("clicked");
    assert!(!accepted(&done));
    world.end().await;
}

fn click_covered() -> Value {
    json!({ "selector": "#under", "dialog": "accept" })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_page_is_nobodys_input_and_commands_wait_for_it() {
    let (release, held) = channel::<()>();
    let held = Mutex::new(held);
    let server = Server::start(move |request| match request.path.as_str() {
        "/" => {
            held.lock().recv_timeout(Duration::from_secs(30)).unwrap_or_default();
            page("<h1>First</h1><a href=/next>Next</a>")
        }
        _ => page("<h1>Next</h1>"),
    });
    let policy = Arc::new(Policy::default());
    let engine = Plain::start(Arc::clone(&policy)).await.expect("it starts");
    let relay = Arc::new(Relay::new(Arc::new(engine.into()), policy));
    let mut events = relay.events();
    let first = relay.begin(&server.url("/"));
    let first = tokio::spawn(first);
    // A command waits no longer than it specifies.
    let begun = Instant::now();
    let late = relay.handle("read", json!({ "timeout": 50 })).await.expect_err("no page yet");
    assert_eq!(late.kind, ProblemKind::Timeout);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(relay.holder(), Holder::Agent);
    let of = Arc::clone(&relay);
    let click = tokio::spawn(async move { of.handle("click", json!({ "selector": "a" })).await });
    let of = Arc::clone(&relay);
    let read = tokio::spawn(async move { of.handle("read", json!({ "scope": "h1" })).await });
    until(|| relay.doing().ok_or("no command has begun"));
    release.send(()).expect("the server waits");
    assert_eq!(first.await.expect("no panic").expect("it comes").status, Some(200));
    assert_eq!(click.await.expect("no panic").expect("it is done")["navigated"], true);
    read.await.expect("no panic").expect("there is a heading, before or after");
    while let Ok(event) = events.try_recv() {
        let event = json!(event);
        assert_ne!(event["type"], "control", "nobody took the page: {event}");
        assert_ne!(event["by"], "human", "{event}");
    }
    assert_eq!(relay.holder(), Holder::Agent);
    // A first page that does not arrive admits commands as well.
    relay.begin("http://127.0.0.1:1/").await.expect_err("nobody listens there");
    drop(relay.begin(&server.url("/")));
    relay.handle("read", json!({})).await.expect("the page before");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_says_how_long_it_waits_for_the_page() {
    let server = Server::start(|request| {
        if request.path == "/slow" {
            std::thread::park_timeout(Duration::from_secs(20));
        }
        page("<h1>Here</h1><a href=/slow>Slow</a>")
    });
    let world = World::start(&[&server]).await;
    world.go(&server.url("/")).await;
    let begun = Instant::now();
    let slow = json!({ "url": "/slow", "timeout": 700 });
    world.refused("navigate", slow, ProblemKind::Timeout).await;
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    // What has not arrived by then is reported as such.
    let begun = Instant::now();
    world.ask("click", json!({ "selector": "a", "timeout": 700 })).await;
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    for timeout in [json!(0), json!(120_001), json!(-1), json!("1s"), json!(1.5)] {
        for command in ["read", "click", "navigate", "back", "screenshot", "tabs", "scroll"] {
            let mut arguments = json!({ "timeout": timeout });
            match command {
                "click" => arguments["selector"] = json!("a"),
                "navigate" => arguments["url"] = json!("/"),
                "scroll" => arguments["direction"] = json!("down"),
                _ => {}
            }
            let problem = world.refused(command, arguments, ProblemKind::Invalid).await;
            assert!(problem.detail.starts_with("timeout: "), "{problem:?}");
        }
    }
    world.end().await;
}
