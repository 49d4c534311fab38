//! The user's state folder: which data folders are registered, and what is approved.

use waypost_project::{Approvals, Settings};

use super::Finding;
use crate::commands::allow;
use crate::failure::Failure;
use crate::program::Program;
use crate::visible::exact;

const PROJECTS: &str = "projects";
const APPROVAL: &str = "approval";

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
        Ok(aside) => aside.map(|it| {
            let detail = format!("moved away: {}; no data folder is registered now", it.display());
            let hint = "`ctl allow --data` in each of your projects registers its data folder";
            Finding::warning(PROJECTS, detail, hint)
        }),
        Err(error) => Some(Finding::fault(PROJECTS, &Failure::from(error))),
    }
}

/// Checks for pending approvals, and whether the data folder is this project's, so that it may be
/// opened.
pub(super) fn check(program: &Program, settings: &Settings) -> (Vec<Finding>, bool) {
    if settings.trust_project {
        return (
            vec![Finding::ok(APPROVAL, "everything in the project is treated as approved")],
            true,
        );
    }
    let mut findings = Vec::new();
    let mut is_ours = true;
    if let Some(pending) = settings.pending() {
        findings.push(Finding::warning(APPROVAL, pending.to_string(), "`ctl allow`"));
    }
    let state = match Program::state_dir() {
        Ok(state) => state,
        Err(failure) => return (vec![Finding::fault(APPROVAL, &failure)], false),
    };
    if let Err(failure) = program.refuse_tracked() {
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
        Ok((files, problems)) => {
            if !files.is_empty() {
                let files: Vec<_> = files.iter().map(|it| exact(it.as_bytes())).collect();
                let detail = format!("flows do not run: {} is pending approval", files.join(", "));
                findings.push(Finding::warning(APPROVAL, detail, "`ctl allow`"));
            }
            findings.extend(problems.into_iter().map(|(file, problem)| {
                let file = exact(file.as_bytes());
                let detail = format!("flows of {file} do not run: {}", exact(problem.as_bytes()));
                Finding::warning(APPROVAL, detail, format!("correct it, then `ctl allow {file}`"))
            }));
        }
        Err(failure) => findings.push(Finding::fault(APPROVAL, &failure)),
    }
    if findings.is_empty() {
        findings.push(Finding::ok(APPROVAL, "nothing is pending"));
    }
    (findings, is_ours)
}
