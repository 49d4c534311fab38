//! Tokens that several machines share.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use waypost_time::Timestamp;

use crate::change::TokenChange;
use crate::decide::{self, End};
use crate::error::{AppendError, Error, Result};
use crate::record::Record;
use crate::store::TokenStore;
use crate::token::TokenId;

/// Appends a change to the journal that several machines share, and returns when it is acknowledged
/// there. Every machine, this one included, later [applies](TokenStore::apply) it in the order of
/// the journal.
///
/// The store calls it without a lock, from the thread that changes tokens and from several at once;
/// it may call [`TokenStore::apply`]. It must not return [`AppendError::Moved`] before this machine
/// has applied what others appended. If it always finds out that others have appended, each change
/// is decided on the newest tokens; if it never does, a rotation may win against a revocation that
/// another machine makes at the same time, and its new token has to be revoked separately.
pub type Append = dyn Fn(&TokenChange) -> std::result::Result<(), AppendError> + Send + Sync;

/// Whether a machine knows what others did to the tokens that it shares with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contact {
    /// It does, or it shares no tokens: all valid tokens are accepted.
    Kept,
    /// It does not, for so long that a revoked token might still be accepted: only
    /// [local](crate::TokenInfo::local) tokens are.
    Lost,
}

impl TokenStore {
    /// Shares the tokens of this store with other machines: all but the [local](crate::TokenInfo::local)
    /// ones, with their ends, and without the times of their use. A change is appended before it is
    /// made here.
    ///
    /// It starts without [contact](Self::set_contact), because this machine may have missed
    /// revocations while it was stopped: report contact once it has applied the journal to its end.
    ///
    /// The file must have the tokens of the other machines: by [`Self::share`] on the first machine,
    /// by [`Self::adopt`] on each other one. It remembers that ([`Self::is_shared`]). Until then, and
    /// after it was lost, changes fail with [`Error::NotAdopted`].
    #[must_use]
    pub fn with_shared(mut self, append: Arc<Append>) -> Self {
        self.append = Some(append);
        self.set_contact(Contact::Lost);
        self
    }

    /// Whether the file has the tokens that machines share. Then a store
    /// [without a way to them](Self::with_shared), as in another program, does not change them.
    ///
    /// # Errors
    /// Those of reading the file.
    pub fn is_shared(&self) -> Result<bool> {
        Ok(self.table()?.shared)
    }

    /// On the first machine: marks the tokens of this file as shared, and returns
    /// [them](Self::shared_state) for the journal.
    pub fn share(&self, now: Timestamp) -> Result<Vec<TokenChange>> {
        let lock = self.lock()?;
        let mut table = self.table()?;
        table.shared = true;
        decide::close(&mut table.records);
        self.write(&lock, &table)?;
        Ok(TokenChange::parts(&table.records, now))
    }

    /// All tokens that machines share, ended ones included: what another machine [adopts](Self::adopt).
    /// A change has up to 256 tokens.
    pub fn shared_state(&self, now: Timestamp) -> Result<Vec<TokenChange>> {
        Ok(TokenChange::parts(&self.table()?.records, now))
    }

    /// The same as lines of text, for [`Self::restore`]. They differ only if the tokens do.
    ///
    /// # Errors
    /// Those of reading the file.
    pub fn shared_lines(&self) -> Result<Vec<String>> {
        // The time of the call would make a difference.
        let state = self.shared_state(Timestamp::from_millis(0))?;
        Ok(state
            .iter()
            .map(|state| String::from_utf8_lossy(&state.encode()).into_owned())
            .collect())
    }

    /// On each other machine: replaces the shared tokens of this file by those. Local tokens stay;
    /// others that were created here before are no longer valid.
    pub fn adopt(&self, state: &[TokenChange], now: Timestamp) -> Result<()> {
        let lock = self.lock()?;
        let mut table = self.table()?;
        let own = table.records.clone();
        table.records.retain(|id, _| decide::is_local(&own, *id));
        for part in state {
            part.merge(&mut table.records, now);
        }
        for (id, before) in own {
            if let Some(record) = table.records.get_mut(&id) {
                record.last_used = before.last_used;
                // What has ended here stays ended, though the state may be older.
                End::of(&before).bound(record);
            }
        }
        decide::close(&mut table.records);
        table.shared = true;
        self.write(&lock, &table)
    }

    /// Adds what only [lines](Self::shared_lines) that were kept have: the file may have been lost, or
    /// replaced by an older one, and what was revoked stays revoked. If the file has no shared tokens,
    /// it [adopts](Self::adopt) those of the lines. Without lines, it does nothing.
    ///
    /// # Errors
    /// [`Error::InvalidChange`], and those of reading and writing the file.
    pub fn restore(&self, lines: &[String], now: Timestamp) -> Result<()> {
        let decode = |text: &String| TokenChange::decode(text.as_bytes());
        let state = lines.iter().map(decode).collect::<std::result::Result<Vec<_>, _>>()?;
        if state.is_empty() {
            Ok(())
        } else if self.is_shared()? {
            state.iter().try_for_each(|state| self.apply(state, now))
        } else {
            self.adopt(&state, now)
        }
    }

    /// Makes a change that is in the shared journal, by this machine or another one; durable when
    /// this returns. A change that was applied before does nothing. If the file cannot be written, what
    /// the change ends is rejected by this store from now on: apply it again.
    ///
    /// `now` is the time of this machine: it forgets ended tokens when both this time and that of
    /// the change are 30 days after their end.
    ///
    /// # Errors
    /// [`Error::NotAdopted`] if the file lacks the tokens of the other machines.
    pub fn apply(&self, change: &TokenChange, now: Timestamp) -> Result<()> {
        let lock = self.lock()?;
        let mut table = self.table()?;
        if !table.shared {
            return Err(Error::NotAdopted { path: self.path().to_owned() });
        }
        let before = table.records.clone();
        if !change.merge(&mut table.records, now) {
            return Ok(());
        }
        let ends = |(id, it): (&TokenId, &Record)| {
            let end = End::of(it);
            before.get(id).is_some_and(|before| End::of(before) != end).then_some((*id, end))
        };
        let ended: Vec<_> = table.records.iter().filter_map(ends).collect();
        self.unstored.write().extend(ended.iter().copied());
        if ended.is_empty() {
            self.write(&lock, &table)?;
        } else {
            self.write_ends(&lock, &table)?;
        }
        self.unstored.write().retain(|id, _| !ended.iter().any(|ended| ended.0 == *id));
        Ok(())
    }

    /// Ends sharing, for a machine that leaves the others: it keeps all tokens, and changes them
    /// alone from now on.
    ///
    /// # Errors
    /// Those of reading and writing the file.
    pub fn without_shared(mut self) -> Result<Self> {
        let lock = self.lock()?;
        let mut table = self.table()?;
        table.shared = false;
        self.write(&lock, &table)?;
        drop(lock);
        self.append = None;
        self.set_contact(Contact::Kept);
        Ok(self)
    }

    /// Says whether this machine still learns of revocations. The caller measures how long it has had
    /// no contact, by a clock that does not jump; after 5 minutes, contact is lost.
    pub fn set_contact(&self, contact: Contact) {
        self.is_alone.store(contact == Contact::Lost, Ordering::Relaxed);
    }

    /// What [`Self::set_contact`] said last; [`Contact::Kept`] for a store that is not shared.
    pub fn contact(&self) -> Contact {
        if self.is_alone.load(Ordering::Relaxed) { Contact::Lost } else { Contact::Kept }
    }
}
