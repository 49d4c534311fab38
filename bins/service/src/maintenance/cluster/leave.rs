//! `cluster leave`: makes the store one of this machine alone.

use std::thread;
use std::time::Duration;

use serde_json::json;
use waypost_auth::TokenStore;
use waypost_cli::failure::Result;
use waypost_cli::maintenance::ClusterLeaveArgs;
use waypost_cli::output::Output;
use waypost_cli::program::Program;
use waypost_cli::review::confirm;
use waypost_cluster::{Begun, Member};
use waypost_journal::{Journal, MachineId};

use super::{
    REVOKED, cluster_failed, follow_tokens, locked, no_member, restore_tokens, settings, short,
    unknown_elsewhere, url_of,
};

/// A service that has not reported for this long does not run: it reports every second, and up to 5 s after
/// the last report of the one before.
const REPORTS_ENDED: Duration = Duration::from_secs(6);
/// The pause between two looks at a machine's reports.
const REPORT_LOOK: Duration = Duration::from_millis(250);

/// A machine that the data folder is, in a store that the database may have.
struct Place {
    member: Member,
    /// `None` if the database did not answer.
    journal: Option<Journal>,
    /// How many records came after the last one that this machine is known to have; `None` if that could
    /// not be read.
    unread: Option<u64>,
}

pub(super) fn leave(program: &Program, args: &ClusterLeaveArgs, output: &mut Output) -> Result<()> {
    crate::maintenance::check_data(program)?;
    let data = program.settings()?.data_dir.clone();
    let tokens = TokenStore::open(&data.join("tokens.json"))?;
    let has_joined = || tokens.is_shared().map(|shared| shared || Member::file(&data).exists());
    if !has_joined()? && !Begun::may_have_others(&data) {
        return Err(no_member());
    }
    let _locks = locked(&data)?;
    let mut is_damaged = false;
    let member = unless_damaged(Member::read(&data), &mut is_damaged)?;
    // A creation that was interrupted may have come so far that other machines have joined.
    let begun =
        unless_damaged(Begun::read(&data), &mut is_damaged)?.filter(|damaged| damaged.is_joinable);
    // Another command may have replaced the files meanwhile.
    if begun.is_none() && !is_damaged && !has_joined()? {
        return Err(no_member());
    }
    let question = "leave the cluster? This machine's changes reach no other machine from then on";
    if !args.yes && !confirm(question, output)? {
        return Ok(());
    }
    let is_known = member.is_some() || begun.is_some();
    let mut places = Vec::new();
    // What can fail comes first: until then, the machine is a member.
    if let Some(member) = member {
        restore_tokens(&tokens, &data, &member)?;
        let opened = open(&url_of(program, &member)?, &member);
        places.push(Place::new(member, opened, &tokens));
    }
    if let Some(Begun { member, .. }) = begun {
        restore_tokens(&tokens, &data, &member)?;
        let opened = open(&member.url, &member);
        places.push(Place::new(member, opened, &tokens));
    }
    drop(tokens.without_shared()?);
    let unknown: Vec<_> = places.iter().filter_map(Place::unknown).collect();
    let forgotten: Vec<_> = places.iter().map(forget_own).collect();
    Member::remove(&data).map_err(|error| cluster_failed(&error))?;
    let unread = places.iter().map(|place| place.unread).sum::<Option<u64>>();
    let unread = unread.filter(|_| is_known && !is_damaged);
    let unknown = unknown.into_iter().chain(unread.is_none().then(|| REVOKED.to_owned()));
    let warnings: Vec<String> = unknown.collect();
    if output.is_json() {
        let store = places.first().map(|place| place.member.store.to_string());
        let is_forgotten =
            is_known && forgotten.iter().all(|forgotten| matches!(forgotten, Some(true)));
        output.document(&json!({
            "store": store, "isForgotten": is_forgotten, "unread": unread, "warnings": warnings,
        }))?;
    } else {
        output.line("left the cluster; the store is one of this machine alone")?;
    }
    if !is_known {
        output.note("the file `cluster-member` or `cluster-begun` was missing or damaged: `ctl cluster status` on another machine lists this one, and `ctl cluster forget` removes it there");
    }
    for (place, forgotten) in places.iter().zip(forgotten) {
        let machine = place.member.machine;
        match forgotten {
            Some(true) => {}
            Some(false) => output.note(&format!(
                "another service takes part as the machine {machine}, which stays in the cluster: one data folder is a copy of the other"
            )),
            None => output.note(&format!(
                "the database could not be told; run `ctl cluster forget {machine}` on another machine"
            )),
        }
    }
    if let Some(count @ 1..) = unread {
        output.note(&format!(
            "the store may lack records of the journal: {count} came after the last one that it is known to have; tokens that they revoke are revoked here, too"
        ));
    }
    for warning in &warnings {
        output.warn(warning);
    }
    Ok(())
}

impl Place {
    /// Makes the changes of tokens that this machine has not read.
    fn new(member: Member, journal: Option<Journal>, tokens: &TokenStore) -> Self {
        let base = member.base.position;
        let unread = journal.as_ref().and_then(|journal| {
            let end = journal.head(&short()).ok()?.position.seq;
            let is_read = follow_tokens(journal, base, tokens, &short()).ok()?;
            is_read.then(|| end.saturating_sub(base.seq))
        });
        Self { member, journal, unread }
    }

    /// Which revocations this machine may not know, whatever it has read.
    fn unknown(&self) -> Option<String> {
        let journal = self.journal.as_ref()?;
        let (head, machines) = (journal.head(&short()).ok()?, journal.machines(&short()).ok()?);
        unknown_elsewhere(&machines, self.member.machine, head.position.seq)
    }
}

/// What a file says; nothing if it is damaged.
fn unless_damaged<T>(
    read: std::result::Result<Option<T>, waypost_cluster::Error>,
    is_damaged: &mut bool,
) -> Result<Option<T>> {
    if matches!(read, Err(waypost_cluster::Error::Damaged { .. })) {
        *is_damaged = true;
        return Ok(None);
    }
    read.map_err(|error| cluster_failed(&error))
}

/// Opens the journal; the store is complete without it.
fn open(url: &str, member: &Member) -> Option<Journal> {
    Journal::open(settings(url).ok()?, member.store, &short()).ok()
}

/// Takes this machine, whose service does not run, from the list. False if a service of another copy of
/// the data folder takes part as this machine; `None` if the database did not answer.
fn forget_own(place: &Place) -> Option<bool> {
    forget(place.journal.as_ref()?, place.member.machine).ok()
}

fn forget(journal: &Journal, machine: MachineId) -> waypost_journal::Result<bool> {
    let (mut last, mut changes) = (None, 0);
    loop {
        let machines = journal.machines(&short())?;
        let Some(this) = machines.iter().find(|other| other.report.id == machine) else {
            return Ok(true);
        };
        if last.replace(this.counter).is_some_and(|before| before != this.counter) {
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
