//! The user's state folder: which data folders are registered, and what is approved.

use std::os::unix::ffi::OsStrExt as _;

use waypost_cli::failure::Failure;
use waypost_cli::program::Program;
use waypost_cli::visible::exact;
use waypost_flows::FileStatus;
use waypost_project::{Approvals, Settings};

use super::Finding;
use crate::maintenance::{allow, refuse_tracked};

const PROJECTS: &str = "projects";
const APPROVAL: &str = "approval";
const FLOW_FILES: &str = "flow files";

/// Whether a newer release wrote the list of projects, or the approvals of this one: nothing may be
/// repaired then.
pub(super) fn is_newer(program: &Program) -> bool {
    let Ok(state) = Program::state_dir() else { return false };
    let checked = waypost_project::check_registry(&state);
    let checked = checked.and_then(|()| Approvals::new(program.project(), &state).list());
    matches!(checked, Err(waypost_project::Error::Newer { .. }))
}

/// Checks the list of the user's projects, and moves it away if it is damaged and `repair` is set.
pub(super) fn registry(repair: bool) -> Option<Finding> {
    // Without a state folder, the approvals say so.
    let state = Program::state_dir().ok()?;
    let aside = if repair { waypost_project::set_registry_aside(&state) } else { Ok(None) };
    let checked = aside.and_then(|aside| {
        waypost_project::check_registry(&state)?;
        Ok(aside)
    });
    match checked {
        Ok(aside) => aside.map(|aside| {
            let detail =
                format!("moved away: {}; no data folder is registered now", aside.display());
            let hint = "`ctl allow --data` in each of your projects registers its data folder";
            Finding::warning(PROJECTS, detail, hint)
        }),
        Err(error) => Some(Finding::fault(PROJECTS, &Failure::from(error))),
    }
}

/// Checks for pending approvals, and whether the data folder is this project's, so that it may be
/// opened.
pub(super) fn check(program: &Program, settings: &Settings) -> (Vec<Finding>, bool) {
    let mut findings = inactive(program, settings);
    if settings.trust_project {
        findings.push(Finding::ok(APPROVAL, "everything in the project is treated as approved"));
        return (findings, true);
    }
    let mut is_ours = true;
    if let Some(pending) = settings.pending() {
        findings.push(Finding::warning(APPROVAL, pending.to_string(), "`ctl allow`"));
    }
    let state = match Program::state_dir() {
        Ok(state) => state,
        Err(failure) => {
            findings.push(Finding::fault(APPROVAL, &failure));
            return (findings, false);
        }
    };
    if let Err(failure) = refuse_tracked(program) {
        is_ours = false;
        findings.push(Finding::fault(APPROVAL, &failure));
    }
    let checked = waypost_project::check_data(program.project(), &settings.data_dir, &state);
    if let Err(error) = checked {
        is_ours = false;
        findings.push(Finding::fault(APPROVAL, &Failure::from(error)));
    }
    if let Err(error) = Approvals::new(program.project(), &state).list() {
        findings.push(Finding::fault(APPROVAL, &Failure::from(error)));
    }
    match allow::pending_flows(program) {
        Ok(files) if files.is_empty() => {}
        Ok(files) => {
            let files: Vec<_> = files.iter().map(|file| exact(file.as_bytes())).collect();
            let are = if files.len() == 1 { "is" } else { "are" };
            let detail = format!("flows do not run: {} {are} pending approval", files.join(", "));
            findings.push(Finding::warning(APPROVAL, detail, "`ctl allow`"));
        }
        Err(failure) => findings.push(Finding::fault(APPROVAL, &failure)),
    }
    if findings.is_empty() {
        findings.push(Finding::ok(APPROVAL, "nothing is pending"));
    }
    (findings, is_ours)
}

/// The flow files that are not active for another reason than a pending approval.
fn inactive(program: &Program, settings: &Settings) -> Vec<Finding> {
    let project = program.project();
    let folder = project.flows_dir();
    let mut loader = allow::loader(program);
    loader.load();
    let finding = |status: &FileStatus| {
        let problem = exact(status.problem.as_ref()?.to_string().as_bytes());
        // The folder itself has its path in the project.
        let is_folder = status.name.contains('/');
        let path =
            if is_folder { project.root().join(&status.name) } else { folder.join(&status.name) };
        let file = path.strip_prefix(project.root()).unwrap_or(&path);
        let file = exact(file.as_os_str().as_bytes());
        let allow = if settings.trust_project || is_folder {
            String::new()
        } else {
            format!(", then `ctl allow {file}`")
        };
        let detail = format!("flows of {file} do not run: {problem}");
        Some(Finding::warning(FLOW_FILES, detail, format!("correct it{allow}")))
    };
    loader.status().iter().filter_map(finding).collect()
}
