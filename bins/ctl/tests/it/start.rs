//! `ctl mcp` starts a service where none runs.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::ctl;
use crate::mcp::{Server, modern};
use crate::wait::until;

/// A project whose service has no model, no mesh, and a free port, and the user's home.
pub(crate) struct Project(TempDir, TempDir);

impl Project {
    pub(crate) fn new() -> Self {
        Self::within(&std::env::temp_dir())
    }

    /// A project in a folder of that one.
    fn within(folder: &Path) -> Self {
        let folder = tempfile::tempdir_in(folder).expect("a folder");
        fs::create_dir(folder.path().join(".waypost")).expect("a folder");
        let project = Self(folder, tempfile::tempdir().expect("a folder"));
        project.write_settings("127.0.0.1:0");
        project
    }

    /// Writes the user's settings.
    fn write_settings(&self, listen: &str) {
        let folder = self.1.path().join(".config/waypost");
        fs::create_dir_all(&folder).expect("a folder");
        let root = self.path().canonicalize().expect("a folder");
        let text = format!(
            "model: {{ name: none }}\nmesh: {{ enabled: false }}\nprojects:\n  {}: {{ listen: \"{listen}\" }}\n",
            root.display()
        );
        fs::write(folder.join("config.yaml"), text).expect("a file");
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// The program, for a user who has approved nothing.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = ctl::command(self.path(), arguments);
        command.env("HOME", self.1.path());
        command
    }

    fn server(&self, arguments: &[&str]) -> Server {
        Server::start(&mut self.command(&[&["mcp"], arguments].concat()))
    }

    fn data(&self, file: &str) -> PathBuf {
        self.path().join(".waypost/data").join(file)
    }

    fn log(&self) -> String {
        fs::read_to_string(self.data("service.log")).unwrap_or_default()
    }

    /// The pid of the running service.
    fn pid(&self) -> Option<u64> {
        let text = fs::read(self.data("service.json")).ok()?;
        serde_json::from_slice::<Value>(&text).ok()?["pid"].as_u64()
    }

    /// The pid of the service, which has just responded, and writes its file about then.
    pub(crate) fn running(&self) -> u64 {
        until(|| self.pid().ok_or("no service runs"))
    }

    /// Waits until the service has ended in order.
    pub(crate) fn wait_for_end(&self) {
        until(|| self.pid().map_or(Ok(()), |pid| Err(format!("{pid} still runs: {}", self.log()))));
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        if let Some(pid) = self.pid() {
            drop(Command::new("kill").arg(pid.to_string()).status());
        }
    }
}

pub(crate) fn text(result: &Value) -> String {
    let blocks = result["content"].as_array().expect("blocks").iter();
    blocks.filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_service_is_started_says_so_and_ends_without_use() {
    let project = Project::new();
    let mut server = project.server(&["--exit-idle", "2s"]);
    let added = server.call("memory_add", &json!({"content": "The pier is closed"}));
    assert_eq!(added["structuredContent"]["new"], true, "{added}");
    let said = text(&added);
    assert!(said.contains("No service ran for ") && said.contains("stops after 2s"), "{said}");
    assert!(said.contains(&project.data("service.log").display().to_string()), "{said}");
    assert!(added["structuredContent"]["service"].is_string(), "{added}");
    // Once.
    let found = server.call("memory_search", &json!({"query": "pier"}));
    assert_eq!(found["structuredContent"]["hits"][0]["id"], 1, "{found}");
    assert!(!text(&found).contains("No service ran"), "{found}");

    let pid = project.running();
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process");
    let fields: Vec<&str> = stat.rsplit(')').next().expect("fields").split_whitespace().collect();
    let pid_text = pid.to_string();
    assert_eq!(
        (fields[2], fields[3]),
        (pid_text.as_str(), pid_text.as_str()),
        "its own group and session"
    );
    let mode = std::os::unix::fs::MetadataExt::mode(
        &fs::metadata(project.data("service.log")).expect("a log"),
    );
    assert_eq!(mode & 0o777, 0o600);

    project.wait_for_end();
    assert!(project.log().contains("stopping: idle"), "{}", project.log());
    // A later call starts another one, and finds what the first one stored.
    let found = server.call("memory_search", &json!({"query": "pier"}));
    assert_eq!(found["structuredContent"]["hits"][0]["id"], 1, "{found}");
    assert!(text(&found).contains("No service ran"), "{found}");
    let ended = server.end();
    assert_eq!(ended.code, 0);
    assert_eq!(ended.err.matches("note: No service ran for ").count(), 2, "{ended:?}");
    // It outlives the one that started it.
    project.running();
    project.wait_for_end();
}

#[test]
fn a_stream_and_requests_keep_a_service_from_ending() {
    let project = Project::new();
    let mut server = project.server(&["--exit-idle", "1s"]);
    server.call("memory_add", &json!({"content": "x"}));
    project.running();
    let mut tail = project.command(&["events", "tail"]).spawn().expect("it starts");
    // The stream is open at last, and longer than the service may be idle.
    let begun = std::time::Instant::now();
    until(|| if begun.elapsed().as_secs() >= 3 { Ok(()) } else { Err("time") });
    assert!(project.pid().is_some(), "{}", project.log());
    tail.kill().expect("it can be killed");
    crate::child::end_of(&mut tail);
    project.wait_for_end();
    assert_eq!(server.end().code, 0);
}

#[test]
fn several_at_once_start_one_service() {
    let project = Project::new();
    let mut servers: Vec<Server> =
        (0..4).map(|_| project.server(&["--exit-idle", "30s"])).collect();
    for server in &mut servers {
        server.send(&modern(
            "tools/call",
            &json!({"name": "memory_search", "arguments": {"query": "x"}}),
        ));
    }
    for server in &mut servers {
        let answer = server.read();
        assert_eq!(answer["result"]["isError"], false, "{answer}\n{}", project.log());
    }
    assert_eq!(project.log().matches("listening on http://").count(), 1, "{}", project.log());
    let notes: usize =
        servers.into_iter().map(|server| server.end().err.matches("No service ran").count()).sum();
    assert_eq!(notes, 1);
    project.running();
}

#[test]
fn a_project_that_is_not_approved_gets_no_service() {
    let project = Project::new();
    fs::create_dir(project.path().join(".waypost/data")).expect("a folder");
    fs::write(project.data("project"), "somebody-elses").expect("a file");
    let mut server = project.server(&[]);
    let refused = server.call("memory_search", &json!({"query": "x"}));
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(text(&refused).contains("ctl allow --data"), "{refused}");
    assert!(!project.data("service.log").exists());
    assert_eq!(server.end().code, 0);
}

#[test]
fn a_folder_that_is_no_project_gets_no_service_unless_it_is_named() {
    let project = Project::new();
    fs::remove_dir(project.path().join(".waypost")).expect("a folder");
    let mut server = project.server(&[]);
    let refused = server.call("memory_search", &json!({"query": "x"}));
    assert!(text(&refused).contains("not a Waypost project yet"), "{refused}");
    assert!(text(&refused).contains("remedy: start the service there once"), "{refused}");
    assert!(!project.path().join(".waypost").exists());
    assert_eq!(server.end().code, 0);
    let mut command = project.command(&["--project", ".", "mcp", "--exit-idle", "1s"]);
    let mut server = Server::start(&mut command);
    let found = server.call("memory_search", &json!({"query": "x"}));
    assert_eq!(found["isError"], false, "{found}");
    project.running();
    assert_eq!(server.end().code, 0);
    project.wait_for_end();
}

#[test]
fn a_service_that_cannot_start_says_why() {
    let project = Project::new();
    project.write_settings("192.0.2.1:1");
    let mut server = project.server(&[]);
    let refused = server.call("memory_search", &json!({"query": "x"}));
    assert_eq!(refused["isError"], true);
    let said = text(&refused);
    assert!(said.contains("the service could not start") && said.contains("192.0.2.1:1"), "{said}");
    assert!(said.contains("service.log"), "{said}");
    assert_eq!(server.end().code, 0);
}

#[test]
fn only_the_service_beside_ctl_is_run() {
    let project = Project::new();
    let outside = tempfile::tempdir().expect("a folder");
    let ctl = outside.path().join("ctl");
    fs::copy(env!("CARGO_BIN_EXE_ctl"), &ctl).expect("a copy");
    // Programs in the search path that pretend to be the service: of the user, and of the project.
    let (other, planted) = (outside.path().join("bin"), project.path().join("node_modules/.bin"));
    let ran = outside.path().join("ran");
    for folder in [&other, &planted] {
        let script = format!(": > '{}'\necho service {}", ran.display(), env!("CARGO_PKG_VERSION"));
        write_program(folder, &script);
    }
    let path = [other.as_path(), &planted, Path::new("node_modules/.bin")];
    let said = text(&searched(&project, &ctl, &path));
    assert!(said.contains("the program `service` is not beside"), "{said}");
    assert!(said.contains("remedy: install `service` of the same release beside `ctl`"), "{said}");
    assert!(!ran.exists(), "another program was run");
    // A link to `ctl` leads to the service beside it.
    let linked = outside.path().join("linked");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_ctl"), &linked).expect("a link");
    let found = searched(&project, &linked, &path);
    assert_eq!(found["isError"], false, "{found}");
    assert!(!ran.exists(), "another program was run");
    project.wait_for_end();
}

/// The result of a search through `ctl mcp` of that program, with that search path.
fn searched(project: &Project, ctl: &Path, path: &[&Path]) -> Value {
    let template = project.command(&["mcp", "--exit-idle", "1s"]);
    let mut command = Command::new(ctl);
    command.args(template.get_args()).current_dir(project.path()).env_clear();
    command.envs(template.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("PATH", std::env::join_paths(path).expect("a path"));
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut server = Server::start(&mut command);
    let result = server.call("memory_search", &json!({"query": "x"}));
    if result["isError"] == false {
        project.running();
    }
    assert_eq!(server.end().code, 0);
    result
}

/// A folder with a program `service` that runs a script.
fn write_program(folder: &Path, script: &str) {
    fs::create_dir_all(folder).expect("a folder");
    let path = folder.join("service");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a program");
    fs::set_permissions(path, Permissions::from_mode(0o755)).expect("a program");
}
