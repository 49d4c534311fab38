//! Project folders and settings through the crate's public API.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod browser;
mod config;
mod context;
mod folder;
mod origin;
mod reference;
mod trust;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use tempfile::TempDir;
use waypost_project::{Error, Flag, Project, Result, Settings, Sources};

/// A project with a `config.yaml`, and its environment.
struct Case {
    folder: TempDir,
    flags: Vec<Flag>,
    variables: BTreeMap<String, OsString>,
    /// Whether the file counts as approved.
    is_trusted: bool,
}

impl Case {
    fn new(config: impl AsRef<[u8]>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(".waypost")).unwrap();
        fs::write(folder.path().join(".waypost/config.yaml"), config).unwrap();
        let variables = BTreeMap::from([("HOME".to_owned(), OsString::from("/home/someone"))]);
        Self { folder, flags: Vec::new(), variables, is_trusted: true }
    }

    fn flag(mut self, key: &str, flag: &str, value: &str) -> Self {
        self.flags.push(Flag::new(key, flag, value));
        self
    }

    fn variable(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.variables.insert(name.to_owned(), value.into());
        self
    }

    fn resolve(&self) -> Result<Settings> {
        let project = Project::find(self.folder.path())?;
        let names: Vec<String> = self.variables.keys().cloned().collect();
        Settings::resolve(
            &Sources::new(&project, Path::new("/current"), &|name| {
                self.variables.get(name).cloned()
            })
            .with_flags(&self.flags)
            .with_variables(&names)
            .with_trust_project(self.is_trusted),
        )
    }

    /// The line and the message of the error in the file.
    fn fault(&self) -> (usize, String) {
        match self.resolve() {
            Err(Error::Config { line, message, .. }) => (line, message),
            other => panic!("an error in config.yaml was expected, not {other:?}"),
        }
    }
}
