//! `cluster status`.

use std::time::Duration;

use serde_json::{Value, json};
use waypost_cli::failure::Result;
use waypost_cli::output::{Look, Output};
use waypost_cli::program::Program;
use waypost_cluster::{FEATURE, Member, Part};
use waypost_journal::{Head, Journal, Machine, Snapshot, Status};

use super::{failed, journal_of, member, short};

/// A machine that is silent for longer is shown as such.
pub(super) const SILENT: Duration = Duration::from_secs(10);

pub(super) fn status(program: &Program, output: &mut Output) -> Result<()> {
    let member = member(program)?;
    let journal = journal_of(program, &member)?;
    let status = journal.status(&short()).map_err(|error| failed(&error))?;
    let machines = journal.machines(&short()).map_err(|error| failed(&error))?;
    let snapshots = journal.snapshots(&short()).map_err(|error| failed(&error))?;
    if output.json(&as_json(&member, &journal, &status, &machines, &snapshots))? {
        return Ok(());
    }
    let machines = with_ids(machines);
    let end = status.head.position;
    output.line(&format!("store      {}, incarnation {}", member.store, journal.incarnation()))?;
    output.line(&format!("journal    {} records", end.seq))?;
    output.line(&format!("database   PostgreSQL {} on {}", status.version, status.server))?;
    output.line(&format!("standbys   {}", standbys(&status)))?;
    output.line(&format!("loss       {}", loss(&status)))?;
    output.line(&format!("snapshot   {}", snapshot(&snapshots, end.seq)))?;
    let purge = purge(&machines, &snapshots, &status.head);
    let complete = || format!("complete up to record {}", purged_up_to(&machines, end.seq));
    output.line(&format!("purge      {}", purge.unwrap_or_else(complete)))?;
    output.line(&format!("flows      {}", flows(&machines, &status.head)))?;
    output.line(&format!("feature    level {} of {FEATURE}", status.head.feature))?;
    for machine in &machines {
        if let Some(fault) = &machine.report.fault {
            output.line(&format!("fault      {}: {fault}", machine.report.name))?;
        }
    }
    let rows: Vec<_> = machines.iter().map(|machine| row(machine, &member, &status.head)).collect();
    output.table(&["MACHINE", "APPLIED", "BEHIND", "LEADS", "SEEN", "RELEASE"], &rows)
}

/// The machines, with the id in the name of those that share one: other commands take both.
fn with_ids(mut machines: Vec<Machine>) -> Vec<Machine> {
    let names: Vec<String> = machines.iter().map(|machine| machine.report.name.clone()).collect();
    for machine in &mut machines {
        let name = &machine.report.name;
        if names.iter().filter(|other| *other == name).count() > 1 {
            machine.report.name = format!("{name} ({})", machine.report.id);
        }
    }
    machines
}

fn standbys(status: &Status) -> String {
    match (status.standbys_required, status.standbys_synchronous) {
        (0, _) => format!("commits wait for none; {} connected", status.standbys_streaming),
        (required, Some(synchronous)) => format!(
            "commits wait for {required}; {synchronous} of {} connected can confirm",
            status.standbys_streaming
        ),
        (required, None) => format!(
            "commits wait for {required}; the user may not see which are connected (grant pg_monitor)"
        ),
    }
}

/// What would be lost with which failure.
fn loss(status: &Status) -> &'static str {
    match status.is_synchronous() {
        Some(true) => "nothing that was acknowledged, if one database server is lost",
        Some(false) if status.standbys_required == 0 => {
            "acknowledged writes, if the disk of this database server is lost: no commit waits for a standby"
        }
        Some(false) => "nothing; but writes wait until enough standbys are connected",
        None => "unknown: the user may not see the standbys",
    }
}

fn snapshot(snapshots: &[Snapshot], end: u64) -> String {
    match snapshots.first() {
        None => "none: no machine can join".to_owned(),
        Some(it) => format!(
            "up to record {}, {} records ago, made {} ago",
            it.position.seq,
            end.saturating_sub(it.position.seq),
            span(it.age)
        ),
    }
}

/// Where purged texts still are; `None` for nowhere.
fn purge(machines: &[Machine], snapshots: &[Snapshot], head: &Head) -> Option<String> {
    let removed = machines.iter().map(|machine| machine.report.removed).max().unwrap_or(0);
    let behind: Vec<&str> = machines
        .iter()
        .filter(|machine| machine.report.purged < removed)
        .map(|machine| machine.report.name.as_str())
        .collect();
    if !behind.is_empty() {
        return Some(format!("waits for {}", behind.join(", ")));
    }
    let has_texts =
        |snapshot: &Snapshot| snapshot.place(Part::Memory.number()).unwrap_or(0) < removed;
    let is_trimmed = snapshots
        .iter()
        .any(|snapshot| !has_texts(snapshot) && snapshot.position.seq <= head.base.seq);
    match removed {
        0 => None,
        _ if snapshots.iter().any(has_texts) => Some("waits for a new snapshot".to_owned()),
        _ if !is_trimmed => Some("waits until the journal is trimmed".to_owned()),
        _ => None,
    }
}

/// The last record that all machines have reported to have applied: of later ones, this command does
/// not know whether they purge texts.
fn purged_up_to(machines: &[Machine], end: u64) -> u64 {
    machines.iter().map(|machine| machine.report.seq).min().unwrap_or(end).min(end)
}

/// Which machines would run other flows than the leader.
fn flows(machines: &[Machine], head: &Head) -> String {
    let Some(leader) = machines.iter().find(|machine| leads(machine, head)) else {
        return "none run: no machine leads".to_owned();
    };
    let others: Vec<&str> = machines
        .iter()
        .filter(|machine| has_flows_of(machine, leader) == Some(false))
        .map(|machine| machine.report.name.as_str())
        .collect();
    match others.as_slice() {
        [] => format!("run on {}", leader.report.name),
        others => format!(
            "run on {}; differ on {}, which would run other ones: compare the flow files and what is approved (`ctl flows list`)",
            leader.report.name,
            others.join(", ")
        ),
    }
}

/// Whether the same flows are in force on a machine as on the leader; `None` if its release does not
/// tell.
fn has_flows_of(machine: &Machine, leader: &Machine) -> Option<bool> {
    Some(machine.report.flows? == leader.report.flows?)
}

fn row(machine: &Machine, own: &Member, head: &Head) -> Vec<(Look, String)> {
    let Machine { report, silent, .. } = machine;
    let name =
        if report.id == own.machine { format!("{} *", report.name) } else { report.name.clone() };
    let seen = if *silent < SILENT { "now".to_owned() } else { format!("{} ago", span(*silent)) };
    vec![
        (Look::Name, name),
        (Look::Plain, report.seq.to_string()),
        (Look::Plain, behind(report.seq, head.position.seq)),
        (Look::Plain, if leads(machine, head) { "yes" } else { "" }.to_owned()),
        (Look::Plain, seen),
        (Look::Plain, report.release.clone()),
    ]
}

/// How far a machine is behind the journal. One that is ahead has records that the database lost.
fn behind(applied: u64, end: u64) -> String {
    match applied.checked_sub(end) {
        None | Some(0) => (end - applied).to_string(),
        Some(more) => format!("{more} AHEAD"),
    }
}

/// Whether the machine has the lease, and takes part.
fn leads(machine: &Machine, head: &Head) -> bool {
    head.lease_holder == Some(machine.report.id) && machine.report.fault.is_none()
}

pub(super) fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

fn as_json(
    member: &Member,
    journal: &Journal,
    status: &Status,
    machines: &[Machine],
    snapshots: &[Snapshot],
) -> Value {
    let leader = machines.iter().find(|machine| leads(machine, &status.head));
    let machine = |other: &Machine| {
        json!({
            "id": other.report.id.to_string(),
            "name": other.report.name,
            "isThis": other.report.id == member.machine,
            "applied": other.report.seq,
            "behind": status.head.position.seq.saturating_sub(other.report.seq),
            "leads": leads(other, &status.head),
            "hasFlowsOfLeader": leader.and_then(|leader| has_flows_of(other, leader)),
            "silentMs": other.silent.as_millis() as u64,
            "release": other.report.release,
            "feature": other.report.feature,
            "fault": other.report.fault,
        })
    };
    json!({
        "store": member.store.to_string(),
        "incarnation": journal.incarnation(),
        "machine": member.machine.to_string(),
        "records": status.head.position.seq,
        "leaseEpoch": status.head.lease_epoch,
        "feature": status.head.feature,
        "purge": purge(machines, snapshots, &status.head),
        "purgeUpTo": purged_up_to(machines, status.head.position.seq),
        "database": {
            "server": status.server,
            "version": status.version,
            "standbysRequired": status.standbys_required,
            "standbysStreaming": status.standbys_streaming,
            "isSynchronous": status.is_synchronous(),
        },
        "machines": machines.iter().map(machine).collect::<Vec<_>>(),
        "snapshots": snapshots.iter().map(|it| json!({
            "id": it.id.to_string(), "position": it.position.seq, "bytes": it.bytes,
        })).collect::<Vec<_>>(),
    })
}
