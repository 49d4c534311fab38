//! Disks that are full or fail, under events and flows.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::client::Answer;
use crate::disk::{inside, mounted, on_small_disk, started};
use crate::flows::{HOLDS, project, wait_for};
use crate::program::{PROGRAM, Program, signal};

const MEBIBYTE: usize = 1 << 20;

fn publish(program: &Program, number: usize, text: &str) -> Answer {
    let body = json!({"type": "a:b", "data": {"n": number, "text": text}}).to_string();
    program.send("POST", "/api/events", body.as_bytes())
}

fn flows(program: &Program) -> Value {
    program.send("GET", "/api/flows", b"").json()
}

/// Repeats the request until the response satisfies the condition.
fn until<T>(mut ask: impl FnMut() -> T, is_wanted: impl Fn(&T) -> bool) -> T {
    crate::wait::until(|| {
        let answer = ask();
        if is_wanted(&answer) { Ok(answer) } else { Err("no answer is a wanted one") }
    })
}

fn metric(program: &Program, name: &str) -> u64 {
    let text = program.send("GET", "/metrics", b"").text();
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
    line.and_then(|line| line.parse().ok()).unwrap_or_else(|| panic!("{name} is not in\n{text}"))
}

#[test]
fn a_full_disk_rejects_events_keeps_reading_and_recovers() {
    let program = on_small_disk(96);
    let filler = inside(program.pid()).join("filler");
    let text = "x".repeat(60_000);
    assert_eq!(publish(&program, 0, "first").status, 201);
    fs::write(&filler, vec![1; 24 * MEBIBYTE]).expect("there is room yet");
    let mut kept = 1;
    let refused = until(
        || {
            let answer = publish(&program, kept, &text);
            kept += usize::from(answer.status == 201);
            assert!(kept < 1000, "the disk never fills");
            answer
        },
        |it| it.status != 201,
    );
    let detail = refused.problem(507);
    assert!(detail.contains("full"), "{detail}");
    // Reads continue, the rejected events do not exist, and no restart is necessary.
    let after = format!("/api/events?after={}", kept - 1);
    let newest = program.send("GET", &after, b"").json();
    assert_eq!(newest.as_array().map(Vec::len), Some(1), "{newest:.100}");
    assert_eq!(newest[0]["data"]["n"], kept - 1);
    assert_eq!(program.send("GET", "/readyz", b"").status, 200);
    assert_eq!(publish(&program, kept, &text).status, 507);

    fs::remove_file(&filler).expect("it is there");
    assert_eq!(publish(&program, kept, &text).status, 201);
    assert_eq!(metric(&program, "waypost_events"), kept as u64 + 1);
    assert_eq!(metric(&program, "waypost_events_fault"), 0);
}

#[test]
fn flows_stop_while_the_disk_is_full_and_then_continue() {
    let yaml = r#"
flows:
  - name: counts
    trigger: { pattern: "a:b" }
    breaker: 0
    actions: [{ type: command, command: "echo {{data.n}} >> numbers" }]
"#;
    let folder = project(yaml);
    // So that the folders exist.
    drop(Program::start(folder.path()));
    let journal = folder.path().join(".waypost/data/flows");
    let mut command = mounted(80, journal.to_str().expect("a path"));
    command.args(["--listen", "127.0.0.1:0", "--model", "none", "--project"]).arg(folder.path());
    let program = started(&mut command, |_| folder.path().to_owned());
    let seen = format!("/proc/{}/root{}/filler", program.pid(), journal.display());
    // A journal may grow as long as 64 MiB stay free, so this is soon too much.
    fs::write(&seen, vec![1; 14 * MEBIBYTE]).expect("there is room yet");
    let text = "x".repeat(60_000);
    let mut sent = 0;
    let halted = until(
        || {
            assert_eq!(publish(&program, sent, &text).status, 201, "events have room");
            sent += 1;
            assert!(sent < 1000, "the journal never fills");
            flows(&program)["halted"].clone()
        },
        Value::is_string,
    );
    assert!(halted.as_str().is_some_and(|it| it.contains("full")), "{halted}");
    assert_eq!(program.send("GET", "/readyz", b"").status, 200);
    let status = program.send("GET", "/api/memory/status", b"").json();
    assert_eq!((&status["status"], &status["remedy"]), (&json!("degraded"), &halted));
    assert_eq!(metric(&program, "waypost_flows_halted"), 1);

    fs::remove_file(&seen).expect("it is there");
    until(
        || flows(&program)["flows"][0]["ended"]["succeeded"].as_u64(),
        |it| *it == Some(sent as u64),
    );
    // What ended may have been decided before the disk took it.
    until(|| flows(&program)["halted"].clone(), Value::is_null);
    let numbers = fs::read_to_string(folder.path().join("numbers")).expect("a file");
    let wanted: Vec<String> = (0..sent).map(|number| number.to_string()).collect();
    assert_eq!(numbers.lines().collect::<Vec<_>>(), wanted, "each once, in order");
}

/// The program, with an optional limit on the size of files that it writes.
fn limitable(project: &Path) -> Program {
    let mut command = Command::new("sh");
    // Beyond the limit a write fails, but does not kill the program.
    command.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\"", PROGRAM]);
    command.args(["--listen", "127.0.0.1:0", "--model", "none", "--project"]).arg(project);
    command.env("WAYPOST_TRUST_PROJECT", "1").stdin(Stdio::null());
    Program::start_as(command, project)
}

#[test]
fn a_failing_journal_is_reported_and_the_next_start_continues() {
    let folder = project(HOLDS);
    let mut program = limitable(folder.path());
    assert_eq!(publish(&program, 0, "").status, 201);
    wait_for(&folder.path().join("token"));
    let limit = ["--fsize=1", "--pid", &program.pid().to_string()];
    let limited = Command::new("prlimit").args(limit).status();
    assert!(limited.expect("prlimit runs").success());
    // The action ends, and its end cannot be recorded.
    fs::write(folder.path().join("go"), "").expect("a file");
    let unready = until(|| program.send("GET", "/readyz", b""), |it| it.status != 200);
    let detail = unready.problem(503);
    assert!(detail.contains("flows have stopped") && detail.contains("restart it"), "{detail}");
    assert_eq!(flows(&program)["halted"], detail);
    assert_eq!(metric(&program, "waypost_flows_halted"), 1);
    let status = program.send("GET", "/api/memory/status", b"").json();
    assert_eq!((&status["status"], &status["remedy"]), (&json!("degraded"), &json!(detail)));
    let path = folder.path().to_string_lossy().into_owned();
    assert!(!status.to_string().contains(&path), "a path of the server is told");
    assert_eq!(program.send("GET", "/api/events/1", b"").status, 200, "reads go on");
    program.kill();

    let program = Program::start(folder.path());
    let run = until(
        || program.send("GET", "/api/flows/runs/holds.1", b"").json(),
        |value| value["endedAt"].is_string(),
    );
    let outcomes: Vec<&Value> =
        run["tries"].as_array().expect("an array").iter().map(|array| &array["outcome"]).collect();
    assert_eq!(
        (&run["state"], outcomes),
        (&json!("succeeded"), vec![&json!("interrupted"), &json!("succeeded")])
    );
    assert_eq!(program.send("GET", "/readyz", b"").status, 200);
    signal(program.pid(), "TERM");
    let (status, log) = program.end();
    assert!(status.success() && !log.contains("panicked"), "{log}");
}
