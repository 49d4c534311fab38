//! A page that waits for something that never arrives, and handles no events meanwhile.

use std::thread;

use serde_json::json;
use waypost_browser::ProblemKind;

use crate::server::{Server, page};
use crate::world::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_hangs_is_reported_and_the_next_one_loads() {
    let server = Server::start(|request| match request.path.as_str() {
        "/hangs" => page(
            "<h1>Hangs</h1><button id=a onclick=\"setTimeout(() => {
              const asked = new XMLHttpRequest();
              asked.open('GET', '/silent', false);
              asked.send();
            })\">Wait</button>",
        ),
        "/silent" => loop {
            thread::park();
        },
        _ => page("<h1>Next</h1>"),
    });
    let world = World::start(&[&server]).await;
    world.go(&server.url("/hangs")).await;
    world.ask("click", json!({ "selector": "#a" })).await;
    let patience = json!({ "timeout": 4_000 });
    let problem = world.refused("read", patience, ProblemKind::Timeout).await;
    assert!(problem.detail.contains("navigate elsewhere, or reload"), "{problem}");
    world.go(&server.url("/next")).await;
    assert_eq!(world.read().await["dom_summary"]["headings"], json!(["Next"]));
    let tabs = world.ask("tabs", json!({})).await;
    assert_eq!(tabs["tabs"].as_array().map(Vec::len), Some(1), "{tabs}");
    world.end().await;
}
