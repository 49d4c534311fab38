//! The lock on a folder meets what somebody else left in its place.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use waypost_log::{Error, FolderLock};

#[test]
fn the_lock_is_a_file_of_its_own_with_the_pid() {
    let dir = tempfile::tempdir().expect("a folder");
    let taken = FolderLock::take(dir.path()).expect("it is free");
    let file = dir.path().join("lock");
    let pid = fs::read_to_string(&file).expect("the file");
    assert_eq!(pid.trim(), std::process::id().to_string());
    assert_eq!(fs::metadata(&file).expect("the file").permissions().mode() & 0o077, 0);
    let again = FolderLock::take(dir.path()).expect_err("it is taken");
    assert!(matches!(&again, Error::Locked { pid: found, .. } if *found == pid.trim()), "{again}");
    drop(taken);
    FolderLock::take(dir.path()).expect("it is free again");
}

/// An operator may take the file for a leftover.
#[test]
fn the_folder_stays_locked_when_the_file_is_removed() {
    let dir = tempfile::tempdir().expect("a folder");
    let taken = FolderLock::take(dir.path()).expect("it is free");
    for _ in 0..2 {
        fs::remove_file(dir.path().join("lock")).expect("the file");
        let again = FolderLock::take(dir.path()).expect_err("it is taken");
        assert!(matches!(again, Error::Locked { .. }), "{again}");
    }
    drop(taken);
    let taken = FolderLock::take(dir.path()).expect("it is free again");
    // An earlier release has locked the file alone.
    drop(taken);
    let earlier = fs::File::open(dir.path().join("lock")).expect("the file");
    earlier.lock().expect("it is free");
    let again = FolderLock::take(dir.path()).expect_err("it is taken");
    assert!(matches!(again, Error::Locked { .. }), "{again}");
}

/// A checkout can bring a link; what it leads to stays as it is.
#[test]
fn what_a_link_leads_to_is_not_changed() {
    let dir = tempfile::tempdir().expect("a folder");
    let victim = dir.path().join("victim");
    fs::write(&victim, "precious").expect("a file");
    let lock = dir.path().join("lock");
    let refused = |says: &str| {
        let error = FolderLock::take(dir.path()).expect_err("it is no lock");
        let text = format!("{error}: {}", std::error::Error::source(&error).expect("a cause"));
        assert!(text.contains(says) && text.contains("lock"), "{text}");
        assert_eq!(fs::read_to_string(&victim).expect("the file"), "precious");
    };
    symlink(&victim, &lock).expect("a link");
    refused("symbolic link");
    fs::remove_file(&lock).expect("the link");
    fs::hard_link(&victim, &lock).expect("a second name");
    refused("another hard link");
    fs::remove_file(&lock).expect("the name");
    symlink(dir.path().join("nowhere"), &lock).expect("a link");
    refused("symbolic link");
    assert!(!dir.path().join("nowhere").exists());
}
