//! What interpreters look for by a name that is not that of one file.

use std::fs;
use std::path::Path;

use super::Problem;
use super::load::Load;
use super::looked::Follow;

/// Endings of the files that Python takes for a module.
const OF_PYTHON: &[&str] = &[".py", ".pyc", ".so"];

impl Load {
    /// Checks that it is no module of the project, and no folder.
    ///
    /// # Errors
    /// If it is: which file runs, also a compiled one, is then not known.
    pub(super) fn check(&self, follow: &mut Follow<'_>, base: &Path) -> Result<(), Problem> {
        match self {
            Self::Module(name) => match module(follow, base, name)? {
                Some(file) => Err(Problem::Untrusted(format!(
                    "python3 -m {name} may run {file} of the project, or a compiled file in its place that is not shown for approval; name the file (python3 tools/NAME.py), or put the command into a script of the project"
                ))),
                None => Ok(()),
            },
            Self::File(_) => Ok(()),
            Self::Script(name) => {
                let path = follow.path(base, name, |_| {})?;
                if path.is_some_and(|it| it.starts_with(follow.project) && it.is_dir()) {
                    return Err(Problem::Untrusted(format!(
                        "{name} is a folder, where the interpreter looks for the file to run; name the file"
                    )));
                }
                Ok(())
            }
        }
    }
}

/// A file of the project that Python may run for a module, or for a package around it.
fn module(follow: &mut Follow<'_>, base: &Path, name: &str) -> Result<Option<String>, Problem> {
    let mut folder = base.to_owned();
    for part in name.split('.').filter(|it| !it.is_empty()) {
        if let Some(file) = entry(follow, &folder, part) {
            return Ok(Some(file));
        }
        let Some(inner) = follow.path(&folder, part, |_| {})? else { return Ok(None) };
        folder = inner;
        if let Some(file) = entry(follow, &folder, "__init__") {
            return Ok(Some(file));
        }
    }
    Ok(entry(follow, &folder, "__main__"))
}

/// The file of a folder of the project that Python takes for a module of this name.
fn entry(follow: &mut Follow<'_>, folder: &Path, name: &str) -> Option<String> {
    if !folder.starts_with(follow.project) {
        return None;
    }
    follow.looked.at(folder);
    let names = fs::read_dir(folder).ok()?.flatten();
    let mut names = names.map(|it| it.file_name().to_string_lossy().into_owned());
    names.find(|it| {
        let ending = it.strip_prefix(name).filter(|it| it.starts_with('.'));
        ending.is_some_and(|it| OF_PYTHON.iter().any(|known| it.ends_with(known)))
    })
}
