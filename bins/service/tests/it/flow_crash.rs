//! `kill -9` under publishers and flows: every event that was answered is there, and each flow that
//! wants it has run to its end for it.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use waypost_api::StreamRequest;
use waypost_api::client::{Client, Told};

use crate::flows::project;
use crate::program::{Program, command};
use crate::service::request;

const ROUNDS: usize = 5;
const PUBLISHERS: usize = 4;
/// Events of a publisher in a round, if it lives so long.
const EVENTS: usize = 8;
/// Runs that end in a round before the kill.
const ENDED: usize = 5;
const FLOWS: [&str; 3] = ["one", "two", "three"];

/// Publishes until it is done or the service is gone; the ids that were answered.
fn publish(address: SocketAddr, token: &str) -> Vec<u64> {
    let mut answered = Vec::new();
    for number in 0..EVENTS {
        let body = json!({"type": "a:b", "data": {"n": number}}).to_string();
        let bytes = request(address, "POST", "/api/events", token, &[], body.as_bytes());
        let Ok(mut stream) = TcpStream::connect(address) else { break };
        let mut answer = Vec::new();
        if stream.write_all(&bytes).is_err() || stream.read_to_end(&mut answer).is_err() {
            break;
        }
        let text = String::from_utf8_lossy(&answer);
        let event = text.split_once("\r\n\r\n").map(|(_, it)| serde_json::from_str::<Value>(it));
        let Some(Ok(event)) = event else { break };
        answered.push(event["id"].as_u64().unwrap_or_else(|| panic!("{text}")));
    }
    answered
}

/// Waits until so many runs have ended after that event.
fn wait_for_ends(program: &Program, after: u64) {
    let client = Client::new(&format!("http://{}", program.address), Some(&program.token));
    let asked = StreamRequest { pattern: Some("flow:*".to_owned()), after: Some(after) };
    let mut left = ENDED;
    let followed = client.expect("a client").follow_events(&asked, &mut |it| {
        left -= usize::from(matches!(it, Told::Event(_)));
        Ok(left > 0)
    });
    followed.expect("a stream");
}

/// Starts the program again. What the killed one was just beginning may hold its locks for a moment.
fn start_again(folder: &Path) -> Program {
    let mut starts = 0..50;
    loop {
        match Program::try_start(&mut command(folder), |_| folder.to_owned()) {
            Ok(program) => return program,
            Err(log) => assert!(starts.next().is_some(), "{log}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn last(program: &Program) -> u64 {
    let newest = program.send("GET", "/api/events?limit=1", b"").json();
    newest[0]["id"].as_u64().unwrap_or(0)
}

#[test]
fn every_answered_event_is_there_and_its_flows_ran_whenever_the_service_is_killed() {
    let flows: Vec<String> = FLOWS
        .iter()
        .map(|it| {
            let command = format!("echo $WAYPOST_EVENT_ID >> {it}.log");
            format!(
                "  - {{ name: {it}, trigger: {{ pattern: \"a:*\" }}, breaker: 0, actions: [{{ type: command, command: \"{command}\" }}] }}\n"
            )
        })
        .collect();
    let folder = project(&format!("flows:\n{}", flows.concat()));
    let mut answered = BTreeSet::new();
    for _ in 0..ROUNDS {
        let mut program = start_again(folder.path());
        let before = last(&program);
        let (address, token) = (program.address, program.token.clone());
        std::thread::scope(|scope| {
            let publishers: Vec<_> =
                (0..PUBLISHERS).map(|_| scope.spawn(|| publish(address, &token))).collect();
            wait_for_ends(&program, before);
            program.kill();
            for publisher in publishers {
                answered.extend(publisher.join().expect("no panic"));
            }
        });
    }
    let program = start_again(folder.path());
    let events = program.send("GET", "/api/events?after=0&limit=1000&pattern=a:*", b"").json();
    let events: Vec<u64> = events
        .as_array()
        .expect("an array")
        .iter()
        .map(|it| it["id"].as_u64().expect("an id"))
        .collect();
    assert!(answered.iter().all(|it| events.contains(it)), "{answered:?} {events:?}");
    let runs = loop {
        let runs = program.send("GET", "/api/flows/runs?limit=1000", b"").json();
        let runs = runs.as_array().expect("an array").clone();
        let ended = runs.iter().filter(|it| it["endedAt"].is_string()).count();
        if ended == events.len() * FLOWS.len() {
            break runs;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let mut repeated = 0;
    for run in &runs {
        let tries = run["tries"].as_array().expect("an array");
        let cut_off = tries.iter().filter(|it| it["outcome"] == "interrupted").count();
        repeated += cut_off;
        // What was cut off three times is given up; what is not is done.
        let is_done = run["state"] == "succeeded" || (run["state"] == "dead" && cut_off == 3);
        assert!(is_done, "{run}");
    }
    for flow in FLOWS {
        let done = fs::read_to_string(folder.path().join(format!("{flow}.log"))).expect("a file");
        let mut times = done.lines().map(|it| it.parse().expect("an id")).collect::<Vec<u64>>();
        times.sort_unstable();
        assert!(times.len() <= events.len() + repeated, "only what was cut off is repeated");
        times.dedup();
        let given_up = runs.iter().filter(|it| it["flow"] == flow && it["state"] == "dead").count();
        assert!(times.len() + given_up >= events.len(), "{flow}: {times:?}");
    }
}
