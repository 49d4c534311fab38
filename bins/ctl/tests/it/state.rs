//! Damage to the user's state folder, and special files in the place of files.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::trust::Clone;
use crate::wait::until;

/// The list of the user's registered data folders.
const PROJECTS: &str = "projects.json";

/// A clone with one flow and one setting, both approved, that a service has started in.
fn approved() -> Clone {
    let clone = Clone::new();
    clone.write(".waypost/config.yaml", "events: { keep_count: 1000 }\n");
    clone.ctl(&["allow", "--yes"]).done();
    drop(clone.start(&[]));
    clone
}

fn approvals(clone: &Clone) -> PathBuf {
    let entries = fs::read_dir(clone.state("approvals")).expect("a folder").flatten();
    let mut files = entries.map(|entry| entry.path()).filter(|path| path.is_file());
    files.next().expect("approvals")
}

fn socket(path: &Path) {
    // Its path may be too long for a socket.
    let short = tempfile::tempdir().expect("a folder");
    let made = short.path().join("s");
    drop(std::os::unix::net::UnixListener::bind(&made).expect("a socket"));
    fs::rename(made, path).expect("the same disk");
}

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().expect("it runs").success());
}

#[test]
fn a_pipe_or_a_socket_in_place_of_a_file_is_named_and_nothing_waits_for_it() {
    let clone = approved();
    let files = [
        clone.path(".waypost/token"),
        clone.path(".waypost/.gitignore"),
        clone.path(".waypost/config.yaml"),
        clone.state(PROJECTS),
        clone.state("lock"),
        approvals(&clone),
    ];
    for (file, make) in files.iter().flat_map(|file| [(file, pipe as fn(&Path)), (file, socket)]) {
        let aside = file.with_extension("aside");
        fs::rename(file, &aside).expect("it exists");
        make(file);
        let mut command = clone.ctl_command(&["doctor"]);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
        until(|| match child.try_wait().expect("a child") {
            Some(_) => Ok(()),
            None => Err(format!("doctor waits for {}", file.display())),
        });
        let output = child.wait_with_output().expect("it has ended");
        let out = String::from_utf8(output.stdout).expect("text");
        let named = format!("{} is not a regular file", file.display());
        assert!(output.status.code() == Some(1) && out.contains(&named), "{named}: {out}");
        let refused = clone.refused(&[]);
        assert!(refused.contains(&named), "{named}: {refused}");
        fs::remove_file(file).expect("it exists");
        fs::rename(&aside, file).expect("it exists");
    }
    clone.ctl(&["doctor"]).done();
}

#[test]
fn a_damaged_list_of_projects_is_named_and_moved_away_and_then_no_data_folder_is_trusted() {
    let clone = approved();
    fs::write(clone.state(PROJECTS), "").expect("a file");
    let remedy = "`ctl doctor --repair`";
    let named = |text: &str| text.contains(PROJECTS) && text.contains("is damaged");
    for said in [
        clone.refused(&[]),
        clone.ctl(&["doctor"]).out,
        clone.ctl(&["allow", "--data"]).err,
        clone.ctl(&["allow", "--yes"]).err,
    ] {
        assert!(named(&said) && said.contains(remedy), "{said}");
        assert!(!said.contains("parent writable"), "{said}");
    }
    assert_eq!(clone.ctl(&["doctor"]).code, 1);

    let repaired = clone.ctl(&["doctor", "--repair"]);
    assert!(repaired.code == 1 && repaired.out.contains("moved away"), "{repaired:?}");
    assert!(clone.state("projects.json.damaged").exists());
    for said in [clone.refused(&[]), clone.ctl(&["doctor"]).out] {
        assert!(said.contains("not registered") && said.contains("`ctl allow --data`"), "{said}");
    }

    // With its id, the project has its approvals again.
    clone.ctl(&["allow", "--data"]).done();
    let service = clone.start(&[]);
    service.wait_for_flows(&clone, &["builds", "notes"]);
    clone.ctl(&["doctor"]).done();
}

#[test]
fn with_a_damaged_project_id_a_pending_setting_names_the_first_remedy() {
    let clone = approved();
    clone.write(".waypost/data/project-id", "");
    let refused = clone.refused(&[]);
    assert!(refused.contains("run `ctl allow --data` first"), "{refused}");
    clone.ctl(&["allow", "--data"]).done();
    drop(clone.start(&[]));
}

#[test]
fn a_damaged_pairing_is_named() {
    let clone = approved();
    clone.write(".waypost/data/pairing/paired.json", "{");
    let doctor = clone.ctl(&["doctor"]);
    assert!(doctor.out.contains("pairing/paired.json: EOF"), "{doctor:?}");
    assert!(doctor.out.contains("`ctl mesh pair`"), "{doctor:?}");
}

#[test]
fn damaged_approvals_approve_nothing_and_are_replaced_by_the_next_approval() {
    let clone = approved();
    let file = approvals(&clone);
    let whole = fs::read(&file).expect("a file");
    for damaged in [&b""[..], &whole[..whole.len() / 2], b"{}", b"\xff\0", &other_digit(&whole)] {
        fs::write(&file, damaged).expect("a file");
        let name = file.display().to_string();
        for said in [clone.refused(&[]), clone.ctl(&["doctor"]).out] {
            assert!(said.contains(&name) && said.contains("`ctl allow`"), "{said}");
            assert!(said.contains("approves nothing"), "{said}");
        }
        let doctor = clone.ctl(&["doctor", "--repair"]);
        assert_eq!(doctor.code, 1, "a repair approves nothing: {doctor:?}");
        let allowed = clone.ctl(&["allow", "--yes"]);
        assert!(allowed.code == 0 && allowed.err.contains(&name), "{allowed:?}");
        assert_eq!(fs::read(format!("{name}.damaged")).expect("a file"), damaged);
        let service = clone.start(&[]);
        service.wait_for_flows(&clone, &["builds", "notes"]);
    }
}

/// A document in which one bit of the first SHA-256 or id after the checksum has changed, such that it
/// is still a hexadecimal digit.
fn other_digit(document: &[u8]) -> Vec<u8> {
    let mut bytes = document.to_vec();
    let is_digit = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    let mut runs = bytes.windows(32).enumerate().filter(|pair| pair.1.iter().all(is_digit));
    let checksum = runs.next().expect("a checksum").0;
    let place = runs.find(|run| run.0 > checksum + 32).expect("a hash or an id").0;
    let flipped = [1, 2, 4].map(|it| bytes[place] ^ it).into_iter().find(is_digit);
    bytes[place] = flipped.expect("another digit");
    bytes
}

/// The document as a release without checksums wrote it.
fn without_checksum(document: &[u8]) -> Vec<u8> {
    let mut it: Value = serde_json::from_slice(document).expect("JSON");
    it["version"] = 1.into();
    assert!(it.as_object_mut().expect("an object").remove("checksum").is_some());
    it.to_string().into_bytes()
}

#[test]
fn a_changed_byte_revokes_no_approval_silently() {
    let clone = Clone::new();
    clone.ctl(&["allow", "--yes"]).done();
    let file = approvals(&clone);
    let whole = fs::read(&file).expect("a file");
    fs::write(&file, other_digit(&whole)).expect("a file");
    let named = format!("{}, which has the approvals of the project, is damaged", file.display());
    let doctor = clone.ctl(&["doctor"]);
    assert!(doctor.code == 1 && doctor.out.contains(&named), "{doctor:?}");
    let service = clone.start(&[]);
    assert!(service.log.contains(&named), "{}", service.log);
    drop(service);
    fs::write(&file, &whole).expect("a file");

    let projects = clone.state(PROJECTS);
    let registered = fs::read(&projects).expect("a file");
    fs::write(&projects, other_digit(&registered)).expect("a file");
    for said in [clone.refused(&[]), clone.ctl(&["doctor"]).out] {
        assert!(said.contains(PROJECTS) && said.contains("is damaged"), "{said}");
    }
}

#[test]
fn a_state_without_checksums_is_read_and_the_next_change_adds_them() {
    let clone = approved();
    let files = [clone.state(PROJECTS), approvals(&clone)];
    for file in &files {
        let whole = fs::read(file).expect("a file");
        fs::write(file, without_checksum(&whole)).expect("a file");
    }
    clone.ctl(&["doctor"]).done();
    drop(clone.start(&[]));
    clone.ctl(&["allow", "--revoke", ".waypost/flows/notes.yaml"]).done();
    let mut list: Value =
        serde_json::from_slice(&fs::read(&files[1]).expect("a file")).expect("JSON");
    assert_eq!((&list["version"], list["checksum"].is_string()), (&2.into(), true));
    // A version with checksums needs one.
    list.as_object_mut().expect("an object").remove("checksum");
    fs::write(&files[1], list.to_string()).expect("a file");
    let doctor = clone.ctl(&["doctor"]);
    assert!(doctor.out.contains("its checksum is missing or wrong"), "{doctor:?}");
}

#[test]
fn a_state_of_a_newer_release_is_newer_and_not_damaged() {
    let clone = approved();
    for file in [clone.state(PROJECTS), approvals(&clone)] {
        let whole = fs::read(&file).expect("a file");
        fs::write(&file, "{ \"version\": 9, \"more\": [] }").expect("a file");
        for said in [clone.refused(&[]), clone.ctl(&["doctor", "--repair"]).out] {
            assert!(said.contains("newer release") && !said.contains("damaged"), "{said}");
            assert!(said.contains(&file.display().to_string()), "{said}");
        }
        assert!(clone.ctl(&["allow", "--yes"]).err.contains("newer release"));
        fs::write(&file, whole).expect("a file");
    }
    clone.ctl(&["doctor"]).done();
}

#[test]
fn approvals_or_pairings_of_a_newer_release_stop_a_repair() {
    let clone = approved();
    let tokens = clone.path(".waypost/data/tokens.json");
    fs::write(&tokens, "{").expect("a file");
    let pairing = clone.path(".waypost/data/pairing");
    fs::create_dir_all(&pairing).expect("a folder");
    fs::set_permissions(&pairing, fs::Permissions::from_mode(0o700)).expect("a folder");
    let (paired, list) = (pairing.join("paired.json"), approvals(&clone));
    for (file, newer) in [
        (&list, r#"{ "version": 9, "more": 1 }"#),
        (&clone.state(PROJECTS), r#"{ "version": 9, "more": 1 }"#),
        (&paired, r#"{ "format": 9, "more": 1 }"#),
    ] {
        let whole = fs::read(file).ok();
        fs::write(file, newer).expect("a file");
        fs::set_permissions(file, fs::Permissions::from_mode(0o600)).expect("a file");
        let repair = clone.ctl(&["doctor", "--repair"]);
        assert_eq!(repair.code, 1, "{repair:?}");
        let named = format!("{} was written by a newer release", file.display());
        assert!(repair.out.contains(&named), "{repair:?}");
        assert_eq!(fs::read_to_string(file).expect("a file"), newer);
        assert_eq!(fs::read_to_string(&tokens).expect("it was not moved away"), "{");
        match whole {
            Some(whole) => fs::write(file, whole).expect("a file"),
            None => fs::remove_file(file).expect("a file"),
        }
    }
    clone.ctl(&["doctor", "--repair"]).done();
    assert!(!tokens.exists());
}

#[test]
fn a_flow_file_that_is_not_active_is_named_with_the_reason() {
    let clone = approved();
    let doctor = || clone.ctl(&["doctor"]).done();
    assert!(doctor().contains("nothing is pending"), "{}", doctor());
    let notes = fs::read_to_string(clone.path(".waypost/flows/notes.yaml")).expect("a file");
    clone.write(".waypost/flows/second.yaml", &notes);
    clone.ctl(&["allow", "--yes"]).done();
    let told = doctor();
    assert!(told.contains("flows of .waypost/flows/second.yaml do not run"), "{told}");
    assert!(told.contains("the flow notes is also in"), "{told}");
    assert!(!told.contains("nothing is pending"), "{told}");
}

#[test]
fn only_a_regular_file_of_limited_size_is_checked_as_a_flow_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.yaml");
    let check = |wanted: &str| {
        let mut command = crate::ctl::command(folder.path(), &["flows", "check", "a.yaml"]);
        let mut child = command.spawn().expect("it starts");
        until(|| match child.try_wait().expect("a child") {
            Some(_) => Ok(()),
            None => Err(format!("it waits: {wanted}")),
        });
        let checked = crate::ctl::ran(child.wait_with_output().expect("it ended"));
        assert_eq!(checked.code, 1, "{checked:?}");
        assert!(checked.err.contains("a.yaml") && checked.err.contains(wanted), "{checked:?}");
    };
    for make in [
        pipe as fn(&Path),
        socket,
        |it| std::os::unix::fs::symlink("/dev/zero", it).expect("a link"),
        |it| fs::create_dir(it).expect("a folder"),
    ] {
        make(&path);
        check(if path.is_dir() { "is a directory" } else { "not a regular file" });
        if path.is_dir() { fs::remove_dir(&path) } else { fs::remove_file(&path) }
            .expect("it is there");
    }
    fs::write(&path, vec![b' '; (1 << 20) + 1]).expect("a file");
    check("exceeds 1048576 bytes");
}

#[test]
fn a_service_that_the_project_describes_is_not_told_of_approvals() {
    let clone = approved();
    let stranger = TcpListener::bind("127.0.0.1:0").expect("a port");
    stranger.set_nonblocking(true).expect("a listener");
    let url = format!("http://{}", stranger.local_addr().expect("an address"));
    clone.write(".waypost/data/service.json", &format!(r#"{{"url": "{url}"}}"#));
    let notes = fs::read_to_string(clone.path(".waypost/flows/notes.yaml")).expect("a file");
    clone.write(".waypost/flows/third.yaml", &notes.replace("name: notes", "name: third"));
    clone.ctl(&["allow", "--yes"]).done();
    assert!(stranger.accept().is_err(), "it was told, with the token");
}
