//! Terminal control characters, wherever a page can put them.

use serde_json::{Value, json};
use waypost_browser::{Act, ProblemKind};

use crate::server::{Reply, Request, Server};
use crate::world::World;

/// These change the title, the clipboard or the screen, reverse a line, or split a word.
const OBEYED: &str = "\u{1b}]0;t\u{7}\u{1b}]52;c;aGk=\u{1b}\\\u{90}q\u{9c}\u{9b}2J\u{8}\u{7f}\u{202e}\u{2066}\u{200b}";

fn site(request: &Request) -> Option<Reply> {
    let obeyed = OBEYED;
    let header = |name: &str, value: String| (name.to_owned(), value);
    match request.path.split('?').next()? {
        "/" => {
            let body = format!(
                "<!doctype html><title>{obeyed}title</title><h1>{obeyed}heading</h1>
                <form id='{obeyed}form' name='{obeyed}'><input name='{obeyed}field' value='{obeyed}value'
                  placeholder='{obeyed}hint' aria-label='{obeyed}label'>
                  <select aria-label=list><option>{obeyed}option</select></form>
                <a href='/?{obeyed}' class='{obeyed}link' title='{obeyed}'>{obeyed}link</a>
                <table><caption>{obeyed}caption</caption><tr><th>{obeyed}column<th>b<tr><td>1<td>2</table>
                <p role=alert>{obeyed}message</p><p>{obeyed}text</p>
                <iframe title='{obeyed}frame' name='{obeyed}' srcdoc='<p>{obeyed}inside</p>'></iframe>
                <button id=said onclick='alert(document.title + history.state)'>Say</button>
                <a id=file href='/file' download='{obeyed}name.sh'>File</a>
                <div style='position:relative'><button id=below>Below</button>
                  <i id='{obeyed}cover' class='{obeyed}' style='position:absolute;inset:0'>{obeyed}cover</i></div>
                <script>console.error(document.title, 'console'); console.warn('{obeyed}');
                history.replaceState('{obeyed}', '', '/?' + document.title + '#' + document.title);
                fetch('/missing?' + document.title); throw new Error(document.title + 'thrown')</script>"
            );
            Some((200, vec![], body))
        }
        "/file" => {
            let name = "attachment; filename*=UTF-8''%1b%5dx%c2%9b%e2%80%aename.sh".to_owned();
            Some((200, vec![header("content-disposition", name)], "echo".to_owned()))
        }
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_output_contains_terminal_control_characters() {
    let server = Server::start(site);
    let world = World::start(&[&server]).await;
    let mut events = world.relay.events();
    let mut told = vec![world.go(&server.url("/")).await];
    world.ask("wait", json!({ "networkIdle": true })).await;
    for mode in ["full", "outline", "interactive", "diff"] {
        told.push(world.ask("read", json!({ "mode": mode })).await);
    }
    told.push(world.ask("click", json!({ "selector": "#said" })).await);
    told.push(world.ask("click", json!({ "selector": "#file" })).await);
    told.push(world.read().await);
    told.push(world.ask("tabs", json!({})).await);
    let covered = world.refused("click", json!({ "selector": "#below" }), ProblemKind::Covered);
    told.push(json!(covered.await.detail));
    let unknown = json!({ "selector": format!("#x{OBEYED}") });
    told.push(json!(world.relay.handle("click", unknown).await.expect_err("it is none").detail));
    // A person does the same, so that it is reported as events.
    let (x, y) = (40.0, 20.0);
    let clicked = world.relay.human(Act::Click(x, y)).await.expect("clicked");
    told.push(json!(clicked));
    while let Ok(event) = events.try_recv() {
        told.push(json!(event));
    }
    let told = Value::from(told);
    // The text is there, without these letters.
    let shown = told.to_string();
    for part in [
        "title",
        "heading",
        "field",
        "value",
        "label",
        "option",
        "link",
        "caption",
        "column",
        "message",
        "text",
        "frame",
        "inside",
        "name.sh",
        "cover",
        "console",
        "thrown",
        "human_click",
        "\"dialog\"",
        "\"download\"",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    obeys_nothing(&told);
    world.end().await;
}

/// Checks every text and every name.
fn obeys_nothing(told: &Value) {
    let is_obeyed = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    match told {
        Value::String(text) => assert!(!text.contains(is_obeyed), "{text:?}"),
        Value::Array(entries) => entries.iter().for_each(obeys_nothing),
        Value::Object(members) => members.iter().for_each(|(name, value)| {
            assert!(!name.contains(is_obeyed), "{name:?}");
            obeys_nothing(value);
        }),
        _ => {}
    }
}
