//! The recall log of the data folder.

use std::path::Path;

use waypost_cli::failure::Failure;
use waypost_cli::show;
use waypost_log::{Error, FolderLock, Witness};

use super::Finding;
use super::stores::{mended, verdicts};

pub(super) const PART: &str = "recall";
const LOST: &str = "a session may get a memory again; what was said before the next start and is not recorded yet is left out, because it may have been deleted";

/// Checks the recall log, or repairs it.
pub(super) fn check(data_dir: &Path, repair: bool) -> Vec<Finding> {
    let _lock = match FolderLock::take(data_dir) {
        Ok(lock) => lock,
        Err(Error::Locked { .. }) if !repair => {
            return vec![Finding::ok(PART, "in use; checked only while no service is running")];
        }
        Err(error) => return vec![Finding::fault(PART, &Failure::of(&error))],
    };
    let dir = data_dir.join("recall/log");
    // A witness that cannot be read has a finding of its own.
    let known = Witness::read(data_dir).map_or(0, |witness| witness.get(PART));
    let findings = if repair { repaired(&dir, known) } else { checked(&dir, known) };
    findings.unwrap_or_else(|error| vec![Finding::fault(PART, &Failure::of(&error))])
}

fn checked(dir: &Path, known: u64) -> waypost_recall::Result<Vec<Finding>> {
    let found = waypost_recall::verify(dir, known)?;
    let records = show::count(found.records, "record", "records");
    let detail = format!("{records}, all valid, in {}", dir.display());
    Ok(verdicts(PART, &found.damage, &[], detail))
}

fn repaired(dir: &Path, known: u64) -> waypost_recall::Result<Vec<Finding>> {
    let repaired = waypost_recall::repair(dir, known)?;
    let kept = show::count(repaired.kept, "record", "records");
    let mut findings = vec![Finding::ok(PART, format!("{kept} kept"))];
    findings.extend(mended(PART, &repaired.set_aside, LOST));
    Ok(findings)
}
