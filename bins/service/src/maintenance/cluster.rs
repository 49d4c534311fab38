//! `cluster`: makes the project's store that of a member of a cluster, and shows the cluster.

mod create;
mod history;
mod join;
mod leave;
mod loss;
mod status;

use std::path::Path;
use std::time::Duration;

use waypost_auth::{TokenChange, TokenStore};
use waypost_cli::failure::{Failure, Result};
use waypost_cli::maintenance::{ClusterCommand, ClusterForgetArgs};
use waypost_cli::membership::interrupted;
use waypost_cli::output::Output;
use waypost_cli::program::Program;
use waypost_cli::span;
use waypost_cli::visible::{Lines, visible};
use waypost_cluster::{Begun, Hub, HubOptions, Member, Part, notice};
use waypost_journal::{
    Error, ErrorKind, FetchOptions, Journal, Machine, MachineId, MachineReport, Position, Row,
    Settings, Until,
};
use waypost_log::FolderLock;

use super::backup;

/// How long a short operation on the database may take.
const SHORT: Duration = Duration::from_secs(30);
/// How long `ctl doctor` waits for the database.
const LOOK: Duration = Duration::from_secs(5);
/// How to continue after an `accept-loss` of another machine.
const ACCEPTED: &str = "`ctl cluster accept-loss` ran on another machine: move the data folder away and join the store that it printed; only if it was interrupted there and cannot be repeated, run it here with --although-complete, and move the data folder away there";
/// What it means that the journal behind the base is not known.
const REVOKED: &str = "the last records of the journal could not be read: tokens that other machines have revoked lately may be valid here; compare `ctl token list` with that of another machine";
/// What to do about revocations that may be unknown.
const COMPARE: &str = "compare `ctl token list` on both machines";
/// How long a snapshot may take.
const LONG: Duration = Duration::from_secs(6 * 60 * 60);

pub(super) fn run(program: &Program, command: ClusterCommand, output: &mut Output) -> Result<()> {
    match command {
        ClusterCommand::Init { database } => create::init(program, &database, output),
        ClusterCommand::Join(args) => join::join(program, &args, output),
        ClusterCommand::Leave(args) => leave::leave(program, &args, output),
        ClusterCommand::Status => status::status(program, output),
        ClusterCommand::Forget(args) => forget(program, &args, output),
        ClusterCommand::AcceptLoss(args) => loss::accept(program, &args, output),
    }
}

/// Locks the data folder of a service that must not run.
fn locked(data: &Path) -> Result<Vec<FolderLock>> {
    backup::lock(data).map_err(|error| {
        error.with_hint("stop the service of this project, and repeat the command")
    })
}

fn short() -> Until {
    Until::within(SHORT)
}

fn settings(url: &str) -> Result<Settings> {
    Settings::parse(url, &|name| std::env::var_os(name)).map_err(|error| failed(&error))
}

/// An error of the database, with what to do about it.
fn failed(error: &Error) -> Failure {
    let hint = match error {
        Error::Unreachable(_) => {
            "check the URL, the password (`PGPASSFILE` or `PGPASSWORD`), and that the database runs, and repeat the command"
        }
        Error::Forgotten(_) | Error::Trimmed { .. } => {
            "move the data folder away, and run `ctl cluster join`"
        }
        Error::Incarnation { .. } => ACCEPTED,
        Error::Feature { .. } | Error::Newer { .. } => {
            "install the release that the other machines have"
        }
        Error::Missing(_) => {
            "`ctl cluster init` on the first machine creates it; if the database has lost it, `ctl cluster accept-loss --help` says how to continue"
        }
        Error::Connection(_) | Error::Stopped | Error::Answer(_) => {
            "check that the database runs, and repeat the command"
        }
        Error::Shorter { .. } | Error::Diverged { .. } => {
            "`ctl cluster accept-loss --help` says how to continue"
        }
        Error::OtherStore { .. } => {
            "check the URL of the database: the setting `cluster.url`, or the one with which this machine joined"
        }
        Error::Mismatch { .. } | Error::Gap { .. } | Error::Malformed { .. } => {
            "the database has a damaged record, which other machines may have applied: on the machine that has applied most, stop the service and run `ctl cluster accept-loss`"
        }
        Error::DamagedSnapshot { .. } => {
            "remove the row of the damaged snapshot from the table `waypost.snapshot`: the leader then writes a new snapshot"
        }
        _ => return Failure::of(error),
    };
    Failure::of(error).with_hint(hint)
}

fn cluster_failed(error: &waypost_cluster::Error) -> Failure {
    match error {
        waypost_cluster::Error::Journal(error) => failed(error),
        waypost_cluster::Error::Damaged { .. } => Failure::of(error).with_hint(
            "move the data folder away and run `ctl cluster join`; or, to continue without the cluster, run `ctl cluster leave`",
        ),
        waypost_cluster::Error::File(waypost_log::Error::Full) => {
            Failure::new("no space on the disk for the files of the cluster in the data folder")
                .with_hint("free some, and repeat the command")
        }
        error => Failure::of(error),
    }
}

/// The member file of the project's data folder, which must exist.
fn member(program: &Program) -> Result<Member> {
    // A data folder that came with the project names the database of a stranger.
    crate::maintenance::check_data(program)?;
    let data = &program.settings()?.data_dir;
    let member = Member::read(data).map_err(|error| cluster_failed(&error))?;
    member.ok_or_else(no_member)
}

fn no_member() -> Failure {
    Failure::not_found("this project is no member of a cluster")
        .with_hint("`ctl cluster init` creates one, `ctl cluster join` enters one")
}

/// Restores the tokens that the member file has.
fn restore_tokens(tokens: &TokenStore, data: &Path, member: &Member) -> Result<()> {
    tokens.restore(&member.tokens, span::now()).map_err(|error| {
        let file = Member::file(data);
        Failure::from(error)
            .while_doing(format!("failed to restore the tokens in {}", file.display()))
    })
}

/// The URL of the member's database: the setting, or the one with which it joined.
fn url_of(program: &Program, member: &Member) -> Result<String> {
    let set = program.settings()?.cluster.url.clone();
    Ok(set.unwrap_or_else(|| member.url.clone()))
}

fn journal_of(program: &Program, member: &Member) -> Result<Journal> {
    let settings = settings(&url_of(program, member)?)?;
    Journal::open(settings, member.store, &short()).map_err(|error| failed(&error))
}

fn report(program: &Program, member: &Member) -> MachineReport {
    let name = program.settings().ok().and_then(|setting| setting.cluster.name.clone());
    MachineReport {
        id: member.machine,
        name: name.unwrap_or_else(waypost_cluster::host_name),
        release: env!("CARGO_PKG_VERSION").to_owned(),
        feature: waypost_cluster::FEATURE,
        seq: member.base.position.seq,
        purged: 0,
        removed: 0,
        base: member.base.position.seq,
        flows: None,
        fault: None,
    }
}

/// Whether the cluster's database and this machine fit together, for `ctl doctor`; `None` for a
/// machine alone. The data folder must have been checked.
pub(super) fn check(program: &Program) -> Option<Result<String>> {
    let data = &program.settings().ok()?.data_dir;
    let Some(member) = Member::read(data).ok()? else {
        let tokens = TokenStore::open(&data.join("tokens.json")).ok()?;
        return (Begun::may_have_others(data) || tokens.is_shared().ok()?).then(|| {
            if let Some(failure) = interrupted(data) {
                return Err(failure);
            }
            Err(Failure::not_found(format!(
                "the tokens of this project are those of a cluster, and {} is missing",
                Member::file(data).display()
            ))
            .with_hint(
                "move the data folder away and run `ctl cluster join`; or, to continue without the cluster, run `ctl cluster leave`",
            ))
        });
    };
    Some(compare(program, data, &member))
}

fn compare(program: &Program, data: &Path, member: &Member) -> Result<String> {
    let until = Until::within(LOOK);
    let settings = settings(&url_of(program, member)?)?;
    let begun = Begun::read(data).map_err(|error| {
        cluster_failed(&error).with_hint("`ctl cluster accept-loss` says how to continue")
    })?;
    if let Some(begun) = begun {
        let journal = Journal::open(settings.clone(), member.store, &until);
        let journal = journal.map_err(|error| failed(&error))?;
        let continues = || journal.incarnation() == member.incarnation;
        if loss::has_closed(&begun, member, &journal)? || begun.is_joinable && continues() {
            return Err(Failure::new("`ctl cluster accept-loss` was interrupted in this project")
                .with_hint("run it again; it continues"));
        }
    }
    // It refuses what the service refuses.
    let hub = Hub::new(data, member.clone(), settings, HubOptions::default());
    let journal = hub.journal(&until).map_err(|error| cluster_failed(&error))?;
    let head = journal.confirm(member.base.position, &until).map_err(|error| failed(&error))?;
    let machines = journal.machines(&until).map_err(|error| failed(&error))?;
    let Some(own) = machines.iter().find(|machine| machine.report.id == member.machine) else {
        return Err(failed(&Error::Forgotten(member.machine)));
    };
    if let Some(fault) = &own.report.fault {
        return Err(Failure::new(format!("this machine takes no part in its cluster: {fault}"))
            .with_hint("docs/cluster.md, “After a loss”, says how to continue"));
    }
    let mut found = format!("the journal of the cluster ends at record {}", head.position.seq);
    for other in &machines {
        if let Some(fault) = &other.report.fault {
            found = format!("{found}; {} takes no part: {fault}", other.report.name);
        }
    }
    Ok(found)
}

/// Whether a machine has more than the journal, which ends at `end`, or another history.
fn has_more(machine: &Machine, end: u64) -> bool {
    machine.report.seq > end || machine.report.fault.is_some()
}

/// The records of the journal after a position, verified, page by page. It ends after an error.
fn pages(
    journal: &Journal,
    after: Position,
    until: &Until,
) -> impl Iterator<Item = waypost_journal::Result<Vec<Row>>> {
    let mut next = Some(after);
    std::iter::from_fn(move || {
        let fetched = journal.fetch(next.take()?, &FetchOptions::default(), until);
        let rows = match fetched {
            Ok(fetched) => fetched.rows,
            Err(error) => return Some(Err(error)),
        };
        next = Some(rows.last()?.position());
        Some(Ok(rows))
    })
}

/// Which revocations this machine may not know, because another one, which is not `own`, has more than
/// the journal, which ends at `end`, or another history.
fn unknown_elsewhere(machines: &[Machine], own: MachineId, end: u64) -> Option<String> {
    let is_other = |machine: &&Machine| machine.report.id != own && has_more(machine, end);
    let other = machines.iter().find(is_other)?;
    let name = named(other, machines);
    Some(match &other.report.fault {
        Some(fault) => format!(
            "{name} takes no part in the cluster: {}. If it has records that the journal lacks, tokens that they revoke may be valid here; {COMPARE}",
            visible(fault, Lines::Fold)
        ),
        None => format!(
            "{name} has applied record {}, and the journal ends at record {end}: tokens that were revoked there may be valid here; {COMPARE}",
            other.report.seq
        ),
    })
}

/// The name of a machine, with its id if another one has the same name.
fn named(machine: &Machine, machines: &[Machine]) -> String {
    let name = visible(&machine.report.name, Lines::Fold);
    match machines.iter().filter(|other| other.report.name == machine.report.name).count() {
        0 | 1 => name.to_string(),
        _ => format!("{name} ({})", machine.report.id),
    }
}

/// Makes the changes of tokens that the journal has after a position. False if the journal was trimmed,
/// has another history or cannot be decoded: then, changes may be missing.
fn follow_tokens(
    journal: &Journal,
    after: Position,
    tokens: &TokenStore,
    until: &Until,
) -> Result<bool> {
    for rows in pages(journal, after, until) {
        let rows = match rows {
            Ok(rows) => rows,
            Err(error) => {
                return match error.kind() {
                    ErrorKind::Lost | ErrorKind::Behind | ErrorKind::Damaged => Ok(false),
                    _ => Err(failed(&error)),
                };
            }
        };
        let changes = rows.iter().map(|row| &row.record).filter(|record| {
            record.part == Part::Notices.number() && record.kind == notice::TOKENS
        });
        for record in changes {
            let Ok(change) = TokenChange::decode(&record.payload) else { return Ok(false) };
            tokens.apply(&change, span::now())?;
        }
    }
    Ok(true)
}

fn forget(program: &Program, args: &ClusterForgetArgs, output: &mut Output) -> Result<()> {
    let own = member(program)?;
    let journal = journal_of(program, &own)?;
    let machines = journal.machines(&short()).map_err(|error| failed(&error))?;
    let asked = &args.machine;
    let is_asked = |machine: &&Machine| {
        machine.report.name == *asked || machine.report.id.to_string() == *asked
    };
    let found: Vec<_> = machines.iter().filter(is_asked).collect();
    let [machine] = found[..] else {
        return Err(if found.is_empty() {
            Failure::not_found(format!("the cluster has no machine {asked}"))
                .with_hint("`ctl cluster status` lists them")
        } else {
            Failure::usage(format!("several machines are named {asked}"))
                .with_hint("pass the id of one, which `ctl cluster status` shows")
        });
    };
    let id: MachineId = machine.report.id;
    if machine.silent < status::SILENT && !args.although_running {
        return Err(Failure::new(format!(
            "the service of {} runs: it reported {} s ago",
            visible(&machine.report.name, Lines::Fold),
            machine.silent.as_secs()
        ))
        .with_hint(
            "stop it and run `ctl cluster leave` there; or pass --although-running, and it takes no part any more",
        ));
    }
    journal.forget(id, &short()).map_err(|error| failed(&error))?;
    output.line(&format!(
        "forgot {}; it must join again before it returns",
        visible(&machine.report.name, Lines::Fold)
    ))?;
    Ok(())
}
