//! Commands without a service.

use std::fs;
use std::net::TcpListener;
use std::path::Path;

use crate::ctl::run;

/// A folder with a project whose service's port is closed.
fn project() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder and a port are to be had");
    fs::create_dir(folder.path().join(".waypost")).expect("a folder and a port are to be had");
    // A port that was free a moment ago, and that no program listens on.
    let port = TcpListener::bind("127.0.0.1:0")
        .expect("a folder and a port are to be had")
        .local_addr()
        .expect("a folder and a port are to be had")
        .port();
    (folder, format!("http://127.0.0.1:{port}"))
}

#[test]
fn a_service_that_is_not_there_is_status_5_with_a_hint() {
    let (folder, url) = project();
    for command in [
        &["status"][..],
        &["search", "x"],
        &["add", "x"],
        &["token", "list"],
        &["export"],
        &["reindex"],
    ] {
        let ran = run(folder.path(), &[&["--url", &url], command].concat());
        assert_eq!(ran.code, 5, "{command:?}: {ran:?}");
        assert!(
            ran.err.starts_with(&format!("error: no service responds at {url}\n")),
            "{}",
            ran.err
        );
        assert!(ran.err.contains("\nhint: start the service"), "{}", ran.err);
        assert_eq!(ran.out, "");
    }
}

#[test]
fn a_wrong_command_line_is_status_2() {
    let (folder, _) = project();
    for command in [
        &["nope"][..],
        &["search"],
        &["get", "0"],
        &["get", "1.5"],
        &["get", "9007199254740992"],
        &["search", "x", "-n", "1001"],
        &["search", "x", "--since", "soon"],
        &["link", "1", "2"],
        &["link", "1", "2", "--type", "likes"],
        &["update", "1"],
        &["add", "x", "--meta", "novalue"],
        &["token", "create", "--scope", "everything"],
        &["token", "create", "--scope", "admin", "--expires", "2001-01-01"],
        &["--url", "ftp://127.0.0.1", "status"],
        &["--project", "missing", "status"],
    ] {
        let ran = run(folder.path(), command);
        assert_eq!(ran.code, 2, "{command:?}: {ran:?}");
        assert!(ran.err.starts_with("error: "), "{}", ran.err);
    }
    assert_eq!(run(folder.path(), &["--help"]).code, 0);
    assert_eq!(run(folder.path(), &["--version"]).code, 0);
}

#[test]
fn what_is_not_there_is_status_3() {
    let (folder, url) = project();
    let missing = run(folder.path(), &["--url", &url, "import", "missing.ndjson"]);
    assert_eq!(missing.code, 3, "{missing:?}");
    assert_eq!(run(folder.path(), &["model", "verify", "no-such-model"]).code, 3);
    let missing = run(folder.path(), &["model", "import", "missing.zip"]);
    assert_eq!(missing.code, 3, "{missing:?}");
    assert!(missing.err.contains("could not read missing.zip"), "{}", missing.err);
    assert!(missing.err.contains("No such file"), "{}", missing.err);
    fs::create_dir(folder.path().join("empty")).expect("a folder");
    let empty = run(folder.path(), &["model", "import", "empty", "--name", "mine"]);
    assert!(empty.err.contains("no folder in it has config.json"), "{}", empty.err);
    assert!(empty.err.contains("nothing was imported"), "{}", empty.err);
}

#[test]
fn a_token_file_that_is_none_is_status_4() {
    let (folder, url) = project();
    fs::write(folder.path().join("token"), "not a token").unwrap();
    let ran = run(folder.path(), &["--url", &url, "--token-file", "token", "status"]);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.err.contains("hint: "), "{}", ran.err);
}

#[test]
fn settings_are_shown_with_their_origin() {
    let (folder, _) = project();
    fs::write(folder.path().join(".waypost/config.yaml"), "log:\n  level: debug\n").unwrap();
    let mut command = crate::ctl::command(
        folder.path(),
        &["--json", "--url", "http://127.0.0.1:9", "config", "show"],
    );
    command.env("WAYPOST_LISTEN", "127.0.0.1:4999");
    let shown = crate::ctl::ran(command.output().unwrap()).json();
    assert_eq!(shown["listen"]["value"], "127.0.0.1:4999");
    assert_eq!(shown["listen"]["origin"], "variable WAYPOST_LISTEN");
    assert_eq!(shown["url"]["origin"], "flag --url");
    assert!(shown["log.level"]["origin"].as_str().unwrap().ends_with("config.yaml"));
    assert_eq!(shown["model.name"]["origin"], "default");

    fs::write(folder.path().join(".waypost/config.yaml"), "log:\n  lvel: debug\n").unwrap();
    let ran = run(folder.path(), &["config", "show"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("line 2, column 3"), "{}", ran.err);
}

#[test]
fn tokens_are_made_listed_and_revoked_in_their_file_while_no_service_runs() {
    let (folder, url) = project();
    let ctl = |command: &[&str]| run(folder.path(), &[&["--url", &url][..], command].concat());
    assert_eq!(ctl(&["token", "create", "--scope", "memory:read"]).code, 5, "no store here yet");
    let data = folder.path().join(".waypost/data");
    private_folder(&data);
    ctl(&["allow", "--data"]).done();
    let store = waypost_auth::TokenStore::open(&data.join("tokens.json")).unwrap();
    let new = waypost_auth::NewToken::new([waypost_auth::Scope::Admin]);
    let (_, admin) = store.create(new.clone(), waypost_auth::Timestamp::EPOCH).unwrap();
    let (_, derived) =
        store.create(new.with_parent(admin.id), waypost_auth::Timestamp::EPOCH).unwrap();

    let made = ctl(&[
        "--json",
        "token",
        "create",
        "--scope",
        "memory:read,memory:write",
        "--expires",
        "30d",
        "--note",
        "n",
    ]);
    let made = made.json();
    let token = made["token"].as_str().unwrap();
    let verified = store.verify(token, waypost_auth::Timestamp::EPOCH).unwrap();
    assert!(
        verified.allows(waypost_auth::Scope::MemoryWrite)
            && !verified.allows(waypost_auth::Scope::Admin)
    );
    assert!(verified.expires.is_some());
    let id = made["info"]["id"].as_str().unwrap();
    assert!(ctl(&["token", "list"]).done().contains(id));
    // A whole token works as its id.
    ctl(&["token", "revoke", token]).done();
    assert!(store.verify(token, waypost_auth::Timestamp::EPOCH).is_err());
    assert_eq!(ctl(&["token", "revoke", "nosuch"]).code, 3);

    // With those derived from it.
    let list = ctl(&["token", "list"]).done();
    let row = list.lines().find(|line| line.starts_with(derived.id.as_str())).expect("a row");
    assert!(list.contains("PARENT") && row.contains(admin.id.as_str()), "{list}");
    let revoked = ctl(&["token", "revoke", admin.id.as_str()]).done();
    let also = format!("revoked {}, which was derived from {}\n", derived.id, admin.id);
    assert_eq!(revoked, format!("revoked {}\n{also}", admin.id));
    let again = ctl(&["--json", "token", "revoke", admin.id.as_str()]).json();
    assert_eq!(again, serde_json::json!({"revoked": [admin.id.as_str()], "derived": []}));
}

fn private_folder(folder: &Path) {
    fs::create_dir_all(folder).expect("the folder can be made");
    #[cfg(unix)]
    fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o700))
        .expect("the folder can be made");
}

#[test]
fn completions_come_for_each_shell() {
    let (folder, _) = project();
    for shell in ["bash", "zsh", "fish"] {
        let script = run(folder.path(), &["completions", shell]).done();
        assert!(script.contains("backfill"), "{shell}");
    }
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let (folder, _) = project();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = crate::ctl::command(folder.path(), &["completions", "bash"]);
    let ran = crate::ctl::ran(command.stdout(writer).output().unwrap());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
}

#[cfg(unix)]
#[test]
fn doctor_finds_what_is_wrong() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, url) = project();
    let doctor = || run(folder.path(), &["--json", "--url", &url, "doctor"]);
    let healthy = doctor().json();
    assert!(healthy.as_array().unwrap().iter().all(|it| it["verdict"] != "fault"), "{healthy}");

    let token = folder.path().join(".waypost/token");
    fs::write(&token, "wp_nonsense").unwrap();
    let data = folder.path().join(".waypost/data");
    private_folder(&data);
    run(folder.path(), &["allow", "--data"]).done();
    fs::write(data.join("tokens.json"), "{broken").unwrap();
    fs::set_permissions(data.join("tokens.json"), fs::Permissions::from_mode(0o600)).unwrap();
    let ran = doctor();
    assert_eq!(ran.code, 1);
    let findings: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let verdict = |part: &str| {
        let all = findings.as_array().unwrap();
        all.iter()
            .find(|value| value["part"] == part)
            .unwrap_or_else(|| panic!("{part} in {findings}"))["verdict"]
            .clone()
    };
    assert_eq!(verdict("token file"), "fault");
    assert_eq!(verdict("tokens"), "fault");
    assert_eq!(verdict("settings"), "ok");
    assert_eq!(verdict("service"), "warning");

    fs::write(folder.path().join(".waypost/config.yaml"), "nope: 1\n").unwrap();
    let ran = doctor();
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("\"part\":\"settings\",\"verdict\":\"fault\""), "{}", ran.out);
}

#[test]
fn doctor_asks_the_stores_own_lock_whether_it_is_open() {
    let (folder, url) = project();
    let data = folder.path().join(".waypost/data");
    private_folder(&data);
    run(folder.path(), &["allow", "--data"]).done();
    let options = waypost_memory::StoreOptions::default();
    let (store, _) = waypost_memory::Store::open(&data, options).unwrap();
    let open = run(folder.path(), &["--url", &url, "doctor"]).done();
    assert!(open.contains(&format!("in use by process {}", std::process::id())), "{open}");
    let refused = run(folder.path(), &["--url", &url, "doctor", "--repair"]);
    assert_eq!(refused.code, 1);
    assert!(refused.out.contains("nothing was repaired"), "{}", refused.out);
    // An operator may take the file for a leftover.
    fs::remove_file(data.join("lock")).unwrap();
    let open = run(folder.path(), &["--url", &url, "doctor"]).done();
    assert!(open.contains("in use by process"), "{open}");
    let refused = run(folder.path(), &["--url", &url, "doctor", "--repair"]);
    assert!(refused.code == 1 && refused.out.contains("nothing was repaired"), "{refused:?}");
    drop(store);
    let closed = run(folder.path(), &["--url", &url, "doctor"]).done();
    assert!(closed.contains("all valid"), "{closed}");
}

#[test]
fn an_output_that_cannot_be_written_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let full = fs::File::options().write(true).open("/dev/full").expect("of every Linux");
    let mut command = crate::ctl::command(folder.path(), &["config", "show"]);
    let ran = crate::ctl::ran(command.stdout(full).output().expect("it starts"));
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("No space left on device"), "{ran:?}");
}
