//! An engine for tests.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};
use waypost_browser::{
    Chromium, ChromiumSettings, Engine, Policy, Problem, ProblemKind, Relay, find_chromium,
};

use crate::processes::{Process, processes};
use crate::server::Server;
use crate::wait::until;

/// Chromium with a relay that may access the servers of the test.
pub(crate) struct World {
    pub(crate) relay: Arc<Relay>,
    pub(crate) engine: Arc<Engine>,
    folder: tempfile::TempDir,
}

pub(crate) fn chromium() -> PathBuf {
    let path = std::env::var_os("PATH").expect("there is a PATH");
    find_chromium(&path).expect("Chromium is installed: scripts/prepare does it")
}

impl World {
    pub(crate) async fn start(servers: &[&Server]) -> Self {
        Self::start_for(servers.iter().map(|server| server.port)).await
    }

    /// The same, for servers on these local ports.
    pub(crate) async fn start_for(ports: impl IntoIterator<Item = u16>) -> Self {
        let allow = ports
            .into_iter()
            .map(|port| format!("127.0.0.1:{port}").parse().expect("a host and port"));
        let policy = Arc::new(Policy::new(allow.collect(), []));
        let folder = tempfile::tempdir().expect("a folder");
        // Tests run as root in containers, and their pages are ours.
        let settings =
            ChromiumSettings::new(chromium(), folder.path().to_owned()).with_sandbox(false);
        let engine = Chromium::start(settings, policy.clone()).await.expect("Chromium starts");
        let engine: Arc<Engine> = Arc::new(engine.into());
        let relay = Arc::new(Relay::new(engine.clone(), policy));
        Self { relay, engine, folder }
    }

    pub(crate) async fn ask(&self, command: &str, arguments: Value) -> Value {
        let shown = format!("{command} {arguments}");
        let answer = self.relay.handle(command, arguments).await;
        answer.map_err(|problem| format!("{shown}: {problem:?}")).expect("it is done")
    }

    pub(crate) async fn go(&self, url: &str) -> Value {
        self.ask("navigate", json!({ "url": url })).await
    }

    pub(crate) async fn read(&self) -> Value {
        self.ask("read", json!({})).await
    }

    pub(crate) async fn refused(
        &self,
        command: &str,
        arguments: Value,
        kind: ProblemKind,
    ) -> Problem {
        let shown = format!("{command} {arguments}");
        let answer = self.relay.handle(command, arguments).await;
        let problem = answer.expect_err(&shown);
        assert_eq!(problem.kind, kind, "{shown}: {problem:?}");
        problem
    }

    /// Ends it, and checks that nothing of it remains.
    pub(crate) async fn end(self) {
        let leader = self.leader();
        let by = waypost_browser::Deadline::after(Duration::from_secs(20));
        self.engine.end(by).await.expect("Chromium ends");
        // Killed processes may need a moment to end.
        until(|| {
            let left: Vec<Process> =
                processes().into_iter().filter(|process| process.group == leader).collect();
            if left.is_empty() { Ok(()) } else { Err(format!("{} processes are left", left.len())) }
        });
        let profiles = fs::read_dir(self.folder.path()).expect("the folder").count();
        assert_eq!(profiles, 0, "fresh profiles");
    }

    fn leader(&self) -> i32 {
        let folder = self.folder.path().display().to_string();
        let is_main = |process: &Process| {
            process.command.contains(&folder) && !process.command.contains("--type=")
        };
        let main =
            processes().into_iter().find(|process| is_main(process) && process.id == process.group);
        main.expect("Chromium runs").id
    }

    /// Kills Chromium's processes of a kind; an empty kind means all of them.
    pub(crate) fn kill(&self, kind: &str) {
        for id in self.running(kind) {
            // Some end together with others.
            Command::new("kill").args(["-9", &id.to_string()]).output().expect("there is kill");
        }
    }

    /// Limits the memory for data of the processes of pages, including future ones.
    pub(crate) fn limit_memory(&self, bytes: u64) {
        let limit = Rlimit { current: Some(bytes), maximum: Some(bytes) };
        // Every page's process is forked from a zygote, and inherits its limits.
        for id in ["--type=zygote", "--type=renderer"].iter().flat_map(|it| self.running(it)) {
            prlimit(Pid::from_raw(id), Resource::Data, limit).expect("it runs");
        }
    }

    /// Chromium's processes of a kind.
    fn running(&self, kind: &str) -> Vec<i32> {
        let leader = self.leader();
        let is_meant =
            |process: &Process| process.group == leader && process.command.contains(kind);
        let found: Vec<i32> = processes()
            .iter()
            .filter(|process| is_meant(process))
            .map(|process| process.id)
            .collect();
        assert!(!found.is_empty(), "there are processes {kind}");
        found
    }
}

/// The texts of the entries of a list of a summary.
pub(crate) fn texts(summary: &Value, list: &str) -> Vec<String> {
    let entries = summary["dom_summary"][list].as_array().expect("a list");
    let text =
        |value: &Value| value["text"].as_str().or(value.as_str()).unwrap_or_default().to_owned();
    entries.iter().map(text).collect()
}

/// The entry of a list with this text.
pub(crate) fn entry(summary: &Value, list: &str, text: &str) -> Value {
    let entries = summary["dom_summary"][list].as_array().expect("a list");
    let found = entries.iter().find(|entry| entry["text"] == text || entry["id"] == text);
    found.ok_or_else(|| format!("no {text:?} in {entries:#?}")).expect("it is there").clone()
}
