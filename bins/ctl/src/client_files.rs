//! Entries of Waypost in the configuration files of agents and editors.
//!
//! Those files belong to other programs and to the user: everything but our own entries stays as it is, comments and
//! layout included, and a file that cannot be read back is left alone.

mod file;
mod hooks;
mod json;
mod own_command;
mod places;
mod servers;
#[cfg(test)]
mod tests;
mod toml;

use std::path::Path;

use waypost_cli::failure::{Failure, Result};
use waypost_cli::output::Output;
use waypost_cli::program::Program;

use clap::Args;
use serde_json::{Value, json};

pub(crate) use file::Place;
pub(crate) use hooks::{Event, Hooks, Shape};
pub(crate) use own_command::Program as OwnProgram;
pub(crate) use places::{Homes, Scope};
pub(crate) use servers::{Format, Servers};

use self::file::ClientFile;

/// Which file to edit, and whether.
#[derive(Debug, Args)]
pub(crate) struct ClientPlaceArgs {
    /// Edit this user's file, which applies to all folders [default: the file in the project's folder, which `--project
    /// DIR` names]
    #[arg(long)]
    pub(crate) user: bool,
    /// Print the entry and the file, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

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
    /// Adds ours, or replaces them. What [`foreign`](Self::foreign) names stays.
    fn install(&self, text: &str) -> Result<Edited, String>;
    /// Removes entries that run our command and nothing else.
    fn remove(&self, text: &str) -> Result<Edited, String>;
    /// The entries that look like ours and have what no release of `install` has written, for people.
    fn foreign(&self, text: &str) -> Result<Vec<String>, String>;
    /// What they are, for messages: `the server waypost`.
    fn what(&self) -> &'static str;
}

/// What to do with the entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Install {
        /// Whether what is not ours in entries that look like ours stays, instead of being an error.
        is_keeping: bool,
    },
    Remove,
}

/// An edit of one file.
pub(crate) struct Edit<'a> {
    pub(crate) place: Place,
    pub(crate) entries: &'a dyn Entries,
    pub(crate) action: Action,
    /// Another file that the agent reads for the project.
    pub(crate) beside: Option<Place>,
    /// Whether to only say what would change.
    pub(crate) is_dry: bool,
}

impl Edit<'_> {
    /// Edits the file, and reports what was done.
    pub(crate) fn run(&self, output: &mut Output) -> Result<Change> {
        // What a file has that has nothing else: for people to look at, or to paste.
        let alone = self.entries.install("").map_err(Failure::new)?.text;
        match self.change() {
            Ok((change, kept)) => {
                self.report(change, &alone, output)?;
                warn_of(&self.place, &kept, output);
                if let Some(beside) = self.beside.as_ref().filter(|beside| **beside != self.place) {
                    // If the agent cannot read it either, it has no effect.
                    let text = ClientFile::read(beside).map(|file| file.text().to_owned());
                    let text = text.unwrap_or_default();
                    let text = text.trim_start_matches(BYTE_ORDER_MARK);
                    warn_of(beside, &self.entries.foreign(text).unwrap_or_default(), output);
                }
                Ok(change)
            }
            Err(failure) if self.action != Action::Remove && !output.is_json() => {
                output.text(&alone)?;
                let hint = failure.hint().unwrap_or("correct that and try again").to_owned();
                Err(failure.with_hint(format!("{hint}; or paste the entry that is printed here")))
            }
            Err(failure) => Err(failure),
        }
    }

    /// Edits the file. The second value names the entries in it that are not ours.
    fn change(&self) -> Result<(Change, Vec<String>)> {
        let file = ClientFile::read(&self.place)?;
        let (mark, text) = match file.text().strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) => (BYTE_ORDER_MARK, rest),
            None => ("", file.text()),
        };
        let cannot = |why: String| refused(&self.place.path, &why);
        let (edited, kept) = match self.action {
            Action::Install { is_keeping } => {
                let foreign = self.entries.foreign(text).map_err(cannot)?;
                if !foreign.is_empty() && !is_keeping {
                    let list = foreign.join("\n  ");
                    let why = format!("it has what `install` did not write:\n  {list}");
                    return Err(cannot(why).with_hint(FOREIGN));
                }
                (self.entries.install(text).map_err(cannot)?, foreign)
            }
            Action::Remove => {
                let edited = self.entries.remove(text).map_err(cannot)?;
                let left = self.entries.foreign(&edited.text).map_err(cannot)?;
                (edited, left)
            }
        };
        if !self.is_dry && edited.change != Change::Nothing {
            file.write(&format!("{mark}{}", edited.text))?;
        }
        Ok((edited.change, kept))
    }

    fn report(&self, change: Change, alone: &str, output: &mut Output) -> Result<()> {
        let is_install = self.action != Action::Remove;
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

/// Names entries of a file that stay although they are not ours.
fn warn_of(place: &Place, foreign: &[String], output: &mut Output) {
    for entry in foreign {
        output.warn(&format!("{} has what `install` did not write: {entry}", place.path.display()));
    }
}

/// What to do about entries that look like ours.
const FOREIGN: &str = "remove it if it is not yours, because it may send prompts and tokens elsewhere; or pass `--keep` to keep it";

/// Why a file is left alone.
fn refused(path: &Path, why: &str) -> Failure {
    Failure::new(format!("cannot edit {}: {why}", path.display()))
}

/// The project's folder, for an entry.
pub(crate) fn project_path(program: &Program) -> Result<String> {
    own_command::text(program.project().root())
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
            let file = own_command::text(&program.current_dir().join(file))?;
            options.extend([name.to_owned(), file]);
        }
    }
    options.extend(global.trust_project.then(|| "--trust-project".to_owned()));
    Ok(options)
}

/// Some editors write it at the start of a file.
const BYTE_ORDER_MARK: &str = "\u{feff}";
