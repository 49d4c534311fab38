//! Files of a project have no effect until the user approves them: both programs, as processes.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use serde_json::Value;
use tempfile::TempDir;

use crate::child::end_of;
use crate::ctl::{Ran, ran};
use crate::wait::until;

const FLOWS: &str = r#"
flows:
  - name: builds
    trigger: { pattern: "a:b" }
    actions: [{ type: command, command: "sh tools/build.sh {{data.who}}" }]
"#;
const OTHER_FLOWS: &str = r#"
flows:
  - name: notes
    trigger: { pattern: "a:b" }
    actions: [{ type: command, command: "echo noted >> noted" }]
"#;

/// A clone, and a user with a separate home.
pub(crate) struct Clone {
    folder: TempDir,
    home: TempDir,
}

impl Clone {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let it = Self { folder: tempfile::tempdir().expect("a folder"), home };
        it.write(".waypost/flows/builds.yaml", FLOWS);
        it.write(".waypost/flows/notes.yaml", OTHER_FLOWS);
        it.write("tools/build.sh", "echo \"built by $1\" >> built\n");
        it
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A file of the user's state folder.
    pub(crate) fn state(&self, name: &str) -> PathBuf {
        self.home.path().join(".local/state/waypost").join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    fn is_there(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("HOME", self.home.path()).env("PATH", "/usr/bin:/bin");
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn ctl(&self, arguments: &[&str]) -> Ran {
        ran(self.ctl_command(arguments).output().expect("it starts"))
    }

    pub(crate) fn ctl_command(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(Path::new(env!("CARGO_BIN_EXE_ctl")));
        command.args(arguments);
        command
    }

    pub(crate) fn service_command(&self, arguments: &[&str]) -> Command {
        let program = Path::new(env!("CARGO_BIN_EXE_ctl")).with_file_name("service");
        assert!(program.exists(), "build it first: cargo build --bin service");
        let mut command = self.command(&program);
        command.args(["--model", "none", "--offline"]).args(arguments);
        command
    }

    /// A service that fails to start; its error.
    pub(crate) fn refused(&self, arguments: &[&str]) -> String {
        let output = self.service_command(arguments).output().expect("it starts");
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8(output.stderr).expect("text")
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> Service {
        let mut command = self.service_command(&["--listen", "127.0.0.1:0"]);
        let mut child = command.args(arguments).spawn().expect("it starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut log = String::new();
        let url = loop {
            let start = log.len();
            assert_ne!(stderr.read_line(&mut log).expect("text"), 0, "{log}");
            if let Some((_, rest)) = log[start..].split_once("listening on ") {
                break rest.split_whitespace().next().expect("an address").to_owned();
            }
        };
        // So that it never waits for a reader.
        let rest = std::thread::spawn(move || {
            let mut rest = String::new();
            stderr.read_to_string(&mut rest).expect("text");
            rest
        });
        Service { child, url, log, rest: Some(rest) }
    }
}

pub(crate) struct Service {
    child: Child,
    url: String,
    /// What it logged until it was ready.
    pub(crate) log: String,
    rest: Option<JoinHandle<String>>,
}

impl Drop for Service {
    fn drop(&mut self) {
        if self.child.kill().is_ok() {
            end_of(&mut self.child);
        }
    }
}

impl Service {
    fn ctl(&self, clone: &Clone, arguments: &[&str]) -> Ran {
        ran(clone.ctl_command(arguments).args(["--url", &self.url]).output().expect("it starts"))
    }

    /// Stops it, and returns what it logged after it was ready.
    fn stopped(mut self) -> String {
        let stop = Command::new("kill").arg(self.child.id().to_string()).status();
        assert!(stop.expect("there is kill").success());
        self.rest.take().expect("it was not stopped").join().expect("text")
    }

    /// The names of the flows in force, once they are these.
    pub(crate) fn wait_for_flows(&self, clone: &Clone, wanted: &[&str]) {
        until(|| {
            let flows = self.ctl(clone, &["--json", "flows", "list"]).json();
            let flows = flows["flows"].as_array().expect("an array");
            let names: Vec<&str> = flows.iter().filter_map(|flow| flow["name"].as_str()).collect();
            if names == wanted { Ok(()) } else { Err(format!("{names:?}, not {wanted:?}")) }
        });
    }

    fn wait_for_runs(&self, clone: &Clone, count: usize) {
        until(|| {
            let runs = self.ctl(clone, &["--json", "flows", "runs"]).json();
            let ended = runs.as_array().expect("an array").iter();
            let ended = ended.filter(|ended| ended["state"] == "succeeded").count();
            if ended >= count { Ok(()) } else { Err(runs) }
        });
    }
}

#[test]
fn an_approval_next_to_a_service_that_hangs_is_stored_with_a_warning() {
    let clone = Clone::new();
    let service = clone.start(&[]);
    let pid = service.child.id().to_string();
    let stopped = Command::new("kill").args(["-STOP", &pid]).status();
    assert!(stopped.expect("there is kill").success());
    let approved = clone.ctl(&["allow", "--yes"]);
    assert_eq!(approved.code, 0, "{approved:?}");
    let warned = approved.err.lines().find(|line| line.contains("did not answer"));
    let warned = warned.unwrap_or_else(|| panic!("{approved:?}"));
    assert!(warned.contains("the approval is stored"), "{warned}");
    assert!(warned.contains("once the service answers or is restarted"), "{warned}");
    let checked = clone.ctl(&["doctor"]);
    assert!(checked.out.contains("did not answer in time"), "{checked:?}");
    let listed = clone.ctl(&["--json", "allow", "--list"]).json();
    assert_eq!(listed.as_array().map(Vec::len), Some(3), "{listed}");
    let tokens = clone.ctl(&["token", "list"]);
    assert_eq!(tokens.code, 0, "{tokens:?}");
    assert!(tokens.err.contains("no service responds; using "), "{tokens:?}");
}

#[test]
fn no_file_of_a_hostile_clone_takes_effect() {
    let evil = TempDir::new().expect("a folder");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("it can");
    let config = format!(
        "log:\n  level: debug\nlisten: 0.0.0.0:4747\nallow_remote: true\nurl: http://{}\ndata_dir: {}\ntoken_file: tools/token\n",
        listener.local_addr().expect("an address"),
        evil.path().join("store").display()
    );
    let clone = Clone::new();
    clone.write(".waypost/config.yaml", &config);
    clone.write("tools/token", "wp_aaaaaaaaaa_bbbb");

    // The service does not start, and reports the line, the problem, and both remedies.
    let said = clone.refused(&[]);
    for wanted in [
        "config.yaml is pending approval",
        "line 3: listen: 0.0.0.0:4747",
        "line 4: allow_remote: true",
        "line 6: data_dir: ",
        "line 7: token_file: ",
        "`ctl allow`",
        ".config/waypost/config.yaml",
    ] {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
    assert!(!said.contains("log.level"), "harmless: {said}");
    assert!(!clone.is_there(".waypost/data") && !evil.path().join("store").exists());
    // `ctl` sends nothing, and exits with 4.
    for command in [&["status"][..], &["search", "x"], &["emit", "a:b"], &["token", "list"]] {
        let ran = clone.ctl(command);
        assert_eq!(ran.code, 4, "{command:?}: {ran:?}");
        assert!(ran.err.contains("line 5: url: ") && ran.err.contains("`ctl allow`"), "{ran:?}");
    }
    assert!(listener.accept().is_err(), "nobody connected");
    // These commands work in any case.
    let shown = clone.ctl(&["--json", "config", "show"]).json();
    assert_eq!(shown["listen"]["value"], "127.0.0.1:4747");
    assert_eq!(shown["listen"]["pending"]["line"], 3);
    assert_eq!(shown["log.level"]["value"], "debug");
    let doctor = clone.ctl(&["doctor"]);
    assert!(doctor.code != 4 && doctor.out.contains("is pending approval"), "{doctor:?}");

    // Without the hostile settings, the flows are still pending.
    fs::remove_file(clone.path(".waypost/config.yaml")).expect("it is there");
    let service = clone.start(&[]);
    assert!(service.log.contains("pending approval of .waypost/flows/builds.yaml, tools/build.sh"));
    assert!(service.log.contains("`ctl allow`"), "{}", service.log);
    let told = service.ctl(&clone, &["emit", "a:b", "--data", "who=me"]);
    assert_eq!(told.code, 0, "{told:?}");
    assert!(told.err.contains("builds.yaml do not run until"), "{told:?}");
    service.wait_for_flows(&clone, &[]);

    // Once approved, the honest flows run without a restart.
    let asked = clone.ctl(&["allow"]);
    assert_eq!(asked.code, 2, "{asked:?}");
    for wanted in [
        "builds.yaml  new flow file",
        "+   - name: builds",
        "tools/build.sh  new file of builds",
        "+ echo \"built by $1\"",
    ] {
        assert!(asked.out.contains(wanted), "{wanted}: {asked:?}");
    }
    assert!(asked.err.contains("--yes") && asked.err.contains("--sha256"), "{asked:?}");
    let allowed = clone.ctl(&["allow", "--yes"]).done();
    assert!(allowed.ends_with("approved .waypost/flows/builds.yaml\napproved tools/build.sh\napproved .waypost/flows/notes.yaml\n"), "{allowed}");
    service.wait_for_flows(&clone, &["builds", "notes"]);
    assert!(!clone.is_there("built") && !clone.is_there("noted"), "nothing ran until now");
    let told = service.ctl(&clone, &["emit", "a:b", "--data", "who=me"]);
    assert_eq!((told.code, told.err.as_str()), (0, ""));
    service.wait_for_runs(&clone, 2);
    assert_eq!(fs::read_to_string(clone.path("built")).expect("a file"), "built by me\n");

    // After a pull that changes a file, only that file is pending.
    clone.write("tools/build.sh", "echo evil >> built\n");
    service.wait_for_flows(&clone, &["notes"]);
    service.ctl(&clone, &["emit", "a:b", "--data", "who=me"]).done();
    service.wait_for_runs(&clone, 3);
    assert_eq!(fs::read_to_string(clone.path("built")).expect("a file"), "built by me\n");
    let listed = clone.ctl(&["--json", "allow", "--list"]).json();
    let states: Vec<(&str, &str)> = listed
        .as_array()
        .expect("an array")
        .iter()
        .filter_map(|array| Some((array["file"].as_str()?, array["state"].as_str()?)))
        .collect();
    assert!(states.contains(&("tools/build.sh", "changed since")), "{states:?}");
    assert!(states.contains(&(".waypost/flows/builds.yaml", "current")), "{states:?}");
    clone.ctl(&["allow", "--revoke", "notes.yaml"]).done();
    service.wait_for_flows(&clone, &[]);
}

#[test]
fn an_approval_counts_for_the_next_event_and_is_in_the_log() {
    let clone = Clone::new();
    clone.write(".waypost/flows/builds.yaml", &FLOWS.replace("sh tools/build.sh", "test a = "));
    let service = clone.start(&[]);
    let emit = || clone.ctl(&["--json", "emit", "a:b", "--data", "who=me"]);
    let early = emit().json()["id"].as_u64().expect("an id");
    assert_eq!(clone.ctl(&["allow", "--yes"]).code, 0);
    let told = emit();
    assert_eq!(told.err, "", "nothing is pending");
    let later = told.json()["id"].to_string();
    service.wait_for_runs(&clone, 1);

    let why = clone.ctl(&["flows", "why", &early.to_string()]);
    for flow in ["builds", "notes"] {
        let reason = format!(
            "{flow}  yes, but there is no run: the flow was approved or added after the event"
        );
        assert!(why.out.contains(&reason) && why.out.contains("`start: latest`"), "{why:?}");
        let remedy = format!("`ctl flows replay {flow} --after {} --until {early}`", early - 1);
        assert!(why.err.contains(&remedy), "{why:?}");
    }
    let why = clone.ctl(&["flows", "why", &later]);
    assert!(why.out.contains(&format!("yes: run notes.{later} is")), "{why:?}");
    until(|| match clone.ctl(&["--json", "flows", "runs", "--state", "failed"]).json() {
        Value::Array(runs) if runs.len() == 1 => Ok(()),
        other => Err(other),
    });

    let listed = clone.ctl(&["--json", "allow", "--list"]).json();
    clone.ctl(&["allow", "--revoke", "notes.yaml"]).done();
    let flows = clone.ctl(&["--json", "flows", "list"]).json();
    let names: Vec<&Value> =
        flows["flows"].as_array().expect("an array").iter().map(|array| &array["name"]).collect();
    assert_eq!(names, ["builds"]);
    let log = service.stopped();
    for it in listed.as_array().expect("an array") {
        let (file, hash) = (it["file"].as_str().expect("a file"), &it["sha256"]);
        let line =
            log.lines().filter(|line| line.contains("a file was approved") && line.contains(file));
        let lines: Vec<&str> = line.collect();
        assert!(
            matches!(lines[..], [line] if line.contains("INFO") && line.contains(hash.as_str().expect("a hash"))),
            "{file}: {log}"
        );
    }
    assert!(log.contains("an approval was revoked"), "{log}");
    let failed = format!("run=builds.{later}");
    assert!(
        log.lines().any(|it| it.contains("INFO")
            && it.contains("a flow run failed")
            && it.contains(&failed)),
        "{log}"
    );
    assert!(!log.contains("noted >>"), "no contents: {log}");
}

#[test]
fn an_approved_config_decides_until_it_changes() {
    let clone = Clone::new();
    clone.write(".waypost/config.yaml", "limits:\n  reads_max: 3\n");
    assert_eq!(clone.ctl(&["status"]).code, 4);
    clone.ctl(&["allow", ".waypost/config.yaml", "--yes"]).done();
    assert_eq!(clone.ctl(&["status"]).code, 5, "no service, and nothing to approve");
    let shown = clone.ctl(&["--json", "config", "show"]).json();
    assert_eq!(shown["limits.reads_max"]["value"], "3");
    clone.write(".waypost/config.yaml", "limits:\n  reads_max: 4\n");
    assert_eq!(clone.ctl(&["status"]).code, 4);
    let asked = clone.ctl(&["allow"]);
    assert!(asked.out.contains("-   reads_max: 3") && asked.out.contains("+   reads_max: 4"));
    // Where nobody can answer a prompt, trust is given for one process.
    let mut trusting = clone.ctl_command(&["--json", "config", "show"]);
    let shown = ran(trusting.env("WAYPOST_TRUST_PROJECT", "1").output().expect("it starts")).json();
    assert_eq!(shown["limits.reads_max"]["value"], "4");
    let shown = clone.ctl(&["--trust-project", "--json", "config", "show"]).json();
    assert_eq!(shown["limits.reads_max"]["value"], "4");
    assert_eq!(clone.ctl(&["status"]).code, 4, "and not recorded");
}

#[test]
fn a_copied_or_moved_project_is_refused_until_its_data_is_registered() {
    let clone = Clone::new();
    clone.ctl(&["allow", "--yes"]).done();
    drop(clone.start(&[]));
    let other = TempDir::new().expect("a folder");
    let copied = |to: &Path| {
        let status = Command::new("cp").arg("-a").arg(clone.path(".")).arg(to).status();
        assert!(status.expect("there is cp").success());
    };
    // The user's home stays the same one.
    let copy = Clone { folder: other, home: TempDir::new().expect("a folder") };
    copied(copy.folder.path());
    let at_copy = |program: &mut Command| {
        program.env("HOME", clone.home.path());
        ran(program.output().expect("it starts"))
    };
    let refused = at_copy(&mut copy.service_command(&["--listen", "127.0.0.1:0"]));
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.err.contains("`ctl allow --data`"), "{refused:?}");
    let refused = at_copy(&mut copy.ctl_command(&["token", "list"]));
    assert_eq!(refused.code, 4, "{refused:?}");
    let done = at_copy(&mut copy.ctl_command(&["allow", "--data"])).done();
    assert!(done.contains("it was a copy"), "{done}");
    // The flows are pending again: an approval in one place is not valid in another.
    let pending = at_copy(&mut copy.ctl_command(&["allow"]));
    assert!(pending.out.contains("builds.yaml"), "{pending:?}");
    drop(clone.start(&[]));
    // A project-id from an archive is not registered.
    let stranger = copy.ctl(&["allow", "--yes"]);
    assert_eq!(stranger.code, 4, "{stranger:?}");
    assert!(stranger.err.contains("`ctl allow --data`"), "{stranger:?}");
}

#[test]
fn a_hash_that_was_looked_at_approves_that_content_alone() {
    let clone = Clone::new();
    let shown = |clone: &Clone| -> Value {
        clone.ctl(&["--json", "allow", "notes.yaml", "--sha256", &"0".repeat(64)]);
        let told = clone.ctl(&["allow", "notes.yaml"]).out;
        let hash = told.split("SHA-256 ").nth(1).expect("a hash");
        Value::from(hash.split_whitespace().next().expect("a hash"))
    };
    let hash = shown(&clone);
    let hash = hash.as_str().expect("a text");
    clone.write(".waypost/flows/notes.yaml", &OTHER_FLOWS.replace("noted", "evil"));
    let changed = clone.ctl(&["allow", "notes.yaml", "--sha256", hash]);
    assert_eq!(changed.code, 1, "{changed:?}");
    assert!(
        changed.err.contains("which was not among those given; nothing was approved"),
        "{changed:?}"
    );
    clone.write(".waypost/flows/notes.yaml", OTHER_FLOWS);
    let done = clone.ctl(&["allow", "notes.yaml", "--sha256", hash]).done();
    assert!(done.ends_with("approved .waypost/flows/notes.yaml\n"), "{done}");
    assert_eq!(clone.ctl(&["allow", "notes.yaml"]).done(), "nothing is pending approval\n");
    clone.ctl(&["allow", "notes.yaml", "--sha256", hash]).done();
    let zeros = "0".repeat(64);
    for arguments in [
        &["allow", "notes.yaml", "--sha256", &zeros][..],
        &["--json", "allow", "notes.yaml", "--sha256", hash, "--sha256", &zeros],
    ] {
        let unknown = clone.ctl(arguments);
        assert_eq!((unknown.code, &*unknown.out), (3, ""), "{unknown:?}");
        assert!(unknown.err.contains(&zeros), "{unknown:?}");
    }
    assert_eq!(clone.ctl(&["allow", "no.yaml", "--yes"]).code, 3);
    clone.write("README.md", "x");
    assert_eq!(clone.ctl(&["allow", "README.md", "--yes"]).code, 3, "it needs none");
    clone.write(".waypost/flows/bad.yaml", "flows: [");
    assert_eq!(clone.ctl(&["allow", "bad.yaml", "--yes"]).code, 1);
}

#[test]
fn what_a_reader_would_not_see_is_shown() {
    let clone = Clone::new();
    let hidden = "\u{85}\u{a0}\u{ad}\u{34f}\u{115f}\u{1160}\u{2000}\u{200a}\u{200b}\u{200d}\u{202e}\u{2066}\u{2800}\u{3000}\u{3164}\u{e000}\u{fe0f}\u{ffa0}\u{fff0}\u{fff8}\u{13430}\u{13441}\u{1345f}\u{16fe4}\u{1bca0}\u{1bca3}\u{1d159}\u{1d173}\u{1d17a}\u{e0000}\u{e0100}\u{e0fff}\u{10fffd}\u{378}";
    let seen = "größe 漢字 👍🏽 нет هذا";
    clone.write("tools/build.sh", &format!("echo a{hidden}b {seen}\n"));
    let shown = clone.ctl(&["allow", "builds.yaml"]).out;
    for c in hidden.chars() {
        assert!(!shown.contains(c), "{c:?}: {shown}");
        let escape = c.escape_unicode().to_string();
        assert!(shown.contains(&escape), "{escape}: {shown}");
    }
    assert!(shown.contains(seen), "{shown}");
}

#[test]
fn every_difference_at_the_end_of_a_line_is_shown() {
    let clone = Clone::new();
    let start = "echo a \\\n  b\n";
    for (changed, shown) in [
        // The shell continues a line after a backslash before `\n` alone.
        ("echo a \\\r\n  b\n", "- echo a \\\n+ echo a \\\\r\n    b\n"),
        ("echo a \\ \n  b\n", "- echo a \\\n+ echo a \\\\x20\n    b\n"),
        ("echo a \\\n  b", "  echo a \\\n-   b\n+   b\n\\ no newline at the end\n"),
        ("echo a \\\n\tb\n", "  echo a \\\n-   b\n+ \\tb\n"),
    ] {
        clone.write("tools/build.sh", start);
        clone.ctl(&["allow", "--yes"]).done();
        clone.write("tools/build.sh", changed);
        let asked = clone.ctl(&["allow"]);
        assert!(asked.out.contains(shown), "{changed:?}: {asked:?}");
    }
}

#[test]
fn bytes_that_are_no_text_are_shown_and_what_is_not_shown_is_not_approved() {
    let clone = Clone::new();
    let script = clone.path("tools/build.sh");
    fs::write(&script, b"echo \xff evil\0\xc3\n").expect("a file");
    let asked = clone.ctl(&["allow", "builds.yaml"]);
    assert!(asked.out.contains("+ echo \\xff evil\\x00\\xc3\n"), "{asked:?}");

    fs::write(&script, format!("#{}\n", " ".repeat(1 << 20))).expect("a file");
    for arguments in [&["allow", "--yes"][..], &["--json", "allow", "--yes"]] {
        let refused = clone.ctl(arguments);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.err.contains("build.sh is too long to show"), "{refused:?}");
        assert!(refused.err.contains("--sha256"), "{refused:?}");
    }
    assert_eq!(clone.ctl(&["--json", "allow", "--list"]).json(), serde_json::json!([]));
    let told = clone.ctl(&["allow"]).out;
    let hashes: Vec<&str> =
        told.split("SHA-256 ").skip(1).filter_map(|part| part.split_whitespace().next()).collect();
    let given = hashes.iter().flat_map(|hash| ["--sha256", hash]);
    let arguments: Vec<&str> = std::iter::once("allow").chain(given).collect();
    assert!(clone.ctl(&arguments).done().contains("approved tools/build.sh\n"));
}

#[test]
fn names_of_files_are_shown_in_full() {
    let clone = Clone::new();
    clone.write(".waypost/flows/a\n\u{200d}\u{3164}b.yaml", OTHER_FLOWS);
    let asked = clone.ctl(&["allow"]);
    let allowed = clone.ctl(&["allow", "--yes"]);
    let listed = clone.ctl(&["allow", "--list"]);
    for told in [&asked, &allowed, &listed] {
        assert!(told.out.contains("flows/a\\n\\u{200d}\\u{3164}b.yaml"), "{told:?}");
        assert!(!told.out.contains(['\u{200d}', '\u{3164}']), "{told:?}");
    }
    let missing = clone.ctl(&["allow", "no\n\u{200d}.yaml"]);
    assert!(missing.err.contains("no file no\\n\\u{200d}.yaml"), "{missing:?}");
}

#[test]
fn a_file_that_changes_while_it_is_looked_at_is_not_approved() {
    let clone = Clone::new();
    // `script` provides a terminal, so that the program prompts.
    let program = format!("{} allow notes.yaml", env!("CARGO_BIN_EXE_ctl"));
    let answer = |change: &dyn Fn()| {
        let mut command = clone.command(Path::new("/usr/bin/script"));
        command.args(["-qec", &program, "/dev/null"]).stdin(Stdio::piped());
        let mut child = command.spawn().expect("there is script");
        let mut out = child.stdout.take().expect("it is piped");
        let mut said = Vec::new();
        let mut byte = [0];
        while !said.ends_with(b"[y/N]") {
            assert_eq!(out.read(&mut byte).expect("it says more"), 1, "{said:?}");
            said.push(byte[0]);
        }
        change();
        let mut stdin = child.stdin.take().expect("it is piped");
        stdin.write_all(b"y\n").expect("it reads");
        out.read_to_end(&mut said).expect("it ends");
        drop(stdin);
        let code = end_of(&mut child).code();
        (code, String::from_utf8_lossy(&said).into_owned())
    };
    let evil = || clone.write(".waypost/flows/notes.yaml", &OTHER_FLOWS.replace("noted", "evil"));
    let (code, said) = answer(&evil);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("changed after it was shown; nothing was approved"), "{said}");
    assert_eq!(clone.ctl(&["--json", "allow", "--list"]).json(), serde_json::json!([]));
    let (code, said) = answer(&|| ());
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("approved .waypost/flows/notes.yaml"), "{said}");
}

#[test]
fn what_is_shown_commands_no_terminal() {
    let clone = Clone::new();
    clone.write("tools/build.sh", "# \u{1b}[2Kx\r\u{202e}gnihton\ntrue\n");
    let shown = clone.ctl(&["--color", "never", "allow", "builds.yaml"]);
    assert!(!shown.out.contains(['\u{1b}', '\r', '\u{202e}']), "{shown:?}");
    assert!(shown.out.contains("\\u{1b}[2Kx\\r\\u{202e}gnihton"), "{shown:?}");
}

fn git(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(folder).args(["-c", "user.name=a", "-c", "user.email=a@b"]);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").args(arguments);
    let output = command.output().expect("git starts");
    assert!(output.status.success(), "git {arguments:?}: {output:?}");
}

#[test]
fn an_interrupted_run_goes_on_only_while_its_definition_is_approved() {
    const WAITING: &str = r#"
flows:
  - name: notes
    trigger: { pattern: "a:b" }
    actions: [{ type: command, command: "echo begun >> begun; while [ -e wait ]; do sleep 0.1; done" }]
"#;
    let clone = Clone::new();
    fs::remove_file(clone.path(".waypost/flows/builds.yaml")).expect("it is there");
    clone.write(".waypost/flows/notes.yaml", WAITING);
    clone.write("wait", "");
    clone.ctl(&["allow", "--yes"]).done();
    let begun = || fs::read_to_string(clone.path("begun")).map_or(0, |text| text.lines().count());
    let wait_for = |is_so: &dyn Fn() -> bool| {
        until(|| is_so().then_some(()).ok_or_else(|| format!("{} begun", begun())));
    };
    let service = clone.start(&[]);
    service.wait_for_flows(&clone, &["notes"]);
    service.ctl(&clone, &["emit", "a:b"]).done();
    wait_for(&|| begun() == 1);
    drop(service);

    // The other content is pending, and the run keeps the approved one.
    clone.write(".waypost/flows/notes.yaml", OTHER_FLOWS);
    let service = clone.start(&[]);
    wait_for(&|| begun() == 2);
    drop(service);

    // A run of the journal without an approval does nothing.
    clone.ctl(&["allow", "--revoke", "notes.yaml"]).done();
    let service = clone.start(&[]);
    let runs = || service.ctl(&clone, &["--json", "flows", "runs"]).json();
    wait_for(&|| runs()[0]["state"] == "failed");
    let id = runs()[0]["id"].as_str().expect("an id").to_owned();
    let told = service.ctl(&clone, &["--json", "flows", "show", &id]).done();
    let hash = waypost_project::sha256(WAITING.as_bytes());
    for wanted in ["the flow file notes.yaml with SHA-256", &hash, "is not approved", "`ctl allow`"]
    {
        assert!(told.contains(wanted), "{wanted}: {told}");
    }
    assert_eq!(begun(), 2);
}

#[test]
fn a_program_that_changes_during_a_run_is_named() {
    const CHANGING: &str = r#"
flows:
  - name: builds
    trigger: { pattern: "a:b" }
    actions:
      - { type: command, command: "echo changed >> tools/build.sh" }
      - { type: command, command: "sh tools/build.sh" }
"#;
    let clone = Clone::new();
    fs::remove_file(clone.path(".waypost/flows/notes.yaml")).expect("it is there");
    clone.write(".waypost/flows/builds.yaml", CHANGING);
    let service = clone.start(&[]);
    let told = service.ctl(&clone, &["emit", "a:b"]);
    let pending = "until .waypost/flows/builds.yaml, tools/build.sh are approved: review them";
    assert!(told.err.contains(pending), "{told:?}");
    let doctor = service.ctl(&clone, &["doctor"]);
    let pending = ".waypost/flows/builds.yaml, tools/build.sh are pending approval";
    assert!(doctor.out.contains(pending), "{doctor:?}");
    clone.ctl(&["allow", "--yes"]).done();
    service.wait_for_flows(&clone, &["builds"]);
    service.ctl(&clone, &["emit", "a:b"]).done();
    let runs = || service.ctl(&clone, &["--json", "flows", "runs"]).json();
    until(|| if runs()[0]["state"] == "failed" { Ok(()) } else { Err(runs().to_string()) });
    let id = runs()[0]["id"].as_str().expect("an id").to_owned();
    let told = service.ctl(&clone, &["--json", "flows", "show", &id]).done();
    assert!(told.contains("the flow runs tools/build.sh, whose content is not approved"), "{told}");
}

#[test]
fn a_git_file_that_names_no_repository_is_named() {
    let clone = Clone::new();
    clone.write(".git", "gitdir: /nowhere\n");
    let service = clone.start(&[]);
    assert!(service.log.contains("it names no folder of a repository"), "{}", service.log);
}

#[test]
fn a_store_that_a_repository_brings_into_a_registered_project_is_refused() {
    let upstream = Clone::new();
    git(upstream.folder.path(), &["init", "--quiet", "--initial-branch", "main"]);
    git(upstream.folder.path(), &["add", "--all"]);
    git(upstream.folder.path(), &["commit", "--quiet", "--message", "first"]);
    let clone =
        Clone { folder: TempDir::new().expect("a folder"), home: TempDir::new().expect("") };
    let from = upstream.folder.path().to_str().expect("text").to_owned();
    git(clone.folder.path(), &["clone", "--quiet", &from, "."]);
    clone.ctl(&["allow", "--yes"]).done();
    drop(clone.start(&[]));

    // Git overwrites ignored files, and adds new ones.
    upstream.write(".waypost/data/flows/log/evil", "evil");
    upstream.write(".waypost/data/tokens.json", "{}");
    upstream.write(".waypost/token", "evil");
    git(upstream.folder.path(), &["add", "--all", "--force"]);
    git(upstream.folder.path(), &["commit", "--quiet", "--message", "second"]);
    git(clone.folder.path(), &["pull", "--quiet", "--ff-only"]);
    assert_eq!(fs::read_to_string(clone.path(".waypost/token")).expect("a file"), "evil");

    let said = clone.refused(&[]);
    for wanted in [
        "git tracks .waypost/data/flows/log/evil, .waypost/data/tokens.json, .waypost/token",
        "`git rm -r --cached`",
        "`ctl allow --data`",
    ] {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
    // An invalid token is rejected even before that.
    for command in [&["token", "list"][..], &["backup", "b"]] {
        assert_eq!(clone.ctl(command).code, 4, "{command:?}");
    }
    let ran = clone.ctl(&["allow", "--data"]);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.err.contains("git tracks .waypost/data/flows/log/evil"), "{ran:?}");
    assert_ne!(clone.ctl(&["doctor"]).code, 0);

    // The remedy from the error message.
    git(
        clone.folder.path(),
        &["rm", "-r", "--quiet", "--cached", ".waypost/data", ".waypost/token"],
    );
    fs::remove_dir_all(clone.path(".waypost/data")).expect("it is there");
    fs::remove_file(clone.path(".waypost/token")).expect("it is there");
    clone.ctl(&["allow", "--data"]).done();
    drop(clone.start(&[]));
}

#[test]
fn a_gitignore_of_the_repository_does_not_have_the_store_committed() {
    let clone = Clone::new();
    git(clone.folder.path(), &["init", "--quiet", "--initial-branch", "main"]);
    clone.write(".waypost/.gitignore", "!data\n!token\n");
    clone.ctl(&["allow", "--yes"]).done();
    drop(clone.start(&[]));
    git(clone.folder.path(), &["add", "--all"]);
    let mut listed = Command::new("git");
    listed.current_dir(clone.folder.path()).args(["ls-files", ".waypost/data", ".waypost/token"]);
    assert!(listed.output().expect("git starts").stdout.is_empty());
    assert!(clone.is_there(".waypost/token"));
}

#[test]
fn a_store_that_is_not_registered_is_neither_checked_nor_repaired() {
    let original = Clone::new();
    original.ctl(&["allow", "--yes"]).done();
    drop(original.start(&[]));
    let copy = Clone { folder: TempDir::new().expect(""), home: TempDir::new().expect("") };
    let mut copied = Command::new("cp");
    copied.arg("-a").arg(original.path(".waypost")).arg(copy.folder.path());
    assert!(copied.status().expect("cp starts").success());
    copy.write(".waypost/data/tokens.json", "damaged");

    for arguments in [&["doctor"][..], &["doctor", "--repair"]] {
        let ran = copy.ctl(arguments);
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.out.contains("the data folder is not registered"), "{ran:?}");
        assert!(ran.out.contains("`ctl allow --data`"), "{ran:?}");
    }
    let tokens = fs::read_to_string(copy.path(".waypost/data/tokens.json")).expect("a file");
    assert_eq!(tokens, "damaged");
    assert!(!copy.is_there(".waypost/data/tokens.json.damaged"));

    copy.ctl(&["allow", "--data"]).done();
    copy.ctl(&["doctor", "--repair"]).done();
    assert!(copy.is_there(".waypost/data/tokens.json.damaged"));
}

#[test]
fn what_the_doctor_creates_is_for_its_user_alone_whatever_the_umask() {
    use std::os::unix::fs::PermissionsExt as _;

    fn open_to_others(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("a file").path();
            let metadata = fs::symlink_metadata(&path).expect("it is there");
            if metadata.permissions().mode() & 0o077 != 0 {
                found.push(path.clone());
            }
            if metadata.is_dir() {
                open_to_others(&path, found);
            }
        }
    }
    let clone = Clone::new();
    clone.ctl(&["allow", "--yes"]).done();
    drop(clone.start(&[]));
    for (removed, arguments) in [("memory/state", "doctor"), ("events/state", "doctor --repair")] {
        fs::remove_dir_all(clone.path(&format!(".waypost/data/{removed}"))).expect("a folder");
        let mut command = clone.command(Path::new("/bin/sh"));
        let script = format!("umask 000; exec \"$0\" {arguments}");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_ctl")]);
        ran(command.output().expect("it starts"));
        let mut found = Vec::new();
        open_to_others(&clone.path(".waypost/data"), &mut found);
        assert_eq!(found, Vec::<PathBuf>::new(), "{arguments}");
    }
}

#[test]
fn the_gitignore_is_for_its_owner_to_write_whatever_the_umask() {
    use std::os::unix::fs::PermissionsExt as _;

    let clone = Clone::new();
    fs::remove_dir_all(clone.path(".waypost")).expect("a folder");
    let mut command = clone.command(Path::new("/bin/sh"));
    command.args(["-c", "umask 000; exec \"$0\" allow --data", env!("CARGO_BIN_EXE_ctl")]);
    ran(command.output().expect("it starts")).done();
    let mode = |name: &str| {
        fs::metadata(clone.path(name)).expect("it is there").permissions().mode() & 0o777
    };
    assert_eq!((mode(".waypost"), mode(".waypost/.gitignore")), (0o755, 0o644));
}
