//! What pages and programs may reach.

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
    world.end().await;
}
