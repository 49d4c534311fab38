//! `cluster`: makes the project's store that of a member of a cluster, and shows the cluster.

mod create;
mod join;
mod loss;
mod status;

use std::path::Path;
use std::thread;
use std::time::Duration;

use serde_json::json;
use waypost_auth::{TokenChange, TokenStore};
use waypost_cluster::{Begun, Hub, HubOptions, Member, Part, notice};
use waypost_journal::{
    Error, FetchOptions, Journal, MachineId, MachineReport, Row, Settings, Until,
};
use waypost_log::FolderLock;

use super::{backup, flows};
use crate::cli::{ClusterAcceptArgs, ClusterCommand, ClusterForgetArgs, ClusterLeaveArgs};
use crate::failure::{Failure, Result};
use crate::output::Output;
use crate::program::Program;
use crate::span;
use crate::visible::{Lines, visible};

/// How long a short operation on the database may take.
const SHORT: Duration = Duration::from_secs(30);
/// A service that has not reported for this long does not run: it reports every second.
const REPORTS_ENDED: Duration = Duration::from_secs(3);
/// The pause between two looks at a machine's reports.
const REPORT_LOOK: Duration = Duration::from_millis(250);
/// How long `ctl doctor` waits for the database.
const LOOK: Duration = Duration::from_secs(5);
/// How to continue after `accept-loss`.
const ACCEPTED: &str = "`ctl cluster accept-loss` ran: if it was on another machine, move the data folder away and join the store that it printed; if it was interrupted on this machine and ran on no other one, run it again with --although-complete";
/// What it means that the journal behind the base is not known.
const REVOKED: &str = "the last records of the journal could not be read: tokens that other machines have revoked lately may be valid here; compare `ctl token list`";
/// How long a snapshot may take.
const LONG: Duration = Duration::from_secs(6 * 60 * 60);

pub(super) fn run(program: &Program, command: ClusterCommand, output: &mut Output) -> Result<()> {
    match command {
        ClusterCommand::Init { database } => create::init(program, &database, output),
        ClusterCommand::Join(args) => join::join(program, &args, output),
        ClusterCommand::Leave(args) => leave(program, &args, output),
        ClusterCommand::Status => status::status(program, output),
        ClusterCommand::Forget(args) => forget(program, &args, output),
        ClusterCommand::AcceptLoss(args) => accept_loss(program, &args, output),
    }
}

/// Locks the data folder of a service that must not run.
fn locked(data: &Path) -> Result<Vec<FolderLock>> {
    backup::lock(data)
        .map_err(|it| it.with_hint("stop the service of this project, and repeat the command"))
}

fn short() -> Until {
    Until::within(SHORT)
}

fn settings(url: &str) -> Result<Settings> {
    Settings::parse(url, &|name| std::env::var_os(name)).map_err(|it| failed(&it))
}

/// An error of the database, with what to do about it.
fn failed(error: &Error) -> Failure {
    let hint = match error {
        Error::Unreachable(_) => {
            "check the URL, the password (`PGPASSFILE` or `PGPASSWORD`), and that the database runs"
        }
        Error::Forgotten(_) | Error::Trimmed { .. } => {
            "move the data folder away, and run `ctl cluster join`"
        }
        Error::Incarnation { .. } => ACCEPTED,
        Error::Feature { .. } | Error::Newer { .. } => {
            "install the release that the other machines have"
        }
        Error::Missing(_) => "run `ctl cluster init` on the first machine",
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
    program.check_data()?;
    let data = &program.settings()?.data_dir;
    let member = Member::read(data).map_err(|it| cluster_failed(&it))?;
    member.ok_or_else(no_member)
}

fn no_member() -> Failure {
    Failure::not_found("this project is no member of a cluster")
        .with_hint("`ctl cluster init` creates one, `ctl cluster join` enters one")
}

/// Restores the tokens that the member file has.
fn restore_tokens(tokens: &TokenStore, data: &Path, member: &Member) -> Result<()> {
    tokens.restore(&member.tokens, span::now()).map_err(|it| {
        let file = Member::file(data);
        Failure::from(it).while_doing(format!("failed to restore the tokens in {}", file.display()))
    })
}

/// The URL of the member's database: the setting, or the one with which it joined.
fn url_of(program: &Program, member: &Member) -> Result<String> {
    let set = program.settings()?.cluster.url.clone();
    Ok(set.unwrap_or_else(|| member.url.clone()))
}

fn journal_of(program: &Program, member: &Member) -> Result<Journal> {
    let settings = settings(&url_of(program, member)?)?;
    Journal::open(settings, member.store, &short()).map_err(|it| failed(&it))
}

fn report(program: &Program, member: &Member) -> MachineReport {
    let name = program.settings().ok().and_then(|it| it.cluster.name.clone());
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
        return tokens.is_shared().ok()?.then(|| {
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

/// Why the service does not start, if the creation of a cluster was interrupted after its tokens became
/// those of the cluster.
pub(super) fn interrupted(data: &Path) -> Option<Failure> {
    let is_member = !matches!(Member::read(data), Ok(None));
    let has_begun = Begun::read(data).is_ok_and(|it| it.is_some());
    (has_begun && !is_member).then(|| {
        Failure::new("`ctl cluster init` was interrupted in this project")
            .with_hint("run it again; or, to continue without a cluster, run `ctl cluster leave`")
    })
}

fn compare(program: &Program, data: &Path, member: &Member) -> Result<String> {
    let until = Until::within(LOOK);
    let settings = settings(&url_of(program, member)?)?;
    // It refuses what the service refuses.
    let hub = Hub::new(data, member.clone(), settings, HubOptions::default());
    let journal = hub.journal(&until).map_err(|it| cluster_failed(&it))?;
    let head = journal.confirm(member.base.position, &until).map_err(|it| failed(&it))?;
    let machines = journal.machines(&until).map_err(|it| failed(&it))?;
    let Some(own) = machines.iter().find(|it| it.report.id == member.machine) else {
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

fn leave(program: &Program, args: &ClusterLeaveArgs, output: &mut Output) -> Result<()> {
    program.check_data()?;
    let data = program.settings()?.data_dir.clone();
    let tokens = TokenStore::open(&data.join("tokens.json"))?;
    let found = match Member::read(&data) {
        Err(waypost_cluster::Error::Damaged { .. }) => None,
        found => found.map_err(|it| cluster_failed(&it))?,
    };
    let is_shared = tokens.is_shared()?;
    // A creation that was interrupted may have come so far that other machines have joined.
    let begun = || Begun::read(&data).ok().flatten().filter(|_| is_shared).map(|it| it.member);
    let known = found.or_else(begun);
    if known.is_none() && !is_shared && !Member::file(&data).exists() {
        return Err(no_member());
    }
    let _locks = locked(&data)?;
    let question = "leave the cluster? This machine's changes reach no other machine from then on";
    if !args.yes && !flows::confirm(question, output)? {
        return Ok(());
    }
    let Some(member) = known else {
        drop(tokens.without_shared()?);
        Member::remove(&data).map_err(|it| cluster_failed(&it))?;
        if output.is_json() {
            output.document(&json!({ "store": null, "isForgotten": false, "unread": null }))?;
            return Ok(());
        }
        output.line("left the cluster; the store is one of this machine alone")?;
        output.note("the file `cluster-member` was missing or damaged: `ctl cluster status` on another machine lists this one, and `ctl cluster forget` removes it there");
        output.warn(REVOKED);
        return Ok(());
    };
    // What can fail comes first: until then, the machine is a member.
    restore_tokens(&tokens, &data, &member)?;
    // The store is complete without the database.
    let journal = journal_of(program, &member).ok();
    let unread = journal.as_ref().and_then(|it| {
        let end = it.head(&short()).ok()?.position.seq;
        follow_tokens(it, &member, &tokens).ok()?;
        Some(end.saturating_sub(member.base.position.seq))
    });
    drop(tokens.without_shared()?);
    let forgotten = journal.and_then(|it| forget_own(&it, member.machine).ok());
    Member::remove(&data).map_err(|it| cluster_failed(&it))?;
    if output.is_json() {
        output.document(&json!({
            "store": member.store.to_string(), "isForgotten": forgotten == Some(true),
            "unread": unread,
        }))?;
        return Ok(());
    }
    output.line("left the cluster; the store is one of this machine alone")?;
    match forgotten {
        Some(true) => {}
        Some(false) => output.note(&format!(
            "another service takes part as the machine {}, which stays in the cluster: one data folder is a copy of the other",
            member.machine
        )),
        None => output.note(&format!(
            "the database could not be told; run `ctl cluster forget {}` on another machine",
            member.machine
        )),
    }
    match unread {
        Some(0) => {}
        Some(count) => output.note(&format!(
            "the store may lack records of the journal: {count} came after the last one that it is known to have; tokens that they revoke are revoked here, too"
        )),
        None => output.warn(REVOKED),
    }
    Ok(())
}

/// Makes the changes of tokens that the journal has after the base.
fn follow_tokens(journal: &Journal, member: &Member, tokens: &TokenStore) -> Result<()> {
    let (mut after, until) = (member.base.position, short());
    loop {
        let rows = journal.fetch(after, &FetchOptions::default(), &until);
        let rows = rows.map_err(|it| failed(&it))?.rows;
        let Some(last) = rows.last() else { return Ok(()) };
        after = last.position();
        let changes = rows
            .iter()
            .map(|it| &it.record)
            .filter(|it| it.part == Part::Notices.number() && it.kind == notice::TOKENS);
        for record in changes {
            let change = TokenChange::decode(&record.payload).map_err(|it| Failure::of(&it))?;
            tokens.apply(&change, span::now())?;
        }
    }
}

/// Takes this machine, whose service does not run, from the list. False if a service of another copy of
/// the data folder takes part as this machine.
fn forget_own(journal: &Journal, machine: MachineId) -> waypost_journal::Result<bool> {
    let (mut last, mut changes) = (None, 0);
    loop {
        let machines = journal.machines(&short())?;
        let Some(this) = machines.iter().find(|it| it.report.id == machine) else {
            return Ok(true);
        };
        if last.replace(this.counter).is_some_and(|it| it != this.counter) {
            changes += 1;
        }
        // One may be the last report of the service that has just stopped.
        if changes > 1 {
            return Ok(false);
        }
        if this.silent >= REPORTS_ENDED {
            journal.forget(machine, &short())?;
            return Ok(true);
        }
        thread::sleep(REPORT_LOOK);
    }
}

fn forget(program: &Program, args: &ClusterForgetArgs, output: &mut Output) -> Result<()> {
    let own = member(program)?;
    let journal = journal_of(program, &own)?;
    let machines = journal.machines(&short()).map_err(|it| failed(&it))?;
    let asked = &args.machine;
    let is_asked = |it: &&waypost_journal::Machine| {
        it.report.name == *asked || it.report.id.to_string() == *asked
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
    journal.forget(id, &short()).map_err(|it| failed(&it))?;
    output
        .line(&format!("forgot {}; it must join again before it returns", machine.report.name))?;
    Ok(())
}

fn accept_loss(program: &Program, args: &ClusterAcceptArgs, output: &mut Output) -> Result<()> {
    let old = member(program)?;
    let data = program.settings()?.data_dir.clone();
    let url = url_of(program, &old)?;
    let settings = settings(&url)?;
    let _locks = locked(&data)?;
    let now = match Journal::open(settings.clone(), old.store, &short()) {
        // The database has lost the whole store: there is nothing to close.
        Err(Error::OtherStore { .. } | Error::Missing(_)) => None,
        opened => Some(opened.map_err(|it| failed(&it))?.incarnation()),
    };
    let begun = Begun::read(&data).map_err(|it| cluster_failed(&it))?;
    let mut closed =
        begun.and_then(|it| it.closed).filter(|it| Some(it.1) == now && it.0 == old.store);
    if closed.is_some() {
        // What was checked before the former store was closed still holds.
        output.note("an `accept-loss` was interrupted; it continues");
    } else {
        refuse_behind(program, &old, args)?;
        if !args.although_complete {
            loss::refuse_complete(&data, &old, settings.clone())?;
        }
        let question = "continue with this machine's copy? All other machines must join again";
        if !args.yes && !flows::confirm(question, output)? {
            return Ok(());
        }
        closed = now.map(|it| (old.store, it + 1));
    }
    backup::check(&data)?;
    let tokens = TokenStore::open(&data.join("tokens.json"))?;
    restore_tokens(&tokens, &data, &old)?;
    if args.although_behind {
        let read = journal_of(program, &old).and_then(|it| follow_tokens(&it, &old, &tokens));
        if read.is_err() {
            output.warn(REVOKED);
        }
    }
    let begun = create::begin(&data, &url, closed)?;
    if closed.is_some_and(|it| Some(it.1) != now) {
        close(&settings, &old)?;
    }
    let member = create::create(program, &data, &settings, begun, output)?;
    if output.is_json() {
        output.document(
            &json!({ "store": member.store.to_string(), "formerStore": old.store.to_string() }),
        )?;
        return Ok(());
    }
    output.line(&format!(
        "the store continues as {}, with everything that this machine had",
        member.store
    ))?;
    output.note(&format!(
        "on each other machine: stop the service, move the data folder away, and run `ctl cluster join {} --store {}`",
        quoted(&url),
        member.store
    ));
    Ok(())
}

/// A word for a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// How many records behind the base, up to a position, no store keeps: as far as they can be read.
fn notices(journal: &Journal, own: &Member, last: u64) -> u64 {
    let (mut after, mut count) = (own.base.position, 0);
    while let Ok(fetched) = journal.fetch(after, &FetchOptions::default(), &short()) {
        let Some(end) = fetched.rows.last() else { break };
        after = end.position();
        let is_notice = |it: &&Row| it.seq <= last && it.record.part == Part::Notices.number();
        count += fetched.rows.iter().filter(is_notice).count() as u64;
    }
    count
}

/// Lets no machine write to the former store any more: it begins an incarnation that none has.
fn close(settings: &Settings, old: &Member) -> Result<()> {
    let until = short();
    let journal = Journal::open(settings.clone(), old.store, &until).map_err(|it| failed(&it))?;
    loop {
        let end = journal.head(&until).map_err(|it| failed(&it))?.position;
        match journal.begin_incarnation(end, &until) {
            Ok(_) => return Ok(()),
            // Another machine has appended.
            Err(Error::Invalid(_)) => {}
            Err(error) => return Err(failed(&error)),
        }
    }
}

/// Refuses a copy that ends before what another machine has applied, or this one had.
fn refuse_behind(program: &Program, own: &Member, args: &ClusterAcceptArgs) -> Result<()> {
    if args.although_behind {
        return Ok(());
    }
    let journal = journal_of(program, own)?;
    let machines = journal.machines(&short()).map_err(|it| failed(&it))?;
    let is_own = |it: &&waypost_journal::Machine| it.report.id == own.machine;
    let listed = machines.iter().find(is_own).map(|it| &it.report);
    let base = own.base.position.seq;
    if let Some(reported) = listed.filter(|it| it.base > base) {
        return Err(Failure::new(format!(
            "this data folder is an older copy: it was at record {base} when its service last synced it, and this machine has reported {} since",
            reported.base
        ))
        .with_hint(
            "run it where the newer data folder is, or pass --although-behind to lose what only that one has",
        ));
    }
    let places = create::places(&program.settings()?.data_dir)?;
    let more = places.iter().zip(own.base.places).map(|(has, had)| has.saturating_sub(had));
    let found = base + more.sum::<u64>();
    // After a restored backup, the report is older than the data folder.
    let reported = listed.map_or(0, |it| it.seq);
    if reported > found + notices(&journal, own, reported) {
        return Err(Failure::new(format!(
            "this machine has reported record {reported}, and its data folder has only {found}"
        ))
        .with_hint(
            "if the folder is an older copy, run it where the newer one is; or pass --although-behind to lose what only that one has",
        ));
    }
    let ours = found.max(reported);
    let others = machines.iter().filter(|it| !is_own(it));
    match others.max_by_key(|it| it.report.seq) {
        Some(other) if other.report.seq > ours => Err(Failure::new(format!(
            "{} has applied record {}, and this machine only {ours}",
            visible(&other.report.name, Lines::Fold),
            other.report.seq
        ))
        .with_hint(
            "run it on that machine, or pass --although-behind to lose what only that machine has",
        )),
        _ => Ok(()),
    }
}
