//! Web hooks with a real receiver, which has a public address: the receiver and the service run in
//! their own network namespace, in which such an address is local. Needs root or user namespaces.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::flows::{data, project};
use crate::namespace::{in_a_network, is_in_a_network};
use crate::service::Service;

const ADDRESS: &str = "1.2.3.4";
const KEY: &[u8] = b"a key of the receiver's own.";

#[test]
fn hooks_reach_a_receiver_that_checks_their_signature() {
    in_a_network(ADDRESS, "", "flow_hooks::in_a_network_of_its_own");
}

/// A received request.
#[derive(Debug)]
struct Received {
    path: String,
    headers: BTreeMap<String, String>,
    body: String,
}

impl Received {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("no {name} in {self:?}"))
    }

    /// The check of a receiver, according to the standard.
    fn check(&self) {
        let (id, at) = (self.header("webhook-id"), self.header("webhook-timestamp"));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
        assert!(now.abs_diff(at.parse().expect("seconds")) < 300, "{self:?}");
        let signed = format!("{id}.{at}.{}", self.body);
        let wanted = format!("v1,{}", STANDARD.encode(hmac_sha256(KEY, signed.as_bytes())));
        let signatures = self.header("webhook-signature");
        assert!(signatures.split(' ').any(|it| it == wanted), "{self:?}");
        assert_eq!(self.header("content-type"), "application/json");
    }
}

/// RFC 2104, for keys up to a block.
pub(crate) fn hmac_sha256(key: &[u8], text: &[u8]) -> [u8; 32] {
    let pad = |with: u8| {
        let mut block = [with; 64];
        block.iter_mut().zip(key).for_each(|(it, key)| *it ^= key);
        block
    };
    let inner = Sha256::new().chain_update(pad(0x36)).chain_update(text).finalize();
    Sha256::new().chain_update(pad(0x5c)).chain_update(inner).finalize().into()
}

/// Responds to each request on its own thread.
fn receive(listener: &TcpListener, got: &Sender<Received>) {
    for (seen, stream) in (1..).zip(listener.incoming()) {
        let (stream, got) = (stream.expect("a connection"), got.clone());
        std::thread::spawn(move || answer(stream, &got, seen));
    }
}

fn answer(stream: TcpStream, got: &Sender<Received>, seen: usize) {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a request");
        if line.trim().is_empty() {
            break;
        }
        lines.push(line.trim().to_owned());
    }
    let path = lines[0].split(' ').nth(1).expect("a path").to_owned();
    let headers: BTreeMap<String, String> = lines[1..]
        .iter()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length =
        headers.get("content-length").map_or(0, |header| header.parse().expect("a number"));
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    let body = String::from_utf8(body).expect("text");
    let status = match path.as_str() {
        // Only the first time.
        "/flaky" if seen == 2 => "500 Internal Server Error\r\nretry-after: 0",
        "/moved" => "302 Found\r\nlocation: /ok",
        _ => "204 No Content",
    };
    let is_slow = path == "/slow";
    got.send(Received { path, headers, body }).expect("the test waits");
    let mut stream = reader.into_inner();
    if is_slow {
        // Until the client gives up.
        drop(stream.read(&mut [0]));
        return;
    }
    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    // A client may have disconnected.
    drop(stream.write_all(answer.as_bytes()));
}

fn flow(name: &str, url: &str, more: &str) -> String {
    format!(
        "  - {{ name: {name}, trigger: {{ pattern: \"hook:{name}\" }}, actions: [{{ type: http, url: \"{url}\", sign: HOOK_SECRET{more} }}] }}\n"
    )
}

#[test]
fn in_a_network_of_its_own() {
    if !is_in_a_network() {
        return;
    }
    let listener = TcpListener::bind((ADDRESS, 0)).expect("the address is ours");
    let at = format!("http://{}", listener.local_addr().expect("an address"));
    let (got, received) = channel();
    std::thread::spawn(move || receive(&listener, &got));
    let yaml = [
        flow("ok", &format!("{at}/ok/{{{{data.x}}}}"), ""),
        flow(
            "flaky",
            &format!("{at}/flaky"),
            ", body: { x: \"{{data.x}}\", n: 1 }, retry: { max: 3, initial: 10ms }",
        ),
        flow("moved", &format!("{at}/moved"), ""),
        flow("slow", &format!("{at}/slow"), ", timeout: 200ms"),
    ];
    let service = Service::start_in(project(&format!("flows:\n{}", yaml.concat())), |options| {
        let secret = format!("whsec_{}", STANDARD.encode(KEY));
        options.flows.environment.push(("HOOK_SECRET".to_owned(), secret));
    });

    let (event, run) = run(&service, "ok", "succeeded");
    let ok = next(&received);
    ok.check();
    assert_eq!(ok.path, "/ok/a%2Fb%20c");
    let body: Value = serde_json::from_str(&ok.body).expect("JSON");
    assert_eq!((&body["id"], &body["data"]), (&json!(event), &json!({"x": "a/b c"})));
    assert_eq!(run["tries"][0]["detail"], "status 204");

    let (_, run) = self::run(&service, "flaky", "succeeded");
    let (first, second) = (next(&received), next(&received));
    for it in [&first, &second] {
        it.check();
        assert_eq!(it.body, r#"{"x":"a/b c","n":1}"#);
    }
    assert_eq!(first.header("webhook-id"), second.header("webhook-id"), "both are one message");
    assert_ne!(first.header("webhook-id"), ok.header("webhook-id"));
    let details: Vec<&Value> =
        run["tries"].as_array().expect("an array").iter().map(|array| &array["detail"]).collect();
    assert_eq!(details, ["status 500: ", "status 204"]);

    let (_, run) = self::run(&service, "moved", "failed");
    next(&received).check();
    assert_eq!(run["tries"][0]["detail"], "status 302: ");

    let (_, run) = self::run(&service, "slow", "failed");
    next(&received).check();
    assert_eq!(run["tries"][0]["outcome"], "timedout");
    assert!(received.try_recv().is_err(), "no redirect is followed, and nothing sent again");
}

/// Lets a flow post, and waits until its run has ended in that state.
fn run(service: &Service, flow: &str, state: &str) -> (u64, Value) {
    let event = service.emit(&format!("hook:{flow}"), &json!({"x": "a/b c"}));
    let told = service.wait_for_event("flow:*", event);
    assert_eq!(data(&told)["run"], format!("{flow}.{event}"));
    let run = service.get(&format!("/api/flows/runs/{flow}.{event}")).json();
    assert_eq!(run["state"], state, "{run}");
    (event, run)
}

fn next(received: &Receiver<Received>) -> Received {
    received.recv_timeout(Duration::from_secs(60)).expect("it was posted")
}
