//! The page in a real terminal, provided by tmux: the test sends keys to it and reads its screen.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Child;
use std::sync::mpsc;
use std::thread;

use serde_json::{Value, json};
use waypost_mesh::{Event, Listener, Pattern};

use crate::agent::Agent;
use crate::child::end_of;
use crate::server::{Reply, Request, Server, page};
use crate::tmux::{PATIENCE, Terminal, place_of};
use crate::wait::until;
use crate::world::{Place, call, post};

const CANARY: &str = "kanarienvogel7";
const WRONG: &str = "falschervogel";

const FRONT: &str =
    "<body style='margin:0'><h1>Front</h1><p><a id=more class=big href=/more>More of it</a></p>
  <p id=told>not yet</p><button onclick=\"told.textContent = 'pressed'\">Press me</button>
  <button onclick=\"alert('Be careful')\">Alarm</button>
  <select style='position:fixed;top:160px;left:0;width:160px'><option>Small<option>Large</select>
  <p style='position:absolute;top:2400px'>The needle is here</p>";
const LOGIN: &str = "<h1>Log in</h1><form method=post action=/login>
  <p><label>User <input name=user></label></p>
  <p><label>Password <input name=password type=password></label></p><button>Go</button></form>";

fn site(request: &Request) -> Option<Reply> {
    let form: HashMap<String, String> =
        url::form_urlencoded::parse(request.body.as_bytes()).into_owned().collect();
    let has_session =
        request.headers.get("cookie").is_some_and(|header| header.contains("sid=geheim"));
    match request.path.split('?').next()? {
        "/" => page(FRONT),
        "/more" => page("<h1>More</h1>"),
        "/login" if request.method == "POST" => {
            if form.get("password").is_none_or(|form| form != CANARY) {
                return page(&format!("<p role=alert>{} is wrong</p>{LOGIN}", form["password"]));
            }
            let headers =
                [("set-cookie", "sid=geheim; HttpOnly; Path=/"), ("location", "/account")];
            let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
            Some((303, headers.to_vec(), String::new()))
        }
        "/login" => page(LOGIN),
        "/account" if has_session => page("<h1>Welcome, Ada</h1><a href=/logout>Log out</a>"),
        _ => None,
    }
}

/// `ctl mesh listen`, as a separate process.
struct Listening {
    child: Child,
    _service: Agent,
    lines: mpsc::Receiver<String>,
}

impl Listening {
    /// A listener for all events from now on.
    fn start(place: &Place, pattern: &str) -> Self {
        let program = Path::new(env!("CARGO_BIN_EXE_browser")).with_file_name("ctl");
        let service = Agent::start(place);
        let arguments = ["--url", &service.url, "--json", "mesh", "listen", pattern];
        let mut command = place.command_of(&program, &arguments);
        let mut child = command.spawn().expect("ctl is built: `just test` builds all programs");
        let out = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let (tell, lines) = mpsc::channel();
        thread::spawn(move || out.map_while(Result::ok).try_for_each(|ok| tell.send(ok)));
        let listening = Self { child, _service: service, lines };
        let mesh = place.peer();
        until(|| {
            mesh.broadcast("test", &json!({ "type": "human_test" })).expect("it is told");
            listening.lines.try_recv().map_err(|_| "it hears nothing")
        });
        listening
    }

    /// The next event of a kind, as printed.
    #[track_caller]
    fn next(&mut self, kind: &str) -> Value {
        loop {
            let line = self.lines.recv_timeout(PATIENCE).expect("it goes on");
            let event: Value = serde_json::from_str(&line).expect("JSON");
            if event["event"]["type"] == kind {
                return event;
            }
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.child.kill().unwrap_or_default();
        end_of(&mut self.child);
    }
}

/// The next event of a kind; all received events are stored.
fn next(listener: &Listener, kind: &str, heard: &mut Vec<Event>) -> Value {
    loop {
        let event = listener.next(PATIENCE).expect("it was told");
        heard.push(event.clone());
        if event.kind == kind {
            return event.body;
        }
    }
}

#[test]
fn a_login_is_typed_by_keys_and_the_agent_continues_in_the_session() {
    let server = Server::start(site);
    let terminal = Terminal::start(&server.url("/login"), &[], (120, 30));
    let address = terminal.address();
    let mesh = terminal.place.peer();
    let listener = mesh.listen(&Pattern::all());
    let mut heard = Vec::new();
    let mut told = String::new();
    let read = || call(&mesh, "read", &json!({})).expect("it reads");
    assert_eq!(read()["auth"]["state"], "login_form");

    for (password, next_page) in [(WRONG, "is wrong"), (CANARY, "Welcome, Ada")] {
        // Into the first field, and on to the second.
        terminal.press(&["i"]);
        terminal.shows("Esc leaves the field");
        terminal.type_text("ada");
        terminal
            .until("the name", |terminal| terminal.lines().any(|line| line.contains("User ada")));
        terminal.press(&["Tab"]);
        terminal.type_text(password);
        let dots = "•".repeat(password.len());
        let screen = terminal.shows(&format!("Password {dots}"));
        assert!(screen.contains("you have the page"), "{screen}");
        told.push_str(&screen);
        told.push_str(&read().to_string());
        let refused = post(address, "type", &json!({ "selector": "[name=user]", "text": "eve" }));
        told.push_str(&refused.problem(409).to_string());
        terminal.press(&["Enter"]);
        told.push_str(&terminal.shows(next_page));
    }
    let change = next(&listener, "auth_changed", &mut heard);
    assert_eq!(change["state"], "authenticated", "{change}");
    // The agent controls the page again, and both share the session.
    told.push_str(&terminal.shows("programs may act"));
    let summary = read();
    assert_eq!(summary["auth"]["state"], "authenticated");
    assert_eq!(summary["dom_summary"]["headings"], json!(["Welcome, Ada"]));
    told.push_str(&summary.to_string());
    let inputs = heard.iter().filter(|heard| heard.kind == "human_input").count();
    assert!(inputs > 0, "{heard:?}");
    let events: Vec<Value> = heard.into_iter().map(|heard| heard.body).collect();
    told.push_str(&Value::from(events).to_string());
    for secret in [CANARY, WRONG, "geheim"] {
        assert!(!told.contains(secret), "{secret} was told");
    }
}

#[test]
fn clicks_and_keys_of_the_terminal_are_the_persons() {
    let server = Server::start(site);
    let terminal = Terminal::start(&server.url("/"), &[], (100, 24));
    terminal.address();
    let mesh = terminal.place.peer();
    let listener = mesh.listen(&Pattern::parse("human_*").expect("a pattern"));
    let mut heard = Vec::new();
    let mut listening = Listening::start(&terminal.place, "human_*");

    let screen = terminal.shows("Press me");
    assert!(screen.lines().nth(1).is_some_and(|it| it.contains("127.0.0.1")), "{screen}");
    let (column, row) = place_of(&screen, "Press me");
    terminal.click(column + 2, row);
    let clicked = next(&listener, "human_click", &mut heard);
    assert_eq!(clicked["element"]["tag"], "button");
    assert_eq!(clicked["element"]["text"], "Press me");
    terminal.shows("pressed");
    let told = listening.next("human_click");
    assert_eq!((&told["event"], &told["source"]), (&clicked, &json!("browser.relay")), "{told}");
    assert_eq!((&told["origin"], &told["from"]), (&json!("local"), &json!("browser")), "{told}");

    // A dialog is answered at once, and reported.
    let (column, row) = place_of(&terminal.screen(), "Alarm");
    terminal.click(column, row);
    terminal.shows("the page says: Be careful");
    assert_eq!(next(&listener, "human_click", &mut heard)["element"]["text"], "Alarm");

    // By a hint: the link is the first usable element.
    terminal.press(&["f"]);
    terminal.until("a label", |terminal| {
        terminal.lines().any(|line| line.trim_start().starts_with("aore of it"))
    });
    terminal.press(&["a"]);
    let clicked = next(&listener, "human_click", &mut heard);
    assert_eq!(clicked["element"]["selector"], "#more");
    assert_eq!(clicked["element"]["class"], "big");
    terminal.until("the next page", |terminal| {
        terminal.lines().nth(2).is_some_and(|line| line.contains("More"))
            || terminal.contains("/more")
    });
    terminal.press(&["H"]);
    terminal.shows("not yet");

    // Choose from a list in the terminal.
    let (column, row) = place_of(&terminal.shows("Small"), "Small");
    terminal.click(column, row);
    terminal.shows("Large");
    terminal.press(&["Down", "Enter"]);
    terminal
        .until("the choice", |terminal| terminal.contains("Large") && !terminal.contains("Small"));
    assert_eq!(next(&listener, "human_input", &mut heard)["element"]["tag"], "select");

    terminal.press(&["/"]);
    terminal.type_text("needle");
    terminal.press(&["Enter"]);
    terminal.shows("The needle is here");
    terminal.press(&["g"]);
    terminal.shows("Front");
    terminal.press(&["?"]);
    terminal.shows("type a label to use its element");
    terminal.press(&["Escape"]);
    terminal.until("the help is gone", |terminal| !terminal.contains("type a label"));

    // The address line, which the page cannot draw on.
    terminal.press(&["o"]);
    terminal.shows("go to");
    terminal.type_text(&server.url("/login"));
    terminal.press(&["Enter"]);
    terminal.shows("Password");
}

#[test]
fn any_terminal_size_works_and_closing_the_terminal_ends_the_browser() {
    let server = Server::start(site);
    let mut terminal = Terminal::start(&server.url("/"), &["--no-mesh"], (100, 24));
    let address = terminal.address();
    assert!(!terminal.place.chromiums().is_empty());
    for (columns, rows) in [(1, 1), (3, 2), (200, 60), (40, 10)] {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        terminal.tmux(&["resize-window", "-x", &columns, "-y", &rows]);
        let read = post(address, "read", &json!({}));
        assert_eq!(read.status, 200, "{read:?}");
    }
    terminal.shows("Front");
    terminal.press(&["p"]);
    terminal.shows("you keep the page");
    assert_eq!(post(address, "reload", &json!({})).status, 409);
    terminal.press(&["p"]);
    terminal.shows("programs may act");
    terminal.tmux(&["kill-session"]);
    terminal.is_gone();

    // Quitting leaves the terminal as it was.
    terminal = Terminal::start(&server.url("/"), &["--no-mesh"], (100, 24));
    terminal.tmux(&["set-option", "remain-on-exit", "on"]);
    terminal.address();
    terminal.press(&["q"]);
    let left = until(|| {
        let format = "#{pane_dead} #{alternate_on} #{mouse_any_flag}";
        let state = terminal.tmux(&["list-panes", "-F", format]);
        if state.starts_with('1') { Ok(state) } else { Err(terminal.screen()) }
    });
    assert_eq!(left.trim(), "1 0 0", "neither the other screen nor the mouse is kept");
    terminal.is_gone();
}

#[test]
fn without_a_terminal_the_start_fails() {
    let place = Place::new();
    let done = place.command(&["about:blank", "--no-mesh"]).output().expect("it runs");
    assert_eq!(done.status.code(), Some(1));
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(said.contains("no terminal") && said.contains("--headless"), "{said}");
}
