//! The state as opening finds it, and bringing it up to the log.

use std::path::Path;

use waypost_log::Log;
use waypost_projection::files::{dir_bytes, remove_dir};
use waypost_projection::{MARKED, Unusable, boot_id, remove_leftovers, set_aside};

use crate::codec::Reader;
use crate::layout::Folders;
use crate::log_error::log_error;
use crate::record::Record;
use crate::state::txn::{Txn, apply, link_digest};
use crate::state::{State, damaged, keys};
use crate::{Error, OpenPhase, OpenReport, Result, StoreOptions};

/// A replay commits and tells its progress after so many records.
const REPLAY_RECORDS: u64 = 512;
/// A state that takes so many times its log's bytes is built anew …
const OUTGROWN_FACTOR: u64 = 8;
/// … unless it is smaller than this.
const OUTGROWN_BYTES_MIN: u64 = 256 * 1024 * 1024;

/// The state as it was found, before the log is opened. Nothing on disk was changed by finding it.
#[derive(Debug)]
pub(crate) enum FoundState {
    Missing,
    /// It opens, and has the records up to `applied`.
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
        let whole = applied(&state).and_then(|it| verify_digests(&state).map(|()| it));
        Ok(match whole {
            Ok(applied) => Self::Whole { state: Box::new(state), applied },
            Err(error) => Self::Unusable(error.to_string()),
        })
    }

    /// The last record of the log that it has, 0 if that cannot be told.
    pub(crate) fn applied(&self) -> u64 {
        match self {
            Self::Whole { applied, .. } => *applied,
            Self::Missing | Self::Unusable(_) => 0,
        }
    }

    /// Leaves it as it was.
    pub(crate) fn give_up(self) {
        if let Self::Whole { state, .. } = self {
            // What cannot be synced here is in the log.
            drop(state.close());
        }
    }

    /// Brings the state up to the log; one that cannot be used is set aside and built anew.
    pub(crate) fn bring_up(
        self,
        folders: &Folders,
        log: &Log,
        options: &StoreOptions,
        report: &mut OpenReport,
    ) -> Result<State> {
        let outgrown = OUTGROWN_BYTES_MIN.max(OUTGROWN_FACTOR * log.bytes());
        let is_outgrown = dir_bytes(&folders.state) > outgrown;
        let usable = match self {
            Self::Whole { .. } | Self::Unusable(_) if is_outgrown => {
                Err(Some("it takes too much space".to_owned()))
            }
            Self::Whole { applied, .. } if applied > log.last_sequence() => {
                let last = log.last_sequence();
                return Err(Error::Damaged(format!(
                    "the log ends at record {last}, and the state has record {applied}"
                )));
            }
            Self::Whole { state, .. } => Ok(*state),
            Self::Unusable(why) => Err(Some(why)),
            Self::Missing if log.last_sequence() > 0 => Err(Some("missing".to_owned())),
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
        report.replayed_records = replay(&state, log, options)?;
        if let Some(why) = &report.state_rebuilt {
            state.sync()?;
            // What was set aside for no fault of its own helps nobody, and may hold purged texts.
            if why == MARKED {
                remove_dir(&folders.state_aside())?;
            }
        }
        Ok(state)
    }
}

pub(crate) fn applied(state: &State) -> Result<u64> {
    state.get(keys::APPLIED)?.map_or(Ok(0), |it| Reader::new(&it).u64().map_err(damaged))
}

/// Compares the digests of memories and links with what is there.
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
    let stored = stored.map_or(Ok(0), |it| Reader::new(&it).u64().map_err(damaged))?;
    if heads != spaces || links != stored {
        return Err(Error::Damaged("a record of the state is missing or stale".to_owned()));
    }
    Ok(())
}

/// Applies what the log has beyond the state. Returns how many records that were.
pub(crate) fn replay(state: &State, log: &Log, options: &StoreOptions) -> Result<u64> {
    let from = applied(state)?;
    let total = log.last_sequence().saturating_sub(from);
    if total == 0 {
        return Ok(0);
    }
    let mut done = 0;
    let mut txn = Txn::new(state);
    let commit = |txn: Txn<'_>| txn.finish().0.iter().try_for_each(|it| state.write(it));
    for entry in log.entries_after(from) {
        let entry = entry.map_err(|it| log_error(&it, Path::new("log")))?;
        let record = Record::decode(entry.kind, entry.version, &entry.payload)
            .map_err(|it| it.of(entry.sequence))?;
        apply(&record, entry.sequence, &mut txn)?;
        done += 1;
        if done % REPLAY_RECORDS == 0 {
            commit(std::mem::replace(&mut txn, Txn::new(state)))?;
            options.tell(OpenPhase::State, done, total);
        }
    }
    commit(txn)?;
    options.tell(OpenPhase::State, total, total);
    Ok(done)
}
