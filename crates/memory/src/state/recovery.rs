//! The state as found by opening, and bringing it up to the journal.

use waypost_projection::files::{dir_bytes, remove_dir};
use waypost_projection::{MARKED, Unusable, boot_id, remove_leftovers, set_aside};

use crate::codec::Reader;
use crate::journal::Journal;
use crate::layout::Folders;
use crate::state::keys::StoredKey;
use crate::state::replay::{Replayed, replay};
use crate::state::txn::link_digest;
use crate::state::txn::requests::request_digest;
use crate::state::{State, damaged, keys};
use crate::{Error, OpenReport, Result, StoreOptions};

/// A state that is this many times as large as its log is rebuilt …
const OUTGROWN_FACTOR: u64 = 8;
/// … unless it is smaller than this.
const OUTGROWN_BYTES_MIN: u64 = 256 * 1024 * 1024;

/// The state as found before the journal is opened. Looking for it changes nothing on disk.
#[derive(Debug)]
pub(crate) enum FoundState {
    Missing,
    /// It opens, and the records up to `applied` are applied to it.
    Whole {
        state: Box<State>,
        applied: u64,
    },
    Unusable(String),
}

impl FoundState {
    pub(crate) fn in_folder(folders: &Folders, options: &StoreOptions) -> Result<Self> {
        remove_leftovers(&folders.state)?;
        if !folders.state.exists() {
            return Ok(Self::Missing);
        }
        let state = match State::open(&folders.state, options, &boot_id())? {
            Ok(state) => state,
            Err(Unusable(why)) => return Ok(Self::Unusable(why)),
        };
        let whole = state.applied().and_then(|applied| verify_digests(&state).map(|()| applied));
        Ok(match whole {
            Ok(applied) => Self::Whole { state: Box::new(state), applied },
            Err(error) => Self::Unusable(error.to_string()),
        })
    }

    /// Whether it is not damaged. Reads all of it.
    pub(crate) fn is_sound(&self) -> bool {
        match self {
            Self::Missing => true,
            Self::Whole { state, .. } => state.verify().is_ok(),
            Self::Unusable(_) => false,
        }
    }

    /// The last record of the log that it has, 0 if that cannot be told.
    pub(crate) fn applied(&self) -> u64 {
        match self {
            Self::Whole { applied, .. } => *applied,
            Self::Missing | Self::Unusable(_) => 0,
        }
    }

    /// Closes it without changes.
    pub(crate) fn give_up(self) {
        if let Self::Whole { state, .. } = self {
            // Ignored: the log contains what cannot be synced here.
            drop(state.close());
        }
    }

    /// Brings the state up to the journal. An unusable state is set aside and rebuilt.
    /// `changed_after` is as for [`replay`].
    pub(crate) fn bring_up(
        self,
        folders: &Folders,
        journal: &Journal,
        changed_after: u64,
        options: &StoreOptions,
        report: &mut OpenReport,
    ) -> Result<(State, Replayed)> {
        let outgrown = OUTGROWN_BYTES_MIN.max(OUTGROWN_FACTOR * journal.bytes());
        let is_outgrown = dir_bytes(&folders.state) > outgrown;
        let usable = match self {
            Self::Whole { .. } | Self::Unusable(_) if is_outgrown => {
                Err(Some("it takes too much space".to_owned()))
            }
            Self::Whole { applied, .. } if applied > journal.last() => {
                let last = journal.last();
                return Err(Error::Damaged(format!(
                    "the log ends at record {last}, and the state has record {applied}"
                )));
            }
            Self::Whole { state, .. } => Ok(*state),
            Self::Unusable(why) => Err(Some(why)),
            Self::Missing if journal.last() > 0 => Err(Some("missing".to_owned())),
            Self::Missing => Err(None),
        };
        let state = match usable {
            Ok(state) => state,
            Err(why) => {
                if folders.state.exists() {
                    set_aside(&folders.state)?;
                }
                report.state_rebuilt = why;
                State::open(&folders.state, options, &boot_id())?.map_err(|Unusable(why)| {
                    Error::Damaged(format!("failed to create a state: {why}"))
                })?
            }
        };
        let replayed = replay(&state, journal, changed_after, options)?;
        report.replayed_records = replayed.records;
        if let Some(why) = &report.state_rebuilt {
            state.sync()?;
            // A state that was not damaged is of no use for diagnosis, and may contain purged
            // texts.
            if why == MARKED {
                remove_dir(&folders.state_aside())?;
            }
        }
        Ok((state, replayed))
    }
}

/// Compares the digests of memories, links and request keys with the state.
pub(crate) fn verify_digests(state: &State) -> Result<()> {
    let mut heads = 0;
    state.heads(&mut |_, head| {
        if head.deleted_at.is_none() {
            heads ^= head.digest;
        }
        Ok(())
    })?;
    let mut spaces = 0;
    state.scan(keys::SPACES, &mut |_, value| {
        spaces ^= Reader::new(value).u64().map_err(damaged)?;
        Ok(())
    })?;
    let mut links = 0;
    state.scan(keys::LINKS, &mut |key, value| {
        let edge = keys::edge_of(key).map_err(damaged)?;
        links ^= link_digest(edge, Reader::new(value).time().map_err(damaged)?);
        Ok(())
    })?;
    let stored = state.get(keys::LINKS_DIGEST)?;
    let stored = stored.map_or(Ok(0), |stored| Reader::new(&stored).u64().map_err(damaged))?;
    let mut requests = 0;
    let is_used = state.get(keys::REQUEST_KEYS)?.is_some();
    if is_used {
        state.scan(keys::REQUESTS, &mut |key, value| {
            requests ^= request_digest(key, &StoredKey::decode(value).map_err(damaged)?);
            Ok(())
        })?;
    }
    let stored_requests = state.get(keys::REQUEST_KEYS_DIGEST)?;
    let stored_requests =
        stored_requests.map_or(Ok(0), |request| Reader::new(&request).u64().map_err(damaged))?;
    if heads != spaces || links != stored || requests != stored_requests {
        return Err(Error::Damaged("a record of the state is missing or stale".to_owned()));
    }
    Ok(())
}
