//! Notifications for real files. Each wait ends with the expected event, or fails after a minute.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;
use waypost_context::{Changes, How, Mode, Watch, Why};

fn project(dirs: &[&str]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for dir in dirs {
        fs::create_dir_all(root.path().join(dir)).unwrap();
    }
    root
}

fn names(dirs: &[&str]) -> Vec<String> {
    dirs.iter().map(|dir| (*dir).to_owned()).collect()
}

/// The next changes.
fn next(watch: &Watch) -> Changes {
    let changes = watch.wait(Some(Duration::from_secs(60)));
    assert!(!changes.is_empty(), "nothing is reported");
    changes
}

/// Collects reported paths until a marker file, written last, is reported: everything before it is
/// reported first.
fn changed(watch: &Watch, root: &Path) -> Vec<String> {
    static LAST: AtomicUsize = AtomicUsize::new(0);
    let last = format!("last-{}", LAST.fetch_add(1, Relaxed));
    fs::write(root.join(&last), "").unwrap();
    let mut told = BTreeSet::new();
    while !told.contains(&last) {
        let changes = next(watch);
        assert!(!changes.rescan, "nothing was missed");
        told.extend(changes.paths);
    }
    told.into_iter().filter(|told| !told.starts_with("last-")).collect()
}

fn until_git(watch: &Watch) {
    while !next(watch).git {}
}

#[test]
fn writes_renames_and_removals_are_told_with_all_names() {
    let root = project(&["a", "b/c", "ignored"]);
    let at = |path: &str| root.path().join(path);
    fs::write(at("a/old"), "x").unwrap();
    fs::write(at("b/gone"), "x").unwrap();
    let dirs = names(&["", "a", "b", "b/c"]);
    let watch = Watch::start(root.path(), &dirs, &[], Mode::Native);
    assert_eq!(watch.how(), How::Native { watches: 4 });

    fs::write(at("b/c/new"), "x").unwrap();
    fs::rename(at("a/old"), at("b/moved")).unwrap();
    fs::remove_file(at("b/gone")).unwrap();
    fs::write(at("ignored/file"), "x").unwrap();
    assert_eq!(changed(&watch, root.path()), ["a/old", "b/c/new", "b/gone", "b/moved"]);

    // As editors save: to a temporary file, then renamed over the original.
    fs::write(at("b/.new.swp"), "y").unwrap();
    fs::rename(at("b/.new.swp"), at("b/c/new")).unwrap();
    assert_eq!(changed(&watch, root.path()), ["b/.new.swp", "b/c/new"]);

    // Reading is not a change.
    fs::read(at("b/c/new")).unwrap();
    assert_eq!(changed(&watch, root.path()), Vec::<String>::new());
}

#[test]
fn a_new_folder_is_told_and_watched_once_it_is_added() {
    let root = project(&[]);
    let at = |path: &str| root.path().join(path);
    let watch = Watch::start(root.path(), &names(&[""]), &[], Mode::Native);
    for round in 0..3 {
        fs::create_dir(at("d")).unwrap();
        assert_eq!(changed(&watch, root.path()), ["d"], "round {round}");
        watch.add(&names(&["d"]));
        fs::create_dir(at("d/e")).unwrap();
        assert_eq!(changed(&watch, root.path()), ["d/e"], "round {round}");
        watch.add(&names(&["d/e"]));
        fs::write(at("d/e/file"), "x").unwrap();
        assert_eq!(changed(&watch, root.path()), ["d/e/file"], "round {round}");
        assert_eq!(watch.how(), How::Native { watches: 3 });
        fs::remove_dir_all(at("d")).unwrap();
        assert!(changed(&watch, root.path()).contains(&"d".to_owned()), "round {round}");
        assert_eq!(watch.how(), How::Native { watches: 1 });
    }
}

#[test]
fn a_renamed_folder_is_told_by_both_names_and_watched_by_the_new_one() {
    let root = project(&["a/in"]);
    let at = |path: &str| root.path().join(path);
    let watch = Watch::start(root.path(), &names(&["", "a", "a/in"]), &[], Mode::Native);
    fs::rename(at("a"), at("b")).unwrap();
    assert_eq!(changed(&watch, root.path()), ["a", "b"]);
    watch.add(&names(&["b", "b/in"]));
    fs::write(at("b/in/file"), "x").unwrap();
    assert_eq!(changed(&watch, root.path()), ["b/in/file"]);
    assert_eq!(watch.how(), How::Native { watches: 3 });
}

#[test]
fn what_is_not_followed_any_more_is_not_told() {
    let root = project(&["a", "b"]);
    let at = |path: &str| root.path().join(path);
    let watch = Watch::start(root.path(), &names(&["", "a", "b"]), &[], Mode::Native);
    watch.follow(&names(&["", "b"]), &[]);
    assert_eq!(watch.how(), How::Native { watches: 2 });
    fs::write(at("a/file"), "x").unwrap();
    fs::write(at("b/file"), "x").unwrap();
    assert_eq!(changed(&watch, root.path()), ["b/file"]);
}

#[test]
fn the_service_s_own_files_and_those_of_git_are_left_out() {
    let root = project(&[".waypost/data", ".git/refs/heads"]);
    let at = |path: &str| root.path().join(path);
    let dirs = names(&["", ".waypost", ".waypost/data", ".git"]);
    let top = fs::canonicalize(root.path()).unwrap();
    let files = [".git/HEAD", ".git/refs/heads/main", ".git/gone/file"].map(|it| top.join(it));
    let watch = Watch::start(root.path(), &dirs, &files, Mode::Native);
    assert_eq!(watch.how(), How::Native { watches: 3 });
    fs::write(at(".waypost/data/x"), "x").unwrap();
    fs::write(at(".waypost/x"), "x").unwrap();
    fs::write(at(".git/other"), "x").unwrap();
    assert_eq!(changed(&watch, root.path()), Vec::<String>::new());

    fs::write(at(".git/HEAD.lock"), "x").unwrap();
    fs::rename(at(".git/HEAD.lock"), at(".git/HEAD")).unwrap();
    until_git(&watch);
    fs::write(at(".git/refs/heads/main"), "x").unwrap();
    until_git(&watch);
}

#[test]
fn a_wait_ends_by_its_time_and_by_a_wake_from_another_thread() {
    let root = project(&[]);
    for mode in [Mode::Native, Mode::Poll, Mode::Off] {
        let watch = Arc::new(Watch::start(root.path(), &names(&[""]), &[], mode));
        assert!(watch.wait(Some(Duration::from_millis(1))).is_empty());
        // Before the wait, and (most likely) during it.
        watch.wake();
        assert!(watch.wait(None).is_empty());
        let other = Arc::clone(&watch);
        let waiting = thread::spawn(move || other.wait(None));
        watch.wake();
        assert!(waiting.join().unwrap().is_empty());
    }
}

#[test]
fn polling_asks_for_a_look_now_and_then() {
    let root = project(&[]);
    let watch = Watch::start(root.path(), &names(&[""]), &[], Mode::Poll);
    let How::Poll { every, why: Why::Asked } = watch.how() else { panic!("{:?}", watch.how()) };
    assert_eq!(every, Duration::from_secs(5));
    fs::write(root.path().join("file"), "x").unwrap();
    assert_eq!(watch.wait(None), Changes { rescan: true, git: true, ..Changes::default() });

    let off = Watch::start(root.path(), &names(&[""]), &[], Mode::Off);
    assert_eq!(off.how(), How::Off);
    fs::write(root.path().join("file"), "y").unwrap();
    assert!(off.wait(Some(Duration::from_millis(300))).is_empty());
}

#[test]
fn many_writes_of_a_file_are_one_path() {
    let root = project(&["a"]);
    let watch = Watch::start(root.path(), &names(&["", "a"]), &[], Mode::Native);
    for it in 0..500 {
        fs::write(root.path().join("a/same"), it.to_string()).unwrap();
    }
    assert_eq!(changed(&watch, root.path()), ["a/same"]);
}

#[test]
fn a_flood_ends_in_a_rescan() {
    let root = project(&["a"]);
    let watch = Watch::start(root.path(), &names(&["", "a"]), &[], Mode::Native);
    for it in 0..12_000 {
        fs::File::create(root.path().join("a").join(it.to_string())).unwrap();
    }
    let mut seen = 0;
    // Either every file is named, or a rescan is reported.
    while seen < 12_000 {
        let changes = next(&watch);
        if changes.rescan {
            assert!(changes.paths.is_empty());
            return;
        }
        seen += changes.paths.len();
    }
}
