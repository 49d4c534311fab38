//! `cluster join`: fills an empty project from the newest snapshot in the database.

use std::io::{PipeReader, PipeWriter};
use std::path::Path;

use indicatif::HumanBytes;
use serde_json::json;
use waypost_auth::TokenStore;
use waypost_cli::failure::{Failure, Result};
use waypost_cli::maintenance::ClusterJoinArgs;
use waypost_cli::output::{Output, Unit};
use waypost_cli::program::Program;
use waypost_cli::span;
use waypost_cluster::{Base, Member, PARTS, Part, Places};
use waypost_journal::{Error, Journal, Settings, Snapshot, StoreId, Until};

use super::{LONG, backup, cluster_failed, failed, report, settings, short};

/// The incarnation of an open store: `accept-loss` continues with another store, and begins an
/// incarnation of the former one that no machine has.
pub(super) const FIRST: u64 = 1;

pub(super) fn join(program: &Program, args: &ClusterJoinArgs, output: &mut Output) -> Result<()> {
    crate::maintenance::refuse_tracked(program)?;
    let data = program.settings()?.data_dir.clone();
    backup::refuse_existing(&data)?;
    let settings = settings(&args.database)?;
    let store = store_of(&settings, args.store.as_deref())?;
    let journal = Journal::open(settings, store, &short()).map_err(|error| failed(&error))?;
    if journal.incarnation() != FIRST {
        return Err(closed_store(store));
    }
    journal.check_feature(waypost_cluster::FEATURE).map_err(|error| failed(&error))?;
    let snapshots = journal.snapshots(&short()).map_err(|error| failed(&error))?;
    let newest = snapshots.first().ok_or_else(|| {
        Failure::not_found(format!("the database has no complete snapshot of the store {store}"))
            .with_hint("start a service of the cluster: the one that leads writes a snapshot")
    })?;
    let position = newest.position;
    let base = Base { position, places: places_of(newest)? };
    let member = Member::joining(&args.database, journal.incarnation(), base, store)
        .map_err(|error| cluster_failed(&error))?;
    let summary = download(program, &journal, newest, &member, output)?;
    journal.joined(&report(program, &member), &short()).map_err(|error| match error {
        // It was closed while the snapshot was read.
        Error::Incarnation { .. } => closed_store(store)
            .with_hint("move the data folder away, and join the store that it printed"),
        error => failed(&error),
    })?;
    if output.json(&json!({
        "store": store.to_string(), "machine": member.machine.to_string(),
        "position": position.seq, "bytes": summary,
    }))? {
        return Ok(());
    }
    output.line(&format!(
        "joined the cluster of the store {store}: copied {} up to record {}",
        HumanBytes(summary),
        position.seq
    ))?;
    output.note("start the service; it applies what was written since");
    Ok(())
}

/// The store to join: the one that is asked for, or the only one.
fn store_of(settings: &Settings, asked: Option<&str>) -> Result<StoreId> {
    let stores = Journal::stores(settings, &short()).map_err(|error| failed(&error))?;
    let (open, closed): (Vec<_>, Vec<_>) = stores.into_iter().partition(|store| store.1 == FIRST);
    let names = |stores: &[(StoreId, u64)]| {
        stores.iter().map(|store| store.0.to_string()).collect::<Vec<_>>().join(", ")
    };
    let continued = || {
        if open.is_empty() {
            "run `ctl cluster accept-loss` again on the machine where it was interrupted".to_owned()
        } else {
            format!("join the store that it printed; open stores: {}", names(&open))
        }
    };
    let is_asked = |it: &&(StoreId, u64)| asked.is_some_and(|asked| it.0.to_string() == asked);
    match (asked, &open[..]) {
        (Some(asked), _) => match (open.iter().find(is_asked), closed.iter().find(is_asked)) {
            (Some(found), _) => Ok(found.0),
            (None, Some(found)) => Err(closed_store(found.0).with_hint(continued())),
            (None, None) => Err(Failure::not_found(format!(
                "the database has no store {asked} that can be joined; it has {}",
                if open.is_empty() { "none".to_owned() } else { names(&open) }
            ))
            .with_hint("check the id; if its `ctl cluster init` was interrupted, run it again on the first machine")),
        },
        (None, [only]) => Ok(only.0),
        (None, []) if closed.is_empty() => Err(Failure::not_found("the database has no cluster")
            .with_hint("run `ctl cluster init` on the first machine")),
        (None, []) => Err(Failure::not_found(format!(
            "all stores in the database are closed: {}",
            names(&closed)
        ))
        .with_hint(continued())),
        (None, _) => {
            Err(Failure::usage(format!("the database has several stores: {}", names(&open)))
                .with_hint("pass one with --store"))
        }
    }
}

fn closed_store(store: StoreId) -> Failure {
    Failure::new(format!(
        "the store {store} is closed: `ctl cluster accept-loss` continued with another one"
    ))
    .with_hint("join the store that it printed")
}

fn places_of(snapshot: &Snapshot) -> Result<Places> {
    let mut places = [0; PARTS];
    for (number, place) in &snapshot.places {
        let part = Part::of_number(*number).ok_or_else(|| {
            Failure::new(format!(
                "the snapshot has the part {number}, which this release does not know"
            ))
            .with_hint("install the release that the other machines have")
        })?;
        places[part.index()] = *place;
    }
    Ok(places)
}

/// Fills the data folder from a snapshot, and returns its bytes.
fn download(
    program: &Program,
    journal: &Journal,
    snapshot: &Snapshot,
    member: &Member,
    output: &mut Output,
) -> Result<u64> {
    let bar = output.progress(Unit::Bytes);
    bar.set_message("reading the snapshot");
    bar.set_length(snapshot.bytes);
    let (reader, writer): (PipeReader, PipeWriter) = std::io::pipe()?;
    let (got, restored) = std::thread::scope(|scope| {
        let getting = scope.spawn(|| {
            let mut writer = writer;
            journal.get_snapshot(snapshot, &mut writer, &Until::within(LONG), &mut |_| {})
        });
        let restored = backup::restore_from(program, bar.wrap_read(reader), &bar, &mut |part| {
            let tokens = adopt_tokens(part)?;
            member.clone().with_tokens(tokens).write(part).map_err(|error| cluster_failed(&error))
        });
        (getting.join(), restored)
    });
    match (got, restored) {
        (Ok(Ok(())), Ok(summary)) => Ok(summary.bytes),
        // What was read until then was no whole backup.
        (Ok(Err(error)), _) => Err(failed(&error)),
        (_, Err(failure)) => Err(failure),
        (Err(_), _) => Err(Failure::new("reading the snapshot failed")),
    }
}

/// Keeps the shared tokens of a snapshot, without those of the machine that made it, and returns them.
fn adopt_tokens(part: &Path) -> Result<Vec<String>> {
    let file = part.join("tokens.json");
    let shared = TokenStore::open(&file)?.shared_state(span::now())?;
    std::fs::remove_file(&file).or_else(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    })?;
    let tokens = TokenStore::open(&file)?;
    tokens.adopt(&shared, span::now())?;
    Ok(tokens.shared_lines()?)
}
