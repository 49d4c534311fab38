//! Differences from the commit, compared with git's own result.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use waypost_context::{Present, Tracked, changed, tracked_below};

use crate::repository::{BEGIN, Repository, git};

/// Every file below a folder except git's.
fn present(root: &Path, folder: &Path, found: &mut Vec<(String, u64, i64)>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let metadata = entry.metadata().unwrap();
        if entry.file_name() == ".git" {
            continue;
        }
        if metadata.is_dir() {
            present(root, &entry.path(), found);
        } else {
            let path = entry.path().strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            let modified = metadata.mtime() * 1_000_000_000 + metadata.mtime_nsec();
            found.push((path, metadata.len(), modified));
        }
    }
}

fn changes(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    present(root, root, &mut found);
    let files = found.iter().map(|(path, bytes, modified_ns)| Present {
        path,
        bytes: *bytes,
        modified_ns: *modified_ns,
    });
    changed(root, files, &|path| fs::read(root.join(path)).ok(), &|| false).unwrap()
}

/// The output of `git status`, for files that exist.
fn told_by_git(root: &Path) -> Vec<String> {
    let lines = git(root, &["status", "--porcelain", "--untracked-files=all", "--no-renames"]);
    let is_changed = |line: &&str| {
        matches!(line.as_bytes(), [b'?' | b'U' | b'A' | b'M', ..] | [_, b'U' | b'M', ..])
    };
    let mut told: Vec<String> =
        lines.lines().filter(is_changed).map(|line| line[3..].to_owned()).collect();
    told.sort_unstable();
    told
}

fn age(repository: &Repository, path: &str) {
    let file = fs::File::options().append(true).open(repository.top.join(path)).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(BEGIN as u64)).unwrap();
}

#[test]
fn modified_staged_and_untracked_files_are_told_as_git_tells_them() {
    let mut repository = Repository::new();
    repository.commit("first", &["clean", "edited", "staged", "both", "gone", "a/b/deep", "a/x"]);
    repository.commit("second", &["a/b/deep", "c/d/e"]);
    assert!(changes(&repository.top).is_empty());

    repository.write("edited", "longer than it was before");
    repository.write("staged", "staged");
    repository.write("both", "first");
    repository.write("a/b/new", "new");
    repository.git(&["add", "staged", "both", "a/b/new"]);
    repository.write("both", "and then");
    repository.write("c/d/untracked", "x");
    repository.write("c/d/e", "c/d/e in commit 9\n");
    fs::remove_file(repository.top.join("gone")).unwrap();
    assert_eq!(changes(&repository.top), told_by_git(&repository.top));
    assert_eq!(
        changes(&repository.top),
        ["a/b/new", "both", "c/d/e", "c/d/untracked", "edited", "staged",]
    );
    // Below the top folder, relative to that folder.
    assert_eq!(changes(&repository.top.join("a")), ["b/new"]);
}

#[test]
fn a_touched_file_is_not_changed_and_a_same_sized_one_is() {
    let mut repository = Repository::new();
    repository.commit("first", &["touched", "swapped"]);
    age(&repository, "touched");
    repository.write("swapped", "swapped in commit 9\n");
    age(&repository, "swapped");
    assert_eq!(changes(&repository.top), ["swapped"]);
}

#[test]
fn what_was_written_right_after_it_was_staged_is_noticed() {
    // Same size, and with a coarse clock the same time: only the content decides.
    for _ in 0..3 {
        let repository = Repository::new();
        repository.write("a", "one");
        repository.git(&["add", "a"]);
        repository.write("a", "two");
        let modified = fs::metadata(repository.top.join(".git/index")).unwrap().modified().unwrap();
        fs::File::options()
            .append(true)
            .open(repository.top.join("a"))
            .unwrap()
            .set_modified(modified)
            .unwrap();
        assert_eq!(changes(&repository.top), ["a"]);
    }
}

#[test]
fn before_the_first_commit_and_in_a_bare_repository_too() {
    let repository = Repository::new();
    repository.write("a", "a");
    assert_eq!(changes(&repository.top), ["a"]);
    repository.git(&["add", "a"]);
    assert_eq!(changes(&repository.top), ["a"]);

    let bare = repository.beside("bare.git");
    repository.git(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    assert!(changes(&bare).is_empty());
}

#[test]
fn files_in_conflict_are_modified() {
    let mut repository = Repository::new();
    repository.commit("base", &["a"]);
    repository.git(&["checkout", "--quiet", "-b", "side"]);
    repository.commit("side", &["a"]);
    repository.git(&["checkout", "--quiet", "main"]);
    repository.commit("main", &["a"]);
    let merged = std::process::Command::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@example.org", "merge", "--quiet", "side"])
        .current_dir(&repository.top)
        .output()
        .unwrap();
    assert!(!merged.status.success());
    assert_eq!(changes(&repository.top), ["a"]);
}

#[test]
fn it_stops_with_what_it_has() {
    let repository = Repository::new();
    repository.write("a", "a");
    let file = Present { path: "a", bytes: 1, modified_ns: 0 };
    let none = changed(&repository.top, [file], &|_| None, &|| true).unwrap();
    assert!(none.is_empty());
    let names: Vec<String> = (0..5_100).map(|number| format!("{number}")).collect();
    let files = names.iter().map(|path| Present { path, bytes: 1, modified_ns: 0 });
    assert_eq!(changed(&repository.top, files, &|_| None, &|| false).unwrap().len(), 5_000);
}

#[test]
fn what_git_tracks_below_a_path_is_found_in_every_form_of_a_repository() {
    let tracked = |root: &Path| {
        let paths = [".waypost/data", ".waypost/token"].map(str::to_owned);
        tracked_below(root, &paths).unwrap()
    };
    let mut repository = Repository::new();
    let none = Tracked::Files(Vec::new());
    let nowhere = tempfile::tempdir().unwrap();
    assert_eq!(tracked(nowhere.path()), none, "no repository");
    assert_eq!(tracked(&repository.top), none, "no index");
    let harmless = [".waypost/tokens", ".waypost/data.md", ".waypost/flows/a.yaml", "data/x"];
    repository.commit("harmless", &harmless);
    assert_eq!(tracked(&repository.top), none);

    let hostile = [".waypost/data/flows/log", ".waypost/token", "sub/.waypost/DATA/x"];
    repository.commit("hostile", &hostile);
    let top = Tracked::Files(vec![hostile[0].to_owned(), hostile[1].to_owned()]);
    assert_eq!(tracked(&repository.top), top);
    let sub = Tracked::Files(vec![".waypost/DATA/x".to_owned()]);
    assert_eq!(tracked(&repository.top.join("sub")), sub, "below the top, of another case");
    for version in ["4", "2"] {
        repository.git(&["update-index", "--index-version", version]);
        assert_eq!(tracked(&repository.top), top, "version {version}");
    }
    let linked = repository.beside("linked");
    repository.git(&["worktree", "add", "--quiet", linked.to_str().unwrap()]);
    assert_eq!(tracked(&linked), top, "a linked working tree");
    git(&linked, &["rm", "-r", "--quiet", "--cached", ".waypost/data", ".waypost/token"]);
    assert_eq!(tracked(&linked), none, "of its own index");

    // A link, or a submodule, in place of a folder.
    repository.git(&["rm", "-r", "--quiet", ".waypost"]);
    std::os::unix::fs::symlink("elsewhere", repository.top.join(".waypost")).unwrap();
    repository.git(&["add", ".waypost"]);
    assert_eq!(tracked(&repository.top), Tracked::Files(vec![".waypost".to_owned()]));
    repository.git(&["update-index", "--split-index"]);
    let index = repository.top.join(".git/index");
    let why = format!("{}: it is a split index, which is not read here", index.display());
    assert_eq!(tracked(&repository.top), Tracked::Unknown(why));
    fs::write(index, "DIRC and no more").unwrap();
    assert!(tracked_below(&repository.top, &[]).is_err(), "damaged");
    let pointer = nowhere.path().join(".git");
    fs::write(&pointer, "gitdir: nowhere\n").unwrap();
    let pointer = pointer.canonicalize().unwrap();
    let why = format!("{}: it names no folder of a repository", pointer.display());
    assert_eq!(tracked(nowhere.path()), Tracked::Unknown(why));
}
