//! What the hooks of agents call, as processes.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use waypost_api::{RecallSessionRequest, routes};

use crate::ctl::{self, Ran};
use crate::service::Service;
use crate::wait::until;

const QUESTION: &str = "Which port does the billing service listen on?";
const ANSWER: &str = "We decided that the billing service listens on port 4747.";

/// A session's transcript, in the format of each harness.
fn transcript(harness: &str, question: &str, answer: &str) -> String {
    let at = "2026-11-20T10:00:00.000Z";
    let lines = match harness {
        "claude" => vec![
            json!({"type": "user", "isSidechain": false, "sessionId": "first", "version": "2.1.280", "timestamp": at,
                "message": {"role": "user", "content": question}}),
            json!({"type": "assistant", "isSidechain": false, "timestamp": at,
                "message": {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}]}}),
            json!({"type": "user", "timestamp": at,
                "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "tool output"}]}}),
            json!({"type": "assistant", "isSidechain": false, "timestamp": at,
                "message": {"role": "assistant", "stop_reason": "end_turn", "content": [{"type": "text", "text": answer}]}}),
        ],
        "codex" => vec![
            json!({"timestamp": at, "type": "session_meta", "payload": {"id": "first", "cli_version": "0.150.0"}}),
            json!({"timestamp": at, "type": "event_msg", "payload": {"type": "user_message", "message": question}}),
            json!({"timestamp": at, "type": "response_item", "payload": {"type": "function_call_output", "output": "tool output"}}),
            json!({"timestamp": at, "type": "event_msg", "payload": {"type": "agent_message", "message": answer}}),
        ],
        _ => vec![
            json!({"role": "user", "message": {"content": [{"type": "text", "text": format!("<user_query>\n{question}\n</user_query>")}]}}),
            json!({"role": "tool", "message": {"content": [{"type": "tool-result", "result": "tool output"}]}}),
            json!({"role": "assistant", "message": {"content": [{"type": "text", "text": answer}]}}),
        ],
    };
    let lines: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
    lines.concat()
}

/// The same, said after everything that was recorded.
fn later(transcript: &str) -> String {
    transcript.replace("2026-11-20", "2100-01-01")
}

fn hook(service: &Service, harness: &str, event: &[&str], input: &Value) -> Ran {
    let arguments = [&["hook"], event, &["--harness", harness]].concat();
    service.ctl_with_input(&arguments, input.to_string().as_bytes())
}

/// The text that a hook gives to the model, and the whole output.
fn given(harness: &str, event: &str, ran: &Ran) -> String {
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    if ran.out.is_empty() {
        return String::new();
    }
    let output: Value = serde_json::from_str(&ran.out).expect("JSON");
    let (wanted, text) = if harness == "cursor" {
        let text = &output["additional_context"];
        let wanted = if event == "UserPromptSubmit" {
            json!({"continue": true, "additional_context": text})
        } else {
            json!({ "additional_context": text })
        };
        (wanted, text)
    } else {
        let text = &output["hookSpecificOutput"]["additionalContext"];
        let specific = json!({"hookEventName": event, "additionalContext": text});
        (json!({ "hookSpecificOutput": specific }), text)
    };
    assert_eq!(output, wanted);
    text.as_str().expect("a text").to_owned()
}

fn filled() -> Service {
    let service = Service::start();
    for subject in ["gardens", "boats", "trains", "mountains", "violins", "kitchens"] {
        service.add(&format!("Some notes about {subject}, which nobody will ask for."));
    }
    service
}

fn write(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("transcript.jsonl");
    fs::write(&path, text).expect("it is written");
    path
}

/// What a harness says to its hooks; the id has another name in Cursor.
fn said(harness: &str, session: &str, more: &Value) -> Value {
    let id = if harness == "cursor" { "conversation_id" } else { "session_id" };
    let mut said = json!({"hook_event_name": "x", "a_field_of_2030": [1, {}]});
    said[id] = json!(session);
    for (key, value) in more.as_object().expect("an object") {
        said[key] = value.clone();
    }
    said
}

#[test]
fn a_cycle_of_each_harness_ends_in_a_session_that_knows() {
    for harness in ["claude", "codex", "cursor"] {
        let service = filled();
        let folder = tempfile::tempdir().expect("a folder");
        let path = write(folder.path(), &transcript(harness, QUESTION, ANSWER));
        let cwd = service.folder();
        let stop = said(
            harness,
            "first",
            &json!({"transcript_path": path, "cwd": cwd, "stop_hook_active": false}),
        );
        let ran = hook(&service, harness, &["stop"], &stop);
        assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""), "{harness}");
        // The background records.
        let turns = until(|| {
            let listed = service.ctl(&["--json", "list", "--type", "turn"]).json();
            if listed.as_array().map(Vec::len) == Some(2) { Ok(listed) } else { Err(listed) }
        });
        assert_eq!(turns[1]["content"], ANSWER);
        // Without a time in the transcript, it was said when the session began.
        let created = fs::metadata(&path).and_then(|metadata| metadata.created());
        let began = created.map(|created| waypost_time::Timestamp::from(created).to_string());
        if harness != "cursor" {
            assert_eq!(turns[1]["createdAt"], "2026-11-20T10:00:00.000Z");
        } else if let Ok(began) = began {
            assert_eq!(turns[1]["createdAt"], began);
        }
        assert!(!turns.to_string().contains("tool output"));

        let start = said(harness, "second", &json!({"source": "startup", "cwd": cwd}));
        let ran = hook(&service, harness, &["session-start"], &start);
        let brief = given(harness, "SessionStart", &ran);
        assert!(brief.contains(ANSWER), "{harness}: {brief}");
        assert!(brief.starts_with("<waypost-memory>") && brief.encode_utf16().count() <= 10_000);

        let prompt =
            |session: &str| said(harness, session, &json!({"prompt": QUESTION, "cwd": cwd}));
        let known = hook(&service, harness, &["user-prompt"], &prompt("second"));
        assert_eq!(given(harness, "UserPromptSubmit", &known), "");
        let new = hook(&service, harness, &["user-prompt"], &prompt("third"));
        assert!(given(harness, "UserPromptSubmit", &new).contains(ANSWER), "{new:?}");

        // What was injected comes back in the transcript, and is not recorded again.
        let injected = format!("{brief}\nBack to work: which tests fail?");
        fs::write(&path, transcript(harness, &injected, "The tests of the parser fail."))
            .expect("it is written");
        let end = said(
            harness,
            "second",
            &json!({"transcript_path": path, "cwd": cwd, "reason": "exit"}),
        );
        let ran = hook(&service, harness, &["session-end", "--foreground"], &end);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        let listed = service.ctl(&["--json", "list", "--type", "turn"]).json();
        assert_eq!(listed[2]["content"], "Back to work: which tests fail?", "{listed}");

        let log = service.ctl(&["recall", "log", "--session", "second"]).done();
        assert!(log.contains("An earlier session ended with it"), "{log}");
        assert!(log.contains("The session already has it"), "{log}");
        let why = service.ctl(&["recall", "why", "--session", "second", QUESTION]).done();
        assert!(why.contains("injected at"), "{why}");
        let why =
            service.ctl(&["recall", "why", "--session", "second", "notes about violins"]).done();
        assert!(why.contains("not found by any prompt"), "{why}");
    }
}

#[test]
fn after_a_compaction_the_brief_comes_again() {
    let service = filled();
    service.ctl(&["add", "--type", "decision", "Releases are signed."]).done();
    let at = |source: &str| said("claude", "s", &json!({"source": source, "trigger": "auto"}));
    let brief = |source: &str| {
        let ran = hook(&service, "claude", &["session-start"], &at(source));
        given("claude", "SessionStart", &ran)
    };
    assert!(brief("startup").contains("signed"));
    assert_eq!(brief("resume"), "");
    assert!(brief("compact").contains("signed"));
    // Cursor calls no hook afterwards.
    let ran = hook(
        &service,
        "cursor",
        &["pre-compact", "--foreground"],
        &said("cursor", "s", &json!({})),
    );
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""));
    let prompt = said("cursor", "s", &json!({"prompt": "go on"}));
    let ran = hook(&service, "cursor", &["user-prompt"], &prompt);
    assert!(given("cursor", "UserPromptSubmit", &ran).contains("signed"));
    let ran = hook(&service, "cursor", &["user-prompt"], &prompt);
    assert_eq!(given("cursor", "UserPromptSubmit", &ran), "");
}

#[test]
fn a_transcript_is_read_on_and_again_when_it_shrinks() {
    let service = Service::start();
    let folder = tempfile::tempdir().expect("a folder");
    let whole = transcript("claude", QUESTION, ANSWER);
    let record = |text: &str| {
        let path = write(folder.path(), text);
        let stop = said("claude", "s", &json!({"transcript_path": path}));
        let ran = hook(&service, "claude", &["stop", "--foreground"], &stop);
        assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""));
        let listed = service.ctl(&["--json", "list", "--type", "turn"]).json();
        listed
            .as_array()
            .expect("a list")
            .iter()
            .map(|array| array["content"].as_str().expect("one").to_owned())
            .collect::<Vec<_>>()
    };
    // The last line is not complete yet.
    assert_eq!(record(&whole[..whole.len() - 9]), [QUESTION]);
    assert_eq!(record(&whole), [QUESTION, ANSWER]);
    let more = format!("{whole}{}", transcript("claude", "And the second?", "4748."));
    assert_eq!(record(&more).len(), 4);
    let shorter = format!(
        "{}{}",
        transcript("claude", "And the second?", "4748."),
        "{\"type\":\"of 2030\"}\nnonsense\n"
    );
    assert_eq!(record(&shorter).len(), 4);
    let grown = format!("{shorter}{}", later(&transcript("claude", "A third?", "No.")));
    assert_eq!(record(&grown).len(), 6);
    assert_eq!(record("").len(), 6);
}

#[test]
fn a_nul_character_in_a_turn_or_a_prompt_is_left_out() {
    for harness in ["claude", "codex", "cursor"] {
        let service = filled();
        let folder = tempfile::tempdir().expect("a folder");
        let text = [
            transcript(harness, "\0Which\0 port?\0", "Port\0 4747 of the billing service.\0"),
            transcript(harness, "\0", "Anything else?"),
        ];
        assert!(text[0].contains("\\u0000"));
        let path = write(folder.path(), &text.concat());
        let stop = said(harness, "s", &json!({"transcript_path": path}));
        let ran = hook(&service, harness, &["stop", "--foreground"], &stop);
        assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""));
        let listed = service.ctl(&["--json", "list", "--type", "turn"]).json();
        let contents: Vec<&str> =
            (0..3).map(|number| listed[number]["content"].as_str().expect("a text")).collect();
        let wanted = ["Which port?", "Port 4747 of the billing service.", "Anything else?"];
        assert_eq!((contents, &listed[3]), (wanted.to_vec(), &Value::Null));
        let known = service
            .client()
            .call(&routes::GET_RECALL_SESSION.at("s"), RecallSessionRequest::default())
            .expect("it is known");
        assert_eq!(known.offset, text.concat().len() as u64);

        let start = said(harness, "second", &json!({"source": "start\0up"}));
        assert_eq!(hook(&service, harness, &["session-start"], &start).err, "");
        let prompt = format!("\0{}\0", QUESTION.replace(' ', " \0"));
        let prompt = said(harness, "third", &json!({ "prompt": prompt }));
        let ran = hook(&service, harness, &["user-prompt"], &prompt);
        assert!(given(harness, "UserPromptSubmit", &ran).contains("4747"), "{ran:?}");
    }
}

/// A turn that the service refuses for its content must not keep the others from being recorded.
#[test]
fn a_refused_turn_is_left_out_and_named() {
    let service = Service::start_with(|folder, it| {
        fs::create_dir_all(folder.join(".waypost")).expect("a folder");
        it.limits.body_bytes_max = 4_000;
    });
    let folder = tempfile::tempdir().expect("a folder");
    let long = "much ".repeat(2_000);
    let before = transcript("claude", QUESTION, &long);
    let whole = format!("{before}{}", transcript("claude", "And the second?", "4748."));
    let path = write(folder.path(), &whole);
    let stop = said("claude", "s", &json!({"transcript_path": path}));
    let record = || {
        let ran = hook(&service, "claude", &["stop", "--foreground"], &stop);
        assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{ran:?}");
        let listed = service.ctl(&["--json", "list", "--type", "turn"]).json();
        let listed = listed.as_array().expect("a list").iter();
        let contents = listed.map(|listed| listed["content"].as_str().expect("a text").to_owned());
        (contents.collect::<Vec<_>>(), ran.err)
    };
    let offset = || {
        service
            .client()
            .call(&routes::GET_RECALL_SESSION.at("s"), RecallSessionRequest::default())
            .expect("it is known")
            .offset
    };
    let (contents, err) = record();
    assert_eq!(contents, [QUESTION, "And the second?", "4748."]);
    let wanted =
        format!("refused 1 turn of {}, the first before byte {}:", path.display(), before.len());
    assert!(err.contains(&wanted) && err.contains("4000"), "{err}");
    assert_eq!((err.lines().count(), offset()), (1, whole.len() as u64), "{err}");
    let log = || service.ctl(&["--json", "recall", "log"]).json();
    let refused = json!({"before": before.len(), "reason": "tooLarge"});
    assert_eq!(log()[0]["refused"], refused);
    let said_in_log = service.ctl(&["recall", "log", "--session", "s"]).done();
    let wanted = format!(
        "not recorded: the turn before byte {} of the transcript. The request with it is too large",
        before.len()
    );
    assert!(said_in_log.contains("refused  claude s\n"), "{said_in_log}");
    assert!(
        said_in_log.contains(&wanted) && !said_in_log.contains("nothing injected"),
        "{said_in_log}"
    );
    // It is not tried again.
    assert_eq!(record(), (contents.clone(), String::new()));
    assert_eq!(log().as_array().map(Vec::len), Some(1));
    // The file became shorter: it is read again from its beginning.
    let new = later(&transcript("claude", "Third?", "No."));
    let shorter = transcript("claude", &long, QUESTION) + &new;
    let shorter = shorter.replacen("much much ", "", 1);
    assert!(shorter.len() < whole.len());
    write(folder.path(), &shorter);
    let (contents, err) = record();
    assert_eq!(contents.last().map(String::as_str), Some("No."), "{contents:?}");
    assert!(err.contains("refused 1 turn"), "{err}");
    assert_eq!(offset(), shorter.len() as u64);
    // In the background, the log is the only place that says so.
    let other = said("claude", "other", &json!({"transcript_path": path}));
    let ran = hook(&service, "claude", &["stop"], &other);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""));
    let entry = until(|| {
        let newest = log()[0].clone();
        if newest["session"] == "other" { Ok(newest) } else { Err(newest.to_string()) }
    });
    assert_eq!(
        (&entry["moment"], &entry["refused"]["reason"]),
        (&"refused".into(), &"tooLarge".into())
    );
    // It is nothing that the session got.
    let why = service.ctl(&["--json", "recall", "why", "--session", "other", QUESTION]).json();
    assert_eq!(why["entries"], 0);
}

/// Whatever is wrong, a hook exits with 0, prints nothing on standard output, and says in one line
/// what it was.
#[test]
fn no_failure_reaches_the_agent() {
    let empty = tempfile::tempdir().expect("a folder");
    fs::create_dir(empty.path().join(".waypost")).expect("a folder");
    let check = |command: &mut std::process::Command, input: &[u8], what: &str| {
        let ran = ctl::with_input(command, input);
        assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{what}: {ran:?}");
        ran.err
    };
    let fine = json!({"session_id": "s", "prompt": QUESTION, "source": "startup", "transcript_path": "/nowhere"});
    let fine = fine.to_string();
    for event in ["session-start", "user-prompt", "stop", "pre-compact", "session-end"] {
        let arguments = ["hook", event, "--harness", "claude"];
        let command = || ctl::command(empty.path(), &arguments);
        for input in
            ["", "{", "null", "[]", "{}", "7", "{\"session_id\":7}", "\u{0}", "{\"prompt\":\"x\"}"]
        {
            let err = check(&mut command(), input.as_bytes(), event);
            assert_eq!(err.lines().count(), 1, "{event} {input:?}: {err}");
        }
        check(&mut command(), b"\xff\xfe", event);
        check(&mut command(), &b"[".repeat(100_000), event);
        // No service, no home, no folder, a project that is not approved.
        check(&mut command(), fine.as_bytes(), event);
        check(command().env_remove("HOME"), fine.as_bytes(), event);
        let mut pending = ctl::command(empty.path(), &arguments);
        fs::write(empty.path().join(".waypost/config.yaml"), "listen: 127.0.0.1:9\n")
            .expect("a file");
        check(&mut pending, fine.as_bytes(), event);
        fs::write(empty.path().join(".waypost/config.yaml"), "nonsense: [\n").expect("a file");
        check(&mut ctl::command(empty.path(), &arguments), fine.as_bytes(), event);
        fs::remove_file(empty.path().join(".waypost/config.yaml")).expect("a file");
        check(&mut ctl::command(Path::new("/"), &arguments), fine.as_bytes(), event);
        // Options that no release knows.
        let arguments = ["hook", event, "--harness", "emacs", "--volume", "11"];
        let err = check(&mut ctl::command(empty.path(), &arguments), fine.as_bytes(), event);
        assert_eq!(err.lines().count(), 1, "{err}");
    }
    for (arguments, wanted) in [
        (&["hook"][..], "ctl hook: a subcommand is missing"),
        (&["hook", "sub-agent-stop"][..], "ctl hook: unrecognized subcommand 'sub-agent-stop'"),
        (
            &["hook", "stop"],
            "ctl hook: the following required arguments were not provided: --harness",
        ),
        (&["hook", "stop", "--harness"], "[possible values: claude, codex, cursor]"),
        (&["hook", "stop", "--harness", "emacs"], "[possible values: claude, codex, cursor]"),
        (&["hook", "sotp", "--harness", "claude"], "a similar subcommand exists: 'stop'"),
        (&["hook", "stop", "--harness", "claude", "--x\ny\n\u{1b}[31m"], "unexpected argument"),
        (&["--nonsense", "hook", "stop", "--harness", "claude"], "'--nonsense'"),
        (&["hook", "stop", "--harness", "claude", "--url"], "'--url <URL>'"),
    ] {
        let err = check(&mut ctl::command(empty.path(), arguments), b"{}", "a wrong command line");
        assert_eq!(err.lines().count(), 1, "{arguments:?}: {err}");
        assert!(err.contains(wanted) && !err.contains('\u{1b}'), "{arguments:?}: {err}");
    }
}

#[test]
fn a_session_that_cannot_be_named_is_refused_in_one_line() {
    let service = filled();
    let long = "x".repeat(257);
    for (harness, session, wanted) in [
        ("claude", "a\0b", "the input's `session_id` contains a NUL character (U+0000)"),
        ("codex", long.as_str(), "the input's `session_id` has 257 characters"),
        ("cursor", "a\0b", "the input's `conversation_id` contains a NUL character (U+0000)"),
        ("cursor", " \n", "the input's `conversation_id` is blank"),
    ] {
        let input =
            said(harness, session, &json!({"prompt": QUESTION, "transcript_path": "/dev/null"}));
        for event in ["session-start", "user-prompt", "stop", "pre-compact", "session-end"] {
            let ran = hook(&service, harness, &[event], &input);
            let line = format!(
                "note: ctl hook {event}: {wanted}; it must have 1 to 256 characters, and no NUL\n"
            );
            assert_eq!((ran.code, ran.out.as_str(), ran.err), (0, "", line), "{session:?}");
        }
    }
    // Other control characters are part of a name, and are shown as escapes.
    let named = said("claude", "a\u{1b}[31mb", &json!({"prompt": QUESTION}));
    assert_eq!(hook(&service, "claude", &["user-prompt"], &named).err, "");
    assert!(service.ctl(&["recall", "log"]).done().contains("claude a\\u{1b}[31mb  "));
}

#[test]
fn a_sub_agent_gets_nothing_and_is_not_recorded() {
    let service = filled();
    service.add(ANSWER);
    let folder = tempfile::tempdir().expect("a folder");
    let path = write(folder.path(), &transcript("claude", QUESTION, ANSWER));
    let of_agent = json!({"prompt": QUESTION, "agent_id": "a1", "transcript_path": path});
    for event in [&["user-prompt"][..], &["session-start"], &["stop", "--foreground"]] {
        let ran = hook(&service, "claude", event, &said("claude", "s", &of_agent));
        assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""));
    }
    assert_eq!(service.ctl(&["--json", "recall", "log"]).json(), json!([]));
    assert_eq!(service.ctl(&["--json", "list", "--type", "turn"]).json(), json!([]));
}

#[test]
fn switches_turn_injecting_and_recording_off() {
    let service = filled();
    service.add(ANSWER);
    let folder = tempfile::tempdir().expect("a folder");
    let path = write(folder.path(), &transcript("claude", QUESTION, ANSWER));
    let input = said("claude", "s", &json!({"prompt": QUESTION, "transcript_path": path}));
    let run = |event: &[&str], variable: &str| {
        let arguments = [&["hook"], event, &["--harness", "claude"]].concat();
        let mut command = service.ctl_command(&arguments);
        command.env(variable, "false");
        ctl::with_input(&mut command, input.to_string().as_bytes())
    };
    assert_eq!(run(&["user-prompt"], "WAYPOST_RECALL_INJECT").out, "");
    assert_eq!(run(&["session-start"], "WAYPOST_RECALL_INJECT").out, "");
    assert_eq!(service.ctl(&["--json", "recall", "log"]).json(), json!([]));
    assert_eq!(run(&["stop", "--foreground"], "WAYPOST_RECALL_RECORD").code, 0);
    assert_eq!(service.ctl(&["--json", "list", "--type", "turn"]).json(), json!([]));
    assert!(run(&["user-prompt"], "WAYPOST_RECALL_RECORD").out.contains("4747"));
}

/// A service that accepts and never answers, and an input that never ends: the hook gives up.
#[test]
fn a_hook_ends_in_time_whatever_waits() {
    let folder = tempfile::tempdir().expect("a folder");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let input = json!({"session_id": "s", "prompt": QUESTION}).to_string();
    for (event, limit) in [("user-prompt", "300ms"), ("session-start", "1s")] {
        for ends in [true, false] {
            let arguments = ["--url", &url, "hook", event, "--harness", "claude"];
            let mut command = ctl::command(folder.path(), &arguments);
            let mut child = command.stdin(Stdio::piped()).spawn().expect("it starts");
            let mut stdin = child.stdin.take().expect("it is piped");
            stdin.write_all(input.as_bytes()).expect("it reads");
            let held = (!ends).then_some(stdin);
            let ran = ctl::ran(child.wait_with_output().expect("it ends"));
            drop(held);
            assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{ran:?}");
            // The client gives up at the same time.
            let is_late = ran.err.contains(&format!("did not end within {limit}"));
            assert!(is_late || (ends && ran.err.contains("did not answer in time")), "{ran:?}");
        }
    }
}
