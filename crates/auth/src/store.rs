//! The known tokens, in memory and in their file.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use subtle::ConstantTimeEq as _;
use waypost_time::Timestamp;

use crate::derived;
use crate::error::{Error, Result};
use crate::files::{self, Lock, Stamp};
use crate::record::{self, Record, Records};
use crate::scope::{Scope, Scopes};
use crate::token::{Digest, Secret, Token, TokenId};
use crate::verified::{Rejected, Verified};

const NOTE_CHARS_MAX: usize = 256;
const SPACE_CHARS_MAX: usize = 128;
/// The file is rewritten as a whole at each change, so it must stay small.
const TOKENS_MAX: usize = 10_000;
const MINUTE_MS: i64 = 60_000;
/// How long an expired or revoked token is still listed.
const ENDED_KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
const NEVER: i64 = i64::MIN;

/// The properties of a token to be created.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NewToken {
    /// Its permissions; at least one.
    pub scopes: Scopes,
    /// When it expires; `None` for never.
    pub expires: Option<Timestamp>,
    /// The only space that it may access; `None` for all. Not for admin tokens, which could lift
    /// the restriction.
    pub space: Option<String>,
    /// Its purpose, up to 256 characters.
    pub note: Option<String>,
    /// The token that it is derived from. Revoking that one revokes this one, too, and this one
    /// expires with that one at the latest.
    pub parent: Option<TokenId>,
}

impl NewToken {
    /// A token with these scopes, for all spaces, that never expires.
    pub fn new(scopes: impl IntoIterator<Item = Scope>) -> Self {
        Self { scopes: scopes.into_iter().collect(), ..Self::default() }
    }

    /// Stops working at a time.
    #[must_use]
    pub fn with_expires(mut self, expires: Timestamp) -> Self {
        self.expires = Some(expires);
        self
    }

    /// May touch only this space.
    #[must_use]
    pub fn with_space(mut self, space: impl Into<String>) -> Self {
        self.space = Some(space.into());
        self
    }

    /// Says what it is for.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    /// Is derived from that token.
    #[must_use]
    pub fn with_parent(mut self, parent: TokenId) -> Self {
        self.parent = Some(parent);
        self
    }

    fn check(&self, now: Timestamp) -> Result<()> {
        let invalid =
            |field, reason: &str| Err(Error::Invalid { field, reason: reason.to_owned() });
        if self.scopes.is_empty() {
            return invalid("scopes", "a token needs at least one scope");
        }
        if self.expires.is_some_and(|expires| expires <= now) {
            return invalid("expires", "the time is in the past; pass a future time");
        }
        if let Some(space) = &self.space {
            if self.scopes.iter().any(|scope| scope == Scope::Admin) {
                return invalid("space", "an admin token applies to all spaces; omit the space");
            }
            if self.scopes.iter().any(|scope| scope == Scope::BrowserUse) {
                let why = "`browser:use` applies to no space; omit the scope or the space";
                return invalid("space", why);
            }
            if !is_plain(space, SPACE_CHARS_MAX) || space.is_empty() {
                return invalid(
                    "space",
                    "a space has 1 to 128 characters without control characters",
                );
            }
        }
        if self.note.as_ref().is_some_and(|note| !is_plain(note, NOTE_CHARS_MAX)) {
            return invalid("note", "a note has up to 256 characters without control characters");
        }
        Ok(())
    }
}

fn is_plain(text: &str, chars_max: usize) -> bool {
    text.chars().count() <= chars_max && !text.chars().any(char::is_control)
}

/// What is known about a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenInfo {
    /// The public part of the token.
    pub id: TokenId,
    /// Its permissions.
    pub scopes: Scopes,
    /// When it was created.
    pub created: Timestamp,
    /// When it expires.
    pub expires: Option<Timestamp>,
    /// The only space that it may access.
    pub space: Option<String>,
    /// Its purpose.
    pub note: Option<String>,
    /// When it was last used, in whole minutes.
    pub last_used: Option<Timestamp>,
    /// When it was revoked.
    pub revoked: Option<Timestamp>,
    /// The token that it is derived from.
    pub parent: Option<TokenId>,
}

/// The result of [`TokenStore::revoke`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revocation {
    /// The token.
    pub token: TokenInfo,
    /// The valid tokens that were derived from it, directly or not, and are revoked with it.
    pub derived: Vec<TokenId>,
}

impl TokenInfo {
    /// Whether the token is valid at that time.
    pub fn is_active(&self, now: Timestamp) -> bool {
        self.revoked.is_none() && self.expires.is_none_or(|expires| now < expires)
    }
}

struct Entry {
    record: Record,
    space: Option<Arc<str>>,
    /// In milliseconds, or [`NEVER`].
    last_used: AtomicI64,
}

/// The content of the file when it was last read.
struct Snapshot {
    stamp: Stamp,
    entries: std::result::Result<HashMap<TokenId, Entry>, Arc<str>>,
    /// See [`files::Contents`].
    _file: Option<File>,
}

/// The tokens of one file. All methods take `&self`; share it between threads.
pub struct TokenStore {
    path: PathBuf,
    snapshot: RwLock<Arc<Snapshot>>,
    reloading: Mutex<()>,
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
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checks a token. Costs one `stat` and one SHA-256; the file is read only when it has changed,
    /// so a token that another process revokes is invalid at once.
    pub fn verify(&self, text: &str, now: Timestamp) -> std::result::Result<Verified, Rejected> {
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
        let Some(entry) = entry.filter(|_| same) else { return Err(Rejected::Unknown) };
        if let Some(at) = entry.record.revoked {
            return Err(Rejected::Revoked { at });
        }
        if let Some(at) = entry.record.expires.filter(|expires| now >= *expires) {
            return Err(Rejected::Expired { at });
        }
        let now_ms = now.as_millis();
        entry.last_used.fetch_max(now_ms - now_ms.rem_euclid(MINUTE_MS), Ordering::Relaxed);
        Ok(Verified {
            id: token.id(),
            scopes: entry.record.scopes,
            space: entry.space.clone(),
            expires: entry.record.expires,
        })
    }

    /// Whether a token that was [verified](Self::verify) before is still valid, for long calls.
    /// Costs one `stat`, like a check. If the file cannot be read, no token is valid.
    pub fn works(&self, id: TokenId, now: Timestamp) -> bool {
        let snapshot = self.current();
        let Ok(entries) = &snapshot.entries else { return false };
        entries.get(&id).is_some_and(|it| {
            it.record.revoked.is_none() && it.record.expires.is_none_or(|expires| now < expires)
        })
    }

    /// Creates a token; it is durable when this returns. The secret is not stored: show it now or
    /// never.
    ///
    /// # Errors
    /// [`Error::NotFound`] if its parent is unknown, and [`Error::Ended`] if that one was revoked or
    /// has expired: then nothing is created.
    pub fn create(&self, new: NewToken, now: Timestamp) -> Result<(Secret, TokenInfo)> {
        let lock = self.lock()?;
        self.create_locked(&lock, new, false, now)
    }

    pub(crate) fn create_locked(
        &self,
        lock: &Lock,
        new: NewToken,
        first_admin: bool,
        now: Timestamp,
    ) -> Result<(Secret, TokenInfo)> {
        new.check(now)?;
        self.change(lock, |records| {
            records.retain(|_, record| {
                let ended = record.revoked.into_iter().chain(record.expires).min();
                ended.is_none_or(|ended| ended.saturating_add(ENDED_KEPT) > now)
            });
            if first_admin {
                let earlier = records.iter().filter(|(_, it)| it.first_admin);
                let earlier: Vec<_> = earlier.map(|(id, _)| *id).collect();
                for id in earlier {
                    derived::revoke(records, id, now)?;
                }
            }
            let mut expires = new.expires;
            if let Some(id) = new.parent {
                let parent = records.get(&id).ok_or(Error::NotFound { id })?;
                if !info(id, parent).is_active(now) {
                    return Err(Error::Ended { id });
                }
                expires = expires.into_iter().chain(parent.expires).min();
            }
            let record = Record {
                digest: Digest([0; 32]),
                scopes: new.scopes,
                created: now,
                expires,
                space: new.space,
                note: new.note,
                last_used: None,
                revoked: None,
                first_admin,
                parent: new.parent,
            };
            insert(records, record)
        })
    }

    /// Revokes a token and those derived from it at once, in every process. Revoking it again
    /// changes nothing.
    pub fn revoke(&self, id: TokenId, now: Timestamp) -> Result<Revocation> {
        let lock = self.lock()?;
        self.change(&lock, |records| {
            let derived = derived::revoke(records, id, now)?;
            let record = records.get(&id).ok_or(Error::NotFound { id })?;
            Ok(Revocation { token: info(id, record), derived })
        })
    }

    /// Creates a token with the same permissions; the old one and those derived from it stay valid
    /// for another `grace`.
    pub fn rotate(
        &self,
        id: TokenId,
        grace: Duration,
        now: Timestamp,
    ) -> Result<(Secret, TokenInfo)> {
        let lock = self.lock()?;
        self.change(&lock, |records| {
            let old = records.get(&id).ok_or(Error::NotFound { id })?;
            if !info(id, old).is_active(now) {
                return Err(Error::Ended { id });
            }
            let new = Record { created: now, last_used: None, first_admin: false, ..old.clone() };
            if grace.is_zero() {
                derived::revoke(records, id, now)?;
            } else {
                derived::expire(records, id, now.saturating_add(grace));
            }
            insert(records, new)
        })
    }

    /// All known tokens, oldest first; expired and revoked ones are kept for 30 days.
    pub fn list(&self) -> Result<Vec<TokenInfo>> {
        let records = self.records()?;
        let mut list: Vec<_> = records.iter().map(|(id, record)| info(*id, record)).collect();
        list.sort_by_key(|it| (it.created, it.id));
        Ok(list)
    }

    /// The information about one token.
    pub fn get(&self, id: TokenId) -> Result<TokenInfo> {
        let records = self.records()?;
        records.get(&id).map(|record| info(id, record)).ok_or(Error::NotFound { id })
    }

    /// Stores when tokens were last used. [`Self::verify`] only remembers it, so call this
    /// periodically and at shutdown. Returns false if there was nothing new.
    pub fn flush(&self) -> Result<bool> {
        let snapshot = self.current();
        let is_new = |entry: &Entry| {
            entry.last_used.load(Ordering::Relaxed) > millis(entry.record.last_used)
        };
        if !snapshot.entries.as_ref().is_ok_and(|entries| entries.values().any(is_new)) {
            return Ok(false);
        }
        let lock = self.lock()?;
        self.change(&lock, |_| Ok(true))
    }

    pub(crate) fn lock(&self) -> Result<Lock> {
        files::create_private_folder(files::folder_of(&self.path))?;
        Lock::acquire(&self.path)
    }

    /// Reads the newest state, changes it, writes it; nothing is changed if any of that fails.
    fn change<T>(&self, _lock: &Lock, decide: impl FnOnce(&mut Records) -> Result<T>) -> Result<T> {
        let mut records = self.records()?;
        let outcome = decide(&mut records)?;
        files::replace(&self.path, &record::encode(&records))?;
        drop(self.current());
        Ok(outcome)
    }

    fn records(&self) -> Result<Records> {
        let snapshot = self.current();
        match &snapshot.entries {
            Ok(entries) => Ok(entries.iter().map(|(id, entry)| (*id, entry.record())).collect()),
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
        return Ok(Snapshot { stamp: Stamp::Missing, entries: Ok(HashMap::new()), _file: None });
    };
    let entries = record::decode(&contents.bytes, path)?
        .into_iter()
        .map(|(id, record)| {
            let seen = before
                .and_then(|before| before.get(&id))
                .map_or(NEVER, |entry| entry.last_used.load(Ordering::Relaxed));
            let last_used = AtomicI64::new(millis(record.last_used).max(seen));
            let space = record.space.as_deref().map(Arc::from);
            (id, Entry { record, space, last_used })
        })
        .collect();
    Ok(Snapshot { stamp: contents.stamp, entries: Ok(entries), _file: Some(contents.file) })
}

/// Generates a token for the record and stores its digest.
fn insert(records: &mut Records, mut record: Record) -> Result<(Secret, TokenInfo)> {
    if records.len() >= TOKENS_MAX {
        let reason = format!(
            "there are already {TOKENS_MAX} tokens; revoked ones are removed after 30 days"
        );
        return Err(Error::Invalid { field: "tokens", reason });
    }
    loop {
        let secret = Secret::generate()?;
        let token = Token::parse(secret.expose()).expect("a generated token has the form of one");
        let id = token.id();
        if records.contains_key(&id) {
            continue;
        }
        record.digest = token.digest();
        let made = info(id, &record);
        records.insert(id, record);
        return Ok((secret, made));
    }
}

fn info(id: TokenId, record: &Record) -> TokenInfo {
    TokenInfo {
        id,
        scopes: record.scopes,
        created: record.created,
        expires: record.expires,
        space: record.space.clone(),
        note: record.note.clone(),
        last_used: record.last_used,
        revoked: record.revoked,
        parent: record.parent,
    }
}
