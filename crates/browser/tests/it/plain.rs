//! The engine without scripts.

use std::sync::Arc;

use serde_json::{Value, json};
use waypost_browser::{Plain, Policy, ProblemKind, Relay};

use crate::server::{Reply, Request, Server, page};
use crate::world::{entry, texts};

fn pages(request: &Request) -> Option<Reply> {
    let cookie = request.headers.get("cookie").map(String::as_str).unwrap_or_default();
    match request.path.split('?').next()? {
        "/" => page(
            "<h1>Plain</h1><p hidden>unseen</p><a href=/more>More <b>of it</b></a>
            <form action=/found><label>Words <input name=q></label><button>Search</button></form>
            <form method=post action=/order><input name=user value=ada><input name=pw type=password>
              <select name=size><option value=s>Small<option value=l>Large</select>
              <input type=checkbox name=gift aria-label=Gift><textarea name=remark></textarea>
              <button name=go value=1>Order</button></form>
            <table><tr><th>A<tr><td>1</table><button onclick=x()>Script</button>",
        ),
        "/more" => {
            let headers = [("location", "/landed"), ("set-cookie", "seen=yes; HttpOnly")];
            let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
            Some((302, headers.to_vec(), String::new()))
        }
        "/landed" => page(&format!("<h1>Landed</h1><p>{cookie}</p>")),
        "/found" => page(&format!("<p>{}</p>", request.path)),
        "/order" => page(&format!("<p>{} {}</p>", request.method, request.body)),
        _ => None,
    }
}

async fn ask(relay: &Relay, command: &str, arguments: Value) -> Value {
    let shown = format!("{command} {arguments}");
    let answer = relay.handle(command, arguments).await;
    answer.map_err(|problem| format!("{shown}: {problem:?}")).expect("it is done")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_without_scripts_are_read_and_used() {
    let server = Server::start(pages);
    let other = Server::start(pages);
    let allowed = format!("127.0.0.1:{}", server.port).parse().expect("a host and port");
    let policy = Arc::new(Policy::new(vec![allowed], []));
    let engine = Plain::start(policy.clone()).await.expect("it starts");
    let relay = Relay::new(Arc::new(engine.into()), policy);
    let text = async || {
        let summary = ask(&relay, "read", json!({})).await;
        summary["dom_summary"]["text_content"].as_str().expect("a text").to_owned()
    };

    let front = json!({ "url": server.url("/") });
    let arrival = ask(&relay, "navigate", front.clone()).await;
    assert_eq!((&arrival["status"], &arrival["title"]), (&json!(200), &json!("Test")));
    assert_eq!(ask(&relay, "tabs", json!({})).await["tabs"][0]["title"], "Test");
    let summary = ask(&relay, "read", json!({})).await;
    assert_eq!(summary["engine"], "static");
    assert_eq!(texts(&summary, "headings"), ["Plain"]);
    assert_eq!(entry(&summary, "links", "More of it")["href"], server.url("/more"));
    let fields = json!(["user", "pw", "size", "gift", "remark"]);
    assert_eq!(summary["dom_summary"]["forms"][1]["fields"], fields);
    assert_eq!(summary["dom_summary"]["tables"][0]["rows"], 2);
    assert!(!summary.to_string().contains("unseen"));
    for list in ["links", "interactive"] {
        for found in summary["dom_summary"][list].as_array().expect("a list") {
            let arguments = json!({ "selector": found["selector"], "timeout": 0 });
            ask(&relay, "wait", arguments).await;
        }
    }

    ask(&relay, "type", json!({ "selector": "[name=pw]", "text": "hunter22" })).await;
    ask(&relay, "type", json!({ "selector": "[name=remark]", "text": "a & b" })).await;
    ask(&relay, "select", json!({ "selector": "select", "value": "Large" })).await;
    ask(&relay, "click", json!({ "selector": "[name=gift]" })).await;
    let order = entry(&ask(&relay, "read", json!({})).await, "interactive", "Order");
    let done = ask(&relay, "click", json!({ "ref": order["ref"] })).await;
    assert_eq!((&done["navigated"], &done["url"]), (&json!(true), &json!(server.url("/order"))));
    assert_eq!(text().await, "POST user=ada&pw=••••&size=l&gift=on&remark=a+%26+b&go=1");
    let stale = relay.handle("click", json!({ "ref": order["ref"] })).await;
    assert_eq!(stale.expect_err("the page is gone").kind, ProblemKind::StaleRef);

    ask(&relay, "back", json!({})).await;
    let search = json!({ "selector": "[name=q]", "text": "cups", "submit": true });
    ask(&relay, "type", search).await;
    assert_eq!(text().await, "/found?q=cups");
    ask(&relay, "navigate", front).await;
    let done = ask(&relay, "click", json!({ "selector": "a" })).await;
    assert_eq!(done["url"], server.url("/landed"));
    assert_eq!(text().await, "Landed\nseen=yes");

    let refused = [
        ("navigate", json!({ "url": other.url("/") }), ProblemKind::Forbidden),
        ("navigate", json!({ "url": "file:///etc/passwd" }), ProblemKind::Forbidden),
        ("click", json!({ "selector": "#none" }), ProblemKind::NotFound),
        ("click", json!({ "selector": "h1" }), ProblemKind::Unsupported),
        ("click", json!({ "selector": "a[" }), ProblemKind::Invalid),
        ("scroll", json!({ "direction": "down" }), ProblemKind::Unsupported),
        ("wait", json!({ "selector": "#never", "timeout": 50 }), ProblemKind::Timeout),
    ];
    for (command, arguments, kind) in refused {
        let problem = relay.handle(command, arguments).await.expect_err(command);
        assert_eq!(problem.kind, kind, "{command}: {problem}");
    }
    assert_eq!(other.asked(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_way_out_serves_only_clients_that_are_recognised() {
    for (is_own, is_served) in [((|_, _| true) as fn(_, _) -> _, true), (|_, _| false, false)] {
        let server = Server::start(pages);
        let allowed = format!("127.0.0.1:{}", server.port).parse().expect("a host and port");
        let policy = Arc::new(Policy::new(vec![allowed], []).with_own_clients(is_own));
        let engine = Plain::start(policy.clone()).await.expect("it starts");
        let relay = Relay::new(Arc::new(engine.into()), policy);
        let gone = relay.handle("navigate", json!({ "url": server.url("/") })).await;
        assert_eq!((gone.is_ok(), server.asked().is_empty()), (is_served, !is_served), "{gone:?}");
    }
}
