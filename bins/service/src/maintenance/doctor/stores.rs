//! The data folder: every store in it, each checked or repaired by its own library.

use std::path::Path;

use waypost_auth::TokenStore;
use waypost_cli::failure::{Failure, NEWER};
use waypost_cli::show;
use waypost_cli::span;
use waypost_cluster::Member;
use waypost_log::{RepairedDamage, Verify, Witness};
use waypost_memory::Reached;
use waypost_mesh::Pairing;
use waypost_project::Settings;

use super::{Finding, Verdict, recall};
use crate::maintenance::failure::{REPAIR, of_events, of_flows, of_memory};

const MEMORY: &str = "store";
const EVENTS: &str = "events";
const FLOWS: &str = "flows";
const CONTEXT: &str = "context";
const REACHED: &str = "reached";
const CLUSTER: &str = "cluster";

const REBUILT: &str = "it is derived from the rest: the next start of the service rebuilds it";
const REJOIN: &str = "the other machines of the cluster have everything, unless the database has lost records (docs/cluster.md, “After a loss”): stop the service, move the data folder away, and run `ctl cluster join URL`";
const BY_HAND: &str =
    "move the file or folder that is named away, then run `ctl doctor --repair` again";
const IMPORT: &str = "`ctl import EXPORT` adds missing memories; to use a backup, restore it into an empty project and export it there";

/// The stores of a data folder that must not be opened.
pub(super) fn refused(repair: bool) -> Finding {
    let done = if repair { "repaired" } else { "checked" };
    let detail = format!(
        "not {done}: the data folder is not registered as this project's, so it is not opened"
    );
    Finding::warning(MEMORY, detail, "if it is yours: `ctl allow --data`, then run this again")
}

/// Findings about files that a newer release wrote. If there are any, nothing may be changed, and
/// the service does not start. Before a repair, every record is read.
pub(super) fn newer(settings: &Settings, repair: bool) -> Vec<Finding> {
    const TOKENS: &str = "tokens";
    let data_dir = &settings.data_dir;
    let verify = if repair { Verify::All } else { Verify::Unsealed };
    let mut newer: Vec<(&str, Failure)> = Vec::new();
    if let Err(error @ waypost_log::Error::Newer { .. }) = Witness::read(data_dir) {
        let failure = Failure::of(&error);
        newer.push((REACHED, failure.while_doing(format!("cannot use {}", data_dir.display()))));
    }
    let tokens = TokenStore::open(&settings.tokens_file());
    if let Err(error @ waypost_auth::Error::Newer { .. }) = tokens {
        newer.push((TOKENS, Failure::of(&error)));
    }
    let pairing = Pairing::open(&settings.mesh.pairing_dir).err();
    let pairing = pairing.filter(|pairing| matches!(pairing, waypost_mesh::Error::Newer { .. }));
    newer.extend(pairing.map(|pairing| ("pairing", Failure::of(&pairing))));
    let memory = waypost_memory::check_versions(data_dir, verify);
    newer.extend(memory.err().map(|memory| (MEMORY, Failure::of(&memory))));
    let events = waypost_events::check_versions(&data_dir.join("events"), verify);
    newer.extend(events.err().map(|event| (EVENTS, Failure::of(&event))));
    let flows = waypost_flows::check_versions(&data_dir.join("flows"), verify);
    newer.extend(flows.err().map(|flow| (FLOWS, Failure::of(&flow))));
    let recall = waypost_recall::check_versions(&data_dir.join("recall/log"), verify);
    newer.extend(recall.err().map(|other| (recall::PART, Failure::of(&other))));
    let hint = format!("{NEWER}; nothing was checked further or changed");
    let finding = |(part, it): (&'static str, Failure)| Finding::fault(part, &it.with_hint(&*hint));
    newer.into_iter().map(finding).collect()
}

/// Checks every store, or repairs those that are damaged and checks them again: a repair must not
/// succeed if the service would refuse to start.
pub(super) fn check(data_dir: &Path, repair: bool) -> Vec<Finding> {
    if Member::file(data_dir).exists() {
        return of_member(data_dir, repair);
    }
    let mut findings = examine(data_dir, repair);
    if repair && findings.iter().all(|finding| finding.verdict != Verdict::Fault) {
        let again = examine(data_dir, false).into_iter();
        findings.extend(again.filter(|again| again.verdict == Verdict::Fault).map(|again| {
            Finding {
                detail: format!("not repaired: {}", again.detail),
                hint: Some(BY_HAND.to_owned()),
                ..again
            }
        }));
    }
    findings
}

/// Checks the copy of a member of a cluster. A repair would leave out records that the other machines
/// have: nothing is changed, except in the recall log, which no other machine has.
fn of_member(data_dir: &Path, repair: bool) -> Vec<Finding> {
    let findings = examine(data_dir, false);
    let member = match Member::read(data_dir) {
        Ok(Some(member)) => Finding::ok(
            CLUSTER,
            format!(
                "a member of the cluster of the store {}; it continues after record {} of the journal",
                member.store, member.base.position.seq
            ),
        ),
        Ok(None) => Finding::ok(CLUSTER, "no member of a cluster".to_owned()),
        Err(error) => Finding::fault(CLUSTER, &Failure::of(&error)),
    };
    let (recall, mut findings): (Vec<_>, Vec<_>) =
        findings.into_iter().partition(|finding| finding.part == recall::PART);
    for damaged in findings.iter_mut().filter(|finding| finding.verdict == Verdict::Fault) {
        damaged.hint = Some(REJOIN.to_owned());
    }
    findings.extend(if repair { recall::check(data_dir, true) } else { recall });
    findings.push(member);
    findings
}

fn examine(data_dir: &Path, repair: bool) -> Vec<Finding> {
    if !data_dir.exists() {
        let detail = format!("none yet; the service will create it in {}", data_dir.display());
        return vec![Finding::ok(MEMORY, detail)];
    }
    let (mut witness, mut findings) = match witness(data_dir) {
        Ok(read) => read,
        // Without the witness, a repair might reuse ids.
        Err(fault) if repair => return vec![fault],
        Err(fault) => (Witness::default(), vec![fault]),
    };
    let (found, is_open) = memory(data_dir, &mut witness, repair);
    findings.extend(found);
    if is_open {
        // If a service has this store open, it has all of them open.
        return findings;
    }
    let (events_dir, flows_dir) = (data_dir.join("events"), data_dir.join("flows"));
    // The journal of flows refers to events that must exist.
    let journal = waypost_flows::verify(&flows_dir, witness.get(FLOWS));
    let known = journal.as_ref().map_or(0, |journal| journal.cursor).max(witness.get(EVENTS));
    if repair {
        let (found, last) = repair_events(&events_dir, known);
        findings.extend(found);
        // Without the last event, the events that flows have evaluated are unknown.
        if let Some(last) = last {
            witness.raise(EVENTS, last);
            findings.extend(repair_flows(&flows_dir, &mut witness, last));
        }
        if let Err(error) = witness.write(data_dir) {
            let failure = Failure::of(&error)
                .while_doing(format!("could not write {}", data_dir.join(Witness::FILE).display()));
            findings.push(Finding::fault(REACHED, &failure));
        }
    } else {
        findings.extend(events(&events_dir, known));
        findings.extend(flows(journal, &flows_dir));
    }
    findings.extend(recall::check(data_dir, repair));
    findings.extend(context(&data_dir.join("context")));
    findings
}

/// The positions of the stores, as recorded outside their folders. The service writes the same
/// names.
fn witness(data_dir: &Path) -> Result<(Witness, Vec<Finding>), Finding> {
    match Witness::read(data_dir) {
        Ok(witness) if witness.is_damaged() => {
            let detail = format!("{} is damaged", data_dir.join(Witness::FILE).display());
            Ok((witness, vec![Finding::warning(REACHED, detail, REBUILT)]))
        }
        Ok(witness) => Ok((witness, Vec::new())),
        Err(error) => Err(Finding::fault(REACHED, &Failure::of(&error))),
    }
}

/// The findings, and whether a service has the store open.
fn memory(data_dir: &Path, witness: &mut Witness, repair: bool) -> (Vec<Finding>, bool) {
    let known = Reached { sequence: witness.get("memory"), id: witness.get("memory-id") };
    let found = if repair {
        repair_memory(data_dir, known).map(|(findings, reached)| {
            witness.raise("memory", reached.sequence);
            witness.raise("memory-id", reached.id);
            (findings, false)
        })
    } else {
        check_memory(data_dir, known)
    };
    found.unwrap_or_else(|error| match error {
        waypost_memory::Error::Locked { pid, .. } if repair => {
            let detail = format!("nothing was repaired, because process {pid} has the store open");
            let hint = "stop the service, then run `ctl doctor --repair` again";
            (vec![Finding::fault(MEMORY, &Failure::new(detail).with_hint(hint))], true)
        }
        waypost_memory::Error::Locked { pid, .. } => {
            let detail = format!(
                "in use by process {pid}; records are checked only while no service is running"
            );
            (vec![Finding::ok(MEMORY, detail)], true)
        }
        error => (vec![Finding::fault(MEMORY, &of_memory(&error))], false),
    })
}

/// Also returns the position of the store after the repair.
fn repair_memory(
    data_dir: &Path,
    known: Reached,
) -> waypost_memory::Result<(Vec<Finding>, Reached)> {
    let repaired = waypost_memory::repair(data_dir, known)?;
    let kept = show::count(repaired.kept_records, "record", "records");
    let detail = if repaired.was_sound {
        format!("{kept}, all valid: nothing to repair")
    } else {
        format!("kept {kept}; the next start rebuilds the index")
    };
    let mut findings = vec![Finding::ok(MEMORY, detail)];
    findings.extend(mended(MEMORY, &repaired.set_aside, IMPORT));
    if let Some(record) = repaired.unnamed_after {
        let detail = format!(
            "the state of the store is unusable, so it is unknown which memories lost a text; changes, deletions and links after record {record} may be lost, and deleted memories may be back"
        );
        findings.push(Finding::warning(MEMORY, detail, IMPORT));
    }
    for id in repaired.lost {
        findings.push(Finding::warning(
            MEMORY,
            format!("memory {id} lost its current text"),
            IMPORT,
        ));
    }
    for id in repaired.lost_history {
        findings.push(Finding::warning(
            MEMORY,
            format!("memory {id} lost an earlier text"),
            "its current text is intact",
        ));
    }
    Ok((findings, repaired.reached))
}

/// The findings for the repaired places of a store; `hint` is for lost records.
pub(super) fn mended<'a>(
    part: &'static str,
    places: &'a [RepairedDamage],
    hint: &'a str,
) -> impl Iterator<Item = Finding> + 'a {
    const KEPT: &str = "the damaged bytes are next to the log in *.damaged";
    // One cause may be in several findings: a folder in the place of a file, and the records of that file.
    let is_any_loss = places.iter().any(|place| place.is_loss);
    places.iter().map(move |RepairedDamage { what, is_loss, is_kept }| {
        let detail = if *is_loss { format!("lost: {what}") } else { format!("repaired: {what}") };
        let hint = match (is_loss, is_kept) {
            (true, true) => format!("{KEPT}; {hint}"),
            (true, false) => hint.to_owned(),
            (false, true) if is_any_loss => KEPT.to_owned(),
            (false, false) if is_any_loss => {
                "records that are lost have lines of their own".to_owned()
            }
            (false, true) => format!("nothing is lost; {KEPT}"),
            (false, false) => "nothing is lost".to_owned(),
        };
        Finding::warning(part, detail, hint)
    })
}

fn check_memory(data_dir: &Path, known: Reached) -> waypost_memory::Result<(Vec<Finding>, bool)> {
    let checked = waypost_memory::check(data_dir, known)?;
    let records = show::count(checked.log_records, "record", "records");
    let detail = format!("{records}, all valid, in {}", data_dir.display());
    Ok((verdicts(MEMORY, &checked.log_damage, &checked.derived_damage, detail), false))
}

fn events(dir: &Path, known: u64) -> Vec<Finding> {
    let checked = match waypost_events::verify(dir, known) {
        Ok(checked) => checked,
        Err(error) => return vec![Finding::fault(EVENTS, &of_events(&error))],
    };
    let count = show::count(checked.events, "event", "events");
    let detail = format!("{count}, all valid, in {}", dir.display());
    verdicts(EVENTS, &checked.damage, &checked.derived_damage, detail)
}

fn flows(
    checked: Result<waypost_flows::Checked, waypost_flows::Error>,
    dir: &Path,
) -> Vec<Finding> {
    let checked = match checked {
        Ok(checked) => checked,
        Err(error) => return vec![Finding::fault(FLOWS, &of_flows(&error))],
    };
    let count = show::count(checked.records, "record", "records");
    let detail = format!("{count}, all valid, in {}", dir.display());
    verdicts(FLOWS, &checked.damage, &checked.derived_damage, detail)
}

/// One finding per damage, or one that everything is intact.
pub(super) fn verdicts(
    part: &'static str,
    damage: &[String],
    derived: &[String],
    good: String,
) -> Vec<Finding> {
    let fault = |text: &String| Finding::fault(part, &Failure::new(text.clone()).with_hint(REPAIR));
    let mut findings: Vec<Finding> = damage.iter().map(fault).collect();
    findings.extend(derived.iter().map(|derived| Finding::warning(part, derived.clone(), REBUILT)));
    if findings.is_empty() {
        findings.push(Finding::ok(part, good));
    }
    findings
}

/// Repairs the events, and returns the last assigned id if that succeeded.
fn repair_events(dir: &Path, known: u64) -> (Vec<Finding>, Option<u64>) {
    let repaired = match waypost_events::repair(dir, known) {
        Ok(repaired) => repaired,
        Err(error) => return (vec![Finding::fault(EVENTS, &of_events(&error))], None),
    };
    let kept = show::count(repaired.kept, "event", "events");
    let mut findings = vec![Finding::ok(EVENTS, format!("{kept} kept"))];
    let hint = "a backup may still have the events";
    findings.extend(mended(EVENTS, &repaired.set_aside, hint));
    (findings, Some(repaired.last))
}

fn repair_flows(dir: &Path, witness: &mut Witness, last_event: u64) -> Vec<Finding> {
    let reached = witness.get(FLOWS);
    let repaired = match waypost_flows::repair(dir, reached, last_event, span::now()) {
        Ok(repaired) => repaired,
        Err(error) => return vec![Finding::fault(FLOWS, &of_flows(&error))],
    };
    witness.raise(FLOWS, repaired.reached);
    let kept = show::count(repaired.kept, "record", "records");
    let mut findings = vec![Finding::ok(FLOWS, format!("{kept} kept"))];
    let hint = "a pause of a flow may be lost: `ctl flows list`";
    findings.extend(mended(FLOWS, &repaired.set_aside, hint));
    findings.extend(repaired.dead.into_iter().map(|dead| {
        Finding::warning(
            FLOWS,
            format!("run {dead} has failed: whether its action was done is unknown"),
            format!("check whether it was done; if not, `ctl flows retry {dead}`"),
        )
    }));
    findings.extend(repaired.undecided.into_iter().map(|(from, to)| {
        let after = from.saturating_sub(1);
        Finding::warning(
            FLOWS,
            if from == to {
                format!("runs for the event {from} may be lost")
            } else {
                format!("runs for the events {from} to {to} may be lost")
            },
            format!(
                "check whether their actions were done; if not, `ctl flows replay FLOW --after {after} --until {to}` evaluates them again"
            ),
        )
    }));
    findings
}

/// The index of project context is derived: opening it creates it again.
fn context(dir: &Path) -> Vec<Finding> {
    match waypost_context::verify(dir) {
        Ok(damage) => verdicts(CONTEXT, &[], &damage, dir.display().to_string()),
        Err(waypost_context::Error::InUse { .. }) => {
            vec![Finding::ok(CONTEXT, "in use; checked only while no service is running")]
        }
        Err(error) => vec![Finding::fault(CONTEXT, &Failure::of(&error))],
    }
}
