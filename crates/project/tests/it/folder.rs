use std::fs;
use std::path::Path;

use tempfile::TempDir;
use waypost_project::{Error, Prepared, Project, create_data_dir};

fn tree(folders: &[&str]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for folder in folders {
        fs::create_dir_all(root.path().join(folder)).unwrap();
    }
    root
}

fn found(root: &TempDir, start: &str) -> String {
    let project = Project::find(&root.path().join(start)).unwrap();
    let base = root.path().canonicalize().unwrap();
    project.root().strip_prefix(base).unwrap().display().to_string()
}

#[test]
fn waypost_upwards_comes_before_a_nearer_git() {
    let root = tree(&["a/.waypost", "a/b/.git", "a/b/c"]);
    assert_eq!(found(&root, "a/b/c"), "a");
}

#[test]
fn the_nearest_of_two_wins() {
    let root = tree(&["a/.waypost", "a/b/.waypost", "a/b/c"]);
    assert_eq!(found(&root, "a/b/c"), "a/b");
    assert_eq!(found(&root, "a/b/c/../.."), "a");
}

#[test]
fn git_counts_as_a_folder_and_as_a_file() {
    let root = tree(&["a/.git", "a/b/c"]);
    assert_eq!(found(&root, "a/b/c"), "a");
    fs::write(root.path().join("a/b/.git"), "gitdir: elsewhere").unwrap();
    assert_eq!(found(&root, "a/b/c"), "a/b");
}

#[test]
fn a_file_named_waypost_is_no_project() {
    let root = tree(&["a/.git", "a/b"]);
    fs::write(root.path().join("a/b/.waypost"), "").unwrap();
    assert_eq!(found(&root, "a/b"), "a");
    let project = Project::at(&root.path().join("a/b")).unwrap();
    assert!(matches!(project.prepare(), Err(Error::NotAFolder { .. })));
}

#[test]
fn what_is_not_a_folder_is_no_start() {
    let root = tree(&[]);
    fs::write(root.path().join("file"), "").unwrap();
    assert!(matches!(Project::find(&root.path().join("file")), Err(Error::NotAFolder { .. })));
    assert!(matches!(Project::at(&root.path().join("none")), Err(Error::Io { .. })));
}

#[test]
fn preparing_keeps_the_store_and_the_token_out_of_version_control() {
    let root = tree(&[]);
    let project = Project::at(root.path()).unwrap();
    assert_eq!(project.prepare().unwrap(), Prepared::Created);
    let ignore = project.dir().join(".gitignore");
    let written = fs::read_to_string(&ignore).unwrap();
    assert!(written.lines().any(|line| line == "/data/"));
    assert!(written.lines().any(|line| line == "/token"));
    assert_eq!(project.prepare().unwrap(), Prepared::Existing);
    assert_eq!(fs::read_to_string(&ignore).unwrap(), written);

    fs::write(&ignore, "mine\n").unwrap();
    project.prepare().unwrap();
    assert_eq!(fs::read_to_string(&ignore).unwrap(), "mine\n");

    // What a crash between creating and writing would leave.
    fs::write(&ignore, "").unwrap();
    project.prepare().unwrap();
    assert_eq!(fs::read_to_string(&ignore).unwrap(), written);
}

#[test]
fn many_may_prepare_at_once() {
    let root = tree(&[]);
    let project = Project::at(root.path()).unwrap();
    let created = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16).map(|_| scope.spawn(|| project.prepare().unwrap())).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .filter(|prepared| *prepared == Prepared::Created)
            .count()
    });
    assert_eq!(created, 1);
    let files: Vec<_> =
        fs::read_dir(project.dir()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(files, [".gitignore"], "no temporary file is left");
    assert!(project.dir().join(Path::new(".gitignore")).metadata().unwrap().len() > 0);
}

#[test]
fn the_stores_folder_is_its_owners_alone() {
    let root = tree(&[]);
    let dir = root.path().join("a/b/data");
    create_data_dir(&dir).unwrap();
    create_data_dir(&dir).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
    }
    fs::write(root.path().join("file"), "").unwrap();
    assert!(create_data_dir(&root.path().join("file")).is_err());
    assert!(create_data_dir(&root.path().join("file/data")).is_err());
}
