//! A page that repeats a secret while it is typed, everywhere that programs can read.

use serde_json::json;
use waypost_browser::{Act, Key, ProblemKind};

use crate::server::{Server, page};
use crate::world::World;

const SECRET: &str = "zwkq7#Xp";

const PAGE: &str = r"<style>#password { position: fixed; left: 20px; top: 150px; width: 90px; height: 24px }</style>
  <h1 id=heading>Log in</h1><input id=password type=password>
  <p id=now></p><p id=steps></p><p id=spelled></p><p id=dotted></p><p id=numbered></p>
  <ul id=list></ul><button id=button>Go</button><a id=link href=/>Home</a>
  <form><input id=copy></form>
  <script>password.addEventListener('input', () => {
    const typed = password.value;
    now.textContent = `You typed: ${typed}!`;
    steps.append(' ', typed);
    spelled.textContent = Array.from(typed).join(' ');
    dotted.textContent = Array.from(typed, it => it + '.').join('');
    numbered.textContent = Array.from(typed, (it, at) => at + '=' + it).join(' ');
    list.insertAdjacentHTML('beforeend', '<li>So far ' + typed);
    heading.textContent = document.title = button.textContent = copy.value = typed;
    button.className = button.id = typed;
    link.href = '/' + typed;
    history.replaceState(null, '', '?p=' + encodeURIComponent(typed));
    console.error('weak: ' + typed);
    console.error('E ' + typed);
    fetch('/check?p=' + encodeURIComponent(typed) + '&n=1');
  });
  password.addEventListener('beforeinput', event => console.error('B ' + password.value + event.data));
  </script>";

/// Everything that a program can read.
async fn everything_read(world: &World) -> String {
    let read = world.read().await;
    let tabs = world.ask("tabs", json!({})).await;
    format!("{read}\n{tabs}\n{:?}", world.relay.shown_tabs())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_repeated_letter_by_letter_is_masked_from_the_second_letter() {
    let server = Server::start(|request| match request.path.split('?').next()? {
        "/login" => page(PAGE),
        _ => None,
    });
    let world = World::start(&[&server]).await;
    let mut events = world.relay.events();
    world.go(&server.url("/login")).await;
    world.relay.human(Act::Click(40.0, 160.0)).await.expect("clicked");
    let (mut all, mut typed) = (String::new(), String::new());
    for letter in SECRET.chars() {
        world.relay.human(Act::Press(Key::of(letter))).await.expect("pressed");
        typed.push(letter);
        let now = everything_read(&world).await;
        assert!(typed.len() == 1 || now.contains("You typed: ••••!"), "{typed}: {now}");
        all.push_str(&now);
    }
    world.relay.hand_back();
    // It may be guessed, but nothing confirms a correct guess.
    for guess in [&SECRET[..4], SECRET, "p=zwkq"] {
        for argument in ["text", "url"] {
            let asked = json!({ argument: guess, "timeout": 0 });
            world.refused("wait", asked, ProblemKind::Timeout).await;
        }
    }
    world.ask("wait", json!({ "text": "You typed", "timeout": 0 })).await;
    world.refused("click", json!({ "selector": "#none" }), ProblemKind::NotFound).await;
    all.push_str(&everything_read(&world).await);
    while let Ok(event) = events.try_recv() {
        all.push_str(&json!(event).to_string());
    }
    for end in 2..=SECRET.len() {
        let beginning = &SECRET[..end];
        assert!(!all.contains(beginning), "{beginning} was told: {all}");
    }
    for spelled in ["z w", "z.w", "0=z 1=w"] {
        assert!(!all.contains(spelled), "spelled out: {all}");
    }
    world.end().await;
}
