//! `doctor`: checks each part separately, so that one fault does not hide the next.

mod approval;
mod models;
mod recall;
mod shape;
mod stores;

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::time::Duration;

use indicatif::HumanBytes;
use rustix::fs::{Access, Mode, access};
use rustix::io::Errno;
use rustix::process::umask;
use serde::Serialize;
use waypost_api::client::Error;
use waypost_api::{StatusKind, routes};
use waypost_auth::TokenStore;
use waypost_cli::failure::{Failure, Result, of_other_user};
use waypost_cli::maintenance::DoctorArgs;
use waypost_cli::membership;
use waypost_cli::output::{Look, Output};
use waypost_cli::program::Program;
use waypost_cli::show;
use waypost_cluster::Member;
use waypost_log::Witness;
use waypost_mesh::Pairing;

/// Free disk space, in bytes, below which `doctor` warns: enough for hours of writes, and for a
/// compaction of a typical store.
const FREE_BYTES_LOW: u64 = 512 << 20;
/// The service refuses writes that would leave less.
const FREE_BYTES_MIN: u64 = 64 << 20;
/// Bytes that a start writes at most.
const START_BYTES: u64 = 16 << 20;
/// How long to wait for a sign of life of the service.
const HEALTH_TIME_MAX: Duration = Duration::from_secs(5);

/// The result of checking one part.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Finding {
    part: &'static str,
    verdict: Verdict,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Ok,
    Warning,
    Fault,
}

/// What is said about the database of a member of a cluster.
const DATABASE: &str = "database";

impl Finding {
    fn ok(part: &'static str, detail: impl Into<String>) -> Self {
        Self { part, verdict: Verdict::Ok, detail: detail.into(), hint: None }
    }

    fn warning(part: &'static str, detail: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { part, verdict: Verdict::Warning, detail: detail.into(), hint: Some(hint.into()) }
    }

    fn fault(part: &'static str, failure: &Failure) -> Self {
        let mut detail = failure.message().to_owned();
        for cause in failure.causes() {
            detail = format!("{detail}: {cause}");
        }
        Self { part, verdict: Verdict::Fault, detail, hint: failure.hint().map(str::to_owned) }
    }
}

pub(super) fn doctor(program: &Program, args: &DoctorArgs, output: &mut Output) -> Result<()> {
    // Files that a check or a repair creates are for this user alone, as those of the service.
    umask(Mode::from_raw_mode(0o077));
    let mut findings = Vec::new();
    findings.push(match program.project().check() {
        Ok(()) => Finding::ok("project", program.project().root().display().to_string()),
        Err(error) => Finding::fault("project", &Failure::from(error)),
    });
    // The approvals of settings depend on it.
    let is_newer = approval::is_newer(program);
    let repair = args.repair && !is_newer;
    findings.extend(approval::registry(repair));
    match program.preview() {
        Ok(settings) => {
            findings.push(Finding::ok("settings", "every value is valid"));
            let (of_approval, is_ours) = approval::check(program, settings);
            findings.extend(of_approval);
            let exposed =
                is_ours.then(|| private(program, &settings.data_dir)).and_then(Result::err);
            let is_safe = is_ours && exposed.is_none() && !is_newer;
            findings.extend(exposed.map(|exposed| Finding::fault("data folder", &exposed)));
            let newer = if is_safe { stores::newer(settings, repair) } else { Vec::new() };
            let is_safe = is_safe && newer.is_empty();
            findings.extend(newer);
            let in_the_way =
                if is_safe { shape::check(&settings.data_dir, repair) } else { Vec::new() };
            let is_safe = is_safe && in_the_way.iter().all(|way| way.verdict != Verdict::Fault);
            findings.extend(in_the_way);
            findings.push(token_file(&settings.token_file));
            if is_safe {
                findings.push(tokens(&settings.tokens_file(), repair));
                findings.extend(pairing(&settings.mesh.pairing_dir));
            }
            findings.push(models::embedding(settings));
            findings.extend(models::reranker(settings));
            findings.push(service(program));
            findings.extend(disk_space(&settings.data_dir));
            if is_safe {
                findings.extend(stores::check(&settings.data_dir, repair));
                findings.extend(super::cluster::check(program).map(|checked| match checked {
                    Ok(detail) => Finding::ok(DATABASE, detail),
                    Err(failure) => Finding::fault(DATABASE, &failure),
                }));
            } else if !is_ours {
                findings.push(stores::refused(repair));
            }
        }
        Err(failure) => findings.push(Finding::fault("settings", &failure)),
    }
    // Several parts may need the same damaged file.
    let mut told = HashSet::new();
    findings
        .retain(|finding| finding.verdict != Verdict::Fault || told.insert(finding.detail.clone()));
    let faults = findings.iter().filter(|finding| finding.verdict == Verdict::Fault).count() as u64;
    if output.is_json() {
        output.document(&findings)?;
    } else {
        for finding in &findings {
            print(finding, output)?;
        }
    }
    if faults > 0 {
        return Err(Failure::new(format!("{} found", show::count(faults, "fault", "faults"))));
    }
    Ok(())
}

/// Closes the data folder to other users and refuses what the service would: links, pipes, and files of
/// others. Nothing in it may be opened before.
pub(super) fn private(program: &Program, data_dir: &Path) -> Result<()> {
    if data_dir.symlink_metadata().is_ok() {
        waypost_project::tighten(data_dir, program.project().owners())?;
    }
    Ok(())
}

fn print(finding: &Finding, output: &mut Output) -> Result<()> {
    let (look, word) = match finding.verdict {
        Verdict::Ok => (Look::Good, "ok      "),
        Verdict::Warning => (Look::Warn, "warning "),
        Verdict::Fault => (Look::Bad, "fault   "),
    };
    let part = format!("{:<12}", finding.part);
    output.styled(&[(look, word), (Look::Bold, &part), (Look::Plain, &finding.detail)])?;
    if let Some(hint) = &finding.hint {
        output.styled(&[
            (Look::Plain, "                    "),
            (Look::Name, "hint: "),
            (Look::Plain, hint),
        ])?;
    }
    Ok(())
}

/// Free space on the disk of the data folder, or of the folder in which it will be created.
fn disk_space(data_dir: &Path) -> Option<Finding> {
    const PART: &str = "disk";
    let there = data_dir.ancestors().find(|folder| folder.exists())?;
    let free = waypost_log::free_bytes(there).ok()?;
    let detail = format!("{} free for the data folder", HumanBytes(free));
    if free >= FREE_BYTES_LOW {
        return Some(Finding::ok(PART, detail));
    }
    if free < FREE_BYTES_MIN {
        let failure = Failure::new(format!("{detail}, and the service refuses writes")).with_hint(format!(
            "make room for {} or more: a write is refused if it would leave less than {}, and a start needs up to {}",
            HumanBytes(FREE_BYTES_MIN - free), HumanBytes(FREE_BYTES_MIN), HumanBytes(START_BYTES)
        ));
        return Some(Finding::fault(PART, &failure));
    }
    let hint = "free disk space: the service refuses writes that would leave less than 64 MiB, and `ctl compact` needs space for the rewritten log";
    Some(Finding::warning(PART, detail, hint))
}

fn token_file(path: &Path) -> Finding {
    const PART: &str = "token file";
    if !path.exists() {
        let detail = format!("{} does not exist", path.display());
        return Finding::warning(
            PART,
            detail,
            "the first start of the service creates it; or pass one with --token-file",
        );
    }
    match waypost_auth::read_token_file(path) {
        Err(error) => {
            let hint = of_other_user(path).unwrap_or_else(|| {
                "remove the file: the next start of the service creates a new token".to_owned()
            });
            let failure = Failure::of(&error).with_hint(hint);
            Finding::fault(PART, &failure.while_doing(format!("cannot use {}", path.display())))
        }
        Ok(file) => match file.open_mode {
            Some(mode) => {
                let detail =
                    format!("{} is readable by other users (mode {mode:03o})", path.display());
                let hint = format!(
                    "run chmod 600 {}, and revoke the token if other people use this machine",
                    path.display()
                );
                Finding::warning(PART, detail, hint)
            }
            None => Finding::ok(PART, path.display().to_string()),
        },
    }
}

/// What to do without the tokens of a cluster.
const JOIN_AGAIN: &str = "put the file back from a backup while the service is stopped; or move the data folder away and run `ctl cluster join`; or, to continue without the cluster, run `ctl cluster leave`";

/// Whose tokens a token file has.
enum Of {
    Machine,
    /// The member file has the shared ones, too.
    Cluster,
    /// The member file has none, or cannot be read.
    ClusterWithoutTokens,
}

fn of_cluster(tokens: &Path) -> Of {
    let data = tokens.parent().unwrap_or(Path::new("."));
    match Member::read(data) {
        Ok(None) => Of::Machine,
        Ok(Some(member)) if !member.tokens.is_empty() => Of::Cluster,
        Ok(Some(_)) | Err(_) => Of::ClusterWithoutTokens,
    }
}

fn unshared(tokens: &Path) -> Option<Failure> {
    membership::unshared(&TokenStore::open(tokens).ok()?).ok()?
}

/// Why a file could not be replaced: its folder is closed, or it is immutable.
fn unwritable(path: &Path) -> Option<io::Error> {
    let folder = path.parent().map_or(Ok(()), |parent| access(parent, Access::WRITE_OK));
    // The mode of the file itself does not count.
    let file = access(path, Access::WRITE_OK)
        .or_else(|error| if error == Errno::ACCESS { Ok(()) } else { Err(error) });
    folder.and(file).err().map(io::Error::from)
}

fn tokens(path: &Path, repair: bool) -> Finding {
    const PART: &str = "tokens";
    if !path.exists() {
        if !path.with_file_name(Witness::FILE).exists() {
            return Finding::ok(PART, "none yet");
        }
        return match of_cluster(path) {
            Of::Machine => Finding::warning(
                PART,
                format!(
                    "{} is missing: no token that was created is valid any more",
                    path.display()
                ),
                "put it back from a backup while the service is stopped; or start the service, which creates a new admin token, and create the others again",
            ),
            Of::Cluster => Finding::warning(
                PART,
                format!("{} is missing", path.display()),
                "start the service: it restores the cluster's tokens, and creates a new admin token",
            ),
            Of::ClusterWithoutTokens => Finding::fault(
                PART,
                &Failure::new(format!(
                    "{} is missing, and the service does not start without the cluster's tokens",
                    path.display()
                ))
                .with_hint(JOIN_AGAIN),
            ),
        };
    }
    match TokenStore::open(path).and_then(|store| store.list()) {
        Ok(tokens) => match (unwritable(path), unshared(path)) {
            (None, None) => Finding::ok(PART, show::count(tokens.len() as u64, "token", "tokens")),
            (None, Some(failure)) => Finding::fault(PART, &failure),
            (Some(error), _) => Finding::fault(
                PART,
                &Failure::new(format!("{} cannot be replaced: {error}", path.display())).with_hint(
                    "allow it: until then, no token can be created or revoked on this machine",
                ),
            ),
        },
        Err(waypost_auth::Error::Corrupt { .. }) if repair => {
            let aside = path.with_extension("json.damaged");
            match std::fs::rename(path, &aside) {
                Ok(()) => {
                    let (what, remedy) = match of_cluster(path) {
                        Of::Machine => (
                            "; all tokens are now invalid",
                            "the next start of the service creates a new admin token; create the others again",
                        ),
                        Of::Cluster => (
                            "",
                            "the next start of the service restores the cluster's tokens, and creates a new admin token",
                        ),
                        Of::ClusterWithoutTokens => (
                            "; the service does not start without the cluster's tokens",
                            JOIN_AGAIN,
                        ),
                    };
                    Finding::warning(PART, format!("set aside: {}{what}", aside.display()), remedy)
                }
                Err(error) => {
                    let what = format!("cannot rename {}: {error}", path.display());
                    Finding::fault(PART, &Failure::new(what))
                }
            }
        }
        Err(error) => Finding::fault(PART, &Failure::from(error)),
    }
}

/// What is wrong with the pairing of this machine with others.
fn pairing(folder: &Path) -> Option<Finding> {
    let failure = Failure::of(&Pairing::open(folder).err()?);
    let mut finding = Finding::fault("pairing", &failure);
    finding.verdict = Verdict::Warning;
    finding.hint = Some(format!(
        "the service runs without the mesh until {} is restored; or remove that folder and pair the machines again: `ctl mesh pair`",
        folder.display()
    ));
    Some(finding)
}

/// The state according to the service. It may be another project's service: the store's own lock
/// shows whether the store is open.
fn service(program: &Program) -> Finding {
    const PART: &str = "service";
    let client = match program.client() {
        Ok(client) => client,
        // The token file is checked separately; whether a service is running is useful in any case.
        Err(failure) => {
            match program.settings().and_then(|setting| program.connect(&setting.url, None)) {
                Ok(client) => client,
                _ => return Finding::fault(PART, &failure),
            }
        }
    };
    match client.clone().with_answer_time_max(HEALTH_TIME_MAX).call(&routes::LIVE, ()) {
        Err(error @ Error::NotReachable { .. }) => {
            let hint = "start it with `service`, or pass its address with --url";
            return Finding::warning(PART, error.to_string(), hint);
        }
        Err(error) => return Finding::fault(PART, &Failure::from(error)),
        Ok(_) => {}
    }
    match client.call(&routes::MEMORY_STATUS, ()) {
        Ok(status) if status.status == StatusKind::Degraded => {
            let detail = format!("Waypost {} at {} is degraded", status.version, client.base_url());
            Finding::warning(
                PART,
                detail,
                status.remedy.unwrap_or_else(|| "see `ctl status`".to_owned()),
            )
        }
        Ok(status) => {
            let memories = show::count(status.memories, "memory", "memories");
            Finding::ok(
                PART,
                format!("Waypost {} at {} with {memories}", status.version, client.base_url()),
            )
        }
        Err(error) => Finding::fault(PART, &Failure::from(error)),
    }
}
