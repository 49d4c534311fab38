//! Where the configuration files of agents and editors are.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use waypost_cli::failure::{Failure, Result};

use super::file::Place;

/// For whom an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// For everybody who works in the project.
    Project,
    /// For this user, in all projects.
    User,
}

/// The folders that have such files.
pub(crate) struct Homes<'a> {
    pub(crate) project: &'a Path,
    pub(crate) variable: &'a dyn Fn(&str) -> Option<OsString>,
}

impl Homes<'_> {
    /// A file of the project.
    pub(crate) fn in_project(&self, file: &str) -> Place {
        let root = self.project.to_owned();
        Place { path: root.join(file), root, is_private: false }
    }

    /// A file in the user's home folder.
    pub(crate) fn in_home(&self, file: &str) -> Result<Place> {
        let home = self.folder("HOME").ok_or_else(|| {
            Failure::new("the home folder is unknown: HOME is not set to an absolute path")
                .with_hint("set HOME, or omit `--user` to write the project's file")
        })?;
        Ok(Place { path: home.join(file), root: home, is_private: true })
    }

    /// A file in the folder of a variable, if it is set, else in `fallback` of the home folder.
    pub(crate) fn in_variable(&self, name: &str, fallback: &str, file: &str) -> Result<Place> {
        match self.folder(name) {
            Some(folder) => Ok(Place { path: folder.join(file), root: folder, is_private: true }),
            None => self.in_home(&format!("{fallback}/{file}")),
        }
    }

    /// A file in the folder of desktop programs' settings.
    pub(crate) fn in_config(&self, file: &str) -> Result<Place> {
        if cfg!(target_os = "macos") {
            return self.in_home(&format!("Library/Application Support/{file}"));
        }
        self.in_variable("XDG_CONFIG_HOME", ".config", file)
    }

    fn folder(&self, name: &str) -> Option<PathBuf> {
        (self.variable)(name).map(PathBuf::from).filter(|it| it.is_absolute())
    }
}
