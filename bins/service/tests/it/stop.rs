//! Starting and stopping the program.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use serde_json::json;
use tempfile::TempDir;

use crate::child::end_of;
use crate::client::{connect, read};
use crate::program::{PROGRAM, Program, command};
use crate::service::request;
use crate::wait::until;

fn add(program: &Program, content: &str) -> u16 {
    let body = json!({"content": content}).to_string();
    program.send("POST", "/api/memory/add", body.as_bytes()).status
}

#[test]
fn a_signal_lets_accepted_requests_finish_and_ends_well() {
    for name in ["TERM", "INT"] {
        let folder = TempDir::new().expect("a temporary folder");
        let program = Program::start(folder.path());
        assert_eq!(add(&program, "before"), 201);
        // A request whose body is incomplete when the signal arrives.
        let body = br#"{"content":"accepted"}"#;
        let path = "/api/memory/add";
        let headers = [("expect", "100-continue")];
        let bytes = request(program.address, "POST", path, &program.token, &headers, body);
        let (head, body) = bytes.split_at(bytes.len() - body.len());
        let mut stream = connect(program.address);
        stream.write_all(head).expect("a connection");
        assert_eq!(read(&mut stream).expect("an answer").status, 100);
        program.signal(name);
        // The listener is closed before accepted requests are waited for.
        while TcpStream::connect(program.address).is_ok() {}
        stream.write_all(body).expect("a connection");
        assert_eq!(read(&mut stream).expect("an answer").status, 201);
        let (status, log) = program.end();
        assert!(status.success(), "{status}: {log}");

        let program = Program::start(folder.path());
        let memories = program.send("GET", "/api/memory", b"").json();
        assert_eq!(memories.as_array().map(Vec::len), Some(2));
        assert!(!program.log.contains("WARN"), "{}", program.log);
    }
}

/// Another program may listen on the port by then, and pass on what a page asks it.
#[test]
fn a_service_that_stops_proves_nothing() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = Program::start(folder.path());
    let code = program.send("POST", "/api/dashboard/codes", b"").json();
    let id = code["code"].as_str().and_then(|text| text.split('_').next()).expect("an id");
    let body = json!({"id": id, "nonce": "a nonce"}).to_string();
    let path = "/api/dashboard/proof";
    assert_eq!(program.send("POST", path, body.as_bytes()).status, 200);
    let headers = [("expect", "100-continue")];
    let bytes = request(program.address, "POST", path, "none", &headers, body.as_bytes());
    let (head, body) = bytes.split_at(bytes.len() - body.len());
    let mut stream = connect(program.address);
    stream.write_all(head).expect("a connection");
    assert_eq!(read(&mut stream).expect("an answer").status, 100);
    program.signal("TERM");
    while TcpStream::connect(program.address).is_ok() {}
    stream.write_all(body).expect("a connection");
    read(&mut stream).expect("an answer").problem(503);
}

#[test]
fn what_comes_while_it_stops_is_answered_whole_or_not_at_all_and_nothing_answered_is_lost() {
    const CLIENTS: usize = 12;
    let folder = TempDir::new().expect("a temporary folder");
    let program = Program::start(folder.path());
    let answered: Mutex<Vec<u64>> = Mutex::default();
    let client = |client: usize| {
        for number in 0.. {
            let (path, body) = match client % 3 {
                0 => ("/api/memory/search", json!({"query": format!("memory {number}")})),
                _ => {
                    ("/api/memory/add", json!({"content": format!("memory {number} of {client}")}))
                }
            };
            let body = body.to_string();
            let bytes =
                request(program.address, "POST", path, &program.token, &[], body.as_bytes());
            let Ok(mut stream) = TcpStream::connect(program.address) else { return };
            if stream.write_all(&bytes).is_err() {
                return;
            }
            // A response that is cut off is a panic in here.
            let Some(answer) = read(&mut stream) else { return };
            match answer.status {
                201 => {
                    let id = answer.json()["id"].as_u64().expect("an id");
                    answered.lock().expect("no panic").push(id);
                }
                200 => assert_eq!(client % 3, 0),
                status => assert_eq!(status, 503, "{}", answer.text()),
            }
        }
    };
    std::thread::scope(|scope| {
        let client = &client;
        for number in 0..CLIENTS {
            scope.spawn(move || client(number));
        }
        until(|| {
            let answered = answered.lock().expect("no panic").len();
            if answered < 50 { Err(format!("{answered} answers")) } else { Ok(()) }
        });
        program.signal("TERM");
    });
    let (status, log) = program.end();
    assert!(status.success(), "{status}: {log}");

    let program = Program::start(folder.path());
    for id in answered.into_inner().expect("no panic") {
        assert_eq!(program.send("GET", &format!("/api/memory/{id}"), b"").status, 200);
    }
}

#[test]
fn a_second_service_on_the_same_store_names_the_first_and_changes_nothing() {
    let folder = TempDir::new().expect("a temporary folder");
    let first = Program::start(folder.path());
    assert_eq!(add(&first, "one"), 201);
    let refused = || {
        let second = command(folder.path()).output().expect("it runs");
        assert_eq!(second.status.code(), Some(75));
        String::from_utf8_lossy(&second.stderr).into_owned()
    };
    let said = refused();
    assert!(said.contains(&first.pid().to_string()), "{said}");
    // An operator may take the file for a leftover.
    std::fs::remove_file(folder.path().join(".waypost/data/lock")).expect("it is there");
    let said = refused();
    assert!(said.contains("is in use by process"), "{said}");
    assert_eq!(add(&first, "two"), 201);
    assert_eq!(first.send("GET", "/api/memory/status", b"").json()["memories"], 2);
}

#[test]
fn a_newer_store_is_refused_by_name() {
    let folder = TempDir::new().expect("a temporary folder");
    drop(Program::start(folder.path()));
    let format = folder.path().join(".waypost/data/format");
    let text = std::fs::read_to_string(&format).expect("the layout's version");
    let newer: String = text.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
    std::fs::write(&format, newer).expect("it can be written");
    let output = command(folder.path()).output().expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("newer release") && said.contains('9') && !said.contains("panicked"),
        "{said}"
    );
}

#[test]
fn what_it_is_started_with_is_checked() {
    let folder = TempDir::new().expect("a temporary folder");
    let run = |arguments: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.args(["--model", "none", "--project"]).arg(folder.path()).args(arguments);
        command.env_clear().env("WAYPOST_TRUST_PROJECT", "1");
        let output = command.output().expect("it runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = run(&["--listen", "0.0.0.0:0"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("other machines"), "{said}");
    let (code, said) = run(&["--listen", "nowhere"]);
    assert!(code == Some(1) && said.contains("--listen"), "{said}");
    let (code, said) = run(&["--listne", "127.0.0.1:0"]);
    assert!(code == Some(2) && said.contains("--listen"), "{said}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("an address").to_string();
    let (code, said) = run(&["--listen", &address]);
    assert!(code == Some(1) && said.contains(&address), "{said}");

    std::fs::create_dir_all(folder.path().join(".waypost")).expect("a folder");
    let config = folder.path().join(".waypost/config.yaml");
    std::fs::write(&config, "listen: 127.0.0.1:0\nlisten_on: x\n").expect("it can be written");
    let (code, said) = run(&[]);
    assert!(code == Some(1) && said.contains("listen_on") && said.contains('2'), "{said}");
}

#[test]
fn a_wide_address_with_the_flag_answers_to_its_addresses() {
    let folder = TempDir::new().expect("a temporary folder");
    let mut command = Command::new(PROGRAM);
    command.args(["--listen", "0.0.0.0:0", "--allow-remote", "--model", "none", "--project"]);
    command.arg(folder.path()).env_clear().env("WAYPOST_TRUST_PROJECT", "1");
    let mut program = Program::start_as(command, folder.path());
    program.address.set_ip([127, 0, 0, 1].into());
    assert_eq!(add(&program, "x"), 201);
}

#[test]
fn the_log_has_one_line_per_request_and_no_contents_queries_or_tokens() {
    let folder = TempDir::new().expect("a temporary folder");
    let mut command = command(folder.path());
    command.args(["--log-format", "json", "--log-level", "trace"]);
    let program = Program::start_as(command, folder.path());
    let token = program.token.clone();
    assert_eq!(add(&program, "contents-are-private"), 201);
    program.send("POST", "/api/memory/search", br#"{"query":"queries-are-private"}"#);
    program.send("GET", "/api/memory?space=spaces-are-private&nope=1", b"");
    program.send("POST", "/api/memory/add", br#"{"content":"malformed-are-private"#);
    program.send("GET", "/api/memory/paths-are-private", b"");
    program.signal("TERM");
    let (status, log) = program.end();
    assert!(status.success());
    let secret = token.rsplit('_').next().expect("a secret");
    assert!(!log.contains("are-private"), "{log}");
    assert!(!log.contains(secret), "the token is in the log");
    let lines: Vec<serde_json::Value> =
        log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let requests: Vec<_> =
        lines.iter().filter(|line| line["fields"]["message"] == "responded").collect();
    assert_eq!(requests.len(), 5);
    assert_eq!(requests[0]["fields"]["route"], "/api/memory/add");
    assert_eq!(requests[0]["fields"]["status"], 201);
    assert!(requests[0]["span"]["id"].is_string());
}

#[test]
fn the_log_names_tokens_by_their_ids_and_requests_need_no_library_s_lines() {
    let folder = TempDir::new().expect("a temporary folder");
    let mut command = command(folder.path());
    command.args(["--log-format", "json", "--log-level", "info,waypost::request=debug"]);
    let program = Program::start_as(command, folder.path());
    let made = program.send("POST", "/api/tokens", br#"{"scopes":["memory:read"]}"#).json();
    let (id, token) = (made["info"]["id"].as_str(), made["token"].as_str().expect("a token"));
    let id = id.expect("an id").to_owned();
    assert_eq!(program.send("DELETE", &format!("/api/tokens/{id}"), b"").status, 200);
    for _ in 0..20 {
        let path = "/api/memory/status";
        crate::service::send(program.address, "GET", path, token, &[], b"").problem(401);
    }
    program.signal("TERM");
    let (_, log) = program.end();
    let lines: Vec<serde_json::Value> =
        log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let with = |message: &str| -> Vec<&serde_json::Value> {
        lines.iter().filter(|line| line["fields"]["message"] == message).collect()
    };
    for (message, level) in [("created a token", "INFO"), ("revoked a token", "INFO")] {
        let found = with(message);
        assert_eq!(found.len(), 1, "{log}");
        assert_eq!(
            (&found[0]["fields"]["id"], &found[0]["level"]),
            (&id.clone().into(), &level.into())
        );
    }
    let rejected = with("rejected a token");
    assert!((1..=3).contains(&rejected.len()), "{} lines for 20 requests", rejected.len());
    assert_eq!(rejected[0]["fields"]["reason"], "revoked");
    assert_eq!(rejected[0]["fields"]["id"], id);
    assert_eq!(with("responded").len(), 22);
    let debug = lines.iter().filter(|line| line["level"] == "DEBUG");
    assert!(debug.clone().all(|it| it["target"] == "waypost::request"), "{log}");
}

/// Ends a line, sets a title, clears the screen, and reorders what follows.
const DECEPTIVE: &str =
    "a\n2026-01-01T00:00:00Z  INFO forged\r\u{1b}]0;b\u{7}\u{9b}2J\u{7f}\u{202e}c";

#[test]
fn no_name_of_a_folder_begins_a_line_of_the_log_or_reaches_the_terminal() {
    let folder = TempDir::new().expect("a temporary folder");
    let project = folder.path().join(DECEPTIVE);
    std::fs::create_dir(&project).expect("a folder");
    for format in ["text", "json"] {
        let with_format = || {
            let mut command = command(&project);
            command.args(["--log-format", format]);
            command
        };
        let program = Program::start_as(with_format(), &project);
        // The reason why a start fails names the folder, too.
        let output = with_format().stderr(Stdio::piped()).output().expect("it can be run");
        program.signal("TERM");
        let log = program.end().1 + &String::from_utf8(output.stderr).expect("text");
        assert!(log.contains("listening on"), "{log:?}");
        let raw = log.chars().find(|c| *c != '\n' && waypost_api::is_deceptive(*c));
        assert_eq!(raw, None, "{log:?}");
        for line in log.lines() {
            if format == "json" {
                serde_json::from_str::<serde_json::Value>(line).expect("JSON");
            } else {
                assert!(!line.starts_with("2026-01-01"), "{line:?}");
            }
        }
        let shown = if format == "json" { "\\u009b2J" } else { "\\u{9b}2J" };
        assert!(log.contains(shown), "{log:?}");
    }
}

#[test]
fn a_start_that_fails_says_why_in_the_log_s_format() {
    let folder = TempDir::new().expect("a temporary folder");
    for (args, is_json) in [(&["--log-format", "json"][..], true), (&[], false)] {
        let mut command = command(folder.path());
        command.args(args).args(["--log-level", "off"]).env("WAYPOST_LIMITS_READS_MAX", "none");
        let output = command.stderr(Stdio::piped()).output().expect("it can be run");
        assert!(!output.status.success());
        let said = String::from_utf8(output.stderr).expect("text");
        let line: Option<serde_json::Value> = serde_json::from_str(&said).ok();
        assert_eq!(line.is_some(), is_json, "{said}");
        if let Some(line) = line {
            assert_eq!(line["level"], "ERROR");
            let message = line["fields"]["message"].as_str().expect("a text");
            assert!(message.to_lowercase().contains("reads_max"), "{message}");
            assert!(line["timestamp"].as_str().is_some_and(|it| it.ends_with('Z')), "{line}");
        }
    }
}

#[test]
fn a_process_that_a_killed_service_was_starting_may_hold_its_locks_for_a_moment() {
    let folder = TempDir::new().expect("a temporary folder");
    Program::start(folder.path()).kill();
    for lock in ["", "lock", "events", "events/lock"] {
        // As in a process that the killed service was just starting.
        let path = folder.path().join(".waypost/data").join(lock);
        let held = std::fs::File::open(path).expect("a lock");
        held.lock().expect("nobody has it");
        let mut held = Some(held);
        let mut child =
            command(folder.path()).stderr(Stdio::piped()).spawn().expect("it can be run");
        let mut log = String::new();
        for line in BufReader::new(child.stderr.take().expect("it is piped")).lines() {
            let line = line.expect("its log is text");
            log.push_str(&line);
            if line.contains("waiting for a killed service") {
                held = None;
            }
            if line.contains("listening on") {
                break;
            }
        }
        assert!(held.is_none() && log.contains("listening on"), "{lock}: {log}");
        child.kill().expect("it can be killed");
        end_of(&mut child);
    }
}
