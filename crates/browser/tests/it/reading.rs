//! What is reported of long pages, and of elements that only scripts make usable.

use serde_json::{Value, json};
use waypost_browser::{ProblemKind, READER_BYTES_MAX};

use crate::server::{Reply, Request, Server, page};
use crate::world::{World, entry, texts};

fn pages(request: &Request) -> Option<Reply> {
    match request.path.as_str() {
        "/listeners" => page(
            "<div id=own>Own</div><svg width=60 height=60><circle cx=30 cy=30 r=20><title>Disc</title>
            </circle></svg><ul id=list><li style='cursor:pointer'>Through the list<li>Plain</ul>
            <div style='cursor:pointer'>Nothing hears this</div><p id=out>none</p>
            <script>
              const say = (what) => () => { document.getElementById('out').textContent = what; };
              own.addEventListener('click', say('own'));
              document.querySelector('circle').addEventListener('mousedown', say('disc'));
              list.onclick = say('list');
            </script>",
        ),
        "/heard-by/window" | "/heard-by/document" => {
            let by = request.path.rsplit('/').next()?;
            page(&format!(
                "<div style='cursor:pointer' data-say=card>A card<p>of two lines</p></div>
                <div data-say=none>Without a pointer</div><a href=# style='cursor:pointer'>A link</a>
                <div style='cursor:pointer;min-height:100vh'>A hall <button>within</button></div>
                <p id=out>none</p><script>{by}.addEventListener('click', (event) => {{
                  const card = event.target.closest('[data-say]');
                  if (card) document.getElementById('out').textContent = card.dataset.say;
                }})</script>"
            ))
        }
        "/half" => page("<p id=p></p><script>p.textContent = 'half \\ud800 of one'</script>"),
        "/long" => {
            let link = |at: usize| {
                format!("<p><a href=/{at}>Link {at}</a> and some words that go with it</p>")
            };
            let links: String = (0..1500).map(link).collect();
            page(&format!("<h1>Long</h1><div id=top></div>{links}"))
        }
        "/menus" => {
            let hidden = "<a href=/no style='display:none'>No</a>".repeat(1000);
            page(&format!("{hidden}<p>{}</p>", "Words of a long text. ".repeat(500)))
        }
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_reader_needs_of_a_page_is_told() {
    let server = Server::start(pages);
    let world = World::start(&[&server]).await;
    what_listens_is_listed(&world, &server).await;
    what_the_whole_page_listens_for_is_listed(&world, &server).await;
    world.go(&server.url("/half")).await;
    assert_eq!(world.read().await["dom_summary"]["text_content"], "half \u{fffd} of one");
    long_pages_are_told_from_where_one_is(&world, &server).await;
    only_what_is_new_differs(&world, &server).await;
    each_reader_gets_what_is_new_to_it(&world, &server).await;
    what_is_hidden_takes_no_room(&world, &server).await;
    world.end().await;
}

async fn what_listens_is_listed(world: &World, server: &Server) {
    world.go(&server.url("/listeners")).await;
    let summary = world.read().await;
    let names = texts(&summary, "interactive");
    for (name, said) in [("Own", "own"), ("Disc", "disc"), ("Through the list", "list")] {
        let control = entry(&summary, "interactive", name);
        assert_eq!(control["type"], "clickable");
        let done = world.ask("click", json!({ "selector": control["selector"] })).await;
        assert_eq!(done["matches"], 1, "{control}");
        assert_eq!(shown_in(world, "#out").await, said);
        world.ask("click", json!({ "ref": control["ref"] })).await;
    }
    assert!(!names.contains(&"Nothing hears this".to_owned()), "{names:?}");
    assert!(!names.contains(&"Plain".to_owned()), "{names:?}");
}

async fn what_the_whole_page_listens_for_is_listed(world: &World, server: &Server) {
    for by in ["window", "document"] {
        world.go(&server.url(&format!("/heard-by/{by}"))).await;
        let summary = world.read().await;
        assert_eq!(texts(&summary, "interactive"), ["within", "A card of two lines"], "{by}");
        let card = entry(&summary, "interactive", "A card of two lines");
        world.ask("click", json!({ "selector": card["selector"] })).await;
        assert_eq!(shown_in(world, "#out").await, "card", "{by}");
    }
}

async fn shown_in(world: &World, scope: &str) -> Value {
    world.ask("read", json!({ "scope": scope })).await["dom_summary"]["text_content"].clone()
}

async fn long_pages_are_told_from_where_one_is(world: &World, server: &Server) {
    world.go(&server.url("/long")).await;
    world.ask("scroll", json!({ "selector": "a[href=\"/900\"]" })).await;
    let summary = world.read().await;
    assert_eq!(entry(&summary, "links", "Link 900")["selector"], "a[href=\"/900\"]");
    let left = &summary["truncated"];
    assert_eq!(left["links"]["of"], 1500);
    let (shown, of) = (&left["text_content"]["shown"], &left["text_content"]["of"]);
    assert!(shown.as_u64() > Some(1_000) && of.as_u64() > Some(50_000), "{left}");
    assert!(summary["tokens"].as_u64().is_some_and(|it| (3_500..=4_000).contains(&it)));
}

async fn only_what_is_new_differs(world: &World, server: &Server) {
    world.go(&server.url("/long")).await;
    world.read().await;
    let nothing = world.ask("read", json!({ "mode": "diff" })).await;
    assert_eq!(texts(&nothing, "links"), Vec::<String>::new());
    assert_eq!(nothing["dom_summary"]["text_content"], "");
    world.go(&server.url("/listeners")).await;
    world.read().await;
    world.ask("click", json!({ "selector": "#own" })).await;
    let changed = world.ask("read", json!({ "mode": "diff" })).await;
    assert_eq!(changed["dom_summary"]["text_content"], "own");
    assert_eq!(changed["removed"]["text_content"], "none");
}

async fn each_reader_gets_what_is_new_to_it(world: &World, server: &Server) {
    let diff =
        async |reader: &str| world.ask("read", json!({ "mode": "diff", "reader": reader })).await;
    world.go(&server.url("/listeners")).await;
    // Another reader's reading is none of this one.
    world.read().await;
    let first = diff("a").await;
    assert_eq!(
        (&first["mode"], &first["dom_summary"]["text_content"]),
        (&json!("outline"), &json!(""))
    );
    assert!(
        first.get("removed").is_none()
            && first["truncated"]["interactive"]["of"].as_u64() > Some(0)
    );
    world.ask("click", json!({ "selector": "#own" })).await;
    diff("b").await;
    let second = diff("a").await;
    assert_eq!(
        (&second["mode"], &second["dom_summary"]["text_content"]),
        (&json!("diff"), &json!("own"))
    );
    assert_eq!(second["removed"]["text_content"], "none");
    for reader in ["a", "b"] {
        let nothing = diff(reader).await;
        assert_eq!(nothing["dom_summary"]["text_content"], "", "{reader}");
    }
    // The whole page is known as well.
    world.ask("read", json!({ "reader": "c" })).await;
    assert_eq!(diff("c").await["mode"], "diff");
    world.go(&server.url("/long")).await;
    assert_eq!(diff("a").await["mode"], "outline");
    diff(&"r".repeat(READER_BYTES_MAX)).await;
    let of_token = |length| format!("wpt0123456789/{}", "r".repeat(length));
    diff(&of_token(READER_BYTES_MAX)).await;
    for wrong in [
        String::new(),
        "a b".to_owned(),
        "r".repeat(READER_BYTES_MAX + 1),
        of_token(0),
        of_token(READER_BYTES_MAX + 1),
        "/r".to_owned(),
        "a-b/r".to_owned(),
        "a/b/r".to_owned(),
    ] {
        let refused = world.refused("read", json!({ "reader": wrong }), ProblemKind::Invalid).await;
        assert!(refused.detail.starts_with("reader: expected 1 to 128"), "{refused:?}");
    }
}

async fn what_is_hidden_takes_no_room(world: &World, server: &Server) {
    world.go(&server.url("/menus")).await;
    let summary = world.read().await;
    assert_eq!(texts(&summary, "links"), Vec::<String>::new());
    let text = summary["dom_summary"]["text_content"].as_str().map_or(0, str::len);
    assert!(text > 9_000, "{text} letters of the text");
}
