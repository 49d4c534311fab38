//! The known tokens, in memory and in their file.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use subtle::ConstantTimeEq as _;
use waypost_time::Timestamp;

use crate::change::TokenChange;
use crate::decide::{self, End};
use crate::error::{AppendError, Error, ErrorKind, Result};
use crate::files::{self, Lock, Stamp};
use crate::info::{NewToken, Revocation, TokenInfo};
use crate::record::{self, Record, Records, Table};
use crate::scope::Scope;
use crate::sharing::{Append, Contact};
use crate::token::{Digest, Secret, Token, TokenId};
use crate::verified::{Rejected, Verified};

const MINUTE_MS: i64 = 60_000;
/// How often a change is decided again because others were faster.
const ATTEMPTS_MAX: usize = 16;
const NEVER: i64 = i64::MIN;

struct Entry {
    record: Record,
    space: Option<Arc<str>>,
    local: bool,
    /// In milliseconds, or [`NEVER`].
    last_used: AtomicI64,
}

/// The content of the file when it was last read.
struct Snapshot {
    stamp: Stamp,
    entries: std::result::Result<HashMap<TokenId, Entry>, Arc<str>>,
    shared: bool,
    /// See [`files::Contents`].
    _file: Option<File>,
}

/// The tokens of one file. All methods take `&self`; share it between threads.
pub struct TokenStore {
    path: PathBuf,
    snapshot: RwLock<Arc<Snapshot>>,
    reloading: Mutex<()>,
    pub(crate) append: Option<Arc<Append>>,
    /// Whether contact with the other machines is lost.
    pub(crate) is_alone: AtomicBool,
    /// Ends of tokens that the shared journal has and the file does not have yet.
    pub(crate) unstored: RwLock<HashMap<TokenId, End>>,
}

impl TokenStore {
    /// Opens a token file. A missing file counts as empty, and is created with its folder (mode
    /// 0700) by the first change.
    ///
    /// # Errors
    /// [`Error::Corrupt`] and [`Error::Newer`] for a file that cannot be parsed, [`Error::Exposed`]
    /// for a file that other users could change or a folder that all users can write to.
    pub fn open(path: &Path) -> Result<Self> {
        files::refuse_public_folder(files::folder_of(path))?;
        files::keep_private(path)?;
        let snapshot = load(path, None)?;
        Ok(Self {
            path: path.to_owned(),
            snapshot: RwLock::new(Arc::new(snapshot)),
            reloading: Mutex::new(()),
            append: None,
            is_alone: AtomicBool::new(false),
            unstored: RwLock::default(),
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checks a token. Costs one `stat` and one SHA-256; the file is read only when it has changed,
    /// so a token that another process revokes is invalid at once.
    pub fn verify(&self, text: &str, now: Timestamp) -> std::result::Result<Verified, Rejected> {
        self.check(text, self.contact(), now)
    }

    pub(crate) fn check(
        &self,
        text: &str,
        contact: Contact,
        now: Timestamp,
    ) -> std::result::Result<Verified, Rejected> {
        let token = Token::parse(text)?;
        let snapshot = self.current();
        let entries = snapshot
            .entries
            .as_ref()
            .map_err(|reason| Rejected::Unavailable { reason: Arc::clone(reason) })?;
        let entry = entries.get(&token.id());
        // The same work for an unknown id: no digest starts with the value that this one is
        // compared to.
        let expected = entry.map_or(Digest([0; 32]), |entry| entry.record.digest);
        let same = bool::from(token.digest().0.ct_eq(&expected.0));
        let Some(entry) = entry.filter(|_| same) else {
            return Err(match contact {
                Contact::Kept => Rejected::Unknown,
                Contact::Lost => Rejected::OutOfContact,
            });
        };
        let end = self.accept(token.id(), entry, contact, now)?;
        let now_ms = now.as_millis();
        entry.last_used.fetch_max(now_ms - now_ms.rem_euclid(MINUTE_MS), Ordering::Relaxed);
        Ok(Verified {
            id: token.id(),
            scopes: entry.record.scopes,
            space: entry.space.clone(),
            expires: end.expires,
            parent: entry.record.parent,
        })
    }

    /// Checks that a known token is valid, and returns its end.
    fn accept(
        &self,
        id: TokenId,
        entry: &Entry,
        contact: Contact,
        now: Timestamp,
    ) -> std::result::Result<End, Rejected> {
        let unstored = self.unstored.read().get(&id).copied();
        let end = unstored.unwrap_or_else(|| End::of(&entry.record));
        if let Some(at) = end.revoked {
            return Err(Rejected::Revoked { at });
        }
        if let Some(at) = end.expires.filter(|expires| now >= *expires) {
            return Err(Rejected::Expired { at });
        }
        if contact == Contact::Lost && !entry.local {
            return Err(Rejected::OutOfContact);
        }
        Ok(end)
    }

    /// Whether a token that was [verified](Self::verify) before is still valid, for long calls.
    /// Costs one `stat`, like a check. If the file cannot be read, no token is valid.
    pub fn works(&self, id: TokenId, now: Timestamp) -> bool {
        let snapshot = self.current();
        let Ok(entries) = &snapshot.entries else { return false };
        let entry = entries.get(&id);
        entry.is_some_and(|entry| self.accept(id, entry, self.contact(), now).is_ok())
    }

    /// Creates a token; it is durable when this returns. The secret is not stored: show it now or
    /// never.
    ///
    /// # Errors
    /// [`Error::NotFound`] if its parent is unknown, and [`Error::Ended`] if that one was revoked or
    /// has expired: then nothing is created. With [shared](Self::with_shared) tokens, also
    /// [`Error::Unavailable`] and [`Error::Unknown`], as for every change.
    #[expect(clippy::needless_pass_by_value, reason = "a token is described once")]
    pub fn create(&self, new: NewToken, now: Timestamp) -> Result<(Secret, TokenInfo)> {
        new.check(now)?;
        self.commit(now, |table| decide::create(table, &new, false, now))
    }

    /// Creates the admin token of this machine.
    pub(crate) fn create_first_admin(
        &self,
        lock: &Lock,
        note: &str,
        now: Timestamp,
    ) -> Result<(Secret, TokenInfo)> {
        let new = NewToken::new([Scope::Admin]).with_note(note);
        self.change(lock, |table| decide::create(table, &new, true, now))
    }

    /// Revokes a token and those derived from it at once, in every process. Revoking it again
    /// changes nothing. A full disk does not prevent it: space for that is reserved.
    pub fn revoke(&self, id: TokenId, now: Timestamp) -> Result<Revocation> {
        self.commit(now, |table| decide::revoke(&mut table.records, id, now))
    }

    /// Creates a token with the same permissions; the old one and those derived from it stay valid
    /// for another `grace`.
    pub fn rotate(
        &self,
        id: TokenId,
        grace: Duration,
        now: Timestamp,
    ) -> Result<(Secret, TokenInfo)> {
        self.commit(now, |table| decide::rotate(table, id, grace, now))
    }

    /// All known tokens, oldest first; expired and revoked ones are kept for 30 days.
    pub fn list(&self) -> Result<Vec<TokenInfo>> {
        let records = self.known()?;
        let mut list =
            records.keys().map(|id| decide::info(&records, *id)).collect::<Result<Vec<_>>>()?;
        list.sort_by_key(|item| (item.created, item.id));
        Ok(list)
    }

    /// The information about one token.
    pub fn get(&self, id: TokenId) -> Result<TokenInfo> {
        decide::info(&self.known()?, id)
    }

    /// Stores when tokens were last used. [`Self::verify`] only remembers it, so call this
    /// periodically and at shutdown. Returns false if there was nothing new. It also reserves the space
    /// that [`Self::revoke`] needs on a full disk, if that is missing.
    pub fn flush(&self) -> Result<bool> {
        let snapshot = self.current();
        let is_new = |entry: &Entry| {
            entry.last_used.load(Ordering::Relaxed) > millis(entry.record.last_used)
        };
        if !snapshot.entries.as_ref().is_ok_and(|entries| entries.values().any(is_new)) {
            if files::missing_bytes(&self.path) > 0 {
                let _lock = self.lock()?;
                files::reserve(&self.path);
            }
            return Ok(false);
        }
        let lock = self.lock()?;
        self.change(&lock, |_| Ok(true))
    }

    pub(crate) fn lock(&self) -> Result<Lock> {
        files::create_private_folder(files::folder_of(&self.path))?;
        Lock::acquire(&self.path)
    }

    /// Makes a change of this machine. If others have to know, it is appended first: without the
    /// lock, so that their changes are applied meanwhile.
    fn commit<T>(&self, now: Timestamp, decide: impl Fn(&mut Table) -> Result<T>) -> Result<T> {
        for _ in 0..ATTEMPTS_MAX {
            let lock = self.lock()?;
            let before = self.table()?;
            let mut after = before.clone();
            let outcome = decide(&mut after)?;
            let change = TokenChange::between(&before.records, &after.records, now);
            let append = match &self.append {
                _ if change.is_empty() => None,
                Some(_) if !before.shared => {
                    return Err(Error::NotAdopted { path: self.path.clone() });
                }
                None if before.shared => return Err(Error::Shared { path: self.path.clone() }),
                append => append.as_ref(),
            };
            let Some(append) = append else {
                let ended = |(id, it): (&TokenId, &Record)| {
                    after.records.get(id).is_some_and(|now| End::of(now) != End::of(it))
                };
                if before.records.iter().any(ended) {
                    self.write_ends(&lock, &after)?;
                } else if record::encode(&before) != record::encode(&after) {
                    self.write(&lock, &after)?;
                }
                return Ok(outcome);
            };
            drop(lock);
            match append(&change) {
                Ok(()) => {
                    self.apply(&change, now)
                        .map_err(|error| Error::Unstored { reason: error.to_string() })?;
                    return Ok(outcome);
                }
                Err(AppendError::Moved) => {}
                Err(AppendError::Unavailable(reason)) => return Err(Error::Unavailable { reason }),
                Err(AppendError::Unknown(reason)) => return Err(Error::Unknown { reason }),
                Err(AppendError::Unstored(reason)) => return Err(Error::Unstored { reason }),
            }
        }
        let reason = "other machines change tokens all the time".to_owned();
        Err(Error::Unavailable { reason })
    }

    /// Reads the newest state, changes it, writes it; nothing is changed if any of that fails.
    fn change<T>(&self, lock: &Lock, decide: impl FnOnce(&mut Table) -> Result<T>) -> Result<T> {
        let mut table = self.table()?;
        let outcome = decide(&mut table)?;
        self.write(lock, &table)?;
        Ok(outcome)
    }

    pub(crate) fn write(&self, _lock: &Lock, table: &Table) -> Result<()> {
        files::replace(&self.path, &record::encode(table))?;
        self.written();
        Ok(())
    }

    /// The same for a change that ends tokens, which also a full disk takes.
    pub(crate) fn write_ends(&self, lock: &Lock, table: &Table) -> Result<()> {
        match self.write(lock, table) {
            Err(error) if error.kind() == ErrorKind::Full => {
                files::replace_with_reserve(&self.path, &record::encode(table))?;
                self.written();
                Ok(())
            }
            written => written,
        }
    }

    /// Reads the new file, which frees the old one, and reserves space for the next one.
    fn written(&self) {
        drop(self.current());
        files::reserve(&self.path);
    }

    /// The tokens of the file, with the ends that it does not have yet.
    fn known(&self) -> Result<Records> {
        let mut records = self.table()?.records;
        for (id, end) in &*self.unstored.read() {
            if let Some(record) = records.get_mut(id) {
                end.bound(record);
            }
        }
        Ok(records)
    }

    pub(crate) fn table(&self) -> Result<Table> {
        let snapshot = self.current();
        match &snapshot.entries {
            Ok(entries) => {
                let records = entries.iter().map(|(id, entry)| (*id, entry.record())).collect();
                Ok(Table { records, shared: snapshot.shared })
            }
            // Read again, to return the original error.
            Err(reason) => match load(&self.path, None) {
                Err(error) => Err(error),
                Ok(_) => {
                    Err(Error::Corrupt { path: self.path.clone(), reason: reason.to_string() })
                }
            },
        }
    }

    /// The current content of the file. If the file cannot be read, no token is valid.
    fn current(&self) -> Arc<Snapshot> {
        let known = Arc::clone(&self.snapshot.read());
        if known.stamp == Stamp::of(&self.path) {
            return known;
        }
        let _one_at_a_time = self.reloading.lock();
        let known = Arc::clone(&self.snapshot.read());
        let stamp = Stamp::of(&self.path);
        if known.stamp == stamp {
            return known;
        }
        let loaded = files::keep_private(&self.path)
            .and_then(|()| load(&self.path, known.entries.as_ref().ok()));
        let snapshot = Arc::new(loaded.unwrap_or_else(|error| Snapshot {
            stamp,
            entries: Err(error.to_string().into()),
            shared: false,
            _file: None,
        }));
        *self.snapshot.write() = Arc::clone(&snapshot);
        snapshot
    }
}

impl std::fmt::Debug for TokenStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenStore").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Entry {
    fn record(&self) -> Record {
        let used = self.last_used.load(Ordering::Relaxed);
        Record {
            last_used: (used != NEVER).then_some(Timestamp::from_millis(used)),
            ..self.record.clone()
        }
    }
}

fn millis(last_used: Option<Timestamp>) -> i64 {
    last_used.map_or(NEVER, Timestamp::as_millis)
}

/// Loads the file; uses that are not stored yet are taken over from `before`.
fn load(path: &Path, before: Option<&HashMap<TokenId, Entry>>) -> Result<Snapshot> {
    let Some(contents) = files::read(path)? else {
        let entries = Ok(HashMap::new());
        return Ok(Snapshot { stamp: Stamp::Missing, entries, shared: false, _file: None });
    };
    let Table { records, shared } = record::decode(&contents.bytes, path)?;
    let local: HashSet<TokenId> =
        records.keys().copied().filter(|id| decide::is_local(&records, *id)).collect();
    let entries = records
        .into_iter()
        .map(|(id, record)| {
            let seen = before
                .and_then(|before| before.get(&id))
                .map_or(NEVER, |entry| entry.last_used.load(Ordering::Relaxed));
            let last_used = AtomicI64::new(millis(record.last_used).max(seen));
            let space = record.space.as_deref().map(Arc::from);
            (id, Entry { record, space, local: local.contains(&id), last_used })
        })
        .collect();
    Ok(Snapshot { stamp: contents.stamp, entries: Ok(entries), shared, _file: Some(contents.file) })
}
