//! Checks that the stores of an unpacked backup fit each other.

use std::fs;
use std::path::Path;

use waypost_cli::failure::{Failure, Result};

use crate::maintenance::failure::of_flows;

/// The logs, and what shows that a backup had one: the service creates all of them at its first start,
/// and a program that uses the memory as a library only that of memories.
const LOGS: [(&str, &[&str]); 3] = [
    ("memory/log", &["memory/vectors", "events/log", "flows/log"]),
    ("events/log", &["flows/log"]),
    ("flows/log", &["events/log"]),
];

/// Rejects stores of which a whole log is missing, or a `last_event` before one that flows have
/// processed. Each log by itself must be sound.
pub(super) fn check(part: &Path, last_event: u64) -> Result<()> {
    for (log, others) in LOGS {
        let other = others.iter().find(|other| has_log(&part.join(other)));
        if let Some(other) = other.filter(|_| !has_log(&part.join(log))) {
            return Err(Failure::new(format!("{log} is missing, although {other} is there")));
        }
    }
    let cursor =
        waypost_flows::verify(&part.join("flows"), 0).map_err(|error| of_flows(&error))?.cursor;
    if cursor > last_event {
        return Err(Failure::new(format!(
            "events/log ends at event {last_event}, but flows have processed events up to {cursor}"
        )));
    }
    Ok(())
}

/// Whether a folder has a segment of a log.
fn has_log(folder: &Path) -> bool {
    let Ok(files) = fs::read_dir(folder) else { return false };
    files.flatten().any(|file| file.path().extension().is_some_and(|extension| extension == "log"))
}
