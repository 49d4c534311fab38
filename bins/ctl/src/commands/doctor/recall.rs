//! The recall log of the data folder.

use std::path::Path;

use waypost_log::{Error, FolderLock};

use super::Finding;
use super::stores::mended;
use crate::commands::show;
use crate::failure::{Failure, REPAIR};

pub(super) const PART: &str = "recall";
const LOST: &str = "a session may get a memory again, and its transcript is read from an earlier position, which stores no turn twice";

/// Checks the recall log, or repairs it. The service has no other place for what it lost.
pub(super) fn check(data_dir: &Path, repair: bool) -> Vec<Finding> {
    let _lock = match FolderLock::take(data_dir) {
        Ok(lock) => lock,
        Err(Error::Locked { .. }) if !repair => {
            return vec![Finding::ok(PART, "in use; checked only while no service is running")];
        }
        Err(error) => return vec![Finding::fault(PART, &Failure::of(&error))],
    };
    let dir = data_dir.join("recall/log");
    let findings = if repair { repaired(&dir) } else { checked(&dir) };
    findings.unwrap_or_else(|error| vec![Finding::fault(PART, &Failure::of(&error))])
}

fn checked(dir: &Path) -> waypost_recall::Result<Vec<Finding>> {
    let found = waypost_recall::verify(dir)?;
    if found.damage.is_empty() {
        let records = show::count(found.records, "record", "records");
        return Ok(vec![Finding::ok(PART, format!("{records}, all valid, in {}", dir.display()))]);
    }
    let hint = format!("{REPAIR}; so does the next start of the service");
    let fault = |it: String| Finding::fault(PART, &Failure::new(it).with_hint(&*hint));
    Ok(found.damage.into_iter().map(fault).collect())
}

fn repaired(dir: &Path) -> waypost_recall::Result<Vec<Finding>> {
    let repaired = waypost_recall::repair(dir)?;
    let kept = show::count(repaired.kept, "record", "records");
    let mut findings = vec![Finding::ok(PART, format!("{kept} kept"))];
    findings.extend(mended(PART, &repaired.set_aside, LOST));
    Ok(findings)
}
