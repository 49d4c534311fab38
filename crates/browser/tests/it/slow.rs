//! Servers that respond slowly and never finish.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use waypost_browser::{Engine, JOURNEY_MS_DEFAULT, Plain, Policy, Problem, ProblemKind, Relay};

use crate::server::{Server, page};
use crate::world::World;

/// The time limit for navigating, in milliseconds: many times what Chromium needs to show what has
/// arrived.
const PATIENCE_MS: u64 = 8_000;
const HEAD: &str = "HTTP/1.1 200 X\r\ncontent-type: text/html; charset=utf-8\r\n";
const BODY: &str =
    "content-length: 100000\r\n\r\n<!doctype html><title>Test</title><h1>It begins</h1>";

/// By path: what is sent at once, and what is then sent repeatedly.
fn beginnings() -> [(&'static str, String, &'static str); 4] {
    [
        ("/silent", String::new(), ""),
        ("/head", format!("{HEAD}x-long: "), "x"),
        ("/halted", format!("{HEAD}{BODY}"), ""),
        ("/trickle", format!("{HEAD}{BODY}"), "x"),
    ]
}

/// A server on a local port that finishes none of its responses.
fn slow() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            // A client that disconnects is not an error.
            thread::spawn(move || dawdle(client).unwrap_or_default());
        }
    });
    port
}

fn dawdle(mut client: TcpStream) -> std::io::Result<()> {
    let mut request = [0; 4096];
    let length = client.read(&mut request)?;
    let request = String::from_utf8_lossy(&request[..length]).into_owned();
    let path = request.split(' ').nth(1).unwrap_or_default();
    let Some((_, begun, more)) = beginnings().into_iter().find(|beginning| beginning.0 == path)
    else {
        return Ok(());
    };
    client.write_all(begun.as_bytes())?;
    client.set_read_timeout(Some(Duration::from_millis(50)))?;
    // Until the client has gone.
    loop {
        client.write_all(more.as_bytes())?;
        if matches!(client.read(&mut [0; 64]), Ok(0)) {
            return Ok(());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_servers_are_abandoned_and_the_next_page_loads() {
    let port = slow();
    let server = Server::start(|_| page("<h1>Front</h1>"));
    let world = World::start_for([port, server.port]).await;
    let mut going = Vec::new();
    for (path, ..) in beginnings() {
        for is_plain in [true, false] {
            let policy = Arc::new(Policy::new(vec!["127.0.0.1".parse().expect("a host")], []));
            let engine: Arc<Engine> = if is_plain {
                Arc::new(Plain::start(policy.clone()).await.expect("it starts").into())
            } else {
                world.engine.clone()
            };
            let relay = Relay::new(engine, policy);
            let (url, next) = (format!("http://127.0.0.1:{port}{path}"), server.url("/"));
            let told = tokio::spawn(async move { there_and_on(&relay, &url, &next).await });
            going.push((path, is_plain, told));
        }
    }
    for (path, is_plain, told) in going {
        let (told, begun) = told.await.expect("no panic");
        let name = format!("{path}, static: {is_plain}: {told:?}");
        // An engine that shows pages while they load shows what has started to arrive.
        if matches!(path, "/halted" | "/trickle") && !is_plain {
            assert_eq!(told.expect(&name)["loading"], true, "{name}");
            assert_eq!(begun, json!(["It begins"]), "{name}");
        } else {
            assert_eq!(told.expect_err(&name).kind, ProblemKind::Timeout, "{name}");
        }
    }
    world.end().await;
}

/// Goes to a page and then to another one, which arrives: what was reported of the first, and what
/// was read of it.
async fn there_and_on(relay: &Relay, url: &str, next: &str) -> (Result<Value, Problem>, Value) {
    let tabs = relay.handle("tabs", json!({ "action": "open" })).await.expect("it opens");
    let tab = &tabs["current"];
    let go = |url: &str, ms: u64| {
        relay.handle("navigate", json!({ "url": url, "tab": tab, "timeout": ms }))
    };
    let read = || relay.handle("read", json!({ "tab": tab }));
    let headings = |value: &Value| value["dom_summary"]["headings"].clone();
    let told = go(url, PATIENCE_MS).await;
    let begun = read().await.as_ref().map_or(Value::Null, headings);
    go(next, JOURNEY_MS_DEFAULT).await.expect("it comes");
    assert_eq!(headings(&read().await.expect("it is read")), json!(["Front"]), "{url}");
    (told, begun)
}
