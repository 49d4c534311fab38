//! What pages and programs may access.

use serde_json::{Value, json};
use waypost_browser::ProblemKind;

use crate::server::{Server, page};
use crate::world::{World, texts};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_reach_what_they_may_and_nothing_else() {
    let secret = Server::start(|_| page("metadata"));
    let hidden = secret.clone();
    let server = Server::start(move |request| {
        let redirect = |to: String| Some((302, vec![("location".to_owned(), to)], String::new()));
        let port = hidden.port;
        match request.path.as_str() {
            "/" => page(&format!(
                "<h1>Here</h1><img src=http://127.0.0.1:{port}/img>
                <iframe src=http://localhost:{port}/frame></iframe>
                <script>
                  fetch('http://127.0.0.1:{port}/fetch', {{ mode: 'no-cors' }}).catch(() => 0);
                  new WebSocket('ws://127.0.0.1:{port}/socket');
                  navigator.sendBeacon('http://[::1]:{port}/beacon', 'x');
                  new Worker(URL.createObjectURL(new Blob([`fetch('http://127.0.0.1:{port}/worker')`])));
                </script>"
            )),
            "/redirect" => redirect(format!("http://127.0.0.1:{port}/redirected")),
            "/file" => redirect("file:///etc/passwd".to_owned()),
            "/script" => page("<script>location = 'blob:x'; location = 'data:text/html,no'; location = 'chrome://version'</script><p>stays</p>"),
            "/elsewhere" => page("<a id=data href='data:text/html,gone' target=_blank>Data</a>
                <button id=blob>Blob</button><button id=here>Here</button><script>
                const made = () => URL.createObjectURL(new Blob(['<h1>gone</h1>'], { type: 'text/html' }));
                blob.onclick = () => { open(made()); };
                here.onclick = () => { location = made(); };
                for (const url of ['file:///etc/passwd', 'chrome://version', 'view-source:http://a.example/',
                  'devtools://devtools/bundled/inspector.html', 'about:version', 'ftp://a.example/', 'other:x']) {
                  const one = document.body.appendChild(document.createElement('button'));
                  one.className = 'open';
                  one.onclick = () => { open(url); one.remove(); };
                }</script>"),
            _ => None,
        }
    });
    let world = World::start(&[&server]).await;
    world.go(&server.url("/")).await;
    world.ask("wait", json!({ "networkIdle": true, "timeout": 20_000 })).await;
    assert_eq!(texts(&world.read().await, "headings"), ["Here"]);

    let go = |url: String| json!({ "url": url });
    for url in [
        secret.url("/"),
        server.url("/redirect"),
        format!("http://localhost:{}/", server.port),
        "http://169.254.169.254/latest/meta-data".to_owned(),
        "file:///etc/passwd".to_owned(),
        "chrome://version".to_owned(),
        "view-source:http://example.org".to_owned(),
    ] {
        let problem = world.refused("navigate", go(url.clone()), ProblemKind::Forbidden).await;
        assert_eq!(problem.kind.status(), 403, "{url}");
    }
    let file = world.relay.handle("navigate", go(server.url("/file"))).await;
    assert!(file.is_err(), "{file:?}");
    world.go(&server.url("/script")).await;
    assert_eq!(world.read().await["dom_summary"]["text_content"], "stays");
    world.refused("navigate", json!({ "url": "http://a b/" }), ProblemKind::Invalid).await;
    assert_eq!(secret.asked(), Vec::<String>::new(), "nothing of it was reached");
    let nobody: Value = json!({ "url": "http://127.0.0.1:1/" });
    world.refused("navigate", nobody, ProblemKind::Forbidden).await;
    neither_popups_nor_links_get_elsewhere(&world, &server).await;
    world.end().await;
}

async fn neither_popups_nor_links_get_elsewhere(world: &World, server: &Server) {
    let first = world.go(&server.url("/elsewhere")).await["tab"].clone();
    let click = |selector: &str| json!({ "selector": selector, "tab": first });
    world.ask("click", click("#data")).await;
    for _ in 0..7 {
        world.ask("click", click(".open")).await;
        others_are_empty(world, &first).await;
    }
    // A popup that a page created itself opens, and is closed at once, perhaps before it starts
    // loading.
    assert_eq!(world.ask("click", click("#blob")).await["popups"], 1);
    others_are_empty(world, &first).await;
    world.ask("click", click("#here")).await;
    world.ask("wait", json!({ "url": "about:blank", "tab": first })).await;
    assert_eq!(world.read().await["title"], "");
}

/// Closes all tabs but the first, once they are empty.
async fn others_are_empty(world: &World, first: &Value) {
    let tabs = world.ask("tabs", json!({})).await;
    for tab in tabs["tabs"].as_array().expect("tabs").iter().filter(|array| array["tab"] != *first)
    {
        let tab = &tab["tab"];
        world.ask("wait", json!({ "url": "about:blank", "tab": tab })).await;
        let read = world.ask("read", json!({ "tab": tab })).await;
        assert_eq!(read["dom_summary"]["text_content"], "", "{read}");
        world.ask("tabs", json!({ "action": "close", "tab": tab })).await;
    }
}
