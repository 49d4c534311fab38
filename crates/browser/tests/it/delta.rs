//! What a diff reports: all that changed since the last reading, and nothing else.

use serde_json::{Value, json};

use crate::server::{Reply, Request, Server, page};
use crate::world::{World, entry, texts};

const CHANGES: &str = "<h1>Delta</h1><p id=p>alpha</p><p id=q>beta</p>
<ul id=u><li>One cup</ul><ol id=o><li><a href=/1>A</a><li><a href=/2>B</a></ol>
<button id=b>one</button><details id=d><summary>More</summary>inside</details>
<button id=add onclick=\"u.insertAdjacentHTML('beforeend', '<li>One cup')\">add</button>
<button id=drop onclick='u.lastElementChild.remove()'>drop</button>
<button id=rev onclick='o.append(o.firstElementChild)'>reverse</button>
<button id=swap onclick='q.after(p)'>swap</button>
<button id=clone onclick='b.replaceWith(b.cloneNode(true))'>clone</button>
<button id=name onclick=\"document.title = 'Other'\">title</button>
<button id=open onclick='d.open = !d.open'>open</button>
<button id=none onclick=''>nothing</button>";

fn pages(request: &Request) -> Option<Reply> {
    let long =
        |at: u32| format!("<p>Line {at} <button>btn{at}</button> <a href=/{at}>l{at}</a></p>");
    match request.path.as_str() {
        "/changes" => page(CHANGES),
        "/long" => page(&format!("<h1>Long</h1>{}", (0..1200).map(long).collect::<String>())),
        "/one-line" => page(&format!("<p id=p>{}</p>", "lorem ipsum ".repeat(20_000))),
        _ => None,
    }
}

async fn diff(world: &World, budget: u32) -> Value {
    world.ask("read", json!({ "mode": "diff", "budget": budget })).await
}

fn is_empty(diff: &Value) -> bool {
    let lists = diff["dom_summary"].as_object().expect("lists");
    lists.values().all(|value| value.as_array().map_or(value == "", Vec::is_empty))
        && diff["removed"] == json!({})
        && diff.get("reordered").is_none()
        && diff.get("reloaded").is_none()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_diff_is_what_changed() {
    let server = Server::start(pages);
    let world = World::start(&[&server]).await;
    world.go(&server.url("/changes")).await;
    let first = world.read().await;
    let text = first["dom_summary"]["text_content"].as_str().expect("a text");
    assert!(text.contains("More") && !text.contains("inside"), "{text}");
    let after = async |selector: &str| {
        world.ask("click", json!({ "selector": selector })).await;
        diff(&world, 4000).await
    };

    // Equal lines are counted.
    let it = after("#add").await;
    assert_eq!(it["dom_summary"]["text_content"], "One cup", "{it}");
    assert_eq!(it["removed"], json!({}), "{it}");
    let it = after("#drop").await;
    assert_eq!(it["removed"], json!({ "text_content": "One cup" }), "{it}");
    let it = after("#none").await;
    assert!(is_empty(&it), "{it}");
    let it = after("#rev").await;
    assert_eq!(it["reordered"], json!(["links", "text_content"]), "{it}");
    assert_eq!((&it["removed"], texts(&it, "links").len()), (&json!({}), 0), "{it}");
    let it = after("#swap").await;
    assert_eq!(it["reordered"], json!(["text_content"]), "{it}");
    let it = after("#name").await;
    assert_eq!((&it["title"], &it["removed"]), (&json!("Other"), &json!({"title": "Test"})));

    // The reference of a replaced element is new.
    let it = after("#clone").await;
    assert_eq!(texts(&it, "interactive"), ["one"], "{it}");
    let one = entry(&it, "interactive", "one");
    world.ask("click", json!({ "ref": one["ref"] })).await;
    let it = after("#open").await;
    assert_eq!(entry(&it, "interactive", "More")["expanded"], true, "{it}");
    assert_eq!(it["dom_summary"]["text_content"], "inside", "{it}");

    // So are those of a document that was loaded again, in either way.
    for again in [("reload", json!({})), ("navigate", json!({ "url": "/changes" }))] {
        diff(&world, 4000).await;
        world.ask(again.0, again.1).await;
        let it = diff(&world, 4000).await;
        assert_eq!(it["reloaded"], true, "{it}");
        let none = entry(&it, "interactive", "nothing");
        world.ask("click", json!({ "ref": none["ref"] })).await;
        assert_eq!(texts(&it, "links"), ["A", "B"], "{it}");
        let it = diff(&world, 4000).await;
        assert!(is_empty(&it), "{it}");
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_did_not_fit_is_neither_new_nor_gone() {
    let server = Server::start(pages);
    let world = World::start(&[&server]).await;
    for path in ["/long", "/one-line"] {
        world.go(&server.url(path)).await;
        for mode in ["full", "diff"] {
            for before in [300, 2000, 20_000] {
                for after in [300, 2000, 20_000] {
                    world.ask("read", json!({ "mode": mode, "budget": before })).await;
                    let it = diff(&world, after).await;
                    assert!(is_empty(&it), "{path}: {mode} {before}, then {after}: {it}");
                }
            }
        }
    }
    world.go(&server.url("/long")).await;
    world.ask("read", json!({ "budget": 2000 })).await;
    for direction in ["bottom", "top"] {
        world.ask("scroll", json!({ "direction": direction })).await;
        let it = diff(&world, 2000).await;
        assert_eq!(it["removed"], json!({}), "{direction}: {it}");
        assert!(it["partial"].as_array().is_some_and(|it| it.contains(&json!("interactive"))));
    }
    let refused =
        world.refused("read", json!({ "timeout": 1 }), waypost_browser::ProblemKind::Timeout);
    let refused = refused.await;
    assert!(!refused.detail.contains("script"), "{refused:?}");
    world.end().await;
}
