//! This machine as a member of a cluster, whose services share one journal in PostgreSQL.

mod digests;
pub(crate) mod follower;
pub(crate) mod lease;
mod notices;
pub(crate) mod position;
pub(crate) mod snapshots;
pub(crate) mod vectors;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use parking_lot::Mutex;
use tokio::sync::Notify;
use waypost_auth::{AppendError, Contact, TokenChange, TokenStore};
use waypost_cluster::{Base, Hub, HubOptions, Member, Part, Places};
use waypost_events::{Bus, RetentionPoint};
use waypost_flows::Files;
use waypost_log::{SharedError, SharedJournal};
use waypost_memory::{Compaction, Store};
use waypost_project::ClusterSettings;

use self::digests::Digests;
use self::notices::{Notice, Notices};
use self::vectors::SharedVectors;
use crate::clock::now;
use crate::error::chain;
use crate::wake::Wake;

/// Without contact for this long, the machine cannot know which tokens were revoked.
const CONTACT_LOST: Duration = Duration::from_secs(300);
/// How many records may be read again after a start.
const BASE_RECORDS: u64 = 1000;
/// The pause between two attempts to move the base.
const BASE_PAUSE: Duration = Duration::from_millis(200);
/// How often a compaction tries to move the base: another write can be in progress.
const BASE_TRIES: u32 = 10;
/// How often the base moves at least, if there is something: the journal is trimmed below it.
const BASE_EVERY: Duration = Duration::from_secs(60);

/// How long an exchange with the database may take that nobody waits for.
const EXCHANGE: Duration = Duration::from_secs(2);
/// A machine that has not followed the journal for this long does not lead.
const FOLLOWS_MAX: Duration = Duration::from_secs(10);
/// How long the last records may take when the service stops.
const LAST_RECORDS: Duration = Duration::from_secs(2);
/// A database that has not answered for this long is not waited for when the service stops.
const SILENT: Duration = Duration::from_secs(1);
/// The feature level since which digests are written.
const DIGESTS: u32 = 2;

/// What a member of a cluster needs before it opens its stores.
#[derive(Debug)]
pub(crate) struct Link {
    hub: Arc<Hub>,
    name: String,
}

/// This machine as a member of a cluster: its hub, and the parts that follow the journal.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) hub: Arc<Hub>,
    pub(crate) name: String,
    pub(crate) tokens: Arc<TokenStore>,
    store: Arc<Store>,
    events: Arc<Bus>,
    /// The journal of flows, which is opened last.
    flows: OnceLock<Files>,
    notices: Notices,
    digests: Digests,
    base_saved: Mutex<Instant>,
    /// Notified when this machine has applied records of others.
    applied: Notify,
    /// The last failure that was logged, so that it is logged once.
    logged: Mutex<Option<String>>,
    /// When this machine last had applied what the journal had.
    followed: Mutex<Option<Instant>>,
    started: Instant,
    /// A change of tokens is in no base: only the base shows that the journal has lost it.
    has_token_change: AtomicBool,
}

impl Link {
    /// Prepares the connection if the data folder is that of a member of a cluster. It connects
    /// later: a machine starts without the database, too.
    pub(crate) fn open(data: &Path, settings: &ClusterSettings) -> anyhow::Result<Option<Self>> {
        let member = Member::read(data).context("failed to read the file of this member of a cluster; if it is damaged, move the data folder away and run `ctl cluster join`; or, to continue without the cluster, run `ctl cluster leave`")?;
        let Some(member) = member else { return Ok(None) };
        let url = settings.url.as_deref().unwrap_or(&member.url);
        let database = waypost_journal::Settings::parse(url, &|name| std::env::var_os(name))
            .context("failed to read the URL of the cluster's database")?;
        let name = settings.name.clone().unwrap_or_else(waypost_cluster::host_name);
        let hub = Hub::new(data, member, database, HubOptions::default());
        tracing::info!(machine = %hub.machine(), name, "this machine is a member of a cluster");
        Ok(Some(Self { hub, name }))
    }

    /// Adds the shared tokens of the base to the token file, which may have been lost or replaced by an
    /// older one: no notice after the base repeats them.
    pub(crate) fn restore_tokens(&self, tokens: &TokenStore) -> anyhow::Result<()> {
        let was_lost = !tokens.is_shared().context("failed to read the tokens")?;
        let lines = self.hub.member().tokens;
        tokens
            .restore(&lines, now())
            .context("failed to restore the cluster's tokens from the file `cluster-member`")?;
        if was_lost && !lines.is_empty() {
            tracing::warn!("restored the cluster's tokens, as of the last record on disk");
        }
        Ok(())
    }

    /// The shared journal of a part.
    pub(crate) fn part(&self, part: Part) -> Arc<dyn SharedJournal> {
        self.hub.part(part)
    }
}

impl Cluster {
    /// Connects the stores, which share the journal through `link`.
    pub(crate) fn new(
        link: Link,
        store: Arc<Store>,
        events: Arc<Bus>,
        tokens: TokenStore,
    ) -> Arc<Self> {
        let Link { hub, name } = link;
        Arc::new_cyclic(|cluster: &Weak<Self>| {
            let cluster = Weak::clone(cluster);
            let append = move |change: &TokenChange| match cluster.upgrade() {
                Some(cluster) => cluster.append_tokens(change),
                None => Err(AppendError::Unavailable("the service is stopping".to_owned())),
            };
            Self {
                notices: Notices::new(&hub),
                digests: Digests::default(),
                hub,
                name,
                tokens: Arc::new(tokens.with_shared(Arc::new(append))),
                store,
                events,
                flows: OnceLock::new(),
                base_saved: Mutex::new(Instant::now()),
                applied: Notify::new(),
                logged: Mutex::default(),
                followed: Mutex::default(),
                started: Instant::now(),
                has_token_change: AtomicBool::new(false),
            }
        })
    }

    /// The vectors that the machines share.
    pub(crate) fn vectors(&self) -> SharedVectors {
        SharedVectors::new(&self.hub)
    }

    /// Ends operations on the journal when the service stops and they take too long: it also stops
    /// without the database, and during the upload of a snapshot.
    pub(crate) fn end_in_time(&self, wake: Arc<Wake>) {
        let hub = Arc::downgrade(&self.hub);
        let begun = Instant::now();
        let watch = move || {
            let mut threads_end: Option<Instant> = None;
            while let Some(hub) = hub.upgrade() {
                if wake.is_stopping() {
                    threads_end.get_or_insert_with(Instant::now);
                }
                let is_late = threads_end.is_some_and(|end| end.elapsed() >= LAST_RECORDS);
                let is_silent = begun.elapsed() >= LAST_RECORDS && hub.contact().age >= SILENT;
                if is_late || is_silent {
                    return hub.stop();
                }
                drop(hub);
                thread::sleep(Duration::from_millis(100));
            }
        };
        if thread::Builder::new().name("last records".to_owned()).spawn(watch).is_err() {
            self.hub.stop();
        }
    }

    /// Adds the journal of flows.
    pub(crate) fn set_flows(&self, files: Files) {
        drop(self.flows.set(files));
    }

    /// The last record of each part that this machine has applied.
    fn places(&self) -> Places {
        let mut places = [0; waypost_cluster::PARTS];
        places[Part::Memory.index()] = self.store.position();
        places[Part::Events.index()] = self.events.position();
        places[Part::Flows.index()] = self.flows.get().map_or(0, Files::position);
        places[Part::Notices.index()] = self.notices.applied();
        places
    }

    /// Up to where this machine has applied the journal.
    pub(crate) fn applied(&self) -> u64 {
        self.uncompared().unwrap_or_else(|| self.hub.applied(&self.places()))
    }

    /// The position for clients: everything that this machine shows is below it.
    pub(crate) fn furthest(&self) -> u64 {
        self.uncompared().unwrap_or_else(|| self.hub.furthest().seq)
    }

    /// The base, until the parts have been compared with the journal, and if they differ: behind it,
    /// they may have other records.
    fn uncompared(&self) -> Option<u64> {
        let is_same = self.is_compared() && self.fault().is_none();
        (!is_same).then(|| self.hub.member().base.position.seq)
    }

    /// Whether all parts were compared with the journal since the start.
    fn is_compared(&self) -> bool {
        self.hub.is_compared()
    }

    /// Whether this machine failed to follow the journal last time.
    pub(crate) fn has_failed(&self) -> bool {
        self.logged.lock().is_some()
    }

    /// How far this machine has come, for the others: also with records that the journal does not
    /// have. Each record of the journal is one of one part. Notices that were read before all parts
    /// were compared may be those of another history, and are not counted.
    pub(crate) fn reached(&self) -> u64 {
        if self.uncompared().is_none() {
            return self.applied();
        }
        let base = self.hub.member().base;
        let mut places = self.places();
        if !self.is_compared() {
            places[Part::Notices.index()] = base.places[Part::Notices.index()];
        }
        let more = places.iter().zip(base.places).map(|(has, had)| has.saturating_sub(had));
        base.position.seq + more.sum::<u64>()
    }

    /// Applies what other machines have appended, the flows with `follow_flows`, and returns whether all
    /// parts have. Logs what fails, once. If a part can never follow again, the machine takes no part
    /// any more.
    fn follow(&self, follow_flows: impl FnOnce() -> Result<(), waypost_flows::Error>) -> bool {
        let outcome = self.compare().and_then(|()| self.follow_all(follow_flows));
        let is_whole = outcome.is_ok();
        self.note(outcome);
        self.applied.notify_waiters();
        is_whole
    }

    /// Compares all parts with the journal, once, before any of them follows: what others have written
    /// since a loss must not get into the parts that do not show it.
    fn compare(&self) -> Result<(), String> {
        if self.is_compared() {
            return Ok(());
        }
        let compared = || -> Result<(), Unfollowed> {
            self.store.compare()?;
            self.events.compare()?;
            Ok(self.flows.get().map_or(Ok(()), Files::compare)?)
        };
        compared().map_err(|error| self.unfollowed(error))
    }

    fn follow_all(
        &self,
        follow_flows: impl FnOnce() -> Result<(), waypost_flows::Error>,
    ) -> Result<(), String> {
        let flows = follow_flows().map_err(Unfollowed::from);
        let memory = self.store.follow().map(drop).map_err(Unfollowed::from);
        let events = self.events.follow().map(drop).map_err(Unfollowed::from);
        let notices = self.notices.follow(&|notice| self.carry_out(notice));
        if let Some(why) = self.digests.compare(&self.store) {
            self.leave_out(SharedError::Excluded(why));
        }
        let mut outcome = Ok(());
        for followed in [memory, events, flows, notices] {
            outcome = outcome.and(followed.map_err(|error| self.unfollowed(error)));
        }
        outcome
    }

    /// Takes no further part if the part can never follow again, and returns why it has not.
    fn unfollowed(&self, unfollowed: Unfollowed) -> String {
        if let Some(why) = unfollowed.forever {
            self.leave_out(why);
        }
        unfollowed.why
    }

    /// Whether this machine follows the journal: one that cannot must not lead the others.
    pub(crate) fn follows(&self) -> bool {
        self.fault().is_none()
            && self.followed.lock().is_some_and(|followed| followed.elapsed() < FOLLOWS_MAX)
    }

    /// Logs a failure that differs from the last one, and the end of failures.
    fn note(&self, outcome: Result<(), String>) {
        let mut logged = self.logged.lock();
        match outcome {
            Ok(()) => {
                *self.followed.lock() = Some(Instant::now());
                if logged.take().is_some() {
                    tracing::info!("this machine has contact with its cluster again");
                }
            }
            Err(error) => {
                if logged.as_ref() != Some(&error) {
                    // The fault is in the log, and it is not tried again.
                    if self.fault().is_none() {
                        tracing::warn!(
                            error,
                            "failed to follow the journal of the cluster; retrying"
                        );
                    }
                    *logged = Some(error);
                }
            }
        }
    }

    /// Lets the next start continue where this machine is now: it stops.
    pub(crate) fn save_last_base(&self) {
        if let Err(error) = self.sync_to(&self.hub.mark()) {
            tracing::warn!(error, "failed to record how far this machine has followed the journal");
        }
    }

    /// Takes no further part: this machine is no member any more, or differs from the journal.
    pub(crate) fn leave_out(&self, why: SharedError) {
        if self.fault().is_none() {
            tracing::error!("{why}; this machine takes no part in its cluster any more");
            // Before it is reported: after a power cut, this machine still has what it has reported.
            if let Err(error) = self.sync() {
                tracing::warn!(error, "failed to sync what this machine has applied");
            }
        }
        self.hub.exclude(why);
    }

    /// Whether tokens have changed behind the base.
    fn has_token_change(&self) -> bool {
        self.has_token_change.load(Ordering::Acquire)
    }

    /// Lets the next start continue where this machine is now, if that is far enough or was long ago,
    /// or if the journal has texts that were purged, or tokens have changed.
    pub(crate) fn save_base(&self) {
        let mark = self.hub.mark();
        let records = mark.position.seq - self.hub.member().base.position.seq;
        let mut saved = self.base_saved.lock();
        let has_purged = self.removed() > self.hub.member().base.places[Part::Memory.index()];
        let is_due = records >= BASE_RECORDS || saved.elapsed() >= BASE_EVERY;
        let is_wanted = is_due || has_purged || self.has_token_change();
        // A failed attempt is repeated, but not all the time.
        if records == 0 || !is_wanted || saved.elapsed() < BASE_PAUSE {
            return;
        }
        *saved = Instant::now();
        // A change that comes meanwhile sets it again.
        let had_token_change = self.has_token_change.swap(false, Ordering::AcqRel);
        let synced = self.sync_to(&mark);
        if had_token_change && !matches!(synced, Ok(true)) {
            self.has_token_change.store(true, Ordering::Release);
        }
        if let Err(error) = synced {
            tracing::warn!(error, "failed to record how far this machine has followed the journal");
        }
    }

    /// Lets the next start continue at least where this machine is now: a compaction removes no record
    /// behind that. Returns whether it does, or nothing can be removed behind the base.
    pub(crate) fn move_base(&self) -> bool {
        for _ in 0..BASE_TRIES {
            if self.uncompared().is_some() {
                return true;
            }
            match self.sync_to(&self.hub.mark()) {
                Ok(true) => return true,
                Ok(false) => thread::sleep(BASE_PAUSE),
                Err(error) => {
                    tracing::warn!(
                        error,
                        "failed to record how far this machine has followed the journal"
                    );
                    return false;
                }
            }
        }
        false
    }

    /// Syncs the files, and lets the next start continue at a mark if all parts have reached it, which
    /// it returns. Never in another history: the base is the last position that was this machine's.
    fn sync_to(&self, mark: &Base) -> Result<bool, String> {
        if self.uncompared().is_some() {
            return Ok(false);
        }
        let [memory, events, flows] = self.sync()?;
        // Also shown: a part reads on behind that, while a long write of it has more in its log.
        let shown = self.places();
        let reached =
            |part: Part, place: u64| place.min(shown[part.index()]) >= mark.places[part.index()];
        let is_whole = reached(Part::Memory, memory)
            && reached(Part::Events, events)
            && reached(Part::Flows, flows)
            && reached(Part::Notices, self.notices.applied());
        if is_whole {
            let tokens = self.tokens_of_base()?;
            self.hub.set_base(*mark, tokens).map_err(|error| chain(&error))?;
        }
        Ok(is_whole)
    }

    /// Syncs the files of the memory, the events and the flows, and returns the last record of each on disk.
    fn sync(&self) -> Result<[u64; 3], String> {
        let memory = self.store.sync().map_err(|error| chain(&error))?;
        let events = self.events.sync().map_err(|error| chain(&error))?;
        let flows = self.flows.get().map_or(Ok(0), Files::sync).map_err(|error| chain(&error))?;
        Ok([memory, events, flows])
    }

    /// The shared tokens, with those of the last base that the token file has lost since.
    fn tokens_of_base(&self) -> Result<Vec<String>, String> {
        let state = lines(&self.tokens)?;
        let former = self.hub.member().tokens;
        if state[..] == former[..] {
            return Ok(state);
        }
        self.tokens.restore(&former, now()).map_err(|error| chain(&error))?;
        lines(&self.tokens)
    }

    /// Whether the files of this machine have texts that another one has purged.
    pub(crate) fn has_purged(&self) -> bool {
        self.purged() < self.removed()
    }

    /// Removes texts from the files of this machine that another one has purged.
    pub(crate) fn destroy_purged(&self) {
        if !self.move_base() {
            return;
        }
        match self.store.compact(Compaction::default()) {
            Ok(_) => tracing::info!("removed purged texts from this machine's files"),
            Err(error) => {
                tracing::warn!(error = chain(&error), "failed to remove purged texts; retrying");
            }
        }
    }

    /// Up to where removals of texts have reached the files of this machine, by the memory's records.
    fn purged(&self) -> u64 {
        self.store.destroyed_through().unwrap_or(0)
    }

    /// The last record that has removed texts, by the same numbers.
    pub(crate) fn removed(&self) -> u64 {
        self.store.removed_through().unwrap_or(0)
    }

    /// Tells all machines what to drop of the event bus.
    pub(crate) fn retain(&self, point: RetentionPoint) -> Result<(), String> {
        self.tell(&Notice::Retention(point))
    }

    /// What the leader does for all: raises the feature level when all machines have a release that
    /// can read its records, and tells the digest of the memories.
    pub(crate) fn lead(&self) -> Result<(), String> {
        let until = self.hub.within(EXCHANGE);
        let journal = self.hub.journal(&until).map_err(|error| chain(&error))?;
        if journal.feature() < waypost_cluster::FEATURE {
            journal.raise_feature(&until).map_err(|error| chain(&error))?;
        }
        match self.digests.next(&self.store) {
            Some(digest) if journal.feature() >= DIGESTS => self.tell(&Notice::Digest(digest)),
            _ => Ok(()),
        }
    }

    fn tell(&self, notice: &Notice) -> Result<(), String> {
        loop {
            match self.notices.append(notice, &|it| self.carry_out(it)) {
                Ok(()) => return Ok(()),
                Err(AppendError::Moved) => {}
                Err(error) => return Err(chain(&error)),
            }
        }
    }

    /// Why this machine has stopped to take part, if it has.
    pub(crate) fn fault(&self) -> Option<SharedError> {
        self.hub.fault()
    }

    /// Appends a change of tokens, which the token store makes afterwards.
    fn append_tokens(&self, change: &TokenChange) -> Result<(), AppendError> {
        self.notices.append(&Notice::Tokens(change.clone()), &|it| self.carry_out(it))
    }

    /// Does what a notice says, perhaps again.
    fn carry_out(&self, notice: &Notice) -> Result<(), String> {
        match notice {
            Notice::Retention(point) => {
                self.events.apply_retention(point).map_err(|error| chain(&error))
            }
            Notice::Tokens(change) => {
                self.has_token_change.store(true, Ordering::Release);
                self.tokens.apply(change, now()).map_err(|error| chain(&error))
            }
            Notice::Digest(digest) => {
                self.digests.note(*digest);
                Ok(())
            }
        }
    }

    /// Whether this machine has not followed the journal for so long that it cannot know which tokens
    /// were revoked.
    pub(crate) fn has_lost_contact(&self) -> bool {
        let followed = self.followed.lock().unwrap_or(self.started);
        followed.elapsed() >= CONTACT_LOST
    }

    /// Accepts shared tokens if this machine knows which were revoked, and refuses them if it has
    /// had no contact for too long.
    fn judge_contact(&self, is_current: bool) {
        if is_current {
            self.tokens.set_contact(Contact::Kept);
        } else if self.has_lost_contact() && self.tokens.contact() == Contact::Kept {
            tracing::warn!(
                "this machine has not followed the journal of its cluster for 5 minutes: only its own admin token is accepted"
            );
            self.tokens.set_contact(Contact::Lost);
        }
    }
}

/// The shared tokens as the member file has them.
fn lines(tokens: &TokenStore) -> Result<Vec<String>, String> {
    tokens.shared_lines().map_err(|error| chain(&error))
}

/// Why a part has not followed the journal.
#[derive(Debug)]
pub(crate) struct Unfollowed {
    why: String,
    /// It can never follow again: the journal has another history.
    forever: Option<SharedError>,
}

impl Unfollowed {
    fn new(error: &(dyn std::error::Error + 'static), shared: Option<&SharedError>) -> Self {
        Self { why: chain(error), forever: shared.filter(|shared| shared.is_final()).cloned() }
    }
}

impl From<String> for Unfollowed {
    fn from(why: String) -> Self {
        Self { why, forever: None }
    }
}

impl From<SharedError> for Unfollowed {
    fn from(error: SharedError) -> Self {
        Self::new(&error, Some(&error))
    }
}

impl From<waypost_memory::Error> for Unfollowed {
    fn from(error: waypost_memory::Error) -> Self {
        let shared = match &error {
            waypost_memory::Error::SharedJournal(shared) => Some(shared),
            _ => None,
        };
        Self::new(&error, shared)
    }
}

impl From<waypost_events::Error> for Unfollowed {
    fn from(error: waypost_events::Error) -> Self {
        let shared = match &error {
            waypost_events::Error::SharedJournal(shared) => Some(shared),
            _ => None,
        };
        Self::new(&error, shared)
    }
}

impl From<waypost_flows::Error> for Unfollowed {
    fn from(error: waypost_flows::Error) -> Self {
        let shared = match &error {
            waypost_flows::Error::SharedJournal(shared) => Some(shared),
            _ => None,
        };
        Self::new(&error, shared)
    }
}
