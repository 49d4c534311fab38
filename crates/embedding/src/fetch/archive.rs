//! Models from a zip or a wheel.
//!
//! Only files of known names are written, each to its fixed place and no longer than the limit of
//! its kind, so no path from an archive ever becomes a path on disk. An archive with a path that
//! would leave its folder is rejected altogether: it is malicious.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use zip::ZipArchive;
use zip::result::ZipError;

use super::contents::{self, TAKEN, no_model};
use crate::files;
use crate::{Error, Result};

/// A wheel or an export has dozens of entries; an archive with this many is not a model.
const ENTRIES_MAX: usize = 100_000;

/// Extracts the model of an archive to a folder; reports each file before it is written.
pub(super) fn unpack(path: &Path, to: &Path, starting: &mut dyn FnMut(&str)) -> Result<()> {
    let unreadable = |error: ZipError| match error {
        ZipError::Io(error) => Error::io("read", path, error),
        _ => no_model(path, "it is not a zip file or wheel, or it is truncated or damaged"),
    };
    let file = File::open(path).map_err(|error| Error::io("read", path, error))?;
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(unreadable)?;
    if archive.len() > ENTRIES_MAX {
        return Err(no_model(path, format!("it has {} entries", archive.len())));
    }
    let mut entries = BTreeSet::new();
    for position in 0..archive.len() {
        let Some(name) = archive.name_for_index(position) else { continue };
        let name = name.map_err(unreadable)?.into_owned();
        if leaves_its_folder(&name) {
            let name = name.escape_default();
            return Err(no_model(path, format!("its entry \"{name}\" points outside of it")));
        }
        entries.insert(name);
    }
    let root = contents::root_of(&entries).map_err(|reason| no_model(path, reason))?;
    for taken in TAKEN {
        let name = format!("{root}{taken}");
        if !entries.contains(&name) {
            continue;
        }
        starting(taken);
        let entry = archive.by_name(&name).map_err(unreadable)?;
        let (length, to) = (entry.size(), to.join(taken));
        let copied = contents::copy(entry, length, path, &to, files::bytes_max(taken));
        copied.map_err(|error| match error {
            Error::Io { action: "copy", source, .. } => {
                no_model(path, format!("cannot unpack its {taken} ({source})"))
            }
            other => other,
        })?;
    }
    Ok(())
}

fn leaves_its_folder(name: &str) -> bool {
    let drive = name.as_bytes().get(1) == Some(&b':');
    name.starts_with(['/', '\\'])
        || drive
        || name.contains('\0')
        || name.split(['/', '\\']).any(|part| part == "..")
}
