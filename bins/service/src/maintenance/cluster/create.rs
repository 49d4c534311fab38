//! `cluster init`: makes the project's store the first copy of a new journal.

use std::io::{PipeReader, PipeWriter};
use std::path::Path;

use serde_json::json;
use waypost_auth::TokenStore;
use waypost_cli::failure::{Failure, Result};
use waypost_cli::output::{Output, Unit};
use waypost_cli::program::Program;
use waypost_cli::span;
use waypost_cluster::{Begun, Member, PARTS, Part, Places};
use waypost_journal::{Error, Journal, NewSnapshot, Settings, Snapshot, StoreId, Until};
use waypost_log::{Log, Options};

use super::{
    LONG, backup, cluster_failed, failed, locked, report, restore_tokens, settings, short,
};

/// How to go on without the files of a cluster.
const ALONE: &str =
    "`ctl cluster leave` makes its store one of this machine alone; then run `ctl cluster init`";

pub(super) fn init(program: &Program, url: &str, output: &mut Output) -> Result<()> {
    let data = program.settings()?.data_dir.clone();
    let settings = settings(url)?;
    refuse_member(&data)?;
    crate::maintenance::check_data(program)?;
    if !data.is_dir() {
        return Err(Failure::new("this project has no store yet").with_hint(
            "start the service once and stop it; or run `ctl cluster join` to enter a cluster",
        ));
    }
    let _locks = locked(&data)?;
    // Another command may have written the file meanwhile.
    refuse_member(&data)?;
    let is_shared = TokenStore::open(&data.join("tokens.json"))?.is_shared()?;
    let begun = match Begun::read(&data) {
        Err(waypost_cluster::Error::Damaged { path, .. }) => {
            return Err(Failure::new(format!("{} is damaged", path.display())).with_hint(ALONE));
        }
        Ok(None) if is_shared => {
            return Err(Failure::new(
                "this project belongs to a cluster and lacks the file `cluster-member`",
            )
            .with_hint(ALONE));
        }
        read => read.map_err(|error| cluster_failed(&error))?,
    };
    let begun = begin(&data, &settings, url, begun, places(&data)?, None)?;
    let member = create(program, &data, &settings, begun, output)?;
    if output.json(
        &json!({ "store": member.store.to_string(), "machine": member.machine.to_string() }),
    )? {
        return Ok(());
    }
    output.line(&format!("created the cluster of the store {}", member.store))?;
    output.note("start the service; on other machines, run `ctl cluster join` with the same URL");
    Ok(())
}

fn refuse_member(data: &Path) -> Result<()> {
    let Some(member) = Member::read(data).map_err(|error| cluster_failed(&error))? else {
        return Ok(());
    };
    Err(Failure::new(format!(
        "this project is already a member of the cluster of the store {}",
        member.store
    ))
    .with_hint("`ctl cluster leave` leaves it"))
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
    restore_tokens(&tokens, data, &begun.member)?;
    let journal = match Journal::create(settings.clone(), begun.member.store, &short()) {
        Err(Error::Exists(_)) => own(settings, &begun.member)?,
        created => created.map_err(|error| failed(&error))?,
    };
    // The snapshot has the tokens of the cluster, and those of this machine, which no other machine adopts.
    let was_shared = tokens.is_shared()?;
    tokens.share(span::now())?;
    let member = begun.member.clone().with_tokens(tokens.shared_lines()?);
    if let Err(failure) = upload(data, &journal, &member, output) {
        if !was_shared {
            // Without a cluster, tokens that are marked as shared could not be changed.
            drop(tokens.without_shared()?);
        }
        return Err(failure);
    }
    // From here on, other machines may join: the tokens stay shared.
    begun = Begun { member, is_joinable: true, ..begun };
    begun.write(data).map_err(|error| cluster_failed(&error))?;
    let member = begun.member;
    journal.joined(&report(program, &member), &short()).map_err(|error| failed(&error))?;
    member.complete(data).map_err(|error| cluster_failed(&error))?;
    Ok(member)
}

/// Notes which machine is being created: the one that was `found` of a creation that was interrupted, if
/// the store has not changed since. `closed` is as in [`Begun`].
pub(super) fn begin(
    data: &Path,
    settings: &Settings,
    url: &str,
    found: Option<Begun>,
    places: Places,
    closed: Option<(StoreId, u64)>,
) -> Result<Begun> {
    let mut begun = match found {
        None => Begun { member: first(url, places)?, closed, is_joinable: false },
        Some(Begun { member, is_joinable, .. }) => {
            // Until machines may have joined, a store in another database is of no use.
            let is_there = !is_joinable || member.url == url || is_in(settings, &member)?;
            match (member.is_before(places), is_there) {
                (true, true) => Begun { member, closed, is_joinable },
                (false, _) if !is_joinable => {
                    Begun { member: first(url, places)?, closed, is_joinable }
                }
                (false, true) => {
                    return Err(Failure::new(format!(
                        "the store has changed since the command was interrupted, and other machines may have joined the store {} that it had created",
                        member.store
                    ))
                    .with_hint(ALONE));
                }
                (_, false) => {
                    return Err(Failure::new(format!(
                        "the command was interrupted after it had created the store {} in the database {}, and {url} does not have it",
                        member.store, member.url
                    ))
                    .with_hint("repeat it with the first URL, which `ctl cluster accept-loss` takes from the setting `cluster.url`; or run `ctl cluster leave`, and then `ctl cluster init` with the other one"));
                }
            }
        }
    };
    url.clone_into(&mut begun.member.url);
    begun.write(data).map_err(|error| cluster_failed(&error))?;
    Ok(begun)
}

fn first(url: &str, places: Places) -> Result<Member> {
    Member::first(url, places).map_err(|error| cluster_failed(&error))
}

/// Whether a database, whose URL is spelled differently than before, has the store that was begun.
fn is_in(settings: &Settings, begun: &Member) -> Result<bool> {
    match Journal::open(settings.clone(), begun.store, &short()) {
        Ok(_) => Ok(true),
        Err(Error::OtherStore { .. } | Error::Missing(_)) => Ok(false),
        Err(error) => Err(failed(&error)),
    }
}

/// The journal of a machine that was begun, unless others have taken it over.
fn own(settings: &Settings, member: &Member) -> Result<Journal> {
    let journal = Journal::open(settings.clone(), member.store, &short());
    let journal = journal.map_err(|error| failed(&error))?;
    if journal.incarnation() != member.incarnation {
        return Err(Failure::new(format!(
            "the store {} that was begun here is closed: `ctl cluster accept-loss` ran on a machine that had joined it",
            member.store
        ))
        .with_hint("run `ctl cluster leave` here, or move the data folder away and run `ctl cluster join`"));
    }
    let machines = journal.machines(&short()).map_err(|error| failed(&error))?;
    let end = journal.head(&short()).map_err(|error| failed(&error))?.position;
    let is_listed = machines.iter().any(|machine| machine.report.id == member.machine);
    let is_new = machines.is_empty() && end == member.base.position;
    if is_listed || is_new {
        return Ok(journal);
    }
    Err(Failure::new(format!(
        "other machines have joined the store {} that was begun here, and it does not list this machine any more",
        member.store
    ))
    .with_hint(format!(
        "move the data folder away and run `ctl cluster join` with --store {}; or run `ctl cluster leave`",
        member.store
    )))
}

/// The folder of a part's log in the data folder.
pub(super) fn folder(part: Part) -> Option<&'static str> {
    match part {
        Part::Memory => Some("memory/log"),
        Part::Events => Some("events/log"),
        Part::Flows => Some("flows/log"),
        Part::Notices => None,
    }
}

/// The last record of each part of a store at rest.
pub(super) fn places(data: &Path) -> Result<Places> {
    let mut places = [0; PARTS];
    for part in Part::ALL {
        let Some(folder) = folder(part) else { continue };
        let report = Log::verify(&data.join(folder), &Options::default());
        places[part.index()] = report.map_err(|error| Failure::of(&error))?.last_sequence;
    }
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
