use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use waypost_flows::{
    ActionContext, EVENT_PREFIX, Finished, Flow, Leader, Orphan, Outcome, Plan, Program,
    RUN_VARIABLES, RunId, Stop, Task, Timestamp, end_orphans, parse, plan, run_program,
};

use crate::child::end_of;
use crate::world::{event, flow, id};

/// The plan of the flow's first action.
fn planned(flow: &Flow, data: &str, project: &Path) -> Plan {
    let inherited = [("PATH", "/usr/bin:/bin"), ("HOME", "/nowhere"), ("LD_PRELOAD", "evil.so")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let around = ActionContext {
        project,
        programs: Path::new("/opt/waypost"),
        inherited: &inherited,
        url: "http://127.0.0.1:4747",
        token: "wp_run_token",
        secret: &|name| (name == "GH_TOKEN").then(|| "hunter2/secret".to_owned()),
        grace: Duration::from_millis(200),
    };
    plan(flow, &event(7, "a:x", data), &around)
}

fn flow_with(action: &str, more: &str) -> Flow {
    let text = format!(
        "flows:\n  - name: a\n    trigger: {{ pattern: \"a:*\" }}\n{more}    actions:\n      - {action}\n"
    );
    parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}")).remove(0)
}

fn program(action: &str, data: &str, project: &Path) -> Program {
    match planned(&flow_with(action, ""), data, project).steps.remove(0).task {
        Ok(Task::Run(mut program)) => {
            // The end of a step ends all processes with its key, those of other tests as well.
            let key = key_of(&mut program);
            *key = format!("{key}-{}", std::process::id());
            program
        }
        other => panic!("{other:?}"),
    }
}

/// The value that identifies the processes of a program.
fn key_of(program: &mut Program) -> &mut String {
    let mut variables = program.variables.iter_mut();
    &mut variables.find(|variable| variable.0 == "WAYPOST_IDEMPOTENCY_KEY").unwrap().1
}

fn refusal(action: &str, more: &str, data: &str, project: &Path) -> String {
    match planned(&flow_with(action, more), data, project).steps.remove(0).task {
        Ok(task) => panic!("{task:?}"),
        Err(error) => error.to_string(),
    }
}

/// Runs a command as an action of a flow.
fn sh(command: &str, data: &str) -> Finished {
    let project = tempfile::tempdir().unwrap();
    let action =
        format!("{{ type: command, command: {}, timeout: 20s }}", serde_json::json!(command));
    run(&program(&action, data, project.path()))
}

fn run(program: &Program) -> Finished {
    run_program(program, "boot", &Stop::new().unwrap(), |_| {})
}

fn text(captured: &waypost_flows::Captured) -> String {
    String::from_utf8_lossy(&captured.to_bytes()).into_owned()
}

#[test]
fn a_command_has_the_event_and_nothing_of_the_service_s_environment() {
    let finished = sh(
        "env -0 | sort -z | tr '\\0' '\\n'; echo \"{{data.pr}}\"; cat",
        r#"{"pr": 4.50, "PATH": "x", "a-b": "y"}"#,
    );
    let out = text(&finished.stdout);
    let key = format!("WAYPOST_IDEMPOTENCY_KEY=test.a.7.0-{}", std::process::id());
    for line in [
        key.as_str(),
        "HOME=/nowhere",
        "PATH=/opt/waypost:/usr/bin:/bin",
        "WAYPOST_ATTEMPT=1",
        "WAYPOST_EVENT_DATA_PATH=x",
        "WAYPOST_EVENT_DATA_pr=4.5",
        "WAYPOST_EVENT_ID=7",
        "WAYPOST_EVENT_TYPE=a:x",
        "WAYPOST_RUN_ID=a.7",
        "WAYPOST_TOKEN=***",
        "WAYPOST_URL=http://127.0.0.1:4747",
        "WAYPOST_EVENT_DATA_a_b=y",
        "4.5",
        r#"{"id":7,"type":"a:x","data":{"pr":4.5,"PATH":"x","a-b":"y"},"time":"1970-01-01T00:00:00.007Z","source":"test"}"#,
    ] {
        assert!(out.lines().any(|it| it == line), "{line} is not in\n{out}");
    }
    assert!(!out.contains("LD_PRELOAD") && !out.contains("a-b="), "{out}");
    let variables = out.lines().filter(|line| line.starts_with("WAYPOST_"));
    for line in variables.filter(|variable| !variable.starts_with("WAYPOST_URL=")) {
        let (name, _) = line.split_once('=').unwrap();
        let has_prefix = name.starts_with(EVENT_PREFIX);
        assert!(has_prefix || RUN_VARIABLES.contains(&name), "{name}");
    }
    assert_eq!((finished.report.outcome, finished.report.leaked), (Outcome::Succeeded, false));
}

#[test]
fn keys_of_an_event_set_no_variable_of_the_shell() {
    let data = r#"{"PATH": "/x", "LD_PRELOAD": "x.so", "BASH_ENV": "/x", "ENV": "/x", "IFS": ":", "VALUE_0": "x", "RUN_ID": "x"}"#;
    let out =
        text(&sh("env | sed 's/=.*//' | grep -v ^WAYPOST_; echo $WAYPOST_RUN_ID", data).stdout);
    let mut names: Vec<&str> = out.lines().collect();
    names.sort_unstable();
    assert_eq!(names, ["HOME", "PATH", "PWD", "a.7"]);
}

#[test]
fn how_a_program_ended_is_told() {
    for (command, outcome, detail) in [
        ("exit 3", Outcome::Failed, "exit status 3"),
        ("kill -9 $$", Outcome::Failed, "killed by signal 9"),
        ("exec <&-; true", Outcome::Succeeded, "exit status 0"),
        ("/no/such/program", Outcome::Failed, "exit status 127"),
    ] {
        let report = sh(command, "{}").report;
        assert_eq!((report.outcome, report.detail.as_str()), (outcome, detail), "{command}");
    }
}

#[test]
fn both_outputs_are_taken_whatever_is_in_them() {
    let finished = sh(r"printf 'a\377b\0c\033[2J'; echo oops >&2", "{}");
    assert_eq!(finished.stdout.to_bytes(), b"a\xffb\0c\x1b[2J");
    assert_eq!(text(&finished.stderr), "oops\n");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.7/1.stdout");
    finished.stdout.save(&path).unwrap();
    assert_eq!(std::fs::read(path).unwrap(), finished.stdout.to_bytes());
}

#[test]
fn secrets_are_variables_that_do_not_show() {
    let project = tempfile::tempdir().unwrap();
    let command = r#"{ type: command, command: "echo $GH_TOKEN; printf %s $GH_TOKEN | base64; test $GH_TOKEN = hunter2/secret", secrets: [GH_TOKEN] }"#;
    let finished = run(&program(command, "{}", project.path()));
    assert_eq!(text(&finished.stdout), "***\n***\n");
    assert_eq!(finished.report.outcome, Outcome::Succeeded);
    let missing = command.replace("secrets: [GH_TOKEN]", "secrets: [OTHER]");
    assert_eq!(refusal(&missing, "", "{}", project.path()), "no secret OTHER");
}

#[test]
fn a_program_that_takes_too_long_is_killed_with_its_processes() {
    let project = tempfile::tempdir().unwrap();
    for command in [
        "sleep 1000",
        "sleep 1000 & sleep 1000",
        "trap '' TERM; while :; do sleep 1; done",
        "yes",
        "cat /dev/zero",
    ] {
        let action =
            format!("{{ type: command, command: {}, timeout: 300ms }}", serde_json::json!(command));
        let finished = run(&program(&action, "{}", project.path()));
        assert_eq!(finished.report.outcome, Outcome::TimedOut, "{command}");
        assert_eq!(finished.report.detail, "it took longer than 300ms");
        assert!(finished.stdout.to_bytes().len() <= (1 << 20) + 100);
    }
}

#[test]
fn a_program_that_starts_processes_endlessly_is_killed_with_all_of_them() {
    std::thread::scope(|scope| {
        for (name, command) in [
            (
                "bomb",
                "bomb() { [ $1 -eq 0 ] || { bomb $(($1 - 1)) & bomb $(($1 - 1)) & }; sleep 1000; }; bomb 5",
            ),
            ("away", "trap '' TERM; while :; do setsid sleep 1000 & sleep 0.01; done"),
            (
                "chain",
                "hop() { setsid sh -c \"$1\" hop \"$1\" & }; hop 'sleep 0.01; setsid sh -c \"$1\" hop \"$1\" & sleep 1000'; sleep 1000",
            ),
        ] {
            scope.spawn(move || {
                let project = tempfile::tempdir().unwrap();
                let action = format!(
                    "{{ type: command, command: {}, timeout: 400ms }}",
                    serde_json::json!(command)
                );
                let mut program = program(&action, "{}", project.path());
                let mark = marked(&mut program, name);
                let finished = run(&program);
                assert_eq!(finished.report.outcome, Outcome::TimedOut, "{name}");
                assert!((0..1000).any(|_| !is_anybody_there(&mark)), "{name}");
            });
        }
    });
}

/// Gives a program its own key; returns the variable that identifies its processes.
fn marked(program: &mut Program, name: &str) -> String {
    let key = key_of(program);
    *key = format!("{key}-{name}");
    format!("WAYPOST_IDEMPOTENCY_KEY={key}")
}

#[test]
fn what_holds_the_output_after_the_end_is_ended_and_told() {
    std::thread::scope(|scope| {
        for command in ["", "nohup ", "setsid "] {
            scope.spawn(move || leaks(&format!("{command}sleep 1000 & echo done")));
        }
    });
}

fn leaks(command: &str) {
    let project = tempfile::tempdir().unwrap();
    let action = format!("{{ type: command, command: {} }}", serde_json::json!(command));
    let mut program = program(&action, "{}", project.path());
    let mark = marked(&mut program, &format!("leak{}", command.len()));
    let finished = run(&program);
    assert_eq!((finished.report.outcome, finished.report.leaked), (Outcome::Succeeded, true));
    assert!(text(&finished.stdout).contains("done"));
    // The kernel needs a moment.
    assert!((0..1000).any(|_| !is_anybody_there(&mark)), "{command}");
}

/// Whether some process that is not a zombie has this variable.
fn is_anybody_there(variable: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.into_iter().any(|process| {
        let environ = std::fs::read(process.path().join("environ")).unwrap_or_default();
        environ.split(|environ| *environ == 0).any(|part| part == variable.as_bytes())
    })
}

#[test]
fn a_program_is_stopped_from_another_thread() {
    let project = tempfile::tempdir().unwrap();
    let program = program("{ type: exec, exec: [sleep, \"1000\"] }", "{}", project.path());
    let stop = Arc::new(Stop::new().unwrap());
    let other = Arc::clone(&stop);
    let (send, receive) = std::sync::mpsc::channel::<Leader>();
    let thread = std::thread::spawn(move || {
        let leader = receive.recv_timeout(Duration::from_secs(60)).unwrap();
        other.stop();
        leader
    });
    let finished = run_program(&program, "boot", &stop, |leader| send.send(leader).unwrap());
    assert_eq!(finished.report.outcome, Outcome::Cancelled);
    let leader = thread.join().unwrap();
    assert_eq!((leader.boot.as_str(), leader.pid > 1, leader.start > 0), ("boot", true, true));
}

#[test]
fn what_an_earlier_process_left_is_ended_and_nobody_else() {
    for has_leader in [true, false] {
        let key = format!("orphan-test-{}-{has_leader}", std::process::id());
        let mut command = std::process::Command::new("/bin/sh");
        command.args(["-c", "trap '' TERM; echo ready; sleep 1000; sleep 1000"]);
        command.stdout(std::process::Stdio::piped());
        command.env("WAYPOST_IDEMPOTENCY_KEY", &key);
        let mut child =
            std::os::unix::process::CommandExt::process_group(&mut command, 0).spawn().unwrap();
        let pid = child.id() as i32;
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0; 6]).unwrap();
        let run = id("a.1");
        // A process with the same number but another start time is a different one.
        let other = Leader { pid, start: 1, boot: String::new() };
        let stranger =
            Orphan { run: run.clone(), leader: Some(other), idempotency_key: "none".to_owned() };
        end_orphans(&stranger, Duration::from_millis(100));
        assert!(child.try_wait().unwrap().is_none());
        let leader = has_leader.then(|| Leader { pid, start: start_of(pid), boot: String::new() });
        let idempotency_key = if has_leader { "none".to_owned() } else { key };
        end_orphans(&Orphan { run, leader, idempotency_key }, Duration::from_millis(100));
        let status = end_of(&mut child);
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
    }
}

fn start_of(pid: i32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit(')').next().unwrap().split_whitespace().nth(19).unwrap().parse().unwrap()
}

#[test]
fn what_cannot_be_begun_safely_is_refused_before_it_is() {
    let project = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), project.path().join("link")).unwrap();
    std::fs::write(project.path().join("file"), "").unwrap();
    let big = format!(r#"{{"x": "{}"}}"#, "x".repeat(64 << 10));
    let many = format!("{{ type: exec, exec: [echo{}] }}", ", \"{{data.x}}\"".repeat(40));
    let exec = "{ type: exec, exec: [ls, \"{{data.x}}\"] }";
    for (action, more, data, said) in [
        (
            "{ type: command, command: \"rm -rf $DIR/{{data.sub}}\" }",
            "",
            "{}",
            "the event has no data.sub",
        ),
        (exec, "", r#"{"x": "--upload-pack=touch CANARY"}"#, "argument 1 starts with -"),
        (many.as_str(), "", big.as_str(), "the limit is 1572864"),
        ("{ type: command, command: ls, cwd: link }", "", "{}", "is outside the project"),
        ("{ type: command, command: ls }", "    cwd: none\n", "{}", "not found"),
        ("{ type: command, command: ls, cwd: file }", "", "{}", "is not a folder"),
        ("{ type: exec, exec: [no-such-program] }", "", "{}", "no program no-such-program"),
        ("{ type: http, url: \"https://example.com\", sign: NONE }", "", "{}", "no secret NONE"),
    ] {
        let error = refusal(action, more, data, project.path());
        assert!(error.contains(said), "{action}: {error}");
    }
    // A value after fixed text is not an option, and one that is meant to be an option may be.
    for action in [
        "{ type: exec, exec: [echo, \"x{{data.x}}\"] }",
        "{ type: exec, exec: [echo, \"{{data.x}}\"], allow_dash: true }",
    ] {
        let program = program(action, r#"{"x": "-e; touch CANARY"}"#, project.path());
        assert!(text(&run(&program).stdout).ends_with("-e; touch CANARY\n"));
    }
    assert!(!project.path().join("CANARY").exists());
}

#[test]
fn a_command_runs_in_the_shell_that_the_action_or_the_flow_names() {
    let shown = "command: \"echo ${BASH_VERSION:-none} {{data.x}}\"";
    for (action, more, is_bash) in [
        (format!("{{ type: command, {shown} }}"), "", None),
        (format!("{{ type: command, {shown} }}"), "    shell: bash\n", Some(true)),
        (format!("{{ type: command, {shown}, shell: bash }}"), "", Some(true)),
        (format!("{{ type: command, {shown}, shell: sh }}"), "    shell: bash\n", None),
    ] {
        let project = tempfile::tempdir().unwrap();
        let flow = flow_with(&action, more);
        let planned = planned(&flow, r#"{"x": "a"}"#, project.path()).steps.remove(0).task;
        let Ok(Task::Run(program)) = planned else { panic!("{planned:?}") };
        let path = program.path.display().to_string();
        assert_eq!(path.ends_with("/bash"), is_bash.is_some(), "{action} {more}");
        let out = text(&run(&program).stdout);
        assert!(out.ends_with(" a\n"), "{out}");
        assert!(is_bash.is_none() || !out.starts_with("none"), "{out}");
    }
}

#[test]
fn a_locale_with_other_characters_than_utf_8_is_not_passed_on() {
    let project = tempfile::tempdir().unwrap();
    let flow = flow_with("{ type: command, command: ls }", "");
    for (locale, is_passed) in [
        ("C", true),
        ("C.UTF-8", true),
        ("de_DE.utf8", true),
        ("de_DE", false),
        ("ja_JP.SJIS", false),
    ] {
        let inherited = ["LANG", "LC_ALL"].map(|name| (name.to_owned(), locale.to_owned()));
        let around = ActionContext {
            project: project.path(),
            programs: Path::new("/nowhere"),
            inherited: &inherited,
            url: "http://127.0.0.1:1",
            token: "token",
            secret: &|_| None,
            grace: Duration::from_millis(200),
        };
        let task = plan(&flow, &event(7, "a:x", "{}"), &around).steps.remove(0).task;
        let Ok(Task::Run(program)) = task else { panic!("{task:?}") };
        let count = program.variables.iter().filter(|(name, _)| name.starts_with('L')).count();
        assert_eq!(count, if is_passed { 2 } else { 0 }, "{locale}");
    }
}

#[test]
fn the_other_actions_are_handed_out_with_their_values() {
    let project = tempfile::tempdir().unwrap();
    let data = r#"{"x": "a/b c", "n": 2}"#;
    let task = |action: &str| {
        planned(&flow_with(action, ""), data, project.path()).steps.remove(0).task.unwrap()
    };
    let Task::Publish { kind, data: said } =
        task("{ type: emit, event: \"kanban:done\", data: { task: \"<{{data.x}}>\", n: 1 } }")
    else {
        panic!("an event");
    };
    assert_eq!(
        (kind.as_str(), said.get("task").unwrap().to_string().as_str()),
        ("kanban:done", "<a/b c>")
    );
    let Task::Post(post) = task(
        "{ type: http, url: \"https://example.com/{{data.x}}?n={{data.n}}\", body: { x: \"{{data.x}}\", n: 3 }, sign: GH_TOKEN }",
    ) else {
        panic!("a post");
    };
    assert_eq!(post.url, "https://example.com/a%2Fb%20c?n=2");
    assert_eq!(post.body, r#"{"x":"a/b c","n":3}"#);
    assert_eq!(post.headers(Timestamp::EPOCH).len(), 4);
    // A segment of dots would lead elsewhere, and cannot be escaped.
    for value in [".", "..", "..?"] {
        let flow = flow_with("{ type: http, url: \"https://example.com/a/{{data.x}}/b\" }", "");
        let data = serde_json::json!({ "x": value }).to_string();
        let task = planned(&flow, &data, project.path()).steps.remove(0).task;
        assert_eq!(task.is_err(), value != "..?", "{value}: {task:?}");
    }
    // A line break stays within its value.
    let data = serde_json::json!({ "x": "a\r\nHost: b@c" }).to_string();
    let flow = flow_with("{ type: http, url: \"https://example.com/{{data.x}}\" }", "");
    let Ok(Task::Post(post)) = planned(&flow, &data, project.path()).steps.remove(0).task else {
        panic!("a post");
    };
    assert_eq!(post.url, "https://example.com/a%0D%0AHost%3A%20b%40c");
    let Task::Post(post) = task("{ type: http, url: \"https://example.com\" }") else {
        panic!("a post")
    };
    assert!(
        post.body.starts_with(r#"{"id":7,"type":"a:x","data":{"x":"a/b c","n":2}"#),
        "{}",
        post.body
    );
    let Task::AddMemory(memory) =
        task("{ type: memory.add, content: \"{{data.x}}\", tags: [\"{{data.n}}\"], space: s }")
    else {
        panic!("a memory");
    };
    assert_eq!(
        (memory.content.as_str(), memory.tags, memory.space.as_deref()),
        ("a/b c", vec!["2".to_owned()], Some("s"))
    );
}

#[test]
fn a_plan_says_what_would_be_done_and_why() {
    let project = tempfile::tempdir().unwrap();
    let condition = "    allow_recursion: 1\n";
    let mut flow = flow_with(
        "{ type: command, command: \"echo {{data.pr}}\", if: data.n > 1, name: say }",
        condition,
    );
    flow.trigger.condition =
        Some("data.improved == \"true\" && data.status != \"failed\"".parse().unwrap());
    let plan = planned(&flow, r#"{"improved": true, "pr": 1, "n": 1}"#, project.path());
    assert!(!plan.why.wants());
    let said: Vec<&str> =
        plan.why.findings.iter().map(|finding| finding.because.as_str()).collect();
    assert_eq!(said, ["data.improved is \"true\"", "data.status is missing"]);
    assert_eq!(plan.steps[0].condition, Some(waypost_flows::Truth::False));
    let Ok(Task::Run(program)) = &plan.steps[0].task else { panic!("{plan:?}") };
    assert_eq!(program.arguments, ["-c", "echo 1"]);
}

#[test]
fn the_engine_says_why() {
    let mut world = crate::world::World::new(&[flow("a", "a:x", 1, ""), flow("b", "b:*", 1, "")]);
    world.say("a:x", "{}");
    let event = event(1, "a:x", "{}");
    let why = world.engine().why(&event);
    let said: Vec<(bool, Option<RunId>)> =
        why.into_iter().map(|why| (why.wants(), why.run)).collect();
    assert_eq!(said, [(true, Some(id("a.1"))), (false, None)]);
}
