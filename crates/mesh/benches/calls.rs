//! The duration of a small call between two processes, and the effect of a slow listener on it:
//! `cargo bench -p waypost-mesh`.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a program that measures, and ends where it cannot"
)]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use waypost_mesh::{Mesh, Pattern, Settings};

const CALLS: usize = 5_000;
const WARM_UP: usize = 500;
const WAIT: Duration = Duration::from_secs(30);
/// The variable that makes this program the other process.
const FOLDER: &str = "WAYPOST_MESH_BENCH_FOLDER";

fn main() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return serve(Path::new(&folder));
    }
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("mesh");
    let mut server = start(&folder);
    let mesh = Mesh::open(&Settings::new(&folder, "bench")).unwrap();
    let argument = json!({ "selector": "#buy" });
    let ours = || drop(mesh.call("echo", "say", &argument, WAIT).unwrap());
    until(|| mesh.call("echo", "say", &argument, WAIT).is_ok());
    println!("{CALLS} calls of about 24 bytes, microseconds");
    println!("{:<44}{:>8}{:>8}{:>8}", "", "p50", "p99", "most");
    report("a call", measure(CALLS, ours));

    let listener = mesh.listen(&Pattern::all());
    mesh.call("echo", "click", &Value::Null, WAIT).unwrap();
    let calm = measure(CALLS, ours);
    report("a call, with 100 events a second unread", calm);
    println!("events that the slow listener lost: {}", listener.dropped());
    server.kill().unwrap();
    server.wait().unwrap();
}

fn measure(calls: usize, call: impl Fn()) -> Vec<Duration> {
    for _ in 0..WARM_UP {
        call();
    }
    (0..calls)
        .map(|_| {
            // Calls are spaced in time, as they are from a person or an agent.
            std::thread::sleep(Duration::from_micros(500));
            let begun = Instant::now();
            call();
            begun.elapsed()
        })
        .collect()
}

fn report(what: &str, mut took: Vec<Duration>) {
    took.sort();
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize].as_micros();
    println!("{what:<44}{:>8}{:>8}{:>8}", at(0.5), at(0.99), at(1.0));
}

fn until(mut is_so: impl FnMut() -> bool) {
    for _ in 0..1_000 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the other process does not answer");
}

fn start(folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .env(FOLDER, folder)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// The other process: answers calls, and broadcasts 100 events a second after the first click.
fn serve(folder: &Path) {
    let mesh = Mesh::open(&Settings::new(folder, "server")).unwrap();
    let (clicked, clicks) = std::sync::mpsc::channel();
    let _serving = mesh
        .serve("echo", move |call| {
            if call.command == "click" {
                clicked.send(()).unwrap_or_default();
            }
            Ok(call.argument)
        })
        .unwrap();
    if clicks.recv().is_ok() {
        let element = json!({ "tag": "a", "class": "more", "text": "More", "selector": "a.more" });
        loop {
            let event = json!({ "type": "human_click", "element": element });
            mesh.broadcast("browser.relay", &event).unwrap();
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
