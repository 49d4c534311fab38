//! `mesh`, through a service, with a peer in this process.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use waypost_api::routes;
use waypost_mesh::{Mesh, Problem, Serving, Settings};

use crate::browser::on_the_mesh;
use crate::child::end_of;
use crate::ctl::Ran;
use crate::service::Service;
use crate::wait::until;

/// A service on the mesh of its project, and a peer that serves `echo`.
struct Place {
    mesh: Mesh,
    _serving: Serving,
    service: Service,
}

impl Place {
    fn new() -> Self {
        let service = Service::start_with(on_the_mesh);
        let meeting = service.folder().join(".waypost/data/mesh");
        let mesh = Mesh::open(&Settings::new(&meeting, "browser")).expect("the peer joins");
        let serving = mesh.serve("echo", |call| match call.command.as_str() {
            "say" => Ok(call.argument),
            "gone" => Err(Problem::new(404, "not_found", "no element \u{1b}[31m matches")),
            "deny" => Err(Problem::denied("the human has not allowed it")),
            _ => Err(Problem::new(422, "invalid", "that is no command")),
        });
        let client = service.client();
        until(|| {
            let status = client
                .call(&routes::MEMORY_STATUS, ())
                .expect("a status")
                .mesh
                .expect("it is enabled");
            if status.joined { Ok(()) } else { Err(format!("{status:?}")) }
        });
        Self { mesh, _serving: serving.expect("it serves"), service }
    }

    fn ctl(&self, arguments: &[&str]) -> Ran {
        self.service.ctl(&[&["mesh"], arguments].concat())
    }
}

#[test]
fn a_call_shows_its_result_and_no_control_characters() {
    let place = Place::new();
    let said = r#"{"text":"\u001b[31mred","n":1.5}"#;
    let answered = place.ctl(&["call", "echo", "say", said]);
    assert!(!answered.out.contains('\u{1b}'), "{answered:?}");
    assert_eq!(answered.json(), json!({ "text": "\u{1b}[31mred", "n": 1.5 }));
    assert_eq!(place.ctl(&["call", "echo", "say"]).json(), Value::Null);
}

#[test]
fn what_comes_of_a_call_is_the_exit_status() {
    let place = Place::new();
    for (arguments, code, said) in [
        (vec!["echo", "gone"], 3, "no element \\u{1b}[31m matches"),
        (vec!["echo", "deny"], 4, "denied: the human has not allowed it"),
        (vec!["nobody", "say"], 5, "offline: no peer serves nobody"),
        (vec!["echo", "other"], 1, "that is no command"),
        (vec!["echo", "*"], 2, "a command may contain only"),
        (vec!["**", "say"], 2, "a target may contain only"),
        (vec!["echo", "say", "{"], 2, "the argument is not JSON"),
        (vec!["echo", "say", "--timeout", "1h"], 2, "1s to 3m"),
    ] {
        let ran = place.ctl(&[&["call"], &arguments[..]].concat());
        assert_eq!(ran.code, code, "{arguments:?}: {ran:?}");
        assert!(ran.err.contains(said), "{arguments:?}: {}", ran.err);
    }
}

#[test]
fn peers_are_listed_with_what_they_serve() {
    let place = Place::new();
    let listed = place.ctl(&["peers"]).done();
    assert!(listed.lines().any(|it| it.split_whitespace().eq(["browser", "local", "echo"])));
    let peers = place.service.ctl(&["--json", "mesh", "peers"]).json();
    assert_eq!((&peers[0]["name"], &peers[0]["targets"]), (&json!("browser"), &json!(["echo"])));
    assert_eq!(peers.as_array().map(Vec::len), Some(1), "the service itself is left out");
}

#[test]
fn events_are_shown_as_they_come() {
    let place = Place::new();
    let mut command =
        place.service.ctl_command(&["--json", "mesh", "listen", "human_*", "-n", "1"]);
    let mut listening = command.stdout(Stdio::piped()).spawn().expect("it starts");
    let out = listening.stdout.take().expect("it is piped");
    let heard = std::thread::spawn(move || BufReader::new(out).lines().next());
    let click = json!({ "type": "human_click", "element": { "tag": "a" } });
    until(|| {
        place.mesh.broadcast("browser.relay", &click).expect("it is told");
        heard.is_finished().then_some(()).ok_or("it hears nothing")
    });
    let line = heard.join().expect("no panic").expect("a line").expect("text");
    let event: Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!((&event["event"], &event["source"]), (&click, &json!("browser.relay")));
    assert_eq!((&event["origin"], &event["from"]), (&json!("local"), &json!("browser")));
    assert!(end_of(&mut listening).success());
    assert_eq!(place.ctl(&["listen", "A"]).code, 2);
}

#[test]
fn a_listener_ends_with_its_service() {
    let mut place = Place::new();
    let mut command = place.service.ctl_command(&["mesh", "listen"]);
    let mut listening = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = listening.stdout.take().expect("it is piped");
    let heard = std::thread::spawn(move || out.read_exact(&mut [0]).map(|()| out));
    until(|| {
        place.mesh.broadcast("echo", &json!({ "type": "tick" })).expect("it is told");
        heard.is_finished().then_some(()).ok_or("it hears nothing")
    });
    // It may print more events.
    let _out = heard.join().expect("no panic").expect("an event");
    place.service.stop();
    assert_eq!(end_of(&mut listening).code(), Some(1));
    let mut said = String::new();
    listening.stderr.take().unwrap().read_to_string(&mut said).expect("text");
    assert!(said.contains("the service left the mesh"), "{said}");
}

#[test]
fn an_event_is_told_to_those_who_listen() {
    let place = Place::new();
    let heard = place.mesh.listen(&waypost_mesh::Pattern::all());
    let told = place.ctl(&["broadcast", "mesh:task", r#"{"title":"t"}"#]);
    assert_eq!(told.done(), "broadcast mesh:task\n");
    let event = heard.next(Duration::from_secs(60)).expect("it is heard");
    assert_eq!(event.body, json!({ "type": "mesh:task", "title": "t" }));
    assert_eq!((event.from.says.as_str(), event.source.as_str()), ("service", "ctl"));
    assert_eq!(place.ctl(&["broadcast", "Mesh:task"]).code, 2);
    for wrong in [r#"{"type":"x"}"#, "[]", "{"] {
        assert_eq!(place.ctl(&["broadcast", "mesh:task", wrong]).code, 2, "{wrong}");
    }
}

#[test]
fn machines_are_paired_listed_and_revoked() {
    let place = Place::new();
    let to = place.service.folder().join("laptop");
    let to = to.to_str().expect("text");
    let first = place.ctl(&["pair", "laptop", "--to", to]);
    assert_eq!(first.code, 2, "{first:?}");
    assert!(first.err.contains("--address"), "{first:?}");
    let rights = ["--call", "echo/say", "--call", "echo/*", "--events"];
    let paired = [&["pair", "laptop", "--to", to, "--address", "127.0.0.1:7461"], &rights[..]];
    let paired = place.ctl(&paired.concat());
    assert_eq!(paired.code, 0, "{paired:?}");
    let listed = place.ctl(&["machines"]).done();
    assert!(listed.contains("laptop") && listed.contains("echo/say echo/*"), "{listed}");
    let revoked = place.ctl(&["revoke", "laptop"]);
    assert_eq!(revoked.done(), "revoked laptop\n");
    assert_eq!(place.ctl(&["revoke", "laptop"]).code, 3);
    assert!(place.ctl(&["machines"]).done().contains("revoked"));
    for wrong in ["local", "Laptop", "a/b"] {
        let other = format!("{to}-{}", wrong.len());
        assert_eq!(place.ctl(&["pair", wrong, "--to", &other]).code, 2, "{wrong}");
    }
    assert_eq!(place.ctl(&["pair", "desk", "--to", to, "--call", "everything"]).code, 2);
}

#[test]
fn without_a_mesh_or_a_service_a_command_says_what_to_do() {
    let place = Service::start_with(|folder, options| {
        on_the_mesh(folder, options);
        let meeting = folder.join("mesh");
        fs::create_dir(&meeting).expect("a folder");
        fs::set_permissions(&meeting, fs::Permissions::from_mode(0o755)).expect("its mode");
        options.mesh.as_mut().expect("it is set").folder = meeting;
    });
    let ran = place.ctl(&["mesh", "peers"]);
    assert_eq!(ran.code, 5, "{ran:?}");
    assert!(ran.err.contains("`ctl status` says why"), "{ran:?}");
    let ran = Service::start().ctl(&["mesh", "call", "echo", "say"]);
    assert!(ran.code == 5 && ran.err.contains("mesh.enabled"), "{ran:?}");
    let mut stopped = Service::start();
    stopped.stop();
    let ran = stopped.ctl(&["mesh", "peers"]);
    assert!(ran.code == 5 && ran.err.contains("start the service"), "{ran:?}");
}
