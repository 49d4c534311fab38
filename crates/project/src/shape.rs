//! Entries of a data folder that are in the place of something else: a folder where a file belongs,
//! or a file where a folder belongs.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, InTheWay, Result};
use crate::project::io_error;

/// Folders that are created again from the rest.
const DERIVED_FOLDERS: &[&str] = &[
    "memory/state",
    "memory/state.aside",
    "memory/state.copy",
    "memory/index",
    "memory/vectors",
    "events/state",
    "events/state.aside",
    "context",
    "models",
    "mesh",
];
/// The other folders.
const FOLDERS: &[&str] = &[
    "memory",
    "memory/log",
    "events",
    "events/log",
    "flows",
    "flows/log",
    "flows/output",
    "recall",
    "recall/log",
    "pairing",
    "browser",
];
/// Files that are created again from the rest. The logs report their own.
const DERIVED_FILES: &[&str] = &[
    "format",
    "lock",
    "reached",
    "service.json",
    "service.sock",
    "tokens.json.lock",
    "tokens.json.reserve",
    "memory/repairing",
    "memory/index/snapshot",
    "events/lock",
    "events/repairing",
    "flows/lock",
    "flows/begun",
    "flows/repairing",
    "context/lock",
    "context/index",
    "context/vectors",
    "context/history",
];
/// The other files.
const FILES: &[&str] = &["cluster-member", "cluster-begun", "tokens.json", "events/first"];
/// The ends of the names under which a file is written before it is renamed.
const UNFINISHED: [&str; 2] = [".new", ".tmp"];
/// The folder with the numbered files of texts.
const CONTEXT: &str = "context";
const TEXTS: &str = "texts-";

impl InTheWay {
    /// Renames it to an unused name that ends with `.damaged`, and returns that path.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn set_aside(&self) -> Result<PathBuf> {
        let path = &self.path;
        let named = |end: String| PathBuf::from(format!("{}{end}", path.display()));
        let mut aside = named(".damaged".to_owned());
        let mut count = 1;
        while aside.symlink_metadata().is_ok() {
            aside = named(format!("-other-{count}.damaged"));
            count += 1;
        }
        let parent = path.parent().unwrap_or(path);
        fs::rename(path, &aside)
            .and_then(|()| File::open(parent)?.sync_all())
            .map_err(|error| io_error("rename", path, error))?;
        Ok(aside)
    }
}

/// The entries of a data folder that are in the place of something else. A missing folder has none.
///
/// # Errors
/// [`Error::Io`] if the folder cannot be read.
pub fn in_the_way(data_dir: &Path) -> Result<Vec<InTheWay>> {
    let mut found = Vec::new();
    for (names, is_folder, is_derived) in [
        (DERIVED_FOLDERS, false, true),
        (FOLDERS, false, false),
        (DERIVED_FILES, true, true),
        (FILES, true, false),
    ] {
        for name in names {
            look(data_dir.join(name), is_folder, is_derived, &mut found)?;
            for end in UNFINISHED.iter().filter(|_| is_folder) {
                look(data_dir.join(format!("{name}{end}")), true, true, &mut found)?;
            }
        }
    }
    let texts = match fs::read_dir(data_dir.join(CONTEXT)) {
        Ok(entries) => {
            entries.flatten().map(|entry| entry.path()).filter(|path| is_text(path)).collect()
        }
        Err(_) => Vec::new(),
    };
    for path in texts {
        look(path, true, true, &mut found)?;
    }
    Ok(found)
}

/// Rejects a data folder in which something is in the place of something else.
///
/// # Errors
/// [`Error::InTheWay`] for the first such entry, [`Error::Io`].
pub fn check_shape(data_dir: &Path) -> Result<()> {
    in_the_way(data_dir)?.into_iter().next().map_or(Ok(()), |way| Err(Error::InTheWay(way)))
}

fn look(path: PathBuf, is_folder: bool, is_derived: bool, found: &mut Vec<InTheWay>) -> Result<()> {
    match path.symlink_metadata() {
        Ok(it) if it.is_dir() == is_folder => found.push(InTheWay { path, is_folder, is_derived }),
        Ok(_) => {}
        // The folder around it is missing, or is in `found` itself.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
        Err(error) => return Err(io_error("inspect", &path, error)),
    }
    Ok(())
}

fn is_text(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let number = name.and_then(|name| name.strip_prefix(TEXTS));
    number.is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}
