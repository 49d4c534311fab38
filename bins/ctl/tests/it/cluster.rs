//! Services on several machines with one store, over a real PostgreSQL.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use waypost_api::client::Client;
use waypost_api::{AddRequest, routes};
use waypost_auth::TokenStore;
use waypost_cluster::Member;
use waypost_journal::{Journal, MachineId, MachineReport, Outcome, Record, Until};
use waypost_project::Model;
use waypost_service::{Options, Running};

use crate::child::end_of;
use crate::ctl::{Ran, ran, trusting};
use crate::server::Server;
use crate::wait::until;

const FLOWS: &str = r#"
flows:
  - name: notes
    trigger: { pattern: "work:*" }
    actions:
      - type: command
        command: "echo {{data.n}} >> ran.txt"
"#;

/// A project folder with a service that is started and stopped.
struct Machine {
    folder: TempDir,
    running: Option<Running>,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let flows = folder.path().join(".waypost/flows");
        fs::create_dir_all(&flows).expect("a folder");
        fs::write(flows.join("self-driving.yaml"), FLOWS).expect("a file");
        Self { folder, running: None }
    }

    fn start(&mut self) {
        self.start_with(|_| {});
    }

    fn start_with(&mut self, change: impl FnOnce(&mut Options)) {
        let mut options = Options::for_project(self.path()).expect("options");
        change(&mut options);
        self.running = Some(waypost_service::start(&options).expect("the service starts"));
    }

    fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.shutdown().expect("the service stops");
        }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn url(&self) -> String {
        format!("http://{}", self.running.as_ref().expect("it runs").address())
    }

    /// Runs `ctl` beside the service.
    fn ctl(&self, arguments: &[&str]) -> Ran {
        let url = self.url();
        let arguments = [&["--url", &url][..], arguments].concat();
        ran(trusting(self.path(), &arguments).output().expect("the program starts"))
    }

    /// Runs `ctl` while no service runs.
    fn at_rest(&self, arguments: &[&str]) -> Ran {
        ran(trusting(self.path(), arguments).output().expect("the program starts"))
    }

    /// Runs a command that fails with this message, without a service.
    #[track_caller]
    fn refuses(&self, arguments: &[&str], expected: &str) {
        let refused = self.at_rest(arguments);
        assert!(refused.code == 1 && refused.err.contains(expected), "{refused:?}");
    }

    fn client(&self) -> Client {
        let token = fs::read_to_string(self.path().join(".waypost/token")).expect("a token");
        Client::new(&self.url(), Some(token.trim())).expect("an address")
    }

    fn add(&self, content: &str) -> u64 {
        let request = AddRequest { content: content.into(), ..AddRequest::default() };
        self.client()
            .store(&routes::ADD_MEMORY, &request)
            .expect("it is added")
            .into_inner()
            .memory
            .id
            .get()
    }

    /// Adds this many memories at once.
    fn add_many(&self, name: &str, count: usize) {
        self.add_file(name, count).done();
    }

    fn add_file(&self, name: &str, count: usize) -> Ran {
        let line = |it| serde_json::json!({ "content": format!("{name} {it}") }).to_string();
        let lines: Vec<String> = (0..count).map(line).collect();
        let file = self.path().join("many.ndjson");
        fs::write(&file, lines.join("\n")).expect("a file");
        self.ctl(&["batch", file.to_str().expect("a path")])
    }

    fn ran(&self) -> String {
        fs::read_to_string(self.path().join("ran.txt")).unwrap_or_default()
    }
}

/// The first machine of a cluster, with a service that runs.
fn first(server: &Server) -> Machine {
    let mut machine = Machine::new();
    machine.start();
    machine.add("The lighthouse keeper retires in spring.");
    machine.stop();
    machine.at_rest(&["cluster", "init", &server.url()]).done();
    machine.start();
    machine
}

/// One more machine.
fn joined(server: &Server) -> Machine {
    let mut machine = Machine::new();
    machine.at_rest(&["cluster", "join", &server.url()]).done();
    machine.start();
    machine
}

/// Two machines, and a token that both know.
fn pair(server: &Server) -> (Machine, Machine, String) {
    let (a, b) = (first(server), joined(server));
    let id = token(&a);
    settled(&[&a, &b]);
    (a, b, id)
}

/// Three machines, and a token that all know. The third one is stopped.
fn trio(server: &Server) -> (Machine, Machine, Machine, String) {
    let (a, b, mut c) = (first(server), joined(server), joined(server));
    let id = token(&a);
    settled(&[&a, &b, &c]);
    c.stop();
    (a, b, c, id)
}

/// Whether the token is in the machine's list, and revoked. No service runs.
fn is_revoked(machine: &Machine, id: &str) -> bool {
    let listed = machine.at_rest(&["--json", "token", "list"]).json();
    let found = listed.as_array().and_then(|array| array.iter().find(|value| value["id"] == *id));
    found.is_some_and(|found| !found["revokedAt"].is_null())
}

/// Creates a token that reads memories, and returns its id.
fn token(machine: &Machine) -> String {
    let created = machine.ctl(&["--json", "token", "create", "--scope", "memory:read"]).json();
    created["info"]["id"].as_str().expect("an id").to_owned()
}

/// Waits until all machines have the same export, and returns it.
fn settled(machines: &[&Machine]) -> String {
    until(|| {
        let exports: Vec<String> =
            machines.iter().map(|machine| machine.ctl(&["export"]).done()).collect();
        let first = exports[0].clone();
        exports.iter().all(|export| *export == first).then_some(first).ok_or("the exports differ")
    })
}

fn long() -> Until {
    Until::within(Duration::from_secs(60))
}

/// Where the journal ends.
fn records(machine: &Machine) -> u64 {
    status(machine)["records"].as_u64().expect("a number")
}

fn member_file(machine: &Machine) -> PathBuf {
    machine.path().join(".waypost/data/cluster-member")
}

fn status(machine: &Machine) -> Value {
    machine.at_rest(&["--json", "cluster", "status"]).json()
}

#[test]
fn machines_share_memories_events_and_tokens() {
    let Some(server) = Server::start() else { return };
    let (a, mut b) = (first(&server), joined(&server));
    assert_eq!(b.add("Deployments need two approvals."), 2, "ids go on");
    let found = until(|| {
        let found = a.ctl(&["--json", "search", "approvals"]).json();
        (found[0]["id"] == 2).then_some(found).ok_or("not found yet")
    });
    assert_eq!(found[0]["content"], "Deployments need two approvals.");
    let created = a.ctl(&["--json", "token", "create", "--scope", "memory:read"]).json();
    let token = created["token"].as_str().expect("a token").to_owned();
    let other = Client::new(&b.url(), Some(&token)).expect("an address");
    until(|| other.call(&routes::GET_MEMORY.at(1), ()));
    a.ctl(&["token", "revoke", created["info"]["id"].as_str().expect("an id")]).done();
    until(|| {
        other
            .call(&routes::GET_MEMORY.at(1), ())
            .is_err()
            .then_some(())
            .ok_or("the token still works")
    });
    b.ctl(&["emit", "note:made", "--data", "n=1", "--idempotency-key", "k"]).done();
    until(|| {
        let again =
            a.ctl(&["--json", "emit", "note:made", "--data", "n=1", "--idempotency-key", "k"]);
        (again.json()["duplicate"] == true).then_some(()).ok_or("a does not know the key")
    });
    settled(&[&a, &b]);
    let status = status(&a);
    assert_eq!(status["machines"].as_array().expect("machines").len(), 2, "{status}");
    assert_eq!(status["database"]["isSynchronous"], false);
    // The copy of a machine that leaves goes on alone.
    b.stop();
    b.at_rest(&["cluster", "leave", "--yes"]).done();
    b.start();
    assert_eq!(b.add("only here"), 3);
    assert_eq!(a.add("only there"), 3);
}

#[test]
fn one_machine_runs_the_flows_and_another_one_takes_over() {
    let Some(server) = Server::start() else { return };
    let (mut a, b) = (first(&server), joined(&server));
    a.ctl(&["emit", "work:done", "--data", "n=1"]).done();
    b.ctl(&["emit", "work:done", "--data", "n=2"]).done();
    until(|| (a.ran() == "1\n2\n").then_some(()).ok_or_else(|| a.ran()));
    assert_eq!(b.ran(), "");
    let runs = until(|| {
        let runs = b.ctl(&["--json", "flows", "runs"]).json();
        (runs.as_array().expect("runs").len() == 2).then_some(runs).ok_or("runs are missing")
    });
    assert_eq!(runs[0]["flow"], "notes");
    let elsewhere = b.ctl(&["flows", "pause", "notes"]);
    assert_eq!(elsewhere.code, 1, "{elsewhere:?}");
    assert!(elsewhere.err.contains("of the cluster runs the flows"), "{elsewhere:?}");
    let differing = |wanted: bool| {
        until(|| {
            let shown = a.at_rest(&["cluster", "status"]).done();
            (shown.contains("differ on") == wanted).then_some(shown.clone()).ok_or(shown)
        })
    };
    differing(false);
    assert_eq!(status(&a)["machines"][1]["hasFlowsOfLeader"], true);
    let file = b.path().join(".waypost/flows/self-driving.yaml");
    let other = FLOWS.replace("name: notes", "name: other-notes");
    assert_ne!(other, FLOWS);
    fs::write(&file, other).expect("a file");
    assert!(differing(true).contains("which would run other ones"));
    assert_eq!(status(&a)["machines"][1]["hasFlowsOfLeader"], false);
    fs::write(&file, FLOWS).expect("a file");
    differing(false);
    a.stop();
    b.ctl(&["emit", "work:done", "--data", "n=3"]).done();
    until(|| (b.ran() == "3\n").then_some(()).ok_or_else(|| b.ran()));
    a.start();
    settled(&[&a, &b]);
    assert_eq!(a.ran(), "1\n2\n");
}

#[test]
fn a_client_reads_its_own_writes_on_any_machine() {
    use std::io::{Read as _, Write as _};

    let Some(server) = Server::start() else { return };
    let (a, b) = (first(&server), joined(&server));
    let token = |machine: &Machine| {
        fs::read_to_string(machine.path().join(".waypost/token")).expect("a token")
    };
    let call = |machine: &Machine, method: &str, path: &str, body: &str, header: &str| {
        let url = machine.url();
        let host = url.trim_start_matches("http://");
        let mut stream = std::net::TcpStream::connect(host).expect("a connection");
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\n{header}\r\n{body}",
            token(machine).trim(),
            body.len()
        )
        .expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    };
    assert!(!call(&a, "GET", "/healthz", "", "").to_lowercase().contains("waypost-position"));
    let position = |answer: &str| {
        let line = answer.lines().find_map(|line| line.strip_prefix("waypost-position: "));
        line.expect("a position").to_owned()
    };
    for number in 0..20 {
        let body = format!("{{\"content\":\"note {number}\"}}");
        let added = call(&a, "POST", "/api/memory/add", &body, "");
        assert!(added.starts_with("HTTP/1.1 201"), "{added}");
        let header = format!("Waypost-Min-Position: {}\r\n", position(&added));
        let id = number + 2;
        let read = call(&b, "GET", &format!("/api/memory/{id}"), "", &header);
        assert!(read.starts_with("HTTP/1.1 200"), "{read}");
    }
    // `ctl` does so by itself, also from one process to the next: the first one is told what no
    // machine has yet.
    a.ctl(&["add", "A note of ctl."]).done();
    let state = |machine: &Machine| machine.path().join(".local/state/waypost/positions");
    let remembered = fs::read_to_string(state(&a)).expect("a file");
    let (before, seq) = remembered.trim().rsplit_once(':').expect("a sequence");
    let (seconds, journal) = before.split_once(' ').expect("a time");
    let ahead = seq.parse::<u64>().expect("a number") + 100_000;
    b.ctl(&["get", "1"]).done();
    fs::write(state(&b), format!("{seconds} {journal}:{ahead}\n")).expect("a file");
    let asked = std::time::Instant::now();
    b.ctl(&["get", "1"]).done();
    assert!(asked.elapsed() >= Duration::from_secs(5), "it waits, and then shows what it has");
    // What is older than some minutes is forgotten.
    fs::write(state(&b), format!("1234567890 {journal}:{ahead}\n")).expect("a file");
    b.ctl(&["get", "1"]).done();
    let position = position(&call(&a, "GET", "/api/memory/1", "", ""));
    let (store, rest) = position.split_once(':').expect("a store");
    let other = format!(
        "Waypost-Min-Position: {}:{rest}\r\n",
        store.replace(|it: char| it.is_ascii_digit(), "0")
    );
    assert!(call(&b, "GET", "/api/memory/1", "", &other).starts_with("HTTP/1.1 409"));
    let far = format!("Waypost-Min-Position: {store}:1:999999\r\n");
    let late = call(&b, "GET", "/api/memory/1", "", &far);
    assert!(late.starts_with("HTTP/1.1 503") && late.contains("retry-after"), "{late}");
    let wrong = call(&b, "GET", "/api/memory/1", "", "Waypost-Min-Position: soon\r\n");
    assert!(wrong.starts_with("HTTP/1.1 400"), "{wrong}");
    let mut alone = Machine::new();
    alone.start();
    let answer = call(&alone, "GET", "/api/memory/status", "", &far);
    assert!(answer.starts_with("HTTP/1.1 409") && !answer.contains("waypost-position"), "{answer}");
}

/// The response to a batch begins before its writes.
#[test]
fn a_client_reads_its_batch_on_another_machine() {
    let Some(server) = Server::start() else { return };
    let (a, b) = (first(&server), joined(&server));
    let client = a.client();
    let lines: Vec<String> = (0..300)
        .map(|number| serde_json::json!({ "content": format!("line {number}") }).to_string())
        .collect();
    let stored = client.batch(lines.join("\n").as_bytes()).expect("they are added");
    let last = stored.last().and_then(|stored| stored.id).expect("an id");
    let position = client.position().expect("a position");
    let reader = b.client().remembering([position]);
    assert_eq!(reader.call(&routes::GET_MEMORY.at(last), ()).expect("it is there").id.get(), last);
}

#[test]
fn a_vector_is_computed_once_and_used_by_all_machines_until_its_text_is_purged() {
    let Some(server) = Server::start() else { return };
    let model = tempfile::tempdir().expect("a folder");
    crate::tiny::write(model.path(), &crate::tiny::files(1));
    let with_model =
        |options: &mut Options| options.model.model = Model::Folder(model.path().to_owned());
    let mut a = first(&server);
    let mut b = joined(&server);
    b.stop();
    b.start_with(with_model);
    b.add("Deployments need two approvals.");
    until(|| {
        let count = server.sql("SELECT count(*) FROM waypost.vector WHERE vector IS NOT NULL");
        (count.trim() == "2").then_some(()).ok_or(count)
    });
    // As if another machine had computed them otherwise: they are not computed again.
    server.sql("UPDATE waypost.vector SET vector = (SELECT vector FROM waypost.vector ORDER BY text LIMIT 1)");
    a.stop();
    a.start_with(with_model);
    let scores = |machine: &Machine| {
        let status = until(|| {
            let status = machine.client().call(&routes::MEMORY_STATUS, ()).expect("a status");
            let is_ready = status.pending_embeddings == 0 && status.embedded == 2;
            is_ready.then_some(status).ok_or("not embedded")
        });
        assert_eq!(status.embedded, 2);
        let found = machine.ctl(&["--json", "search", "--mode", "semantic", "two approvals"]);
        let found = found.json();
        assert_eq!(found.as_array().expect("hits").len(), 2, "{found}");
        (found[0]["score"].clone(), found[1]["score"].clone())
    };
    let (of_a, of_b) = (scores(&a), scores(&b));
    assert_eq!(of_a.0, of_a.1, "a has the vectors of the database");
    assert_ne!(of_b.0, of_b.1, "b has those that it has computed");

    // A machine without a model searches by these vectors, too, if another one embeds its queries.
    let mut c = joined(&server);
    let lexical = c.ctl(&["search", "--mode", "semantic", "two approvals"]);
    assert_eq!(lexical.code, 1, "{lexical:?}");
    c.stop();
    c.start_with(|c| c.cluster.peer_embedding = true);
    until(|| {
        let status =
            c.client().call(&routes::MEMORY_STATUS, ()).map_err(|error| error.to_string())?;
        (status.embedded == 2).then_some(()).ok_or_else(|| format!("{status:?}"))
    });
    // A search that no machine answers in time is lexical.
    let of_c = until(|| {
        let found: Ran = c.ctl(&["--json", "search", "--mode", "semantic", "two approvals"]);
        if found.code == 0 { Ok(found.json()) } else { Err(found.err) }
    });
    let of_a = a.ctl(&["--json", "search", "--mode", "semantic", "two approvals"]).json();
    let hits = |found: &Value| -> Vec<(Value, Value)> {
        let hits = found.as_array().expect("hits");
        hits.iter().map(|hit| (hit["id"].clone(), hit["score"].clone())).collect()
    };
    assert_eq!(hits(&of_c), hits(&of_a), "the same model, and the same vectors");
    let asked = server.sql("SELECT count(*) FROM waypost.question");
    assert_eq!(asked.trim(), "0", "no query stays in the database");

    until(|| {
        let listed = b.ctl(&["--json", "events", "list", "--pattern", "memory:added"]).done();
        listed.contains("approvals").then_some(()).ok_or(listed)
    });
    a.ctl(&["delete", "2", "--purge"]).done();
    until(|| {
        let status = status(&a);
        let is_complete = status["purge"].is_null()
            && server.sql("SELECT count(*) FROM waypost.vector").trim() == "0";
        is_complete.then_some(()).ok_or(status)
    });
    for (table, column) in [("journal", "payload"), ("snapshot_chunk", "bytes")] {
        let count = server.sql(&format!(
            "SELECT count(*) FROM waypost.{table} WHERE position('approvals'::bytea IN {column}) > 0"
        ));
        assert_eq!(count.trim(), "0", "{table}");
    }
    settled(&[&a, &b, &c, &joined(&server)]);
    for machine in [&a, &b, &c] {
        // Also of the titles in events.
        let listed = machine.ctl(&["--json", "events", "list", "--pattern", "memory:added"]).done();
        assert!(!listed.contains("approvals"), "{listed}");
    }
}

#[test]
fn a_machine_that_was_forgotten_takes_no_part_and_another_one_leads() {
    let Some(server) = Server::start() else { return };
    let (a, b) = (first(&server), joined(&server));
    let ids: Vec<String> = status(&a)["machines"]
        .as_array()
        .expect("machines")
        .iter()
        .map(|array| array["id"].as_str().expect("an id").to_owned())
        .collect();
    // Both have the name of this host, so the table has their ids.
    let table = b.at_rest(&["cluster", "status"]).done();
    assert!(ids.iter().all(|it| table.contains(&format!("({it})"))), "{table}");
    b.at_rest(&["cluster", "forget", &ids[0], "--although-running"]).done();
    until(|| {
        let refused = a.ctl(&["add", "from a machine that was forgotten"]);
        let is_out = refused.code == 1 && refused.err.contains("must join");
        is_out.then_some(()).ok_or(refused.err)
    });
    b.ctl(&["emit", "work:done", "--data", "n=1"]).done();
    until(|| (b.ran() == "1\n").then_some(()).ok_or_else(|| b.ran()));
    assert_eq!(a.ran(), "");
    let doctor = |machine: &Machine| {
        let found = machine.ctl(&["--json", "doctor"]);
        let found: Value = serde_json::from_str(&found.out).expect("findings");
        let of_database = found.as_array().expect("a list").iter();
        let mut of_database = of_database.filter(|database| database["part"] == "database");
        of_database.next().expect("a finding").clone()
    };
    assert_eq!(doctor(&b)["verdict"], "ok");
    assert_eq!(doctor(&a)["verdict"], "fault");
}

#[test]
fn the_copy_of_a_machine_takes_no_part_while_the_machine_does() {
    let Some(server) = Server::start() else { return };
    let mut a = first(&server);
    a.stop();
    let mut copy = Machine::new();
    let copied = ["-r", ".waypost/."].map(String::from);
    let to = copy.path().join(".waypost").display().to_string();
    let copied = Command::new("cp").current_dir(a.path()).args(copied).arg(to).status();
    assert!(copied.expect("cp starts").success());
    a.start();
    until(|| {
        let shown = status(&a);
        let has_reported = shown["machines"][0]["hasFlowsOfLeader"] == true;
        has_reported.then_some(()).ok_or(shown)
    });
    copy.start();
    until(|| {
        let refused = copy.ctl(&["add", "from a copy"]);
        let is_out = refused.code == 1 && refused.err.contains("takes no writes");
        is_out.then_some(()).ok_or(refused.err)
    });
    let found = copy.ctl(&["doctor"]);
    assert!(found.out.contains("is a copy of the other"), "{found:?}");
    // One that leaves keeps the machine in the cluster.
    copy.stop();
    let left = copy.at_rest(&["cluster", "leave", "--yes"]);
    assert!(left.code == 0 && left.err.contains("stays in the cluster"), "{left:?}");
    a.ctl(&["add", "from the machine itself"]).done();
    assert!(!a.ctl(&["cluster", "status"]).done().contains("fault"));
}

/// The machine was cut off while the copy started: its service finds the reports of the other one.
#[test]
fn a_machine_that_a_copy_has_replaced_takes_no_part() {
    let Some(server) = Server::start() else { return };
    let a = first(&server);
    let id = status(&a)["machines"][0]["id"].as_str().expect("an id").to_owned();
    let report = format!("UPDATE waypost.machine SET counter = counter + 1 WHERE id = '{id}'");
    until(|| {
        server.sql(&report);
        let found = a.ctl(&["doctor"]);
        let is_out = found.out.contains("is a copy of the other");
        is_out.then_some(()).ok_or(format!("{found:?}"))
    });
    let refused = a.ctl(&["add", "from the machine that was replaced"]);
    assert!(refused.code == 1 && refused.err.contains("takes no writes"), "{refused:?}");
}

#[test]
fn a_token_that_is_revoked_while_its_request_waits_changes_nothing() {
    let Some(server) = Server::start() else { return };
    let (a, b) = (first(&server), joined(&server));
    let created =
        a.ctl(&["--json", "token", "create", "--scope", "memory:read,memory:write"]).json();
    let token = created["token"].as_str().expect("a token").to_owned();
    // A machine that has just started does not know yet which tokens are valid.
    let client = Client::new(&a.url(), Some(&token)).expect("an address");
    until(|| {
        client.call(&routes::GET_MEMORY.at(1), ()).map(drop).map_err(|error| error.to_string())
    });
    let end = a.client();
    end.call(&routes::GET_MEMORY.at(1), ()).expect("it is there");
    let mut ahead = end.position().expect("a position");
    // The revocation is nearer, also if events of the machines' starts come before it.
    ahead.seq += 20;
    let waiting = Client::new(&a.url(), Some(&token)).expect("an address").after(ahead);
    let request = AddRequest { content: "by a revoked token".into(), ..AddRequest::default() };
    let adding = std::thread::spawn(move || waiting.store(&routes::ADD_MEMORY, &request).map(drop));
    until(|| {
        let metrics = a.client().metrics().map_err(|error| error.to_string())?;
        // The other one is this request.
        let is_waiting = metrics.contains("waypost_http_requests_in_flight 2");
        is_waiting.then_some(()).ok_or_else(|| "it does not wait".to_owned())
    });
    b.ctl(&["token", "revoke", created["info"]["id"].as_str().expect("an id")]).done();
    b.add_many("after the revocation", 20);
    adding.join().expect("it ends").expect_err("the token was revoked");
    assert!(!settled(&[&a, &b]).contains("by a revoked token"));
}

#[test]
fn the_journal_is_trimmed_below_a_snapshot_and_a_machine_that_was_forgotten_joins_again() {
    let Some(server) = Server::start() else { return };
    let mut a = first(&server);
    a.stop();
    a.start_with(|it| it.snapshot_records = 500);
    let mut gone = joined(&server);
    gone.stop();
    let name = status(&a)["machines"][1]["id"].as_str().expect("an id").to_owned();
    a.add_many("before", 1_200);
    until(|| {
        let status = status(&a);
        let has_snapshot = status["snapshots"][0]["position"].as_u64() > Some(1_000);
        has_snapshot.then_some(()).ok_or(status)
    });
    let rows = server.sql("SELECT min(seq) FROM waypost.journal");
    assert_eq!(rows.trim(), "1", "a machine that is away still needs the journal");
    a.at_rest(&["cluster", "forget", &name, "--although-running"]).done();
    until(|| {
        let first = server.sql("SELECT coalesce(min(seq), 9999) FROM waypost.journal");
        (first.trim() != "1").then_some(()).ok_or(first)
    });
    gone.start();
    let refused = gone.ctl(&["add", "from the past"]);
    assert!(refused.code == 1 && refused.err.contains("join"), "{refused:?}");
    settled(&[&a, &joined(&server)]);
}

#[test]
fn digests_are_compared_when_all_machines_have_the_release_for_it() {
    let Some(server) = Server::start() else { return };
    let a = first(&server);
    let b = joined(&server);
    let store = status(&a)["store"].as_str().expect("a store").to_owned();
    let stores = Journal::stores(&server.settings(), &long()).expect("stores");
    let store = stores.iter().find(|other| other.0.to_string() == store).expect("the store").0;
    let journal = Journal::open(server.settings(), store, &long()).expect("a journal");
    // A machine with the release before.
    let old = MachineReport {
        id: MachineId([7; 16]),
        name: "old".to_owned(),
        release: "0.1.0".to_owned(),
        feature: 1,
        seq: 0,
        purged: 0,
        removed: 0,
        base: 0,
        flows: None,
        fault: None,
    };
    journal.joined(&old, &long()).expect("it joins");
    a.add_many("memory", 10_000);
    let digests = || {
        let count = server.sql("SELECT count(*) FROM waypost.journal WHERE part = 4 AND kind = 3");
        count.trim().parse::<u32>().expect("a number")
    };
    until(|| {
        (b.client().call(&routes::GET_MEMORY.at(10_000), ()).is_ok())
            .then_some(())
            .ok_or("b is behind")
    });
    assert_eq!((digests(), status(&a)["feature"].as_u64()), (0, Some(1)));
    journal.report(&MachineReport { feature: 2, ..old }, &long()).expect("it was upgraded");
    until(|| (digests() == 1).then_some(()).ok_or("no digest"));
    assert_eq!(status(&a)["feature"], 2);
    settled(&[&a, &b]);

    // As if the leader had another state: machines rebuild theirs, and then stop.
    let memories = || {
        let last = server.sql("SELECT max(place) FROM waypost.journal WHERE part = 1");
        last.trim().parse::<u64>().expect("a number")
    };
    let tell = |position: u64| {
        let place = server.sql("SELECT max(place) + 1 FROM waypost.journal WHERE part = 4");
        let place = place.trim().parse().expect("a number");
        let payload = [&position.to_le_bytes()[..], &[7; 32]].concat();
        let wrong = || Record { part: 4, place, kind: 3, version: 1, payload: payload.clone() };
        until(|| {
            let head = journal.head(&long()).map_err(|error| error.to_string())?;
            match journal.append(head.position, &[wrong()], None, &long()) {
                Ok(Outcome::Appended(_)) => Ok(()),
                other => Err(format!("{other:?}")),
            }
        });
    };
    tell(memories() / 10_000 * 10_000);
    for machine in [&a, &b] {
        let aside = machine.path().join(".waypost/data/memory/state.aside");
        until(|| aside.exists().then_some(()).ok_or("not rebuilt"));
    }
    settled(&[&a, &b]);
    tell((memories() / 10_000 + 1) * 10_000);
    // What comes after the digest is refused.
    drop(b.add_file("more", 10_000));
    for machine in [&a, &b] {
        until(|| {
            let refused = machine.ctl(&["add", "not any more"]);
            let has_stopped = refused.code == 1 && refused.err.contains("must join");
            has_stopped.then_some(()).ok_or(refused.err)
        });
    }
}

#[test]
fn without_the_database_reads_continue_and_writes_are_refused() {
    let Some(mut server) = Server::start() else { return };
    let mut a = first(&server);
    server.kill(true);
    let found = a.ctl(&["--json", "search", "lighthouse"]).json();
    assert_eq!(found[0]["id"], 1);
    let refused = a.ctl(&["add", "not now"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.err.contains("takes no writes"), "{refused:?}");
    // It also stops and starts without it; until it knows which tokens were revoked, only its own works.
    a.stop();
    a.start();
    assert_eq!(a.ctl(&["--json", "search", "lighthouse"]).json()[0]["id"], 1);
    server.run();
    until(|| {
        let ran = a.ctl(&["add", "now again"]);
        (ran.code == 0).then_some(()).ok_or(ran.err)
    });
}

#[test]
fn a_database_that_lost_records_stops_writes_until_the_loss_is_accepted() {
    let Some(server) = Server::start() else { return };
    let mut a = first(&server);
    a.add("kept by the database");
    let mut away = joined(&server);
    away.stop();
    a.add("lost by the database");
    a.stop();
    let refused = a.at_rest(&["cluster", "accept-loss", "--yes"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.err.contains("nothing is lost"), "{refused:?}");
    a.start();
    server.sql("DELETE FROM waypost.journal WHERE seq = (SELECT seq FROM waypost.head)");
    server.sql(
        "UPDATE waypost.head SET seq = seq - 1, hash = (SELECT j.hash FROM waypost.journal j WHERE j.seq = head.seq - 1)",
    );
    let refused = a.ctl(&["add", "one more"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    a.stop();
    let old = status(&a)["store"].clone();
    // The data folder decides how far this machine is: its report may be older, as after a restored
    // backup, or show that the folder is an older copy.
    let id = status(&a)["machines"][0]["id"].as_str().expect("an id").to_owned();
    let set =
        |what: &str| server.sql(&format!("UPDATE waypost.machine SET {what} WHERE id = '{id}'"));
    set("base = base + 1000");
    a.refuses(&["cluster", "accept-loss", "--yes"], "an older copy");
    set("base = 0, seq = 0");
    a.at_rest(&["cluster", "accept-loss", "--yes"]).done();
    a.start();
    assert_ne!(status(&a)["store"], old);
    // A machine that was away cannot write to the former store.
    away.start();
    let refused = away.ctl(&["add", "into the former store"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    // Memories 1 to 3, and notes about them: no id is used again.
    assert_eq!(a.add("one more"), 4);
    let listed = a.ctl(&["export"]).done();
    assert!(listed.contains("lost by the database"), "{listed}");
    let mut b = Machine::new();
    let old = old.as_str().expect("a store");
    let closed = b.at_rest(&["cluster", "join", &server.url(), "--store", old]);
    assert!(closed.code == 1 && closed.err.contains("is closed"), "{closed:?}");
    b.at_rest(&["cluster", "join", &server.url()]).done();
    b.start();
    settled(&[&a, &b]);
}

/// Lets the database lose everything after this record.
fn lose_after(server: &Server, seq: u64) {
    server.sql(&format!("DELETE FROM waypost.journal WHERE seq > {seq}"));
    server.sql(&format!(
        "UPDATE waypost.head SET seq = {seq}, hash = (SELECT hash FROM waypost.journal WHERE seq = {seq})"
    ));
}

fn takes_no_part(machine: &Machine) {
    until(|| {
        let shown = machine.at_rest(&["cluster", "status"]).done();
        shown.contains("fault      ").then_some(()).ok_or(shown)
    });
    let token = ["token", "create", "--scope", "events:read"];
    for command in [&["add", "to a lost journal"][..], &["emit", "work:done"], &token] {
        let refused = machine.ctl(command);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.err.contains("ctl cluster status"), "{refused:?}");
    }
}

#[test]
fn a_machine_that_crashed_with_records_that_the_database_lost_takes_no_part() {
    for has_others in [false, true] {
        let Some(server) = Server::start() else { return };
        let (mut a, mut b) = (first(&server), joined(&server));
        a.add("kept by the database");
        settled(&[&a, &b]);
        b.stop();
        let member = member_file(&a);
        let before = fs::read(&member).expect("a file");
        let kept = records(&a);
        a.add("lost by the database");
        a.stop();
        // As after a crash: where it was is not in the file.
        fs::write(&member, before).expect("a file");
        lose_after(&server, kept);
        if has_others {
            b.start();
            b.add_many("after the loss", 10);
        }
        a.start();
        takes_no_part(&a);
        if !has_others {
            b.start();
        }
        b.add("the others go on");
        b.ctl(&["emit", "work:done", "--data", "n=1"]).done();
        until(|| (b.ran() == "1\n").then_some(()).ok_or_else(|| b.ran()));
        let ahead = b.client();
        ahead.call(&routes::GET_MEMORY.at(1), ()).expect("it is there");
        let ahead = ahead.position().expect("a position");
        let behind = a.client().after(ahead);
        behind.call(&routes::GET_MEMORY.at(1), ()).expect_err("it has another history");
        a.stop();
        // It is for a person to decide which history continues.
        a.at_rest(&["cluster", "accept-loss", "--yes", "--although-behind"]).done();
    }
}

#[test]
fn a_database_that_lost_the_revocation_of_a_token_is_noticed_after_a_crash() {
    let Some(server) = Server::start() else { return };
    let mut a = first(&server);
    a.add("kept by the database");
    let created = a.ctl(&["--json", "token", "create", "--scope", "memory:read"]).json();
    let kept = records(&a);
    let member = member_file(&a);
    a.ctl(&["token", "revoke", created["info"]["id"].as_str().expect("an id")]).done();
    let noted = until(|| {
        let noted = fs::read(&member).expect("a file");
        let base =
            Member::read(&a.path().join(".waypost/data")).expect("a file").expect("a member");
        (base.base.position.seq > kept).then_some(noted).ok_or("the base is older")
    });
    a.stop();
    fs::write(&member, noted).expect("a file");
    lose_after(&server, kept);
    a.start();
    takes_no_part(&a);
}

/// Without the end of the journal, it cannot know what was revoked.
#[test]
fn a_machine_that_cannot_read_the_journal_accepts_no_shared_token_after_a_restart() {
    let Some(server) = Server::start() else { return };
    let a = first(&server);
    let created = a.ctl(&["--json", "token", "create", "--scope", "memory:read"]).done();
    let created: Value = serde_json::from_str(&created).expect("JSON");
    let id = created["info"]["id"].as_str().expect("an id");
    let secret = created["token"].as_str().expect("a secret");
    let mut b = joined(&server);
    let accepts = |machine: &Machine| {
        let client = Client::new(&machine.url(), Some(secret)).expect("an address");
        client.call(&routes::MEMORY_STATUS, ()).map(drop)
    };
    until(|| accepts(&b));
    settled(&[&a, &b]);
    b.stop();
    a.add("a record that is damaged");
    let damaged = server.sql("SELECT max(seq) FROM waypost.journal");
    a.ctl(&["token", "revoke", id]).done();
    let damaged = damaged.trim();
    server
        .sql(&format!("UPDATE waypost.journal SET payload = payload || 'x' WHERE seq = {damaged}"));
    b.start();
    takes_no_part(&b);
    let refused = accepts(&b).expect_err("it was revoked");
    assert!(refused.to_string().contains("which tokens were revoked"), "{refused}");
}

/// As after a release that did not keep them in the member file.
#[test]
fn a_member_without_the_tokens_of_its_cluster_does_not_start() {
    let Some(server) = Server::start() else { return };
    let mut a = first(&server);
    a.stop();
    let data = a.path().join(".waypost/data");
    fs::remove_file(data.join("tokens.json")).expect("a file");
    let member = Member::read(&data).expect("a file").expect("a member");
    member.with_tokens(Vec::new()).write(&data).expect("it is written");
    let found = a.at_rest(&["doctor"]);
    assert!(found.code == 1 && found.out.contains("does not start without"), "{found:?}");
    let options = Options::for_project(a.path()).expect("options");
    let error = waypost_service::start(&options).map(drop).expect_err("tokens are missing");
    assert!(format!("{error:#}").contains("does not have the cluster's tokens"), "{error:#}");
    a.at_rest(&["cluster", "leave", "--yes"]).done();
    a.start();
}

#[test]
fn a_member_with_a_damaged_log_is_told_to_join_again() {
    let Some(server) = Server::start() else { return };
    let mut a = first(&server);
    a.stop();
    let log = a.path().join(".waypost/data/memory/log/00000000000000000001.log");
    let mut bytes = fs::read(&log).expect("a file");
    let at = bytes.windows(10).position(|window| window == b"lighthouse").expect("the text");
    bytes[at] ^= 1;
    fs::write(&log, bytes).expect("it is written");
    let program = Path::new(env!("CARGO_BIN_EXE_ctl")).with_file_name("service");
    assert!(program.is_file(), "{} is built with the whole workspace", program.display());
    let mut service = Command::new(program);
    service.current_dir(a.path()).env("WAYPOST_TRUST_PROJECT", "1");
    service.env("WAYPOST_MODEL_NAME", "none").env("WAYPOST_LISTEN", "127.0.0.1:0");
    let refused = ran(service.output().expect("the program starts"));
    let expected = "a member of a cluster joins again instead of being repaired";
    assert!(refused.code == 1 && refused.err.contains(expected), "{refused:?}");
    let found = a.at_rest(&["doctor"]);
    assert!(found.code == 1 && found.out.contains("run `ctl cluster join URL`"), "{found:?}");
}

#[test]
fn a_machine_that_leaves_says_that_it_lacks_records_and_has_their_revocations() {
    let Some(server) = Server::start() else { return };
    let (a, mut b) = (first(&server), joined(&server));
    let id = token(&a);
    let of = |machine: &Machine| {
        let listed = machine.at_rest(&["--json", "token", "list"]).json();
        let listed = listed.as_array().expect("tokens").clone();
        listed.into_iter().find(|listed| listed["id"] == *id)
    };
    until(|| of(&b).map(drop).ok_or("it is not there"));
    b.stop();
    a.ctl(&["add", "after it has stopped"]).done();
    a.ctl(&["token", "revoke", &id]).done();
    assert!(of(&b).expect("the token")["revokedAt"].is_null());
    let left = b.at_rest(&["cluster", "leave", "--yes"]);
    assert!(left.code == 0 && left.err.contains("records of the journal"), "{left:?}");
    assert!(!of(&b).expect("the token")["revokedAt"].is_null());
}

#[test]
fn tokens_that_others_revoke_are_rejected_though_the_file_cannot_be_written() {
    let Some(server) = Server::start() else { return };
    let (a, b) = (first(&server), joined(&server));
    let created: Vec<Value> = (0..3)
        .map(|_| a.ctl(&["--json", "token", "create", "--scope", "memory:read"]).json())
        .collect();
    let accepted = |value: &Value| -> Result<(), String> {
        let client = Client::new(&b.url(), value["token"].as_str()).expect("an address");
        client.call(&routes::MEMORY_STATUS, ()).map(drop).map_err(|error| error.to_string())
    };
    for it in &created {
        until(|| accepted(it));
    }
    // Where the file is written before it is renamed.
    let blocked = b.path().join(".waypost/data/tokens.json.tmp");
    fs::create_dir(&blocked).expect("a folder");
    for it in &created {
        a.ctl(&["token", "revoke", it["info"]["id"].as_str().expect("an id")]).done();
    }
    for it in &created {
        until(|| match accepted(it) {
            Err(error) if error.contains("unknown, expired or revoked") => Ok(()),
            other => Err(format!("{other:?}")),
        });
    }
    fs::remove_dir(&blocked).expect("a folder");
    let id = created[2]["info"]["id"].as_str().expect("an id");
    until(|| is_revoked(&b, id).then_some(()).ok_or("not stored"));
}

#[test]
fn a_machine_with_a_damaged_member_file_can_leave() {
    let Some(server) = Server::start() else { return };
    let mut a = first(&server);
    a.stop();
    fs::write(member_file(&a), "damaged").expect("a file");
    let left = a.at_rest(&["cluster", "leave", "--yes"]);
    assert!(left.code == 0 && left.err.contains("may be valid here"), "{left:?}");
    a.start();
    a.ctl(&["token", "create", "--scope", "memory:read"]).done();
}

/// A lock of a table that statements of others wait for.
struct Lock<'a> {
    server: &'a Server,
    table: &'a str,
    session: Child,
    statements: ChildStdin,
}

impl<'a> Lock<'a> {
    /// With `EXCLUSIVE`, the table can be read.
    fn take(server: &'a Server, table: &'a str, mode: &str) -> Self {
        let mut session =
            server.shell("postgres").stdin(Stdio::piped()).spawn().expect("psql starts");
        let mut statements = session.stdin.take().expect("a pipe");
        let lock = format!("BEGIN; LOCK TABLE waypost.{table} IN {mode} MODE;\n");
        statements.write_all(lock.as_bytes()).expect("psql reads");
        let this = Self { server, table, session, statements };
        until(|| {
            (this.pids("granted AND mode LIKE '%ExclusiveLock'") > 0).then_some(()).ok_or("no lock")
        });
        this
    }

    fn pids(&self, which: &str) -> usize {
        let table = self.table;
        let sql = format!(
            "SELECT count(*) FROM pg_locks WHERE {which} AND relation = 'waypost.{table}'::regclass"
        );
        self.server.sql(&sql).trim().parse().expect("a number")
    }

    /// Waits until this many statements wait.
    fn is_awaited_by(&self, count: usize) {
        until(|| {
            let found = self.pids("NOT granted");
            (found == count).then_some(()).ok_or(format!("{found} of {count}"))
        });
    }

    /// Starts a command and kills it when it waits; its statement is carried out later.
    fn kills(&self, machine: &Machine, arguments: &[&str]) {
        let mut command = trusting(machine.path(), arguments).spawn().expect("the program starts");
        self.is_awaited_by(1);
        command.kill().expect("it is killed");
        end_of(&mut command);
    }

    /// Ends the statements that wait. A service repeats its own.
    fn end_statements(&self) {
        let end = format!(
            "SELECT pg_terminate_backend(pid) FROM pg_locks \
             WHERE NOT granted AND relation = 'waypost.{}'::regclass",
            self.table
        );
        until(|| {
            self.server.sql(&end);
            (self.pids("NOT granted") == 0).then_some(()).ok_or("statements wait")
        });
    }

    fn release(mut self) {
        drop(self.statements);
        end_of(&mut self.session);
    }
}

/// Runs a command that writes a snapshot, and kills it before it can.
fn killed_before_the_snapshot(server: &Server, machine: &Machine, arguments: &[&str]) {
    let lock = Lock::take(server, "snapshot", "ACCESS EXCLUSIVE");
    lock.kills(machine, arguments);
    lock.release();
}

/// Stores that no `accept-loss` has closed.
fn open_stores(server: &Server) -> usize {
    let sql = "SELECT count(*) FROM waypost.head WHERE incarnation = 1";
    server.sql(sql).trim().parse().expect("a number")
}

const ACCEPT: [&str; 4] = ["cluster", "accept-loss", "--yes", "--although-complete"];

#[test]
fn of_two_machines_that_accept_a_loss_one_succeeds() {
    let Some(server) = Server::start() else { return };
    let (mut a, mut b) = (first(&server), joined(&server));
    settled(&[&a, &b]);
    a.stop();
    b.stop();
    let lock = Lock::take(&server, "head", "EXCLUSIVE");
    let start = |machine: &Machine| {
        let mut command = trusting(machine.path(), &ACCEPT);
        command.stderr(Stdio::piped()).spawn().expect("the program starts")
    };
    let both = [start(&a), start(&b)];
    lock.is_awaited_by(2);
    lock.release();
    let ended = both.map(|item| ran(item.wait_with_output().expect("it ends")));
    let (won, lost): (Vec<_>, Vec<_>) = ended.iter().partition(|ended| ended.code == 0);
    assert_eq!((won.len(), lost.len()), (1, 1), "{ended:?}");
    assert!(lost[0].err.contains("ran on another machine"), "{lost:?}");
    assert_eq!(open_stores(&server), 1);
}

#[test]
fn an_accepted_loss_that_was_interrupted_does_not_continue_after_that_of_another_machine() {
    let Some(server) = Server::start() else { return };
    let (mut a, mut b) = (first(&server), joined(&server));
    let id = &token(&b);
    settled(&[&a, &b]);
    a.stop();
    b.stop();
    let lock = Lock::take(&server, "head", "EXCLUSIVE");
    lock.kills(&a, &ACCEPT);
    lock.end_statements();
    lock.release();
    // It had no effect: the machine is a member.
    a.start();
    a.add("from the machine that was interrupted");
    a.stop();
    b.start();
    b.add("acknowledged meanwhile");
    b.ctl(&["token", "revoke", id]).done();
    b.stop();
    let last = |payload: &str| {
        server.sql(&format!(
            "UPDATE waypost.journal SET payload = {payload} WHERE seq = (SELECT seq FROM waypost.head)"
        ))
    };
    // Also if a record that it lacks is damaged.
    for payload in ["payload || '\\x00'", "substring(payload FOR length(payload) - 1)"] {
        last(payload);
        a.refuses(&ACCEPT, "--although-behind");
    }
    b.at_rest(&ACCEPT).done();
    a.refuses(&ACCEPT[..3], "ran on another machine");
    assert_eq!(open_stores(&server), 1);
}

#[test]
fn a_machine_that_leaves_after_an_interruption_knows_what_was_revoked_in_both_stores() {
    let Some(server) = Server::start() else { return };
    let mut a = first(&server);
    let id = &token(&a);
    a.stop();
    let lock = Lock::take(&server, "machine", "EXCLUSIVE");
    lock.kills(&a, &ACCEPT);
    lock.release();
    let found = a.at_rest(&["doctor"]);
    assert!(found.out.contains("`ctl cluster accept-loss` was interrupted"), "{found:?}");
    let open = "SELECT store FROM waypost.head WHERE incarnation = 1";
    let store = server.sql(open).trim().to_owned();
    let mut b = Machine::new();
    until(|| {
        let ran = b.at_rest(&["cluster", "join", &server.url(), "--store", &store]);
        (ran.code == 0).then_some(()).ok_or(format!("{ran:?}"))
    });
    b.start();
    b.ctl(&["token", "revoke", id]).done();
    let seen = status(&b);
    let own = seen["machine"].as_str().expect("an id");
    let ids = seen["machines"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|array| array["id"].as_str());
    let of_a = ids.into_iter().find(|id| *id != own).expect("the machine that was begun");
    b.ctl(&["cluster", "forget", of_a, "--although-running"]).done();
    a.refuses(&ACCEPT[..3], "does not list this machine");
    assert_eq!(open_stores(&server), 1);

    let lock = Lock::take(&server, "machine", "ACCESS EXCLUSIVE");
    let mut left = trusting(a.path(), &["cluster", "leave", "--yes"]).spawn().expect("it starts");
    let data = a.path().join(".waypost/data");
    let tokens = TokenStore::open(&data.join("tokens.json")).expect("a file");
    until(|| (!tokens.is_shared().expect("a file")).then_some(()).ok_or("they are shared"));
    left.kill().expect("it is killed");
    end_of(&mut left);
    lock.end_statements();
    lock.release();
    let create = ["token", "create", "--scope", "memory:read"];
    for refused in [a.at_rest(&create), a.at_rest(&["doctor"])] {
        let said = format!("{}{}", refused.out, refused.err);
        assert!(
            refused.code == 1 && said.contains("if `ctl cluster leave` was interrupted"),
            "{said}"
        );
    }
    let left = a.at_rest(&["--json", "cluster", "leave", "--yes"]).json();
    assert_eq!(left["isForgotten"], true, "{left}");
    assert!(is_revoked(&a, id));
    let machines = status(&b)["machines"].as_array().map(Vec::len);
    assert_eq!(machines, Some(1), "only the other one is left");
    a.at_rest(&create).done();
}

#[test]
fn a_damaged_file_of_a_creation_is_named_and_leaving_warns() {
    let Some(server) = Server::start() else { return };
    let mut a = first(&server);
    a.stop();
    let file = a.path().join(".waypost/data/cluster-begun");
    fs::write(&file, "damaged").expect("a file");
    for arguments in [&ACCEPT[..3], &["doctor"]] {
        let refused = a.at_rest(arguments);
        let said = format!("{}{}", refused.out, refused.err);
        assert!(refused.code == 1 && said.contains("cluster-begun is damaged"), "{said}");
    }
    let leave = || {
        let left = a.at_rest(&["cluster", "leave", "--yes"]);
        assert!(left.code == 0 && left.err.contains("may be valid here"), "{left:?}");
        assert!(!file.exists());
    };
    leave();
    // Without a member file, too: machines may have joined.
    fs::write(&file, "damaged").expect("a file");
    a.refuses(&["cluster", "init", &server.url()], "cluster-begun is damaged");
    let options = Options::for_project(a.path()).expect("options");
    let error = waypost_service::start(&options).map(drop).expect_err("others may have joined");
    assert!(format!("{error:#}").contains("`ctl cluster leave`"), "{error:#}");
    leave();
    a.start();
}

/// The revocation is only in the history that the database has since the loss.
#[test]
fn what_was_revoked_after_a_loss_is_revoked_where_it_is_accepted_or_it_warns() {
    for is_trimmed in [false, true] {
        let Some(server) = Server::start() else { return };
        let (mut a, mut b, ref id) = pair(&server);
        b.stop();
        let kept = records(&a);
        for content in ["one", "two", "three", "four"] {
            a.add(content);
        }
        a.stop();
        lose_after(&server, kept);
        b.start();
        b.ctl(&["token", "revoke", id]).done();
        b.stop();
        b.at_rest(&["cluster", "leave", "--yes"]).done();
        if is_trimmed {
            server.sql(
                "UPDATE waypost.head SET base_seq = seq - 1, base_hash = \
                 (SELECT j.hash FROM waypost.journal j WHERE j.seq = head.seq - 1); \
                 DELETE FROM waypost.journal WHERE seq < (SELECT seq FROM waypost.head)",
            );
        }
        let accepted = a.at_rest(&["cluster", "accept-loss", "--yes"]);
        assert_eq!(accepted.code, 0, "{accepted:?}");
        assert_eq!(accepted.err.contains("may be valid here"), is_trimmed, "{accepted:?}");
        assert!(accepted.err.contains("only in their data folders"), "{accepted:?}");
        assert!(is_trimmed || is_revoked(&a, id));
    }
}

/// As after `kill -9` at a time when the member file said this.
fn as_if_killed(server: &Server, machine: &Machine, member: &[u8]) {
    fs::write(member_file(machine), member).expect("a file");
    server.sql("UPDATE waypost.machine SET base = 0");
}

/// The first machine is killed, the second one revokes a token, and the database loses everything since.
fn loses_a_revocation(
    server: &Server,
    kept: u64,
    (killed, member): (&mut Machine, &[u8]),
    (other, id): (&mut Machine, &str),
) {
    killed.stop();
    as_if_killed(server, killed, member);
    other.ctl(&["token", "revoke", id]).done();
    other.stop();
    lose_after(server, kept);
}

#[test]
fn changes_of_tokens_of_another_history_are_not_counted_as_those_of_this_machine() {
    for has_started in [false, true] {
        let Some(server) = Server::start() else { return };
        let (mut a, mut b, mut c, ref id) = trio(&server);
        let kept = records(&a);
        let member = fs::read(member_file(&a)).expect("a file");
        a.add("lost by the database");
        settled(&[&a, &b]);
        loses_a_revocation(&server, kept, (&mut a, &member), (&mut b, id));
        c.start();
        token(&c);
        c.stop();
        if has_started {
            a.start();
            takes_no_part(&a);
            a.stop();
        }
        a.refuses(&ACCEPT[..3], "has applied record");
        let left = c.at_rest(&["cluster", "leave", "--yes"]);
        assert!(left.code == 0 && left.err.contains("may be valid here"), "{left:?}");
        assert!(!is_revoked(&c, id));
    }
}

/// Only its events show that it has another history.
#[test]
fn a_machine_with_lost_records_of_one_part_applies_nothing_of_what_came_after_the_loss() {
    let Some(server) = Server::start() else { return };
    let (mut a, mut b, mut c, ref id) = trio(&server);
    let kept = records(&a);
    let member = fs::read(member_file(&a)).expect("a file");
    for _ in 0..8 {
        a.ctl(&["emit", "lost:event"]).done();
    }
    loses_a_revocation(&server, kept, (&mut a, &member), (&mut b, id));
    c.start();
    c.add("written after the loss");
    let other = token(&c);
    a.start();
    takes_no_part(&a);
    assert!(!a.ctl(&["export"]).done().contains("written after the loss"));
    assert!(!a.ctl(&["token", "list"]).done().contains(&other));
    a.stop();
    a.refuses(&ACCEPT[..3], "has applied record");
}

#[test]
fn a_machine_that_was_killed_with_lost_records_accepts_the_loss_at_once() {
    let Some(server) = Server::start() else { return };
    let (mut a, mut b) = (first(&server), joined(&server));
    a.add("kept by the database");
    settled(&[&a, &b]);
    b.stop();
    let kept = records(&a);
    let member = fs::read(member_file(&a)).expect("a file");
    for content in ["one", "two", "three"] {
        a.add(content);
    }
    a.stop();
    as_if_killed(&server, &a, &member);
    lose_after(&server, kept);
    b.start();
    // The last record of the memories has a number that both histories have.
    b.add("after the loss");
    let accepted = a.at_rest(&ACCEPT[..3]);
    assert_eq!(accepted.code, 0, "{accepted:?}");
    assert!(!accepted.err.contains("may be valid here"), "{accepted:?}");
    a.start();
    let listed = a.ctl(&["export"]).done();
    assert!(listed.contains("three") && !listed.contains("after the loss"), "{listed}");
}

/// The leader notes which events it has published: in two histories with the same number, and nothing else.
#[test]
fn a_record_that_two_histories_have_in_common_by_chance_proves_nothing() {
    let Some(server) = Server::start() else { return };
    let (mut a, mut b, mut c) = (first(&server), joined(&server), joined(&server));
    let (id, others) = (&token(&a), [token(&a), token(&a)]);
    settled(&[&a, &b, &c]);
    c.stop();
    a.add("kept by the database");
    settled(&[&a, &b]);
    let told = || {
        let sql = "SELECT place, encode(payload, 'hex') FROM waypost.journal \
             WHERE part = 1 AND kind = 10 ORDER BY seq DESC LIMIT 1";
        server.sql(sql).trim().to_owned()
    };
    let until_told = |former: &str| {
        until(|| {
            let now = told();
            (now != former && !now.is_empty()).then_some(now).ok_or("nothing was told")
        })
    };
    let kept: u64 = server.sql("SELECT seq FROM waypost.head").trim().parse().expect("a number");
    let before = told();
    let member = fs::read(member_file(&a)).expect("a file");
    let lost = until_told(&before);
    a.add("lost by the database");
    settled(&[&a, &b]);
    loses_a_revocation(&server, kept, (&mut a, &member), (&mut b, id));
    c.start();
    for other in &others {
        c.ctl(&["token", "revoke", other]).done();
    }
    assert_eq!(until_told(&before), lost);
    c.stop();
    a.refuses(&ACCEPT[..3], "has applied record");
}

/// It has reported a change of tokens that is in no log of it.
#[test]
fn a_machine_that_found_the_loss_has_what_it_has_reported() {
    let Some(server) = Server::start() else { return };
    let (mut a, mut b, ref id) = pair(&server);
    a.stop();
    let kept = records(&b);
    let member = fs::read(member_file(&b)).expect("a file");
    b.ctl(&["token", "revoke", id]).done();
    let reported = |machine: &Machine| {
        let shown = status(machine);
        let machines = shown["machines"].as_array().expect("a list");
        machines.iter().find(|machine| machine["isThis"] == true).expect("it is listed").clone()
    };
    until(|| (reported(&b)["applied"] == kept + 1).then_some(()).ok_or("it has not reported"));
    lose_after(&server, kept);
    until(|| (!reported(&b)["fault"].is_null()).then_some(()).ok_or("it has no fault"));
    b.stop();
    as_if_killed(&server, &b, &member);
    a.refuses(&ACCEPT[..3], "has applied record");
    let accepted = b.at_rest(&ACCEPT[..3]);
    assert_eq!(accepted.code, 0, "{accepted:?}");
    assert!(is_revoked(&b, id));
}

/// The lost records have the revocation, and neither the journal nor this machine has them.
#[test]
fn it_warns_of_what_another_machine_revoked_in_lost_records() {
    for follows_journal in [false, true] {
        let Some(server) = Server::start() else { return };
        let (mut a, mut b, ref id) = pair(&server);
        b.stop();
        let kept = records(&a);
        a.add("lost by the database");
        a.ctl(&["token", "revoke", id]).done();
        a.stop();
        lose_after(&server, kept);
        if follows_journal {
            b.start();
            b.add_many("after the loss", 10);
            a.start();
            takes_no_part(&a);
            a.stop();
            b.stop();
        } else {
            b.refuses(&ACCEPT[..3], "has applied record");
            let lock = Lock::take(&server, "machine", "EXCLUSIVE");
            lock.kills(&b, &["cluster", "accept-loss", "--yes", "--although-behind"]);
            lock.release();
        }
        let accepted = b.at_rest(&["--json", "cluster", "accept-loss", "--yes"]);
        let expected = if follows_journal { "takes no part" } else { "has applied record" };
        assert!(accepted.err.contains("only in their data folders"), "{accepted:?}");
        let told = accepted.err.clone();
        for warned in [told, accepted.json()["warnings"].to_string()] {
            assert!(warned.contains(expected) && warned.contains("may be valid here"), "{warned}");
        }
        assert!(!is_revoked(&b, id));
    }
}

/// The member file is older than the logs, as after `kill -9`.
#[test]
fn a_record_that_only_the_journal_has_is_not_taken_for_a_change_of_tokens() {
    let Some(server) = Server::start() else { return };
    let (mut a, mut b) = (first(&server), joined(&server));
    settled(&[&a, &b]);
    let member = member_file(&a);
    let before = fs::read(&member).expect("a file");
    token(&a);
    settled(&[&a, &b]);
    a.stop();
    as_if_killed(&server, &a, &before);
    let complete = a.at_rest(&ACCEPT[..3]);
    assert!(complete.code == 1 && complete.err.contains("nothing is lost"), "{complete:?}");
    b.ctl(&["emit", "work:done"]).done();
    b.stop();
    a.refuses(&ACCEPT, "has applied only");
}

#[test]
fn a_store_that_is_closed_while_a_machine_joins_does_not_get_it() {
    let Some(server) = Server::start() else { return };
    let _a = first(&server);
    let b = Machine::new();
    let lock = Lock::take(&server, "snapshot", "ACCESS EXCLUSIVE");
    let mut join = trusting(b.path(), &["cluster", "join", &server.url()]);
    let join = join.stderr(Stdio::piped()).spawn().expect("it starts");
    lock.is_awaited_by(1);
    server.sql("UPDATE waypost.head SET incarnation = incarnation + 1");
    lock.release();
    let refused = ran(join.wait_with_output().expect("it ends"));
    assert!(refused.code == 1 && refused.err.contains("is closed"), "{refused:?}");
    assert_eq!(server.sql("SELECT count(*) FROM waypost.machine").trim(), "1");
}

#[test]
fn a_machine_that_has_begun_another_store_does_not_return_to_the_former_one() {
    let Some(server) = Server::start() else { return };
    let mut a = first(&server);
    let id = &token(&a);
    a.stop();
    server.sql("CREATE TABLE backup AS SELECT * FROM waypost.head; DELETE FROM waypost.head");
    let lock = Lock::take(&server, "machine", "EXCLUSIVE");
    lock.kills(&a, &["cluster", "accept-loss", "--yes", "--although-behind"]);
    lock.release();
    server.sql("INSERT INTO waypost.head SELECT * FROM backup");
    let options = Options::for_project(a.path()).expect("options");
    let error = waypost_service::start(&options).map(drop).expect_err("others may have joined");
    assert!(format!("{error:#}").contains("accept-loss` was interrupted"), "{error:#}");
    let found = a.at_rest(&["doctor"]);
    assert!(found.out.contains("accept-loss` was interrupted"), "{found:?}");
    let copy = tempfile::tempdir().expect("a folder");
    let data = a.path().join(".waypost/data");
    for name in ["cluster-member", "cluster-begun", "tokens.json"] {
        fs::copy(data.join(name), copy.path().join(name)).expect("a file");
    }
    // Also if it leaves: it has a place in each store.
    fs::write(data.join("cluster-member"), "damaged").expect("a file");
    let left = a.at_rest(&["cluster", "leave", "--yes"]);
    assert!(left.code == 0 && left.err.contains("may be valid here"), "{left:?}");
    let listed = "SELECT count(*) FROM waypost.machine WHERE forgotten IS NULL";
    assert_eq!(server.sql(listed).trim(), "1", "the one of the damaged file");
    for name in ["cluster-member", "cluster-begun", "tokens.json"] {
        fs::copy(copy.path().join(name), data.join(name)).expect("a file");
    }
    // Nobody has joined the store that it has begun.
    a.at_rest(&ACCEPT).done();
    assert_eq!(open_stores(&server), 1);
    assert!(!is_revoked(&a, id));
}

#[test]
fn a_creation_continues_only_in_the_database_in_which_it_began() {
    let Some(server) = Server::start() else { return };
    let mut a = Machine::new();
    let refused = a.at_rest(&["cluster", "init", &server.url()]);
    assert!(refused.err.contains("start the service once"), "{refused:?}");
    a.start();
    a.add("The lighthouse keeper retires in spring.");
    a.stop();
    server.sql("CREATE DATABASE other OWNER waypost");
    let other = server.url().replace("/waypost?", "/other?");
    assert_ne!(other, server.url());
    // Nobody can have joined.
    let refused = a.at_rest(&["cluster", "init", "postgresql://nobody@127.0.0.1:1/none"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    let init = ["cluster", "init", &server.url()];
    // The table is made before it is locked.
    first(&server).stop();
    let tokens = a.path().join(".waypost/data/tokens.json");
    let alone = fs::read(&tokens).expect("a file");
    let lock = Lock::take(&server, "machine", "EXCLUSIVE");
    lock.kills(&a, &init);
    lock.release();
    let shared = fs::read(&tokens).expect("a file");
    fs::write(&tokens, alone).expect("a file");
    a.refuses(&["token", "create", "--scope", "memory:read"], "was interrupted");
    fs::write(&tokens, shared).expect("a file");
    let refused = a.at_rest(&["cluster", "init", &other]);
    for expected in [&server.url(), &other, "ctl cluster leave"] {
        assert!(refused.code == 1 && refused.err.contains(expected), "{expected}: {refused:?}");
    }
    // Machines may have joined: without its tokens, it does not go on alone either.
    let aside = a.path().join("tokens.json");
    fs::rename(&tokens, &aside).expect("a file");
    let options = Options::for_project(a.path()).expect("options");
    let error = waypost_service::start(&options).map(drop).expect_err("others may have joined");
    assert!(format!("{error:#}").contains("`ctl cluster init` was interrupted"), "{error:#}");
    a.refuses(&["cluster", "init", &other], &other);
    fs::rename(&aside, &tokens).expect("a file");
    a.at_rest(&init).done();
    assert_eq!(open_stores(&server), 2);
    a.start();
    a.add("it goes on");
    a.stop();

    server.sql("DELETE FROM waypost.journal; DELETE FROM waypost.head");
    a.refuses(&ACCEPT, "--although-behind");
    a.at_rest(&["cluster", "accept-loss", "--yes", "--although-behind"]).done();
    a.start();
    assert_eq!(a.add("and goes on"), 3);
}

#[test]
fn a_creation_that_was_interrupted_continues_with_the_same_store() {
    let Some(server) = Server::start() else { return };
    let mut a = first(&server);
    a.add("one more");
    a.stop();
    let stores = || server.sql("SELECT count(*) FROM waypost.head");
    assert_eq!(stores().trim(), "1");
    let mut other = Machine::new();
    other.start();
    other.add("of another cluster");
    let id = &token(&other);
    other.stop();
    killed_before_the_snapshot(&server, &other, &["cluster", "init", &server.url()]);
    for refused in [other.at_rest(&["token", "revoke", id]), other.at_rest(&["doctor"])] {
        let said = format!("{}{}", refused.out, refused.err);
        assert!(refused.code == 1 && said.contains("`ctl cluster init` was interrupted"), "{said}");
    }
    other.at_rest(&["cluster", "init", &server.url()]).done();
    assert_eq!(stores().trim(), "2");
    other.start();
    assert_eq!(other.add("it goes on"), 2);

    let accept = ["cluster", "accept-loss", "--yes"];
    let (start, again) = ([&accept[..], &["--although-complete"]].concat(), &accept[..]);
    let former = status(&a)["store"].as_str().expect("a store").to_owned();
    killed_before_the_snapshot(&server, &a, &start);
    assert_eq!(stores().trim(), "3");
    // As if another machine had accepted the loss meanwhile.
    let shift = |by: &str| {
        server.sql(&format!(
            "UPDATE waypost.head SET incarnation = incarnation {by} WHERE store = '{former}'"
        ))
    };
    shift("+ 1");
    a.refuses(again, "--although-complete");
    shift("- 1");
    let continued = a.at_rest(again);
    assert!(continued.code == 0 && continued.err.contains("it continues"), "{continued:?}");
    assert_eq!(stores().trim(), "3");
    a.refuses(again, "nothing is lost");
    a.start();
    assert_eq!(a.add("and goes on"), 3);
    let store = status(&a)["store"].as_str().expect("a store").to_owned();
    let mut b = Machine::new();
    b.at_rest(&["cluster", "join", &server.url(), "--store", &store]).done();
    b.start();
    settled(&[&a, &b]);
}

/// The notice of the revocation is before the base of the machine.
#[test]
fn a_revoked_token_stays_revoked_with_an_older_token_file_and_without_one() {
    let Some(server) = Server::start() else { return };
    let (a, mut b) = (first(&server), joined(&server));
    let created = a.ctl(&["--json", "token", "create", "--scope", "memory:read"]).json();
    let token = created["token"].as_str().expect("a token").to_owned();
    let id = created["info"]["id"].as_str().expect("an id").to_owned();
    let accepted = |machine: &Machine| -> Result<(), String> {
        let client = Client::new(&machine.url(), Some(&token)).expect("an address");
        client.call(&routes::MEMORY_STATUS, ()).map(drop).map_err(|error| error.to_string())
    };
    until(|| accepted(&b));
    b.stop();
    let file = b.path().join(".waypost/data/tokens.json");
    let older = fs::read(&file).expect("a file");
    b.start();
    a.ctl(&["token", "revoke", &id]).done();
    // The base is written at once, though nothing else happens.
    let end = records(&a);
    for machine in [&a, &b] {
        until(|| {
            let base = base(machine);
            (base >= end).then_some(()).ok_or(format!("{base} of {end}"))
        });
    }
    let is_rejected = |machine: &Machine| match accepted(machine) {
        Err(error) if error.contains("unknown, expired or revoked") => Ok(()),
        other => Err(format!("{other:?}")),
    };
    until(|| is_rejected(&b));
    // While the service runs, the next change of tokens brings it back.
    fs::write(&file, &older).expect("a file");
    a.ctl(&["token", "create", "--scope", "memory:read"]).done();
    until(|| is_rejected(&b));
    b.stop();
    fs::write(&file, &older).expect("a file");
    b.start();
    until(|| is_rejected(&b));
    b.stop();
    fs::remove_file(&file).expect("a file");
    b.start();
    until(|| is_rejected(&b));
    let another = a.ctl(&["--json", "token", "create", "--scope", "memory:read"]).json();
    let another = another["token"].as_str().expect("a token").to_owned();
    let client = Client::new(&b.url(), Some(&another)).expect("an address");
    until(|| client.call(&routes::MEMORY_STATUS, ()).map(drop).map_err(|error| error.to_string()));
    b.stop();
    fs::write(&file, &older).expect("a file");
    b.at_rest(&["cluster", "leave", "--yes"]).done();
    let listed: Value = b.at_rest(&["--json", "token", "list"]).json();
    let listed = listed.as_array().expect("tokens");
    let found = listed.iter().find(|listed| listed["id"] == *id).expect("the token");
    assert!(found["revokedAt"].is_number() || found["revokedAt"].is_string(), "{found}");
}

/// Where a machine's reading of the journal continues after a start.
fn base(machine: &Machine) -> u64 {
    let text = fs::read_to_string(member_file(machine));
    let text = text.expect("a file");
    let line = text.lines().find_map(|line| line.strip_prefix("base ")).expect("a base");
    line.split(' ').next().and_then(|part| part.parse().ok()).expect("a number")
}

#[test]
fn a_snapshot_that_was_removed_is_written_again() {
    let Some(server) = Server::start() else { return };
    let a = first(&server);
    server.sql("DELETE FROM waypost.snapshot");
    until(|| {
        let status = status(&a);
        (!status["snapshots"][0].is_null()).then_some(()).ok_or(status)
    });
    let b = joined(&server);
    settled(&[&a, &b]);
}

#[test]
fn a_cluster_that_could_not_be_created_leaves_the_store_as_it_was() {
    let Some(server) = Server::start() else { return };
    let mut machine = Machine::new();
    machine.start();
    machine.add("The lighthouse keeper retires in spring.");
    machine.stop();
    let log = machine.path().join(".waypost/data/memory/log");
    let files = fs::read_dir(log).expect("a folder").map(|entry| entry.expect("a file").path());
    let file = files
        .filter(|file| file.extension().is_some_and(|extension| extension == "log"))
        .min()
        .expect("a log");
    let whole = fs::read(&file).expect("a file");
    let mut damaged = whole.clone();
    let at = whole.windows(10).position(|window| window == b"lighthouse").expect("the text");
    damaged[at] ^= 1;
    fs::write(&file, damaged).expect("a file");
    let refused = machine.at_rest(&["cluster", "init", &server.url()]);
    assert_eq!(refused.code, 1, "{refused:?}");
    fs::write(&file, whole).expect("a file");
    machine.at_rest(&["token", "create", "--scope", "memory:read"]).done();
    machine.start();
    assert_eq!(machine.add("Deployments need two approvals."), 2);
    // What the first attempt left in the database is not taken for a second cluster.
    machine.stop();
    machine.at_rest(&["cluster", "init", &server.url()]).done();
    machine.start();
    settled(&[&machine, &joined(&server)]);
}

#[test]
fn a_member_without_its_file_does_not_go_on_alone_and_its_backup_does() {
    let Some(server) = Server::start() else { return };
    let mut a = first(&server);
    a.add("in the backup");
    a.ctl(&["backup", "whole.backup"]).done();
    a.stop();
    fs::remove_file(member_file(&a)).expect("a file");
    let options = Options::for_project(a.path()).expect("options");
    let refused = waypost_service::start(&options).expect_err("it is not started");
    assert!(refused.to_string().contains("ctl cluster leave"), "{refused:#}");
    a.at_rest(&["cluster", "leave", "--yes"]).done();
    a.start();
    a.ctl(&["token", "create", "--scope", "memory:read"]).done();

    let mut restored = Machine::new();
    let backup = a.path().join("whole.backup");
    restored.at_rest(&["restore", backup.to_str().expect("a path")]).done();
    restored.start();
    assert_eq!(restored.add("after the backup"), 3);
    restored.ctl(&["token", "create", "--scope", "memory:read"]).done();
    restored.stop();
    restored.at_rest(&["cluster", "init", &server.url()]).done();
    restored.start();
    assert_eq!(restored.add("in a cluster again"), 4);
}

#[test]
fn wrong_uses_are_refused_and_change_nothing() {
    let Some(server) = Server::start() else { return };
    let mut a = Machine::new();
    let nothing = a.at_rest(&["cluster", "status"]);
    assert_eq!(nothing.code, 3, "{nothing:?}");
    let password = a.at_rest(&["cluster", "init", "postgresql://waypost:secret@127.0.0.1/waypost"]);
    assert_eq!(password.code, 1, "{password:?}");
    assert!(!password.err.contains("secret"), "{password:?}");
    let empty = Machine::new();
    let no_cluster = empty.at_rest(&["cluster", "join", &server.url()]);
    assert_eq!(no_cluster.code, 1, "{no_cluster:?}");
    assert!(no_cluster.err.contains("ctl cluster init"), "{no_cluster:?}");
    a.start();
    let running = a.at_rest(&["cluster", "init", &server.url()]);
    assert_eq!(running.code, 1, "{running:?}");
    a.stop();
    a.at_rest(&["cluster", "init", &server.url()]).done();
    let twice = a.at_rest(&["cluster", "init", &server.url()]);
    assert!(twice.code == 1 && twice.err.contains("already a member"), "{twice:?}");
    let full = a.at_rest(&["cluster", "join", &server.url()]);
    assert!(full.code == 1 && full.err.contains("not empty"), "{full:?}");
    assert!(!a.path().join(".waypost/data/cluster-member.new").exists());
}
