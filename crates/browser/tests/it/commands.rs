//! Every command, on one Chromium.

use serde_json::{Value, json};
use waypost_browser::ProblemKind;

use crate::server::{Reply, Request, Server, page};
use crate::world::{World, entry, texts};

const FRONT: &str = r#"
<h1>Shop of things</h1><h2>Offers</h2>
<nav><a href="/more">More things</a> <a href="https://example.org/x?y=1">Elsewhere</a></nav>
<form id="search" action="/found"><label>Words <input name="q"></label><button>Search</button></form>
<form action="/order" method="post"><label for=n>Name</label><input id=n name=name required>
  <input type=hidden name=token value=t><select name=size><option value=s>Small<option value=l>Large</select>
  <label><input type=checkbox name=gift> As a gift</label><textarea name=remark placeholder="A note"></textarea>
  <input type=date name=day><button type=submit name=go value=1>Order</button></form>
<table><caption>Prices</caption><tr><th>Thing<th>Price</tr><tr><td>Cup<td>3</tr><tr><td>Pot<td>9</tr></table>
<p role=alert>We are closed tomorrow</p>
<div id=out>nothing</div>
<button id=b onclick="out.textContent='pressed'">Press me</button>
<div style="height:3000px">tall</div><p id=bottom>The end</p>
"#;

fn front(request: &Request) -> Option<Reply> {
    match request.path.split('?').next()? {
        "/" => page(FRONT),
        "/more" => page("<h1>More</h1><a href=/>Home</a>"),
        "/found" => page(&format!("<h1>Found</h1><p id=query>{}</p>", request.path)),
        "/order" => page(&format!("<h1>Thanks</h1><p id=body>{}</p>", request.body)),
        "/late" => page(
            "<p>soon</p><script>setTimeout(() => document.body.insertAdjacentHTML('beforeend', '<b id=late>Here I am</b>'), 300)</script>",
        ),
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_command_does_what_it_says() {
    let server = Server::start(front);
    let world = World::start(&[&server]).await;
    let arrival = world.go(&server.url("/")).await;
    assert_eq!((&arrival["status"], &arrival["title"]), (&json!(200), &json!("Test")));
    the_summary_has_the_shape(&world, &server).await;
    fields_are_filled_and_forms_sent(&world, &server).await;
    the_history_goes_both_ways(&world, &server).await;
    what_comes_is_waited_for(&world, &server).await;
    the_page_is_scrolled(&world, &server).await;
    tabs_are_opened_chosen_and_closed(&world, &server).await;
    world.refused("screenshot", json!({}), ProblemKind::Forbidden).await;
    world.relay.allow_screenshots(true);
    let picture = world.ask("screenshot", json!({})).await;
    assert!(picture["data"].as_str().is_some_and(|it| it.starts_with("iVBOR")), "a PNG");
    world.end().await;
}

async fn the_summary_has_the_shape(world: &World, server: &Server) {
    let summary = world.read().await;
    let dom = &summary["dom_summary"];
    assert_eq!(summary["url"], server.url("/"));
    assert_eq!(summary["trust"], "untrusted");
    assert_eq!(dom["headings"], json!(["Shop of things", "Offers"]));
    assert_eq!(dom["forms"][0]["id"], "search");
    assert_eq!(dom["forms"][0]["fields"], json!(["q"]));
    assert_eq!(dom["forms"][1]["fields"], json!(["name", "size", "gift", "remark", "day"]));
    assert_eq!(dom["links"][0]["text"], "More things");
    assert_eq!(dom["links"][0]["href"], server.url("/more"));
    assert_eq!(dom["tables"][0]["rows"], 3);
    assert_eq!(dom["tables"][0]["columns"], json!(["Thing", "Price"]));
    assert_eq!(entry(&summary, "interactive", "Press me")["type"], "button");
    assert_eq!(entry(&summary, "interactive", "Press me")["selector"], "#b");
    assert_eq!(entry(&summary, "interactive", "Words")["type"], "text");
    assert_eq!(entry(&summary, "interactive", "As a gift")["checked"], false);
    assert_eq!(texts(&summary, "errors"), ["We are closed tomorrow"]);
    let text = dom["text_content"].as_str().expect("a text");
    for part in ["Shop of things", "Cup 3", "We are closed", "The end"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert_eq!(summary["truncated"], json!({}));
    assert!(summary["tokens"].as_u64().is_some_and(|it| it < 2_000), "{}", summary["tokens"]);
    let controls = world.ask("read", json!({ "mode": "interactive" })).await;
    assert_eq!(controls["truncated"], json!({}), "text that nobody asked for is not left out");
    let made = &dom["forms"][1]["id"];
    world.ask("reload", json!({})).await;
    assert_eq!(&world.read().await["dom_summary"]["forms"][1]["id"], made, "a made-up id stays");
}

async fn fields_are_filled_and_forms_sent(world: &World, server: &Server) {
    let done = world.ask("click", json!({ "selector": "#b" })).await;
    assert_eq!((&done["matches"], &done["navigated"]), (&json!(1), &json!(false)));
    assert!(world.read().await["dom_summary"]["text_content"].to_string().contains("pressed"));
    world.ask("type", json!({ "selector": "#n", "text": "wrong" })).await;
    world.ask("type", json!({ "selector": "#n", "text": "Ada" })).await;
    world.ask("type", json!({ "selector": "#n", "text": " Löwe", "append": true })).await;
    world.ask("type", json!({ "selector": "[name=remark]", "text": "two\nlines" })).await;
    world.ask("type", json!({ "selector": "[name=day]", "text": "2026-01-31" })).await;
    let done = world.ask("select", json!({ "selector": "[name=size]", "value": "Large" })).await;
    assert_eq!(done["chosen"], json!(["Large"]));
    world.ask("click", json!({ "selector": "[name=gift]" })).await;
    let summary = world.read().await;
    assert_eq!(entry(&summary, "interactive", "Name")["value"], "Ada Löwe");
    let order = entry(&summary, "interactive", "Order");
    let done = world.ask("click", json!({ "ref": order["ref"] })).await;
    assert_eq!(done["navigated"], true);
    assert_eq!(done["url"], server.url("/order"));
    let text = world.read().await["dom_summary"]["text_content"].to_string();
    for part in
        ["name=Ada+L%C3%B6we", "size=l", "gift=on", "remark=two%0D%0Alines", "day=2026-01-31"]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
    // The reference belongs to a page that is gone.
    world.refused("click", json!({ "ref": order["ref"] }), ProblemKind::StaleRef).await;
    world.go("/").await;
    world.ask("type", json!({ "selector": "[name=q]", "text": "cups", "submit": true })).await;
    assert!(
        world.read().await["dom_summary"]["text_content"].to_string().contains("/found?q=cups")
    );
    world.ask("back", json!({})).await;
    world.ask("press", json!({ "selector": "#b", "key": "Enter" })).await;
    assert!(world.read().await["dom_summary"]["text_content"].to_string().contains("pressed"));
}

async fn the_history_goes_both_ways(world: &World, server: &Server) {
    world.go(&server.url("/")).await;
    world.ask("click", json!({ "selector": "nav a" })).await;
    assert_eq!(world.read().await["url"], server.url("/more"));
    let back = world.ask("back", json!({})).await;
    assert_eq!(back["url"], server.url("/"));
    let forward = world.ask("forward", json!({})).await;
    assert_eq!(forward["url"], server.url("/more"));
    world.refused("forward", json!({}), ProblemKind::NotFound).await;
}

async fn what_comes_is_waited_for(world: &World, server: &Server) {
    world.go(&server.url("/late")).await;
    world.ask("wait", json!({ "selector": "#late" })).await;
    world.ask("wait", json!({ "text": "Here I am" })).await;
    world.ask("wait", json!({ "url": "/late" })).await;
    world.ask("wait", json!({ "networkIdle": true })).await;
    world.ask("wait", json!({ "selector": "#never", "state": "hidden" })).await;
    let arguments = json!({ "selector": "#never", "timeout": 200 });
    let problem = world.refused("wait", arguments, ProblemKind::Timeout).await;
    assert_eq!(problem.kind.status(), 408);
    assert!(problem.detail.contains("#never"), "{problem}");
    let arguments = json!({ "selector": "p", "timeout": 120_001 });
    world.refused("wait", arguments, ProblemKind::Invalid).await;
    world.refused("wait", json!({}), ProblemKind::Invalid).await;
    world.refused("wait", json!({ "selector": "p", "text": "x" }), ProblemKind::Invalid).await;
}

async fn the_page_is_scrolled(world: &World, server: &Server) {
    world.go(&server.url("/")).await;
    let place = |done: &Value| done["y"].as_i64().expect("a place");
    let down = world.ask("scroll", json!({ "direction": "down" })).await;
    assert!(place(&down) > 0);
    let bottom = world.ask("scroll", json!({ "direction": "bottom" })).await;
    assert_eq!(bottom["y"], bottom["yMax"]);
    let in_view = world.ask("read", json!({ "viewport": true })).await;
    assert_eq!(texts(&in_view, "headings"), Vec::<String>::new());
    let up = world.ask("scroll", json!({ "direction": "up" })).await;
    assert!(place(&up) < place(&bottom));
    assert_eq!(place(&world.ask("scroll", json!({ "direction": "top" })).await), 0);
    assert!(place(&world.ask("scroll", json!({ "selector": "#bottom" })).await) > 0);
    world.refused("scroll", json!({ "direction": "sideways" }), ProblemKind::Invalid).await;
    world.refused("scroll", json!({}), ProblemKind::Invalid).await;
}

async fn tabs_are_opened_chosen_and_closed(world: &World, server: &Server) {
    let first = world.ask("tabs", json!({})).await["current"].clone();
    let second = world.ask("tabs", json!({ "action": "open" })).await["current"].clone();
    assert_ne!(first, second);
    world.go(&server.url("/more")).await;
    assert_eq!(world.ask("read", json!({ "tab": first })).await["url"], server.url("/"));
    world.ask("tabs", json!({ "action": "select", "tab": first })).await;
    assert_eq!(world.read().await["url"], server.url("/"));
    let tabs = world.ask("tabs", json!({ "action": "close", "tab": second })).await;
    assert_eq!(tabs["tabs"].as_array().map(Vec::len), Some(1));
    world.refused("read", json!({ "tab": second }), ProblemKind::NotFound).await;
    world.refused("dance", json!({}), ProblemKind::UnknownCommand).await;
    world.refused("click", json!({ "selektor": "a" }), ProblemKind::Invalid).await;
}
