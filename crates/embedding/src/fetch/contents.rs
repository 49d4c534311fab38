//! The files of a model in a folder or an archive: where they are, and their copy.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::files::{self, MODULES, POOLING, PROMPTS, REQUIRED, SENTENCE, TOKENIZER_SETTINGS};
use crate::{Error, Result};

/// The files taken from a folder or an archive; all others are ignored.
pub(super) const TAKEN: [&str; 8] = [
    REQUIRED[0],
    REQUIRED[1],
    REQUIRED[2],
    POOLING,
    MODULES,
    SENTENCE,
    TOKENIZER_SETTINGS,
    PROMPTS,
];

/// The one folder at or below `path` that contains a model's files.
pub(super) fn find_folder(path: &Path) -> Result<PathBuf> {
    const LEVELS: usize = 4;
    let mut names = BTreeSet::new();
    list(path, "", LEVELS, &mut names)?;
    root_of(&names).map(|root| path.join(root)).map_err(|reason| no_model(path, reason))
}

/// Lists the files in a folder, and those some levels below it. A name that is not text is none of a
/// model's.
fn list(folder: &Path, above: &str, levels: usize, names: &mut BTreeSet<String>) -> Result<()> {
    let io = |error| Error::io("read", folder, error);
    for entry in fs::read_dir(folder).map_err(io)? {
        let entry = entry.map_err(io)?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let (name, path) = (format!("{above}{name}"), entry.path());
        if path.is_file() {
            names.insert(name);
        } else if levels > 0 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            list(&path, &format!("{name}/"), levels - 1, names)?;
        }
    }
    Ok(())
}

/// The one folder, with its slash, that contains a model's files, given the paths of all files.
pub(super) fn root_of(files: &BTreeSet<String>) -> Result<String, String> {
    let folder = |name| REQUIRED.iter().find_map(|file| str::strip_suffix(name, file));
    let folders: BTreeSet<&str> = files
        .iter()
        .filter_map(|name| folder(name))
        .filter(|root| root.is_empty() || root.ends_with('/'))
        .collect();
    let missing = |root: &str| -> Vec<&str> {
        REQUIRED.into_iter().filter(|file| !files.contains(&format!("{root}{file}"))).collect()
    };
    let mut roots: Vec<&str> =
        folders.iter().copied().filter(|root| missing(root).is_empty()).collect();
    // What is below the folder of a model belongs to it.
    roots.dedup_by(|below, root| below.starts_with(*root));
    match roots.as_slice() {
        [root] => Ok((*root).to_owned()),
        [first, second, ..] => Err(format!(
            "several folders have one, such as \"{}\" and \"{}\"; \
             name one of them, which an archive has to be unpacked for",
            first.escape_default(),
            second.escape_default()
        )),
        [] => Err(folders.iter().min_by_key(|root| missing(root).len()).map_or_else(
            || "no folder in it has config.json, tokenizer.json and model.safetensors".to_owned(),
            |root| {
                let folder = match root.trim_end_matches('/') {
                    "" => "its top level".to_owned(),
                    folder => format!("its folder \"{}\"", folder.escape_default()),
                };
                format!(
                    "{folder} has no {}; \
                     a model has config.json, tokenizer.json and model.safetensors",
                    missing(root).join(" and no ")
                )
            },
        )),
    }
}

/// Copies the model's files, each no longer than the limit of its kind.
pub(super) fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    for file in TAKEN {
        let path = from.join(file);
        let source = match files::open(&path) {
            Ok(source) => source,
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                continue;
            }
            Err(error) => return Err(error),
        };
        let metadata = source.metadata().map_err(|error| Error::io("read", &path, error))?;
        copy(source, metadata.len(), &path, &to.join(file), files::bytes_max(file))?;
    }
    Ok(())
}

/// Copies at most `bytes_max` bytes to a new file; more is an error that names `origin`, before
/// anything is written if the declared `length` says so.
pub(super) fn copy(
    source: impl Read,
    length: u64,
    origin: &Path,
    to: &Path,
    bytes_max: u64,
) -> Result<()> {
    let too_long = || Error::damaged(origin, format!("it is longer than {bytes_max} bytes"));
    if length > bytes_max {
        return Err(too_long());
    }
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(|error| Error::io("create", parent, error))?;
    }
    let mut target = File::create(to).map_err(|error| Error::io("write", to, error))?;
    let copied = std::io::copy(&mut source.take(bytes_max.saturating_add(1)), &mut target)
        .map_err(|error| Error::io("copy", origin, error))?;
    if copied > bytes_max { Err(too_long()) } else { Ok(()) }
}

pub(super) fn no_model(path: &Path, reason: impl Into<String>) -> Error {
    Error::NoModel { path: path.to_owned(), reason: reason.into() }
}
