//! `cluster init`: makes the project's store the first copy of a new journal.

use std::io::{PipeReader, PipeWriter};
use std::path::Path;

use serde_json::json;
use waypost_auth::TokenStore;
use waypost_cluster::{Base, Begun, Member, PARTS, Part, Places};
use waypost_journal::{Error, Journal, NewSnapshot, Settings, Snapshot, StoreId, Until};
use waypost_log::{Log, Options};

use super::{LONG, backup, cluster_failed, failed, locked, report, settings, short};
use crate::failure::{Failure, Result};
use crate::output::{Output, Unit};
use crate::program::Program;
use crate::span;

pub(super) fn init(program: &Program, url: &str, output: &mut Output) -> Result<()> {
    let data = program.settings()?.data_dir.clone();
    let settings = settings(url)?;
    if let Some(member) = Member::read(&data).map_err(|it| cluster_failed(&it))? {
        return Err(Failure::new(format!(
            "this project is already a member of the cluster of the store {}",
            member.store
        ))
        .with_hint("`ctl cluster leave` leaves it"));
    }
    let begun = Begun::read(&data).map_err(|it| cluster_failed(&it))?;
    if begun.is_none() && TokenStore::open(&data.join("tokens.json"))?.is_shared()? {
        let what = if data.join(Begun::FILE).exists() {
            "`ctl cluster init` was interrupted in this project, and its file `cluster-begun` is damaged"
        } else {
            "this project belongs to a cluster and lacks the file `cluster-member`"
        };
        return Err(Failure::new(what)
        .with_hint("`ctl cluster leave` makes its store one of this machine alone; then run `ctl cluster init`"));
    }
    program.check_data()?;
    if !data.is_dir() {
        return Err(Failure::new("this project has no store yet").with_hint(
            "start the service once and stop it; or run `ctl cluster join` to enter a cluster",
        ));
    }
    let _locks = locked(&data)?;
    let begun = begin(&data, &settings, url, None)?;
    let member = create(program, &data, &settings, begun, output)?;
    if output.is_json() {
        output.document(
            &json!({ "store": member.store.to_string(), "machine": member.machine.to_string() }),
        )?;
        return Ok(());
    }
    output.line(&format!("created the cluster of the store {}", member.store))?;
    output.note("start the service; on other machines, run `ctl cluster join` with the same URL");
    Ok(())
}

/// Makes the store in the locked data folder that of the first machine of a new journal. After an
/// interruption, it continues with the same journal.
pub(super) fn create(
    program: &Program,
    data: &Path,
    settings: &Settings,
    mut begun: Begun,
    output: &mut Output,
) -> Result<Member> {
    let tokens = TokenStore::open(&data.join("tokens.json"))?;
    let new = |member: &Member| Journal::create(settings.clone(), member.store, &short());
    let journal = match new(&begun.member) {
        Err(Error::Exists(_)) => own(settings, &begun.member)?,
        created => Some(created.map_err(|it| failed(&it))?),
    };
    let journal = if let Some(journal) = journal {
        journal
    } else {
        let Member { url, base, .. } = &begun.member;
        begun.member = Member::first(url, base.places).map_err(|it| cluster_failed(&it))?;
        begun.write(data).map_err(|it| cluster_failed(&it))?;
        new(&begun.member).map_err(|it| failed(&it))?
    };
    // The snapshot has the tokens of the cluster, and those of this machine, which no other machine adopts.
    let was_shared = tokens.is_shared()?;
    tokens.share(span::now())?;
    let member = begun.member.with_tokens(tokens.shared_lines()?);
    if let Err(failure) = upload(data, &journal, &member, output) {
        if !was_shared {
            // Without a cluster, tokens that are marked as shared could not be changed.
            drop(tokens.without_shared()?);
        }
        return Err(failure);
    }
    // From here on, other machines may join: the tokens stay shared.
    journal.joined(&report(program, &member), &short()).map_err(|it| failed(&it))?;
    member.complete(data).map_err(|it| cluster_failed(&it))?;
    Ok(member)
}

/// Notes which machine is being created: that of a creation that was interrupted, if the store has not
/// changed since. `closed` is as in [`Begun`].
pub(super) fn begin(
    data: &Path,
    settings: &Settings,
    url: &str,
    closed: Option<(StoreId, u64)>,
) -> Result<Begun> {
    let places = places(data)?;
    let first = || Member::first(url, places).map_err(|it| cluster_failed(&it));
    let member = match Begun::read(data).map_err(|it| cluster_failed(&it))? {
        None => first()?,
        Some(Begun { member, .. }) => {
            let is_there = member.url == url || is_in(data, settings, url, &member)?;
            if is_there && member.base == Base::start(member.store, places) {
                Member { url: url.to_owned(), ..member }
            } else {
                // Its id may show which machine has closed the former store.
                Member { machine: member.machine, ..first()? }
            }
        }
    };
    let begun = Begun { member, closed };
    begun.write(data).map_err(|it| cluster_failed(&it))?;
    Ok(begun)
}

/// Whether the database of `url`, which is spelled differently than before, has the store that was begun.
/// Refuses another database if machines may have joined the store.
fn is_in(data: &Path, settings: &Settings, url: &str, begun: &Member) -> Result<bool> {
    match Journal::open(settings.clone(), begun.store, &short()) {
        Ok(_) => Ok(true),
        Err(Error::OtherStore { .. } | Error::Missing(_)) => {
            if !TokenStore::open(&data.join("tokens.json"))?.is_shared()? {
                return Ok(false);
            }
            Err(Failure::new(format!(
                "the command was interrupted after it had created the store {} in the database {}, and {url} does not have it",
                begun.store, begun.url
            ))
            .with_hint("repeat it with the first URL; or run `ctl cluster leave`, and then `ctl cluster init` with the other one"))
        }
        Err(error) => Err(failed(&error)),
    }
}

/// The journal of a machine that was begun; `None` if it is another machine's.
fn own(settings: &Settings, member: &Member) -> Result<Option<Journal>> {
    let journal = Journal::open(settings.clone(), member.store, &short());
    let journal = journal.map_err(|it| failed(&it))?;
    let machines = journal.machines(&short()).map_err(|it| failed(&it))?;
    let is_listed = machines.iter().any(|it| it.report.id == member.machine);
    if journal.incarnation() != member.incarnation {
        if !is_listed {
            return Ok(None);
        }
        return Err(Failure::new(format!(
            "the store {} that was begun here is closed: `ctl cluster accept-loss` ran on a machine that had joined it",
            member.store
        ))
        .with_hint("run `ctl cluster leave` here, or move the data folder away and run `ctl cluster join`"));
    }
    let end = journal.head(&short()).map_err(|it| failed(&it))?.position;
    let is_new = machines.is_empty() && end == member.base.position;
    Ok((is_listed || is_new).then_some(journal))
}

/// The last record of each part of a store at rest.
pub(super) fn places(data: &Path) -> Result<Places> {
    let last = |folder: &str| {
        let report = Log::verify(&data.join(folder), &Options::default());
        report.map(|it| it.last_sequence).map_err(|it| Failure::of(&it))
    };
    let mut places = [0; PARTS];
    places[Part::Memory.index()] = last("memory/log")?;
    places[Part::Events.index()] = last("events/log")?;
    places[Part::Flows.index()] = last("flows/log")?;
    Ok(places)
}

/// Writes a snapshot of the locked data folder to the database.
fn upload(
    data: &Path,
    journal: &Journal,
    member: &Member,
    output: &mut Output,
) -> Result<Snapshot> {
    let bar = output.progress(Unit::Bytes);
    bar.set_message("writing a snapshot");
    let new = NewSnapshot {
        position: member.base.position,
        places: Part::numbered(&member.base.places),
        machine: member.machine,
    };
    let (mut reader, writer): (PipeReader, PipeWriter) = std::io::pipe()?;
    let (put, written) = std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            let mut writer = writer;
            backup::from_locked(data, &mut writer, &bar)
        });
        let put = journal.put_snapshot(&new, &mut reader, &Until::within(LONG), &mut |_| {});
        // The other end then fails to write, if it still does.
        drop(reader);
        (put, writing.join())
    });
    bar.finish_and_clear();
    match (put, written) {
        (Ok(snapshot), Ok(Ok(()))) => Ok(snapshot),
        (Err(error), _) => Err(failed(&error)),
        (_, Ok(Err(failure))) => Err(failure),
        (_, Err(_)) => Err(Failure::new("reading the store failed")),
    }
}
