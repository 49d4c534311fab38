//! One layout.

use std::fs;
use std::path::Path;

use waypost_derived::files::{sync_dir, write_synced};

use crate::{Error, Result};

/// The version of the data folder's layout.
const FORMAT: u32 = 1;
const FORMAT_NAME: &str = "waypost-data";

/// Checks the layout's version; a new folder gets the present one.
pub(crate) fn check_format(data: &Path) -> Result<()> {
    let path = data.join("format");
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            write_synced(&path, format!("{FORMAT_NAME} {FORMAT}\n").as_bytes())?;
            return Ok(sync_dir(data)?);
        }
        Err(error) => return Err(Error::io(path, error)),
    };
    let found = text.trim();
    let version = found.strip_prefix(FORMAT_NAME).and_then(|it| it.trim().parse::<u32>().ok());
    match version {
        Some(FORMAT) => Ok(()),
        Some(version) if version > FORMAT => {
            Err(Error::Newer { found: format!("the store (`{found}`)"), known: FORMAT })
        }
        // A power cut in the first start can leave an empty file.
        None if found.is_empty() => {
            Ok(write_synced(&path, format!("{FORMAT_NAME} {FORMAT}\n").as_bytes())?)
        }
        _ => Err(Error::Damaged(format!(
            "{} does not name a format of this store; it should say `{FORMAT_NAME} {FORMAT}`",
            path.display()
        ))),
    }
}
