//! The service as a peer of the mesh.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;
use waypost_mesh::{Mesh, Settings};
use waypost_project::MeshSettings;

use crate::program::{Program, command};
use crate::service::Service;
use crate::wait::until;

fn settings(folder: &Path, human_events: bool) -> MeshSettings {
    MeshSettings {
        enabled: true,
        folder: folder.join("mesh"),
        pairing_dir: folder.join("pairing"),
        listen: false,
        human_events,
    }
}

fn start(human_events: bool) -> (Service, PathBuf) {
    let folder = TempDir::new().expect("a folder");
    let mesh = settings(folder.path(), human_events);
    let meeting = mesh.folder.clone();
    (Service::start_in(folder, |options| options.mesh = Some(mesh)), meeting)
}

fn status(service: &Service) -> Value {
    service.get("/api/memory/status").json()["mesh"].clone()
}

#[track_caller]
fn eventually(mut is_so: impl FnMut() -> bool) {
    until(|| is_so().then_some(()).ok_or("it is not so"));
}

fn events(service: &Service) -> Vec<Value> {
    let listed = service.get("/api/events?after=0").json();
    listed.as_array().expect("a list").clone()
}

#[test]
fn a_task_of_a_peer_is_an_event_and_nothing_else_is() {
    let (service, meeting) = start(false);
    eventually(|| status(&service) == json!({ "joined": true }));
    let peer = Mesh::open(&Settings::new(&meeting, "agent")).expect("it joins");
    let told = |event: Value| peer.broadcast("agent", &event).expect("it is told");
    told(json!({ "type": "human_click", "element": { "tag": "a" } }));
    told(json!({ "type": "memory:added", "id": 1 }));
    told(json!({ "type": "mesh:task", "list": [1] }));
    told(json!({ "type": "mesh:task", "not a name": 1 }));
    eventually(|| {
        told(json!({ "type": "mesh:task", "title": "t", "urgent": true, "n": 1.5 }));
        !events(&service).is_empty()
    });
    for event in events(&service) {
        assert_eq!(event["type"], "mesh:task");
        assert_eq!(event["data"], json!({ "title": "t", "urgent": "true", "n": 1.5 }));
        assert_eq!(event["source"], "mesh:local/agent");
    }
}

#[test]
fn events_that_are_invalid_do_not_fill_the_log() {
    let folder = TempDir::new().expect("a folder");
    let meeting = folder.path().join("mesh");
    let mut command = command(folder.path());
    command.env("WAYPOST_MESH_FOLDER", &meeting);
    let program = Program::start_as(command, folder.path());
    let peer = Mesh::open(&Settings::new(&meeting, "agent")).expect("it joins");
    let listed = || program.send("GET", "/api/events?after=0", b"").json();
    eventually(|| {
        for name in ["not a name".repeat(900), "a".repeat(9_000)] {
            for value in [json!(1), json!([1])] {
                let mut event = json!({ "type": "mesh:task" });
                event[&name] = value;
                peer.broadcast("agent", &event).expect("it is told");
            }
        }
        peer.broadcast("agent", &json!({ "type": "mesh:task" })).expect("it is told");
        listed().as_array().expect("a list").len() > 9
    });
    program.signal("TERM");
    let (_, log) = program.end();
    let lines = log.lines().filter(|line| line.contains("failed to publish events of peers"));
    assert!((1..5).contains(&lines.count()) && log.len() < 10_000, "{log}");
}

#[test]
fn what_a_human_does_is_on_the_bus_where_that_is_wanted() {
    let (service, meeting) = start(true);
    eventually(|| status(&service) == json!({ "joined": true }));
    let peer = Mesh::open(&Settings::new(&meeting, "browser")).expect("it joins");
    let element = json!({ "tag": "a", "class": "", "text": "More", "selector": "a.more" });
    eventually(|| {
        let click = json!({ "type": "human_click", "element": element });
        peer.broadcast("browser.relay", &click).expect("it is told");
        !events(&service).is_empty()
    });
    let event = &events(&service)[0];
    assert_eq!(event["type"], "browser:human_click");
    let data = json!({
        "element_tag": "a", "element_class": "", "element_text": "More", "element_selector": "a.more"
    });
    assert_eq!(event["data"], data);
}

#[test]
fn a_mesh_that_cannot_be_joined_stops_nothing_and_is_joined_once_it_can() {
    let folder = TempDir::new().expect("a folder");
    let mesh = settings(folder.path(), false);
    let meeting = mesh.folder.clone();
    fs::create_dir(&meeting).expect("a folder");
    let mode = |mode| fs::set_permissions(&meeting, fs::Permissions::from_mode(mode));
    mode(0o755).expect("its mode");
    let service = Service::start_in(folder, |options| options.mesh = Some(mesh));
    service.add("the store works");
    eventually(|| status(&service)["problem"].is_string());
    let said = status(&service);
    assert_eq!(said["joined"], false);
    assert!(
        said["problem"].as_str().is_some_and(|it| it.contains("other users can access")),
        "{said}"
    );
    mode(0o700).expect("its mode");
    eventually(|| status(&service) == json!({ "joined": true }));
}

#[test]
fn without_a_mesh_the_status_says_nothing_of_it() {
    assert_eq!(status(&Service::start()), Value::Null);
}
