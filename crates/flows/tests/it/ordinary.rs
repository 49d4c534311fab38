//! Commands that people write every week: each loads, and runs with plain values.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::time::Duration;

use waypost_flows::{ActionContext, Outcome, Stop, Task, parse, plan, run_program};

use crate::world::event;

/// Programs that commands call: each writes its name and its arguments.
const STUBS: [&str; 29] = [
    "aws",
    "black",
    "cargo",
    "curl",
    "diff",
    "docker",
    "eslint",
    "find",
    "gh",
    "git",
    "go",
    "jq",
    "just",
    "kubectl",
    "make",
    "notify-send",
    "npm",
    "pytest",
    "python3",
    "rsync",
    "ruff",
    "sed",
    "sleep",
    "sort",
    "ssh",
    "tee",
    "timeout",
    "xargs",
    "date",
];
const STUB: &str = r#"#!/bin/sh
name=${0##*/}
printf '%s' "$name" >> "$HOME/calls"
for it in "$@"; do printf ' <%s>' "$it" >> "$HOME/calls"; done
echo >> "$HOME/calls"
case "$name" in
    date) echo now ;;
    git) case "$*" in *--name-only*) echo src/a.js ;; describe*) echo v1 ;; diff*) exit 1 ;; esac ;;
esac
"#;

/// Commands for `sh`, each with the calls of programs that it makes.
const SH: &[(&str, &str)] = &[
    ("gh pr merge {{data.pr_number}} --squash", "gh <pr> <merge> <412> <--squash>"),
    (
        "git fetch origin && git checkout {{data.branch}}",
        "git <fetch> <origin>|git <checkout> <feature/x_y>",
    ),
    ("cargo test -p {{data.crate}} 2>&1 | tee test.log", "cargo <test> <-p> <core>|tee <test.log>"),
    (
        "npm ci && npm run build -- --env={{data.env}}",
        "npm <ci>|npm <run> <build> <--> <--env=prod>",
    ),
    ("docker build -t myapp:{{data.sha}} .", "docker <build> <-t> <myapp:0a1b2c> <.>"),
    (
        "docker run --rm -e VERSION={{data.version}} myapp:latest ./deploy.sh",
        "docker <run> <--rm> <-e> <VERSION=1.2.3> <myapp:latest> <./deploy.sh>",
    ),
    (r#"echo "Deployed {{data.version}} at $(date -Is)" >> deploy.log"#, "date <-Is>"),
    (
        r#"curl -fsS -X POST -H 'Content-Type: application/json' -d '{"text":"{{data.message}}"}' https://hooks.slack.example/services/T0"#,
        r#"curl <-fsS> <-X> <POST> <-H> <Content-Type: application/json> <-d> <{"text":"done"}> <https://hooks.slack.example/services/T0>"#,
    ),
    (
        "kubectl set image deployment/web web=registry.example.com/web:{{data.tag}} -n prod",
        "kubectl <set> <image> <deployment/web> <web=registry.example.com/web:v1> <-n> <prod>",
    ),
    (
        r#"if [ "{{data.status}}" = "failed" ]; then notify-send "Build failed" "{{data.message}}"; fi"#,
        "notify-send <Build failed> <done>",
    ),
    (
        r#"git tag -a v{{data.version}} -m "Release {{data.version}}" && git push origin v{{data.version}}"#,
        "git <tag> <-a> <v1.2.3> <-m> <Release 1.2.3>|git <push> <origin> <v1.2.3>",
    ),
    (
        "rsync -av --delete dist/ deploy@example.com:/srv/www/{{data.env}}/",
        "rsync <-av> <--delete> <dist/> <deploy@example.com:/srv/www/prod/>",
    ),
    (
        r#"ssh deploy@example.com "systemctl restart {{data.service}}""#,
        "ssh <deploy@example.com> <systemctl restart billing>",
    ),
    ("make deploy ENV={{data.env}}", "make <deploy> <ENV=prod>"),
    (
        "python3 scripts/report.py --day {{data.day}} > reports/{{data.day}}.md",
        "python3 <scripts/report.py> <--day> <2026-11-21>",
    ),
    (
        r#"jq -n --arg t "{{data.title}}" '{title: $t}' > payload.json"#,
        "jq <-n> <--arg> <t> <Größe> <{title: $t}>",
    ),
    (
        "mkdir -p logs/{{data.agent}} && cp run.log logs/{{data.agent}}/$(date +%s).log",
        "date <+%s>",
    ),
    (
        "aws s3 cp dist/app.tar.gz s3://bucket/releases/{{data.version}}.tar.gz",
        "aws <s3> <cp> <dist/app.tar.gz> <s3://bucket/releases/1.2.3.tar.gz>",
    ),
    (
        r#"for f in $(git diff --name-only {{data.base}}..{{data.head}}); do eslint "$f"; done"#,
        "git <diff> <--name-only> <main..dev>|eslint <src/a.js>",
    ),
    ("VERSION={{data.version}} ./scripts/release.sh", "release.sh"),
    (
        r#"sed -i "s/^version = .*/version = \"{{data.version}}\"/" Cargo.toml"#,
        r#"sed <-i> <s/^version = .*/version = "1.2.3"/> <Cargo.toml>"#,
    ),
    (
        r#"timeout 60 pytest -k "{{data.test}}" --maxfail=1"#,
        "timeout <60> <pytest> <-k> <test_a> <--maxfail=1>",
    ),
    ("just deploy {{data.env}}", "just <deploy> <prod>"),
    (
        r#"case "{{data.action}}" in opened|reopened) ./scripts/triage.sh {{data.number}};; esac"#,
        "triage.sh <7>",
    ),
    ("cd services/{{data.service}} && go test ./...", "go <test> <./...>"),
    (
        "for i in 1 2 3; do curl -fsS http://localhost:8080/health && break; sleep 5; done",
        "curl <-fsS> <http://localhost:8080/health>",
    ),
    (r#"export PATH="$HOME/.local/bin:$PATH" && ruff check ."#, "ruff <check> <.>"),
    (
        "git log --oneline $(git describe --tags --abbrev=0)..HEAD > CHANGES.txt",
        "git <describe> <--tags> <--abbrev=0>|git <log> <--oneline> <v1..HEAD>",
    ),
    ("n=$(cat count); echo $((n+1)) > count", ""),
    ("docker ps -q | xargs docker stop", "docker <ps> <-q>|xargs <docker> <stop>"),
    (
        "find . -name '*.py' | xargs black --check",
        "find <.> <-name> <*.py>|xargs <black> <--check>",
    ),
    ("npm test -- --coverage || true", "npm <test> <--> <--coverage>"),
    ("PYTHONPATH=src pytest -q", "pytest <-q>"),
    (r#"RUSTFLAGS="-D warnings" cargo clippy --all-targets"#, "cargo <clippy> <--all-targets>"),
    (
        r#"cp "$WAYPOST_EVENT_DATA_file" backup/ && gzip -9 "backup/$(basename "$WAYPOST_EVENT_DATA_file")""#,
        "",
    ),
    (
        r#"git diff --quiet || git commit -am "auto: $(date +%F)""#,
        "git <diff> <--quiet>|date <+%F>|git <commit> <-am> <auto: now>",
    ),
];

/// Commands that need `shell: bash`.
const BASH: &[(&str, &str)] = &[
    ("set -euo pipefail; cargo build --release", "cargo <build> <--release>"),
    ("[[ -f .env ]] && source .env", "source"),
    ("diff <(sort a.txt) <(sort b.txt)", "sort <a.txt>|sort <b.txt>|diff <*> <*>"),
    ("mkdir -p build/{debug,release}", ""),
];

const DATA: &str = r#"{"pr_number": 412, "branch": "feature/x_y", "crate": "core", "env": "prod",
    "sha": "0a1b2c", "version": "1.2.3", "message": "done", "tag": "v1", "status": "failed",
    "service": "billing", "day": "2026-11-21", "title": "Größe", "agent": "scout", "base": "main",
    "head": "dev", "test": "test_a", "action": "opened", "number": 7, "file": "my file.txt"}"#;

/// A project with what the commands need.
fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["bin", "scripts", "reports", "services/billing", "backup"] {
        fs::create_dir_all(at(name)).unwrap();
    }
    let stub = at("bin/stub");
    fs::write(&stub, STUB).unwrap();
    fs::set_permissions(&stub, fs::Permissions::from_mode(0o755)).unwrap();
    for name in STUBS {
        symlink(&stub, at("bin").join(name)).unwrap();
    }
    for name in ["release.sh", "triage.sh"] {
        symlink(&stub, at("scripts").join(name)).unwrap();
    }
    for (name, text) in [
        ("run.log", ""),
        ("count", "1\n"),
        ("my file.txt", ""),
        (".env", "echo source >> calls\n"),
        ("calls", ""),
    ] {
        fs::write(at(name), text).unwrap();
    }
    folder
}

/// The calls that a command makes, sorted if some of them run side by side.
fn calls(folder: &Path, command: &str, shell: &str) -> String {
    let action = serde_json::json!({ "type": "command", "command": command, "shell": shell });
    let text = format!(
        "flows:\n  - name: a\n    trigger: {{ pattern: \"a:*\" }}\n    actions:\n      - {action}\n"
    );
    let flow = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}")).remove(0);
    let inherited = [
        ("PATH".to_owned(), "/usr/bin:/bin".to_owned()),
        ("HOME".to_owned(), folder.display().to_string()),
    ];
    let around = ActionContext {
        project: folder,
        programs: &folder.join("bin"),
        inherited: &inherited,
        url: "http://127.0.0.1:1",
        token: "token",
        secret: &|_| None,
        grace: Duration::from_millis(200),
    };
    let task = plan(&flow, &event(7, "a:x", DATA), &around).steps.remove(0).task;
    let Ok(Task::Run(mut program)) = task else { panic!("{command}: {task:?}") };
    program.variables.retain(|(name, _)| name != "WAYPOST_IDEMPOTENCY_KEY");
    let finished = run_program(&program, "boot", &Stop::new().unwrap(), |_| {});
    let errors = String::from_utf8_lossy(&finished.stderr.to_bytes()).into_owned();
    assert_eq!(finished.report.outcome, Outcome::Succeeded, "{command}: {errors}");
    let calls = fs::read_to_string(folder.join("calls")).unwrap();
    fs::write(folder.join("calls"), "").unwrap();
    let mut calls: Vec<&str> = calls.lines().collect();
    if command.contains('|') || command.contains("<(") {
        calls.sort_unstable();
    }
    calls.join("|")
}

#[test]
fn ordinary_commands_load_and_run_with_plain_values() {
    assert_eq!(SH.len() + BASH.len(), 40);
    let folder = project();
    for (command, wanted) in SH.iter().chain(BASH) {
        let shell = if BASH.iter().any(|(it, _)| it == command) { "bash" } else { "sh" };
        let made = calls(folder.path(), command, shell);
        let mut wanted: Vec<&str> = wanted.split('|').collect();
        if command.contains('|') || command.contains("<(") {
            wanted.sort_unstable();
        }
        let wanted = wanted.join("|");
        // The names of descriptors differ.
        let made = if wanted.contains("<*>") {
            made.replace("/dev/fd/63", "*").replace("/dev/fd/62", "*")
        } else {
            made
        };
        assert_eq!(made, wanted, "{command}");
    }
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("deploy.log"), "Deployed 1.2.3 at now\n");
    assert_eq!(read("count"), "2\n");
    for name in
        ["reports/2026-11-21.md", "logs/scout/now.log", "build/debug", "backup/my file.txt.gz"]
    {
        assert!(folder.path().join(name).exists(), "{name}");
    }
}

/// The same commands in bash: whatever dash runs.
#[test]
fn ordinary_commands_run_in_bash_too() {
    let folder = project();
    for (command, wanted) in SH.iter().filter(|(it, _)| it.contains("data.")) {
        let made = calls(folder.path(), command, "bash");
        assert_eq!(made.split('|').count(), wanted.split('|').count(), "{command}: {made}");
    }
}

/// The chain of the brief, as it is written there.
#[test]
fn the_chain_of_an_evaluation_runs_as_it_is_written() {
    let folder = project();
    symlink(folder.path().join("bin/stub"), folder.path().join("bin/ctl")).unwrap();
    for (command, wanted) in [
        ("gh pr merge {{data.pr_number}} --squash", "gh <pr> <merge> <412> <--squash>"),
        (
            "ctl emit kanban:done --data pr_number={{data.pr_number}}",
            "ctl <emit> <kanban:done> <--data> <pr_number=412>",
        ),
    ] {
        assert_eq!(calls(folder.path(), command, "sh"), wanted);
    }
}
