//! The digest of the state, and those of some positions in the past.

use std::collections::VecDeque;

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use waypost_log::Digest;

use crate::state::keys;

/// The state has a digest at every position that is a multiple of this.
pub(crate) const DIGEST_EVERY: u64 = 10_000;
/// How many of them are kept.
const KEPT: usize = 64;

/// The digests of the last multiples of [`DIGEST_EVERY`].
#[derive(Debug, Default)]
pub(crate) struct Digests(Mutex<VecDeque<Digest>>);

impl Digests {
    pub(crate) fn add(&self, digests: Vec<Digest>) {
        let mut kept = self.0.lock();
        for digest in digests {
            if kept.len() == KEPT {
                kept.pop_front();
            }
            kept.push_back(digest);
        }
    }

    /// The state was rebuilt: it may have had other digests.
    pub(crate) fn clear(&self) {
        self.0.lock().clear();
    }

    pub(crate) fn at(&self, position: u64) -> Option<Digest> {
        self.0.lock().iter().rev().find(|it| it.position == position).copied()
    }

    pub(crate) fn last(&self) -> Option<Digest> {
        self.0.lock().back().copied()
    }
}

/// The digest of a state with these spaces and counters.
pub(crate) fn digest<'a>(
    position: u64,
    rows: impl IntoIterator<Item = (&'a [u8], &'a [u8])>,
) -> Digest {
    let mut hasher = Sha256::new();
    for (key, value) in rows {
        let is_of_state = key.starts_with(keys::SPACES)
            || [keys::NEXT_ID, keys::LINKS_DIGEST, keys::REQUEST_KEYS_DIGEST].contains(&key);
        // Zero is the digest of nothing, with a row or without.
        if is_of_state && value.iter().any(|value| *value != 0) {
            for part in [key, value] {
                hasher.update((part.len() as u64).to_le_bytes());
                hasher.update(part);
            }
        }
    }
    Digest { position, sha256: hasher.finalize().into() }
}
