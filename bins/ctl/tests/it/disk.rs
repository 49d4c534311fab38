//! Full disks and mounts, which only the command sees. Needs root or user namespaces.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ctl::{Ran, ran};
use crate::service::Service;
use crate::trust::Clone;
use crate::unshare::unshare;

/// Runs the command behind mounts: `script` has the folder as `$1`, and the command as `"$@"` after
/// a `shift`.
fn behind(script: &str, folder: &Path, command: &Command) -> Ran {
    let mut outer = unshare();
    outer
        .args(["--mount", "--propagation", "private", "sh", "-c"])
        .arg(format!("set -e; {script}"));
    outer.arg("sh").arg(folder).arg(command.get_program()).args(command.get_args());
    let kept = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    outer.env_clear().envs(kept).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    outer.current_dir(command.get_current_dir().expect("a folder"));
    ran(outer.output().expect("unshare runs"))
}

/// Runs the command with a full disk at the folder, of which so many KiB are free, and lists what it
/// leaves there.
fn on_a_full_disk(kibibytes: u32, folder: &Path, command: &Command) -> (Ran, Vec<PathBuf>) {
    let script = format!(
        "dir=$1; shift; mount -t tmpfs -o size={}k,mode=700 tmpfs \"$dir\"
        dd if=/dev/zero of=\"$dir/filler\" bs=1024 count=64 2>/dev/null
        code=0; \"$@\" >/dev/null || code=$?
        find \"$dir\" -type f; exit $code",
        kibibytes + 64
    );
    let ran = behind(&script, folder, command);
    let mut left: Vec<PathBuf> = ran.out.lines().map(PathBuf::from).collect();
    left.retain(|left| !left.ends_with("filler"));
    (ran, left)
}

#[test]
fn a_backup_to_a_full_disk_names_the_file_and_leaves_nothing() {
    let mut service = Service::start();
    let texts = ["memory ", "another "].map(|it| it.repeat(5_000));
    for text in texts {
        service.add(&text);
    }
    let disk = tempfile::tempdir().expect("a folder");
    let file = disk.path().join("x.backup");
    let name = file.to_str().expect("a path");
    for is_running in [true, false] {
        if !is_running {
            service.stop();
        }
        // Without an address, the stores are read if no service is running.
        let command = crate::ctl::trusting(service.folder(), &["backup", name]);
        let (ran, left) = on_a_full_disk(32, disk.path(), &command);
        assert_eq!(ran.code, 1, "{ran:?}");
        for expected in [name, "No space left on device", "the disk is full"] {
            assert!(ran.err.contains(expected), "{is_running}: {ran:?}");
        }
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn an_approval_on_a_full_disk_leaves_no_unfinished_file() {
    let clone = Clone::new();
    let state = clone.state("");
    fs::create_dir_all(&state).expect("a folder");
    let (ran, left) = on_a_full_disk(0, &state, &clone.ctl_command(&["allow", "--yes"]));
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("No space left on device"), "{ran:?}");
    assert!(!left.iter().any(|it| it.extension() == Some("new".as_ref())), "{left:?}");
}

#[test]
fn an_approval_removes_what_a_killed_one_left() {
    let clone = Clone::new();
    clone.ctl(&["allow", "--yes"]).done();
    let approvals = fs::read_dir(clone.state("approvals")).expect("a folder").flatten();
    let mut paths = approvals.map(|approval| approval.path());
    let list = paths.find(|path| path.extension() == Some("json".as_ref())).expect("a list");
    let list = list.to_str().expect("a path");
    // The id of a process that ended may be in use again.
    let left = [format!("{list}.1.new"), format!("{list}.4000000.new")];
    let kept = [format!("{list}.x.new"), format!("{list}.1.old")];
    for file in left.iter().chain(&kept) {
        fs::write(file, "{").expect("a file");
    }
    clone.write("tools/build.sh", "echo changed\n");
    clone.ctl(&["allow", "--yes"]).done();
    assert!(!left.iter().any(|it| Path::new(it).exists()), "{left:?}");
    assert!(kept.iter().all(|it| Path::new(it).exists()), "{kept:?}");
}

#[test]
fn data_that_a_mount_shows_at_a_second_path_keep_their_id() {
    let clone = Clone::new();
    clone.ctl(&["allow", "--data"]).done();
    let id = || fs::read_to_string(clone.path(".waypost/data/project-id")).expect("an id");
    let before = id();
    let mount = tempfile::tempdir().expect("a folder");
    let there = mount.path().to_str().expect("a path");
    let command = clone.ctl_command(&["--project", there, "allow", "--data"]);
    let script = format!("mount --bind \"$1\" {there}; shift; \"$@\"");
    let project = clone.path("");
    let adopt = || behind(&script, &project, &command);

    let service = clone.start(&[]);
    let refused = adopt();
    assert_ne!(refused.code, 0, "{refused:?}");
    assert!(refused.err.contains("in use by process"), "{refused:?}");
    assert!(refused.err.contains("nothing was registered"), "{refused:?}");
    assert_eq!(id(), before);
    drop(service);

    let refused = adopt();
    assert_eq!(refused.code, 4, "{refused:?}");
    let named = project.canonicalize().expect("a path");
    for expected in [there, named.to_str().expect("a path"), "unmount"] {
        assert!(refused.err.contains(expected), "{refused:?}");
    }
    assert_eq!(id(), before);
    // A start and a check do not advise what is refused.
    let service = clone.service_command(&["--project", there]);
    let checks = clone.ctl_command(&["--project", there, "doctor"]);
    for command in [service, checks] {
        let refused = behind(&script, &project, &command);
        let said = format!("{}{}", refused.out, refused.err);
        assert_eq!(refused.code, 1, "{said}");
        for expected in [there, named.to_str().expect("a path"), "unmount"] {
            assert!(said.contains(expected), "{said}");
        }
        assert!(!said.contains("`ctl allow --data` registers"), "{said}");
    }
    assert!(clone.ctl(&["allow", "--data"]).done().contains("already registered"));
}

#[test]
fn a_full_disk_is_told_with_numbers_and_no_unfinished_file_is_left() {
    let clone = Clone::new();
    let folder = clone.path(".waypost");
    let (ran, left) = on_a_full_disk(0, &folder, &clone.ctl_command(&["allow", "--data"]));
    assert_eq!(ran.code, 1, "{ran:?}");
    for expected in ["No space left on device", "0 B are free", "this needs less than 1 MiB"] {
        assert!(ran.err.contains(expected), "{expected}: {ran:?}");
    }
    assert!(left.is_empty(), "{left:?}");

    let script = "mount -t tmpfs -o size=32m,mode=700 tmpfs \"$1\"; shift; \"$@\"";
    let checked = behind(script, &folder, &clone.ctl_command(&["doctor"]));
    assert_eq!(checked.code, 1, "{checked:?}");
    let fault = checked.out.lines().find(|line| line.starts_with("fault   disk"));
    assert!(fault.is_some_and(|it| it.contains("32.00 MiB free")), "{checked:?}");
    assert!(checked.out.contains("make room for 32.00 MiB or more"), "{checked:?}");
}

#[test]
fn doctor_says_that_the_tokens_cannot_be_replaced() {
    let clone = Clone::new();
    drop(clone.start(&[]));
    let data = clone.path(".waypost/data");
    let script = "mount --bind \"$1/tokens.json\" \"$1/tokens.json\"; \
                  mount -o remount,bind,ro \"$1/tokens.json\"; shift; \"$@\"";
    let checked = behind(script, &data, &clone.ctl_command(&["doctor"]));
    assert_eq!(checked.code, 1, "{checked:?}");
    let fault = checked.out.lines().find(|line| line.starts_with("fault   tokens"));
    assert!(fault.is_some_and(|it| it.contains("cannot be replaced: Read-only")), "{checked:?}");
    assert!(clone.ctl(&["doctor"]).done().contains("1 token"));
}
