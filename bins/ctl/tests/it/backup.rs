//! `backup` and `restore`.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Mode, OFlags};
use serde_json::{Value, json};
use tempfile::TempDir;
use waypost_api::backup::{Next, Reader, Writer};
use waypost_api::routes;
use waypost_time::Timestamp;

use crate::child::end_of;
use crate::ctl::{Ran, command, ran, run, run_with_input};
use crate::service::Service;
use crate::wait::until;

const FLOWS: &str = r#"
flows:
  - name: notes
    trigger: { pattern: "work:*" }
    actions:
      - type: command
        command: "true"
"#;

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// A project without data.
fn project() -> TempDir {
    let folder = folder();
    fs::create_dir(folder.path().join(".waypost")).expect("a folder");
    folder
}

fn with_flows() -> Service {
    Service::start_with(|folder, _| {
        let flows = folder.join(".waypost/flows");
        fs::create_dir_all(&flows).expect("a folder");
        fs::write(flows.join("self-driving.yaml"), FLOWS).expect("a file");
    })
}

/// A service with memories of each kind, links, events and a token.
fn filled() -> Service {
    let service = with_flows();
    let (old, new) = (service.add("The door code is 1111"), service.add("The door code is 2222"));
    let gone = service.add("gone soon");
    service.ctl(&["update", &old.to_string(), "--content", "The door code was 1111"]).done();
    service.ctl(&["link", &new.to_string(), &old.to_string(), "--type", "updates"]).done();
    service.ctl(&["delete", &gone.to_string()]).done();
    service.ctl(&["emit", "work:done", "--data", "n=1", "--idempotency-key", "k1"]).done();
    service
}

fn all(service: &Service) -> (String, Value, Value) {
    let export = service.ctl(&["export"]).done();
    let events = service.ctl(&["--json", "events", "list", "--pattern", "work:*"]).json();
    let tokens = service.ctl(&["--json", "token", "list"]).json();
    (export, events, tokens)
}

fn back_up(service: &Service, to: &Path) -> PathBuf {
    let told = service.ctl(&["--json", "backup", &to.to_string_lossy()]).json();
    PathBuf::from(told["file"].as_str().expect("a file"))
}

fn restore(to: &Path, file: &Path) -> Ran {
    run(to, &["restore", &file.to_string_lossy()])
}

/// The memories' ids and contents.
fn memories(service: &Service) -> Vec<(u64, String)> {
    let listed = service.ctl(&["--json", "list", "--all"]).json();
    let pair = |value: &Value| {
        (
            value["id"].as_u64().expect("an id"),
            value["content"].as_str().expect("a text").to_owned(),
        )
    };
    listed.as_array().expect("an array").iter().map(pair).collect()
}

#[test]
fn a_restored_backup_has_everything_and_goes_on_above() {
    let mut service = filled();
    let to = folder();
    let file = back_up(&service, to.path());
    assert_eq!(fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_dir(to.path()).expect("a folder").count(), 1, "nothing else is left");
    let before = all(&service);
    service.stop();

    let place = project();
    let told = restore(place.path(), &file).done();
    assert!(told.starts_with("restored "), "{told}");
    let data = place.path().join(".waypost/data");
    assert_eq!(fs::metadata(&data).expect("a folder").permissions().mode() & 0o777, 0o700);
    let restored = Service::start_at(place, |_, _| {});
    let after = all(&restored);
    assert_eq!((&after.0, &after.1), (&before.0, &before.1));
    let ids = |value: &Value| {
        let all = value.as_array().expect("an array").clone();
        all.iter()
            .map(|value| value["id"].as_str().expect("an id").to_owned())
            .collect::<BTreeSet<_>>()
    };
    assert!(ids(&after.2).is_superset(&ids(&before.2)), "the tokens are there");
    // The key is still in use, and new ids continue above the old ones.
    let again =
        restored.ctl(&["emit", "work:done", "--data", "n=1", "--idempotency-key", "k1"]).done();
    assert!(again.starts_with("already exists"), "{again}");
    assert_eq!(restored.add("after the restore"), 4);
}

#[test]
fn a_backup_replaces_nothing() {
    let service = filled();
    let to = folder();
    let file = to.path().join("mine");
    fs::write(&file, "precious").expect("a file");
    let refused = service.ctl(&["backup", &file.to_string_lossy()]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.err.contains("already exists"), "{}", refused.err);
    assert_eq!(fs::read_to_string(&file).expect("a file"), "precious");
    std::os::unix::fs::symlink("/nowhere", to.path().join("link")).expect("a link");
    let refused = service.ctl(&["backup", &to.path().join("link").to_string_lossy()]);
    assert_eq!(refused.code, 1, "{refused:?}");
    let (first, second) = (back_up(&service, to.path()), back_up(&service, to.path()));
    assert_ne!(first, second);
}

#[test]
fn without_a_service_the_folder_is_backed_up() {
    let mut service = filled();
    let (export, ..) = all(&service);
    service.stop();
    let to = folder();
    let file = to.path().join("offline.backup");
    // At the address of the settings, where no program listens.
    let offline = |arguments: &[&str]| {
        let mut offline = command(service.folder(), arguments);
        offline.env("WAYPOST_URL", "http://127.0.0.1:9");
        ran(offline.output().expect("it runs"))
    };
    let refused = offline(&["backup", &file.to_string_lossy()]);
    assert_eq!(refused.code, 4, "{refused:?}");
    assert!(refused.err.contains("is not registered for this project"), "{refused:?}");
    offline(&["allow", "--data"]).done();
    offline(&["backup", &file.to_string_lossy()]).done();
    let place = project();
    restore(place.path(), &file).done();
    let restored = Service::start_at(place, |_, _| {});
    assert_eq!(all(&restored).0, export);
}

#[test]
fn a_project_that_has_data_is_not_restored_into() {
    let service = filled();
    let to = folder();
    let file = back_up(&service, to.path());
    let refused = restore(service.folder(), &file);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.err.contains("is not empty") && refused.err.contains("memory"), "{refused:?}");
    assert_eq!(memories(&service).len(), 2);
}

#[test]
fn a_damaged_a_newer_and_a_foreign_backup_leave_nothing_behind() {
    let service = filled();
    let to = folder();
    let file = back_up(&service, to.path());
    let whole = fs::read(&file).expect("a file");
    let place = project();
    let check = |bytes: &[u8], what: &str| {
        let bad = to.path().join("bad");
        fs::write(&bad, bytes).expect("a file");
        let refused = restore(place.path(), &bad);
        assert_eq!(refused.code, 1, "{what}: {refused:?}");
        assert!(refused.err.contains(what), "{what}: {}", refused.err);
        let left = names(&place.path().join(".waypost"));
        assert!(left.is_empty(), "{what}: {left:?}");
    };
    let mut changed = whole.clone();
    let at = whole.windows(13).position(|window| window == b"door code was").expect("it is there");
    changed[at] ^= 1;
    check(&changed, "memory/log/");
    check(&whole[..whole.len() / 2], "truncated");
    check(&whole[..whole.len() - 2], "truncated");
    let text = String::from_utf8_lossy(&whole[..200]).into_owned();
    let first = text.lines().next().expect("a line");
    let newer = first.replace("\"version\":2", "\"version\":9") + "\n";
    check(newer.as_bytes(), "version 9");
    check(b"PK\x03\x04", "not a backup");
    let export = service.ctl(&["export"]).done();
    check(export.as_bytes(), "ctl import");
    assert_eq!(run(place.path(), &["restore", "missing"]).code, 3);
}

#[test]
fn a_backup_that_the_service_could_not_open_is_refused() {
    let place = folder();
    let file = place.path().join("made");
    let to = place.path().join("to");
    fs::create_dir(&to).expect("a folder");
    let restored = |format: &[u8], tokens: Option<&[u8]>| {
        let out = fs::File::create(&file).expect("a file");
        let mut writer = Writer::new(out, Timestamp::EPOCH, "test").expect("it is written");
        let parts = [("format", Some(format)), ("tokens.json", tokens)];
        for (name, mut content) in parts.into_iter().filter_map(|(name, it)| Some((name, it?))) {
            let length = content.len() as u64;
            writer.file(name, length, &mut content).expect("it is written");
        }
        writer.finish().expect("it is written");
        run(&to, &["--project", &to.to_string_lossy(), "restore", &file.to_string_lossy()])
    };
    let good = b"waypost-data 1\n";
    for (format, tokens, wanted) in [
        (&b"\x00garbage"[..], None, "cannot be opened"),
        (b"waypost-data 2\n", None, "newer"),
        (good, Some(&b"{ no tokens"[..]), "tokens that cannot be read"),
    ] {
        let refused = restored(format, tokens);
        assert_eq!(refused.code, 1, "{wanted}: {refused:?}");
        assert!(refused.err.contains(wanted), "{wanted}: {}", refused.err);
        assert_eq!(names(&to), Vec::<String>::new(), "{wanted}");
    }
    restored(good, None).done();
}

#[test]
fn what_is_no_folder_in_place_of_the_data_folder_is_named() {
    let mut service = filled();
    let to = folder();
    let file = back_up(&service, to.path());
    service.stop();
    let place = project();
    let data = place.path().join(".waypost/data");
    let refused = |what: &str| {
        let refused = restore(place.path(), &file);
        assert_eq!(refused.code, 1, "{what}: {refused:?}");
        let wanted = format!("{} is {what}, and the data folder belongs there", data.display());
        assert!(refused.err.contains(&wanted), "{refused:?}");
        assert!(refused.err.contains("move it away"), "{refused:?}");
        fs::remove_file(&data).expect("it is still there");
    };
    fs::write(&data, "").expect("a file");
    refused("a file");
    std::os::unix::fs::symlink("nowhere", &data).expect("a link");
    refused("a symbolic link");
    rustix::fs::mkfifoat(rustix::fs::CWD, &data, Mode::RUSR | Mode::WUSR).expect("a pipe");
    refused("a special file");
    restore(place.path(), &file).done();
}

type Parts = Vec<(String, Vec<u8>)>;

/// The files of a backup.
fn parts(backup: &Path) -> Parts {
    let unpacked = folder();
    let file = fs::File::open(backup).expect("a backup");
    let mut reader = Reader::new(BufReader::new(file)).expect("a backup");
    let mut names: Vec<String> = Vec::new();
    let mut next = || {
        let open = &mut |name: &str, _| {
            names.push(name.to_owned());
            fs::File::create(unpacked.path().join((names.len() - 1).to_string()))
        };
        matches!(reader.next_file(open).expect("a file"), Next::File(_))
    };
    while next() {}
    let read = |number: usize| fs::read(unpacked.path().join(number.to_string()));
    let parts = names.into_iter().enumerate();
    parts.map(|(number, name)| (name, read(number).expect("a file"))).collect()
}

/// Writes a backup with right checksums, tries to restore it, and returns the error.
fn refused_restore(parts: &Parts) -> String {
    let made = folder();
    let file = made.path().join("made");
    let out = fs::File::create(&file).expect("a file");
    let mut writer = Writer::new(out, Timestamp::EPOCH, "test").expect("it is written");
    for (name, bytes) in parts {
        writer.file(name, bytes.len() as u64, &mut &bytes[..]).expect("it is written");
    }
    writer.finish().expect("it is written");
    let place = project();
    let refused = restore(place.path(), &file);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(!place.path().join(".waypost/data").exists(), "{refused:?}");
    refused.err
}

#[test]
fn a_backup_without_one_of_its_stores_is_refused() {
    let mut service = filled();
    let to = folder();
    let all = parts(&back_up(&service, to.path()));
    service.stop();
    for (folder, wanted) in [
        ("memory/log/", "memory/log is missing, although memory/vectors is there"),
        ("events/log/", "events/log is missing, although flows/log is there"),
        ("flows/log/", "flows/log is missing, although events/log is there"),
    ] {
        let without = all.iter().filter(|pair| !pair.0.starts_with(folder)).cloned().collect();
        let refused = refused_restore(&without);
        assert!(refused.contains("the backup is incomplete"), "{folder}: {refused}");
        assert!(refused.contains(wanted), "{folder}: {refused}");
    }
}

#[test]
fn a_backup_whose_events_end_before_what_flows_have_processed_is_refused() {
    let mut service = with_flows();
    let to = folder();
    let mut made = parts(&back_up(&service, to.path()));
    service.ctl(&["emit", "work:done", "--data", "n=1"]).done();
    until(|| {
        let runs = service.ctl(&["--json", "flows", "runs"]).json();
        if runs[0]["state"] == "succeeded" { Ok(()) } else { Err(runs.to_string()) }
    });
    let later = parts(&back_up(&service, to.path()));
    service.stop();
    made.retain(|made| !made.0.starts_with("flows/"));
    made.extend(later.into_iter().filter(|later| later.0.starts_with("flows/")));
    let refused = refused_restore(&made);
    assert!(refused.contains("the backup is incomplete"), "{refused}");
    assert!(refused.contains("events/log ends at event"), "{refused}");
    assert!(refused.contains("flows have processed events up to"), "{refused}");
}

#[test]
fn a_killed_restore_leaves_an_empty_or_a_complete_project() {
    let service = filled();
    for _ in 0..40 {
        service.add(&"much to restore ".repeat(4000));
    }
    let to = folder();
    let file = back_up(&service, to.path());
    let expected = memories(&service).len();
    for round in 0..12_u32 {
        let place = project();
        let mut child = command(place.path(), &["restore", &file.to_string_lossy()])
            .spawn()
            .expect("the program starts");
        // Kills it after another amount of work each time: once it has written that many files.
        let parts = || {
            let all = fs::read_dir(place.path().join(".waypost")).into_iter().flatten().flatten();
            let part = all
                .map(|item| item.path())
                .find(|path| path.to_string_lossy().contains("restoring"));
            part.map_or(0, |part| fs::read_dir(part).into_iter().flatten().count() as u32)
        };
        while child.try_wait().expect("a status").is_none() && parts() < round / 2 {
            std::thread::yield_now();
        }
        drop(child.kill());
        end_of(&mut child);
        let data = place.path().join(".waypost/data");
        if !data.join("format").exists() {
            restore(place.path(), &file).done();
            let left = fs::read_dir(place.path().join(".waypost")).expect("a folder").flatten();
            let left: Vec<_> = left.map(|left| left.file_name()).collect();
            assert!(!left.iter().any(|it| it.to_string_lossy().contains("restoring")), "{left:?}");
        }
        if round % 6 == 5 {
            let restored = Service::start_at(place, |_, _| {});
            assert_eq!(memories(&restored).len(), expected);
        }
    }
}

#[test]
fn a_restore_that_is_killed_while_it_registers_leaves_a_project_that_can_be_used() {
    let service = filled();
    let to = folder();
    let file = back_up(&service, to.path());
    let expected = memories(&service);
    for repeats in [true, false] {
        let place = project();
        // Another process has the list of projects, so that the restore waits for it.
        let state = place.path().join(".local/state/waypost");
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&state).expect("a folder");
        let list = state.join("lock");
        let held = fs::File::create(&list).expect("a file");
        held.set_permissions(fs::Permissions::from_mode(0o600)).expect("a file");
        held.lock().expect("it is free");
        let mut child = command(place.path(), &["restore", &file.to_string_lossy()])
            .spawn()
            .expect("the program starts");
        let opened = PathBuf::from(format!("/proc/{}/fd", child.id()));
        until(|| {
            let files = fs::read_dir(&opened).expect("it runs").flatten();
            let mut targets = files.filter_map(|file| fs::read_link(file.path()).ok());
            if targets.any(|target| target == list) { Ok(()) } else { Err("it is not that far") }
        });
        child.kill().expect("it runs");
        end_of(&mut child);
        drop(held);
        // As after a kill while it writes the id.
        fs::write(place.path().join(".waypost/data/project-id.4194305.new"), "").expect("a file");
        if repeats {
            restore(place.path(), &file).done();
            run(place.path(), &["backup", "next"]).done();
        }
        let (folder, path) = (place.path().join(".waypost"), place.path().to_owned());
        let left = |names: Vec<String>| names.into_iter().filter(|name| name.contains("restoring"));
        if repeats {
            // As after a kill behind the exchange.
            fs::create_dir(folder.join("data.4194305.restoring")).expect("a folder");
            fs::create_dir(folder.join("data.mine.restoring")).expect("a folder");
        } else {
            assert_eq!(left(names(&folder)).count(), 1);
        }
        let options = waypost_service::Options::for_project(&path).expect("options");
        drop(waypost_service::start(&options).expect("it starts"));
        let kept: Vec<String> = left(names(&folder)).collect();
        let mine = ["data.mine.restoring"];
        assert_eq!(kept, if repeats { &mine[..] } else { &[] });
        let restored = Service::start_at(place, |_, _| {});
        assert_eq!(memories(&restored), if repeats { expected.clone() } else { Vec::new() });
    }
}

/// Whether the restore is accepted or rejected.
#[test]
fn a_service_that_starts_during_a_restore_is_refused_and_the_project_keeps_its_id() {
    let service = filled();
    let to = folder();
    let whole = fs::read(back_up(&service, to.path())).expect("a file");
    for (has_id, is_whole) in [(true, true), (true, false), (false, true), (false, false)] {
        let place = project();
        if has_id {
            let data = place.path().join(".waypost/data");
            fs::DirBuilder::new().mode(0o700).create(data).expect("a folder");
            run(place.path(), &["allow", "--data"]).done();
        }
        let id = || fs::read(place.path().join(".waypost/data/project-id")).ok();
        let before = id();
        assert_eq!(before.is_some(), has_id);
        let mut child = command(place.path(), &["restore", "-"])
            .stdin(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut input = child.stdin.take().expect("it is piped");
        let (first, rest) = whole.split_at(whole.len() / 2);
        input.write_all(first).expect("it reads");
        until(|| {
            let names = names(&place.path().join(".waypost"));
            let unpacks = names.iter().any(|name| name.ends_with(".restoring"));
            if unpacks { Ok(()) } else { Err(format!("{names:?}")) }
        });
        let pid = child.id().to_string();
        let options = waypost_service::Options::for_project(place.path()).expect("options");
        let refused = waypost_service::start(&options).expect_err("the folder is locked");
        let refused = format!("{refused:#}");
        assert!(refused.contains(&format!("in use by process {pid}")), "{refused}");
        let second = run_with_input(place.path(), &["restore", "-"], &whole);
        assert!(second.code == 1 && second.err.contains(&pid), "{second:?}");
        if is_whole {
            input.write_all(rest).expect("it reads");
        }
        drop(input);
        let restored = ran(child.wait_with_output().expect("it ends"));
        assert_eq!(restored.code, i32::from(!is_whole), "{restored:?}");
        assert!(!has_id || id() == before, "{before:?} {:?}", id());
        assert_eq!(place.path().join(".waypost/data/format").exists(), is_whole);
        let left = names(&place.path().join(".waypost"));
        assert!(!left.iter().any(|it| it.contains("restoring")), "{left:?}");
        if is_whole {
            assert!(id().is_some(), "it is registered");
            drop(waypost_service::start(&options).expect("it is free"));
        }
    }
}

#[test]
fn a_backup_has_every_write_acknowledged_before_it_began() {
    let mut service = with_flows();
    let first = service.add("the first");
    let to = folder();
    let stop = AtomicBool::new(false);
    let mut backups = Vec::new();
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let (service, stop) = (&service, &stop);
            scope.spawn(move || {
                let client = service.client();
                for number in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let content = format!("writer {writer} number {number}");
                    let add = waypost_api::AddRequest { content, ..Default::default() };
                    let memory = client
                        .store(&routes::ADD_MEMORY, &add)
                        .expect("an add")
                        .into_inner()
                        .memory;
                    let link = waypost_api::LinkRequest {
                        from: memory.id.get(),
                        to: first,
                        kind: waypost_api::LinkKind::PartOf,
                    };
                    client.store(&routes::ADD_LINK, &link).expect("a link");
                    let data = [(
                        "memory".to_owned(),
                        waypost_api::Scalar::Number(memory.id.get().into()),
                    )];
                    let event = waypost_api::PublishRequest {
                        kind: "work:done".to_owned(),
                        data: waypost_api::EventData(data.into()),
                    };
                    client.publish(&event, None).expect("an event");
                }
            });
        }
        for _ in 0..3 {
            // Every memory in the store now was acknowledged before the backup begins.
            let seen: BTreeSet<u64> =
                memories(&service).into_iter().map(|memory| memory.0).collect();
            let events =
                service.ctl(&["--json", "events", "list", "--pattern", "work:*", "-n", "1000"]);
            backups.push((back_up(&service, to.path()), seen, events.json()));
        }
        stop.store(true, Ordering::Relaxed);
    });
    service.stop();
    for (file, seen, events) in backups {
        let place = project();
        restore(place.path(), &file).done();
        let restored = Service::start_at(place, |_, _| {});
        let found: BTreeSet<u64> = memories(&restored).into_iter().map(|memory| memory.0).collect();
        assert!(found.is_superset(&seen), "{:?}", seen.difference(&found));
        let listed =
            restored.ctl(&["--json", "events", "list", "--pattern", "work:*", "-n", "1000"]).json();
        let listed = listed.as_array().expect("an array");
        for event in events.as_array().expect("an array") {
            assert!(listed.contains(event), "{event} was answered");
        }
        for event in listed {
            let memory = event["data"]["memory"].as_u64().expect("an id");
            assert!(found.contains(&memory), "event {event} refers to a memory that is missing");
        }
        let runs = restored.ctl(&["--json", "flows", "runs", "-n", "1000"]).json();
        let ids: BTreeSet<u64> =
            listed.iter().map(|listed| listed["id"].as_u64().expect("an id")).collect();
        for run in runs.as_array().expect("an array") {
            let event = run["event"].as_u64().expect("an id");
            assert!(
                ids.contains(&event) || listed.len() == 1000,
                "{run} refers to an event that is missing"
            );
        }
        let next = restored.add("goes on");
        assert!(found.iter().all(|it| *it < next));
        assert_eq!(restored.ctl(&["--json", "get", &next.to_string()]).json()["id"], json!(next));
    }
}

/// The names of the entries of a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let mut names: Vec<_> =
        entries.map(|entry| entry.file_name().into_string().expect("a name")).collect();
    names.sort();
    names
}

#[test]
fn a_backup_that_is_killed_leaves_nothing_behind() {
    let service = filled();
    let to = folder();
    let file = to.path().join("mine.backup").to_string_lossy().into_owned();
    // A service that never finishes a backup.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let mut child =
        command(service.folder(), &["--url", &url, "backup", &file]).spawn().expect("it starts");
    let (mut stream, _) = listener.accept().expect("it asks");
    let mut head = [0; 16];
    stream.read_exact(&mut head).expect("it asks");
    child.kill().expect("it runs");
    end_of(&mut child);
    let flags = OFlags::TMPFILE | OFlags::RDWR;
    if rustix::fs::openat(rustix::fs::CWD, to.path(), flags, Mode::RUSR).is_ok() {
        assert!(names(to.path()).is_empty(), "{:?}", names(to.path()));
    }
    // From file systems without unnamed files, and from earlier releases: no process has these ids.
    let own = format!("mine.backup.{}.part", std::process::id());
    let other = "other.backup.4194305.part";
    for name in ["mine.backup.4194305.part", other, &own] {
        fs::write(to.path().join(name), "left").expect("a file");
    }
    service.ctl(&["backup", &file]).done();
    assert_eq!(names(to.path()), ["mine.backup", &own, other]);
    let time = to.path().join("waypost-2026-11-22T164304.000Z.backup.4194305.part");
    fs::write(&time, "left").expect("a file");
    back_up(&service, to.path());
    assert!(!time.exists() && to.path().join(other).exists());
}

#[test]
fn a_backup_goes_through_a_pipe() {
    let mut service = filled();
    let written = service.ctl_command(&["backup", "-"]).output().expect("it runs");
    assert!(written.status.success(), "{written:?}");
    assert!(String::from_utf8_lossy(&written.stderr).contains("was not verified"));
    assert!(!service.folder().join("-").exists());
    let (export, ..) = all(&service);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut unread = service.ctl_command(&["backup", "-"]);
    let unread = unread.stdout(writer).status().expect("it runs");
    assert_eq!(unread.code(), Some(1), "nobody has the backup");
    service.stop();

    let place = project();
    let half = &written.stdout[..written.stdout.len() / 2];
    let refused = run_with_input(place.path(), &["restore", "-"], half);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.err.contains("is truncated"), "{}", refused.err);
    assert!(!place.path().join(".waypost/data").exists());
    run_with_input(place.path(), &["restore", "-"], &written.stdout).done();
    let restored = Service::start_at(place, |_, _| {});
    assert_eq!(all(&restored).0, export);
}
