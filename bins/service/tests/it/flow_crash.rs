//! `kill -9` under publishers and flows: every acknowledged event exists, and each flow that
//! matches it has run to its end for it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;

use serde_json::{Value, json};
use waypost_api::StreamRequest;
use waypost_api::client::{Client, Told};

use crate::flows::project;
use crate::program::Program;
use crate::service::request;
use crate::wait::until;

/// The number of rounds, unless the environment sets it.
const ROUNDS: usize = 5;
/// The variable with the number of rounds: `just kills 50`.
const ROUNDS_VARIABLE: &str = "WAYPOST_TEST_KILLS";
/// The number of rounds between two checks of everything, so that no run is forgotten by then: the
/// history has the newest 1000 of each flow.
const ROUNDS_BETWEEN: usize = 10;
const PUBLISHERS: usize = 4;
/// Events of a publisher in a round, if it lives that long.
const EVENTS: usize = 12;
const FLOWS: [&str; 3] = ["one", "two", "three"];

/// The published events, by acknowledged id.
type Answered = BTreeMap<u64, Value>;

/// Publishes until it is done or the service is gone.
fn publish(address: SocketAddr, token: &str, round: usize, publisher: usize) -> Answered {
    let mut answered = Answered::new();
    for number in 0..EVENTS {
        let data = json!({"round": round, "publisher": publisher, "number": number});
        let body = json!({"type": "a:b", "data": data}).to_string();
        let bytes = request(address, "POST", "/api/events", token, &[], body.as_bytes());
        let Ok(mut stream) = TcpStream::connect(address) else { break };
        let mut answer = Vec::new();
        if stream.write_all(&bytes).is_err() || stream.read_to_end(&mut answer).is_err() {
            break;
        }
        let text = String::from_utf8_lossy(&answer);
        let event = text.split_once("\r\n\r\n").map(|(_, it)| serde_json::from_str::<Value>(it));
        let Some(Ok(event)) = event else { break };
        answered.insert(event["id"].as_u64().unwrap_or_else(|| panic!("{text}")), data);
    }
    answered
}

/// Waits until that many runs have ended after that event.
fn wait_for_ends(program: &Program, after: u64, ends: usize) {
    let client = Client::new(&format!("http://{}", program.address), Some(&program.token));
    let asked = StreamRequest { pattern: Some("flow:*".to_owned()), after: Some(after) };
    let mut left = ends;
    let followed = client.expect("a client").follow_events(&asked, &mut |it| {
        left -= usize::from(matches!(it, Told::Event(_)));
        Ok(left > 0)
    });
    followed.expect("a stream");
}

fn last(program: &Program) -> u64 {
    let newest = program.send("GET", "/api/events?limit=1", b"").json();
    newest[0]["id"].as_u64().unwrap_or(0)
}

/// The publishers' events after that event, by id; each once, and each publisher's in its order.
fn published(program: &Program, mut after: u64) -> Answered {
    let mut found = Answered::new();
    let mut newest = BTreeMap::new();
    loop {
        let path = format!("/api/events?after={after}&limit=1000&pattern=a:*");
        let page = program.send("GET", &path, b"").json();
        let page = page.as_array().expect("an array").clone();
        for event in &page {
            let id = event["id"].as_u64().expect("an id");
            assert!(id > after, "{id} comes after {after}");
            after = id;
            let data = event["data"].clone();
            let of = |name: &str| data[name].as_u64().expect("a number");
            let before = newest.insert((of("round"), of("publisher")), of("number"));
            assert!(before.is_none_or(|it| it < of("number")), "{data} after {before:?}");
            found.insert(id, data);
        }
        if page.len() < 1000 {
            return found;
        }
    }
}

/// The runs of a flow for those events, once all of them have ended.
fn ended_runs(program: &Program, flow: &str, events: &Answered) -> BTreeMap<u64, Value> {
    until(|| {
        let path = format!("/api/flows/runs?flow={flow}&limit=1000");
        let runs = program.send("GET", &path, b"").json();
        let mut ended = BTreeMap::new();
        for run in runs.as_array().expect("an array") {
            let event = run["event"].as_u64().expect("an id");
            if run["endedAt"].is_string() && events.contains_key(&event) {
                assert!(ended.insert(event, run.clone()).is_none(), "two runs for {event}");
            }
        }
        if ended.len() == events.len() {
            return Ok(ended);
        }
        Err(format!("{} of {} runs have ended", ended.len(), events.len()))
    })
}

/// The results of all rounds.
#[derive(Debug, Default)]
struct Seen {
    events: usize,
    runs: usize,
    repeated: usize,
    given_up: usize,
}

impl Seen {
    /// Checks everything that was published after that event.
    fn check(&mut self, program: &Program, folder: &Path, after: u64, answered: &Answered) {
        let events = published(program, after);
        for (id, data) in answered {
            assert_eq!(events.get(id), Some(data), "event {id} was answered");
        }
        self.events += events.len();
        for flow in FLOWS {
            let runs = ended_runs(program, flow, &events);
            let text = fs::read_to_string(folder.join(format!("{flow}.log"))).expect("a file");
            let mut done: BTreeMap<u64, usize> = BTreeMap::new();
            for line in text.lines() {
                *done.entry(line.parse().expect("an id")).or_default() += 1;
            }
            for (event, run) in runs {
                let tries = run["tries"].as_array().expect("an array");
                let cut_off = tries.iter().filter(|it| it["outcome"] == "interrupted").count();
                let times = done.get(&event).copied().unwrap_or(0);
                // An interrupted action may have run, and its history says that it was interrupted.
                match run["state"].as_str() {
                    Some("succeeded") => assert!((1..=1 + cut_off).contains(&times), "{run}"),
                    Some("failed") => assert!(cut_off == 3 && times <= 3, "{run}"),
                    _ => panic!("{run}"),
                }
                self.runs += 1;
                self.repeated += usize::from(times > 1);
                self.given_up += usize::from(run["state"] == "failed");
            }
        }
    }
}

#[test]
fn every_acknowledged_event_exists_and_its_flows_ran_whenever_the_service_is_killed() {
    let rounds =
        std::env::var(ROUNDS_VARIABLE).map_or(ROUNDS, |value| value.parse().expect("a number"));
    let flows: Vec<String> = FLOWS
        .iter()
        .map(|flow| {
            let command = format!("echo $WAYPOST_EVENT_ID >> {flow}.log");
            format!(
                "  - {{ name: {flow}, trigger: {{ pattern: \"a:*\" }}, breaker: 0, actions: [{{ type: command, command: \"{command}\" }}] }}\n"
            )
        })
        .collect();
    let folder = project(&format!("flows:\n{}", flows.concat()));
    let (mut answered, mut seen, mut checked) = (Answered::new(), Seen::default(), 0);
    let mut counted = BTreeSet::new();
    for round in 0..rounds {
        let mut program = Program::start(folder.path());
        if round > 0 && round % ROUNDS_BETWEEN == 0 {
            seen.check(&program, folder.path(), checked, &answered);
            checked = last(&program);
            answered.clear();
        }
        let before = last(&program);
        let (address, token) = (program.address, program.token.clone());
        std::thread::scope(|scope| {
            let publish = |it| publish(address, &token, round, it);
            let publishers: Vec<_> =
                (0..PUBLISHERS).map(|number| scope.spawn(move || publish(number))).collect();
            wait_for_ends(&program, before, 1 + round * 5 % 13);
            program.kill();
            for publisher in publishers {
                answered.extend(publisher.join().expect("no panic"));
            }
        });
        counted.extend(answered.keys().copied());
    }
    let program = Program::start(folder.path());
    seen.check(&program, folder.path(), checked, &answered);
    assert!(seen.events >= counted.len() && seen.runs == seen.events * FLOWS.len(), "{seen:?}");
    println!("{rounds} kills, {} events answered: {seen:?}", counted.len());
}
