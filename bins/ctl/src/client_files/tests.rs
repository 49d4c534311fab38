//! Edits of texts and files.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use super::file::{ClientFile, Place};
use super::{Action, Change, Edit, Entries, Event, Format, Hooks, Servers, Shape};

const JSON: Format = Format::Json { list: "mcpServers" };
const INSTALL: Action = Action::Install { is_keeping: false };
const TOML: Format = Format::Toml { list: "mcp_servers" };

fn servers(format: Format) -> Servers {
    let arguments = ["--project", "/home/me/my notes", "mcp"].map(str::to_owned).to_vec();
    Servers { format, command: "/usr/bin/ctl".to_owned(), arguments }
}

fn hooks(shape: Shape) -> Hooks {
    let event = |name, event, is_async| Event {
        name,
        command: format!("ctl hook {event} --harness claude"),
        timeout_seconds: 5,
        is_async,
    };
    Hooks {
        shape,
        events: vec![event("SessionStart", "session-start", false), event("Stop", "stop", true)],
    }
}

/// Installing changes the text to `expected`, again changes nothing, and removing restores it.
#[track_caller]
fn check(entries: &dyn Entries, text: &str, expected: &str) {
    let added = entries.install(text).expect("it can be edited");
    assert_eq!((added.change, added.text.as_str()), (Change::Added, expected));
    let again = entries.install(&added.text).expect("it can be edited");
    assert_eq!((again.change, again.text.as_str()), (Change::Nothing, expected));
    let removed = entries.remove(&added.text).expect("it can be edited");
    assert_eq!((removed.change, removed.text.as_str()), (Change::Removed, text));
    let again = entries.remove(text).expect("it can be edited");
    assert_eq!((again.change, again.text.as_str()), (Change::Nothing, text));
}

#[test]
fn a_server_is_added_to_json_and_removed_again() {
    check(
        &servers(JSON),
        "{\n\t\"theme\": \"x\",\n\t\"mcpServers\": {\n\t\t\"a\": { \"command\": \"npx\" }\n\t}\n}\n",
        "{\n\t\"theme\": \"x\",\n\t\"mcpServers\": {\n\t\t\"a\": { \"command\": \"npx\" },\n\t\t\"waypost\": {\n\t\t\t\"command\": \"/usr/bin/ctl\",\n\t\t\t\"args\": [\"--project\", \"/home/me/my notes\", \"mcp\"]\n\t\t}\n\t}\n}\n",
    );
    // A list of our own, comments, trailing commas, and Windows' line ends.
    check(
        &servers(Format::TypedJson { list: "servers" }),
        "// mine\r\n{\r\n  \"inputs\": [], // none\r\n  /* last */\r\n}\r\n",
        "// mine\r\n{\r\n  \"inputs\": [], // none\r\n  \"servers\": {\r\n    \"waypost\": {\r\n      \"type\": \"stdio\",\r\n      \"command\": \"/usr/bin/ctl\",\r\n      \"args\": [\"--project\", \"/home/me/my notes\", \"mcp\"]\r\n    }\r\n  },\r\n  /* last */\r\n}\r\n",
    );
}

#[test]
fn a_server_is_added_to_toml_and_removed_again() {
    check(
        &servers(TOML),
        "# mine\nmodel = \"x\" # the best\n\n[mcp_servers.a]\ncommand = 'npx'\n",
        "# mine\nmodel = \"x\" # the best\n\n[mcp_servers.a]\ncommand = 'npx'\n\n[mcp_servers.waypost]\ncommand = \"/usr/bin/ctl\"\nargs = [\"--project\", \"/home/me/my notes\", \"mcp\"]\n",
    );
    check(
        &servers(TOML),
        "model = \"x\"\n",
        "model = \"x\"\n\n[mcp_servers.waypost]\ncommand = \"/usr/bin/ctl\"\nargs = [\"--project\", \"/home/me/my notes\", \"mcp\"]\n",
    );
    // Without the last line's end, and with Windows' line ends.
    check(
        &servers(TOML),
        "model = \"x\"",
        "model = \"x\"\n\n[mcp_servers.waypost]\ncommand = \"/usr/bin/ctl\"\nargs = [\"--project\", \"/home/me/my notes\", \"mcp\"]",
    );
    check(
        &servers(TOML),
        "model = \"x\" # the best\r\ntext = \"\"\"\r\na\r\n\"\"\"\r\n",
        "model = \"x\" # the best\r\ntext = \"\"\"\r\na\r\n\"\"\"\r\n\r\n[mcp_servers.waypost]\r\ncommand = \"/usr/bin/ctl\"\r\nargs = [\"--project\", \"/home/me/my notes\", \"mcp\"]\r\n",
    );
}

#[test]
fn hooks_are_added_to_groups_and_removed_again() {
    check(
        &hooks(Shape::Groups),
        "{\n  \"model\": \"x\",\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"hooks\": [\n          { \"type\": \"command\", \"command\": \"bell\" }\n        ]\n      }\n    ]\n  }\n}\n",
        "{\n  \"model\": \"x\",\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"hooks\": [\n          { \"type\": \"command\", \"command\": \"bell\" }\n        ]\n      },\n      {\n        \"hooks\": [\n          {\n            \"type\": \"command\",\n            \"command\": \"ctl hook stop --harness claude\",\n            \"timeout\": 5,\n            \"async\": true\n          }\n        ]\n      }\n    ],\n    \"SessionStart\": [\n      {\n        \"hooks\": [\n          {\n            \"type\": \"command\",\n            \"command\": \"ctl hook session-start --harness claude\",\n            \"timeout\": 5\n          }\n        ]\n      }\n    ]\n  }\n}\n",
    );
}

#[test]
fn hooks_are_added_to_a_flat_list_and_removed_again() {
    check(
        &hooks(Shape::Flat),
        "{\n  \"version\": 1,\n  \"hooks\": {\n    \"stop\": [{ \"command\": \"bell\" }]\n  }\n}\n",
        "{\n  \"version\": 1,\n  \"hooks\": {\n    \"stop\": [{ \"command\": \"bell\" }],\n    \"SessionStart\": [\n      {\n        \"command\": \"ctl hook session-start --harness claude\",\n        \"timeout\": 5\n      }\n    ],\n    \"Stop\": [\n      {\n        \"command\": \"ctl hook stop --harness claude\",\n        \"timeout\": 5,\n        \"async\": true\n      }\n    ]\n  }\n}\n",
    );
    let alone = hooks(Shape::Flat).install("").expect("it can be edited").text;
    assert!(alone.starts_with("{\n  \"version\": 1,\n  \"hooks\": {\n"), "{alone}");
}

#[test]
fn our_entry_is_replaced_whatever_its_name_and_path() {
    let json = r#"{"mcpServers":{"memory":{"command":"/old/ctl","args":["mcp"],"env":{"A":"1"}},"b":{"command":"npx"},"c":{"command":"ctl","args":["--project","/x","mcp"]}}}"#;
    let edited = servers(JSON).install(json).expect("it can be edited");
    assert_eq!(edited.change, Change::Updated);
    let found: serde_json::Value = serde_json::from_str(&edited.text).expect("JSON");
    let list = found["mcpServers"].as_object().expect("a list");
    assert_eq!(list.keys().collect::<Vec<_>>(), ["b", "memory"]);
    assert_eq!(list["memory"]["command"], "/usr/bin/ctl");
    assert_eq!(list["memory"]["env"]["A"], "1");

    let toml = "[mcp_servers.memory]\ncommand = \"ctl\"\nargs = [\"mcp\"]\nstartup_timeout_sec = 9\n\n[mcp_servers.b]\ncommand = \"npx\"\n\n[mcp_servers.c]\ncommand = \"/a/ctl\"\nargs = [\"mcp\"]\n";
    let edited = servers(TOML).install(toml).expect("it can be edited");
    assert_eq!(edited.change, Change::Updated);
    let args = "[\"--project\", \"/home/me/my notes\", \"mcp\"]";
    let expected = format!(
        "[mcp_servers.memory]\ncommand = \"/usr/bin/ctl\"\nargs = {args}\nstartup_timeout_sec = 9\n\n[mcp_servers.b]\ncommand = \"npx\"\n"
    );
    assert_eq!(edited.text, expected);

    let old = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"'/o l d/ctl' --project /x hook stop --harness claude"},{"type":"command","command":"bell"}]}],"PreCompact":[{"hooks":[{"type":"command","command":"ctl hook pre-compact --harness claude"}]}]}}"#;
    let edited = hooks(Shape::Groups).install(old).expect("it can be edited");
    assert_eq!(edited.change, Change::Updated);
    let found: serde_json::Value = serde_json::from_str(&edited.text).expect("JSON");
    assert_eq!(found["hooks"]["Stop"][0]["hooks"].as_array().map(Vec::len), Some(1));
    assert_eq!(found["hooks"]["Stop"][1]["hooks"][0]["command"], "ctl hook stop --harness claude");
    assert!(found["hooks"].get("PreCompact").is_none(), "{found}");
}

#[test]
fn hooks_of_the_user_stay() {
    let foreign = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"ctl hook stop --harness claude; ./mine.sh"}]}]}}"#;
    let hooks = hooks(Shape::Groups);
    let unchanged = hooks.remove(foreign).expect("it can be edited");
    assert_eq!((unchanged.change, unchanged.text.as_str()), (Change::Nothing, foreign));
    let added = hooks.install(foreign).expect("it can be edited");
    assert_eq!(added.change, Change::Added);
    let removed = hooks.remove(&added.text).expect("it can be edited").text;
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
    assert_eq!(value(&removed), value(foreign));

    // One with variables takes the place of ours; only removing all hooks removes it.
    let own = r#"{"a":1,"hooks":{"Stop":[{"hooks":[{"type":"command","command":"A=1 ctl hook stop"}]}]}}"#;
    let added = hooks.install(own).expect("it can be edited");
    let found: serde_json::Value = serde_json::from_str(&added.text).expect("JSON");
    assert_eq!(found["hooks"]["Stop"].as_array().map(Vec::len), Some(1));
    assert_eq!(found["hooks"]["Stop"][0]["hooks"][0]["command"], "A=1 ctl hook stop");
    assert_eq!(found["hooks"]["SessionStart"].as_array().map(Vec::len), Some(1));
    assert_eq!(hooks.install(&added.text).expect("it can be edited").change, Change::Nothing);
    let removed = hooks.remove(&added.text).expect("it can be edited").text;
    let removed: serde_json::Value = serde_json::from_str(&removed).expect("JSON");
    assert_eq!(removed, serde_json::json!({"a": 1}));
}

#[test]
fn servers_of_the_user_stay() {
    let json = r#"{"mcpServers":{"a":{"command":"ctl","args":["search","mcp"]}}}"#;
    let toml = "[mcp_servers.a]\ncommand = \"ctl\"\nargs = [\"search\", \"mcp\"]\n";
    for (format, text) in [(JSON, json), (TOML, toml)] {
        let found = servers(format).remove(text).expect("it can be edited");
        assert_eq!((found.change, found.text.as_str()), (Change::Nothing, text));
        let added = servers(format).install(text).expect("it can be edited");
        assert_eq!(added.change, Change::Added);
    }
    let json = r#"{"a":1,"mcpServers":{"b":{"command":"ctl","args":["mcp","--exit-idle","1h"]},"c":{"command":"ctl","args":["mcp","--no-start"]}}}"#;
    let removed = servers(JSON).remove(json).expect("it can be edited");
    assert_eq!(removed.change, Change::Removed);
    assert!(!removed.text.contains("ctl"), "{}", removed.text);
}

#[test]
fn texts_that_cannot_be_edited_are_refused_with_the_reason() {
    let cases: [(&dyn Entries, &str, &str); 17] = [
        (&servers(JSON), "{", "not valid JSON: line 1"),
        (&servers(JSON), "{\n\"a\": 1,\n\"b\" 2}", "not valid JSON: line 3"),
        (&servers(JSON), "{'a': 1}", "not valid JSON"),
        (&servers(JSON), "[1]", "not a JSON object"),
        (&servers(JSON), "{\"mcpServers\": []}", "\"mcpServers\" is not an object"),
        (&servers(JSON), "{\"mcpServers\": {}, \"mcpServers\": {}}", "\"mcpServers\" twice"),
        (&servers(JSON), "{\"z\": 1, \"z\": 2}", "\"z\" twice"),
        (&servers(JSON), "{\"a\": [{\"z\": {}, \"\\u007a\": 2}]}", "\"z\" twice"),
        (&hooks(Shape::Flat), "{\"z\": 1, \"z\": 2}", "\"z\" twice"),
        (&servers(TOML), "a = 1\na = 2\n", "not valid TOML: line 2"),
        (&servers(TOML), "a = 1\r\nb = 2\n", "line ends are mixed: line 2 ends with LF"),
        (&servers(TOML), "a = 1\rb = 2\n", "not valid TOML: line 1"),
        (&servers(TOML), "mcp_servers = 3\n", "`mcp_servers` is not a table"),
        (&hooks(Shape::Groups), "{\"hooks\": []}", "\"hooks\" is not an object"),
        (
            &hooks(Shape::Groups),
            "{\"hooks\": {\"Stop\": {}}}",
            "\"Stop\" of \"hooks\" is not an array",
        ),
        (&hooks(Shape::Groups), "{\"hooks\": {\"Stop\": [], \"Stop\": []}}", "\"Stop\" twice"),
        (&hooks(Shape::Flat), &"[".repeat(100_000), "not valid JSON"),
    ];
    for (entries, text, why) in cases {
        let refused = entries.install(text).expect_err("it cannot be edited");
        assert!(refused.contains(why), "{text:.80}: {refused}");
    }
}

fn place(root: &Path, file: &str) -> Place {
    Place { path: root.join(file), root: root.to_owned(), is_private: true }
}

#[test]
fn a_file_that_changed_after_it_was_read_is_not_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.json");
    let place = place(folder.path(), "a.json");
    let changes: [&dyn Fn(); 4] = [
        &|| fs::write(&path, "{\"b\": 1}").expect("a file"),
        &|| fs::remove_file(&path).expect("a file"),
        &|| {
            // The same text in another file, as after an atomic replacement.
            fs::write(folder.path().join("b"), "{}").expect("a file");
            fs::rename(folder.path().join("b"), &path).expect("a file");
        },
        &|| fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("a file"),
    ];
    for change in changes {
        fs::write(&path, "{}").expect("a file");
        let file = ClientFile::read(&place).expect("a file");
        change();
        let after = fs::read(&path).ok();
        let refused = file.write("{\"c\": 1}").expect_err("it has changed");
        assert!(refused.message().contains("another program changed it"), "{refused:?}");
        assert_eq!(fs::read(&path).ok(), after);
        drop(fs::remove_file(&path));
    }
    // A file that was created meanwhile.
    let file = ClientFile::read(&place).expect("no file");
    fs::write(&path, "{}").expect("a file");
    assert!(file.write("x").is_err());
    assert_eq!(fs::read_to_string(&path).expect("a file"), "{}");
    // Nothing is left over.
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
}

#[test]
fn a_byte_order_mark_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    for (file, format, text) in [("a.toml", TOML, "a = 1\n"), ("a.json", JSON, "{\"a\": 1}")] {
        let path = folder.path().join(file);
        let text = format!("\u{feff}{text}");
        fs::write(&path, &text).expect("a file");
        for (action, change) in [(INSTALL, Change::Added), (Action::Remove, Change::Removed)] {
            let entries = servers(format);
            let place = place(folder.path(), file);
            let edit = Edit { place, entries: &entries, action, beside: None, is_dry: false };
            assert_eq!(edit.change().expect("it can be edited"), (change, Vec::new()));
            let found = fs::read_to_string(&path).expect("a file");
            assert!(found.starts_with("\u{feff}"), "{found}");
            assert_eq!(found.contains("waypost"), action == INSTALL);
        }
    }
}

#[test]
fn a_replacement_keeps_the_mode_and_a_new_private_file_is_closed_to_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |file: &str, text: &str| {
        let place = place(folder.path(), file);
        ClientFile::read(&place).and_then(|read| read.write(text)).expect("it can be written");
        (
            fs::read_to_string(&place.path).expect("a file"),
            fs::metadata(&place.path).expect("it").mode() & 0o7777,
        )
    };
    assert_eq!(write("deep/er/a.json", "1"), ("1".to_owned(), 0o600));
    let path = folder.path().join("b.json");
    for mode in [0o644, 0o600, 0o664] {
        fs::write(&path, "old").expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
        assert_eq!(write("b.json", "new"), ("new".to_owned(), mode));
    }
}

#[test]
fn links_are_followed_within_the_root_only() {
    let (folder, other) =
        (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let root = folder.path();
    fs::create_dir(root.join("dotfiles")).expect("a folder");
    fs::write(root.join("dotfiles/a.json"), "{}").expect("a file");
    symlink("dotfiles/a.json", root.join("a.json")).expect("a link");
    let file = ClientFile::read(&place(root, "a.json")).expect("it is inside");
    file.write("{ }").expect("it can be written");
    assert!(root.join("a.json").is_symlink());
    assert_eq!(fs::read_to_string(root.join("dotfiles/a.json")).expect("a file"), "{ }");

    fs::write(other.path().join("b.json"), "{}").expect("a file");
    symlink(other.path().join("b.json"), root.join("b.json")).expect("a link");
    symlink(other.path(), root.join(".cursor")).expect("a link");
    symlink(root.join("nothing"), root.join("c.json")).expect("a link");
    for (file, why) in [
        ("b.json", "outside"),
        (".cursor/mcp.json", "outside"),
        (".cursor/b.json", "outside"),
        ("c.json", "does not exist"),
    ] {
        let refused = ClientFile::read(&place(root, file)).expect_err(file);
        assert!(refused.message().contains(why), "{file}: {refused:?}");
    }
    assert_eq!(fs::read_dir(other.path()).expect("a folder").count(), 1);
}
