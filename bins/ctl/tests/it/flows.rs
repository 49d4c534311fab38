//! `flows` against a real service, and `flows check` without one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use waypost_service::{Approval, Options};

use crate::ctl::{run, run_with_input};
use crate::service::Service;

const EMITS: &str = r#"
flows:
  - name: passes-on
    trigger: { pattern: "a:*", condition: has(data.who) }
    actions:
      - type: command
        command: ctl emit b:c --set "who={{data.who}}"; echo passed on {{data.who}}; test {{data.who}} != nobody
"#;

/// The folder of the program, which contains `ctl`.
fn programs() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_ctl")).parent().expect("a folder").to_owned()
}

fn with_programs(options: &mut Options) {
    options.flows.programs_dir = programs();
}

fn write_flows(project: &Path, yaml: &str) {
    let flows = project.join(".waypost/flows");
    fs::create_dir_all(&flows).expect("a folder");
    fs::write(flows.join("self-driving.yaml"), yaml).expect("a file");
}

impl Service {
    /// Waits until that many runs of flows have ended.
    fn ended(&self, count: &str) {
        let tail = ["events", "tail", "--after", "0", "--pattern", "flow:*", "-n", count];
        self.ctl(&tail).done();
    }
}

#[test]
fn a_flow_file_is_checked_without_a_service() {
    let folder = tempfile::tempdir().expect("a folder");
    let none = run(folder.path(), &["flows", "check"]);
    assert_eq!(none.code, 3, "{none:?}");
    write_flows(folder.path(), EMITS);
    let fine = run(folder.path(), &["flows", "check"]);
    assert!(fine.done().ends_with("self-driving.yaml: passes-on\n"));
    fs::write(folder.path().join("bad.yaml"), "flows:\n  - name: a b\n").expect("a file");
    let bad = run(folder.path(), &["flows", "check", "bad.yaml"]);
    assert_eq!(bad.code, 1, "{bad:?}");
    assert!(bad.out.starts_with("bad.yaml:2:11: "), "{}", bad.out);
    let told = run(folder.path(), &["--json", "flows", "check", "bad.yaml"]);
    let told: Value = serde_json::from_str(&told.out).expect("JSON");
    assert_eq!(
        (&told[0]["problem"]["line"], &told[0]["problem"]["column"]),
        (&json!(2), &json!(11))
    );
    let piped = run_with_input(folder.path(), &["flows", "check", "-"], EMITS.as_bytes());
    assert_eq!(piped.done(), "-: passes-on\n");
    let computed = "flows:\n  - name: a\n    trigger: { pattern: 'a:*' }\n    actions:\n      - type: command\n        command: $TOOL {{data.x}} && {{data.x}} now\n";
    fs::write(folder.path().join("computed.yaml"), computed).expect("a file");
    let computed = run(folder.path(), &["flows", "check", "computed.yaml"]);
    assert_eq!((computed.code, computed.out.as_str()), (0, "computed.yaml: a\n"));
    let caution =
        "computed.yaml:6:18: flows[0].actions[0].command: data.x is the name of a command";
    assert!(computed.err.contains(caution), "{}", computed.err);
}

#[test]
fn what_ctl_emits_in_a_flow_belongs_to_its_chain() {
    let service = Service::start_with(|folder, options| {
        write_flows(folder, EMITS);
        with_programs(options);
    });
    service.ctl(&["emit", "a:b", "--data", "who=me"]).done();
    service.ended("1");
    let emitted = service.ctl(&["--json", "events", "list", "--pattern", "b:*"]).json();
    let emitted = &emitted[0];
    assert_eq!((&emitted["data"], &emitted["root"]), (&json!({"who": "me"}), &json!(1)));
    assert_eq!(
        (&emitted["source"], &emitted["cause"]),
        (&json!("flow passes-on"), &json!("passes-on.1"))
    );

    let listed = service.ctl(&["flows", "list"]).done();
    assert!(listed.contains("passes-on") && listed.contains("ready"), "{listed}");
    let shown = service.ctl(&["flows", "show", "passes-on.1"]).done();
    assert!(shown.contains("passed on me") && shown.contains("exit status 0"), "{shown}");
    assert!(!shown.contains("is not a setting"), "the run's own variables: {shown}");
    let why = service.ctl(&["flows", "why", "1"]).done();
    assert!(why.contains("yes: run passes-on.1 is succeeded"), "{why}");
    let tested = service.ctl(&["flows", "test", "passes-on", "a:b", "--data", "who=x"]).done();
    assert!(tested.starts_with("passes-on  yes") && tested.contains("/bin/sh"), "{tested}");
    let tested = service.ctl(&["flows", "test", "passes-on", "a:b", "--set", "who=a b"]).done();
    let failure = "the run would fail before its first action: action 1: data.who contains ' ':";
    assert!(tested.starts_with(failure) && !tested.contains("runs"), "{tested}");
    let dry = service.ctl(&["flows", "replay", "passes-on", "--dry-run"]).done();
    assert!(dry.starts_with("passes-on would run for 1 event after"), "{dry}");
    let unasked = service.ctl(&["flows", "replay", "passes-on"]);
    assert_eq!(unasked.code, 2, "nobody can be asked: {unasked:?}");
    assert!(unasked.err.contains("would run for 1 event") && unasked.err.contains("--yes"));
    let runs = || service.ctl(&["--json", "flows", "runs"]).json().as_array().map(Vec::len);
    let before = runs();
    let none = service.ctl(&["flows", "replay", "passes-on", "--after", "1000"]);
    assert!(none.done().contains("would run for 0 events"));
    assert_eq!(runs(), before, "nothing ran");
    assert_eq!(service.ctl(&["flows", "show", "passes-on.9"]).code, 3);

    service.ctl(&["emit", "a:b", "--data", "who=nobody"]).done();
    service.ended("2");
    let runs = service.ctl(&["--json", "flows", "runs", "--state", "failed"]).json();
    let run = runs[0]["id"].as_str().expect("a run").to_owned();
    service.ctl(&["flows", "retry", &run]).done();
    service.ended("3");
    let again = service.ctl(&["--json", "flows", "show", &run]).json();
    assert_eq!(again["tries"].as_array().map(Vec::len), Some(2));
    assert_eq!(service.ctl(&["flows", "cancel", &run]).code, 1, "it has ended");
    service.ctl(&["flows", "pause", "passes-on", "--why", "for a look"]).done();
    assert!(service.ctl(&["flows", "list"]).done().contains("paused"));
    assert_eq!(service.ctl(&["flows", "resume", "passes-on"]).done(), "resumed passes-on\n");
}

#[test]
fn a_changed_file_is_shown_and_allowed() {
    let approvals = tempfile::tempdir().expect("a folder");
    let service = Service::start_with(|folder, options| {
        write_flows(folder, EMITS);
        options.approval = Approval::In(approvals.path().join("here"));
    });
    let told = service.ctl(&["emit", "a:b", "--data", "who=me"]);
    let waits = "warning: flows of self-driving.yaml do not run until .waypost/flows/self-driving.yaml is approved";
    assert!(told.err.contains(waits) && told.err.contains("`ctl allow`"), "{told:?}");
    let listed = service.ctl(&["flows", "list"]);
    assert!(listed.err.contains("pending approval of") && listed.err.contains("`ctl allow`"));
    let status = service.ctl(&["status"]).done();
    assert!(status.contains("flows of self-driving.yaml do not run until `ctl allow`"), "{status}");
    service.ctl(&["flows", "allow", "self-driving.yaml", "--yes"]).done();
    let told = service.ctl(&["emit", "a:b", "--data", "who=me"]);
    assert_eq!(told.err, "");
    write_flows(service.folder(), &EMITS.replace("b:c", "d:e"));
    let refused = service.ctl(&["flows", "allow", "self-driving.yaml"]);
    assert_eq!(refused.code, 2, "nobody can be asked: {refused:?}");
    let removed = "-         command: ctl emit b:c";
    let added = "+         command: ctl emit d:e";
    assert!(refused.out.contains(removed) && refused.out.contains(added), "{}", refused.out);
    let allowed = service.ctl(&["flows", "allow", "self-driving.yaml", "--yes"]).done();
    assert!(allowed.ends_with("approved self-driving.yaml; it is active\n"), "{allowed}");
    assert_eq!(service.ctl(&["flows", "allow", "none.yaml", "--yes"]).code, 3);
    // A program that is not text cannot be shown over HTTP, so its hash has to be given.
    fs::create_dir(service.folder().join("tools")).expect("a folder");
    fs::write(service.folder().join("tools/x.sh"), b"evil \xff\n").expect("a file");
    write_flows(service.folder(), &EMITS.replace("ctl emit b:c", "sh tools/x.sh"));
    let refused = service.ctl(&["flows", "allow", "self-driving.yaml", "--yes"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    let why = "tools/x.sh was not shown; nothing was approved";
    assert!(refused.err.contains(why) && refused.err.contains("--sha256"), "{refused:?}");
}

#[test]
fn the_self_driving_example_plays_its_chain() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/self-driving");
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", programs().display());
    let script = |name: &str, project: &Path, url: &str| {
        let output = Command::new(example.join(name))
            .arg(project)
            .env_clear()
            .env("PATH", &path)
            .env("HOME", project)
            .env("WAYPOST_URL", url)
            .output()
            .expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}\n{errors}");
        said
    };
    let service = Service::start_with(|folder, options| {
        script("prepare", folder, "");
        with_programs(options);
    });
    let said = script("play", service.folder(), service.url());
    assert!(said.contains("Merge pr/412"), "{said}");
    let tuple = said.split("3. the tuple").nth(1).expect("a tuple");
    let tuple: Value =
        serde_json::from_str(tuple.lines().nth(1).expect("a line")).expect("the event as JSON");
    assert_eq!(tuple["data"], json!({"pr_number": 412}));
    let runs = service.ctl(&["--json", "flows", "runs"]).json();
    let runs = runs.as_array().expect("an array").clone();
    let failed: Vec<&Value> = runs.iter().filter(|run| run["state"] != "succeeded").collect();
    assert_eq!(failed.len(), 1, "only what was blocked: {failed:?}");
    assert!(failed[0]["flow"] == "auto-merge" && !said.contains("Merge pr/411"), "{said}");
    let mut flows: Vec<&str> = runs.iter().filter_map(|run| run["flow"].as_str()).collect();
    flows.sort_unstable();
    flows.dedup();
    assert_eq!(flows.len(), 9, "each flow of the file ran: {flows:?}");
    for wanted in [
        "refs/heads/experiment/latency",
        "refs/heads/fix/billing",
        "refs/blocked/411",
        "issue: Friction on /checkout",
        "issue: look at the cache",
        "s1\t1",
        "Summary of 2026-11-21",
    ] {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
    assert!(!said.contains("experiment/noise"), "{said}");
}
