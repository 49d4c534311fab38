//! The layout of the data folder: its version and its folders.

use std::fs;
use std::path::{Path, PathBuf};

use waypost_projection::files::{sync_dir, write_synced};

use crate::{Error, Result};

/// The version of the data folder's layout.
const FORMAT: u32 = 1;
const FORMAT_NAME: &str = "waypost-data";
const FORMAT_ASIDE: &str = "format.damaged";

/// The folders of a store.
#[derive(Debug, Clone)]
pub(crate) struct Folders {
    pub(crate) data: PathBuf,
    pub(crate) memory: PathBuf,
    pub(crate) log: PathBuf,
    pub(crate) state: PathBuf,
    pub(crate) index: PathBuf,
    pub(crate) vectors: PathBuf,
}

impl Folders {
    pub(crate) fn new(data: &Path) -> Self {
        let memory = data.join("memory");
        Self {
            data: data.to_path_buf(),
            log: memory.join("log"),
            state: memory.join("state"),
            index: memory.join("index"),
            vectors: memory.join("vectors"),
            memory,
        }
    }

    /// The folder to which an unusable state is moved for diagnosis.
    pub(crate) fn state_aside(&self) -> PathBuf {
        self.memory.join("state.aside")
    }
}

/// What is wrong with a `format` file without a version, and where [`mend_format`] moves it.
pub(crate) fn format_damage(data: &Path) -> Result<Option<String>> {
    match check_format(data) {
        Err(Error::Damaged(why)) => {
            Ok(Some(format!("{why}; it is in {} now", data.join(FORMAT_ASIDE).display())))
        }
        checked => checked.map(|()| None),
    }
}

/// Sets a `format` file without a version aside and writes the current one. Every log contains its
/// own version, so a newer store is still detected.
pub(crate) fn mend_format(data: &Path) -> Result<()> {
    let path = data.join("format");
    fs::rename(&path, data.join(FORMAT_ASIDE)).map_err(|error| Error::io(&path, error))?;
    check_format(data)
}

/// Checks the version of a data folder's layout; a new folder gets the current one.
///
/// # Errors
/// [`Error::Newer`] for the layout of a newer release, [`Error::Damaged`] for a file without a
/// version, [`Error::Io`].
pub(crate) fn check_format(data: &Path) -> Result<()> {
    if !has_format(data)? {
        write_synced(&data.join("format"), format!("{FORMAT_NAME} {FORMAT}\n").as_bytes())?;
        sync_dir(data)?;
    }
    Ok(())
}

/// Checks the version of a data folder's layout, and returns whether there is one.
pub(crate) fn has_format(data: &Path) -> Result<bool> {
    let path = data.join("format");
    let text = match waypost_log::read_small(&path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(Error::io(path, error)),
    };
    let found = text.trim();
    let version = found.strip_prefix(FORMAT_NAME).and_then(|rest| rest.trim().parse::<u32>().ok());
    match version {
        Some(FORMAT) => Ok(true),
        Some(version) if version > FORMAT => {
            Err(Error::Newer { found: format!("the store (`{found}`)"), known: FORMAT })
        }
        // A power cut in the first start can leave an empty file.
        None if found.is_empty() => Ok(false),
        _ => Err(Error::Damaged(format!(
            "{} does not name a format of this store; expected `{FORMAT_NAME} {FORMAT}`",
            path.display()
        ))),
    }
}
