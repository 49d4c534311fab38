use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use waypost_project::{
    Adopted, Approvals, Error, Origin, PendingFile, Project, adopt_data, check_data, claim_data,
    project_id, sha256,
};

use crate::Case;

const CONFIG: &str = ".waypost/config.yaml";

impl Case {
    /// Nothing approved, with a home next to the project.
    fn untrusted(config: &str) -> Self {
        let mut case = Self::new(config);
        let home = case.folder.path().join("home");
        fs::create_dir(&home).unwrap();
        case.variables.insert("HOME".to_owned(), home.into());
        case.is_trusted = false;
        case
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn project(&self) -> Project {
        Project::at(self.folder.path()).unwrap()
    }

    fn state(&self) -> PathBuf {
        self.home().join(".local/state/waypost")
    }

    fn user_file(&self, text: &str) -> PathBuf {
        let folder = self.home().join(".config/waypost");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("config.yaml"), text).unwrap();
        folder.join("config.yaml")
    }

    fn allow(&self, config: &str) {
        let approvals = Approvals::new(&self.project(), &self.state());
        approvals.allow(&[(CONFIG, config.as_bytes())]).unwrap();
    }

    fn pending(&self) -> PendingFile {
        match self.resolve() {
            Err(Error::Pending(pending)) => pending,
            other => panic!("something that waits was expected, not {other:?}"),
        }
    }
}

#[test]
fn a_project_file_decides_nothing_that_matters_by_itself() {
    for (config, line, key, value) in [
        ("listen: 0.0.0.0:4747\n", 1, "listen", "0.0.0.0:4747"),
        ("log:\n  level: debug\nallow_remote: true\n", 3, "allow_remote", "true"),
        ("log: {level: debug}\nmodel: {name: none}\n", 2, "model.name", "none"),
        ("url: https://evil.example\n", 1, "url", "https://evil.example"),
        ("\ncontext:\n  git: false\n  include: ['secret/**']\n", 4, "context.include", "secret/**"),
        ("events:\n  keep_time: 1s\n", 2, "events.keep_time", "1s"),
        ("limits:\n  body_bytes_max: 16MiB\n", 2, "limits.body_bytes_max", "16MiB"),
    ] {
        let case = Case::untrusted(config);
        let pending = case.pending();
        let found = &pending.settings[0];
        assert_eq!((found.line, found.key, found.value.as_str()), (line, key, value), "{config}");
        let said = pending.to_string();
        assert!(said.contains(&format!("line {line}: {key}: ")), "{said}");
        assert!(said.contains("pending approval"), "{said}");
        assert!(said.contains("home/.config/waypost"), "{said}");
        case.allow(config);
        let settings = case.resolve().unwrap();
        assert!(matches!(settings.origin(key), Some(Origin::Config(_))), "{config}");
        // A pull that changes the file invalidates the approval.
        fs::write(case.folder.path().join(CONFIG), format!("{config}# more\n")).unwrap();
        case.pending();
    }
}

#[test]
fn what_is_harmless_or_the_default_needs_no_approval() {
    for config in [
        "",
        "log:\n  level: debug\n  format: json\n",
        "context:\n  enabled: false\n  exclude: [/drafts/]\n  git: false\nevents:\n  memory: false\n",
        "listen: 127.0.0.1:4747\nallow_remote: false\ndata_dir: .waypost/data\n",
    ] {
        Case::untrusted(config).resolve().unwrap();
    }
}

#[test]
fn a_stronger_source_needs_no_approval_of_a_weaker_one() {
    let config = "listen: 0.0.0.0:1\n";
    let case = Case::untrusted(config).flag("listen", "--listen", "127.0.0.1:2");
    assert_eq!(case.resolve().unwrap().listen.port(), 2);
    let case = Case::untrusted(config).variable("WAYPOST_LISTEN", "127.0.0.1:3");
    assert_eq!(case.resolve().unwrap().listen.port(), 3);
    let case = Case::untrusted(config);
    let root = case.project().root().display().to_string();
    let file = case.user_file(&format!("projects:\n  {root}:\n    listen: 127.0.0.1:4\n"));
    let settings = case.resolve().unwrap();
    assert_eq!(settings.listen.port(), 4);
    assert_eq!(settings.origin("listen"), Some(&Origin::User(file)));
    let trusting = Case::untrusted(config).variable("WAYPOST_TRUST_PROJECT", "1");
    assert_eq!(trusting.resolve().unwrap().listen.port(), 1);
}

#[test]
fn the_users_file_goes_before_the_projects() {
    let case = Case::untrusted("log:\n  level: warn\n");
    case.user_file(
        "log:\n  level: error\nmodel:\n  cache_dir: models\nprojects:\n  ~/elsewhere:\n    listen: 127.0.0.1:9\n",
    );
    let settings = case.resolve().unwrap();
    assert_eq!(settings.log.level, "error");
    assert_eq!(settings.model.cache_dir, case.home().join(".config/waypost/models"));
    assert_eq!(settings.listen.port(), 4747);
    let variable = case.variable("WAYPOST_LOG_LEVEL", "trace");
    assert_eq!(variable.resolve().unwrap().log.level, "trace");
}

#[test]
fn the_users_file_is_checked_as_the_projects_is() {
    for (text, line, said) in [
        ("listen: 127.0.0.1:1\n", 1, "listen applies to one project"),
        ("log:\n  level: info\n  levle: x\n", 3, "did you mean"),
        ("projects:\n  relative:\n    listen: 127.0.0.1:1\n", 2, "neither an absolute path"),
        ("projects:\n  /x:\n    listne: 127.0.0.1:1\n", 3, "did you mean"),
    ] {
        let case = Case::untrusted("");
        case.user_file(text);
        let (found, message) = case.fault();
        assert_eq!(found, line, "{text}: {message}");
        assert!(message.contains(said), "{message}");
    }
    let own = Case::new("projects:\n  /x: {}\n").fault().1;
    assert!(own.contains("your own"), "{own}");
}

#[test]
fn files_that_others_could_have_written_are_refused() {
    let chmod = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let refused = |case: &Case, said: &str| {
        let error = case.resolve().unwrap_err();
        assert!(matches!(error, Error::Untrusted { .. } | Error::Exposed { .. }), "{error:?}");
        assert!(error.to_string().contains(said), "{error}");
    };
    let case = Case::untrusted("log:\n  level: debug\n");
    let file = case.folder.path().join(CONFIG);
    chmod(&file, 0o666);
    refused(&case, "config.yaml is writable by other users");
    chmod(&file, 0o600);
    chmod(&case.folder.path().join(".waypost"), 0o777);
    refused(&case, ".waypost is writable by others");
    chmod(&case.folder.path().join(".waypost"), 0o755);
    let own = case.user_file("log:\n  level: info\n");
    chmod(&own, 0o602);
    refused(&case, "is writable by other users");
    chmod(&own, 0o600);
    case.resolve().unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("c.yaml"), "log:\n  level: debug\n").unwrap();
    fs::remove_file(&file).unwrap();
    symlink(outside.path().join("c.yaml"), &file).unwrap();
    refused(&case, "leads out of the project");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    refused(&case, "is not a regular file");
    // Only root can change a file's owner.
    fs::remove_dir(&file).unwrap();
    fs::write(&file, "").unwrap();
    if std::os::unix::fs::chown(&file, Some(12_345), None).is_ok() {
        refused(&case, "belongs to user 12345");
    }
}

#[test]
fn approvals_are_private_and_by_project_path_file_and_content() {
    let case = Case::untrusted("");
    fs::create_dir_all(case.state()).unwrap();
    fs::set_permissions(case.state(), fs::Permissions::from_mode(0o755)).unwrap();
    let approvals = Approvals::new(&case.project(), &case.state());
    assert!(approvals.list().unwrap().is_empty());
    approvals.allow(&[("a.yaml", b"one"), ("b.sh", b"two")]).unwrap();
    approvals.allow(&[("a.yaml", b"three")]).unwrap();
    let again = Approvals::new(&case.project(), &case.state());
    for (file, content, wanted) in [
        ("a.yaml", b"one".as_slice(), true),
        ("a.yaml", b"three", true),
        ("a.yaml", b"two", false),
        ("b.sh", b"one", false),
    ] {
        assert_eq!(again.has(file, &sha256(content)).unwrap(), wanted);
    }
    assert_eq!(again.last("a.yaml").unwrap().unwrap(), b"three");
    let stamp = again.stamp();
    assert!(again.revoke("a.yaml").unwrap() && !again.revoke("a.yaml").unwrap());
    assert_ne!(again.stamp(), stamp);
    assert_eq!(again.list().unwrap().len(), 1);
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(case.state()), 0o700);
    assert_eq!(mode(case.state().join("approvals")), 0o700);
    assert_eq!(mode(case.state().join("projects.json")), 0o600);
    let id = project_id(&case.project(), &case.state()).unwrap().unwrap();
    assert_eq!(mode(case.state().join(format!("approvals/{id}.json"))), 0o600);
    assert_eq!(id.len(), 32);

    fs::set_permissions(case.state(), fs::Permissions::from_mode(0o777)).unwrap();
    assert!(matches!(again.list(), Err(Error::Untrusted { .. })));
}

#[test]
fn a_data_folder_that_came_from_elsewhere_is_refused_until_it_is_registered() {
    let case = Case::untrusted("");
    let project = case.project();
    let (data, state) = (project.dir().join("data"), case.state());
    // The state that a clone, an archive or an earlier release leaves.
    fs::create_dir(&data).unwrap();
    fs::write(data.join("log"), "x").unwrap();
    let refused = claim_data(&project, &data, &state).unwrap_err();
    assert!(matches!(refused, Error::Unregistered { .. }), "{refused:?}");
    assert!(refused.to_string().contains("register it if it is yours"), "{refused}");
    assert!(check_data(&project, &data, &state).is_err());
    fs::write(data.join("project-id"), format!("{:032x}\n", 7)).unwrap();
    assert!(claim_data(&project, &data, &state).is_err(), "an id of its own is not enough");
    assert_eq!(adopt_data(&project, &data, &state).unwrap(), Adopted::Registered);
    assert_eq!(adopt_data(&project, &data, &state).unwrap(), Adopted::Known);
    let id = claim_data(&project, &data, &state).unwrap();
    check_data(&project, &data, &state).unwrap();

    // A copy has the id of another existing project.
    let copy = case.folder.path().join("copy");
    fs::create_dir_all(copy.join(".waypost/data")).unwrap();
    fs::copy(data.join("project-id"), copy.join(".waypost/data/project-id")).unwrap();
    let copied = Project::at(&copy).unwrap();
    let copied_data = copied.dir().join("data");
    assert!(claim_data(&copied, &copied_data, &state).is_err());
    assert_eq!(adopt_data(&copied, &copied_data, &state).unwrap(), Adopted::Copied);
    assert_ne!(claim_data(&copied, &copied_data, &state).unwrap(), id);
    assert_eq!(claim_data(&project, &data, &state).unwrap(), id, "the first one is as it was");

    // A moved project keeps its id, but none of its approvals.
    Approvals::new(&copied, &state).allow(&[("a", b"b")]).unwrap();
    fs::rename(&copy, case.folder.path().join("moved")).unwrap();
    let moved = Project::at(&case.folder.path().join("moved")).unwrap();
    let moved_data = moved.dir().join("data");
    assert!(claim_data(&moved, &moved_data, &state).is_err());
    assert_eq!(adopt_data(&moved, &moved_data, &state).unwrap(), Adopted::Registered);
    assert!(Approvals::new(&moved, &state).list().unwrap().is_empty());

    // A link at the former path leads to the moved project, and is no copy.
    let moved_id = project_id(&moved, &state).unwrap();
    let last = case.folder.path().join("last");
    fs::rename(moved.root(), &last).unwrap();
    symlink(&last, moved.root()).unwrap();
    let last = Project::at(&last).unwrap();
    let adopted = adopt_data(&last, &last.dir().join("data"), &state).unwrap();
    assert_eq!(adopted, Adopted::Registered);
    assert_eq!(project_id(&last, &state).unwrap(), moved_id);
}

#[test]
fn a_data_folder_with_nothing_but_its_lock_is_new() {
    let case = Case::untrusted("");
    let project = case.project();
    let (data, state) = (project.dir().join("data"), case.state());
    fs::create_dir_all(&data).unwrap();
    fs::write(data.join("lock"), "4711\n").unwrap();
    check_data(&project, &data, &state).unwrap();
    let id = claim_data(&project, &data, &state).unwrap();
    assert_eq!(project_id(&project, &state).unwrap(), Some(id));
}

#[test]
fn an_id_that_was_changed_is_told_and_one_that_is_damaged_is_restored() {
    let case = Case::untrusted("");
    let project = case.project();
    let (data, state) = (project.dir().join("data"), case.state());
    let id = claim_data(&project, &data, &state).unwrap();
    Approvals::new(&project, &state).allow(&[("a", b"b")]).unwrap();
    let changed = format!("{}\n", id.replace(|it| it != '0', "0"));
    for (text, is_restored) in [(format!("g{}\n", &id[1..]), true), (changed, false)] {
        fs::write(data.join("project-id"), text).unwrap();
        for refused in
            [claim_data(&project, &data, &state).map(drop), check_data(&project, &data, &state)]
        {
            let refused = refused.unwrap_err().to_string();
            assert!(refused.contains("registered with another id than the one in"), "{refused}");
        }
        assert_eq!(adopt_data(&project, &data, &state).unwrap(), Adopted::Registered);
        assert_eq!(claim_data(&project, &data, &state).unwrap() == id, is_restored);
        assert_eq!(Approvals::new(&project, &state).list().unwrap().is_empty(), !is_restored);
    }
}

#[test]
fn a_data_folder_outside_the_project_belongs_to_one_project() {
    let case = Case::untrusted("");
    let (project, state) = (case.project(), case.state());
    let outside = tempfile::tempdir().unwrap();
    let data = outside.path().join("store");
    let id = claim_data(&project, &data, &state).unwrap();
    assert_eq!(claim_data(&project, &data, &state).unwrap(), id);
    fs::write(data.join("log"), "x").unwrap();
    let other = Case::untrusted("");
    let refused = claim_data(&other.project(), &data, &other.state()).unwrap_err();
    assert!(matches!(refused, Error::Unregistered { .. }), "{refused:?}");
}

#[test]
fn nothing_is_written_through_a_link_in_place_of_the_data_folder() {
    let case = Case::untrusted("");
    let (project, state) = (case.project(), case.state());
    let outside = tempfile::tempdir().unwrap();
    let data = project.dir().join("data");
    for target in [outside.path().to_owned(), outside.path().join("none")] {
        symlink(&target, &data).unwrap();
        for refused in [
            claim_data(&project, &data, &state).map(drop),
            adopt_data(&project, &data, &state).map(drop),
            check_data(&project, &data, &state),
            Approvals::new(&project, &state).allow(&[("a", b"b")]),
        ] {
            let refused = refused.unwrap_err();
            assert!(matches!(refused, Error::Exposed { .. }), "{refused:?}");
            assert!(refused.to_string().contains("is a symbolic link"), "{refused}");
        }
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
        fs::remove_file(&data).unwrap();
    }
    // The same applies to one that a setting names.
    let named = outside.path().join("named");
    symlink(outside.path(), &named).unwrap();
    assert!(claim_data(&project, &named, &state).is_err());
    assert!(!data.exists() && !outside.path().join("project-id").exists());
}

#[test]
fn an_approval_of_an_earlier_release_is_valid_and_known_as_one() {
    let (folder, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (project, state) = (Project::at(folder.path()).unwrap(), home.path().join("state"));
    let approvals = Approvals::new(&project, &state);
    let hash = sha256(b"flows: []");
    approvals.allow(&[("a.yaml", b"flows: []")]).unwrap();
    assert!(approvals.has("a.yaml", &hash).unwrap() && approvals.knows_plain(&hash));
    // Earlier releases did not write this.
    fs::remove_dir_all(state.join("approvals/plain")).unwrap();
    assert!(approvals.has("a.yaml", &hash).unwrap() && !approvals.knows_plain(&hash));
}

#[test]
fn a_misspelt_variable_is_warned_about() {
    let case = Case::untrusted("")
        .variable("WAYPOST_LISTN", "127.0.0.1:1")
        .variable("WAYPOST_RUN_ID", "x.1")
        .variable("WAYPOST_EVENT_ID", "1")
        .variable("WAYPOST_TOKEN", "t")
        .variable("WAYPOST_EVENT_DATA_key", "v")
        .variable("WAYPOST_DATA_DRI", "store")
        .variable("WAYPOST_LOG_LEVEL", "info");
    let settings = case.resolve().unwrap();
    let [folder, listen] = settings.warnings() else { panic!("{:?}", settings.warnings()) };
    assert!(
        folder.contains("WAYPOST_DATA_DRI") && folder.contains("WAYPOST_DATA_DIR?"),
        "{folder}"
    );
    assert!(listen.contains("WAYPOST_LISTN") && listen.contains("WAYPOST_LISTEN?"), "{listen}");
}

#[test]
fn days_are_a_unit_of_time() {
    let case = Case::new("events:\n  keep_time: 30d\n");
    let kept = case.resolve().unwrap().events.keep_time.unwrap();
    assert_eq!(kept.as_secs(), 30 * 86_400);
}
