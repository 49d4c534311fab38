//! Pages of unlimited length or size, and their other attempts.

use std::sync::Arc;

use serde_json::json;
use waypost_browser::{Plain, Policy, ProblemKind, Relay, View};

use crate::server::{ENDLESS, Reply, Request, Server, page};
use crate::world::{World, entry, texts};

const CANARY: &str = "kanarienvogel7";

fn pages(request: &Request) -> Option<Reply> {
    match request.path.split('?').next()? {
        "/" => page("<h1>Front</h1>"),
        "/endless" => {
            let body = "<!doctype html><title>Endless</title><h1>It begins</h1>".to_owned();
            Some((200, vec![(ENDLESS.to_owned(), "yes".to_owned())], body))
        }
        "/round" => Some((302, vec![("location".to_owned(), "/round".to_owned())], String::new())),
        "/crowd" => page("<h1>Crowd</h1><script>
            for (let at = 0; at < 400; at += 1) document.body.insertAdjacentHTML('beforeend', `<p>${'<i></i>'.repeat(500)}</p>`);
            </script>"),
        "/leave" => page("<button id=a>Touch</button><script>addEventListener('beforeunload', (it) => it.preventDefault())</script>"),
        "/file" => page("<input id=a type=file><p>no file</p>"),
        "/refresh" => page("<meta http-equiv=refresh content='0;url=file:///etc/passwd'><p>stays</p>
            <meta http-equiv=refresh content='0;url=data:text/html,gone'>"),
        "/code" => page("<form action=/echo><input id=code name=n autocomplete=one-time-code aria-label=Code>
            <button>Go</button></form>"),
        "/echo" => page(&format!("<p role=alert>{} is wrong</p>", request.path.split('=').nth(1)?)),
        "/kept" => page(&format!("<input type=password aria-label=Kept value={CANARY}><p>{CANARY} was kept</p>
            <title>{CANARY}</title>")),
        "/marks" => page(&format!("<p>z{}y</p><p>{}</p>", "\u{336}".repeat(40), "\u{336}".repeat(50_000))),
        "/deep" => page(&format!("{}<p>the bottom</p>", "<div>".repeat(4_000))),
        "/wide" => page("<p>start</p><script>
            for (let at = 0; at < 40; at += 1) document.body.append(Object.assign(document.createElement('iframe'), { srcdoc: `<p>part ${at}</p>` }));
            for (let at = 0; at < 500; at += 1) console.error('line ' + at);
            document.body.setAttribute('data-long', 'x'.repeat(1e6));
            const table = document.body.appendChild(document.createElement('table'));
            for (let at = 0; at < 300; at += 1) table.insertRow().insertCell().textContent = 'cell'.repeat(200);
            </script>"),
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endless_page_is_read_up_to_a_limit() {
    let server = Server::start(pages);
    let world = World::start(&[&server]).await;
    world.go(&server.url("/")).await;
    let endless = json!({ "url": server.url("/endless"), "timeout": 4_000 });
    // The engine decides whether it counts as loaded; what arrived is available.
    match world.relay.handle("navigate", endless.clone()).await {
        Ok(arrival) => assert_eq!(arrival["loading"], true, "{arrival}"),
        Err(problem) => assert_eq!(problem.kind, ProblemKind::Timeout, "{problem}"),
    }
    let summary = world.read().await;
    assert_eq!(summary["dom_summary"]["headings"], json!(["It begins"]), "{summary}");
    let frame = world.relay.frame(View::new(60, 20, 100), None).await.expect("a frame");
    assert!(frame.is_some_and(|it| it.to_string().contains("It begins")));
    world.go(&server.url("/")).await;
    assert_eq!(world.read().await["dom_summary"]["headings"], json!(["Front"]));

    let allowed = format!("127.0.0.1:{}", server.port).parse().expect("a host and port");
    let policy = Arc::new(Policy::new(vec![allowed], []));
    let engine = Plain::start(policy.clone()).await.expect("it starts");
    let plain = Relay::new(Arc::new(engine.into()), policy);
    let problem = plain.handle("navigate", endless).await.expect_err("it has no end");
    assert!(matches!(problem.kind, ProblemKind::Timeout | ProblemKind::Unreachable), "{problem:?}");
    for relay in [&*world.relay, &plain] {
        let round = relay.handle("navigate", json!({ "url": server.url("/round") })).await;
        assert_eq!(round.expect_err("it has no end").kind, ProblemKind::Unreachable);
    }

    world.go(&server.url("/deep")).await;
    assert!(world.read().await.to_string().len() < 40_000);
    let frame = world.relay.frame(View::new(60, 20, 100), None).await.expect("a frame");
    assert!(frame.is_some());
    world.go(&server.url("/crowd")).await;
    let summary = world.read().await;
    assert_eq!(texts(&summary, "headings"), ["Crowd"]);
    assert!(summary["truncated"]["limit"].is_string(), "{}", summary["truncated"]);
    world.go(&server.url("/wide")).await;
    let summary = world.read().await;
    assert!(summary["tokens"].as_u64().is_some_and(|it| it <= 4_000), "{}", summary["tokens"]);
    assert!(summary["frames"].as_array().is_some_and(|it| it.len() <= 32), "{summary}");
    assert!(summary["dom_summary"]["errors"].as_array().is_some_and(|it| it.len() <= 32));
    world.go(&server.url("/marks")).await;
    let frame = world.relay.frame(View::new(60, 20, 100), None).await.expect("a frame");
    let row = frame.expect("a frame").to_string();
    assert!(row.trim_start().starts_with('z') && row.len() < 100, "{} bytes: {row}", row.len());
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_attempts_of_a_page_are_data_or_have_no_effect() {
    let server = Server::start(pages);
    let world = World::start(&[&server]).await;
    world.go(&server.url("/leave")).await;
    world.ask("click", json!({ "selector": "#a" })).await;
    let arrival = world.go(&server.url("/")).await;
    assert_eq!(arrival["url"], server.url("/"), "a page is always left");

    world.go(&server.url("/file")).await;
    let done = world.ask("click", json!({ "selector": "#a" })).await;
    assert_eq!(done["fileChoosers"], 1, "{done}");
    let typed = json!({ "selector": "#a", "text": "/etc/passwd" });
    assert!(world.relay.handle("type", typed).await.is_err(), "no file but a person's");

    world.go(&server.url("/refresh")).await;
    world.ask("wait", json!({ "networkIdle": true })).await;
    let summary = world.read().await;
    assert_eq!(summary["dom_summary"]["text_content"], "stays", "{summary}");
    assert_eq!(summary["url"], server.url("/refresh"));

    // A code is a secret, also in the address that its form builds from it, and where it is
    // repeated.
    world.go(&server.url("/code")).await;
    world.ask("type", json!({ "selector": "#code", "text": CANARY })).await;
    let mut told = world.read().await.to_string();
    let field = entry(&world.read().await, "interactive", "Code");
    assert_eq!((&field["secret"], &field["filled"]), (&json!(true), &json!(true)), "{field}");
    let sent = world.ask("click", json!({ "selector": "button" })).await;
    told.push_str(&sent.to_string());
    told.push_str(&world.read().await.to_string());
    told.push_str(&world.ask("tabs", json!({})).await.to_string());
    assert!(told.contains("is wrong") && !told.contains(CANARY), "{told}");
    assert!(server.asked().iter().any(|it| it.contains(CANARY)), "it was sent");

    // So is an initial value of a field, as a browser fills in what it has stored.
    world.go(&server.url("/kept")).await;
    let summary = world.read().await;
    assert_eq!(entry(&summary, "interactive", "Kept")["filled"], true);
    let told = [summary, world.ask("tabs", json!({})).await].map(|it| it.to_string()).concat();
    assert!(told.contains("was kept") && !told.contains(CANARY), "{told}");
    world.end().await;
}
