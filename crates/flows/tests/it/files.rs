use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use waypost_flows::{ApprovalError, Approvals, ContentHash, Loaded, Loader, Problem};

use crate::world::{file, flow};

/// Approved contents by file name, the last one last.
#[derive(Debug, Clone, Default)]
struct Approved(Arc<Mutex<BTreeMap<String, Vec<Vec<u8>>>>>);

impl Approvals for Approved {
    fn has(&self, file: &str, hash: &ContentHash) -> io::Result<bool> {
        let all = self.0.lock().unwrap();
        let mut contents = all.get(file).into_iter().flatten();
        Ok(contents.any(|content| ContentHash::of_bytes(content) == *hash))
    }

    fn last(&self, file: &str) -> io::Result<Option<Vec<u8>>> {
        Ok(self.0.lock().unwrap().get(file).and_then(|it| it.last().cloned()))
    }

    fn allow(&self, contents: &[(&str, &[u8])]) -> io::Result<()> {
        let mut all = self.0.lock().unwrap();
        for (file, content) in contents {
            all.entry((*file).to_owned()).or_default().push(content.to_vec());
        }
        Ok(())
    }
}

/// A project's folder of flows, with approvals.
struct Project {
    root: tempfile::TempDir,
    approved: Approved,
}

impl Project {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let project = Self { root, approved: Approved::default() };
        fs::create_dir_all(project.flows()).unwrap();
        project
    }

    fn folder(&self) -> PathBuf {
        self.root.path().join("project")
    }

    fn flows(&self) -> PathBuf {
        self.root.path().join("project/.waypost/flows")
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.flows().join(name), text).unwrap();
    }

    fn loader(&self) -> Loader {
        Loader::new(&self.folder(), &self.flows(), Some(Box::new(self.approved.clone())))
    }

    fn trusting(&self) -> Loader {
        Loader::new(&self.folder(), &self.flows(), None)
    }

    /// What is wrong with the only flow file when it has this text.
    fn problem_of(&self, text: &str) -> Option<String> {
        self.write("a.yaml", text);
        let mut loader = self.trusting();
        loader.load();
        loader.status()[0].problem.as_ref().map(ToString::to_string)
    }

    /// Approves everything as it is.
    fn allow_all(&self) {
        for (_, parts) in self.loader().approvable(None) {
            for part in parts.unwrap() {
                self.approved.allow(&[(&part.file, &part.content)]).unwrap();
            }
        }
    }
}

fn one(name: &str) -> String {
    file(&[flow(name, "a:x", 1, "")])
}

/// The names of the flows in force, if they have changed.
fn names(loaded: &Loaded) -> Option<Vec<String>> {
    loaded.flows.as_ref().map(|flow| flow.iter().map(|it| it.flow.name.to_string()).collect())
}

fn said(loaded: &Loaded) -> Vec<String> {
    let text = |it: &waypost_flows::Notice, key| it.data.get(key).unwrap().to_string();
    loaded
        .notices
        .iter()
        .map(|notice| format!("{} {}", notice.kind, text(notice, "file")))
        .collect()
}

#[test]
fn no_file_is_in_force_until_its_current_content_is_approved() {
    let project = Project::new();
    project.write("self-driving.yaml", &one("first"));
    let mut loader = project.loader();
    let loaded = loader.load();
    assert_eq!(names(&loaded).unwrap(), Vec::<String>::new(), "not even at the first start");
    assert_eq!(said(&loaded), ["flow:approval-needed self-driving.yaml"]);
    let why = loader.status()[0].problem.as_ref().unwrap().to_string();
    assert_eq!(why, "pending approval of .waypost/flows/self-driving.yaml");
    let hash = ContentHash::of(&one("first"));
    let none = BTreeMap::new();
    loader.allow("self-driving.yaml", hash.as_str(), &none).unwrap();
    assert_eq!(names(&loader.load()).unwrap(), ["first"]);

    // As after a `git pull`: one changed, and a new one.
    project.write("self-driving.yaml", &one("changed"));
    project.write("new.yaml", &one("new"));
    let loaded = loader.load();
    assert_eq!(names(&loaded).unwrap(), Vec::<String>::new(), "the old content is not used");
    let wanted = ["flow:approval-needed new.yaml", "flow:approval-needed self-driving.yaml"];
    assert_eq!(said(&loaded), wanted);
    assert!(loader.status().iter().all(|it| it.in_force.is_none()));
    assert!(said(&loader.load()).is_empty(), "it is said once");
    assert_eq!(names(&project.loader().load()).unwrap(), Vec::<String>::new());

    let parts = loader.compare("self-driving.yaml").unwrap();
    let [(before, now)] = &parts[..] else { panic!("{parts:?}") };
    assert_eq!(before, one("first").as_bytes());
    assert_eq!(now.content.as_ref(), one("changed").as_bytes());
    let other = loader.allow("self-driving.yaml", ContentHash::of("another").as_str(), &none);
    assert!(matches!(other, Err(ApprovalError::Changed(_))));
    loader.allow("self-driving.yaml", now.hash.as_str(), &none).unwrap();
    assert_eq!(names(&loader.load()).unwrap(), ["changed"]);
    assert_eq!(names(&project.loader().load()).unwrap(), ["changed"]);
    for name in ["none.yaml", "../x.yaml"] {
        let refused = loader.allow(name, now.hash.as_str(), &none);
        assert!(matches!(refused, Err(ApprovalError::File { .. })), "{name}");
    }
    // An invalid edit does not leave the approved content in force either.
    project.write("self-driving.yaml", "flows: [");
    assert_eq!(names(&loader.load()).unwrap(), Vec::<String>::new());
}

fn runs(command: &str) -> String {
    format!(
        "flows:\n  - {{ name: acts, trigger: {{ pattern: \"a:x\" }}, actions: [{{ type: command, command: \"{command}\" }}] }}\n"
    )
}

#[test]
fn a_program_is_approved_with_its_flow_and_a_changed_program_revokes_the_approval() {
    let project = Project::new();
    let tools = project.folder().join("tools");
    fs::create_dir_all(&tools).unwrap();
    fs::write(tools.join("run.sh"), "echo one\n").unwrap();
    fs::write(project.folder().join("README.md"), "read me\n").unwrap();
    project.write("a.yaml", &runs("sh -e tools/run.sh && gh pr merge"));
    project.write("b.yaml", &file(&[flow("plain", "a:x", 1, "")]));
    let mut loader = project.loader();
    let parts = loader.compare("a.yaml").unwrap();
    let files: Vec<&str> = parts.iter().map(|(_, it)| it.file.as_str()).collect();
    assert_eq!(files, [".waypost/flows/a.yaml", "tools/run.sh"]);
    assert_eq!(parts[1].1.named_by.iter().collect::<Vec<_>>(), ["acts"]);
    let (flow, program) = (parts[0].1.hash.to_string(), parts[1].1.hash.to_string());
    let alone = loader.allow("a.yaml", &flow, &BTreeMap::new());
    assert!(matches!(alone, Err(ApprovalError::Program { .. })), "{alone:?}");
    let programs = BTreeMap::from([("tools/run.sh".to_owned(), program)]);
    loader.allow("a.yaml", &flow, &programs).unwrap();
    project.allow_all();
    let loaded = loader.load();
    assert_eq!(names(&loaded).unwrap(), ["acts", "plain"]);
    let set = loaded.flows.unwrap();
    let entry = set.get(&"acts".parse().unwrap()).unwrap();
    loader.check_programs(&entry.flow, &entry.flow.actions[0]).unwrap();
    assert!(!loader.has_changed());

    fs::write(tools.join("run.sh"), "echo two\n").unwrap();
    assert!(loader.has_changed());
    let refused = loader.check_programs(&entry.flow, &entry.flow.actions[0]).unwrap_err();
    assert!(matches!(refused, Problem::Unapproved(_)), "{refused}");
    let loaded = loader.load();
    assert_eq!(names(&loaded).unwrap(), ["plain"], "only what names it waits");
    assert_eq!(said(&loaded), ["flow:approval-needed a.yaml"]);
    let why = loader.status()[0].problem.as_ref().unwrap().to_string();
    assert!(why.contains("tools/run.sh") && !why.contains("a.yaml"), "{why}");
    project.allow_all();
    assert_eq!(names(&loader.load()).unwrap(), ["acts", "plain"]);

    // A program that others can write to is not trusted.
    fs::set_permissions(tools.join("run.sh"), fs::Permissions::from_mode(0o666)).unwrap();
    assert_eq!(names(&loader.load()).unwrap(), ["plain"]);
    assert!(matches!(loader.status()[0].problem, Some(Problem::Untrusted(_))));
}

#[test]
fn programs_that_a_command_names_literally_are_found() {
    let project = Project::new();
    fs::create_dir_all(project.folder().join("tools")).unwrap();
    fs::create_dir_all(project.folder().join("a/b")).unwrap();
    for (name, text) in [
        ("a/b/z", "#!/bin/sh\n"),
        ("tools/x", "#!/bin/sh\n"),
        ("tools/my x", "#!/bin/sh\n"),
        ("tools/tool.py", "pass\n"),
        ("tools/y.txt", "text\n"),
        ("Makefile", "all:\n"),
    ] {
        fs::write(project.folder().join(name), text).unwrap();
    }
    let command = |text: &str| serde_json::json!({ "type": "command", "command": text });
    for text in [
        "tools/x",
        "./tools/../tools/x",
        "sh tools/x",
        "cd tools && ./x",
        "cd tools; cd ..; ./tools/x",
        "make -C tools x",
        "sh -c 'exec tools/x'",
        "A=b tools/x",
        "TOOL=./tools/x; $TOOL",
        "timeout 3 tools/x | cat",
        "sh < tools/x",
        "echo $(tools/x)",
        "echo `tools/x`",
        "xargs tools/x",
        "tool --run=tools/x",
        "tool none:tools/x,y",
        "cat <<E | sh\ntools/x\nE",
        "too\\\nls/x",
        "echo '--> tools/x' && sh tools/x",
        "echo --\\> tools/x; sh tools/x",
        "# build -> tools/x\nsh tools/x",
        "ssh host \"$(tools/x)\"",
        "[[ -f .env ]] && tools/x {{data.v}}",
    ] {
        assert_eq!(programs_of(&project, &command(text), "{}"), ["tools/x"], "{text}");
    }
    assert_eq!(programs_of(&project, &command("'tools/my x' a"), "{}"), ["tools/my x"]);
    assert_eq!(programs_of(&project, &command("cd a && cd b && ./z"), "{}"), ["a/b/z"]);
    for action in [
        serde_json::json!({ "type": "exec", "exec": ["sh", "-c", "tools/x"] }),
        serde_json::json!({ "type": "exec", "exec": ["./x"], "cwd": "tools" }),
        serde_json::json!({ "type": "exec", "exec": ["tool"], "env": { "HOOK": "tools/x a" } }),
    ] {
        assert_eq!(programs_of(&project, &action, "{}"), ["tools/x"], "{action}");
    }
    let action = command("python3 tools/tool.py tools/y.txt && make -f Makefile");
    assert_eq!(programs_of(&project, &action, "{}"), ["tools/tool.py"]);
    let parts = project.loader().compare("a.yaml").unwrap();
    let others: Vec<&str> = parts[0].1.not_covered.iter().map(String::as_str).collect();
    assert_eq!(others, ["Makefile", "tools/y.txt"]);
    assert_eq!(programs_of(&project, &command("/bin/true && gh pr list"), "{}"), [""; 0]);
}

#[test]
fn an_approval_covers_the_files_that_a_flow_lists() {
    let project = Project::new();
    fs::write(project.folder().join("Makefile"), "one:\n").unwrap();
    let text = runs("make -f Makefile").replace("actions:", "files: [Makefile], actions:");
    project.write("a.yaml", &text);
    let parts = project.loader().compare("a.yaml").unwrap();
    assert_eq!(parts[1].1.file, "Makefile");
    assert!(parts[0].1.not_covered.is_empty());
    project.allow_all();
    let mut loader = project.loader();
    let set = loader.load().flows.unwrap();
    let entry = set.get(&"acts".parse().unwrap()).unwrap();
    loader.check_programs(&entry.flow, &entry.flow.actions[0]).unwrap();
    fs::write(project.folder().join("Makefile"), "two:\n").unwrap();
    assert!(loader.has_changed());
    let refused = loader.check_programs(&entry.flow, &entry.flow.actions[0]).unwrap_err();
    assert!(matches!(refused, Problem::Unapproved(_)), "{refused}");
    assert_eq!(names(&loader.load()).unwrap(), [""; 0]);
    fs::remove_file(project.folder().join("Makefile")).unwrap();
    loader.load();
    let problem = loader.status()[0].problem.as_ref().unwrap().to_string();
    assert_eq!(problem, "Makefile, which files: lists, not found");
    for listed in ["../x", "/etc/passwd", ""] {
        let text = text.replace("[Makefile]", &format!("[\"{listed}\"]"));
        let problem = project.problem_of(&text).unwrap();
        assert!(problem.contains("is not in the project"), "{problem}");
    }
}

#[test]
fn a_folder_of_flows_that_is_elsewhere_is_not_read() {
    let project = Project::new();
    project.write("a.yaml", &one("one"));
    project.allow_all();
    assert_eq!(names(&project.loader().load()).unwrap(), ["one"]);
    let moved = |to: &str| {
        let to = project.root.path().join(to);
        let at = fs::canonicalize(project.flows()).unwrap();
        fs::rename(at, &to).unwrap();
        fs::remove_file(project.flows()).ok();
        symlink(&to, project.flows()).unwrap();
    };
    // Within the project it is what a checkout shows.
    moved("project/flows");
    assert_eq!(names(&project.loader().load()).unwrap(), ["one"]);
    moved("elsewhere");
    for mut loader in [project.loader(), project.trusting()] {
        assert_eq!(names(&loader.load()).unwrap(), Vec::<String>::new());
        let status = &loader.status()[0];
        assert!(matches!(status.problem, Some(Problem::Untrusted(_))), "{status:?}");
        let problem = status.problem.as_ref().unwrap().to_string();
        assert!(
            problem.starts_with(".waypost/flows is a symbolic link that leads out"),
            "{problem}"
        );
        assert!(loader.compare("a.yaml").is_err());
    }
}

#[test]
fn a_folder_of_flows_that_cannot_be_read_is_reported() {
    let project = Project::new();
    fs::remove_dir(project.flows()).unwrap();
    let mut loader = project.loader();
    assert!(loader.load().notices.is_empty() && loader.status().is_empty(), "there need be none");
    let mut problem = || {
        let notices = loader.load().notices;
        assert_eq!(said(&Loaded { notices, ..Loaded::default() }), ["flow:invalid .waypost/flows"]);
        let status = &loader.status()[0];
        (status.name.clone(), status.problem.as_ref().unwrap().to_string())
    };
    fs::write(project.flows(), "").unwrap();
    let (name, why) = problem();
    assert_eq!(name, ".waypost/flows");
    assert_eq!(why, ".waypost/flows is not a folder; replace it with a folder");
    fs::remove_file(project.flows()).unwrap();
    symlink("nowhere", project.flows()).unwrap();
    assert!(problem().1.starts_with(".waypost/flows cannot be read: No such file"));
    let (file, parts) = project.loader().approvable(None).remove(0);
    assert_eq!(file, ".waypost/flows");
    assert!(parts.is_err());
}

#[test]
fn a_flow_file_whose_name_is_not_utf_8_is_told() {
    let project = Project::new();
    let name = std::ffi::OsStr::from_bytes(b"b\xff.yaml");
    fs::write(project.flows().join(name), runs("true")).unwrap();
    project.write("a.yaml", &runs("true"));
    let mut loader = project.trusting();
    let notices = loader.load().notices;
    assert_eq!(notices.len(), 1);
    let [good, bad] = loader.status() else { unreachable!("{:?}", loader.status()) };
    assert!(good.in_force.is_some() && bad.in_force.is_none());
    assert_eq!(bad.name, "b\u{fffd}.yaml");
    let problem = bad.problem.as_ref().unwrap().to_string();
    assert!(problem.contains("not UTF-8; rename it"), "{problem}");
}

/// The programs of a flow with one action, given as JSON, and the types of its values.
fn programs_of(project: &Project, action: &serde_json::Value, types: &str) -> Vec<String> {
    let text = format!(
        "flows:\n  - {{ name: acts, trigger: {{ pattern: \"a:x\", data: {types} }}, actions: [{action}] }}\n"
    );
    project.write("a.yaml", &text);
    let parts =
        project.loader().compare("a.yaml").unwrap_or_else(|error| panic!("{text}: {error}"));
    parts.into_iter().skip(1).map(|(_, it)| it.file).collect()
}

#[test]
fn a_link_that_leads_elsewhere_in_the_project_shows_other_programs() {
    let run = |command: &str| serde_json::json!({ "type": "command", "command": command });
    for action in [
        run("cd build && ../run.sh"),
        run("./build/../run.sh"),
        run("sh build/../run.sh"),
        serde_json::json!({ "type": "command", "command": "../run.sh", "cwd": "build" }),
    ] {
        let project = Project::new();
        let folder = project.folder();
        for name in ["build", "evil/y"] {
            fs::create_dir_all(folder.join(name)).unwrap();
        }
        fs::write(folder.join("run.sh"), "echo good\n").unwrap();
        fs::write(folder.join("evil/run.sh"), "echo evil\n").unwrap();
        assert_eq!(programs_of(&project, &action, "{}"), ["run.sh"], "{action}");
        project.allow_all();
        let mut loader = project.loader();
        let set = loader.load().flows.unwrap();
        let entry = set.get(&"acts".parse().unwrap()).unwrap();
        loader.check_programs(&entry.flow, &entry.flow.actions[0]).unwrap();
        fs::remove_dir(folder.join("build")).unwrap();
        symlink("evil/y", folder.join("build")).unwrap();
        let refused = loader.check_programs(&entry.flow, &entry.flow.actions[0]).unwrap_err();
        assert!(refused.to_string().contains("evil/run.sh"), "{action}: {refused}");
        assert_eq!(names(&loader.load()).unwrap(), Vec::<String>::new(), "{action}");
    }
}

#[test]
fn a_text_that_is_nested_too_deeply_is_refused() {
    let project = Project::new();
    let problem = |text: &str| project.problem_of(text).unwrap();
    for open in ["[", "{a: ", "[ # ]\n", "{a: \"}\", b: "] {
        let told = problem(&open.repeat(60_000));
        assert!(told.contains("more than 1000 [ and {"), "{open}: {told}");
    }
    let told = problem(&"%TAG !e! tag:x,1:\n".repeat(101));
    assert!(told.starts_with("101:1: more than 100 lines begin with %"), "{told}");
}

#[test]
fn commands_with_too_many_words_and_folders_are_refused_together() {
    let project = Project::new();
    let words: Vec<String> = (0..130).map(|number| format!("d{number}")).collect();
    for it in &words {
        fs::create_dir(project.folder().join(it)).unwrap();
    }
    let words = words.join(" ");
    for number in 0..5 {
        let flow = runs(&words).replace("acts", &format!("f{number}"));
        project.write(&format!("{number}.yaml"), &flow);
    }
    let mut loader = project.trusting();
    loader.load();
    assert!(loader.status().iter().all(|it| it.problem.is_none()), "{:?}", loader.status());
    project.write("5.yaml", &runs(&words));
    loader.load();
    let problem = loader.status()[5].problem.as_ref().unwrap().to_string();
    let wanted = "the flow acts and those before it, in all files, have more than 100000 pairs";
    assert!(problem.starts_with(wanted), "{problem}");
    assert!(loader.approvable(None)[5].1.is_err());
}

#[test]
fn a_link_out_of_the_project_is_approved_by_its_target() {
    let run = |command: &str| serde_json::json!({ "type": "command", "command": command });
    for action in [
        run("cd lab && ./x.sh"),
        run("./lab/x.sh"),
        run("sh lab/x.sh {{data.v}}"),
        run("cd link && ./x.sh"),
        serde_json::json!({ "type": "command", "command": "./x.sh", "cwd": "lab" }),
        serde_json::json!({ "type": "exec", "exec": ["./x.sh"], "cwd": "link" }),
    ] {
        let project = Project::new();
        let (folder, outside) = (project.folder(), project.root.path().join("outside"));
        for at in [folder.join("lab"), outside.clone()] {
            fs::create_dir_all(&at).unwrap();
            fs::write(at.join("x.sh"), "#!/bin/sh\n").unwrap();
        }
        symlink("lab", folder.join("link")).unwrap();
        assert_eq!(programs_of(&project, &action, "{}"), ["lab/x.sh"], "{action}");
        project.allow_all();
        let mut loader = project.loader();
        let set = loader.load().flows.unwrap();
        let entry = set.get(&"acts".parse().unwrap()).unwrap();
        loader.check_programs(&entry.flow, &entry.flow.actions[0]).unwrap();

        fs::rename(folder.join("lab"), folder.join("lab0")).unwrap();
        symlink(&outside, folder.join("lab")).unwrap();
        let refused = loader.check_programs(&entry.flow, &entry.flow.actions[0]).unwrap_err();
        assert!(matches!(refused, Problem::Unapproved(_)), "{action}: {refused}");
        assert!(loader.has_changed(), "{action}");
        assert_eq!(names(&loader.load()).unwrap(), [""; 0], "{action}");
        let parts = loader.compare("a.yaml").unwrap();
        let target = outside.canonicalize().unwrap().join("x.sh");
        let wanted = format!("a link to {}\n", target.display());
        assert_eq!(parts[1].1.content.as_ref(), wanted.as_bytes(), "{action}");

        fs::remove_file(folder.join("lab")).unwrap();
        fs::rename(folder.join("lab0"), folder.join("lab")).unwrap();
        assert!(loader.has_changed(), "{action}");
        assert_eq!(names(&loader.load()).unwrap(), ["acts"], "{action}");
    }
}

#[test]
fn a_path_that_leaves_the_project_without_a_link_is_the_machine_s() {
    let project = Project::new();
    let outside = project.root.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("x.sh"), "#!/bin/sh\n").unwrap();
    symlink("x.sh", outside.join("link.sh")).unwrap();
    for command in [format!("cd {} && ./link.sh", outside.display()), "../outside/x.sh".to_owned()]
    {
        let action = serde_json::json!({ "type": "command", "command": command });
        assert_eq!(programs_of(&project, &action, "{}"), Vec::<String>::new(), "{command}");
    }
}

#[test]
fn a_remedy_is_noticed_and_so_is_a_program_that_was_missing() {
    let project = Project::new();
    let (tools, other) = (project.folder().join("tools"), project.folder().join("other"));
    fs::create_dir(&tools).unwrap();
    let program = tools.join("x.sh");
    fs::write(&program, "echo one\n").unwrap();
    project.write("a.yaml", &runs("sh tools/x.sh"));
    project.allow_all();
    let mut loader = project.loader();
    let in_force = |loader: &mut Loader, wanted: bool| {
        assert!(loader.has_changed());
        loader.load();
        let status = &loader.status()[0];
        assert_eq!(status.in_force.is_some(), wanted, "{:?}", status.problem);
        assert!(!loader.has_changed());
    };
    loader.load();
    assert!(!loader.has_changed());
    let chmod = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    for path in [&program, &tools, &project.folder().join(".waypost"), &project.folder()] {
        chmod(path, 0o777);
        in_force(&mut loader, false);
        chmod(path, 0o755);
        in_force(&mut loader, true);
    }
    // The clock of a file system may be coarse.
    let age = |path: &Path| {
        fs::File::open(path).unwrap().set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    };
    // A flow without its program is as it was approved; the shell reports what is missing.
    fs::rename(&tools, &other).unwrap();
    age(&project.folder());
    in_force(&mut loader, true);
    fs::rename(&other, &tools).unwrap();
    in_force(&mut loader, true);
    fs::write(&program, "echo two\n").unwrap();
    in_force(&mut loader, false);
    fs::write(&program, "echo one\n").unwrap();
    in_force(&mut loader, true);
    // A link to a file that is in the project only later.
    fs::rename(&program, &other).unwrap();
    symlink("../away/x.sh", &program).unwrap();
    in_force(&mut loader, true);
    fs::create_dir(project.folder().join("away")).unwrap();
    fs::write(project.folder().join("away/x.sh"), "echo evil\n").unwrap();
    in_force(&mut loader, false);
}

#[test]
fn the_flows_of_a_file_without_approval_are_named() {
    let project = Project::new();
    let unapproved = |loader: &mut Loader| -> Vec<String> {
        loader.load().unapproved.iter().map(ToString::to_string).collect()
    };
    project.write("a.yaml", &one("a"));
    project.write("b.yaml", &one("b"));
    let mut loader = project.loader();
    assert_eq!(unapproved(&mut loader), ["a", "b"]);
    project.allow_all();
    assert_eq!(unapproved(&mut loader), Vec::<String>::new());
    // The flow that the approved content had, and the one that the new content has.
    project.write("a.yaml", &one("c"));
    assert_eq!(unapproved(&mut loader), ["a", "c"]);
    // A file that is invalid or missing was not changed by a person who has to approve it.
    project.write("b.yaml", "flows: [");
    fs::remove_file(project.flows().join("a.yaml")).unwrap();
    assert_eq!(unapproved(&mut loader), Vec::<String>::new());
    project.write("b.yaml", &one("b"));
    project.write("c.yaml", &one("b"));
    assert_eq!(unapproved(&mut loader), Vec::<String>::new(), "an approved file has it");
}

/// Approvals that cannot be read.
#[derive(Debug)]
struct Unreadable;

impl Approvals for Unreadable {
    fn has(&self, _: &str, _: &ContentHash) -> io::Result<bool> {
        let cause = io::Error::other("too many open files");
        Err(io::Error::other(ApprovalError::Approvals(cause)))
    }

    fn last(&self, _: &str) -> io::Result<Option<Vec<u8>>> {
        Ok(None)
    }

    fn allow(&self, _: &[(&str, &[u8])]) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_approval_that_cannot_be_read_is_reported_with_its_cause() {
    let project = Project::new();
    project.write("a.yaml", &one("a"));
    let mut loader = Loader::new(&project.folder(), &project.flows(), Some(Box::new(Unreadable)));
    loader.load();
    let problem = loader.status()[0].problem.as_ref().unwrap().to_string();
    assert_eq!(
        problem,
        "failed to check its approval: failed to read the approvals: too many open files"
    );
}

#[test]
fn a_broken_file_leaves_the_last_good_one_in_force() {
    let project = Project::new();
    project.write("a.yaml", &one("a"));
    project.write("b.yaml", &one("b"));
    let mut loader = project.trusting();
    loader.load();
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
        let loaded = loader.load();
        let text = String::from_utf8_lossy(text);
        assert_eq!(names(&loaded), None, "{text:.100}");
        assert_eq!(said(&loaded), ["flow:invalid a.yaml"], "{text:.100}");
        assert!(loader.status()[0].problem.is_some());
        assert_eq!(loader.status()[0].in_force, Some(ContentHash::of(&one("a"))));
    }
    project.write("a.yaml", &one("mended"));
    assert_eq!(names(&loader.load()).unwrap(), ["mended", "b"]);
    fs::remove_file(project.flows().join("a.yaml")).unwrap();
    assert_eq!(names(&loader.load()).unwrap(), ["b"]);
    fs::remove_dir_all(project.flows()).unwrap();
    assert_eq!(names(&loader.load()).unwrap(), Vec::<String>::new());
}

#[test]
fn the_place_of_an_error_is_told() {
    let project = Project::new();
    project.write("a.yaml", "flows:\n  - name: a\n    triger: {}\n");
    let mut loader = project.trusting();
    let loaded = loader.load();
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
    assert_eq!(names(&loader.load()).unwrap(), ["a"]);
    let problem = loader.status()[1].problem.as_ref().unwrap().to_string();
    assert_eq!(problem, "the flow a is also in a.yaml");
}

#[test]
fn what_others_could_have_written_is_not_read() {
    let project = Project::new();
    let path = project.flows().join("a.yaml");
    project.write("a.yaml", &one("a"));
    let outside = project.root.path().join("outside.yaml");
    fs::write(&outside, one("outside")).unwrap();
    let mut loader = project.trusting();
    loader.load();
    let problem = |loader: &mut Loader, said: &str| {
        loader.load();
        assert_eq!(loader.status()[0].in_force, None, "the earlier content is not used");
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
    let flows = project.flows().canonicalize().unwrap();
    let fix = |what: &str, path: &Path| {
        format!("{what} is writable by others; fix it with: chmod go-w {}", path.display())
    };
    problem(&mut loader, &fix("a.yaml", &flows.join("a.yaml")));
    chmod(&path, 0o600);
    chmod(&project.flows(), 0o777);
    problem(&mut loader, &fix("a folder above a.yaml", &flows));
    chmod(&project.flows(), 0o700);
    // The command is one that a shell reads as it is meant.
    let odd = project.flows().join("it's; odd\u{1b}.yaml");
    fs::write(&odd, one("odd")).unwrap();
    chmod(&odd, 0o666);
    loader.load();
    let problem_of_odd = loader.status()[1].problem.as_ref().unwrap().to_string();
    let word = format!(r"'{}/it'\''s; odd\u{{1b}}.yaml'", flows.display());
    assert!(problem_of_odd.ends_with(&format!("chmod go-w {word}")), "{problem_of_odd}");
    fs::remove_file(&odd).unwrap();
    // Only root can change a file's owner.
    if std::os::unix::fs::chown(&path, Some(12_345), None).is_ok() {
        problem(&mut loader, "a.yaml belongs to user 12345");
    }
    fs::remove_file(&path).unwrap();
    symlink(&outside, &path).unwrap();
    problem(&mut loader, "a link that leads out");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(names(&loader.load()), None);
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
            loader.load();
            assert_eq!((loader.status().len(), &loader.status()[0].problem), (1, &None));
            assert_eq!(loader.flows_of("a.yaml").count(), 1);
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn a_change_is_noticed() {
    let project = Project::new();
    let mut loader = project.trusting();
    let mut reloads = || {
        let has_changed = loader.has_changed();
        loader.load();
        has_changed
    };
    reloads();
    assert!(!reloads(), "reading is no change");
    project.write("a.yaml", &one("a"));
    assert!(reloads());
    project.write("a.yaml", &one("other"));
    assert!(reloads());
    fs::remove_dir_all(project.flows()).unwrap();
    assert!(reloads());
    assert!(!reloads());
    fs::create_dir_all(project.flows()).unwrap();
    assert!(reloads());
    project.write("b.yaml", &one("b"));
    assert!(reloads());
    fs::remove_file(project.flows().join("b.yaml")).unwrap();
    assert!(reloads());
    assert!(!reloads());
}

/// Creates a FIFO, if the machine has the program for it.
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
        let flows = names(&loader.load());
        told.send((flows, loader.status().to_vec())).unwrap();
    });
    let limit = std::time::Duration::from_secs(20);
    let (flows, status) = loaded.recv_timeout(limit).expect("reading the folder does not block");
    assert_eq!(flows.unwrap(), ["good"]);
    let problem = |name: &str| {
        let found = status.iter().find(|status| status.name == name).unwrap();
        found.problem.as_ref().unwrap().to_string()
    };
    assert!(problem("fifo.yaml").starts_with("fifo.yaml is a FIFO, not a regular file"));
    assert!(problem("linked.yaml").starts_with("linked.yaml is a FIFO"));
    assert!(problem("socket.yaml").starts_with("socket.yaml is a socket"));
    assert!(problem("folder.yaml").starts_with("folder.yaml is a folder"));
    assert!(problem("device.yaml").contains("a link that leads out"));
    drop(listener);
}
