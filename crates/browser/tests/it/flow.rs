//! The page in a terminal without Chromium.

use std::sync::Arc;

use serde_json::json;
use waypost_browser::{
    Act, Direction, Event, Focus, Frame, Plain, Policy, Relay, TargetKind, View,
};

use crate::server::{Reply, Request, Server, page};

const SHOP: &str =
    "<h1>Shop</h1><p>Some <b>bold</b> words and a <a href=/more>link</a> that go on over
  the end of the line.</p><ul><li>One<li><p>Two</p></ul><ol><li>First<li>Second</ol>
  <table><tr><th>Name<th>Price<tr><td>汉字 cup<td>12.00<tr><td>Pot<td>3.50</table>
  <pre>a  b\n c</pre><p hidden>unseen</p><script>unseen()</script>
  <form action=/found><input name=q value=cups size=10> <input type=password name=pw>
  <input type=checkbox name=gift checked> Gift <select name=size><option>Small<option>Large</select>
  <button>Search</button></form>\x1b]52;c;x\x07";

fn pages(request: &Request) -> Option<Reply> {
    match request.path.split('?').next()? {
        "/" => page(SHOP),
        "/found" => page(&format!("<p>{}</p>", request.path.replace('&', " "))),
        "/long" => page(&format!("<h1>Long</h1>{}", "<p>row</p>".repeat(30_000))),
        _ => None,
    }
}

async fn look(relay: &Relay, view: View) -> Frame {
    relay.frame(view, None).await.expect("a frame").expect("nothing was seen yet")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_without_scripts_is_shown_and_used_by_cells() {
    let server = Server::start(pages);
    let allowed = format!("127.0.0.1:{}", server.port).parse().expect("a host and port");
    let policy = Arc::new(Policy::new(vec![allowed], []));
    let engine = Plain::start(policy.clone()).await.expect("it starts");
    let relay = Relay::new(Arc::new(engine.into()), policy);
    let mut events = relay.events();
    let view = View::new(40, 30, 100);
    relay.human(Act::Go(server.url("/"))).await.expect("it comes");
    let frame = look(&relay, view).await;
    let expected = "Shop\n\nSome bold words and a link that go on\nover the end of the line.\n
  • One\n  • Two\n\n  1. First\n  2. Second\n\nName      Price\n汉字 cup  12.00\nPot       3.50\n
a  b\n c\n\ncups       ••\n";
    let shown = frame.to_string();
    let (above, form) = shown.split_at(shown.find("cups").expect("a field"));
    assert_eq!(above, expected.split_at(expected.find("cups").expect("a field")).0, "{shown}");
    for part in ["[x] Gift", "Small ▾", "Search", "]52;c;x"] {
        assert!(form.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("unseen") && !shown.contains(['\u{1b}', '\u{7}']), "{shown:?}");
    assert!(frame.cell(0, 0).is_some_and(|it| it.bold));
    let kinds: Vec<TargetKind> = frame.targets.iter().map(|target| target.kind).collect();
    use TargetKind::{Button, Check, Link, Secret, Select, Text};
    assert_eq!(kinds, [Link, Text, Secret, Check, Select, Button]);

    // The focus is visible.
    relay.human(Act::Press("Tab".parse().expect("a key"))).await.expect("pressed");
    let frame = look(&relay, view).await;
    assert_eq!(frame.focus, Some(Focus::Control));
    let inverse =
        (0..40).filter(|number| frame.cell(*number, 2).is_some_and(|cell| cell.inverse)).count();
    assert_eq!(inverse, "link".len(), "{frame}");

    // Type into two fields, reached by a click and by Tab.
    let place = |kind: TargetKind, frame: &Frame| {
        let mut places = frame.places().into_iter();
        let found = places.find(|place| frame.targets[usize::from(place.2)].kind == kind);
        found.map(|found| frame.point(found.0, found.1)).expect("a place")
    };
    let (x, y) = place(Text, &frame);
    relay.human(Act::Click(x, y)).await.expect("clicked");
    relay.human(Act::Type(" & tea".to_owned())).await.expect("typed");
    relay.human(Act::Press("Backspace".parse().expect("a key"))).await.expect("pressed");
    relay.human(Act::Press("Tab".parse().expect("a key"))).await.expect("pressed");
    relay.human(Act::Type("hunter22".to_owned())).await.expect("typed");
    let frame = look(&relay, view).await;
    assert_eq!(frame.focus, Some(Focus::Secret));
    let shown = frame.to_string();
    assert!(shown.contains("ups & te") && shown.contains("••••••••"), "{shown}");
    let event = events.try_recv().expect("an event");
    assert!(matches!(&event, Event::Control { .. }), "{event:?}");
    let (x, y) = place(Button, &frame);
    relay.human(Act::Click(x, y)).await.expect("clicked");
    let found = look(&relay, view).await.to_string();
    assert!(found.contains("/found?q=cups+%26+te pw=•••• gift=on"), "{found}");

    let mut told = Vec::new();
    while let Ok(event) = events.try_recv() {
        told.push(json!(event));
    }
    let clicks: Vec<_> = told.iter().filter(|told| told["type"] == "human_click").collect();
    assert_eq!(clicks[1]["element"]["text"], "Search", "{told:?}");
    assert!(!json!(told).to_string().contains("hunter22"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_page_without_scripts_is_scrolled_and_searched() {
    let server = Server::start(pages);
    let allowed = format!("127.0.0.1:{}", server.port).parse().expect("a host and port");
    let policy = Arc::new(Policy::new(vec![allowed], []));
    let engine = Plain::start(policy.clone()).await.expect("it starts");
    let relay = Relay::new(Arc::new(engine.into()), policy);
    relay.human(Act::Go(server.url("/long"))).await.expect("it comes");
    let view = View::new(20, 10, 100);
    let first = look(&relay, view).await;
    assert_eq!(first.row_text(0), "Long");
    let again = relay.frame(view, Some(first.seen)).await.expect("an answer");
    assert_eq!(again, None, "nothing has changed");
    relay.human(Act::Scroll(Direction::Bottom, 1.0)).await.expect("scrolled");
    let last = look(&relay, view).await;
    assert_eq!((last.row_text(9).as_str(), last.scrolled.y), ("row", last.scrolled.y_max));
    assert!(relay.human(Act::Find("LONG".to_owned(), false)).await.expect("looked for").found);
    let found = look(&relay, view).await;
    assert!(found.cell(0, 0).is_some_and(|it| it.inverse), "{found}");
    assert!(
        !relay.human(Act::Find("nothing of it".to_owned(), true)).await.expect("looked for").found
    );
    for (columns, rows) in [(1, 1), (3, 200), (1000, 500)] {
        look(&relay, View::new(columns, rows, 100)).await;
    }
}
