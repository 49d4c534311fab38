//! `cluster accept-loss`: continues with the copy of this machine.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use waypost_auth::TokenStore;
use waypost_cli::failure::{Failure, Result};
use waypost_cli::maintenance::ClusterAcceptArgs;
use waypost_cli::output::Output;
use waypost_cli::program::Program;
use waypost_cli::review::confirm;
use waypost_cluster::{Begun, Hub, HubOptions, Member, Places};
use waypost_journal::{Error, ErrorKind, Journal, Machine, Position, Settings, StoreId, Until};

use super::history::{History, LocalCopy, Missing};
use super::join::FIRST;
use super::status::span;
use super::{
    COMPARE, LONG, REVOKED, backup, cluster_failed, create, failed, follow_tokens, has_more,
    locked, member, named, pages, restore_tokens, settings, short, unknown_elsewhere, url_of,
};

/// A service that runs reports every second.
const SILENT: Duration = Duration::from_secs(3);
/// How often the journal may have moved while it was checked.
const ATTEMPTS_MAX: usize = 5;

pub(super) fn accept(
    program: &Program,
    args: &ClusterAcceptArgs,
    output: &mut Output,
) -> Result<()> {
    member(program)?;
    let data = program.settings()?.data_dir.clone();
    let _locks = locked(&data)?;
    // Another command may have replaced it meanwhile.
    let old = member(program)?;
    let url = url_of(program, &old)?;
    let settings = settings(&url)?;
    let open = || Journal::open(settings.clone(), old.store, &short());
    let journal = match open() {
        // The database has lost the whole store: there is nothing to close.
        Err(Error::OtherStore { .. } | Error::Missing(_)) if args.although_behind => None,
        Err(error @ (Error::OtherStore { .. } | Error::Missing(_))) => {
            return Err(Failure::of(&error).with_hint(
                "check the URL of the database; if the database has lost the store, run the command with --although-behind, only on the machine that has applied most",
            ));
        }
        opened => Some(opened.map_err(|error| failed(&error))?),
    };
    let begun = Begun::read(&data).map_err(|error| match error {
        waypost_cluster::Error::Damaged { path, .. } => damaged(&path, &settings, old.store),
        error => cluster_failed(&error),
    })?;
    backup::check(&data)?;
    let places = create::places(&data)?;
    let was_closed = match (&begun, &journal) {
        // Another data folder has other records.
        (Some(begun), Some(journal)) if begun.member.is_before(places) => {
            has_closed(begun, &old, journal)?
        }
        _ => false,
    };
    let loss = Loss { data: &data, places, old: &old, url: &url, settings: &settings, args };
    let (begun, mut warnings) = match &journal {
        Some(journal) if was_closed => {
            // What was checked before the former store was closed still holds.
            output.note("an `accept-loss` was interrupted; it continues");
            let closed = begun.as_ref().and_then(|begun| begun.closed);
            let begun = create::begin(&data, &settings, &url, begun, places, closed)?;
            (begun, loss.check(journal)?.warn(output))
        }
        journal => {
            let Some(closed) = loss.close(journal.as_ref(), begun, output)? else { return Ok(()) };
            closed
        }
    };
    let tokens = TokenStore::open(&data.join("tokens.json"))?;
    restore_tokens(&tokens, &data, &old)?;
    // Nobody can append any more.
    let is_read = match journal {
        Some(_) => follow_to_the_end(&open().map_err(|error| failed(&error))?, &old, &tokens)?,
        None => false,
    };
    if !is_read {
        output.warn(REVOKED);
        warnings.push(REVOKED.to_owned());
    }
    let member = create::create(program, &data, &settings, begun, output)?;
    output.answer(
        &json!({
            "store": member.store.to_string(), "formerStore": old.store.to_string(),
            "warnings": warnings,
        }),
        &format!("the store continues as {}, with everything that this machine had", member.store),
    )?;
    output.note("what only other machines have, also what they have written since the loss, is only in their data folders");
    if let Ok(open) = open_stores(&settings, member.store)
        && !open.is_empty()
    {
        output.note(&format!("the database also has these open stores: {open}"));
    }
    output.note(&format!(
        "on each other machine: stop the service, move the data folder away, and run `ctl cluster join {} --store {}`",
        quoted(&url),
        member.store
    ));
    Ok(())
}

/// The file of a begun store is damaged.
fn damaged(file: &Path, settings: &Settings, old: StoreId) -> Failure {
    let begun = match open_stores(settings, old) {
        Ok(open) if open.is_empty() => "the database has no other open store".to_owned(),
        Ok(open) => format!("the database has these other open stores: {open}"),
        Err(_) => "the stores in the database could not be listed".to_owned(),
    };
    Failure::new(format!("{} is damaged", file.display())).with_hint(format!(
        "a `ctl cluster accept-loss` was interrupted here, and {begun}; if another machine has joined the one that it began, move the data folder away and join that store, too; otherwise remove the file and run the command with --although-complete: it begins another store, and `ctl cluster join` then needs --store",
    ))
}

/// The open stores of the database but for one, for a message.
fn open_stores(settings: &Settings, but: StoreId) -> std::result::Result<String, Error> {
    let stores = Journal::stores(settings, &short())?;
    let open = stores.iter().filter(|(id, incarnation)| *id != but && *incarnation == FIRST);
    Ok(open.map(|open| open.0.to_string()).collect::<Vec<_>>().join(", "))
}

/// A word for a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Whether the machine that was begun here, and no other one, has closed the former store.
pub(super) fn has_closed(begun: &Begun, old: &Member, journal: &Journal) -> Result<bool> {
    let head = journal.head(&short()).map_err(|error| failed(&error))?;
    Ok(begun.closed == Some((old.store, head.incarnation))
        && head.lease_holder == Some(begun.member.machine))
}

/// A loss that a person is asked to accept.
struct Loss<'a> {
    data: &'a Path,
    /// The last records of the data folder.
    places: Places,
    old: &'a Member,
    url: &'a str,
    settings: &'a Settings,
    args: &'a ClusterAcceptArgs,
}

/// What a comparison with the former journal and the machines in its list has found.
struct Checked {
    /// Where the journal ended before.
    end: Position,
    missing: Option<Missing>,
    /// Whether this machine has the journal's history.
    history: History,
    /// Which revocations of tokens may be missing, whether or not the journal can be read.
    warnings: Vec<String>,
}

impl Checked {
    fn warn(self, output: &mut Output) -> Vec<String> {
        for warning in &self.warnings {
            output.warn(warning);
        }
        self.warnings
    }
}

impl Loss<'_> {
    /// Checks that this machine has what others have, asks, and lets no machine write to the former store
    /// any more: it begins an incarnation that none of them has. Of several machines, one succeeds, and only if
    /// the journal ends where it ended when it was checked. Returns the member that was begun and
    /// [`Checked::warnings`]; `None` if the answer was no.
    fn close(
        &self,
        journal: Option<&Journal>,
        mut found: Option<Begun>,
        output: &mut Output,
    ) -> Result<Option<(Begun, Vec<String>)>> {
        let although_behind = self.args.although_behind;
        let (mut is_agreed, mut warnings) = (self.args.yes, Vec::new());
        for _ in 0..ATTEMPTS_MAX {
            let checked = journal.map(|journal| self.check(journal)).transpose()?;
            if let (Some(journal), Some(checked)) = (journal, &checked) {
                let (expected, found) = (self.old.incarnation, journal.incarnation());
                if expected != found && !self.args.although_complete {
                    return Err(failed(&Error::Incarnation { expected, found }));
                }
                if let Some(missing) = checked.missing.as_ref().filter(|_| !although_behind) {
                    return Err(Failure::new(&missing.message).with_hint(missing.hint));
                }
                if !self.args.although_complete {
                    refuse_complete(self.data, checked.history, self.old, self.settings.clone())?;
                }
            }
            let end = checked.as_ref().map(|checked| checked.end);
            if let Some(checked) = checked.filter(|checked| checked.warnings != warnings) {
                warnings = checked.warn(output);
            }
            let question = "continue with this machine's copy? All other machines must join again";
            if !is_agreed && !confirm(question, output)? {
                return Ok(None);
            }
            is_agreed = true;
            let closed = journal.map(|journal| (self.old.store, journal.incarnation() + 1));
            let begun =
                create::begin(self.data, self.settings, self.url, found, self.places, closed)?;
            let (Some(journal), Some(end)) = (journal, end) else {
                return Ok(Some((begun, warnings)));
            };
            match journal.begin_incarnation(end, Some(begun.member.machine), &short()) {
                Ok(_) => return Ok(Some((begun, warnings))),
                // Another machine has appended.
                Err(Error::Invalid(_)) => found = Some(begun),
                // Perhaps by a statement of this command whose answer was lost.
                Err(error @ Error::Incarnation { .. }) => {
                    let journal = Journal::open(self.settings.clone(), self.old.store, &short());
                    let journal = journal.map_err(|error| failed(&error))?;
                    return if has_closed(&begun, self.old, &journal)? {
                        Ok(Some((begun, warnings)))
                    } else {
                        Err(failed(&error))
                    };
                }
                Err(error) => return Err(failed(&error)),
            }
        }
        Err(Failure::new("other machines kept writing to the journal while it was checked")
            .with_hint("stop their services, and repeat the command"))
    }

    /// Compares the data folder with the journal and with what machines have reported.
    fn check(&self, journal: &Journal) -> Result<Checked> {
        let found = journal.head(&short()).and_then(|head| Ok((head, journal.machines(&short())?)));
        let (head, machines) = found.map_err(|error| failed(&error))?;
        let (end, own) = (head.position, self.old.machine);
        let copy = LocalCopy::compare(self.data, self.places, self.old, journal)?;
        let missing = copy.missing(&machines, self.old, journal.incarnation(), end);
        let of_missing = missing.as_ref().filter(|missing| !missing.is_in_journal).map(|missing| {
            format!(
                "{}: tokens that were revoked there may be valid here; {COMPARE}",
                missing.message
            )
        });
        let elsewhere = unknown_elsewhere(&machines, own, end.seq);
        let is_lost = copy.history == History::Other || elsewhere.is_some();
        // A machine that has another history, as this one has, has the records that this one has, or fewer.
        let elsewhere = elsewhere.filter(|_| copy.history != History::Other);
        let mut warnings: Vec<_> = of_missing.into_iter().chain(elsewhere).collect();
        let is_silent = |machine: &&Machine| {
            machine.report.id != own && machine.silent >= SILENT && machine.report.fault.is_none()
        };
        // Its last report may be older than the loss.
        for silent in machines.iter().filter(|machine| is_lost && is_silent(machine)) {
            warnings.push(format!(
                "{} reported for the last time {} ago: if the database has lost later reports, too, that machine may have more records, and tokens that it has revoked may be valid here; to find out, start its service before this command",
                named(silent, &machines),
                span(silent.silent)
            ));
        }
        Ok(Checked { end, missing, history: copy.history, warnings })
    }
}

/// Makes the changes of tokens of the former journal. False if it could not be read from where this
/// machine was, or has another history and does not begin with the store.
fn follow_to_the_end(journal: &Journal, old: &Member, tokens: &TokenStore) -> Result<bool> {
    let until = Until::within(LONG);
    if follow_tokens(journal, old.base.position, tokens, &until)? {
        return Ok(true);
    }
    // Where the other history begins is not known.
    let base = journal.head(&short()).map_err(|error| failed(&error))?.base;
    Ok(follow_tokens(journal, base, tokens, &until)? && base.seq == 0)
}

/// Refuses if the journal has everything that machines have reported and this one has, undamaged.
fn refuse_complete(data: &Path, history: History, own: &Member, settings: Settings) -> Result<()> {
    if history == History::Other {
        return Ok(());
    }
    // It refuses what the service refuses.
    let hub = Hub::new(data, own.clone(), settings, HubOptions::default());
    let journal = match hub.journal(&short()) {
        Ok(journal) => journal,
        Err(waypost_cluster::Error::Journal(error @ Error::Incarnation { .. })) => {
            return Err(failed(&error));
        }
        Err(waypost_cluster::Error::Journal(error)) if is_loss(&error) => return Ok(()),
        Err(error) => return Err(cluster_failed(&error)),
    };
    match is_complete(own, &journal) {
        Ok(Some(end)) => Err(Failure::new(format!(
            "nothing is lost: the journal ends at record {end}, and no machine has more"
        ))
        .with_hint(
            "if an `accept-loss` was interrupted here, it has succeeded, and `ctl cluster status` shows the new store; if a service reports another record than its own, pass --although-complete: all other machines must join again",
        )),
        Ok(None) => Ok(()),
        Err(error) if is_loss(&error) => Ok(()),
        Err(error) => Err(failed(&error)),
    }
}

/// The end of the journal if it is undamaged up to there and no machine has reported more.
fn is_complete(own: &Member, journal: &Journal) -> std::result::Result<Option<u64>, Error> {
    let head = journal.confirm(own.base.position, &short())?;
    let machines = journal.machines(&short())?;
    if machines.iter().any(|machine| has_more(machine, head.position.seq)) {
        return Ok(None);
    }
    let (base, mut end) = (own.base.position, head.base.seq);
    for rows in pages(journal, head.base, &Until::within(LONG)) {
        for row in rows? {
            if row.seq == base.seq && row.position() != base {
                return Ok(None);
            }
            end = row.seq;
        }
    }
    Ok(Some(end))
}

fn is_loss(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Lost | ErrorKind::Damaged)
}
