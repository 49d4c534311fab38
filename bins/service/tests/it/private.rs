//! The store's folder is private to its user, and other users' files in it are rejected.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::program::{PROGRAM, Program, command};
use crate::wait::until;

/// The program under that umask.
fn under(umask: &str, project: &Path) -> Command {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(format!("umask {umask} && exec \"$@\"")).args(["sh", PROGRAM]);
    command.args(["--listen", "127.0.0.1:0", "--model", "none", "--project"]).arg(project);
    command.env_clear().env("WAYPOST_TRUST_PROJECT", "1");
    command.env("PATH", "/usr/bin:/bin");
    command
}

/// Entries that other users could read or write, with their modes.
fn open_ones(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let mut paths = vec![folder.clone()];
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let kind = path.symlink_metadata().expect("it is there").file_type();
            if kind.is_dir() { folders.push(path) } else { paths.push(path) }
        }
        for path in paths {
            let mode = path.symlink_metadata().expect("it is there").mode() & 0o777;
            if mode & 0o077 != 0 {
                found.push(format!("{} {mode:o}", path.display()));
            }
        }
    }
    found
}

const FLOW: &str = "flows:
  - name: writes
    trigger:
      pattern: a:b
    actions:
      - type: command
        command: umask > umask.txt.new && mv umask.txt.new umask.txt
";

#[test]
fn all_files_are_the_user_s_alone_under_every_umask() {
    for umask in ["000", "022", "077"] {
        let folder = TempDir::new().expect("a folder");
        let flows = folder.path().join(".waypost/flows");
        fs::create_dir_all(&flows).expect("a folder");
        fs::write(flows.join("flow.yaml"), FLOW).expect("a file");
        let program = Program::start_as(under(umask, folder.path()), folder.path());
        let added = program.send("POST", "/api/memory/add", br#"{"content":"secret"}"#);
        assert_eq!(added.status, 201);
        let told = program.send("POST", "/api/events", br#"{"type":"a:b","data":{}}"#);
        assert_eq!(told.status, 201, "{}", told.text());
        // A program of a flow has the umask that the service was started with, where the system lets it.
        until(|| folder.path().join("umask.txt").metadata());
        let text = fs::read_to_string(folder.path().join("umask.txt")).expect("a file");
        let expected = [format!("0{umask}"), "0077".to_owned()];
        assert!(expected.contains(&text.trim().to_owned()), "{text}");
        let data = folder.path().join(".waypost/data");
        assert_eq!(open_ones(&data), Vec::<String>::new(), "while it runs, umask {umask}");
        program.signal("TERM");
        let (status, log) = program.end();
        assert!(status.success(), "{log}");
        assert_eq!(open_ones(&data), Vec::<String>::new(), "umask {umask}");
        let token = folder.path().join(".waypost/token");
        assert_eq!(token.metadata().expect("a token").mode() & 0o777, 0o600);
        let waypost = folder.path().join(".waypost").metadata().expect("a folder");
        assert_eq!(waypost.mode() & 0o022, 0, "others do not write to it");
    }
}

#[test]
fn a_folder_that_was_open_is_closed_and_the_log_says_so() {
    let folder = TempDir::new().expect("a folder");
    let data = folder.path().join(".waypost/data");
    fs::create_dir_all(data.join("memory")).expect("a folder");
    fs::write(data.join("memory/old"), "x").expect("a file");
    for path in [data.join("memory/old"), data.join("memory"), data.clone()] {
        fs::set_permissions(path, Permissions::from_mode(0o777)).expect("a mode");
    }
    let program = Program::start(folder.path());
    assert!(program.log.contains("were accessible to other users"), "{}", program.log);
    assert_eq!(open_ones(&data), Vec::<String>::new());
}

#[test]
fn the_project_s_folder_must_not_be_open() {
    let folder = TempDir::new().expect("a folder");
    let waypost = folder.path().join(".waypost");
    fs::create_dir(&waypost).expect("a folder");
    fs::set_permissions(&waypost, Permissions::from_mode(0o777)).expect("a mode");
    let log = refused(folder.path());
    assert!(log.contains(".waypost is writable by others"), "{log}");
    assert!(log.contains("chmod go-w"), "{log}");
}

#[test]
fn links_and_pipes_in_the_store_are_refused_by_name_and_left_alone() {
    for place in [
        "lock",
        "events/lock",
        "context/lock",
        "flows/lock",
        "memory/log",
        "service.json",
        "tokens.json",
        "pairing",
    ] {
        let folder = TempDir::new().expect("a folder");
        let path = folder.path().join(".waypost/data").join(place);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        let victim = folder.path().join("victim");
        fs::write(&victim, "precious").expect("a file");
        symlink(&victim, &path).expect("a link");
        let log = refused(folder.path());
        let name = path.display().to_string();
        assert!(log.contains(&name) && log.contains("is a symbolic link"), "{place}: {log}");
        assert_eq!(fs::read_to_string(&victim).expect("a file"), "precious", "{place}");

        fs::remove_file(&path).expect("the link");
        let made = Command::new("mkfifo").arg(&path).status().expect("mkfifo runs");
        assert!(made.success());
        let log = refused(folder.path());
        assert!(
            log.contains(&name) && log.contains("neither a file nor a folder"),
            "{place}: {log}"
        );
    }
}

#[test]
fn a_store_behind_a_link_is_refused() {
    let folder = TempDir::new().expect("a folder");
    let elsewhere = TempDir::new().expect("a folder");
    fs::create_dir(folder.path().join(".waypost")).expect("a folder");
    symlink(elsewhere.path(), folder.path().join(".waypost/data")).expect("a link");
    let log = refused(folder.path());
    assert!(log.contains("data is a symbolic link"), "{log}");

    let folder = TempDir::new().expect("a folder");
    symlink(elsewhere.path(), folder.path().join(".waypost")).expect("a link");
    let log = refused(folder.path());
    assert!(log.contains(".waypost is a symbolic link"), "{log}");
    assert_eq!(fs::read_dir(elsewhere.path()).expect("a folder").count(), 0);
}

/// The service rejects a token that came with the checkout.
#[test]
fn a_token_that_the_store_does_not_know_is_replaced() {
    let other = TempDir::new().expect("a folder");
    let theirs = Program::start(other.path()).token.clone();
    let folder = TempDir::new().expect("a folder");
    fs::create_dir(folder.path().join(".waypost")).expect("a folder");
    fs::write(folder.path().join(".waypost/token"), &theirs).expect("a file");
    let program = Program::start(folder.path());
    assert_ne!(program.token, theirs);
    let answer = crate::service::send(program.address, "GET", "/api/memory", &theirs, &[], b"");
    answer.problem(401);
}

fn refused(project: &Path) -> String {
    Program::try_start(&mut command(project), |_| project.to_owned()).err().expect("it refuses")
}
