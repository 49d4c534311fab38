//! Flows inside the service: events trigger programs, whose ends are published.

use std::fs;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use waypost_api::StreamRequest;
use waypost_api::client::{Client, Told};
use waypost_service::Approval;

use crate::program::Program;
use crate::service::{Service, send};
use crate::wait::until;

/// How long a test waits for an event.
const EVENT_TIME_MAX: Duration = Duration::from_secs(60);

/// A project with that flow file.
pub(crate) fn project(yaml: &str) -> TempDir {
    let folder = TempDir::new().expect("a temporary folder");
    write_flows(folder.path(), yaml);
    folder
}

pub(crate) fn write_flows(project: &Path, yaml: &str) {
    let flows = project.join(".waypost/flows");
    fs::create_dir_all(&flows).expect("a folder");
    // As an editor does it: no reader sees a part of the file.
    let unfinished = flows.join("new");
    fs::write(&unfinished, yaml).expect("a file");
    fs::rename(&unfinished, flows.join("self-driving.yaml")).expect("it is renamed");
}

pub(crate) fn start(yaml: &str) -> Service {
    Service::start_in(project(yaml), |_| {})
}

fn read(service: &Service, name: &str) -> String {
    fs::read_to_string(service.folder.path().join(name)).unwrap_or_default()
}

impl Service {
    pub(crate) fn emit(&self, kind: &str, data: &Value) -> u64 {
        let answer = self.post("/api/events", &json!({"type": kind, "data": data}));
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()["id"].as_u64().expect("an id")
    }

    /// Waits for the first event of this type after `after`, and returns its data.
    pub(crate) fn wait_for_event(&self, kind: &str, after: u64) -> waypost_api::Event {
        let client = Client::new(&format!("http://{}", self.address), Some(&self.token));
        let client = client.expect("a client");
        let asked = StreamRequest { pattern: Some(kind.to_owned()), after: Some(after) };
        let (sender, receiver) = mpsc::channel();
        // It ends with its event, or with the test.
        thread::spawn(move || {
            client.follow_events(&asked, &mut |it| {
                drop(sender.send(it));
                Ok(false)
            })
        });
        match receiver.recv_timeout(EVENT_TIME_MAX) {
            Ok(Told::Event(event)) => event,
            other => panic!("no event {kind} after {after}: {other:?}"),
        }
    }
}

pub(crate) fn data(event: &waypost_api::Event) -> Value {
    serde_json::to_value(&event.data).expect("JSON")
}

#[test]
fn a_flow_runs_for_an_event_that_it_wants() {
    let service = start(
        r#"
flows:
  - name: note
    trigger: { pattern: "eval:*", condition: data.improved == "true" }
    actions:
      - { type: command, command: "printf '%s\n' \"$WAYPOST_EVENT_DATA_agent\" >> agents" }
      - { type: emit, event: "kanban:done", data: { agent: "{{data.agent}}" } }
      - { type: memory.add, content: "{{data.agent}} improved" }
"#,
    );
    service.emit("eval:scored", &json!({"agent": "idle", "improved": false}));
    service.emit("other:thing", &json!({"agent": "other", "improved": true}));
    let hostile = "a'; touch owned; $(touch owned) `touch owned` \"\n%s";
    let event = service.emit("eval:scored", &json!({"agent": hostile, "improved": true}));
    let ended = service.wait_for_event("flow:*", 0);
    assert_eq!(ended.kind, "flow:succeeded", "{}", data(&ended));
    let said = json!({"flow": "note", "run": format!("note.{event}"), "event": event.to_string(), "why": data(&ended)["why"]});
    assert_eq!(data(&ended), said);
    assert_eq!((ended.root, ended.cause.as_deref()), (Some(event), Some("note.3")));
    assert_eq!(read(&service, "agents"), format!("{hostile}\n"));
    assert!(!service.folder.path().join("owned").exists());
    let emitted = service.wait_for_event("kanban:done", 0);
    assert_eq!(data(&emitted), json!({"agent": hostile}));
    assert_eq!((emitted.source.as_str(), emitted.root), ("flow note", Some(event)));
    let memories = service.get("/api/memory").json();
    assert_eq!(memories[0]["content"], format!("{hostile} improved"));
}

#[test]
fn flows_hear_of_memories_unless_that_is_off() {
    let yaml = r#"
flows:
  - name: echo
    trigger: { pattern: "memory:*" }
    actions: [{ type: memory.add, content: "after {{data.id | default(\"a link\")}}" }]
"#;
    let service = start(yaml);
    let first = service.add("the first");
    let added = service.wait_for_event("memory:added", 0);
    let said = json!({"id": first, "type": "note", "title": "the first", "space": "default"});
    assert_eq!(data(&added), said);
    // The memory that the flow added causes an event, which does not start the flow again.
    let echoed = service.wait_for_event("memory:added", added.id);
    assert_eq!(data(&echoed)["title"], format!("after {first}"));
    assert_eq!(echoed.root, Some(added.id));
    let second = data(&echoed)["id"].clone();
    service.post("/api/memory/link", &json!({"from": first, "to": second, "type": "part_of"}));
    let linked = service.wait_for_event("memory:linked", 0);
    assert_eq!(data(&linked), json!({"from": first, "to": second, "type": "part_of"}));
    service.wait_for_event("flow:succeeded", linked.id);
    service.post("/api/memory/index", &json!({}));
    assert_eq!(data(&service.wait_for_event("memory:reindexed", 0))["indexed"], 3);
    let service = service.restart_with(|options| options.events.memory = false);
    let last = service.emit("a:b", &json!({}));
    service.add("nobody hears of it");
    service.emit("a:b", &json!({}));
    let heard = service.get(&format!("/api/events?pattern=memory:*&after={last}")).json();
    assert_eq!(heard, json!([]));
}

#[test]
fn a_flow_that_fails_is_published() {
    let service = start(
        r#"
flows:
  - name: breaks
    trigger: { pattern: "a:b" }
    actions: [{ type: command, command: "echo so >&2; exit 3" }]
"#,
    );
    service.emit("a:b", &json!({}));
    let ended = service.wait_for_event("flow:*", 0);
    assert_eq!(ended.kind, "flow:failed");
    let why = data(&ended)["why"].to_string();
    assert!(why.contains("exit status 3"), "{why}");
}

#[test]
fn a_post_reaches_a_private_host_that_the_file_names() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let hosts = ["127.0.0.1", "localhost"];
    let answers = thread::spawn(move || {
        for _ in hosts {
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut read = [0; 4096];
            std::io::Read::read(&mut stream, &mut read).expect("a request");
            let answer = b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";
            std::io::Write::write_all(&mut stream, answer).expect("it waits");
        }
    });
    for host in hosts {
        let service = start(&format!(
            "flows:\n  - {{ name: posts, trigger: {{ pattern: \"a:b\" }}, actions: [{{ type: http, url: \"http://{host}:{port}/\" }}] }}\n"
        ));
        service.emit("a:b", &json!({}));
        let ended = service.wait_for_event("flow:*", 0);
        assert_eq!(ended.kind, "flow:succeeded", "{host}: {}", data(&ended));
    }
    answers.join().expect("each has posted");
}

#[test]
fn what_ran_before_a_restart_is_not_done_again() {
    let yaml = r#"
flows:
  - name: counts
    trigger: { pattern: "a:b" }
    actions: [{ type: command, command: "echo {{data.n}} >> numbers" }]
"#;
    let service = start(yaml);
    service.emit("a:b", &json!({"n": 1}));
    service.wait_for_event("flow:succeeded", 0);
    let service = service.restart();
    let second = service.emit("a:b", &json!({"n": 2}));
    service.wait_for_event("flow:succeeded", second);
    assert_eq!(read(&service, "numbers"), "1\n2\n");
}

#[test]
fn a_file_that_changes_is_in_force_at_once_where_nothing_has_to_be_approved() {
    let flow = |word: &str| {
        format!(
            "flows:\n  - name: says\n    trigger: {{ pattern: \"a:b\" }}\n    actions: [{{ type: emit, event: \"said:{word}\" }}]\n"
        )
    };
    let service = start(&flow("old"));
    service.emit("a:b", &json!({}));
    assert_eq!(service.wait_for_event("said:*", 0).kind, "said:old");
    write_flows(service.folder.path(), "flows: [{ name: broken }]");
    let invalid = service.wait_for_event("flow:invalid", 0);
    assert_eq!(data(&invalid)["file"], "self-driving.yaml");
    let event = service.emit("a:b", &json!({}));
    assert_eq!(
        service.wait_for_event("said:*", event).kind,
        "said:old",
        "the last good one is in force"
    );
    write_flows(service.folder.path(), &flow("new"));
    // Until the change was noticed the old one runs.
    let word = until(|| {
        let event = service.emit("a:b", &json!({}));
        let word = service.wait_for_event("said:*", event).kind;
        if word == "said:old" { Err(word) } else { Ok(word) }
    });
    assert_eq!(word, "said:new");
}

#[test]
fn a_file_waits_for_approval_and_so_does_its_next_content() {
    let flow = |word: &str| {
        format!(
            "flows:\n  - {{ name: says, trigger: {{ pattern: \"a:b\" }}, actions: [{{ type: emit, event: \"said:{word}\" }}] }}\n"
        )
    };
    let state = TempDir::new().expect("a temporary folder");
    let state = state.path().join("waypost");
    let with = |options: &mut waypost_service::Options| {
        options.approval = Approval::In(state.clone());
    };
    let service = Service::start_in(project(&flow("one")), with);
    let needed = service.wait_for_event("flow:approval-needed", 0);
    assert_eq!(data(&needed)["file"], "self-driving.yaml");
    assert_eq!(service.get("/api/flows").json()["flows"], json!([]));
    assert_eq!(
        service.get("/api/memory/status").json()["pendingApproval"],
        json!(["self-driving.yaml"])
    );
    let resumed = service.post("/api/flows/says/resume", &json!({}));
    assert_eq!(resumed.problem(409), "flow says is pending approval");
    assert_eq!(resumed.json()["type"], "urn:waypost:problem:flow-pending");
    // Events in the meantime trigger nothing.
    service.emit("a:b", &json!({}));

    // As `ctl allow` does, in another process.
    let project = waypost_project::Project::at(service.folder.path()).expect("a project");
    let approvals = waypost_project::Approvals::new(&project, &state);
    let allow = |content: &str| {
        let file = ".waypost/flows/self-driving.yaml";
        approvals.allow(&[(file, content.as_bytes())]).expect("it can be kept");
    };
    let in_force = |service: &Service, count: usize| {
        until(|| {
            let found = service.get("/api/flows").json()["flows"].as_array().map(Vec::len);
            if found == Some(count) { Ok(()) } else { Err(format!("{found:?} of {count} flows")) }
        });
    };
    allow(&flow("one"));
    in_force(&service, 1);
    let event = service.emit("a:b", &json!({}));
    assert_eq!(service.wait_for_event("said:*", event).kind, "said:one");

    write_flows(service.folder.path(), &flow("two"));
    in_force(&service, 0);
    service.emit("a:b", &json!({}));
    let service = service.restart_with(with);
    in_force(&service, 0);
    service.emit("a:b", &json!({}));
    allow(&flow("two"));
    in_force(&service, 1);
    let last = service.emit("a:b", &json!({}));
    assert_eq!(service.wait_for_event("said:*", last).kind, "said:two");
    // Events from before the approval never start runs, not even later.
    let runs = service.get("/api/flows/runs").json();
    let mut runs: Vec<u64> =
        runs.as_array().expect("runs").iter().filter_map(|array| array["event"].as_u64()).collect();
    runs.sort_unstable();
    assert_eq!(runs, [event, last]);
}

#[test]
fn a_program_that_changes_after_its_approval_is_not_run() {
    let state = TempDir::new().expect("a temporary folder");
    let folder = project(
        "flows:\n  - { name: acts, trigger: { pattern: \"a:b\" }, actions: [{ type: command, command: \"sh tools/act.sh\" }] }\n",
    );
    let tools = folder.path().join("tools");
    fs::create_dir_all(&tools).expect("a folder");
    fs::write(tools.join("act.sh"), "echo good > done\n").expect("a file");
    let service = Service::start_in(folder, |options| {
        options.approval = Approval::In(state.path().join("waypost"));
    });
    let path = "/api/flows/files/self-driving.yaml";
    let texts = service.get(path).json();
    let program = &texts["programs"][0];
    assert_eq!(
        (&program["file"], &program["found"]),
        (&json!("tools/act.sh"), &json!("echo good > done\n"))
    );
    let allow = |programs: Value| {
        service
            .post(&format!("{path}/allow"), &json!({ "hash": texts["hash"], "programs": programs }))
    };
    allow(json!({})).problem(409);
    allow(json!({ "tools/act.sh": texts["hash"] })).problem(409);
    let allowed = allow(json!({ "tools/act.sh": program["hash"] })).json();
    assert_eq!(allowed["inForce"], texts["hash"], "{allowed}");
    let event = service.emit("a:b", &json!({}));
    assert_eq!(service.wait_for_event("flow:*", event).kind, "flow:succeeded");

    fs::write(tools.join("act.sh"), "echo evil > done\n").expect("a file");
    service.emit("a:b", &json!({}));
    until(|| {
        let flows = service.get("/api/flows").json();
        if flows["files"][0]["pending"] == json!(["tools/act.sh"]) { Ok(()) } else { Err(flows) }
    });
    let done = fs::read_to_string(service.folder.path().join("done")).expect("a file");
    assert_eq!(done, "good\n");
}

/// A flow whose program prints its token and waits until the test releases it.
pub(crate) const HOLDS: &str = r#"
flows:
  - name: holds
    trigger: { pattern: "a:b" }
    actions:
      - type: command
        command: |
          printf '%s' "$WAYPOST_TOKEN" > token.new && mv token.new token
          while [ ! -e go ]; do sleep 0.02; done
"#;

pub(crate) fn wait_for(path: &Path) -> String {
    until(|| fs::read_to_string(path))
}

#[test]
fn a_run_has_its_own_token_that_ends_with_it() {
    let service = start(HOLDS);
    let event = service.emit("a:b", &json!({}));
    let token = wait_for(&service.folder.path().join("token"));
    assert!(token.starts_with("wpr_") && token.len() == 47, "{token}");
    let body = json!({"type": "a:b", "data": {}}).to_string();
    let emit = || service.send("POST", "/api/events", &token, body.as_bytes());
    let published = emit();
    assert_eq!(published.status, 201, "{}", published.text());
    let published = published.json();
    assert_eq!(published["source"], "flow holds");
    assert_eq!((&published["root"], &published["cause"]), (&json!(event), &json!("holds.1")));
    assert_eq!(service.send("GET", "/api/memory", &token, b"").status, 200);
    for path in ["/api/tokens", "/metrics"] {
        let answer =
            send(service.address, "GET", path, &token, &[("forwarded", "for=1.2.3.4")], b"");
        assert!([200, 403].contains(&answer.status), "{}", answer.text());
    }
    assert_eq!(service.send("GET", "/api/tokens", &token, b"").status, 403);
    fs::write(service.folder.path().join("go"), "").expect("a file");
    assert_eq!(data(&service.wait_for_event("flow:*", 0))["run"], "holds.1");
    assert_eq!(emit().status, 401, "the run has ended");
    let last = service.emit("c:d", &json!({}));
    let events = service.get("/api/events?pattern=flow:*").json();
    assert_eq!(events.as_array().map(Vec::len), Some(1), "it does not start itself: {events}");
    assert!(last > event);
}

#[test]
fn what_a_stop_cuts_off_is_done_again() {
    let folder = project(HOLDS);
    let program = Program::start(folder.path());
    program.send("POST", "/api/events", br#"{"type":"a:b","data":{}}"#);
    wait_for(&folder.path().join("token"));
    program.signal("TERM");
    let (status, log) = program.end();
    assert!(status.success(), "{log}");
    fs::write(folder.path().join("go"), "").expect("a file");
    let service = Service::start_in(folder, |_| {});
    assert_eq!(data(&service.wait_for_event("flow:*", 0))["run"], "holds.1");
}

#[test]
fn a_program_that_does_not_end_is_killed_when_the_service_stops() {
    let service = start(
        "flows:\n  - { name: deaf, trigger: { pattern: \"a:b\" }, actions: [{ type: command, on_interrupt: fail, command: \"trap '' TERM; echo $$ > pid.new; mv pid.new pid; while :; do sleep 0.05; done\" }] }\n",
    );
    service.emit("a:b", &json!({}));
    let pid = wait_for(&service.folder.path().join("pid"));
    let process = Path::new("/proc").join(pid.trim());
    assert!(process.exists());
    let service = service.restart();
    assert!(!process.exists(), "it is there no more when the service has stopped");
    let ended = service.wait_for_event("flow:*", 0);
    assert_eq!((ended.kind.as_str(), &data(&ended)["run"]), ("flow:failed", &json!("deaf.1")));
}
