//! Entries of Waypost in the configuration files of agents and editors.
//!
//! Those files belong to other programs and to the user: everything but our own entries stays as it is, comments and
//! layout included, and a file that cannot be read back is left alone.

mod file;
mod hooks;
mod json;
mod own;
mod places;
mod servers;
#[cfg(test)]
mod tests;
mod toml;

use std::path::Path;

use serde_json::{Value, json};

pub(crate) use file::Place;
pub(crate) use hooks::{Event, Hooks, Shape};
pub(crate) use own::Program as OwnProgram;
pub(crate) use places::{Homes, Scope};
pub(crate) use servers::{Format, Servers};

use self::file::ClientFile;
use crate::failure::{Failure, Result};
use crate::output::Output;
use crate::program::Program;

/// What an edit does to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Added,
    Updated,
    Removed,
    /// The file is as wanted already.
    Nothing,
}

impl Change {
    fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Updated => "updated",
            Self::Removed => "removed",
            Self::Nothing => "none",
        }
    }
}

/// The text of a file after an edit.
#[derive(Debug)]
pub(crate) struct Edited {
    pub(crate) text: String,
    pub(crate) change: Change,
}

/// Adds or removes our entries in the text of a file, or says why it cannot. The text of a missing file is empty.
pub(crate) trait Entries {
    fn install(&self, text: &str) -> std::result::Result<Edited, String>;
    fn remove(&self, text: &str) -> std::result::Result<Edited, String>;
    /// What they are, for messages: `the server waypost`.
    fn what(&self) -> &'static str;
}

/// What to do with the entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Install,
    Remove,
}

/// An edit of one file.
pub(crate) struct Edit<'a> {
    pub(crate) place: Place,
    pub(crate) entries: &'a dyn Entries,
    pub(crate) action: Action,
    /// Whether to only say what would change.
    pub(crate) is_dry: bool,
}

impl Edit<'_> {
    /// Edits the file, and reports what was done.
    pub(crate) fn run(&self, output: &mut Output) -> Result<Change> {
        // What a file has that has nothing else: for people to look at, or to paste.
        let alone = self.entries.install("").map_err(Failure::new)?.text;
        match self.change() {
            Ok(change) => {
                self.report(change, &alone, output)?;
                Ok(change)
            }
            Err(failure) if self.action == Action::Install && !output.is_json() => {
                output.text(&alone)?;
                let hint = failure.hint().unwrap_or("correct that and try again").to_owned();
                Err(failure.with_hint(format!("{hint}; or paste the entry that is printed here")))
            }
            Err(failure) => Err(failure),
        }
    }

    fn change(&self) -> Result<Change> {
        let file = ClientFile::read(&self.place)?;
        let (mark, text) = match file.text().strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) => (BYTE_ORDER_MARK, rest),
            None => ("", file.text()),
        };
        let edited = match self.action {
            Action::Install => self.entries.install(text),
            Action::Remove => self.entries.remove(text),
        };
        let edited = edited.map_err(|why| refused(&self.place.path, &why))?;
        if !self.is_dry && edited.change != Change::Nothing {
            file.write(&format!("{mark}{}", edited.text))?;
        }
        Ok(edited.change)
    }

    fn report(&self, change: Change, alone: &str, output: &mut Output) -> Result<()> {
        let is_install = self.action == Action::Install;
        let path = self.place.path.display();
        if output.is_json() {
            let entry = serde_json::from_str(alone).unwrap_or_else(|_| Value::from(alone));
            output.document(&json!({
                "file": path.to_string(),
                "change": change.name(),
                "dryRun": self.is_dry,
                "entry": if is_install { entry } else { Value::Null },
            }))?;
            return Ok(());
        }
        if self.is_dry && is_install {
            output.text(alone)?;
        }
        let what = self.entries.what();
        let said = match (change, self.is_dry) {
            (Change::Nothing, _) if is_install => format!("{path} has {what} already"),
            (Change::Nothing, _) => format!("{path} does not have {what}"),
            (Change::Added, false) => format!("added {what} to {path}"),
            (Change::Added, true) => format!("would add {what} to {path}"),
            (Change::Updated, false) => format!("updated {what} in {path}"),
            (Change::Updated, true) => format!("would update {what} in {path}"),
            (Change::Removed, false) => format!("removed {what} from {path}"),
            (Change::Removed, true) => format!("would remove {what} from {path}"),
        };
        if self.is_dry {
            output.note(&said);
        } else {
            output.line(&said)?;
        }
        Ok(())
    }
}

/// Why a file is left alone.
fn refused(path: &Path, why: &str) -> Failure {
    Failure::new(format!("cannot edit {}: {why}", path.display()))
}

/// The project's folder, for an entry.
pub(crate) fn project_path(program: &Program) -> Result<String> {
    own::text(program.project().root())
}

/// The options of the command line that an entry repeats. None has a token.
pub(crate) fn options(program: &Program) -> Result<Vec<String>> {
    let global = program.global();
    let mut options = Vec::new();
    if let Some(url) = &global.url {
        // Refuses an address with a password in it.
        program.connect(url, None)?;
        options.extend(["--url".to_owned(), url.clone()]);
    }
    for (name, file) in [("--token-file", &global.token_file), ("--ca", &global.ca)] {
        if let Some(file) = file {
            let file = own::text(&program.current_dir().join(file))?;
            options.extend([name.to_owned(), file]);
        }
    }
    Ok(options)
}

/// Some editors write it at the start of a file.
const BYTE_ORDER_MARK: &str = "\u{feff}";
