//! Request keys: what the first command with each did, and their order.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use sha2::{Digest, Sha256};

use crate::Result;
use crate::codec::Writer;
use crate::record::KeyRecord;
use crate::state::damaged;
use crate::state::keys::{self, QueuedKey, StoredKey};
use crate::state::txn::{Txn, first_u64};

impl Txn<'_> {
    /// What the first command with this request key did, if the key is known.
    pub(crate) fn request(&self, id: [u8; 16]) -> Result<Option<StoredKey>> {
        self.get(&keys::request(id))?.map(|it| StoredKey::decode(&it).map_err(damaged)).transpose()
    }

    /// The number of known request keys.
    pub(crate) fn requests(&self) -> Result<u64> {
        self.number(keys::REQUEST_KEYS)
    }

    /// Request keys in the order of their records, as long as `is_wanted`.
    pub(crate) fn oldest_requests(
        &self,
        is_wanted: &mut dyn FnMut(&QueuedKey) -> bool,
    ) -> Result<Vec<QueuedKey>> {
        let mut rows: BTreeMap<u64, Option<QueuedKey>> = BTreeMap::new();
        let prefix = keys::REQUEST_QUEUE;
        let changed = self.overlay.range(prefix.to_vec()..);
        for (key, value) in changed.take_while(|(key, _)| key.starts_with(prefix)) {
            let sequence = QueuedKey::sequence_of(key).map_err(damaged)?;
            let row = value.as_ref().map(|value| QueuedKey::decode(key, value)).transpose();
            rows.insert(sequence, row.map_err(damaged)?);
        }
        let mut found = Vec::new();
        let mut has_ended = false;
        let mut take = |row: QueuedKey| {
            has_ended |= !is_wanted(&row);
            if !has_ended {
                found.push(row);
            }
            if has_ended { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let mut is_done = false;
        self.state.scan_while(prefix, &mut |key, value| {
            let row = QueuedKey::decode(key, value).map_err(damaged)?;
            if rows.get(&row.sequence).is_some_and(Option::is_none) {
                return Ok(ControlFlow::Continue(()));
            }
            let next = take(row);
            is_done = next.is_break();
            Ok(next)
        })?;
        if !is_done {
            // The changes come from later records than the state.
            rows.into_values().flatten().try_for_each(take).is_break();
        }
        Ok(found)
    }
}

/// Puts a key in, in place of what it had before, or frees it.
pub(super) fn put(txn: &mut Txn<'_>, record: &KeyRecord, sequence: u64) -> Result<()> {
    let KeyRecord { key, at, done } = record;
    remove(txn, key.id)?;
    let Some(done) = done.clone() else { return Ok(()) };
    let stored = StoredKey { request: key.request, sequence, done };
    flip(txn, key.id, &stored, 1)?;
    txn.put(keys::request(key.id), Some(stored.encode()));
    let queued = QueuedKey { sequence, id: key.id, at: *at };
    txn.put(keys::request_queue(sequence), Some(queued.value()));
    Ok(())
}

/// Forgets the keys of earlier records than this one.
pub(super) fn forget(txn: &mut Txn<'_>, below: u64) -> Result<()> {
    for old in txn.oldest_requests(&mut |it| it.sequence < below)? {
        remove(txn, old.id)?;
    }
    Ok(())
}

fn remove(txn: &mut Txn<'_>, id: [u8; 16]) -> Result<()> {
    let Some(stored) = txn.request(id)? else { return Ok(()) };
    flip(txn, id, &stored, -1)?;
    txn.put(keys::request(id), None);
    txn.put(keys::request_queue(stored.sequence), None);
    Ok(())
}

/// Counts a key in or out.
fn flip(txn: &mut Txn<'_>, id: [u8; 16], stored: &StoredKey, by: i64) -> Result<()> {
    let count = txn.requests()?.saturating_add_signed(by);
    txn.set_number(keys::REQUEST_KEYS, count);
    txn.flip_digest(keys::REQUEST_KEYS_DIGEST, request_digest(&keys::request(id), stored))
}

/// A request key's part of their digest.
pub(crate) fn request_digest(key: &[u8], stored: &StoredKey) -> u64 {
    let mut out = Writer::new();
    out.raw(key);
    out.raw(&stored.request);
    stored.done.encode(&mut out);
    first_u64(&Sha256::digest(out.into_bytes()))
}
