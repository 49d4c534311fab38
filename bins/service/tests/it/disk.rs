//! Full disks, and folders that are not writable. Needs root or user namespaces.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;
use tempfile::TempDir;

use crate::program::{PROGRAM, Program, command};
use crate::unshare::unshare;

const MOUNT: &str = "/mnt";

/// The program on a small file system that only it can see, and that disappears when it ends.
pub(crate) fn on_small_disk(mebibytes: u32) -> Program {
    let mut command = mounted(mebibytes, MOUNT);
    command.args(["--listen", "127.0.0.1:0", "--model", "none", "--project", MOUNT]);
    started(&mut command, inside)
}

/// Runs the program with a small file system at that folder, which only the program can see.
pub(crate) fn mounted(mebibytes: u32, at: &str) -> Command {
    let script = format!("mount -t tmpfs -o size={mebibytes}m tmpfs {at} && exec \"$0\" \"$@\"");
    let mut command = unshare();
    command.args(["--mount", "--propagation", "private", "sh", "-c", &script, PROGRAM]);
    command.env_clear().env("WAYPOST_TRUST_PROJECT", "1").stdin(Stdio::null());
    command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    command
}

pub(crate) fn started(command: &mut Command, project: impl FnOnce(u32) -> PathBuf) -> Program {
    Program::try_start(command, project)
        .unwrap_or_else(|log| panic!("needs root or user namespaces to mount a small disk: {log}"))
}

/// The mount, seen from outside.
pub(crate) fn inside(pid: u32) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/root{MOUNT}"))
}

fn add(program: &Program, content: &str) -> crate::client::Answer {
    program.send("POST", "/api/memory/add", json!({"content": content}).to_string().as_bytes())
}

#[test]
fn a_full_disk_rejects_writes_keeps_reading_and_recovers() {
    let program = on_small_disk(96);
    let filler = inside(program.pid()).join("filler");
    let mut kept = Vec::new();
    assert_eq!(add(&program, "the first one").status, 201);
    // Other data fill all but 48 MiB.
    std::fs::write(&filler, vec![1; 48 * 1024 * 1024]).expect("there is room yet");
    let refused = loop {
        let content = format!("{} {}", kept.len(), "x".repeat(512 * 1024));
        let answer = add(&program, &content);
        if answer.status != 201 {
            break answer;
        }
        kept.push((answer.json()["id"].as_u64().expect("an id"), content));
        assert!(kept.len() < 1000, "the disk never fills");
    };
    let detail = refused.problem(507);
    assert!(detail.contains("full") && !detail.contains(MOUNT), "{detail}");

    // Reads continue, and no acknowledged data are lost.
    let hits = program.send("POST", "/api/memory/search", br#"{"query":"first"}"#);
    assert_eq!(hits.json()[0]["content"], "the first one");
    let ready = program.send("GET", "/readyz", b"");
    assert_eq!((ready.status, &ready.json()["status"]), (200, &json!("degraded")));
    let detail = ready.json()["detail"].as_str().expect("a detail").to_owned();
    assert!(detail.contains("MiB free") && detail.contains("make room"), "{detail}");
    let status = program.send("GET", "/api/memory/status", b"").json();
    assert_eq!((&status["status"], &status["remedy"]), (&json!("degraded"), &json!(detail)));
    let again = add(&program, &"y".repeat(512 * 1024)).status;
    assert!(again == 507, "{again}");

    std::fs::remove_file(&filler).expect("it is there");
    assert_eq!(add(&program, "there is room again").status, 201);
    for (id, content) in &kept {
        let memory = program.send("GET", &format!("/api/memory/{id}"), b"").json();
        assert_eq!(&memory["content"], content);
    }
    let status = program.send("GET", "/api/memory/status", b"").json();
    assert_eq!(status["memories"], kept.len() + 2);
    program.signal("TERM");
    let (status, log) = program.end();
    assert!(status.success(), "{log}");
    assert!(!log.contains("panicked"), "{log}");
}

/// Writes to the file until the disk has no byte left.
fn fill(filler: &Path) {
    let mut file =
        std::fs::OpenOptions::new().create(true).append(true).open(filler).expect("a file");
    for bytes in [1 << 20, 1 << 12, 1] {
        while std::io::Write::write_all(&mut file, &vec![1; bytes]).is_ok() {}
    }
}

#[test]
fn a_full_disk_does_not_prevent_that_tokens_are_revoked() {
    let program = on_small_disk(96);
    let place = inside(program.pid());
    let create = || program.send("POST", "/api/tokens", br#"{"scopes":["memory:read"]}"#);
    let tokens: Vec<_> = (0..20)
        .map(|_| {
            let token = create().json();
            let text = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
            (text(&token["info"]["id"]), text(&token["token"]))
        })
        .collect();
    for (id, _) in &tokens {
        // Another program takes what becomes free.
        fill(&place.join("filler"));
        for _ in 0..2 {
            let revoked = program.send("DELETE", &format!("/api/tokens/{id}"), b"");
            assert_eq!(revoked.status, 200, "{}", revoked.text());
        }
    }
    create().problem(507);
    // As after a power cut.
    let copy = TempDir::new().expect("a temporary folder");
    std::fs::remove_file(place.join("filler")).expect("it is there");
    let copied = Command::new("cp").arg("-a").arg(place.join(".waypost")).arg(copy.path()).status();
    assert!(copied.expect("it runs").success());
    assert_eq!(create().status, 201, "there is room again");
    let again = Program::start(copy.path());
    for (id, token) in &tokens {
        for program in [&program, &again] {
            let path = "/api/memory/status";
            let status = crate::service::send(program.address, "GET", path, token, &[], b"").status;
            assert_eq!(status, 401, "{id}");
        }
    }
    // Space is reserved again.
    let reserve = place.join(".waypost/data/tokens.json.reserve");
    assert!(std::fs::metadata(reserve).is_ok_and(|it| it.len() >= 64 * 1024));
}

/// Runs the program twice on one small disk, which other data fill completely in between. Kills the
/// first one, and returns what the second one says, and a third one after the disk has room again.
fn restarted_on_a_full_disk() -> (String, String) {
    let script = format!(
        "set -e; mount -t tmpfs -o size=96m tmpfs {MOUNT}; cd {MOUNT}
        start() {{ \"$0\" --listen 127.0.0.1:0 --model none --project {MOUNT} 2>\"$1\" & pid=$!; }}
        stopped() {{ kill -9 $pid 2>/dev/null || true; wait $pid || true; }}
        listens() {{ while kill -0 $pid 2>/dev/null && ! grep -q 'listening on' \"$1\"; do :; done; }}
        logs=$1; start $logs/1; listens $logs/1; stopped; grep -q 'listening on' $logs/1
        dd if=/dev/zero of=filler bs=65536 2>/dev/null || true
        start $logs/2; listens $logs/2; stopped
        rm filler; start $logs/3; listens $logs/3; stopped"
    );
    let logs = TempDir::new().expect("a temporary folder");
    let mut command = unshare();
    command.args(["--mount", "--propagation", "private", "sh", "-c", &script, PROGRAM]);
    command.arg(logs.path()).env_clear().env("WAYPOST_TRUST_PROJECT", "1");
    command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").stdin(Stdio::null());
    let output = command.output().expect("unshare runs");
    let read = |name| std::fs::read_to_string(logs.path().join(name)).unwrap_or_default();
    assert!(output.status.success(), "{}{}", String::from_utf8_lossy(&output.stderr), read("1"));
    (read("2"), read("3"))
}

#[test]
fn a_start_on_a_full_disk_after_a_kill_names_the_remedy_and_spoils_nothing() {
    let (full, free) = restarted_on_a_full_disk();
    let starts = full.contains("listening on");
    let named = full.contains("disk is full") && full.contains("a start needs up to 16");
    assert!(starts || named, "{full}");
    assert!(!full.contains("panicked"), "{full}");
    // The attempt has not made the state unusable.
    assert!(free.contains("listening on") && !free.contains("rebuilt state"), "{free}");
}

#[test]
fn a_store_that_cannot_be_written_is_told_at_the_start() {
    let folder = TempDir::new().expect("a temporary folder");
    drop(Program::start(folder.path()));
    let data = folder.path().join(".waypost/data");
    // A read-only mount, because permissions do not stop root.
    let script =
        "mount --bind \"$1\" \"$1\" && mount -o remount,ro,bind \"$1\" && shift && exec \"$@\"";
    let mut child = Command::new("unshare");
    child.args(["--mount", "--propagation", "private", "sh", "-c", script, "sh"]).arg(&data);
    child.arg(PROGRAM).args(["--listen", "127.0.0.1:0", "--model", "none", "--project"]);
    child.arg(folder.path()).env("WAYPOST_TRUST_PROJECT", "1").stdin(Stdio::null());
    let output = child.output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("Read-only") && said.contains("data"), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    // Nothing was changed.
    let program = Program::start(folder.path());
    assert_eq!(add(&program, "x").status, 201);
}

#[test]
fn a_damaged_store_is_told_at_the_start_and_never_panics() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = Program::start(folder.path());
    for number in 0..50 {
        assert_eq!(add(&program, &format!("memory {number}")).status, 201);
    }
    drop(program);
    let log = folder.path().join(".waypost/data/memory/log");
    let segment = std::fs::read_dir(&log)
        .expect("the log's folder")
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.metadata().is_ok_and(|metadata| metadata.len() > 4096))
        .expect("a segment");
    let mut bytes = std::fs::read(&segment).expect("it can be read");
    let at =
        bytes.windows(9).position(|window| window == b"memory 20").expect("the record is there");
    bytes[at + 3] ^= 0x10;
    std::fs::write(&segment, bytes).expect("it can be written");
    // Derived data are removed, too, so that the log is needed.
    for derived in ["state", "index", "vectors"] {
        let path = folder.path().join(".waypost/data/memory").join(derived);
        if path.exists() {
            std::fs::remove_dir_all(path).expect("it can be removed");
        }
    }
    let output = command(folder.path()).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("doctor") && !said.contains("panicked"), "{said}");
}

/// Flips a bit of the one file below the folder that contains the text, inside the text.
fn damage(folder: &Path, text: &str) -> String {
    let mut files =
        std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path());
    let place =
        |bytes: &[u8]| bytes.windows(text.len()).position(|window| window == text.as_bytes());
    let (path, at, mut bytes) = files
        .find_map(|path| {
            let bytes = std::fs::read(&path).ok()?;
            Some((path, place(&bytes)?, bytes))
        })
        .expect("a file has the text");
    bytes[at] ^= 0x10;
    let file = std::fs::OpenOptions::new().write(true).open(&path).expect("it can be written");
    std::os::unix::fs::FileExt::write_all_at(&file, &bytes[at..=at], at as u64).expect("written");
    path.file_name().expect("a file").to_string_lossy().into_owned()
}

#[test]
fn damage_that_a_read_finds_shows_in_readiness_status_metrics_and_log() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = Program::start(folder.path());
    let mut published = Vec::new();
    for number in 0..9 {
        assert_eq!(add(&program, &format!("memory number {number}")).status, 201);
        let event = format!(r#"{{"type":"a:b","data":{{"text":"event number {number}"}}}}"#);
        let answer = program.send("POST", "/api/events", event.as_bytes());
        assert_eq!(answer.status, 201);
        published.push(answer.json()["id"].as_u64().expect("an id"));
    }
    assert_eq!(program.send("GET", "/readyz", b"").json()["status"], "ready");
    let metric = |store: &str| {
        let text = program.send("GET", "/metrics", b"").text();
        let name = format!("waypost_damaged_records{{store=\"{store}\"}} ");
        text.lines().find_map(|line| line.strip_prefix(&name)).map(str::to_owned)
    };
    assert_eq!(metric("memory").as_deref(), Some("0"));

    let data = folder.path().join(".waypost/data");
    let file = damage(&data.join("memory/log"), "memory number 4");
    for path in ["/api/memory/5", "/api/backup"] {
        let detail = program.send("GET", path, b"").problem(500);
        assert!(detail.contains("the memory store is damaged: stop the service"), "{detail}");
    }
    // Its neighbours are as they were.
    assert_eq!(program.send("GET", "/api/memory/6", b"").json()["content"], "memory number 5");
    let ready = program.send("GET", "/readyz", b"");
    assert_eq!((ready.status, &ready.json()["status"]), (200, &json!("degraded")));
    let detail = ready.json()["detail"].as_str().expect("a detail").to_owned();
    assert!(detail.contains("memory store") && detail.contains("ctl doctor"), "{detail}");
    let status = program.send("GET", "/api/memory/status", b"").json();
    assert_eq!((&status["status"], &status["remedy"]), (&json!("degraded"), &json!(detail)));
    assert_eq!(metric("memory").as_deref(), Some("1"));
    assert_eq!(metric("events").as_deref(), Some("0"));

    let of_events = damage(&data.join("events/log"), "event number 7");
    program.send("GET", "/api/events?after=0", b"").problem(500);
    assert_eq!(metric("events").as_deref(), Some("1"));

    program.signal("TERM");
    let (_, log) = program.end();
    let errors: Vec<&str> = log.lines().filter(|line| line.contains("ERROR")).collect();
    let named = |place: &str, record: &str| {
        errors.iter().any(|error| error.contains(place) && error.contains(record))
    };
    // Only one record.
    assert!(named(&format!("memory/log/{file}"), ", sequence "), "{log}");
    assert!(
        named(&format!("events/log/{of_events}"), &format!(", event {}", published[7])),
        "{log}"
    );
}

#[test]
fn a_store_whose_files_are_removed_while_the_service_runs_takes_no_more() {
    let add = ("/api/memory/add", r#"{"content":"after"}"#);
    let publish = ("/api/events", r#"{"type":"a:b","data":{}}"#);
    for (removed, (path, body)) in [
        ("events", publish),
        ("events/log", publish),
        ("memory", add),
        ("memory/log", add),
        ("flows/log", publish),
    ] {
        let folder = TempDir::new().expect("a temporary folder");
        let flows = folder.path().join(".waypost/flows");
        std::fs::create_dir_all(&flows).expect("a folder");
        let flow = "flows: [{name: x, trigger: {pattern: 'a:*'}, actions: [{type: command, command: 'true'}]}]";
        std::fs::write(flows.join("x.yaml"), flow).expect("a file");
        let program = Program::start(folder.path());
        std::fs::remove_dir_all(folder.path().join(".waypost/data").join(removed)).expect("there");
        // The engine of flows may have written since, and noticed.
        if removed != "flows/log" {
            let ready = program.send("GET", "/readyz", b"");
            let said = (ready.status, &ready.json()["status"]);
            assert_eq!(said, (200, &json!("degraded")), "{removed}");
        }
        let answer = program.send("POST", path, body.as_bytes());
        if removed == "flows/log" {
            assert_eq!(answer.status, 201);
        } else {
            answer.problem(503);
        }
        let detail = loop {
            let ready = program.send("GET", "/readyz", b"");
            if ready.status == 503 {
                break ready.problem(503);
            }
        };
        assert!(detail.contains("ctl doctor"), "{removed}: {detail}");
        program.signal("TERM");
        let log = program.end().1;
        assert!(log.contains("removed or replaced while it was in use"), "{removed}: {log}");
    }
}

#[test]
fn a_state_whose_marker_is_removed_while_the_service_runs_is_closed_in_order() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = Program::start(folder.path());
    let marker = folder.path().join(".waypost/data/memory/state/waypost-running");
    std::fs::remove_file(marker).expect("it is there");
    program.signal("TERM");
    let (status, log) = program.end();
    assert!(status.success(), "{log}");
}
