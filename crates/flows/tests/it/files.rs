use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use waypost_flows::{ApprovalError, Approvals, ContentHash, Loaded, Loader, Problem, Watch};

use crate::world::{file, flow};

/// Approved contents by file name, the last one last.
#[derive(Debug, Clone, Default)]
struct Approved(Arc<Mutex<BTreeMap<String, Vec<Vec<u8>>>>>);

impl Approvals for Approved {
    fn has(&self, file: &str, hash: &ContentHash) -> io::Result<bool> {
        let all = self.0.lock().unwrap();
        let mut contents = all.get(file).into_iter().flatten();
        Ok(contents.any(|it| ContentHash::of_bytes(it) == *hash))
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
            .with_environment([("HOME".to_owned(), self.root.path().display().to_string())])
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
    loaded.flows.as_ref().map(|it| it.iter().map(|it| it.flow.name.to_string()).collect())
}

fn said(loaded: &Loaded) -> Vec<String> {
    let text = |it: &waypost_flows::Notice, key| it.data.get(key).unwrap().to_string();
    loaded.notices.iter().map(|it| format!("{} {}", it.kind, text(it, "file"))).collect()
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
    assert!(!loader.programs_changed());

    fs::write(tools.join("run.sh"), "echo two\n").unwrap();
    assert!(loader.programs_changed());
    let refused = loader.check_programs(&entry.flow, &entry.flow.actions[0]).unwrap_err();
    assert!(matches!(refused, Problem::Unapproved(_)), "{refused}");
    let loaded = loader.load();
    assert_eq!(names(&loaded).unwrap(), ["plain"], "only what names it waits");
    assert_eq!(said(&loaded), ["flow:approval-needed a.yaml"]);
    let why = loader.status()[0].problem.as_ref().unwrap().to_string();
    assert!(why.contains("tools/run.sh") && !why.contains("a.yaml"), "{why}");
    project.allow_all();
    assert_eq!(names(&loader.load()).unwrap(), ["acts", "plain"]);

    // A program that is replaced by a link, or that others can write to, is not trusted.
    fs::set_permissions(tools.join("run.sh"), fs::Permissions::from_mode(0o666)).unwrap();
    assert_eq!(names(&loader.load()).unwrap(), ["plain"]);
    assert!(matches!(loader.status()[0].problem, Some(Problem::Untrusted(_))));
    let outside = project.root.path().join("outside.sh");
    fs::write(&outside, "echo one\n").unwrap();
    fs::remove_file(tools.join("run.sh")).unwrap();
    symlink(&outside, tools.join("run.sh")).unwrap();
    loader.load();
    let problem = loader.status()[0].problem.as_ref().unwrap().to_string();
    assert!(problem.contains("leads out of the project"), "{problem}");
}

#[test]
fn programs_are_found_however_a_flow_names_them() {
    let project = Project::new();
    let tools = project.folder().join("tools");
    fs::create_dir_all(&tools).unwrap();
    fs::write(tools.join("x"), "#!/bin/sh\n").unwrap();
    fs::write(tools.join("y.txt"), "text\n").unwrap();
    let needs = |command: &str| {
        project.write("a.yaml", &runs(command));
        let parts = project.loader().compare("a.yaml").unwrap();
        parts.into_iter().skip(1).map(|(_, it)| it.file).collect::<Vec<_>>()
    };
    for command in [
        "tools/x",
        "./tools/../tools/x",
        "sh tools/x",
        "cd tools && ./x",
        "sh -c 'exec tools/x'",
        "env A=b tools/x",
        "timeout 3 tools/x | cat",
        "sh < tools/x",
        "$PWD/tools/x",
        "echo $(tools/x)",
        "xargs tools/x",
    ] {
        assert_eq!(needs(command), ["tools/x"], "{command}");
    }
    assert_eq!(needs("cat tools/y.txt"), Vec::<String>::new(), "data is no program");
    assert_eq!(needs("python3 tools/y.txt"), ["tools/y.txt"]);
    assert_eq!(needs("/bin/true && gh pr list"), Vec::<String>::new());
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
fn a_quote_in_a_comment_hides_no_program() {
    let project = Project::new();
    fs::create_dir_all(project.folder().join("tools")).unwrap();
    for name in ["x", "my x"] {
        fs::write(project.folder().join("tools").join(name), "#!/bin/sh\n").unwrap();
    }
    for (command, wanted) in [
        ("# only if score >'0.5`\n./tools/x\n# and never twice, we don't want that", "tools/x"),
        ("# only if score >'0.5'\n./tools/x\n# and never twice, we don't want that", "tools/x"),
        ("# the 3\" rule\n\"./tools/my x\"", "tools/my x"),
        ("cat <<END\nit's\nEND\n'./tools/my x' # it's", "tools/my x"),
    ] {
        let action = serde_json::json!({ "type": "command", "command": command });
        assert_eq!(programs_of(&project, &action, "{}"), [wanted], "{command}");
    }
}

#[test]
fn a_command_that_changes_where_programs_are_found_is_refused() {
    let project = Project::new();
    for (command, name) in [
        ("PATH=bin:$PATH greet", "PATH"),
        ("export PATH=bin:$PATH; greet", "PATH"),
        ("sh -c 'BASH_ENV=x bash y'", "BASH_ENV"),
    ] {
        project.write("a.yaml", &runs(command));
        for mut loader in [project.loader(), project.trusting()] {
            loader.load();
            let status = &loader.status()[0];
            assert_eq!(status.in_force, None, "{command}");
            let problem = status.problem.as_ref().unwrap().to_string();
            let wanted = format!("sets {name}, which changes the programs that it runs");
            assert!(problem.contains(&wanted), "{problem}");
            assert!(problem.contains("name each program by its path"), "{problem}");
        }
    }
}

#[test]
fn an_environment_that_changes_where_programs_are_found_is_refused() {
    let project = Project::new();
    let action = "actions: [{ type: command, command: greet ENV }]";
    let flow = |env: &str| {
        let action = action.replace(" ENV", env);
        format!("flows:\n  - {{ name: acts, trigger: {{ pattern: \"a:x\" }}, {action} }}\n")
    };
    for name in [
        "PATH",
        "ENV",
        "BASH_ENV",
        "LD_PRELOAD",
        "LD_AUDIT",
        "DYLD_INSERT_LIBRARIES",
        "IFS",
        "CDPATH",
        "BUNDLE_GEMFILE",
        "CARGO_BUILD_RUSTC",
        "EDITOR",
        "GIT_CONFIG_COUNT",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_KEY_0",
        "GIT_CONFIG_PARAMETERS",
        "GIT_CONFIG_SYSTEM",
        "GIT_EXEC_PATH",
        "GIT_SSH_COMMAND",
        "JAVA_TOOL_OPTIONS",
        "LESSOPEN",
        "LUA_INIT_5_4",
        "MANPAGER",
        "NODE_OPTIONS",
        "NODE_PATH",
        "OPENSSL_CONF",
        "PERL5OPT",
        "PYTHONHOME",
        "PYTHONPATH",
        "RUBYOPT",
        "RUSTC_WRAPPER",
        "TAR_OPTIONS",
        "WGETRC",
        "_JAVA_OPTIONS",
        "GCONV_PATH",
        "ZDOTDIR",
    ] {
        let of_action = flow(&format!(", env: {{ {name}: bin }}"));
        let of_flow = flow("").replace("actions:", &format!("env: {{ {name}: bin }}, actions:"));
        for text in [of_action, of_flow] {
            project.write("a.yaml", &text);
            for mut loader in [project.loader(), project.trusting()] {
                loader.load();
                let status = &loader.status()[0];
                assert_eq!(status.in_force, None, "{text}");
                let problem = status.problem.as_ref().unwrap().to_string();
                assert!(problem.contains(&format!("env sets {name}, which changes")), "{problem}");
            }
        }
    }
    for harmless in [
        "MY_PATH: bin",
        "RUST_LOG: debug",
        "GIT_AUTHOR_NAME: me",
        "GIT_EDITOR: 'true'",
        "PAGER: cat",
        "PYTHONUNBUFFERED: '1'",
        "NODE_ENV: test",
        "NODE_OPTIONS: --max-old-space-size=4096",
        "CARGO_TERM_COLOR: never",
    ] {
        assert_eq!(project.problem_of(&flow(&format!(", env: {{ {harmless} }}"))), None);
    }
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
    let parts = project.loader().compare("a.yaml").unwrap_or_else(|it| panic!("{text}: {it}"));
    parts.into_iter().skip(1).map(|(_, it)| it.file).collect()
}

#[test]
fn what_an_interpreter_completes_is_named_or_rejected() {
    let project = Project::new();
    for name in [
        "bytes.pyc",
        "evn.node",
        "data.json",
        "json.py",
        "lab/Main.class",
        "lib.awk",
        "lib/hook.so",
        "mod/init.lua",
        "nat.cpython-311-x86_64-linux-gnu.so",
        "pack/__init__.py",
        "pack/__pycache__/__main__.cpython-311.pyc",
        "pk/main.txt",
        "pk/package.json",
        "plain/tool.py",
        "pm/Sub.pm",
        "src/a.py",
        "tool.py",
        "tool.txt",
    ] {
        let path = project.folder().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "echo\n").unwrap();
    }
    let action = |text: &str| serde_json::json!({ "type": "command", "command": text });
    for (text, wanted) in [
        ("node ./evn", "evn.node"),
        ("node ./data", "data.json"),
        ("node --env-file=data.json x.js", "data.json"),
        ("lua -l mod x.lua", "mod/init.lua"),
        ("gawk -f lib", "lib.awk"),
        ("gawk -i lib 1", "lib.awk"),
        ("ruby -r./lib/hook -e 1", "lib/hook.so"),
        ("perl -I. -Mpm::Sub -e 1", "pm/Sub.pm"),
        ("java -cp lab Main", "lab/Main.class"),
        ("java -cp none:lab Main", "lab/Main.class"),
        ("CLASSPATH=lab java Main", "lab/Main.class"),
        ("python3 tool.py", "tool.py"),
        ("scp -F data.json tool.txt nohost:/x", "data.json"),
        ("scp -qFdata.json tool.txt nohost:/x", "data.json"),
        ("sftp -F data.json nohost", "data.json"),
        ("man -C data.json -l a.1", "data.json"),
        ("curl -sK data.json -o tool.txt", "data.json"),
        ("curl -sKdata.json", "data.json"),
        ("curl --config data.json", "data.json"),
        ("wget --config=data.json x", "data.json"),
        ("nm --plugin ./lib/hook.so a", "lib/hook.so"),
        ("nm --plugin=lib/hook.so a", "lib/hook.so"),
        ("openssl rand -engine ./lib/hook.so 1", "lib/hook.so"),
        ("gpg --options data.json -k", "data.json"),
        ("keytool -list -providerclass Main -providerpath lab", "lab/Main.class"),
        ("vim.basic -Nes -S data.json", "data.json"),
        ("perl5.36-x86_64-linux-gnu data.json", "data.json"),
        ("pydoc3 ./tool", "tool.py"),
    ] {
        assert_eq!(programs_of(&project, &action(text), "{}"), [wanted], "{text}");
    }
    for (text, wanted) in [
        ("python3 -m tool", "may run tool.py of the project"),
        ("python3 -um tool", "may run tool.py"),
        ("M=tool; python3 -Bm \"$M\"", "may run tool.py"),
        ("cd plain && python3 -m tool", "may run tool.py"),
        ("python3 -m plain.tool", "may run tool.py"),
        ("echo '[]' | python3 -m json.tool", "may run json.py"),
        ("timeout 5 python3 -m bytes", "may run bytes.pyc"),
        ("python3 -m nat", "may run nat.cpython"),
        ("python3 -m pack", "may run __init__.py"),
        ("sh -c 'python3 -m pack.none'", "may run __init__.py"),
        ("node pk", "pk is a folder"),
        ("node -r ./pk -e 1", "./pk is a folder"),
        ("node --test plain", "plain is a folder"),
        ("python3 plain", "plain is a folder"),
    ] {
        project.write("a.yaml", &runs_text(text));
        let problem = project.loader().compare("a.yaml").unwrap_err().to_string();
        assert!(problem.contains(wanted), "{text}: {problem}");
    }
    for text in ["python3 -m pytest src", "python3 -m http.server 80", "python3 -m build plain"] {
        let none: [&str; 0] = [];
        assert_eq!(programs_of(&project, &action(text), "{}"), none, "{text}");
    }
}

fn runs_text(text: &str) -> String {
    let action = serde_json::json!({ "type": "command", "command": text });
    format!("flows:\n  - {{ name: acts, trigger: {{ pattern: \"a:x\" }}, actions: [{action}] }}\n")
}

#[test]
fn a_program_is_named_however_far_the_way_to_it_is() {
    let project = Project::new();
    let write = |name: &str, text: &str| {
        let path = project.folder().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    for name in ["sub/y", "tools/$x", "tools/a", "tools/c", "tools/d"] {
        write(name, "#!/bin/sh\n");
    }
    for name in
        ["naked", "data.txt", "tool.py", "pack/__main__.py", "run.js", "lib/index.js", "s/a.sh"]
    {
        write(name, "echo\n");
    }
    let command = |text: &str| serde_json::json!({ "type": "command", "command": text });
    let exec = |words: &[&str]| serde_json::json!({ "type": "exec", "exec": words });
    let many = format!("{} cd sub && ./y", "cd .; cd sub; cd ..;".repeat(20));
    for (action, types, wanted) in [
        (command("cd -- sub && ./y"), "{}", &["sub/y"][..]),
        (command("cd \"$PWD/sub\" && ./y"), "{}", &["sub/y"]),
        (command("cd \"$(pwd)\"/sub && ./y"), "{}", &["sub/y"]),
        (command(&many), "{}", &["sub/y"]),
        (exec(&["env", "-C", "sub", "./y"]), "{}", &["sub/y"]),
        (exec(&["env", "--chdir=sub", "./y"]), "{}", &["sub/y"]),
        (command("python3 tool"), "{}", &["tool.py"]),
        (exec(&["node", "run"]), "{}", &["run.js"]),
        (command("sh -c 'node ./lib/index'"), "{}", &["lib/index.js"]),
        (exec(&["rbash", "naked"]), "{}", &["naked"]),
        (command("awk -fnaked"), "{}", &["naked"]),
        (command("sh <naked"), "{}", &["naked"]),
        (command("sh -c true >> naked"), "{}", &[]),
        (exec(&["./tools/$x"]), "{}", &["tools/$x"]),
        (command("sed -i 's/$/x/' data.txt"), "{}", &[]),
        (command("sed -n -e 1p data.txt; sed -i.bak -E 's/a/b/' data.txt"), "{}", &[]),
        (command("date > data.txt; awk -F, '{print $1}' data.txt"), "{}", &[]),
        (command("date > data.txt; python3 tool.py data.txt"), "{}", &["tool.py"]),
        (
            command("python3 -u tool.py data.txt; sh -eu naked data.txt"),
            "{}",
            &["naked", "tool.py"],
        ),
        (exec(&["python3", "tool.py", "data.txt"]), "{}", &["tool.py"]),
        (command("awk -f naked data.txt"), "{}", &["naked"]),
        (command("sh naked tools/a"), "{}", &["naked", "tools/a"]),
        (command("sed -f data.txt"), "{}", &["data.txt"]),
        (command("sh data.txt; sh naked data.txt"), "{}", &["data.txt", "naked"]),
        (command("awk '{print}' data.txt > naked; sh naked"), "{}", &["data.txt", "naked"]),
        (command("cp data.txt naked; sh naked"), "{}", &["data.txt", "naked"]),
        (command("sh -u data.txt naked; . ./naked"), "{}", &["data.txt", "naked"]),
        (command("./tools/{{data.w}}"), "{ w: 'one of [a, c]' }", &["tools/a", "tools/c"]),
        (command("sh -c 'cat ./s/{{data.s}}.sh'"), "{ s: slug }", &["s/a.sh"]),
    ] {
        assert_eq!(programs_of(&project, &action, types), wanted, "{action}");
    }
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
fn programs_that_variables_name_are_found() {
    let project = Project::new();
    for name in ["tools/x.sh", "tools/y", "lib/tool.py", "hook.rb", "other"] {
        let path = project.folder().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "echo\n").unwrap();
    }
    let command = |env: &[(&str, &str)], text: &str| {
        let env: BTreeMap<_, _> = env.iter().copied().collect();
        serde_json::json!({ "type": "command", "env": env, "command": text })
    };
    let dir = [("DIR", "./tools")];
    let tool = [("TOOL", "./tools/x.sh")];
    for (action, wanted) in [
        (command(&tool, "$TOOL a"), "tools/x.sh"),
        (command(&tool, "git fetch"), "tools/x.sh"),
        (command(&[("SSH", "sh ./tools/y")], "git fetch"), "tools/y"),
        (command(&[("TOOL", "$PWD/tools/x.sh")], "eval $TOOL"), "tools/x.sh"),
        (command(&[("DIR", "tools"), ("TOOL", "$DIR/x.sh")], "eval $TOOL"), "tools/x.sh"),
        (command(&dir, "\"$DIR/x.sh\""), "tools/x.sh"),
        (command(&dir, "\"${DIR}\"/x.sh"), "tools/x.sh"),
        (command(&dir, "cd \"$DIR\" && ./x.sh"), "tools/x.sh"),
        (command(&dir, "sh \"$DIR/y\""), "tools/y"),
        (command(&dir, ". \"$DIR/y\""), "tools/y"),
        (command(&dir, "sh <<END\n$DIR/x.sh\nEND"), "tools/x.sh"),
        (command(&dir, "sh -c '\"$DIR\"/x.sh'"), "tools/x.sh"),
        (command(&[("SH", "sh")], "$SH tools/y"), "tools/y"),
        (command(&[], "DIR=tools; TOOL=$DIR/x.sh; $TOOL"), "tools/x.sh"),
        (command(&[], "export DIR=\"$(pwd)/tools\"; $DIR/x.sh"), "tools/x.sh"),
        (command(&[], "env DIR=tools sh -c './tools/x.sh'"), "tools/x.sh"),
        (command(&[], "D=to; E=${D}ols; ./$E/x.sh"), "tools/x.sh"),
        (command(&[], "for n in x z; do \"./tools/$n.sh\"; done"), "tools/x.sh"),
        (command(&[], "tool ${TOOL:-./tools/x.sh} a"), "tools/x.sh"),
        (command(&[], "tool \"${DIR:-./tools}/x.sh\""), "tools/x.sh"),
        (command(&[], ": ${DIR:=./tools}; tool $DIR/x.sh"), "tools/x.sh"),
        (command(&[("TOOLS", "none:lib")], "python3 tool"), "lib/tool.py"),
        (command(&[("HOOK", "-r./hook")], "ruby -e 1"), "hook.rb"),
        (
            serde_json::json!({ "type": "exec", "env": { "D": "tools" }, "exec": ["sh", "-c", "$D/x.sh"] }),
            "tools/x.sh",
        ),
        (
            serde_json::json!({ "type": "command", "cwd": "tools", "env": { "T": "./x.sh" }, "command": "$T" }),
            "tools/x.sh",
        ),
    ] {
        assert_eq!(programs_of(&project, &action, "{}"), [wanted], "{action}");
    }
    let none: [&str; 0] = [];
    assert_eq!(programs_of(&project, &command(&[("FILE", "other")], "cat $FILE"), "{}"), none);
    let choice = command(&dir, "$DIR/{{data.w}}.sh");
    assert_eq!(programs_of(&project, &choice, "{ w: 'one of [x, z]' }"), ["tools/x.sh"]);

    // Also a variable of the whole flow, at the start and before the action runs.
    project.write(
        "a.yaml",
        &runs("$TOOL a").replace("actions:", "env: { TOOL: ./tools/x.sh }, actions:"),
    );
    project.allow_all();
    let mut loader = project.loader();
    let set = loader.load().flows.unwrap();
    let entry = set.get(&"acts".parse().unwrap()).unwrap();
    loader.check_programs(&entry.flow, &entry.flow.actions[0]).unwrap();
    fs::write(project.folder().join("tools/x.sh"), "echo evil\n").unwrap();
    let refused = loader.check_programs(&entry.flow, &entry.flow.actions[0]).unwrap_err();
    assert!(refused.to_string().contains("tools/x.sh"), "{refused}");
    assert_eq!(names(&loader.load()).unwrap(), Vec::<String>::new());
}

#[test]
fn a_value_in_env_that_changes_where_programs_are_found_is_refused() {
    let project = Project::new();
    let text = runs("export $SET; greet").replace("actions:", "env: { SET: PATH=bin }, actions:");
    let problem = project.problem_of(&text).unwrap();
    assert!(problem.contains("the value of SET in env sets PATH, which changes"), "{problem}");
}

#[test]
fn variables_with_too_many_values_are_refused() {
    let project = Project::new();
    let set: String = (0..40).map(|it| format!("A={it}; ")).collect::<Vec<_>>().concat();
    let problem = project.problem_of(&runs(&format!("{set} ./$A/$A"))).unwrap();
    assert!(problem.contains("expands to more than 1000 names"), "{problem}");
}

/// Each of these took the parsers minutes, or gigabytes.
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
    for (open, close) in
        [("$(", ")"), ("\\\"$(", ")\\\""), ("<(", ")"), ("sh $(", ")"), ("f() ", "")]
    {
        let command = format!("echo {}ls{}", open.repeat(8_000), close.repeat(8_000));
        let told = problem(&runs(&command));
        assert!(told.contains("is nested too deeply"), "{open}: {told}");
        let command = format!("echo {}ls{}", open.repeat(10), close.repeat(10));
        if !close.is_empty() && open != "<(" {
            let told = project.problem_of(&runs(&command)).unwrap_or_default();
            // `$($(ls))` runs what `ls` prints.
            assert!(told.is_empty() || told.contains("substitution, where"), "{open}: {told}");
        }
    }
}

#[test]
fn a_path_through_a_process_is_rejected() {
    let project = Project::new();
    for path in [
        "/proc/self/cwd/x.sh",
        "/proc/thread-self/cwd/x.sh",
        "/proc/$$/cwd/x.sh",
        "/proc/self/root/x.sh",
        "/dev/fd/../cwd/x.sh",
        "/proc/self/fd/3/x.sh",
        "../../../../../../proc/self/cwd/x.sh",
    ] {
        let problem = project.problem_of(&runs(&format!("sh {path}"))).unwrap_or_default();
        assert!(problem.contains("of a process"), "{path}: {problem}");
    }
    for command in ["cat /proc/self/status", "cat /proc/meminfo", "cat /dev/fd/0", "ls cwd/root"] {
        assert_eq!(project.problem_of(&runs(command)), None, "{command}");
    }
}

#[test]
fn the_programs_in_lists_and_below_the_home_are_found() {
    let project = Project::new();
    for name in ["lab/x.sh", "lab/tool.py", "lab/x.jar", "hook.rb"] {
        let path = project.folder().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "echo\n").unwrap();
    }
    let long = "x".repeat(5000);
    for (command, wanted) in [
        ("TOOLS=none:lab python3 tool", "lab/tool.py"),
        ("env TOOLS=lab:none python3 tool", "lab/tool.py"),
        ("export P=none:lab; TOOLS=$P:y python3 tool", "lab/tool.py"),
        (&format!("TOOLS={long}:lab python3 tool"), "lab/tool.py"),
        (&format!("A={long}:./la; ${{A}}b/x.sh"), "lab/x.sh"),
        ("java -cp none:lab/x.jar Main", "lab/x.jar"),
        ("java -cp=none:lab/x.jar Main", "lab/x.jar"),
        ("CLASSPATH=lab/x.jar:none java Main", "lab/x.jar"),
        ("java -javaagent:lab/x.jar Main", "lab/x.jar"),
        ("tool --run=none,./lab/x.sh", "lab/x.sh"),
        ("tool none,lab/x.sh,y", "lab/x.sh"),
        ("tool 'none;lab/x.sh;y'", "lab/x.sh"),
        ("HOOK=-r./hook ruby -e 1", "hook.rb"),
        ("tool --file=@lab/x.sh", "lab/x.sh"),
        ("~/project/lab/x.sh", "lab/x.sh"),
        ("tool ~me/project/lab/x.sh", "lab/x.sh"),
        ("tool ~0/lab/x.sh", "lab/x.sh"),
        ("cd lab; cd; tool ~-1/x.sh", "lab/x.sh"),
        ("TOOLS=none:~/project/lab; tool", ""),
        ("TOOLS=none:~/project/lab; tool x.sh", "lab/x.sh"),
        ("\"$HOME/project/lab/x.sh\"", "lab/x.sh"),
        ("cd && project/lab/x.sh", "lab/x.sh"),
        ("HOME=$PWD/lab; ~/x.sh", "lab/x.sh"),
        ("sh -c 'cd ~/project && tool ~+/lab/x.sh'", "lab/x.sh"),
        ("cd lab && cd .. && tool ~-/x.sh", "lab/x.sh"),
        ("cd lab && cd .. && $OLDPWD/x.sh", "lab/x.sh"),
    ] {
        let action = serde_json::json!({ "type": "command", "command": command });
        let wanted: Vec<&str> = Some(wanted).into_iter().filter(|it| !it.is_empty()).collect();
        assert_eq!(programs_of(&project, &action, "{}"), wanted, "{command:.100}");
    }
    let env = serde_json::json!({ "H": "~/project/lab:none" });
    let action = serde_json::json!({ "type": "exec", "env": env, "exec": ["tool", "x.sh"] });
    assert_eq!(programs_of(&project, &action, "{}"), ["lab/x.sh"]);
}

#[test]
fn the_name_of_a_program_is_read_as_the_shell_reads_it() {
    let project = Project::new();
    let names = ["a\\b.sh", "a\u{a0}b.sh", "a\rb.sh", "a\u{b}b.sh", "a\u{2028}b.sh", "a$b.sh"];
    fs::create_dir(project.folder().join("lab")).unwrap();
    for name in names.into_iter().chain(["lab/x.sh"]) {
        fs::write(project.folder().join(name), "echo\n").unwrap();
    }
    for (command, wanted) in [
        ("sh \"./a\\b.sh\"", "a\\b.sh"),
        ("sh \"./a\\\\b.sh\"", "a\\b.sh"),
        ("sh ./a\\\\b.sh", "a\\b.sh"),
        ("sh './a\\b.sh'", "a\\b.sh"),
        ("sh -c './lab/x.s\\h'", "lab/x.sh"),
        ("eval './lab/''x.s\\h'", "lab/x.sh"),
        ("sed 'e./lab/x.sh'", "lab/x.sh"),
        ("sed -n '/e/e./lab/x.s\\h' a", "lab/x.sh"),
        ("sed '1e ./lab/x.sh'", "lab/x.sh"),
        ("sh \"./a\\$b.sh\"", "a$b.sh"),
        ("sh './a\u{a0}b.sh'", "a\u{a0}b.sh"),
        ("sh './a\u{2028}b.sh'; :", "a\u{2028}b.sh"),
    ] {
        let action = serde_json::json!({ "type": "command", "command": command });
        assert_eq!(programs_of(&project, &action, "{}"), [wanted], "{command:?}");
    }
}

#[test]
fn commands_that_take_too_long_to_check_are_refused_with_their_place() {
    let project = Project::new();
    let flow = |number: usize, action: &str| {
        format!(
            "  - name: f{number}\n    trigger: {{ pattern: \"a:x\" }}\n    env: {{ A: b }}\n    actions:\n      - {action}\n"
        )
    };
    // Each with its variable, of two bytes.
    let command = |bytes: usize| format!("{{ type: command, command: {} }}", "x".repeat(bytes - 2));
    let exec = |bytes: usize| format!("{{ type: exec, exec: [a, {}] }}", "x".repeat(bytes - 3));
    let first: String = (0..7).map(|it| flow(it, &command(32 << 10))).collect::<Vec<_>>().concat();
    for (last, line) in [(command as fn(usize) -> String, 41), (exec, 41)] {
        let text = format!("flows:\n{first}{}", flow(7, &last(32 << 10)));
        assert_eq!(waypost_flows::COMMANDS_BYTES_MAX, 256 << 10);
        assert_eq!(project.problem_of(&text), None);
        let text = format!("flows:\n{first}{}", flow(7, &last((32 << 10) + 1)));
        let problem = project.problem_of(&text).unwrap();
        let wanted = format!("{line}:");
        assert!(problem.starts_with(&wanted), "{problem:.300}");
        assert!(problem.contains("each with its variables, exceed 262144 bytes"), "{problem:.300}");
    }
}

#[test]
fn commands_with_too_many_words_and_folders_are_refused_together() {
    let project = Project::new();
    let words: Vec<String> = (0..130).map(|it| format!("d{it}")).collect();
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
fn a_folder_replaced_by_a_link_out_of_the_project_makes_a_flow_inactive() {
    let run = |command: &str| serde_json::json!({ "type": "command", "command": command });
    for action in [
        run("cd lab && ./x.sh"),
        run("cd lab; sh x.sh"),
        run("cd lab && python3 tool.py"),
        run("cd lab && python3 ./tool.py"),
        run("cd lab/sub && ../x.sh"),
        run("sh -c 'cd lab && ./x.sh'"),
        run("(cd lab; . ./x.sh)"),
        run("env -C lab ./x.sh"),
        run("env --chdir=lab ./x.sh"),
        run("cd ./lab/ && ./x.sh {{data.v}}"),
        run("cd \"$PWD/lab\" && ./x.sh"),
        run("git -C lab status"),
        run("make -C lab"),
        run("TOOLS=lab python3 tool"),
        run("TOOLS=none:lab python3 tool"),
        run("env TOOLS=lab:none python3 tool"),
        run("java -cp none:lab Tool"),
        run("~/project/lab/x.sh"),
        run("bash -c 'pushd lab; ./x.sh'"),
        run("cd link && ./x.sh"),
        run("./lab/x.sh"),
        run("sh lab/x.sh"),
        run("sh -c 'cat ./lab/{{data.v}}.sh'"),
        run("sh lab/none/x.sh"),
        serde_json::json!({ "type": "command", "command": "./x.sh", "cwd": "lab" }),
        serde_json::json!({ "type": "exec", "exec": ["./x.sh"], "cwd": "link" }),
    ] {
        let project = Project::new();
        let (folder, outside) = (project.folder(), project.root.path().join("outside"));
        for at in [folder.join("lab"), outside.clone()] {
            fs::create_dir_all(at.join("sub")).unwrap();
            fs::write(at.join("x.sh"), "#!/bin/sh\n").unwrap();
            fs::write(at.join("tool.py"), "pass\n").unwrap();
        }
        symlink("lab", folder.join("link")).unwrap();
        programs_of(&project, &action, "{ v: slug }");
        project.allow_all();
        let mut loader = project.loader();
        let set = loader.load().flows.unwrap();
        let entry = set.get(&"acts".parse().unwrap()).unwrap();
        loader.check_programs(&entry.flow, &entry.flow.actions[0]).unwrap();

        fs::rename(folder.join("lab"), folder.join("lab0")).unwrap();
        symlink(&outside, folder.join("lab")).unwrap();
        let refused = loader.check_programs(&entry.flow, &entry.flow.actions[0]).unwrap_err();
        let why = "is a symbolic link that leads out of the project; replace it with its target";
        assert!(refused.to_string().contains(why), "{action}: {refused}");
        assert!(loader.programs_changed(), "{action}");
        assert_eq!(names(&loader.load()).unwrap(), Vec::<String>::new(), "{action}");
        assert_eq!(loader.status()[0].problem.as_ref(), Some(&refused), "{action}");

        fs::remove_file(folder.join("lab")).unwrap();
        fs::rename(folder.join("lab0"), folder.join("lab")).unwrap();
        assert!(loader.programs_changed(), "{action}");
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
        assert!(loader.programs_changed());
        loader.load();
        let status = &loader.status()[0];
        assert_eq!(status.in_force.is_some(), wanted, "{:?}", status.problem);
        assert!(!loader.programs_changed());
    };
    loader.load();
    assert!(!loader.programs_changed());
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
    let mut watch = Watch::new(&project.flows());
    project.write("a.yaml", &one("a"));
    assert!(watch.wait());
    fs::remove_dir_all(project.flows()).unwrap();
    assert!(watch.wait());
    fs::create_dir_all(project.flows()).unwrap();
    project.write("b.yaml", &one("b"));
    assert!((0..3).any(|_| watch.wait()));
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
        assert!(loader.load().flows.is_some());
        assert!(!watch.wait(), "emptied: {emptied}");
    }
}
