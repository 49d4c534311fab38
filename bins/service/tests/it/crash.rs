//! `kill -9` during every operation: acknowledged data exist, and the store opens again.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::mpsc;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::child::end_of;
use crate::client::{connect, read};
use crate::program::{Program, command};
use crate::service::{batch, request};
use crate::wait::until;

/// Acknowledged memories: id and content.
type Answered = BTreeMap<u64, String>;

/// Adds until the service is gone; sends every acknowledged memory to the channel.
fn add_until_gone(
    address: SocketAddr,
    token: &str,
    name: &str,
    answered: &mpsc::Sender<(u64, String)>,
) {
    for number in 0.. {
        let content = format!("{name} number {number}");
        let body = json!({"content": content}).to_string();
        let bytes = request(address, "POST", "/api/memory/add", token, &[], body.as_bytes());
        let Ok(mut stream) = std::net::TcpStream::connect(address) else { return };
        if stream.write_all(&bytes).is_err() {
            return;
        }
        let mut answer = Vec::new();
        // A killed service may have sent a response in full or in part.
        let ended = stream.read_to_end(&mut answer).is_ok();
        let text = String::from_utf8_lossy(&answer);
        let memory = text.split_once("\r\n\r\n").map(|(_, it)| serde_json::from_str::<Value>(it));
        let Some(Ok(memory)) = memory.filter(|_| ended) else { return };
        let id = memory["id"].as_u64().unwrap_or_else(|| panic!("{text}"));
        if answered.send((id, content)).is_err() {
            return;
        }
    }
}

/// Runs writers against the program, kills it after that many responses, returns the acknowledged
/// memories.
fn kill_while_adding(mut program: Program, round: usize, answers: usize, kept: &mut Answered) {
    let (address, token) = (program.address, program.token.clone());
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let (sender, token) = (sender.clone(), &token);
            let name = format!("round {round} writer {writer}");
            scope.spawn(move || add_until_gone(address, token, &name, &sender));
        }
        drop(sender);
        kept.extend(receiver.iter().take(answers));
        program.kill();
        kept.extend(receiver.iter());
    });
}

/// Every acknowledged memory exists with its content.
fn check(program: &Program, kept: &Answered) {
    let mut found = BTreeMap::new();
    let mut after = 0;
    loop {
        let page =
            program.send("GET", &format!("/api/memory?limit=1000&after={after}"), b"").json();
        let page = page.as_array().expect("an array").clone();
        let Some(last) = page.last() else { break };
        after = last["id"].as_u64().expect("an id");
        for it in &page {
            let id = it["id"].as_u64().expect("an id");
            found.insert(id, it["content"].as_str().expect("a text").to_owned());
        }
    }
    for (id, content) in kept {
        assert_eq!(found.get(id), Some(content), "memory {id} was answered and is lost");
    }
    // A large index is built beside the answers; all memories are counted from the start.
    let status = until(|| {
        let status = program.send("GET", "/api/memory/status", b"").json();
        assert_eq!(status["memories"], found.len());
        if status["index"]["lacking"] == 0 { Ok(status) } else { Err(status) }
    });
    assert_eq!(status["index"]["documents"], found.len());
}

#[test]
fn acknowledged_adds_survive_twenty_kills() {
    let folder = TempDir::new().expect("a temporary folder");
    let mut kept = Answered::new();
    for round in 0..20 {
        let program = Program::start(folder.path());
        check(&program, &kept);
        kill_while_adding(program, round, 3 + round * 7 % 60, &mut kept);
    }
    check(&Program::start(folder.path()), &kept);
}

#[test]
fn a_kill_during_a_reindex_loses_nothing() {
    let folder = TempDir::new().expect("a temporary folder");
    let mut kept = Answered::new();
    for round in 0..10 {
        let program = Program::start(folder.path());
        check(&program, &kept);
        let lines: String = batch(300, |it| format!("{round} {it}"));
        for (number, it) in
            program.send("POST", "/api/memory/batch", lines.as_bytes()).lines().iter().enumerate()
        {
            kept.insert(it["id"].as_u64().expect("an id"), format!("{round} {number}"));
        }
        let accept = [("accept", "text/event-stream")];
        let path = "/api/memory/index";
        let bytes = request(program.address, "POST", path, &program.token, &accept, b"{}");
        let mut stream = connect(program.address);
        stream.write_all(&bytes).expect("a connection");
        // The first bytes of the stream show that it is running, or has just ended.
        stream.read_exact(&mut [0; 12]).expect("an answer");
        kill_while_adding(program, round, round, &mut kept);
    }
    check(&Program::start(folder.path()), &kept);
}

#[test]
fn a_kill_while_state_and_index_are_built_anew_loses_nothing() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = Program::start(folder.path());
    let lines: String = batch(3000, |it| format!("memory {it}"));
    let mut kept = Answered::new();
    for (number, it) in
        program.send("POST", "/api/memory/batch", lines.as_bytes()).lines().iter().enumerate()
    {
        kept.insert(it["id"].as_u64().expect("an id"), format!("memory {number}"));
    }
    drop(program);
    let data = folder.path().join(".waypost/data/memory");
    for round in 0..10 {
        for derived in ["state", "index"] {
            std::fs::remove_dir_all(data.join(derived)).expect("it goes");
        }
        let mut child = command(folder.path())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("it can be run");
        // From before the state's first file to when searches are answered from a part of it.
        std::thread::park_timeout(std::time::Duration::from_millis(10 + 25 * round));
        child.kill().expect("it can be killed");
        end_of(&mut child);
        check(&Program::start(folder.path()), &kept);
    }
}

#[test]
fn a_kill_during_an_import_leaves_a_store_that_takes_it_again() {
    let source = TempDir::new().expect("a temporary folder");
    let program = Program::start(source.path());
    let lines: String = batch(3000, |it| format!("memory {it}"));
    program.send("POST", "/api/memory/batch", lines.as_bytes());
    let export = program.send("GET", "/api/memory/export", b"");
    for round in 0..10 {
        let folder = TempDir::new().expect("a temporary folder");
        let mut half = Program::start(folder.path());
        let path = "/api/memory/import";
        let bytes = request(half.address, "POST", path, &half.token, &[], &export.body);
        let mut stream = connect(half.address);
        // More of it in each round; in the last round all of it.
        stream.write_all(&bytes[..bytes.len() * (round + 1) / 10]).expect("a connection");
        if round % 3 == 0 {
            let memories = |half: &Program| half.send("GET", "/api/memory/status", b"").json();
            assert!(memories(&half)["memories"].as_u64() <= Some(3000));
        }
        half.kill();
        let whole = Program::start(folder.path());
        let imported = whole.send("POST", path, &export.body);
        assert_eq!(imported.status, 200, "{}", imported.text());
        assert_eq!(whole.send("GET", "/api/memory/export", b"").body, export.body);
    }
}

#[test]
fn a_kill_during_the_first_start_leaves_what_the_next_one_needs() {
    let mut listening = 0;
    for files in 0..10 {
        let folder = TempDir::new().expect("a temporary folder");
        let mut child = command(folder.path())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("it can be run");
        while entries(folder.path()) < files && child.try_wait().expect("a child").is_none() {}
        child.kill().expect("it can be killed");
        end_of(&mut child);
        let program = Program::start(folder.path());
        let added = program.send("POST", "/api/memory/add", br#"{"content":"first"}"#);
        assert_eq!(added.status, 201, "{}", added.text());
        listening += 1;
    }
    assert_eq!(listening, 10);
}

/// Files and folders below, all levels.
fn entries(folder: &Path) -> usize {
    let Ok(list) = std::fs::read_dir(folder) else { return 0 };
    list.flatten().map(|item| 1 + entries(&item.path())).sum()
}

#[test]
fn a_broken_connection_in_the_middle_of_an_answer_harms_nothing() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = Program::start(folder.path());
    for number in 0..20 {
        let body = json!({"content": format!("gone {number}")}).to_string();
        let path = "/api/memory/add";
        let bytes = request(program.address, "POST", path, &program.token, &[], body.as_bytes());
        let mut stream = connect(program.address);
        stream.write_all(&bytes[..bytes.len() - number]).expect("a connection");
    }
    let body = br#"{"content":"stays"}"#;
    let path = "/api/memory/add";
    let mut stream = connect(program.address);
    let bytes = request(program.address, "POST", path, &program.token, &[], body);
    stream.write_all(&bytes).expect("a connection");
    assert_eq!(read(&mut stream).expect("an answer").status, 201);
}
