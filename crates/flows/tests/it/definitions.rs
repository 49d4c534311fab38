//! Flow files: what they can say, and where they are wrong.

use waypost_flows::{Flow, FlowFile, Kind, Mode, Shell, parse};

fn one(text: &str) -> Flow {
    let flows = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    flows.into_iter().next().unwrap()
}

#[test]
fn the_smallest_flow_is_what_it_does_and_when() {
    let flow = one(r#"
flows:
  - name: auto-merge
    trigger:
      pattern: "eval:scored"
      condition: data.improved == "true"
    actions:
      - type: command
        command: gh pr merge {{data.pr_number}}
"#);
    assert_eq!(flow.name.as_str(), "auto-merge");
    assert!(flow.enabled);
    assert_eq!(flow.concurrency.limit, 1);
    let Kind::Command(command) = &flow.actions[0].kind else { panic!("{flow:?}") };
    assert_eq!(command.as_str(), "gh pr merge {{data.pr_number}}");
}

#[test]
fn a_flow_can_say_everything() {
    let flow = one(r#"
flows:
  - name: all
    description: Everything there is.
    enabled: false
    trigger: { pattern: "kanban:*" }
    start: after 12
    concurrency: { limit: 2, key: data.task, mode: restart, max_queued: 5 }
    debounce: { quiet: 5s, max: 1m, key: data.task }
    rate_limit: { runs: 60, per: 1m }
    allow_recursion: 1
    env: { A: "1" }
    secrets: [GH_TOKEN]
    cwd: tools
    shell: bash
    files: [tools/lib.txt]
    actions:
      - { type: command, command: "echo {{data.x}}", shell: sh, allow_dash: true }
      - { type: exec, exec: [gh, pr, merge, "{{data.pr}}"], allow_dash: true, timeout: 2m,
          retry: { max: 3, initial: 2s, factor: 3, cap: 1m, on: [failure] }, on_interrupt: fail }
      - { type: emit, event: "kanban:done", data: { task: "{{data.task}}", n: 1, ok: true } }
      - { type: http, url: "https://example.com/{{data.x}}", body: { a: "{{data.x}}" }, sign: HOOK }
      - { type: memory.add, content: "{{data.x}}", title: t, memory_type: note, tags: [a], space: s,
          if: has(data.x), continue_on_error: true, name: remember, env: { B: c }, cwd: a/b }
"#);
    assert_eq!(flow.concurrency.mode, Mode::Restart);
    assert_eq!((flow.actions.len(), flow.shell), (5, Shell::Bash));
    assert_eq!(flow.actions[1].timeout.to_string(), "2m");
    assert_eq!(flow.debounce.unwrap().quiet.to_string(), "5s");
    assert!(flow.actions[4].condition.is_some());
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let flow = |trigger: &str, action: &str| {
        format!(
            "flows:\n  - name: a\n    trigger: {{ {trigger} }}\n    actions:\n      - {action}\n"
        )
    };
    let good = "pattern: \"a:b\"";
    let big = format!("flows: [] # {}", "x".repeat(1 << 20));
    let laughs = "a: &a [x,x]\nb: &b [*a,*a]\nflows: *b\n";
    for (text, line, column, said) in [
        (flow("pattern: \"*:b\"", "{ type: command, command: ls }"), 3, 25, "character 1"),
        (
            flow("pattern: \"a:b\", condition: \"data.a = 1\"", "{ type: command, command: ls }"),
            3,
            43,
            "write == (character 8",
        ),
        (flow(good, "{ type: command, command: \"echo ${{data.x}}\" }"), 5, 35, "cannot follow $"),
        (flow(good, "{ type: command, command: \"echo {{data.x}}>f\" }"), 5, 35, "write a space"),
        (flow(good, "{ type: command, command: ls, shell: zsh }"), 5, 46, "`sh` or `bash`"),
        (flow(good, "{ type: exec, exec: [ls], shell: bash }"), 5, 9, "has no field shell"),
        (flow(good, "{ type: comand, command: ls }"), 5, 17, "`memory.add`"),
        (flow(good, "{ type: command }"), 5, 9, "needs command"),
        (flow(good, "{ type: command, command: ls, url: x }"), 5, 9, "has no field url"),
        (flow(good, "{ type: command, command: ls, timeot: 1s }"), 5, 39, "`timeout`"),
        (flow(good, "{ type: command, command: ls, timeout: 1 }"), 5, 48, "not a valid duration"),
        (flow(good, "{ type: command, command: ls, timeout: 1w }"), 5, 48, "30s"),
        (flow(good, "{ type: command, command: [ls] }"), 5, 35, "a shell command"),
        (flow(good, "{ type: command, command: ls, command: ls }"), 5, 9, "duplicate field"),
        (flow(good, "{ type: command, command: ls, cwd: ../x }"), 5, 44, "without .."),
        (
            flow(good, "{ type: command, command: ls, env: { PATH=: x } }"),
            5,
            44,
            "not a valid variable name",
        ),
        (flow(good, "{ type: command, command: ls, env: { WAYPOST_URL: x } }"), 5, 44, "reserved"),
        (flow(good, "{ type: exec, exec: [\"{{data.x}}\"] }"), 5, 9, "choose the program"),
        (flow(good, "{ type: exec, exec: [] }"), 5, 9, "needs a program"),
        (flow(good, "{ type: emit, event: \"flow:x\" }"), 5, 9, "only the service"),
        (flow(good, "{ type: emit, event: \"a:b\", data: { a: { b: 1 } } }"), 5, 48, "a string"),
        (
            flow(good, "{ type: emit, event: \"a:b\", data: { a: 1, a: 2 } }"),
            5,
            43,
            "duplicate key a",
        ),
        (flow(good, "{ type: emit, event: \"a:b\", data: { a.b: 1 } }"), 5, 9, "a key is"),
        (flow(good, "!!python/object { type: command }"), 5, 0, ""),
        ("flows:\n\t- name: a\n".to_owned(), 2, 1, ""),
        ("flow: []\n".to_owned(), 1, 1, "`flows`"),
        (String::new(), 1, 1, "flows"),
        ("flows: []\n---\nflows: []\n".to_owned(), 1, 1, "more than one document"),
        ("flows:\n  - name: a b\n".to_owned(), 2, 11, "not a valid flow name"),
        (big, 1, 1, "the limit is 1048576"),
        (laughs.to_owned(), 1, 1, "unknown field `a`"),
        (format!("flows: {}", "[".repeat(1000)), 1, 0, ""),
    ] {
        let error = parse(&text).map(|_| ()).unwrap_err();
        assert!(error.message.contains(said), "{text:.200}: {error}");
        if column > 0 {
            assert_eq!((error.line, error.column), (line, column), "{text:.200}: {error}");
        }
    }
}

#[test]
fn a_type_or_a_place_that_is_wrong_is_said_with_its_place() {
    let flow = |trigger: &str, action: &str| {
        format!(
            "flows:\n  - name: a\n    trigger: {{ {trigger} }}\n    actions:\n      - {action}\n"
        )
    };
    let good = "pattern: \"a:b\"";
    for (text, line, column, said) in [
        (
            flow("pattern: \"a:b\", data: { n: int }", "{ type: command, command: ls }"),
            3,
            43,
            "write integer, number",
        ),
        (
            flow(
                "pattern: \"a:b\", data: { n: integer, n: slug }",
                "{ type: command, command: ls }",
            ),
            3,
            38,
            "duplicate key n",
        ),
        (
            flow("pattern: \"a:b\", data: { a.b: integer }", "{ type: command, command: ls }"),
            3,
            38,
            "not a key",
        ),
        (
            flow(good, &format!("{{ type: exec, exec: [ls, {}] }}", "x".repeat(65_535))),
            5,
            9,
            "exec has 65537 bytes; the limit is 65536",
        ),
        (
            flow(good, "{ type: exec, exec: [sh, -c, \"echo ${{data.x}}\"] }"),
            5,
            9,
            "cannot follow $",
        ),
        (flow(good, "{ type: http, url: \"https://{{data.x}}/\" }"), 5, 9, "the host of the URL"),
        (flow(good, "{ type: http, url: \"https://a.{{data.x}}/\" }"), 5, 9, "the host of the URL"),
        (flow(good, "{ type: http, url: \"{{data.x}}://a.b/\" }"), 5, 9, "the host of the URL"),
        (
            flow(good, "{ type: http, url: \"https://a@b:{{data.x}}/\" }"),
            5,
            9,
            "the host of the URL",
        ),
    ] {
        let error = parse(&text).map(|_| ()).unwrap_err();
        assert!(error.message.contains(said), "{text}: {error}");
        assert_eq!((error.line, error.column), (line, column), "{text}: {error}");
    }
}

#[test]
fn a_value_without_a_type_that_must_be_plain_is_named() {
    let flow = one(r#"
flows:
  - name: typed
    trigger: { pattern: "a:*", data: { n: integer, t: text } }
    actions:
      - { type: command, command: "echo {{data.n}} {{data.t}} {{data.x}}" }
      - { type: exec, exec: [gh, issue, create, --title, "{{data.title}}"] }
      - { type: exec, exec: [ssh, host, uptime, "{{data.y}}"] }
      - { type: http, url: "https://example.com/{{data.z}}" }
"#);
    assert_eq!(flow.undeclared().into_iter().collect::<Vec<_>>(), ["t", "x", "y"]);
}

#[test]
fn a_value_that_would_be_a_command_is_a_caution_with_its_place() {
    let text = r#"
flows:
  - name: a
    trigger: { pattern: "a:*" }
    actions:
      - { type: command, command: "echo {{data.x}}" }
      - { type: command, command: "true; {{data.x}} --help" }
"#;
    let file = FlowFile::new("a.yaml", text).unwrap();
    let [caution] = &file.cautions()[..] else { panic!("{:?}", file.cautions()) };
    assert_eq!((caution.line, caution.column), (7, 35));
    let wanted = "flows[0].actions[1].command: data.x is the name of a command here, or a part of it: the event chooses what runs (line 1, character 7 of the text)";
    assert_eq!(caution.message, wanted);
}

#[test]
fn flows_are_judged_beside_each_other() {
    let flow = "  - name: a\n    trigger: { pattern: \"a:b\" }\n    actions: [{ type: command, command: ls }]\n";
    let error = parse(&format!("flows:\n{flow}{flow}")).map(|_| ()).unwrap_err();
    assert_eq!((error.line, error.column), (5, 11));
    assert!(error.message.contains("another flow"), "{error}");
    for name in ["files", "runs", "why"] {
        let reserved = flow.replace("name: a", &format!("name: {name}"));
        let error = parse(&format!("flows:\n{reserved}")).map(|_| ()).unwrap_err();
        assert_eq!((error.line, error.column), (2, 11));
        assert!(error.message.contains("reserved"), "{error}");
    }
    let marked = parse(&format!("\u{feff}flows:\n{flow}")).unwrap();
    assert_eq!(marked.len(), 1, "a byte order mark says nothing");
    // Another name may start with it.
    assert!(parse(&format!("flows:\n{}", flow.replace("name: a", "name: runs2"))).is_ok());
    let none = flow.replace("[{ type: command, command: ls }]", "[]");
    let error = parse(&format!("flows:\n{none}")).map(|_| ()).unwrap_err();
    assert!(error.message.contains("no action"), "{error}");
}

#[test]
fn an_error_repeats_little_of_the_file() {
    let long = "x".repeat(1_000_000);
    for field in
        ["concurrency: { key: ", "debounce: { quiet: 1s, key: ", "nam: { a: ", "start: { a: "]
    {
        let text = format!(
            "flows:\n  - name: a\n    trigger: {{ pattern: \"a:b\" }}\n    {field}{long} }}\n    actions: [{{ type: command, command: ls }}]\n"
        );
        let error = parse(&text).map(|_| ()).unwrap_err();
        assert!(error.message.chars().count() <= 1501, "{}", error.message.len());
    }
    let key = format!(
        "flows:\n  - name: a\n    trigger: {{ pattern: \"a:b\" }}\n    concurrency: {{ key: {long} }}\n"
    );
    let message = parse(&key).map(|_| ()).unwrap_err().message;
    assert!(message.ends_with("write data.key"), "{message}");
}
