use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use tempfile::TempDir;
use waypost_project::{
    Error, Owners, Prepared, Project, Tightened, create_data_dir, tighten, write_private,
};

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

    // Foreign rules are kept, and ours have the last word.
    let ends_with_ours = |before: &str| {
        fs::write(&ignore, before).unwrap();
        project.prepare().unwrap();
        let break_ = if before.ends_with('\n') { "" } else { "\n" };
        assert_eq!(fs::read_to_string(&ignore).unwrap(), format!("{before}{break_}{written}"));
        project.prepare().unwrap();
        assert_eq!(fs::read_to_string(&ignore).unwrap(), format!("{before}{break_}{written}"));
    };
    ends_with_ours("mine\n");
    ends_with_ours("!data\n!token");
    ends_with_ours(&format!("{written}!/token\n"));
    ends_with_ours("/data/\r\n/token\r\n");
    ends_with_ours("/data/\n!/data/\n/token\n");
    for fine in [format!("{written}/drafts/\n"), "!mine\n/token\n/data/\n".to_owned()] {
        fs::write(&ignore, &fine).unwrap();
        project.prepare().unwrap();
        assert_eq!(fs::read_to_string(&ignore).unwrap(), fine);
    }
    // Git does not follow a link, and it is not written through either.
    let target = root.path().join("target");
    fs::write(&target, "!data\n").unwrap();
    fs::remove_file(&ignore).unwrap();
    symlink(&target, &ignore).unwrap();
    project.prepare().unwrap();
    assert!(!fs::symlink_metadata(&ignore).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&ignore).unwrap(), written);
    assert_eq!(fs::read_to_string(&target).unwrap(), "!data\n");

    // The state after a crash between creating and writing.
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
    assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
    fs::write(root.path().join("file"), "").unwrap();
    assert!(create_data_dir(&root.path().join("file")).is_err());
    assert!(create_data_dir(&root.path().join("file/data")).is_err());
}

#[test]
fn a_folder_is_closed_to_others_with_all_that_is_in_it() {
    let root = tree(&[]);
    let dir = root.path().join("data");
    let mode = |path: &Path| fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777;
    let open = |path: &Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    fs::create_dir_all(dir.join("a/b")).unwrap();
    fs::write(dir.join("a/b/file"), "x").unwrap();
    fs::write(dir.join("private"), "x").unwrap();
    open(&dir, 0o777);
    open(&dir.join("a"), 0o700);
    open(&dir.join("a/b"), 0o755);
    open(&dir.join("a/b/file"), 0o666);
    open(&dir.join("private"), 0o400);
    let owners = Owners::of(root.path()).unwrap();
    let done = tighten(&dir, owners).unwrap();
    assert_eq!((done.changed, done.first), (3, Some((dir.clone(), 0o777))));
    assert_eq!(mode(&dir), 0o700);
    assert_eq!((mode(&dir.join("a/b")), mode(&dir.join("a/b/file"))), (0o700, 0o600));
    assert_eq!(mode(&dir.join("private")), 0o400, "it was private, and stays as it is");
    assert_eq!(tighten(&dir, owners).unwrap(), Tightened::default());
}

#[test]
fn what_is_neither_a_file_nor_a_folder_is_refused_by_name() {
    let root = tree(&[]);
    let owners = Owners::of(root.path()).unwrap();
    let dir = root.path().join("data");
    fs::create_dir_all(dir.join("events")).unwrap();
    fs::create_dir_all(dir.join("browser/profile")).unwrap();
    // A browser's profile and the sockets of programs are not changed.
    symlink("host-1234", dir.join("browser/profile/SingletonLock")).unwrap();
    let _sockets = [
        UnixListener::bind(dir.join("service.sock")).unwrap(),
        UnixListener::bind(dir.join("browser.sock")).unwrap(),
    ];
    tighten(&dir, owners).unwrap();
    let file = root.path().join("file");
    fs::write(&file, "x").unwrap();
    let refused = |dir: &Path, name: &Path| match tighten(dir, owners) {
        Err(Error::Exposed { path, .. }) => assert_eq!(path, name),
        other => panic!("{} was to be refused: {other:?}", name.display()),
    };
    let link = dir.join("events/lock");
    symlink(&file, &link).unwrap();
    refused(&dir, &link);
    fs::remove_file(&link).unwrap();
    let socket = dir.join("events/socket");
    let _socket = UnixListener::bind(&socket).unwrap();
    refused(&dir, &socket);
    let other = root.path().join("other");
    symlink(&dir, &other).unwrap();
    refused(&other, &other);
}

#[test]
fn a_private_file_replaces_a_link_and_is_whole() {
    let root = tree(&[]);
    let (file, victim) = (root.path().join("file"), root.path().join("victim"));
    fs::write(&victim, "precious").unwrap();
    symlink(&victim, &file).unwrap();
    write_private(&file, b"new").unwrap();
    assert_eq!(fs::read(&file).unwrap(), b"new");
    assert!(!fs::symlink_metadata(&file).unwrap().is_symlink());
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read(&victim).unwrap(), b"precious");
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 2, "no temporary file is left");
}

#[test]
fn a_project_that_others_can_change_is_none() {
    let root = tree(&[".waypost/"]);
    let open = |mode: u32| {
        fs::set_permissions(root.path().join(".waypost"), fs::Permissions::from_mode(mode))
            .unwrap();
    };
    open(0o777);
    for found in [Project::find(root.path()), Project::at(root.path())] {
        let error = found.unwrap_err().to_string();
        assert!(error.contains(".waypost is writable by others (mode 777)"), "{error}");
        assert!(error.contains("chmod go-w /") && error.ends_with("/.waypost"), "{error}");
    }
    open(0o755);
    Project::find(root.path()).unwrap();
    fs::rename(root.path().join(".waypost"), root.path().join("elsewhere")).unwrap();
    symlink(root.path().join("elsewhere"), root.path().join(".waypost")).unwrap();
    let error = Project::find(root.path()).unwrap_err().to_string();
    assert!(error.contains(".waypost is a symbolic link"), "{error}");
}

#[test]
fn a_folder_that_others_can_write_to_is_no_project_before_it_has_one() {
    let folder = tempfile::tempdir().unwrap();
    let open = folder.path().join("open");
    let inner = open.join("inner");
    fs::create_dir_all(&inner).unwrap();
    fs::create_dir(open.join(".git")).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    for found in [Project::find(&inner), Project::find(&open), Project::at(&open)] {
        let error = found.unwrap_err().to_string();
        assert!(error.contains("is writable by others"), "{error}");
    }
    assert!(Project::at(&inner).is_ok());
}
