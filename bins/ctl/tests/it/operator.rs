//! What an operator sees: what is in the way of a store, pipes in place of files, a model that does not load.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use waypost_service::RerankOptions;

use crate::child::end_of;
use crate::ctl::{ran, run, trusting};
use crate::service::Service;
use crate::trust::Clone;
use crate::wait::until;

#[test]
fn a_reranker_that_cannot_be_loaded_is_named_with_a_remedy() {
    let service = Service::start_with(|folder, it| {
        let folder = folder.join("no-such-model");
        it.rerank = Some(RerankOptions { folder, budget: Duration::from_secs(1), candidates: 8 });
    });
    let status = until(|| {
        let status = service.ctl(&["--json", "status"]).json();
        if status["reranker"]["state"] == "missing" { Ok(status) } else { Err(status) }
    });
    assert_eq!(status["reranker"]["name"], "no-such-model");
    let problem = status["reranker"]["problem"].as_str().expect("a problem");
    assert!(problem.contains("`rerank.model`") && problem.contains("restart"), "{problem}");
    let shown = service.ctl(&["status"]).done();
    let line = shown.lines().find(|line| line.starts_with("reranker")).expect("a line");
    assert!(line.contains("no-such-model: missing") && line.contains(problem), "{line}");

    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("config.json"), "{}").expect("a file");
    for (path, what) in [("/nowhere", "does not exist"), (".", "has no file tokenizer.json")] {
        let path = folder.path().join(path);
        let mut command = trusting(folder.path(), &["doctor"]);
        let checked = command.env("WAYPOST_RERANK_MODEL", &path).output().expect("it starts");
        let checked = ran(checked);
        assert_eq!(checked.code, 1, "{checked:?}");
        let fault = checked.out.lines().find(|line| line.starts_with("fault   reranker"));
        assert!(fault.is_some_and(|it| it.contains(what)), "{checked:?}");
        assert!(checked.out.contains("correct the setting rerank.model"), "{checked:?}");
    }
}

/// Puts a folder in place of a file of the data folder, or a file in place of a folder.
fn put(clone: &Clone, name: &str, is_folder: bool) -> String {
    let path = clone.path(".waypost/data").join(name);
    drop(fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path)));
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    if is_folder {
        fs::create_dir(&path).expect("a folder");
        fs::write(path.join("x"), "x").expect("a file");
    } else {
        fs::write(&path, "x").expect("a file");
    }
    path.display().to_string()
}

#[test]
fn a_folder_in_place_of_a_file_is_named_and_set_aside() {
    const FILES: [&str; 10] = [
        "format",
        "lock",
        "reached",
        "tokens.json",
        "context/texts-1",
        "context/lock",
        "events/lock",
        "flows/lock",
        "flows/begun",
        "memory/repairing.new",
    ];
    const FOLDERS: [&str; 4] = ["memory/vectors", "memory/index", "events/state", "recall/log"];
    let clone = Clone::new();
    clone.ctl(&["allow", "--yes"]).done();
    drop(clone.start(&[]));
    let files = FILES.map(|file| (file, true));
    let places: Vec<_> = files.into_iter().chain(FOLDERS.map(|folder| (folder, false))).collect();
    let paths: Vec<_> =
        places.iter().map(|(name, is_folder)| put(&clone, name, *is_folder)).collect();
    let refused = clone.refused(&[]);
    assert!(refused.contains("belongs there"), "{refused}");
    assert!(
        refused.contains("`ctl doctor --repair`") && !refused.contains("os error"),
        "{refused}"
    );
    let checked = clone.ctl(&["doctor"]);
    assert_eq!(checked.code, 1, "{checked:?}");
    for path in &paths {
        assert!(checked.out.contains(&format!("{path} is ")), "{path}: {checked:?}");
    }
    assert!(!checked.out.contains("os error"), "{checked:?}");
    let repaired = clone.ctl(&["doctor", "--repair"]).done();
    for path in &paths {
        assert!(repaired.contains(&format!("set aside as {path}.damaged")), "{path}: {repaired}");
    }
    assert!(!repaired.contains("os error"), "{repaired}");
    drop(clone.start(&[]));
    clone.ctl(&["doctor"]).done();
}

#[test]
fn a_data_folder_that_is_a_file_is_named_with_what_to_do() {
    let clone = Clone::new();
    clone.write(".waypost/data", "");
    let named = format!("{} is not a folder", clone.path(".waypost/data").display());
    let checked = clone.ctl(&["doctor"]);
    let adopted = clone.ctl(&["allow", "--data"]);
    for said in [clone.refused(&[]), checked.out, adopted.err] {
        assert!(said.contains(&named) && said.contains("`ctl restore`"), "{said}");
        assert!(!said.contains("os error"), "{said}");
    }
}

#[test]
fn a_repair_does_not_say_that_nothing_is_lost_next_to_a_loss() {
    let mut service = Service::start();
    service.add("one");
    service.add("two");
    service.stop();
    let data = service.folder().join(".waypost/data");
    let segment = data.join(format!("memory/log/{:020}.log", 1));
    fs::remove_file(&segment).expect("a segment");
    fs::create_dir(&segment).expect("a folder");
    let repaired =
        ran(trusting(service.folder(), &["doctor", "--repair"]).output().expect("it starts"));
    assert!(repaired.out.contains("lost: "), "{repaired:?}");
    assert!(!repaired.out.contains("nothing is lost"), "{repaired:?}");
}

#[test]
fn a_fifo_in_place_of_an_input_is_an_error_at_once_and_a_pipe_is_read() {
    let service = Service::start();
    let folder = tempfile::tempdir().expect("a folder");
    let fifo = folder.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("it runs").success());
    let fifo = fifo.to_str().expect("a path");
    let inputs: [&[&str]; 5] = [
        &["restore", fifo],
        &["import", fifo],
        &["batch", fifo],
        &["model", "import", fifo],
        &["--ca", fifo, "--url", "https://127.0.0.1:1", "status"],
    ];
    for arguments in inputs {
        let mut child = trusting(folder.path(), arguments).spawn().expect("it starts");
        end_of(&mut child);
        let refused = ran(child.wait_with_output().expect("it has ended"));
        assert_eq!(refused.code, 1, "{arguments:?}: {refused:?}");
        assert!(refused.err.contains("regular file"), "{arguments:?}: {refused:?}");
    }
    let line = "{\"content\":\"from a pipe\"}\n";
    for name in ["-", "/dev/stdin"] {
        service.ctl_with_input(&["batch", name], line.as_bytes()).done();
    }
    let export = service.ctl(&["export", "-"]).done();
    let imported = service.ctl_with_input(&["import", "/dev/stdin"], export.as_bytes()).done();
    assert!(imported.contains("1 already present"), "{imported}");
}

#[test]
fn a_backup_leaves_out_what_was_set_aside_and_says_so() {
    let mut service = Service::start();
    service.add("kept");
    let aside = Path::new("memory/log/x.damaged/inner");
    let path = service.folder().join(".waypost/data").join(aside);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(&path, "x").expect("a file");
    for is_running in [true, false] {
        if !is_running {
            service.stop();
        }
        let name = format!("{is_running}.backup");
        let made = ran(trusting(service.folder(), &["backup", &name]).output().expect("it starts"));
        assert_eq!(made.code, 0, "{made:?}");
        assert!(made.err.contains("memory/log/x.damaged"), "{made:?}");
        let other = tempfile::tempdir().expect("a folder");
        fs::set_permissions(other.path(), fs::Permissions::from_mode(0o700)).expect("a mode");
        let backup = service.folder().join(&name);
        run(other.path(), &["restore", backup.to_str().expect("a path")]).done();
        let restored = other.path().join(".waypost/data");
        assert!(restored.join("memory/log").is_dir() && !restored.join(aside).exists());
    }
}
