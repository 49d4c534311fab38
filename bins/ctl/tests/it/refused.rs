//! What a command prints when the service rejects a request or fails, and how it handles invalid
//! files.

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use serde_json::Value;

use crate::ctl::{run, trusting, with_input};
use crate::service::Service;

/// More than the buffers of both ends hold.
const MANY_BYTES: usize = 24 << 20;

/// A file with a token of these scopes in the service's folder.
fn token(service: &Service, name: &str, scope: &str) {
    let made = service.ctl(&["token", "create", "--scope", scope]).done();
    let file = service.folder().join(name);
    fs::write(&file, made).expect("a file");
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .expect("a file");
}

#[test]
fn the_refusal_of_a_large_request_is_shown() {
    let service = Service::start_with(|_, it| it.limits.import_bytes_max = 64 << 10);
    token(&service, "reader", "memory:read");
    let line = format!("{{\"content\":\"{}\"}}\n", "x".repeat(1000));
    let lines = line.repeat(MANY_BYTES / line.len());
    let export = format!("{{\"format\":\"waypost-memory\",\"version\":1}}\n{lines}");
    for at_socket in [true, false] {
        let ctl = |arguments: &[&str], input: &str| {
            let mut command = if at_socket {
                trusting(service.folder(), arguments)
            } else {
                service.ctl_command(arguments)
            };
            with_input(&mut command, input.as_bytes())
        };
        for command in ["import", "batch"] {
            let refused = ctl(&["--token-file", "reader", command, "-"], &lines);
            assert_eq!(refused.code, 4, "{command}: {}", refused.err);
            assert!(refused.err.contains("memory:write"), "{command}: {}", refused.err);
        }
        let refused = ctl(&["--token-file", "reader", "add", "-"], &lines);
        assert_eq!(refused.code, 4, "{}", refused.err);
        for (arguments, input) in [(&["add", "-"][..], &lines), (&["import", "-"], &export)] {
            let refused = ctl(arguments, input);
            assert_eq!(refused.code, 1, "{arguments:?}: {}", refused.err);
            assert!(refused.err.contains("exceeds the limit"), "{}", refused.err);
        }
    }
}

#[test]
fn a_failure_of_the_service_names_the_request_in_its_log() {
    let service = Service::start();
    let id = service.add("this text will be damaged").to_string();
    let log = service.folder().join(".waypost/data/memory/log");
    for entry in fs::read_dir(log).expect("a folder").flatten() {
        let bytes = fs::read(entry.path()).unwrap_or_default();
        let found = bytes.windows(4).position(|window| window == b"text");
        if let Some(at) = found {
            let file = fs::OpenOptions::new().write(true).open(entry.path()).expect("a file");
            file.write_all_at(b"TEXT", at as u64).expect("it is written");
        }
    }
    let failed = service.ctl(&["get", &id]);
    assert_eq!(failed.code, 1, "{failed:?}");
    let hint = failed.err.lines().find(|line| line.starts_with("hint: ")).expect("a hint");
    assert!(hint.contains("log") && hint.contains("`ctl doctor`"), "{hint}");
    let named = hint.split("request id ").nth(1).and_then(|part| part.split(' ').next());
    assert!(named.is_some_and(|it| it.len() == 16), "{hint}");
    let failed = service.ctl(&["--json", "get", &id]);
    let told: Value = serde_json::from_str(&failed.err).expect("JSON");
    assert!(told["requestId"].as_str().is_some_and(|it| it.len() == 16), "{told}");
}

#[test]
fn nothing_of_a_damaged_export_is_imported() {
    let one = Service::start();
    for it in 0..50 {
        one.add(&format!("memory {it}"));
    }
    let whole = one.ctl(&["export"]).done();
    let last = whole.trim_end().rfind('\n').expect("many lines") + 1;
    let two = Service::start();
    let file = two.folder().join("export.ndjson");
    let changed = whole.replace("memory 30", "memory 31");
    let longer = format!("{whole}{{}}\n");
    for (text, why) in [
        (changed.as_str(), "invalid checksum"),
        (&whole[..last], "is truncated"),
        (&whole[..whole.len() / 2], "is truncated"),
        (&longer, "continues after its end"),
        ("", "is empty"),
        ("{\"content\":\"x\"}\n", "must begin with"),
    ] {
        fs::write(&file, text).expect("a file");
        let refused = two.ctl(&["import", "export.ndjson"]);
        assert_eq!(refused.code, 1, "{why}: {refused:?}");
        assert!(refused.err.contains(why), "{why}: {}", refused.err);
        assert!(refused.err.contains("nothing was imported from export.ndjson"), "{}", refused.err);
        assert_eq!(two.ctl(&["--json", "list"]).json().as_array().map(Vec::len), Some(0), "{why}");
    }
    // A pipe is sent as it arrives.
    let piped = two.ctl_with_input(&["import", "-"], changed.as_bytes());
    assert_eq!(piped.code, 1, "{piped:?}");
    assert!(piped.out.starts_with("50 memories imported"), "{piped:?}");
    fs::write(&file, &whole).expect("a file");
    let kept = Service::start();
    fs::copy(&file, kept.folder().join("export.ndjson")).expect("a file");
    assert!(kept.ctl(&["import", "export.ndjson"]).done().starts_with("50 memories imported"));
}

#[test]
fn a_file_that_is_not_there_ends_every_command_alike() {
    let service = Service::start();
    fs::create_dir(service.folder().join(".waypost/flows")).expect("a folder");
    for arguments in [
        &["import", "no/such"][..],
        &["batch", "no/such"],
        &["restore", "no/such"],
        &["model", "import", "no/such", "--name", "mine"],
        &["model", "verify", "no/such"],
        &["flows", "check", "no/such"],
        &["allow", "no/such"],
        &["allow", "--revoke", "no/such"],
        &["--token-file", "no/such", "status"],
        &["--ca", "no/such", "status"],
    ] {
        // Restore and model commands need no service, and a restore rejects a project with data.
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join(".waypost")).expect("a folder");
        let place: &Path = if arguments[0] == "restore" { folder.path() } else { service.folder() };
        let missing = run(place, arguments);
        assert_eq!(missing.code, 3, "{arguments:?}: {missing:?}");
        assert!(missing.err.contains("no/such"), "{arguments:?}: {}", missing.err);
    }
    // A folder is not a file, which is detected before anything is sent.
    for command in ["import", "batch"] {
        let folder = run(service.folder(), &[command, ".waypost"]);
        assert_eq!(folder.code, 1, "{folder:?}");
        assert!(folder.err.contains("could not read .waypost"), "{}", folder.err);
    }
}
