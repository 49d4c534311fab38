//! `allow`: approves files of the project. It works on the files themselves, and needs no service.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use waypost_api::client::Error;
use waypost_api::routes;
use waypost_cli::failure::{Failure, Result};
use waypost_cli::maintenance::{AllowArgs, FlowsAllowArgs};
use waypost_cli::output::{Look, Output};
use waypost_cli::program::Program;
use waypost_cli::review::{READ_FIRST, is_wanted, refuse_unknown, show_difference};
use waypost_cli::show;
use waypost_cli::visible::exact;
use waypost_flows::{Approvable, Loader};
use waypost_log::FolderLock;
use waypost_project::{Adopted, Approvals, Project, sha256};

/// Longer contents are not shown, and are approved by their hashes only.
const SHOWN_BYTES_MAX: usize = 1 << 20;
const CONFIG_BYTES_MAX: u64 = 1 << 20;
/// How long to wait for a running service to read the approvals.
const TELL_TIME_MAX: Duration = Duration::from_secs(3);

/// A file that can be approved, with the content that was read.
#[derive(Debug, Clone)]
struct Part {
    file: String,
    content: Arc<[u8]>,
    sha256: String,
    /// A description.
    what: String,
    /// The files that a flow file's commands name, and that its approval does not cover.
    not_covered: BTreeSet<String>,
}

impl Part {
    /// The file's name for display.
    fn name(&self) -> String {
        exact(self.file.as_bytes())
    }

    /// Whether the user sees the whole content before approving it.
    fn is_shown(&self) -> bool {
        self.content.len() <= SHOWN_BYTES_MAX
    }
}

impl From<Approvable> for Part {
    fn from(it: Approvable) -> Self {
        let flows: Vec<String> = it.named_by.into_iter().collect();
        let what = match flows.len() {
            0 => "flow file".to_owned(),
            _ => format!("file of {}", flows.join(", ")),
        };
        let (sha256, not_covered) = (it.hash.to_string(), it.not_covered);
        Self { file: it.file, content: it.content, sha256, what, not_covered }
    }
}

/// Files that cannot be approved, each with the reason.
type Problems = Vec<(String, String)>;

/// The files that need approval.
#[derive(Debug, Default)]
struct Found {
    parts: Vec<Part>,
    /// Files that cannot be approved, and why.
    problems: Problems,
}

pub(super) fn run(program: &Program, args: &AllowArgs, output: &mut Output) -> Result<()> {
    let state = Program::state_dir()?;
    let approvals = Approvals::new(program.project(), &state);
    if args.data {
        return data(program, &state, output);
    }
    if args.list {
        return list(program, &approvals, output);
    }
    if args.revoke {
        return revoke(program, &args.files, &approvals, output);
    }
    allow(program, args, &approvals, output)
}

/// Approves a flow file.
pub(super) fn flow(program: &Program, args: FlowsAllowArgs, output: &mut Output) -> Result<()> {
    let FlowsAllowArgs { file, yes, sha256 } = args;
    let file = program.project().flows_dir().join(file);
    if !file.exists() {
        return Err(Failure::not_found(format!("no flow file {}", file.display())));
    }
    let (revoke, list, data) = (false, false, false);
    run(program, &AllowArgs { files: vec![file], yes, sha256, revoke, list, data }, output)
}

fn allow(
    program: &Program,
    args: &AllowArgs,
    approvals: &Approvals,
    output: &mut Output,
) -> Result<()> {
    if let Err(error @ waypost_project::Error::DamagedApprovals { .. }) = approvals.list() {
        output.warn(&error.to_string());
    }
    let found = selected(program, &args.files)?;
    for (file, problem) in &found.problems {
        output.warn(&format!("cannot approve {}: {problem}", exact(file.as_bytes())));
    }
    let mut pending = Vec::new();
    for part in found.parts {
        if !approvals.has(&part.file, &part.sha256)? {
            pending.push(part);
        }
    }
    if !found.problems.is_empty() && !args.files.is_empty() {
        return Err(Failure::new("nothing was approved"));
    }
    if pending.is_empty() {
        refuse_unknown(&args.sha256, everything(program).parts.iter().map(|part| &*part.sha256))?;
        output.answer(&json!([]), "nothing is pending approval")?;
        return Ok(());
    }
    let mut reported = Vec::new();
    for part in &pending {
        let before = approvals.last(&part.file)?;
        reported.push(json!({
            "file": part.file,
            "sha256": part.sha256,
            "state": if before.is_some() { "changed" } else { "new" },
            "notCovered": part.not_covered,
        }));
        if !output.is_json() {
            present(part, before.as_deref(), output)?;
        }
    }
    output.flush()?;
    refuse_unshown(&pending, args)?;
    confirm(&pending, &everything(program).parts, args, output)?;
    // Only the shown content is approved: a file that has changed since is an error.
    for part in &pending {
        let now = everything(program).parts.into_iter().find(|other| other.file == part.file);
        if now.is_none_or(|now| now.sha256 != part.sha256) {
            let why = format!("{} changed after it was shown; nothing was approved", part.name());
            return Err(Failure::new(why).with_hint("run `ctl allow` again"));
        }
    }
    let contents: Vec<(&str, &[u8])> =
        pending.iter().map(|pending| (pending.file.as_str(), pending.content.as_ref())).collect();
    approvals.allow(&contents)?;
    tell_service(program, "the approval is stored", output);
    if output.json(&reported)? {
        return Ok(());
    }
    for part in &pending {
        output.line(&format!("approved {}", part.name()))?;
    }
    Ok(())
}

/// The flow files.
pub(super) fn loader(program: &Program) -> Loader {
    let project = program.project();
    Loader::new(project.root(), &project.flows_dir(), None)
}

/// The project's `config.yaml`, the flow files, and the programs that they name.
fn everything(program: &Program) -> Found {
    let project = program.project();
    let mut found = Found::default();
    match waypost_project::read_of_project(project.root(), Project::CONFIG_FILE, CONFIG_BYTES_MAX) {
        Ok(None) => {}
        Ok(Some(bytes)) => found.parts.push(Part {
            file: Project::CONFIG_FILE.to_owned(),
            sha256: sha256(&bytes),
            content: bytes.into(),
            what: "settings".to_owned(),
            not_covered: BTreeSet::new(),
        }),
        Err(error) => found.problems.push((Project::CONFIG_FILE.to_owned(), error.to_string())),
    }
    for (file, parts) in loader(program).approvable(None) {
        match parts {
            Err(problem) => found.problems.push((file, problem.to_string())),
            Ok(parts) => {
                for part in parts {
                    if !found.parts.iter().any(|other| other.file == part.file) {
                        found.parts.push(part.into());
                    }
                }
            }
        }
    }
    found
}

/// The flow files and programs that are pending approval.
pub(super) fn pending_flows(program: &Program) -> Result<Vec<String>> {
    let approvals = Approvals::new(program.project(), &Program::state_dir()?);
    let mut pending = Vec::new();
    for part in everything(program).parts {
        if part.file != Project::CONFIG_FILE && !approvals.has(&part.file, &part.sha256)? {
            pending.push(part.file);
        }
    }
    Ok(pending)
}

/// The named files, else everything that needs approval.
fn selected(program: &Program, files: &[PathBuf]) -> Result<Found> {
    let mut found = everything(program);
    if files.is_empty() {
        // Skip settings that need no approval.
        let waits = program.preview()?.pending().is_some();
        found.parts.retain(|part| part.file != Project::CONFIG_FILE || waits);
        return Ok(found);
    }
    let names = files.iter().map(|file| name_of(program, file)).collect::<Result<Vec<_>>>()?;
    let mut wanted = names.clone();
    for (file, parts) in loader(program).approvable(None) {
        // A flow file includes its programs.
        if names.contains(&file) {
            wanted.extend(parts.into_iter().flatten().map(|part| part.file));
        }
    }
    for name in &names {
        let exists = found.parts.iter().any(|part| part.file == *name)
            || found.problems.iter().any(|(file, _)| file == name);
        if !exists {
            return Err(Failure::not_found(format!("{} does not need approval", exact(name.as_bytes())))
                .with_hint("only .waypost/config.yaml, the flow files in .waypost/flows, and files of the project that a flow names as its program need approval"));
        }
    }
    found.parts.retain(|part| wanted.contains(&part.file));
    found.problems.retain(|(file, _)| wanted.contains(file));
    Ok(found)
}

/// The name of an existing file, relative to the project.
fn name_of(program: &Program, file: &Path) -> Result<String> {
    let project = program.project();
    let places = [
        program.current_dir().join(file),
        project.root().join(file),
        project.flows_dir().join(file),
    ];
    // The location of the file itself, not of a link's target.
    let named = places.iter().find_map(|place| {
        place.symlink_metadata().ok()?;
        let folder = place.parent()?.canonicalize().ok()?;
        let path = folder.join(place.file_name()?);
        Some(path.strip_prefix(project.root()).ok()?.to_str()?.to_owned())
    });
    named.ok_or_else(|| Failure::not_found(format!("no file {} in the project", shown_path(file))))
}

fn shown_path(path: &Path) -> String {
    exact(path.as_os_str().as_bytes())
}

fn present(part: &Part, before: Option<&[u8]>, output: &mut Output) -> Result<()> {
    let state = if before.is_some() { "changed" } else { "new" };
    let about = format!("  {state} {}, SHA-256 {}", part.what, part.sha256);
    output.styled(&[(Look::Name, &part.name()), (Look::Dim, &exact(about.as_bytes()))])?;
    if !part.is_shown() {
        let size = format!("  too long to show: {} bytes", part.content.len());
        output.styled(&[(Look::Warn, &size)])?;
        return Ok(());
    }
    show_difference(before.unwrap_or_default(), &part.content, output)?;
    for file in &part.not_covered {
        output.styled(&[
            (Look::Warn, "  names, but the approval does not cover (list it in files:): "),
            (Look::Plain, &exact(file.as_bytes())),
        ])?;
    }
    Ok(())
}

/// Rejects a file that was not shown in full, unless its hash was given.
fn refuse_unshown(pending: &[Part], args: &AllowArgs) -> Result<()> {
    let unshown = pending.iter().find(|pending| !pending.is_shown());
    match unshown.filter(|_| args.sha256.is_empty()) {
        None => Ok(()),
        Some(part) => {
            Err(Failure::new(format!("{} is too long to show; nothing was approved", part.name()))
                .with_hint(READ_FIRST))
        }
    }
}

fn confirm(pending: &[Part], known: &[Part], args: &AllowArgs, output: &mut Output) -> Result<()> {
    if !args.sha256.is_empty() {
        for part in pending {
            if !args.sha256.iter().any(|sha256| sha256.eq_ignore_ascii_case(&part.sha256)) {
                return Err(Failure::new(format!(
                    "{} has the SHA-256 {}, which was not among those given; nothing was approved",
                    part.name(),
                    part.sha256
                )));
            }
        }
        return refuse_unknown(&args.sha256, known.iter().map(|known| &*known.sha256));
    }
    if args.yes {
        return Ok(());
    }
    let files = show::count(pending.len() as u64, "file", "files");
    if is_wanted(&format!("approve {files} as shown?"), output)? {
        return Ok(());
    }
    Err(Failure::new("nothing was approved"))
}

fn data(program: &Program, state: &Path, output: &mut Output) -> Result<()> {
    let data_dir = program.preview()?.data_dir.clone();
    crate::maintenance::refuse_tracked(program)?;
    program.project().prepare()?;
    let _lock = lock_unregistered(program, &data_dir, state)?;
    let adopted = waypost_project::adopt_data(program.project(), &data_dir, state)?;
    let said = match adopted {
        Adopted::Known => "is already registered for this project",
        Adopted::Registered => "is now registered for this project",
        Adopted::Copied => {
            "is now registered for this project, with a new id because it was a copy"
        }
    };
    if output.is_json() {
        let adopted = format!("{adopted:?}").to_lowercase();
        output.document(&json!({ "dataDir": data_dir, "registered": adopted }))?;
    } else {
        output.line(&format!("{} {said}", data_dir.display()))?;
    }
    Ok(())
}

/// Locks a data folder that is not registered for this project: a service that uses it under another
/// path must not lose its id.
fn lock_unregistered(
    program: &Program,
    data_dir: &Path,
    state: &Path,
) -> Result<Option<FolderLock>> {
    let is_folder = data_dir.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
    if !is_folder || waypost_project::check_data(program.project(), data_dir, state).is_ok() {
        return Ok(None);
    }
    let lock = FolderLock::take(data_dir).map_err(|error| {
        Failure::of(&error)
            .while_doing("nothing was registered")
            .with_hint("stop that process, then run `ctl allow --data` again")
    })?;
    Ok(Some(lock))
}

/// Waits until the running service, if there is one, has read the approvals. `stored` says what
/// counts from then on.
fn tell_service(program: &Program, stored: &str, output: &mut Output) {
    let told = program.running_service().and_then(|service| {
        Ok(match service.with_answer_time_max(TELL_TIME_MAX).call(&routes::RESCAN_FLOWS, ()) {
            Ok(_) | Err(Error::NotReachable { .. }) => None,
            Err(Error::NoAnswer { .. }) => Some(format!(
                "the service did not answer within {} seconds: {stored}, and counts once the service answers or is restarted",
                TELL_TIME_MAX.as_secs()
            )),
            Err(error) => return Err(error.into()),
        })
    });
    match told {
        Ok(warning) => warning.iter().for_each(|warning| output.warn(warning)),
        Err(failure) => output.warn(&format!(
            "the running service will notice this within two seconds; it could not be told: {}",
            failure.message()
        )),
    }
}

fn list(program: &Program, approvals: &Approvals, output: &mut Output) -> Result<()> {
    let found = everything(program);
    let approved = approvals.list()?;
    let state = |file: &str, sha256: &str| match found.parts.iter().find(|part| part.file == file) {
        Some(part) if part.sha256 == sha256 => "current",
        Some(_) => "changed since",
        None => "not used",
    };
    if output.is_json() {
        let all: Vec<_> = approved
            .iter()
            .map(|approved| {
                let state = state(&approved.file, &approved.sha256);
                json!({ "file": approved.file, "sha256": approved.sha256, "state": state })
            })
            .collect();
        output.document(&all)?;
        return Ok(());
    }
    if approved.is_empty() {
        output.note("this project has no approved files");
        return Ok(());
    }
    let rows: Vec<_> = approved
        .iter()
        .map(|approved| {
            let state = state(&approved.file, &approved.sha256);
            let look = if state == "current" { Look::Good } else { Look::Dim };
            vec![
                (Look::Name, exact(approved.file.as_bytes())),
                (look, state.to_owned()),
                (Look::Dim, approved.sha256.clone()),
            ]
        })
        .collect();
    output.table(&["FILE", "STATE", "SHA-256"], &rows)
}

fn revoke(
    program: &Program,
    files: &[PathBuf],
    approvals: &Approvals,
    output: &mut Output,
) -> Result<()> {
    let mut revoked = Vec::new();
    for file in files {
        // The file may no longer exist.
        let given = file.to_string_lossy().into_owned();
        let flow = format!(".waypost/flows/{given}");
        let names = [name_of(program, file).unwrap_or_else(|_| given.clone()), given, flow];
        let mut done = None;
        for name in names {
            if done.is_none() && approvals.revoke(&name)? {
                done = Some(name);
            }
        }
        revoked.push(done.ok_or_else(|| {
            Failure::not_found(format!("{} is not approved", shown_path(file)))
                .with_hint("`ctl allow --list` shows approved files")
        })?);
    }
    tell_service(program, "the revocation is stored", output);
    if output.json(&json!({ "revoked": revoked }))? {
        return Ok(());
    }
    for file in revoked {
        output.line(&format!("revoked {}", exact(file.as_bytes())))?;
    }
    Ok(())
}
