//! The folders that programs run in, and the files of programs.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::Unready;
use crate::Folder;

/// A folder within the project, also after every symbolic link is followed.
pub(super) fn folder_within(project: &Path, folder: Option<&Folder>) -> Result<PathBuf, Unready> {
    let text = folder.map_or(".", Folder::as_str);
    let wrong =
        |problem: &str| Unready::Folder { folder: text.to_owned(), problem: problem.to_owned() };
    let project = project.canonicalize().map_err(|it| wrong(&format!("not found: {it}")))?;
    let folder = project.join(text);
    let folder = folder.canonicalize().map_err(|it| wrong(&format!("not found: {it}")))?;
    if !folder.starts_with(&project) {
        return Err(wrong("is outside the project"));
    }
    if folder.is_dir() { Ok(folder) } else { Err(wrong("is not a folder")) }
}

/// The file of a program: it is looked up here, because a lookup by the system in a changed `PATH`
/// costs a fork.
pub(super) fn executable(program: &Path, path: &str, folder: &Path) -> Result<PathBuf, Unready> {
    let is_executable = |it: &PathBuf| {
        it.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
    };
    let found = if program.components().count() > 1 || program.is_absolute() {
        Some(folder.join(program)).filter(is_executable)
    } else {
        let folders = path.split(':').filter(|it| it.starts_with('/'));
        folders.map(|it| Path::new(it).join(program)).find(is_executable)
    };
    found.ok_or_else(|| Unready::Program(program.display().to_string()))
}
