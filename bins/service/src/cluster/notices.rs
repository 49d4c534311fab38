//! What the machines of a cluster tell each other: records that no store keeps.
//!
//! After a start, a machine applies the notices since its base again: each must allow that.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use waypost_auth::{AppendError, TokenChange};
use waypost_cluster::notice::{DIGEST, RETENTION, TOKENS, VERSION};
use waypost_cluster::{Hub, Part};
use waypost_events::RetentionPoint;
use waypost_log::{Digest, Entry, Record, SharedError, SharedJournal};

use super::Unfollowed;

/// A record for all machines.
#[derive(Debug, Clone)]
pub(super) enum Notice {
    /// What the event bus drops.
    Retention(RetentionPoint),
    /// What became of tokens.
    Tokens(TokenChange),
    /// The digest that the leader's memories had at a position.
    Digest(Digest),
}

/// Does what a notice says.
pub(super) type CarryOut<'a> = dyn Fn(&Notice) -> Result<(), String> + 'a;

/// The notices as this machine has applied them.
#[derive(Debug)]
pub(super) struct Notices {
    journal: Arc<dyn SharedJournal>,
    applied: AtomicU64,
    /// Held while notices are appended or applied.
    one_at_a_time: Mutex<()>,
}

impl Notice {
    fn encode(&self) -> (u8, Vec<u8>) {
        match self {
            Self::Retention(point) => (RETENTION, point.encode()),
            Self::Tokens(change) => (TOKENS, change.encode()),
            Self::Digest(digest) => {
                (DIGEST, [&digest.position.to_le_bytes()[..], &digest.sha256].concat())
            }
        }
    }

    fn decode(entry: &Entry) -> Result<Self, String> {
        match (entry.kind, entry.version) {
            (RETENTION, VERSION) => {
                let point = RetentionPoint::decode(&entry.payload);
                point.map(Self::Retention).map_err(|error| error.to_string())
            }
            (TOKENS, VERSION) => {
                let change = TokenChange::decode(&entry.payload);
                change.map(Self::Tokens).map_err(|error| error.to_string())
            }
            (DIGEST, VERSION) => {
                let digest = decode_digest(&entry.payload).map(Self::Digest);
                digest.ok_or_else(|| {
                    format!("the digest in record {} of the cluster is malformed", entry.sequence)
                })
            }
            (kind, version) => Err(format!(
                "record {} of the cluster has kind {kind}, version {version}, which this release does not know; install a newer release",
                entry.sequence
            )),
        }
    }
}

fn decode_digest(payload: &[u8]) -> Option<Digest> {
    let (position, sha256) = payload.split_first_chunk::<8>()?;
    let sha256 = <[u8; 32]>::try_from(sha256).ok()?;
    Some(Digest { position: u64::from_le_bytes(*position), sha256 })
}

impl Notices {
    pub(super) fn new(hub: &Arc<Hub>) -> Self {
        let first = hub.member().base.places[Part::Notices.index()];
        Self {
            journal: hub.part(Part::Notices),
            applied: AtomicU64::new(first),
            one_at_a_time: Mutex::default(),
        }
    }

    /// The last notice that this machine has applied.
    pub(super) fn applied(&self) -> u64 {
        self.applied.load(Ordering::Acquire)
    }

    /// Applies what other machines have appended.
    pub(super) fn follow(&self, carry_out: &CarryOut<'_>) -> Result<(), Unfollowed> {
        let _one_at_a_time = self.one_at_a_time.lock();
        self.catch_up(carry_out)
    }

    fn catch_up(&self, carry_out: &CarryOut<'_>) -> Result<(), Unfollowed> {
        loop {
            let page = self.journal.read(self.applied())?;
            if page.is_empty() {
                return Ok(());
            }
            let mut notices = page.iter();
            for entry in &mut notices {
                if let Err(why) = carry_out(&Notice::decode(entry)?) {
                    // What later changes end is rejected, too, though the file cannot be written.
                    for later in notices.filter(|notice| notice.kind == TOKENS) {
                        drop(carry_out(&Notice::decode(later)?));
                    }
                    return Err(why.into());
                }
                self.applied.store(entry.sequence, Ordering::Release);
            }
        }
    }

    /// Appends a notice, and carries it out on this machine. After [`AppendError::Moved`], those of
    /// others that came first have been applied: decide again.
    pub(super) fn append(
        &self,
        notice: &Notice,
        carry_out: &CarryOut<'_>,
    ) -> Result<(), AppendError> {
        let _one_at_a_time = self.one_at_a_time.lock();
        let (kind, payload) = notice.encode();
        let records = [Record { kind, version: VERSION, payload: &payload }];
        let after = self.applied();
        match self.journal.append(after, &records) {
            Ok(()) => {
                carry_out(notice).map_err(AppendError::Unstored)?;
                self.applied.store(after + 1, Ordering::Release);
                Ok(())
            }
            Err(SharedError::Moved) => {
                let caught_up = self.catch_up(carry_out);
                self.journal.release();
                caught_up.map_err(|error| AppendError::Unavailable(error.why))?;
                Err(AppendError::Moved)
            }
            Err(SharedError::Unknown(why)) => Err(AppendError::Unknown(why)),
            Err(error) => Err(AppendError::Unavailable(error.to_string())),
        }
    }
}
