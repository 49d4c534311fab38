//! Every command, over HTTP and over the mesh.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use waypost_mesh::{CallError, Mesh, Pattern};

use crate::server::{Reply, Request, Server, page};
use crate::world::{Place, call};

const FRONT: &str = r#"
<h1>Shop</h1><a href="/more">More</a>
<form id=order action="/found"><input name=q><select name=size><option value=s>Small<option value=l>Large</select>
<button>Find</button></form>
<button id=b onclick="out.textContent += 'x'">Press</button><p id=out></p>
<div style="height:3000px"></div><p>The end</p>
<script>setTimeout(() => document.body.insertAdjacentHTML('beforeend', '<b id=late>late</b>'), 200)</script>
"#;

fn shop(request: &Request) -> Option<Reply> {
    match request.path.split('?').next()? {
        "/" => page(FRONT),
        "/more" => page("<h1>More</h1>"),
        "/found" => {
            let Request { method, path, body, .. } = request;
            page(&format!("<h1>Found</h1><p>{method} {path} {body}</p>"))
        }
        _ => None,
    }
}

/// One of the two ways to send the same commands.
type Way<'a> = &'a dyn Fn(&str, Value) -> Value;

#[test]
fn every_command_is_given_over_http_and_over_the_mesh() {
    let server = Server::start(shop);
    let place = Place::new();
    let browser = place.chromium(&server.url("/"), &[]);
    assert!(browser.said.contains("browser.relay on the mesh · chromium"), "{}", browser.said);
    let mesh = place.peer();
    let http = |command: &str, arguments: Value| browser.done(command, &arguments);
    let peer = |command: &str, arguments: Value| {
        let shown = format!("{command} {arguments}");
        call(&mesh, command, &arguments).expect(&shown)
    };
    for way in [&http as Way, &peer] {
        give_every_command(way, &server);
    }
    the_arguments_may_be_a_text(&mesh);
    let one = browser.done("read", &json!({}));
    let other = call(&mesh, "read", &Value::Null).expect("it reads");
    assert_eq!(one["dom_summary"], other["dom_summary"], "one page, whoever asks");
    let forbidden = browser.refused("screenshot", &json!({}), 403);
    assert_eq!(forbidden["type"], "urn:waypost:browser:forbidden");
}

fn give_every_command(give: Way<'_>, server: &Server) {
    let gone = give("navigate", json!({ "url": server.url("/") }));
    assert_eq!((&gone["status"], &gone["title"]), (&json!(200), &json!("Test")));
    let summary = give("read", Value::Null);
    assert_eq!(summary["url"], server.url("/"));
    let dom = &summary["dom_summary"];
    assert_eq!(dom["headings"], json!(["Shop"]));
    assert_eq!(dom["forms"][0]["id"], "order");
    assert_eq!(dom["forms"][0]["fields"], json!(["q", "size"]));
    assert_eq!(dom["links"][0]["href"], server.url("/more"));
    give("wait", json!({ "selector": "#late", "timeout": 20_000 }));
    give("click", json!({ "selector": "#b" }));
    let text = &give("read", json!({ "scope": "#out" }))["dom_summary"]["text_content"];
    assert_eq!(text, "x");
    let down = give("scroll", json!({ "direction": "down" }));
    assert!(down["y"].as_f64() > Some(0.0), "{down}");
    let chosen = give("select", json!({ "selector": "[name=size]", "value": "Large" }));
    assert_eq!(chosen["chosen"], json!(["Large"]));
    give("type", json!({ "selector": "[name=q]", "text": "cups" }));
    let pressed = give("press", json!({ "key": "Enter" }));
    assert_eq!(pressed["url"], server.url("/found?q=cups&size=l"));
    let found = give("read", json!({}))["dom_summary"]["text_content"].to_string();
    assert!(found.contains("GET /found?q=cups&size=l"), "{found}");
    assert_eq!(give("back", json!({}))["url"], server.url("/"));
    assert_eq!(give("forward", json!({}))["title"], "Test");
    give("reload", json!({}));
    let tabs = give("tabs", json!({ "action": "open" }));
    let opened = tabs["current"].clone();
    let tabs = give("tabs", json!({ "action": "close", "tab": opened }));
    assert_eq!(tabs["tabs"].as_array().map(Vec::len), Some(1), "{tabs}");
}

fn the_arguments_may_be_a_text(mesh: &Mesh) {
    let answer = call(mesh, "wait", &json!(r#"{"text": "Found", "timeout": 5000}"#));
    assert!(answer.expect("it is there")["waited"].is_u64());
    let Err(CallError::Failed(problem)) = call(mesh, "wait", &json!("{")) else {
        unreachable!("that is no JSON")
    };
    assert_eq!((problem.status, problem.code.as_str()), (422, "invalid"));
}

#[test]
fn a_problem_is_the_same_over_both_ways() {
    let server = Server::start(|_| {
        page("<p class=a>1</p><p class=a>2</p><a href=#x class=l>1</a><a href=#y class=l>2</a>")
    });
    let place = Place::new();
    let browser = place.plain(&server.url("/"), &[]);
    let mesh = place.peer();
    let long = format!("[a='{}']", "x".repeat(10_000));
    for (command, arguments, status, code) in [
        ("click", json!({ "selector": "[" }), 422, "invalid"),
        ("click", json!({ "selector": long }), 422, "invalid"),
        ("click", json!({}), 422, "invalid"),
        ("click", json!({ "selector": "a", "colour": "red" }), 422, "invalid"),
        ("click", json!({ "selector": "#none" }), 404, "not_found"),
        ("click", json!({ "ref": "d9e9" }), 409, "stale_ref"),
        ("navigate", json!({ "url": "file:///etc/passwd" }), 403, "forbidden"),
        ("navigate", json!({ "url": "http://" }), 422, "invalid"),
        ("wait", json!({ "selector": "#never", "timeout": 50 }), 408, "timeout"),
        ("wait", json!({ "selector": "a", "timeout": 120_001 }), 422, "invalid"),
        ("scroll", json!({ "direction": "down" }), 422, "unsupported"),
        ("screenshot", json!({}), 403, "forbidden"),
    ] {
        let shown = format!("{command} {}", arguments.to_string().get(..60).unwrap_or_default());
        let problem = browser.post(command, &arguments).problem(status);
        assert_eq!(problem["type"], format!("urn:waypost:browser:{code}"), "{shown}");
        let Err(CallError::Failed(told)) = call(&mesh, command, &arguments) else {
            unreachable!("{shown} is refused")
        };
        assert_eq!((told.status, told.code.as_str()), (status, code), "{shown}");
        assert!(code == "timeout" || problem["detail"] == told.detail, "{problem} {told:?}");
    }
    let many = browser.done("click", &json!({ "selector": "a.l" }));
    assert_eq!(many["matches"], 2, "the first is taken, and they are counted: {many}");
}

#[test]
fn no_command_poses_as_a_person_and_events_are_broadcast() {
    let server = Server::start(shop);
    let place = Place::new();
    let browser = place.plain(&server.url("/"), &[]);
    let mesh = place.peer();
    let heard = mesh.listen(&Pattern::parse("*").expect("a pattern"));
    for command in ["human_click", "human_navigate", "pause", "hand_back"] {
        let Err(CallError::Failed(problem)) = call(&mesh, command, &json!({})) else {
            unreachable!("{command} is none")
        };
        assert_eq!((problem.status, problem.code.as_str()), (404, "unknown_command"));
        browser.refused(command, &json!({}), 404);
    }
    browser.done("navigate", &json!({ "url": "/more?secret=1" }));
    let event = loop {
        let event = heard.next(Duration::from_secs(30)).expect("it was told");
        assert!(!event.kind.starts_with("human"), "no person did anything: {event:?}");
        if event.body["url"] != server.url("/") && event.kind == "navigated" {
            break event;
        }
    };
    assert_eq!(event.source, "browser.relay");
    assert_eq!(event.body["url"], server.url("/more?secret"));
    assert_eq!(event.body["by"], "agent");
}

#[test]
fn concurrent_agents_are_served_in_turn() {
    let server = Server::start(|_| {
        page(
            "<input id=f><p id=out></p><script>f.oninput = () => out.textContent += f.value.length + ' '</script>",
        )
    });
    let place = Place::new();
    let browser = place.chromium(&server.url("/"), &[]);
    let mesh = place.peer();
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..5 {
                browser.done("type", &json!({ "selector": "#f", "text": "a".repeat(7) }));
            }
        });
        scope.spawn(|| {
            for _ in 0..5 {
                let typed = json!({ "selector": "#f", "text": "b".repeat(7) });
                call(&mesh, "type", &typed).expect("it is typed");
            }
        });
    });
    let field = &browser.done("read", &json!({}))["dom_summary"]["interactive"][0]["value"];
    let field = field.as_str().expect("a value");
    assert!(field == "a".repeat(7) || field == "b".repeat(7), "never of both: {field}");
}
