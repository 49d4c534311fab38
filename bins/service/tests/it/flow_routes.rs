//! Flows over HTTP: state, runs, explanations and control.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;
use waypost_service::Approval;

use crate::flows::{HOLDS, data, project, start, wait_for, write_flows};
use crate::service::Service;
use crate::wait::until;

const TWO: &str = r#"
flows:
  - name: fails
    trigger: { pattern: "a:*", condition: data.n > 1 }
    actions:
      - { type: command, name: say, command: "echo said {{data.n}}; echo complained >&2; test -e well" }
  - name: quiet
    enabled: false
    trigger: { pattern: "c:d" }
    actions: [{ type: emit, event: "e:f" }]
"#;

#[test]
fn a_run_is_listed_shown_and_retried() {
    let service = start(TWO);
    service.emit("a:b", &json!({"n": 1}));
    let event = service.emit("a:b", &json!({"n": 2}));
    let failed = service.wait_for_event("flow:*", 0);
    assert_eq!(failed.kind, "flow:failed");
    let listed = service.get("/api/flows").json();
    let of = |name: &str| {
        let flows = listed["flows"].as_array().expect("an array").clone();
        flows.into_iter().find(|flow| flow["name"] == name).expect("a flow")
    };
    assert_eq!(of("fails")["condition"], "data.n > 1");
    assert_eq!((&of("quiet")["enabled"], &of("quiet")["running"]), (&json!(false), &json!(0)));
    assert_eq!(listed["files"][0]["inForce"], listed["files"][0]["found"]);
    let id = format!("fails.{event}");
    let runs = service.get("/api/flows/runs?flow=fails&state=failed").json();
    assert_eq!((runs[0]["id"].as_str(), &runs[1]), (Some(id.as_str()), &Value::Null));
    assert_eq!(runs[0]["tries"][0]["stdout"], Value::Null, "only in the answer about one run");
    assert_eq!(service.get("/api/flows/runs?state=running").json(), json!([]));
    let run = service.get(&format!("/api/flows/runs/{id}")).json();
    let tried = &run["tries"][0];
    assert_eq!((&tried["stdout"], &tried["stderr"]), (&json!("said 2\n"), &json!("complained\n")));
    assert_eq!((&tried["outcome"], &run["state"]), (&json!("failed"), &json!("failed")));
    fs::write(service.folder.path().join("well"), "").expect("a file");
    let retried = service.post(&format!("/api/flows/runs/{id}/retry"), &json!({}));
    assert_eq!(retried.status, 200, "{}", retried.text());
    let ended = service.wait_for_event("flow:*", failed.id);
    assert_eq!((ended.kind.as_str(), &data(&ended)["run"]), ("flow:succeeded", &json!(id)));
    service.post(&format!("/api/flows/runs/{id}/retry"), &json!({})).problem(409);
    service.post(&format!("/api/flows/runs/{id}/cancel"), &json!({})).problem(409);
    service.post("/api/flows/runs/fails.999/retry", &json!({})).problem(404);
    service.get("/api/flows/runs/none").problem(404);
    service.get("/api/flows/runs?flow=a%20b").problem(422);
    service.get("/api/flows/runs?state=lost").problem(422);
}

/// `ctl` in a flow could take a key of an event for a setting: `DIR` once was `data_dir`.
#[test]
fn no_setting_has_the_name_of_a_variable_of_a_run() {
    let page = waypost_project::reference();
    let names: Vec<&str> =
        page.lines().filter_map(|line| line.split("`WAYPOST_").nth(1)?.split('`').next()).collect();
    assert!(names.len() > 20, "{names:?}");
    for name in names {
        let name = format!("WAYPOST_{name}");
        assert!(!name.starts_with(waypost_flows::EVENT_PREFIX), "{name}");
        assert!(!waypost_flows::RUN_VARIABLES.contains(&&*name), "{name}");
    }
}

/// The settings do not know flows, and must not warn about their variables.
#[test]
fn settings_know_the_variables_of_a_run() {
    assert_eq!(waypost_project::EVENT_PREFIX, waypost_flows::EVENT_PREFIX);
    assert_eq!(waypost_project::RUN_VARIABLES, waypost_flows::RUN_VARIABLES);
}

#[test]
fn an_event_without_the_declared_values_starts_nothing_and_why_says_so() {
    let service = start(
        "flows:\n  - name: typed\n    trigger:\n      pattern: \"a:*\"\n      data:\n        n: integer\n        state: one of [open, closed]\n    actions: [{ type: command, command: \"echo $(( {{data.n}} + 1 )) {{data.state}} >> typed\" }]\n",
    );
    let wrong = service.emit("a:b", &json!({"n": "a[$(touch x)]", "state": "open"}));
    let right = service.emit("a:b", &json!({"n": 41, "state": "open"}));
    service.wait_for_event("flow:succeeded", 0);
    let why = service.get(&format!("/api/flows/why?event={wrong}")).json();
    assert_eq!((&why[0]["wants"], &why[0]["run"]), (&json!(false), &Value::Null));
    let stopped = why[0]["stopped"].as_str().expect("a reason");
    assert!(stopped.contains("does not match the declared types: data.n is"), "{stopped}");
    let why = service.get(&format!("/api/flows/why?event={right}")).json();
    assert_eq!(why[0]["run"]["state"], "succeeded");
    let tested = json!({"type": "a:b", "data": {"n": 1, "state": "other"}});
    let tested = service.post("/api/flows/typed/test", &tested).json();
    let problem = tested["actions"][0]["problem"].as_str().expect("a problem");
    assert!(problem.contains("one of [open, closed]"), "{problem}");
}

#[test]
fn why_says_what_each_flow_makes_of_an_event() {
    let service = start(TWO);
    let event = service.emit("a:b", &json!({"n": 1}));
    let why = service.get(&format!("/api/flows/why?event={event}")).json();
    let (fails, quiet) = (&why[0], &why[1]);
    assert_eq!((&fails["wants"], &fails["selects"]), (&json!(false), &json!(true)));
    assert_eq!(fails["condition"], "false");
    assert_eq!(fails["findings"][0]["text"], "data.n > 1");
    assert_eq!((&quiet["selects"], &quiet["run"]), (&json!(false), &Value::Null));
    let event = service.emit("a:b", &json!({"n": 2}));
    service.wait_for_event("flow:*", 0);
    let why = service.get(&format!("/api/flows/why?event={event}")).json();
    assert_eq!((&why[0]["wants"], &why[0]["run"]["state"]), (&json!(true), &json!("failed")));
    service.get("/api/flows/why?event=999").problem(404);
    assert!(service.get("/api/flows/why").status >= 400);
}

#[test]
fn a_test_does_nothing_and_says_what_would_be_done() {
    let service = start(TWO);
    let asked = json!({"type": "a:b", "data": {"n": 3}});
    let tested = service.post("/api/flows/fails/test", &asked);
    assert_eq!(tested.status, 200, "{}", tested.text());
    let tested = tested.json();
    assert_eq!(tested["why"]["wants"], true);
    let program = &tested["actions"][0]["program"];
    assert_eq!((&program["path"], &program["arguments"][0]), (&json!("/bin/sh"), &json!("-c")));
    assert_eq!(program["variables"]["WAYPOST_EVENT_DATA_n"], "3");
    assert_eq!(program["variables"]["WAYPOST_TOKEN"], "***");
    let missing = service.post("/api/flows/fails/test", &json!({"type": "a:b"})).json();
    assert_eq!(missing["why"]["condition"], "unknown");
    let problem = missing["actions"][0]["problem"].as_str().expect("a problem");
    assert!(problem.contains("data.n"), "{problem}");
    let emitted = service.post("/api/flows/quiet/test", &json!({"type": "c:d"})).json();
    assert_eq!(emitted["actions"][0]["event"]["type"], "e:f");
    assert_eq!(service.get("/api/flows/runs").json(), json!([]));
    service.post("/api/flows/nobody/test", &asked).problem(404);
    service.post("/api/flows/fails/test", &json!({"type": "a"})).field_problem("/type");
}

#[test]
fn a_replay_is_tried_dry_and_then_runs_for_past_events() {
    let service = start(
        "flows:\n  - { name: marks, trigger: { pattern: \"a:*\", condition: data.n > 1 }, actions: [{ type: command, command: \"echo {{data.n}} >> marks\" }] }\n",
    );
    let ids: Vec<u64> = (0..4).map(|number| service.emit("a:b", &json!({"n": number}))).collect();
    let mut last = 0;
    for _ in 2..4 {
        last = service.wait_for_event("flow:succeeded", last).id;
    }
    let marks = || fs::read_to_string(service.folder.path().join("marks")).expect("a file");
    assert_eq!(marks(), "2\n3\n");
    let dry = service.post("/api/flows/marks/replay", &json!({"dryRun": true, "until": ids[3]}));
    let dry = dry.json();
    assert_eq!((&dry["wanted"], &dry["events"]), (&json!(2), &json!([ids[2], ids[3]])));
    assert_eq!((&dry["replay"], marks().as_str()), (&Value::Null, "2\n3\n"));
    let range = json!({"after": ids[2], "until": ids[3]});
    let replayed = service.post("/api/flows/marks/replay", &range).json();
    assert_eq!(replayed["replay"], 1);
    let ended = service.wait_for_event("flow:succeeded", last);
    assert_eq!(data(&ended)["run"], format!("marks.{}.1", ids[3]));
    assert_eq!(marks(), "2\n3\n3\n");
    service.post("/api/flows/none/replay", &json!({})).problem(404);
    let backwards = json!({"after": 3, "until": 2});
    service.post("/api/flows/marks/replay", &backwards).field_problem("/until");
}

#[test]
fn a_run_is_cancelled_and_a_flow_paused() {
    let service = start(HOLDS);
    service.emit("a:b", &json!({}));
    wait_for(&service.folder.path().join("token"));
    let queued = service.emit("a:b", &json!({}));
    let cancelled = service.post("/api/flows/runs/holds.1/cancel", &json!({}));
    assert_eq!(cancelled.status, 200, "{}", cancelled.text());
    let paused = service.post("/api/flows/holds/pause", &json!({"why": "for a look"})).json();
    assert_eq!(paused["paused"], "for a look");
    let state = |id: &str| service.get(&format!("/api/flows/runs/{id}")).json()["state"].clone();
    until(|| {
        let state = state("holds.1");
        if state == "cancelled" { Ok(()) } else { Err(state) }
    });
    let second = format!("holds.{queued}");
    let is_open = |value: &Value| value == "queued" || value == "running";
    assert!(is_open(&state(&second)));
    fs::write(service.folder.path().join("go"), "").expect("a file");
    let resumed = service.post("/api/flows/holds/resume", &json!({})).json();
    assert_eq!(resumed["paused"], Value::Null);
    assert_eq!(data(&service.wait_for_event("flow:succeeded", 0))["run"], second);
}

#[test]
fn a_changed_file_is_compared_and_allowed_by_its_hash() {
    let flow = |word: &str| {
        format!(
            "flows:\n  - {{ name: says, trigger: {{ pattern: \"a:b\" }}, actions: [{{ type: emit, event: \"said:{word}\" }}] }}\n"
        )
    };
    let approvals = TempDir::new().expect("a temporary folder");
    let with = |options: &mut waypost_service::Options| {
        options.approval = Approval::In(approvals.path().join("here"));
    };
    let service = Service::start_in(project(&flow("old")), with);
    let first = service.wait_for_event("flow:approval-needed", 0);
    let path = "/api/flows/files/self-driving.yaml";
    let allow = |hash: &Value| service.post(&format!("{path}/allow"), &json!({ "hash": hash }));
    let old = service.get(path).json()["hash"].clone();
    assert_eq!(allow(&old).status, 200);
    write_flows(service.folder.path(), &flow("new"));
    service.wait_for_event("flow:approval-needed", first.id);
    let texts = service.get(path).json();
    assert_eq!((&texts["inForce"], &texts["found"]), (&json!(flow("old")), &json!(flow("new"))));
    let files = service.get("/api/flows").json()["files"].clone();
    assert_eq!((&files[0]["inForce"], &files[0]["found"]), (&Value::Null, &texts["hash"]));
    assert_eq!(files[0]["pending"], json!([".waypost/flows/self-driving.yaml"]));
    allow(&old).problem(409);
    allow(&json!("short")).field_problem("/hash");
    let allowed = allow(&texts["hash"]);
    assert_eq!(allowed.status, 200, "{}", allowed.text());
    assert_eq!(allowed.json()["inForce"], texts["hash"]);
    let event = service.emit("a:b", &json!({}));
    assert_eq!(service.wait_for_event("said:*", event).kind, "said:new");
    service.get("/api/flows/files/none.yaml").problem(404);
    service.get("/api/flows/files/..%2Fconfig.yaml").problem(404);
    let service = service.restart_with(with);
    let event = service.emit("a:b", &json!({}));
    assert_eq!(service.wait_for_event("said:*", event).kind, "said:new", "also after a start");
}
