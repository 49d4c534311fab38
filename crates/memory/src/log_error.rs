//! Converts errors of the logs into errors of the store.

use std::path::Path;

use waypost_log::Damage;

use crate::Error;
use crate::record::RECORD_VERSION;

/// Names of the store's logs, as they are below the data folder.
pub(crate) const LOG: &str = "memory/log";
pub(crate) const VECTORS: &str = "memory/vectors";

/// The store's error for an error of the log of vectors.
pub(crate) fn vectors_error(error: &waypost_log::Error, dir: &Path) -> Error {
    match error {
        waypost_log::Error::Damaged(damage) => Error::Damaged(format!(
            "the vectors are damaged: {}; the next start removes them, and they are made again",
            Damage::describe_all(damage, VECTORS, "sequence")
        )),
        error => log_error(error, dir),
    }
}

/// The store's error for an error of a log.
pub(crate) fn log_error(error: &waypost_log::Error, dir: &Path) -> Error {
    match error {
        waypost_log::Error::Full => Error::Full("no space for the log; nothing was written".into()),
        waypost_log::Error::Poisoned | waypost_log::Error::Gone(_) => {
            Error::Unavailable(error.to_string())
        }
        waypost_log::Error::Damaged(damage) => Error::Damaged(format!(
            "the log is damaged: {}",
            Damage::describe_all(damage, LOG, "sequence")
        )),
        waypost_log::Error::ReadOnly { path, source, .. }
        | waypost_log::Error::Io { path, source, .. } => {
            Error::io(path, std::io::Error::new(source.kind(), source.to_string()))
        }
        waypost_log::Error::TooLarge { .. } => Error::invalid("content", error.to_string()),
        waypost_log::Error::Newer { segment, version, supported } => {
            let file = dir.join(segment);
            let found = format!("{} with version {version}", file.display());
            Error::Newer { found, known: *supported }
        }
        waypost_log::Error::NewerRecord { sequence, kind, version } => Error::Newer {
            found: format!(
                "record {sequence} in {} (kind {kind}, version {version})",
                dir.display()
            ),
            known: u32::from(RECORD_VERSION),
        },
        waypost_log::Error::Locked { path, pid } => {
            Error::Locked { path: path.clone(), pid: pid.clone() }
        }
        _ => Error::io(dir, std::io::Error::other(error.to_string())),
    }
}
