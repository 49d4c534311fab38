use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use waypost_flows::{ApprovalError, ContentHash, Loaded, Loader, Problem, Watch};

use crate::world::{file, flow};

/// A project's folder of flows, and the user's folder of approvals.
struct Project {
    root: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let project = Self { root };
        fs::create_dir_all(project.flows()).unwrap();
        project
    }

    fn flows(&self) -> PathBuf {
        self.root.path().join("project/.waypost/flows")
    }

    fn approvals(&self) -> PathBuf {
        self.root.path().join("state")
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.flows().join(name), text).unwrap();
    }

    fn loader(&self) -> Loader {
        Loader::new(&self.flows(), Some(&self.approvals())).unwrap()
    }

    fn trusting(&self) -> Loader {
        Loader::new(&self.flows(), None).unwrap()
    }
}

fn one(name: &str) -> String {
    file(&[flow(name, "a:x", 1, "")])
}

/// The names of the flows in force, if they have changed.
fn names(loaded: &Loaded) -> Option<Vec<String>> {
    loaded.flows.as_ref().map(|it| it.iter().map(|it| it.flow.name.to_string()).collect())
}

fn said(loaded: &Loaded) -> Vec<String> {
    let text = |it: &waypost_flows::Notice, key| it.data.get(key).unwrap().to_string();
    loaded.notices.iter().map(|it| format!("{} {}", it.kind, text(it, "file"))).collect()
}

#[test]
fn what_changes_after_the_first_start_runs_once_it_is_approved() {
    let project = Project::new();
    project.write("self-driving.yaml", &one("first"));
    let mut loader = project.loader();
    let loaded = loader.load().unwrap();
    assert_eq!(names(&loaded).unwrap(), ["first"]);
    assert_eq!(loaded.approved, [("self-driving.yaml".to_owned(), ContentHash::of(&one("first")))]);

    // As a `git pull` would: changed, and another one.
    project.write("self-driving.yaml", &one("changed"));
    project.write("new.yaml", &one("new"));
    let loaded = loader.load().unwrap();
    assert_eq!(names(&loaded), None);
    let wanted = ["flow:approval-needed new.yaml", "flow:approval-needed self-driving.yaml"];
    assert_eq!(said(&loaded), wanted);
    assert_eq!(loader.status()[0].in_force, None);
    assert_eq!(loader.status()[1].in_force, Some(ContentHash::of(&one("first"))));
    assert!(said(&loader.load().unwrap()).is_empty(), "it is said once");

    // A start of the service approves nothing, and keeps what was approved in force.
    let mut loader = project.loader();
    let loaded = loader.load().unwrap();
    assert_eq!((names(&loaded).unwrap(), loaded.approved.len()), (vec!["first".to_owned()], 0));

    let (before, now) = loader.compare("self-driving.yaml").unwrap();
    assert_eq!((before, now.text.as_ref()), (one("first"), one("changed").as_str()));
    let other = loader.allow("self-driving.yaml", &ContentHash::of("another"));
    assert!(matches!(other, Err(ApprovalError::Changed(_))));
    loader.allow("self-driving.yaml", &now.hash).unwrap();
    assert_eq!(names(&loader.load().unwrap()).unwrap(), ["changed"]);
    assert_eq!(names(&project.loader().load().unwrap()).unwrap(), ["changed"]);
    assert!(matches!(loader.allow("none.yaml", &now.hash), Err(ApprovalError::File { .. })));
    assert!(matches!(loader.allow("../x.yaml", &now.hash), Err(ApprovalError::File { .. })));
}

#[test]
fn a_project_without_flows_has_begun_too() {
    let project = Project::new();
    project.loader().load().unwrap();
    project.write("late.yaml", &one("late"));
    assert_eq!(names(&project.loader().load().unwrap()).unwrap(), Vec::<String>::new());
    assert_eq!(names(&project.trusting().load().unwrap()).unwrap(), ["late"]);
}

#[test]
fn a_damaged_approval_approves_nothing() {
    let project = Project::new();
    project.write("a.yaml", &one("a"));
    project.loader().load().unwrap();
    let content = project.approvals().join(format!("{}.yaml", ContentHash::of(&one("a"))));
    fs::write(content, one("evil")).unwrap();
    project.write("a.yaml", &one("evil"));
    assert_eq!(names(&project.loader().load().unwrap()).unwrap(), Vec::<String>::new());
    fs::write(project.approvals().join("approved.json"), "{").unwrap();
    assert!(Loader::new(&project.flows(), Some(&project.approvals())).is_err());
}

#[test]
fn a_broken_file_leaves_the_last_good_one_in_force() {
    let project = Project::new();
    project.write("a.yaml", &one("a"));
    project.write("b.yaml", &one("b"));
    let mut loader = project.trusting();
    loader.load().unwrap();
    let big = "x".repeat((1 << 20) + 1);
    let deep = format!("flows: {}", "[".repeat(1000));
    let laughs = "a: &a [x,x]\nflows: [*a,*a]\n";
    let broken: [&[u8]; 12] = [
        b"flows:\n  - nam: a\n",
        b"flows:\n\t- name: a\n",
        b"flows: []\nflows: []\n",
        b"flows: !!python/object {}\n",
        big.as_bytes(),
        deep.as_bytes(),
        laughs.as_bytes(),
        b"\xff\xfe",
        b"",
        b"flows: [",
        b"flows:\n  - { name: a, trigger: { pattern: \"a:b\" }, actions: [{ type: command, command: [ls] }] }\n",
        b"flows:\n  - { name: a, trigger: { pattern: \"a:b\", condition: \"\" }, actions: [{ type: command, command: ls }] }\n",
    ];
    for text in broken {
        fs::write(project.flows().join("a.yaml"), text).unwrap();
        let loaded = loader.load().unwrap();
        let text = String::from_utf8_lossy(text);
        assert_eq!(names(&loaded), None, "{text:.100}");
        assert_eq!(said(&loaded), ["flow:invalid a.yaml"], "{text:.100}");
        assert!(loader.status()[0].problem.is_some());
        assert_eq!(loader.status()[0].in_force, Some(ContentHash::of(&one("a"))));
    }
    project.write("a.yaml", &one("mended"));
    assert_eq!(names(&loader.load().unwrap()).unwrap(), ["mended", "b"]);
    fs::remove_file(project.flows().join("a.yaml")).unwrap();
    assert_eq!(names(&loader.load().unwrap()).unwrap(), ["b"]);
    fs::remove_dir_all(project.flows()).unwrap();
    assert_eq!(names(&loader.load().unwrap()).unwrap(), Vec::<String>::new());
}

#[test]
fn the_place_of_an_error_is_told() {
    let project = Project::new();
    project.write("a.yaml", "flows:\n  - name: a\n    triger: {}\n");
    let mut loader = project.trusting();
    let loaded = loader.load().unwrap();
    let Some(Problem::Invalid(error)) = &loader.status()[0].problem else {
        panic!("{:?}", loader.status());
    };
    assert_eq!((error.line, error.column), (3, 5));
    let why = loaded.notices[0].data.get("why").unwrap().to_string();
    assert!(why.starts_with("3:5: ") && why.contains("`trigger`"), "{why}");
}

#[test]
fn one_name_is_one_flow_over_all_files() {
    let project = Project::new();
    project.write("a.yaml", &one("a"));
    project.write("b.yaml", &file(&[flow("b", "a:x", 1, ""), flow("a", "a:x", 1, "")]));
    let mut loader = project.trusting();
    assert_eq!(names(&loader.load().unwrap()).unwrap(), ["a"]);
    let problem = loader.status()[1].problem.as_ref().unwrap().to_string();
    assert_eq!(problem, "the flow a is in a.yaml, too");
}

#[test]
fn what_others_could_have_written_is_not_read() {
    let project = Project::new();
    let path = project.flows().join("a.yaml");
    project.write("a.yaml", &one("a"));
    let outside = project.root.path().join("outside.yaml");
    fs::write(&outside, one("outside")).unwrap();
    let mut loader = project.trusting();
    loader.load().unwrap();
    let problem = |loader: &mut Loader, said: &str| {
        let loaded = loader.load().unwrap();
        assert_eq!(names(&loaded), None);
        let problem = loader.status()[0].problem.clone();
        assert!(
            matches!(&problem, Some(Problem::Untrusted(why)) if why.contains(said)),
            "{problem:?}"
        );
    };
    let chmod = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    chmod(&path, 0o666);
    problem(&mut loader, "a.yaml can be written by others");
    chmod(&path, 0o600);
    chmod(&project.flows(), 0o777);
    problem(&mut loader, "a folder above a.yaml can be written");
    chmod(&project.flows(), 0o700);
    // Only the system's user can give a file away.
    if std::os::unix::fs::chown(&path, Some(12_345), None).is_ok() {
        problem(&mut loader, "a.yaml belongs to user 12345");
    }
    fs::remove_file(&path).unwrap();
    symlink(&outside, &path).unwrap();
    problem(&mut loader, "a link that leads out");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(names(&loader.load().unwrap()), None);
    assert!(matches!(loader.status()[0].problem, Some(Problem::Unreadable(_))));
}

#[test]
fn a_file_that_is_swapped_all_the_time_is_one_or_the_other() {
    let project = Project::new();
    project.write("a.yaml", &one("a"));
    let path = project.flows();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let mut loader = project.trusting();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut turn = 0_usize;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let name = ["a", "b"][turn % 2];
                fs::write(path.join(".new"), one(name)).unwrap();
                fs::rename(path.join(".new"), path.join("a.yaml")).unwrap();
                turn += 1;
            }
        });
        for _ in 0..200 {
            loader.load().unwrap();
            assert_eq!((loader.status().len(), &loader.status()[0].problem), (1, &None));
            assert_eq!(loader.flows_of("a.yaml").count(), 1);
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn a_change_is_noticed() {
    let project = Project::new();
    let mut watch = Watch::new(&project.flows());
    project.write("a.yaml", &one("a"));
    assert!(watch.wait());
    fs::remove_dir_all(project.flows()).unwrap();
    assert!(watch.wait());
    fs::create_dir_all(project.flows()).unwrap();
    project.write("b.yaml", &one("b"));
    assert!((0..3).any(|_| watch.wait()));
}

/// Makes a FIFO, where the machine has the program for it.
fn fifo(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

#[test]
fn what_is_no_regular_file_is_refused_by_name_and_blocks_nothing() {
    let project = Project::new();
    project.write("good.yaml", &one("good"));
    fifo(&project.flows().join("fifo.yaml"));
    let listener = std::os::unix::net::UnixListener::bind(project.flows().join("socket.yaml"));
    fs::create_dir(project.flows().join("folder.yaml")).unwrap();
    symlink("/dev/zero", project.flows().join("device.yaml")).unwrap();
    symlink("fifo.yaml", project.flows().join("linked.yaml")).unwrap();
    let (told, loaded) = std::sync::mpsc::channel();
    let mut loader = project.trusting();
    std::thread::spawn(move || {
        let flows = names(&loader.load().unwrap());
        told.send((flows, loader.status().to_vec())).unwrap();
    });
    let limit = std::time::Duration::from_secs(20);
    let (flows, status) = loaded.recv_timeout(limit).expect("reading the folder does not block");
    assert_eq!(flows.unwrap(), ["good"]);
    let problem = |name: &str| {
        let found = status.iter().find(|it| it.name == name).unwrap();
        found.problem.as_ref().unwrap().to_string()
    };
    assert!(problem("fifo.yaml").starts_with("fifo.yaml is a FIFO, not a regular file"));
    assert!(problem("linked.yaml").starts_with("linked.yaml is a FIFO"));
    assert!(problem("socket.yaml").starts_with("socket.yaml is a socket"));
    assert!(problem("folder.yaml").starts_with("folder.yaml is a folder"));
    assert!(problem("device.yaml").contains("a link that leads out"));
    drop(listener);
}

#[test]
fn reading_the_folder_is_no_change_of_it() {
    let project = Project::new();
    project.write("a.yaml", &one("a"));
    let mut watch = Watch::new(&project.flows());
    let mut loader = project.trusting();
    for emptied in [false, true] {
        if emptied {
            fs::remove_file(project.flows().join("a.yaml")).unwrap();
            assert!(watch.wait());
        }
        assert!(loader.load().unwrap().flows.is_some());
        // Each wait is two seconds long when nothing changes.
        let reloads = (0..2).filter(|_| {
            let has_changed = watch.wait();
            if has_changed {
                assert_eq!(names(&loader.load().unwrap()), None, "the same flows again");
            }
            has_changed
        });
        assert_eq!(reloads.count(), 0, "emptied: {emptied}");
    }
}
