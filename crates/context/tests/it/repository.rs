//! Repositories created by git itself.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use waypost_context::History;

/// The time of a test's first commit; each further one is a minute later.
pub(crate) const BEGIN: i64 = 1_700_000_000;

/// A working tree in a temporary folder.
pub(crate) struct Repository {
    _folder: TempDir,
    pub(crate) top: PathBuf,
    commits: i64,
}

impl Repository {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(folder.path()).unwrap().join("top");
        fs::create_dir(&top).unwrap();
        git(&top, &["init", "--quiet", "--initial-branch", "main"]);
        Self { _folder: folder, top, commits: 0 }
    }

    /// A folder next to the working tree.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.top.with_file_name(name)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.top.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        git_at(&self.top, BEGIN + 60 * self.commits, arguments)
    }

    /// Writes files with a text that differs each time, and commits everything.
    pub(crate) fn commit(&mut self, message: &str, paths: &[&str]) -> String {
        for path in paths {
            self.write(path, &format!("{path} in commit {}\n", self.commits));
        }
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", message]);
        self.commits += 1;
        self.git(&["rev-parse", "HEAD"]).trim().to_owned()
    }

    /// Imports a `git fast-import` stream.
    pub(crate) fn import(&self, stream: &str) {
        let file = self.beside("stream");
        fs::write(&file, stream).unwrap();
        let mut command = Command::new("git");
        command.args(["fast-import", "--quiet"]).current_dir(&self.top);
        let status = command.stdin(fs::File::open(&file).unwrap()).status().unwrap();
        assert!(status.success());
    }

    pub(crate) fn history(&self) -> History {
        read(&self.top).expect("a history")
    }
}

pub(crate) fn read(root: &Path) -> Option<History> {
    History::read(root, None, &|it| Cow::Borrowed(it), &|| false).unwrap()
}

/// Each commit's subject and paths, newest first.
pub(crate) fn shown(history: &History) -> Vec<(String, Vec<String>)> {
    let commits = history.commits();
    commits
        .map(|commit| (commit.subject().to_owned(), commit.paths().map(str::to_owned).collect()))
        .collect()
}

pub(crate) fn subjects(history: &History) -> Vec<&str> {
    history.commits().map(|commit| commit.subject()).collect()
}

pub(crate) fn git(folder: &Path, arguments: &[&str]) -> String {
    git_at(folder, BEGIN, arguments)
}

fn git_at(folder: &Path, time: i64, arguments: &[&str]) -> String {
    let date = format!("{time} +0000");
    let output = Command::new("git")
        .args(["-c", "protocol.file.allow=always", "-c", "gc.auto=0"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap())
        .envs([("GIT_AUTHOR_NAME", "A"), ("GIT_AUTHOR_EMAIL", "a@example.org")])
        .envs([("GIT_COMMITTER_NAME", "C"), ("GIT_COMMITTER_EMAIL", "c@example.org")])
        .envs([("GIT_AUTHOR_DATE", &date), ("GIT_COMMITTER_DATE", &date)])
        .output()
        .expect("git runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}
