//! The mesh through the crate's public API, between real processes, and with plain sockets in place of
//! a misbehaving peer.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod calls;
#[path = "../../../../tests/child.rs"]
mod child;
mod continuous;
mod events;
mod far;
mod folder;
mod hostile;
mod processes;
#[path = "../../../../tests/wait.rs"]
mod wait;

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tempfile::TempDir;
use waypost_mesh::{Call, Mesh, Problem, Serving, Settings, Timestamp};

/// Long enough for a busy machine; this time passes only if a test fails.
const LONG: Duration = Duration::from_secs(60);

/// A folder in which peers meet.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn folder(&self) -> PathBuf {
        self.0.path().join("mesh")
    }

    fn join(&self, name: &str) -> Mesh {
        Mesh::open(&Settings::new(&self.folder(), name)).unwrap()
    }
}

/// Serves `echo`, which returns its argument.
fn serve_echo(mesh: &Mesh) -> Serving {
    mesh.serve("echo", answer_echo).unwrap()
}

fn answer_echo(call: Call) -> Result<Value, Problem> {
    match call.command.as_str() {
        "say" => Ok(call.argument),
        "who" => Ok(json!({ "origin": call.caller.origin.to_string(), "says": call.caller.says })),
        "fail" => Err(Problem::new(404, "not_found", "no element matches #gone")),
        "deny" => Err(Problem::denied("the human has not allowed it")),
        "panic" => panic!("a handler panics"),
        "large" => Ok(json!("x".repeat(2 * 1024 * 1024))),
        other => Err(Problem::new(404, "no_command", other)),
    }
}

#[expect(clippy::disallowed_methods, reason = "certificates and deadlines are for real")]
fn now() -> Timestamp {
    SystemTime::now().into()
}

fn now_ms() -> i64 {
    now().as_millis()
}

/// The memory that this process uses, in MiB.
fn resident_mib() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    // Pages of 4 KiB. Only Linux tells.
    statm.split(' ').nth(1).map_or(0, |pages| pages.parse::<usize>().unwrap() / 256)
}

/// JSON of this length that needs about ten times as much memory when it is parsed.
fn many_objects(bytes: usize) -> Value {
    vec![json!({}); bytes / 3].into()
}

/// Waits until a condition is true.
#[track_caller]
fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    wait::until(|| is_so().then_some(()).ok_or(what));
}
