//! A person who uses the page, and what programs learn of it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::broadcast::error::TryRecvError;
use waypost_browser::{Act, Direction, Event, Holder, Key, ProblemKind};

use crate::server::{Reply, Request, Server, page};
use crate::wait::until;
use crate::world::World;

const CANARY: &str = "kanarienvogel 7&";
const WRONG: &str = "falschervogel";

const LOGIN: &str = r#"<style>input, button { position: fixed; left: 20px; width: 90px; height: 24px }
  #user { top: 100px } #password { top: 150px } #show { top: 200px } #go { top: 250px }
  #fake { top: 300px }</style><h1>Log in</h1><form method=post action=/login>
  <label>User <input name=user id=user></label>
  <label>Password <input name=password id=password type=password></label>
  <button type=button id=show onclick="password.type='text'">Show</button><button id=go>Log in</button></form>
  <button id=fake onclick="document.querySelector('#user').click()">Fake</button>"#;

fn site(request: &Request) -> Option<Reply> {
    let form: HashMap<String, String> =
        url::form_urlencoded::parse(request.body.as_bytes()).into_owned().collect();
    let has_session =
        request.headers.get("cookie").is_some_and(|header| header.contains("sid=geheim"));
    match request.path.split('?').next()? {
        "/login" if request.method == "POST" => {
            let given = form.get("password").map(String::as_str).unwrap_or_default();
            if given != CANARY {
                let body = format!("<p role=alert>{given} is wrong</p>{LOGIN}");
                let cookie = ("set-cookie".to_owned(), "tries=1; HttpOnly".to_owned());
                return Some((
                    200,
                    vec![cookie],
                    format!("<!doctype html><title>{given}</title>{body}"),
                ));
            }
            let headers =
                [("set-cookie", "sid=geheim; HttpOnly; Path=/"), ("location", "/account")];
            let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
            Some((303, headers.to_vec(), String::new()))
        }
        "/login" => page(LOGIN),
        "/account" if has_session => page("<h1>Welcome</h1><a href=/logout>Log out</a>"),
        "/account" => page("<h1>Who are you?</h1>"),
        _ => None,
    }
}

struct Listener {
    events: tokio::sync::broadcast::Receiver<Event>,
    heard: Vec<Value>,
}

impl Listener {
    fn take(&mut self) -> &[Value] {
        loop {
            match self.events.try_recv() {
                Ok(event) => self.heard.push(json!(event)),
                Err(TryRecvError::Empty) => return &self.heard,
                Err(error) => unreachable!("nothing is missed: {error}"),
            }
        }
    }

    fn of(&mut self, kind: &str) -> Vec<Value> {
        self.take().iter().filter(|value| value["type"] == kind).cloned().collect()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_belongs_to_the_person_and_the_session_to_both() {
    let server = Server::start(site);
    let world = World::start(&[&server]).await;
    let mut listener = Listener { events: world.relay.events(), heard: Vec::new() };
    let relay = Arc::clone(&world.relay);
    let watch = tokio::spawn(async move { relay.watch().await });
    let mut told = String::new();

    world.go(&server.url("/login")).await;
    assert_eq!(world.read().await["auth"]["state"], "login_form");
    // A click by a program, or by a script that the page runs for it, is not a person's click.
    world.ask("click", json!({ "selector": "#fake" })).await;
    assert_eq!(listener.of("human_click"), Vec::<Value>::new());

    for (password, right) in [(WRONG, false), (CANARY, true)] {
        click(&world, "#user").await;
        world.relay.human(Act::Type("ada".to_owned())).await.expect("typed");
        click(&world, "#password").await;
        for letter in password.chars() {
            world.relay.human(Act::Press(Key::of(letter))).await.expect("pressed");
        }
        let arguments = json!({ "selector": "#user", "text": "eve" });
        world.refused("type", arguments, ProblemKind::HumanInControl).await;
        click(&world, "#show").await;
        let shown = world.read().await;
        told.push_str(&shown.to_string());
        assert!(shown.to_string().contains("\"filled\":true"), "{shown}");
        world.relay.allow_screenshots(true);
        world.refused("screenshot", json!({}), ProblemKind::Forbidden).await;
        click(&world, "#go").await;
        told.push_str(&world.read().await.to_string());
        if !right {
            let welcome = json!({ "text": "Welcome", "timeout": 1_200 });
            world.refused("wait", welcome, ProblemKind::Timeout).await;
            assert_eq!(listener.of("auth_changed"), Vec::<Value>::new(), "a wrong password");
            assert_eq!(world.relay.holder(), Holder::Human, "the login goes on");
        }
    }
    world.ask("wait", json!({ "url": "/account" })).await;
    let change =
        until(|| listener.of("auth_changed").into_iter().next().ok_or("the login is not noticed"));
    assert_eq!(change["state"], "authenticated");
    assert_eq!(change["origin"], format!("http://127.0.0.1:{}", server.port));
    assert_eq!(world.relay.holder(), Holder::Agent, "the page is handed back");
    // And the program continues in the session.
    let summary = world.read().await;
    assert_eq!(summary["auth"]["state"], "authenticated");
    assert_eq!(summary["dom_summary"]["headings"], json!(["Welcome"]));
    told.push_str(&summary.to_string());

    let clicks = listener.of("human_click");
    assert_eq!(clicks.len(), 8, "{clicks:?}");
    assert_eq!(clicks[2]["element"]["selector"], "#show");
    assert_eq!(clicks[2]["element"]["text"], "Show");
    assert_eq!(clicks[1]["element"]["text"], "", "of a field no text is told");
    assert_eq!(listener.of("human_input")[0]["element"]["selector"], "#user");
    told.push_str(&Value::from(listener.take()).to_string());
    for secret in [CANARY, WRONG, "kanarien", "falscher", "kanarienvogel+7%26", "geheim"] {
        assert!(!told.contains(secret), "{secret} was told");
    }
    watch.abort();
    world.end().await;
}

/// Clicks like a person: at a position.
async fn click(world: &World, selector: &str) {
    let places = [("#user", 110.0), ("#password", 160.0), ("#show", 210.0), ("#go", 260.0)];
    let (_, y) = places.into_iter().find(|place| place.0 == selector).expect("a place");
    world.relay.human(Act::Click(40.0, y)).await.expect("clicked");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_takes_precedence_and_hands_back() {
    let (release, held) = channel::<()>();
    let held = Mutex::new(held);
    let server = Server::start(move |request| {
        if request.path == "/slow" {
            held.lock().recv_timeout(Duration::from_secs(60)).unwrap_or_default();
        }
        page("<button id=a>Press</button><div style='height:4000px'></div>")
    });
    let world = World::start(&[]).await;
    let mut listener = Listener { events: world.relay.events(), heard: Vec::new() };
    // A program may not go there; the person may, and then both are there.
    let url = server.url("/?q=hidden");
    world.refused("navigate", json!({ "url": url }), ProblemKind::Forbidden).await;
    world.relay.human(Act::Go(url)).await.expect("a person may");
    assert_eq!(listener.of("navigated")[0]["url"], server.url("/?q"));
    world.refused("click", json!({ "selector": "#a" }), ProblemKind::HumanInControl).await;
    world.relay.hand_back();
    world.ask("click", json!({ "selector": "#a" })).await;

    // A running command ends when the person acts.
    let relay = Arc::clone(&world.relay);
    let arguments = json!({ "url": server.url("/slow") });
    let going = tokio::spawn(async move { relay.handle("navigate", arguments).await });
    until(|| {
        let asked = server.asked();
        let is_asked = asked.iter().any(|asked| asked == "GET /slow");
        is_asked.then_some(()).ok_or_else(|| format!("{asked:?}"))
    });
    world.relay.pause();
    let problem = going.await.expect("no panic").expect_err("the page has not come");
    assert_eq!(problem.kind, ProblemKind::HumanInControl);
    drop(release);
    world.relay.human(Act::Scroll(Direction::Down, 0.5)).await.expect("scrolled");
    world.refused("reload", json!({}), ProblemKind::HumanInControl).await;
    world.read().await;
    world.relay.hand_back();
    world.ask("reload", json!({})).await;
    let holders: Vec<Value> =
        listener.of("control").iter().map(|of| of["holder"].clone()).collect();
    assert_eq!(holders, ["human", "agent", "human", "agent"]);
    world.end().await;
}
