//! `ctl mcp install|remove` and `ctl hook install|remove`.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::ctl::{self, Ran, run};

/// Every client with the file that `install` writes in the project, the one of the user, and the list in it.
const CLIENTS: [(&str, Option<&str>, &str, &str); 7] = [
    ("claude-code", Some(".mcp.json"), ".claude.json", "mcpServers"),
    ("claude-desktop", None, ".config/Claude/claude_desktop_config.json", "mcpServers"),
    ("cursor", Some(".cursor/mcp.json"), ".cursor/mcp.json", "mcpServers"),
    ("vscode", Some(".vscode/mcp.json"), ".config/Code/User/mcp.json", "servers"),
    ("codex", Some(".codex/config.toml"), ".codex/config.toml", "mcp_servers"),
    ("zed", Some(".zed/settings.json"), ".config/zed/settings.json", "context_servers"),
    ("gemini", Some(".gemini/settings.json"), ".gemini/settings.json", "mcpServers"),
];

/// A home folder with a project in it.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        let home = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(home.path().join("notes/.git")).expect("a folder");
        Self(home)
    }

    fn path(&self, file: &str) -> std::path::PathBuf {
        self.0.path().canonicalize().expect("a folder").join(file)
    }

    fn ctl(&self, arguments: &[&str]) -> Ran {
        let mut command = ctl::command(&self.path("notes"), arguments);
        command.env("HOME", self.path(""));
        ctl::ran(command.output().expect("it runs"))
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).expect("a file")
    }
}

fn program() -> String {
    let path = Path::new(env!("CARGO_BIN_EXE_ctl")).canonicalize().expect("a program");
    path.to_str().expect("UTF-8").to_owned()
}

/// The arguments of the entry in a file.
fn entry(text: &str, list: &str) -> (Value, Value) {
    if list == "mcp_servers" {
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} = ")));
            serde_json::from_str(line.expect("a line")).expect("the same form in JSON")
        };
        assert!(text.contains("[mcp_servers.waypost]"), "{text}");
        return (value("command"), value("args"));
    }
    let found: Value = serde_json::from_str(text).expect("JSON");
    let entry = &found[list]["waypost"];
    let kind = if list == "servers" { json!("stdio") } else { Value::Null };
    assert_eq!(entry["type"], kind, "{entry}");
    (entry["command"].clone(), entry["args"].clone())
}

#[test]
fn each_client_gets_an_entry_in_the_project_and_for_the_user() {
    for (client, in_project, of_user, list) in CLIENTS {
        let home = Home::new();
        let project = home.path("notes");
        let project = project.to_str().expect("UTF-8");
        if let Some(file) = in_project {
            let file = format!("notes/{file}");
            let said = home.ctl(&["mcp", "install", "--client", client]).done();
            assert!(
                said.contains("added the server `waypost` to ") && said.contains(&file),
                "{said}"
            );
            let arguments = match client {
                "cursor" | "vscode" => json!(["--project", "${workspaceFolder}", "mcp"]),
                _ => json!(["mcp"]),
            };
            assert_eq!(entry(&home.read(&file), list), (json!(program()), arguments), "{client}");
            // `ctl mcp` may start a service there.
            assert!(home.path("notes/.waypost").is_dir());
            let before = home.read(&file);
            let again = home.ctl(&["--json", "mcp", "install", "--client", client]).json();
            assert_eq!(again["change"], "none", "{again}");
            assert_eq!(home.read(&file), before);
            let removed = home.ctl(&["mcp", "remove", "--client", client]).done();
            assert!(removed.contains("removed"), "{removed}");
            assert!(!home.read(&file).contains("waypost"));
        }
        home.ctl(&["mcp", "install", "--client", client, "--user"]).done();
        let text = home.read(of_user);
        assert_eq!(
            entry(&text, list),
            (json!(program()), json!(["--project", project, "mcp"])),
            "{client}"
        );
        let mode = fs::metadata(home.path(of_user)).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let removed = home.ctl(&["--json", "mcp", "remove", "--client", client, "--user"]).json();
        assert_eq!((&removed["change"], &removed["entry"]), (&json!("removed"), &Value::Null));
        let again = home.ctl(&["--json", "mcp", "remove", "--client", client, "--user"]).json();
        assert_eq!(again["change"], "none");
    }
}

#[test]
fn other_entries_stay_as_they_are() {
    let home = Home::new();
    let json = "{\n    // my servers\n    \"mcpServers\": {\n        \"other\": { \"command\": \"npx\", \"args\": [ \"-y\" ] }, // keep\n    },\n    \"secret\": \"s\"\n}\n";
    let toml = "model = 'x' # mine\n\n[mcp_servers.other]\ncommand = 'npx'\n";
    for (client, file, text) in [
        ("gemini", "notes/.gemini/settings.json", json),
        ("codex", "notes/.codex/config.toml", toml),
    ] {
        home.write(file, text);
        home.ctl(&["mcp", "install", "--client", client]).done();
        let added = home.read(file);
        assert!(added.len() > text.len() && added.contains("waypost"), "{added}");
        for line in text.lines() {
            assert!(added.contains(line), "{line} in {added}");
        }
        home.ctl(&["mcp", "remove", "--client", client]).done();
        assert_eq!(home.read(file), text);
    }
}

#[test]
fn each_agent_gets_hooks_in_the_project_and_for_the_user() {
    let events = ["session-start", "user-prompt", "stop", "pre-compact", "session-end"];
    for (harness, file, names) in [
        (
            "claude",
            ".claude/settings.json",
            ["SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"],
        ),
        (
            "codex",
            ".codex/hooks.json",
            ["SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"],
        ),
        (
            "cursor",
            ".cursor/hooks.json",
            ["sessionStart", "beforeSubmitPrompt", "stop", "preCompact", "sessionEnd"],
        ),
    ] {
        let home = Home::new();
        home.write(&format!("notes/{file}"), "{\"mine\": [1.50]}\n");
        let project = home.path("notes").display().to_string();
        for (is_user, file) in [(false, format!("notes/{file}")), (true, file.to_owned())] {
            let user: &[&str] = if is_user { &["--user"] } else { &[] };
            home.ctl(&[&["hook", "install", "--harness", harness], user].concat()).done();
            let text = home.read(&file);
            let found: Value = serde_json::from_str(&text).expect("JSON");
            for (name, event) in names.iter().zip(events) {
                let group = &found["hooks"][name][0];
                let hook = if harness == "cursor" { group } else { &group["hooks"][0] };
                let folder = match (is_user, harness) {
                    (true, _) => format!(" --project {project}"),
                    (false, "claude") => " --project \"$CLAUDE_PROJECT_DIR\"".to_owned(),
                    (false, _) => String::new(),
                };
                let command = format!("{}{folder} hook {event} --harness {harness}", program());
                assert_eq!(hook["command"], command.as_str(), "{found}");
                let seconds = hook["timeout"].as_u64().expect("seconds");
                assert!((1..=30).contains(&seconds), "{hook}");
                let kind = if harness == "cursor" { Value::Null } else { json!("command") };
                assert_eq!(hook["type"], kind);
                let is_async = harness == "claude" && event == "stop";
                assert_eq!(hook["async"].as_bool(), is_async.then_some(true), "{hook}");
            }
            assert_eq!(found["version"].as_u64(), (harness == "cursor").then_some(1));
            let again =
                home.ctl(&[&["--json", "hook", "install", "--harness", harness], user].concat());
            assert_eq!(again.json()["change"], "none");
            assert_eq!(home.read(&file), text);
            home.ctl(&[&["hook", "remove", "--harness", harness], user].concat()).done();
            let left: Value = serde_json::from_str(&home.read(&file)).expect("JSON");
            assert!(!left.to_string().contains("ctl"), "{left}");
        }
        assert!(home.read(&format!("notes/{file}")).contains("\"mine\": [1.50]"));
    }
}

#[test]
fn a_dry_run_prints_the_entry_and_writes_nothing() {
    let home = Home::new();
    let ran = home.ctl(&["mcp", "install", "--client", "cursor", "--dry-run"]);
    let shown: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(shown["mcpServers"]["waypost"]["command"], program().as_str());
    assert!(ran.err.contains("would add the server `waypost` to "), "{ran:?}");
    let ran = home.ctl(&["hook", "install", "--harness", "cursor", "--dry-run", "--user"]);
    assert!(ran.out.contains("sessionStart") && ran.err.contains("would add the hooks"), "{ran:?}");
    let ran = home.ctl(&["mcp", "remove", "--client", "codex", "--dry-run"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{ran:?}");
    let left: Vec<_> = fs::read_dir(home.path("notes")).expect("a folder").collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(!home.path(".cursor").exists());
}

#[test]
fn options_are_repeated_and_tokens_never_written() {
    let home = Home::new();
    home.write("notes/reader.token", "wp_secret");
    home.ctl(&["--token-file", "reader.token", "mcp", "install", "--client", "claude-code"]).done();
    let text = home.read("notes/.mcp.json");
    assert!(!text.contains("wp_secret"), "{text}");
    let file = home.path("notes/reader.token").display().to_string();
    assert_eq!(entry(&text, "mcpServers").1, json!(["--token-file", file, "mcp"]));
    let refused = home.ctl(&[
        "--url",
        "http://me:pw@127.0.0.1:1",
        "mcp",
        "install",
        "--client",
        "claude-code",
    ]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert_eq!(home.read("notes/.mcp.json"), text);
}

/// Refused with that message, with the entry to paste, and without a change.
#[track_caller]
fn check_refused(home: &Home, arguments: &[&str], file: &str, why: &str) {
    let before = fs::read(home.path(file)).ok();
    let ran = home.ctl(arguments);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains(why), "{why}: {ran:?}");
    assert!(ran.out.contains("waypost") || ran.out.contains("hook"), "{ran:?}");
    assert!(ran.err.contains("paste the entry"), "{ran:?}");
    assert_eq!(fs::read(home.path(file)).ok(), before);
}

#[test]
fn files_that_cannot_be_edited_safely_are_refused() {
    let home = Home::new();
    let mcp = ["mcp", "install", "--client", "claude-code"];
    let file = "notes/.mcp.json";
    for (text, why) in
        [("{\"mcpServers\": {", "is not valid JSON: line 1"), ("[]", "is not a JSON object")]
    {
        home.write(file, text);
        check_refused(&home, &mcp, file, why);
    }
    fs::write(home.path(file), b"{\"a\": \"\xff\"}").expect("a file");
    check_refused(&home, &mcp, file, "not valid UTF-8");
    home.write("notes/.codex/config.toml", "a = [1\n");
    let codex = ["mcp", "install", "--client", "codex"];
    check_refused(&home, &codex, "notes/.codex/config.toml", "is not valid TOML: line");
    home.write("notes/.claude/settings.json", "{\"hooks\": 1}");
    let hook = ["hook", "install", "--harness", "claude"];
    check_refused(&home, &hook, "notes/.claude/settings.json", "\"hooks\" is not an object");

    fs::write(home.path(file), "{}").expect("a file");
    fs::set_permissions(home.path(file), fs::Permissions::from_mode(0o444)).expect("a mode");
    check_refused(&home, &mcp, file, "it is read-only");
    fs::remove_file(home.path(file)).expect("a file");
    let elsewhere = tempfile::tempdir().expect("a folder");
    fs::write(elsewhere.path().join("x.json"), "{}").expect("a file");
    symlink(elsewhere.path().join("x.json"), home.path(file)).expect("a link");
    check_refused(&home, &mcp, file, "outside");
    fs::remove_file(home.path(file)).expect("a link");
    symlink("nothing", home.path(file)).expect("a link");
    check_refused(&home, &mcp, file, "does not exist");
    fs::remove_file(home.path(file)).expect("a link");
    fs::create_dir(home.path(file)).expect("a folder");
    check_refused(&home, &mcp, file, "could not read");
}

/// The entry of an MCP client with these members besides ours.
fn with_members(members: &str) -> String {
    format!(
        "{{\"mcpServers\": {{\"waypost\": {{\"command\": \"ctl\", \"args\": [\"mcp\"], {members}}}}}}}"
    )
}

/// A hook in a file of Claude Code.
fn of_claude(hook: &Value) -> String {
    json!({"hooks": {"Stop": [{"hooks": [hook]}]}}).to_string()
}

fn running(command: &str) -> Value {
    json!({"type": "command", "command": command})
}

/// A command that installs, its file, the file's text, and the names of what `install` did not write in it.
type Planted = (&'static [&'static str], &'static str, String, &'static str);

/// Entries that look like ours.
fn planted() -> Vec<Planted> {
    const CLAUDE: &[&str] = &["hook", "install", "--harness", "claude"];
    const CURSOR: &[&str] = &["hook", "install", "--harness", "cursor"];
    const MCP: &[&str] = &["mcp", "install", "--client", "claude-code"];
    const CODEX: &[&str] = &["mcp", "install", "--client", "codex"];
    let mut planted = Vec::new();
    for (command, named) in [
        (
            "WAYPOST_URL=http://127.0.0.1:9 ctl hook stop --harness claude",
            "the variable WAYPOST_URL",
        ),
        ("SSL_CERT_FILE=ca.pem /x/ctl hook stop --harness claude", "the variable SSL_CERT_FILE"),
        ("LD_PRELOAD='./a b.so' ctl hook stop", "the variable LD_PRELOAD, other options"),
        ("env WAYPOST_TRUST_PROJECT=1 ctl hook stop --harness claude", "another command line"),
        ("sh -c 'WAYPOST_URL=x exec /opt/ctl hook stop'", "another command line"),
        ("export WAYPOST_URL=x; ctl hook stop --harness claude", "another command line"),
    ] {
        planted.push((CLAUDE, ".claude/settings.json", of_claude(&running(command)), named));
        let flat = json!({"version": 1, "hooks": {"stop": [{"command": command}]}}).to_string();
        planted.push((CURSOR, ".cursor/hooks.json", flat, named));
    }
    for (name, value) in
        [("env", json!({"WAYPOST_URL": "x"})), ("cwd", json!("/evil")), ("args", json!(["hook"]))]
    {
        let mut hook = running("ctl hook stop --harness claude");
        hook[name] = value;
        planted.push((CLAUDE, ".claude/settings.json", of_claude(&hook), name));
    }
    let group = json!({"matcher": "x", "hooks": [running("ctl hook stop --harness claude")]});
    let group = json!({"hooks": {"Stop": [group]}}).to_string();
    planted.push((CLAUDE, ".claude/settings.json", group, "matcher"));
    for (members, named) in [
        ("\"env\": {\"WAYPOST_TRUST_PROJECT\": \"1\"}", "env"),
        ("\"env\": {\"LD_PRELOAD\": \"./x.so\"}", "env"),
        ("\"cwd\": \"/evil\"", "cwd"),
        ("\"trust\": true", "trust"),
        ("\"envFile\": \".env\"", "envFile"),
        ("\"type\": \"http\", \"url\": \"http://127.0.0.1:9\"", "type, url"),
    ] {
        planted.push((MCP, ".mcp.json", with_members(members), named));
    }
    for (entry, named) in [
        (json!({"command": "sh", "args": ["-c", "WAYPOST_URL=x ctl mcp"]}), "another command line"),
        (
            json!({"command": "env", "args": ["WAYPOST_URL=x", "/x/ctl", "mcp"]}),
            "another command line",
        ),
        (json!({"command": "ctl", "args": ["mcp", "--no-start"]}), "other options"),
        (
            json!({"command": {"path": "ctl", "args": ["mcp"], "env": {"A": "1"}}}),
            "another command line",
        ),
    ] {
        let text = json!({"mcpServers": {"notes": entry}}).to_string();
        planted.push((MCP, ".mcp.json", text, named));
    }
    let other = json!({"mcpServers": {"Waypost": {"url": "https://evil.example/mcp"}}}).to_string();
    planted.push((MCP, ".mcp.json", other, "another command line, url"));
    for (members, named) in [
        ("env = { WAYPOST_TRUST_PROJECT = \"1\" }", "env"),
        ("cwd = \"/evil\"", "cwd"),
        ("env_vars = [\"WAYPOST_URL\"]", "env_vars"),
        ("\n[mcp_servers.x.env]\nLD_PRELOAD = \"./x.so\"", "env"),
    ] {
        let text = format!("[mcp_servers.x]\ncommand = \"ctl\"\nargs = [\"mcp\"]\n{members}\n");
        planted.push((CODEX, ".codex/config.toml", text, named));
    }
    planted
}

#[test]
fn what_others_planted_is_shown_and_refused_unless_the_user_keeps_it() {
    for (command, file, text, named) in planted() {
        let home = Home::new();
        let file = format!("notes/{file}");
        home.write(&file, &text);
        let said = format!("has {named}: {{");
        let refused = home.ctl(command);
        assert_eq!(refused.code, 1, "{text}: {refused:?}");
        assert!(refused.err.contains(&said) && refused.err.contains("--keep"), "{refused:?}");
        // Ours, to paste.
        assert!(refused.out.contains(&program()), "{refused:?}");
        assert_eq!(home.read(&file), text);

        let kept = home.ctl(&[command, &["--keep"]].concat());
        assert_eq!(kept.code, 0, "{text}: {kept:?}");
        assert!(kept.err.contains("warning: ") && kept.err.contains("has "), "{kept:?}");
        // It has taken the place of ours.
        let found = home.read(&file);
        for part in ["hook stop", "\"mcp\"", "mcp_servers"] {
            assert!(found.matches(part).count() <= text.matches(part).count().max(1), "{found}");
        }
        for part in ["evil", "WAYPOST_", "LD_PRELOAD", "trust", "no-start", "matcher", "envFile"] {
            assert_eq!(found.contains(part), text.contains(part), "{part}: {found}");
        }

        let remove = [&command[..1], &["remove"], &command[2..]].concat();
        let removed = home.ctl(&remove);
        assert_eq!(removed.code, 0, "{removed:?}");
        let is_left = named.contains("another");
        assert_eq!(removed.err.contains("has another command line"), is_left, "{removed:?}");
        let parts = ["hook stop", "WAYPOST_", "evil"];
        let left = home.read(&file);
        assert!(is_left || !parts.iter().any(|part| left.contains(part)), "{left}");
    }
}

/// Entries as earlier releases and `claude mcp add` wrote them, with other programs and folders.
#[test]
fn entries_of_earlier_releases_are_replaced_whole() {
    let home = Home::new();
    let mcp = ["mcp", "install", "--client", "claude-code"];
    for entry in [
        json!({"command": "ctl", "args": ["mcp"]}),
        json!({"command": "/old/ctl", "args": ["--project", "/x", "--url", "https://a", "mcp"]}),
        json!({"type": "stdio", "command": "ctl", "args": ["mcp"], "env": {}}),
    ] {
        home.write("notes/.mcp.json", &json!({"mcpServers": {"notes": entry}}).to_string());
        let ran = home.ctl(&mcp);
        assert_eq!((ran.code, ran.err.contains("did not write")), (0, false), "{ran:?}");
        let found: Value = serde_json::from_str(&home.read("notes/.mcp.json")).expect("JSON");
        let entry = &found["mcpServers"]["notes"];
        assert_eq!((&entry["command"], &entry["args"]), (&json!(program()), &json!(["mcp"])));
    }
    let old = "'/o l d/ctl' --project \"$CLAUDE_PROJECT_DIR\" --ca /c hook stop --harness claude";
    let mut hook = running(old);
    hook["timeout"] = json!(60);
    home.write("notes/.claude/settings.json", &of_claude(&hook));
    let ran = home.ctl(&["hook", "install", "--harness", "claude"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    assert!(!home.read("notes/.claude/settings.json").contains("o l d"));

    // One of ours and one of a stranger: ours is updated, the other one stays as it is.
    let stranger = json!({"command": "sh", "args": ["-c", "WAYPOST_URL=x ctl mcp"]});
    let ours = json!({"command": "/old/ctl", "args": ["mcp"]});
    let both = json!({"mcpServers": {"a": ours, "b": stranger}}).to_string();
    home.write("notes/.mcp.json", &both);
    assert_eq!(home.ctl(&mcp).code, 1);
    assert_eq!(home.read("notes/.mcp.json"), both);
    home.ctl(&[&mcp[..], &["--keep"]].concat()).done();
    let found: Value = serde_json::from_str(&home.read("notes/.mcp.json")).expect("JSON");
    assert_eq!(found["mcpServers"]["a"]["command"], program().as_str(), "{found}");
    assert_eq!(found["mcpServers"]["b"], stranger);
}

#[test]
fn the_file_of_the_project_is_checked_with_that_of_the_user() {
    let home = Home::new();
    home.write("notes/.cursor/mcp.json", &with_members("\"cwd\": \"/evil\""));
    let ran = home.ctl(&["mcp", "install", "--client", "cursor", "--user"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let file = home.path("notes/.cursor/mcp.json").display().to_string();
    assert!(ran.err.contains(&file) && ran.err.contains("has cwd: {"), "{ran:?}");
}

#[test]
fn without_a_home_folder_only_the_files_of_the_project_are_written() {
    let home = Home::new();
    let at = |arguments: &[&str]| {
        let mut command = ctl::command(&home.path("notes"), arguments);
        ctl::ran(command.env_remove("HOME").output().expect("it runs"))
    };
    let refused = at(&["mcp", "install", "--client", "cursor", "--user"]);
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("HOME is not set"), "{refused:?}");
    assert_eq!(at(&["mcp", "install", "--client", "claude-desktop"]).code, 1);
    assert_eq!(at(&["hook", "install", "--harness", "claude", "--user"]).code, 1);
    at(&["mcp", "install", "--client", "cursor"]).done();
    assert!(home.read("notes/.cursor/mcp.json").contains("waypost"));
}

#[test]
fn unknown_clients_and_agents_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let ran = run(folder.path(), &["mcp", "install", "--client", "emacs"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("emacs") && ran.err.contains("claude-code"), "{ran:?}");
    let ran = run(folder.path(), &["hook", "install", "--harness", "vim"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("cursor"), "{ran:?}");
}
