//! Repositories that try to start a program, or to have files outside the project read.

use std::borrow::Cow;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use waypost_context::{Error, History, Present, Redact, changed, head_files};

use crate::repository::{Repository, git, read};

/// The error for a repository that is not read.
fn refusal(root: &Path) -> String {
    let same: Redact<'_> = &|it| Cow::Borrowed(it);
    let error = History::read(root, None, same, &|| false).expect_err("refused");
    assert!(matches!(error, Error::Repository { .. }), "{error:?}");
    error.to_string()
}

/// A repository with a secret in its history, next to a project.
fn neighbour(project: &Repository) -> std::path::PathBuf {
    let mut other = Repository::new();
    other.commit("a secret of others", &["a"]);
    let kept = project.beside("other");
    project.git(&["clone", "--quiet", other.top.to_str().unwrap(), kept.to_str().unwrap()]);
    kept
}

#[test]
fn nothing_in_a_configuration_starts_a_program() {
    let mut repository = Repository::new();
    repository.commit("first", &["a.txt", "b.txt"]);
    repository.write(".gitattributes", "* filter=evil diff=evil merge=evil\n");
    repository.commit("attributes", &[".gitattributes"]);
    repository.write(".gitattributes", "* filter=evil diff=evil merge=evil\n");
    let marker = repository.beside("started");
    let script = repository.beside("evil.sh");
    fs::write(&script, format!("#!/bin/sh\ntouch {}\ncat\n", marker.display())).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&script, mode).unwrap();
    let evil = script.to_str().unwrap();
    let tree = git(&repository.top, &["rev-parse", "HEAD^{tree}"]);
    let plain = fs::read_to_string(repository.top.join(".git/config")).unwrap();
    let config = format!(
        "{plain}[core]\n\tfsmonitor = {evil}\n\tsshCommand = {evil}\n\tpager = {evil}\n\teditor = {evil}\n\
         \thooksPath = {hooks}\n\tgitProxy = {evil}\n\talternateRefsCommand = {evil}\n\
         [filter \"evil\"]\n\tclean = {evil}\n\tsmudge = {evil}\n\tprocess = {evil}\n\
         \trequired = true\n[diff]\n\texternal = {evil}\n[diff \"evil\"]\n\tcommand = {evil}\n\
         \ttextconv = {evil}\n[credential]\n\thelper = {evil}\n[gpg]\n\tprogram = {evil}\n\
         [remote \"origin\"]\n\turl = ext::{evil}\n\tpromisor = true\n\
         \tuploadpack = {evil}\n[extensions]\n\tpartialClone = origin\n[include]\n\tpath = {hooks}/include\n",
        hooks = repository.beside("").display(),
    );
    fs::write(repository.top.join(".git/config"), config).unwrap();
    for hook in ["post-index-change", "fsmonitor-watchman", "reference-transaction"] {
        fs::copy(&script, repository.top.join(".git/hooks").join(hook)).unwrap();
    }
    // Touched, so that git itself runs the filter.
    repository.write("a.txt", "a.txt in commit 9\n");

    assert_eq!(repository.history().commits().len(), 2);
    assert!(!head_files(&repository.top).unwrap().is_empty());
    let file = |path| Present { path, bytes: 18, modified_ns: 0 };
    let content = |path: &str| fs::read(repository.top.join(path)).ok();
    let found = changed(&repository.top, [file("a.txt"), file("b.txt")], &content, &|| false);
    assert_eq!(found.unwrap(), ["a.txt"]);
    // A missing object that could be fetched from the remote.
    let tree = repository.top.join(".git/objects").join(&tree[..2]).join(tree[2..].trim());
    fs::rename(&tree, repository.beside("tree")).unwrap();
    drop(repository.history());
    assert!(!marker.exists(), "something was started");

    // Shows that the trap would have worked.
    fs::rename(repository.beside("tree"), &tree).unwrap();
    let mut status = Command::new("git");
    status.arg("status").current_dir(&repository.top).output().unwrap();
    assert!(marker.exists(), "the trap works");
}

#[test]
fn a_repository_that_does_not_know_the_project_is_not_read() {
    let project = Repository::new();
    let other = neighbour(&project);
    fs::remove_dir_all(project.top.join(".git")).unwrap();
    let dot_git = project.top.join(".git");

    fs::write(&dot_git, format!("gitdir: {}/.git\n", other.display())).unwrap();
    assert!(refusal(&project.top).contains("does not name this folder"));
    assert!(head_files(&project.top).is_err());
    git(&other, &["worktree", "add", "--quiet", "../linked"]);
    fs::write(&dot_git, format!("gitdir: {}/.git/worktrees/linked\n", other.display())).unwrap();
    assert!(refusal(&project.top).contains("git worktree repair"));
    fs::write(&dot_git, "gitdir: /nowhere\n").unwrap();
    assert!(refusal(&project.top).contains("names no folder"));

    fs::remove_file(&dot_git).unwrap();
    symlink(other.join(".git"), &dot_git).unwrap();
    assert!(refusal(&project.top).contains("a symbolic link"));

    // A folder that claims to belong to another one.
    fs::remove_file(&dot_git).unwrap();
    git(&project.top, &["init", "--quiet"]);
    fs::write(dot_git.join("commondir"), format!("{}/.git\n", other.display())).unwrap();
    assert!(refusal(&project.top).contains("belongs to another repository"));
}

#[test]
fn objects_are_not_taken_from_elsewhere() {
    let project = Repository::new();
    let other = neighbour(&project);
    let secret = git(&other, &["rev-parse", "HEAD"]);
    let objects = project.top.join(".git/objects");
    fs::write(project.top.join(".git/refs/heads/main"), secret).unwrap();
    assert_eq!(read(&project.top).unwrap().commits().len(), 0);

    let alternates = objects.join("info/alternates");
    fs::write(&alternates, format!("{}/.git/objects\n", other.display())).unwrap();
    assert!(refusal(&project.top).contains("borrowed"));
    fs::remove_file(&alternates).unwrap();

    symlink(other.join(".git/objects/ab"), objects.join("ab")).unwrap();
    assert!(refusal(&project.top).contains("neither folder nor file"));
    fs::remove_file(objects.join("ab")).unwrap();
    symlink(other.join(".git/HEAD"), objects.join("pack/pack-1.pack")).unwrap();
    assert!(refusal(&project.top).contains("neither folder nor file"));
    fs::remove_file(objects.join("pack/pack-1.pack")).unwrap();

    fs::remove_dir_all(&objects).unwrap();
    symlink(other.join(".git/objects"), &objects).unwrap();
    assert!(refusal(&project.top).contains("not a folder"));
}

#[test]
fn refs_lead_nowhere_else_and_to_an_end() {
    let mut project = Repository::new();
    project.commit("first", &["a"]);
    let secret = project.beside("secret");
    fs::write(&secret, "not for others").unwrap();
    let main = project.top.join(".git/refs/heads/main");
    fs::remove_file(&main).unwrap();
    symlink(&secret, &main).unwrap();
    let told = refusal(&project.top);
    assert!(told.contains("a symbolic link") && !told.contains("not for others"), "{told}");

    fs::remove_file(&main).unwrap();
    fs::write(&main, "ref: refs/heads/main\n").unwrap();
    assert!(refusal(&project.top).contains("from name to name"));
    fs::write(project.top.join(".git/HEAD"), "ref: ../../secret\n").unwrap();
    assert!(refusal(&project.top).contains("does not name a branch"));
    fs::write(project.top.join(".git/HEAD"), "\0\0\0\0").unwrap();
    assert_eq!(read(&project.top), None);
}

#[test]
fn damaged_packs_and_indexes_end_nothing() {
    let mut project = Repository::new();
    for it in 0..20 {
        project.commit(&format!("commit {it}"), &["a", "b/c"]);
    }
    project.git(&["gc", "--quiet"]);
    let folder = project.top.join(".git/objects/pack");
    let packs: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let same: Redact<'_> = &|it| Cow::Borrowed(it);
    let index = project.top.join(".git/index");
    let file = Present { path: "a", bytes: 1, modified_ns: 0 };
    let mut told = 0;
    for path in packs.iter().chain([&index]) {
        let whole = fs::read(path).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        fs::set_permissions(path, mode).unwrap();
        for at in (0..whole.len()).step_by(whole.len() / 60 + 1) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0xff;
            fs::write(path, &bytes).unwrap();
            // Whatever the result, the call returns.
            told += usize::from(History::read(&project.top, None, same, &|| false).is_ok());
            told += usize::from(changed(&project.top, [file], &|_| None, &|| false).is_ok());
        }
        fs::write(path, &whole).unwrap();
    }
    assert!(told > 0);
    assert_eq!(read(&project.top).unwrap().commits().len(), 20);
}
