//! `cluster accept-loss`: continues with the copy of this machine.

use std::path::Path;

use serde_json::json;
use waypost_auth::TokenStore;
use waypost_cluster::{Begun, Hub, HubOptions, Member, Part, Places};
use waypost_journal::{
    Error, ErrorKind, FetchOptions, Journal, Machine, Position, Row, Settings, Until,
};

use super::{
    LONG, REVOKED, backup, cluster_failed, create, failed, flows, follow_tokens, journal_of,
    locked, member, restore_tokens, settings, short, url_of,
};
use crate::cli::ClusterAcceptArgs;
use crate::failure::{Failure, Result};
use crate::output::Output;
use crate::program::Program;
use crate::visible::{Lines, visible};

/// What to do on a machine that is behind the journal.
const APPLY: &str = "start the service here, which applies them; or pass --although-behind to lose what only the journal has";
const ELSEWHERE: &str = "run it on a machine that has applied more, or pass --although-behind to lose what only the journal has";
/// How often the journal may have moved while it was checked.
const ATTEMPTS_MAX: usize = 5;

pub(super) fn accept(
    program: &Program,
    args: &ClusterAcceptArgs,
    output: &mut Output,
) -> Result<()> {
    let old = member(program)?;
    let data = program.settings()?.data_dir.clone();
    let url = url_of(program, &old)?;
    let settings = settings(&url)?;
    let _locks = locked(&data)?;
    let journal = match Journal::open(settings.clone(), old.store, &short()) {
        // The database has lost the whole store: there is nothing to close.
        Err(Error::OtherStore { .. } | Error::Missing(_)) if args.although_behind => None,
        Err(error @ (Error::OtherStore { .. } | Error::Missing(_))) => {
            return Err(Failure::of(&error).with_hint(
                "check the URL of the database; if the database has lost the store, run the command with --although-behind, only on the machine that has applied most",
            ));
        }
        opened => Some(opened.map_err(|it| failed(&it))?),
    };
    let begun = Begun::read(&data).map_err(|it| match it {
        waypost_cluster::Error::Damaged { path, .. } => {
            Failure::new(format!("{} is damaged", path.display())).with_hint(
                "a `ctl cluster accept-loss` was interrupted here: if another machine has joined the store that it began, move the data folder away and join that store, too; otherwise remove the file and run the command with --although-complete",
            )
        }
        it => cluster_failed(&it),
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
    let begun = if was_closed {
        // What was checked before the former store was closed still holds.
        output.note("an `accept-loss` was interrupted; it continues");
        let closed = begun.as_ref().and_then(|it| it.closed);
        create::begin(&data, &settings, &url, begun, places, closed)?
    } else {
        let loss = Loss { data: &data, places, old: &old, url: &url, settings: &settings, args };
        let Some(begun) = loss.close(journal.as_ref(), begun, output)? else { return Ok(()) };
        begun
    };
    let tokens = TokenStore::open(&data.join("tokens.json"))?;
    restore_tokens(&tokens, &data, &old)?;
    // Nobody can append any more.
    let former = follow_to_the_end(program, &old, &tokens, args.although_behind);
    if !former.is_read {
        output.warn(REVOKED);
    }
    if former.is_another_history {
        output
            .note("what other machines have written since the loss is only in their data folders");
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

/// Whether the machine that was begun here, and no other one, has closed the former store.
pub(super) fn has_closed(begun: &Begun, old: &Member, journal: &Journal) -> Result<bool> {
    let head = journal.head(&short()).map_err(|it| failed(&it))?;
    Ok(begun.closed == Some((old.store, head.incarnation))
        && head.lease_holder() == Some(begun.member.machine))
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

impl Loss<'_> {
    /// Checks that this machine has what others have, asks, and lets no machine write to the former store
    /// any more: it begins an incarnation that none of them has. Of several machines, one succeeds, and only if
    /// the journal ends where it ended when it was checked. `None` if the answer was no.
    fn close(
        &self,
        journal: Option<&Journal>,
        mut found: Option<Begun>,
        output: &mut Output,
    ) -> Result<Option<Begun>> {
        let mut is_agreed = self.args.yes;
        for _ in 0..ATTEMPTS_MAX {
            let end = journal.map(|it| it.head(&short()).map(|it| it.position)).transpose();
            let end = end.map_err(|it| failed(&it))?;
            if let (Some(journal), Some(end)) = (journal, end) {
                let (expected, found) = (self.old.incarnation, journal.incarnation());
                if expected != found && !self.args.although_complete {
                    return Err(failed(&Error::Incarnation { expected, found }));
                }
                if !self.args.although_behind {
                    refuse_behind(self.places, self.old, journal, end)?;
                }
                if !self.args.although_complete {
                    refuse_complete(self.data, self.places, self.old, self.settings.clone())?;
                }
            }
            let question = "continue with this machine's copy? All other machines must join again";
            if !is_agreed && !flows::confirm(question, output)? {
                return Ok(None);
            }
            is_agreed = true;
            let closed = journal.map(|it| (self.old.store, it.incarnation() + 1));
            let begun =
                create::begin(self.data, self.settings, self.url, found, self.places, closed)?;
            let (Some(journal), Some(end)) = (journal, end) else { return Ok(Some(begun)) };
            match journal.begin_incarnation(end, Some(begun.member.machine), &short()) {
                Ok(_) => return Ok(Some(begun)),
                // Another machine has appended.
                Err(Error::Invalid(_)) => found = Some(begun),
                Err(error) => return Err(failed(&error)),
            }
        }
        Err(Failure::new("other machines kept writing to the journal while it was checked")
            .with_hint("stop their services, and repeat the command"))
    }
}

/// What was found in the former journal.
#[derive(Default)]
struct Former {
    /// This machine has all changes of tokens that any machine has made.
    is_read: bool,
    /// It differs from what this machine has applied, or ends before.
    is_another_history: bool,
}

/// Makes the changes of tokens of the former journal.
fn follow_to_the_end(
    program: &Program,
    old: &Member,
    tokens: &TokenStore,
    although_behind: bool,
) -> Former {
    let Ok(journal) = journal_of(program, old) else { return Former::default() };
    let (Ok(head), Ok(machines)) = (journal.head(&short()), journal.machines(&short())) else {
        return Former::default();
    };
    let fetched = journal.fetch(old.base.position, &FetchOptions::default(), &short());
    let is_another_history = fetched.is_err_and(|it| it.kind() == ErrorKind::Lost);
    let is_read = follow_tokens(&journal, old.base.position, tokens).is_ok() || {
        // Where the other history begins is not known: with all its records, or not for certain.
        follow_tokens(&journal, head.base, tokens).is_ok() && head.base.seq == 0
    };
    let has_more = |it: &Machine| {
        it.report.id != old.machine
            && (it.report.seq > head.position.seq || it.report.fault.is_some())
    };
    let is_read = is_read && !(although_behind && machines.iter().any(has_more));
    Former { is_read, is_another_history }
}

/// Refuses a copy that ends before what another machine has applied, or this one had, or the journal has.
fn refuse_behind(places: Places, own: &Member, journal: &Journal, end: Position) -> Result<()> {
    let machines = journal.machines(&short()).map_err(|it| failed(&it))?;
    let is_own = |it: &&Machine| it.report.id == own.machine;
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
    let more = places.iter().zip(own.base.places).map(|(has, had)| has.saturating_sub(had));
    let found = base + more.sum::<u64>();
    // After a restored backup, the report is older than the data folder.
    let reported = listed.map_or(0, |it| it.seq);
    if reported > found + notices(journal, own, reported) {
        return Err(Failure::new(format!(
            "this machine has reported record {reported}, and its data folder has only {found}"
        ))
        .with_hint(
            "if the folder is an older copy, run it where the newer one is; or pass --although-behind to lose what only that one has",
        ));
    }
    let ours = found.max(reported);
    let others = machines.iter().filter(|it| !is_own(it));
    let (is_same_history, hint) =
        match journal.fetch(own.base.position, &FetchOptions::default(), &short()) {
            Ok(_) if journal.incarnation() == own.incarnation => (true, APPLY),
            Ok(_) => (true, ELSEWHERE),
            // It was trimmed, or has a damaged record.
            Err(error) if matches!(error.kind(), ErrorKind::Behind | ErrorKind::Damaged) => {
                (true, ELSEWHERE)
            }
            Err(error) if error.kind() == ErrorKind::Lost => (false, ELSEWHERE),
            Err(error) => return Err(failed(&error)),
        };
    if is_same_history && end.seq > ours + notices(journal, own, end.seq) {
        return Err(Failure::new(format!(
            "the journal has {} records, and this machine has applied only {ours}",
            end.seq
        ))
        .with_hint(hint));
    }
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

/// Refuses if the journal has everything that machines have reported and this one has, undamaged.
fn refuse_complete(data: &Path, places: Places, own: &Member, settings: Settings) -> Result<()> {
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
    match is_complete(places, own, &journal) {
        Ok(Some(end)) => Err(Failure::new(format!(
            "nothing is lost: the journal has all {end} records, which is as far as any machine has come"
        ))
        .with_hint(
            "if a service reports another record than its own, pass --although-complete: all other machines must join again",
        )),
        Ok(None) => Ok(()),
        Err(error) if is_loss(&error) => Ok(()),
        Err(error) => Err(failed(&error)),
    }
}

/// The end of the journal if it is complete and undamaged up to there.
fn is_complete(
    places: Places,
    own: &Member,
    journal: &Journal,
) -> std::result::Result<Option<u64>, Error> {
    let head = journal.confirm(own.base.position, &short())?;
    let machines = journal.machines(&short())?;
    let lacks = |it: &Machine| it.report.seq > head.position.seq || it.report.fault.is_some();
    if machines.iter().any(lacks) {
        return Ok(None);
    }
    let until = Until::within(LONG);
    let (mut tail, mut last) = (head.base, own.base.places);
    loop {
        let rows = journal.fetch(tail, &FetchOptions::default(), &until)?.rows;
        let Some(row) = rows.last() else { break };
        tail = row.position();
        for row in &rows {
            if row.seq == own.base.position.seq && row.position() != own.base.position {
                return Ok(None);
            }
            if let Some(part) = Part::of_number(row.record.part) {
                let last = &mut last[part.index()];
                *last = row.record.place.max(*last);
            }
        }
    }
    Ok(places.iter().zip(last).all(|(own, last)| *own <= last).then_some(tail.seq))
}

fn is_loss(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Lost | ErrorKind::Damaged)
}
