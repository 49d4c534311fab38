//! A page that takes all available memory.

use serde_json::json;
use waypost_browser::{Problem, ProblemKind};

use crate::server::{Reply, Request, Server, page};
use crate::world::World;

/// The limit for the data of a page's process. It takes two thirds of it for an empty page.
const BYTES_MAX: u64 = 1 << 30;

fn greedy(request: &Request) -> Option<Reply> {
    let (path, begins) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let more = match path {
        "/numbers" => "new Array(1e5).fill(all.length)",
        "/elements" => {
            "document.body.appendChild(document.createElement('p')).append(String(all.length).repeat(1e4))"
        }
        _ => return page("<h1>Front</h1>"),
    };
    let script = format!("const all = []; for (;;) all.push({more});");
    if begins == "loaded" {
        return page(&format!("<script>{script}</script>"));
    }
    page(&format!("<button id=a onclick=\"setTimeout(() => {{ {script} }})\">More</button>"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_exhausts_memory_is_reported_and_the_next_one_loads() {
    let server = Server::start(greedy);
    let world = World::start(&[&server]).await;
    world.go(&server.url("/")).await;
    world.limit_memory(BYTES_MAX);
    for path in ["/numbers", "/elements", "/numbers?loaded"] {
        let problem = taking_all(&world, &server.url(path)).await;
        assert_eq!(problem.kind, ProblemKind::Crashed, "{path}: {problem}");
        assert!(problem.detail.contains("navigate or reload"), "{path}: {problem}");
        world.go(&server.url("/")).await;
        assert_eq!(world.read().await["dom_summary"]["headings"], json!(["Front"]), "{path}");
    }
    world.end().await;
}

/// The problem that such a page causes, whichever command it ends in.
async fn taking_all(world: &World, url: &str) -> Problem {
    let commands = [
        ("navigate", json!({ "url": url })),
        ("click", json!({ "selector": "#a" })),
        ("wait", json!({ "text": "never", "timeout": 60_000 })),
    ];
    for (command, arguments) in commands {
        if let Err(problem) = world.relay.handle(command, arguments).await {
            return problem;
        }
    }
    unreachable!("a text that never comes is waited for")
}
