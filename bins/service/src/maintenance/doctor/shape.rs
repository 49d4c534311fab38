//! What is in the place of a file or folder of the data folder.

use std::path::Path;

use waypost_cli::failure::Failure;
use waypost_log::FolderLock;
use waypost_project::{InTheWay, in_the_way};

use super::Finding;

const PART: &str = "data folder";
/// The file that [`FolderLock`] locks.
const LOCK: &str = "lock";

/// The findings: faults, or what was set aside if `repair` is set.
pub(super) fn check(data_dir: &Path, repair: bool) -> Vec<Finding> {
    let found = match in_the_way(data_dir) {
        Ok(found) => found,
        Err(error) => return vec![Finding::fault(PART, &error.into())],
    };
    if found.is_empty() {
        return Vec::new();
    }
    if !repair {
        let fault = |way: &InTheWay| {
            Finding::fault(PART, &Failure::new(way.to_string()).with_hint(way.remedy()))
        };
        return found.iter().map(fault).collect();
    }
    // Without a file to lock, the folder cannot be locked.
    let (locks, others): (Vec<_>, Vec<_>) =
        found.iter().partition(|found| found.path == data_dir.join(LOCK));
    let mut findings: Vec<_> = locks.into_iter().map(set_aside).collect();
    match FolderLock::take(data_dir) {
        Ok(_lock) => findings.extend(others.into_iter().map(set_aside)),
        Err(error) => {
            let hint = "stop the service, then run `ctl doctor --repair` again";
            findings.push(Finding::fault(PART, &Failure::of(&error).with_hint(hint)));
        }
    }
    findings
}

fn set_aside(it: &InTheWay) -> Finding {
    match it.set_aside() {
        Ok(aside) => {
            let hint = if it.is_derived {
                "the next start creates again what belongs there"
            } else {
                "what belongs there is missing: put it back if you have it; what a store has lost with it has lines of its own"
            };
            Finding::warning(PART, format!("{it}; set aside as {}", aside.display()), hint)
        }
        Err(error) => Finding::fault(PART, &error.into()),
    }
}
