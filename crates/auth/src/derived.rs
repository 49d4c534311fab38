//! The end of a token is the end of those derived from it, and a token that is derived from a local
//! one is local.

use std::collections::BTreeMap;

use waypost_time::Timestamp;

use crate::error::{Error, Result};
use crate::record::{Record, Records};
use crate::token::TokenId;

/// Revokes a token and those derived from it; returns the latter as far as they were valid.
pub(crate) fn revoke(records: &mut Records, id: TokenId, now: Timestamp) -> Result<Vec<TokenId>> {
    let record = records.get_mut(&id).ok_or(Error::NotFound { id })?;
    record.revoked.get_or_insert(now);
    let mut revoked = Vec::new();
    for id in of(records, id) {
        let Some(record) = records.get_mut(&id) else { continue };
        if record.revoked.is_none() && record.expires.is_none_or(|it| now < it) {
            record.revoked = Some(now);
            revoked.push(id);
        }
    }
    Ok(revoked)
}

/// Lets a token and those derived from it expire at that time, or when they do anyway.
pub(crate) fn expire(records: &mut Records, id: TokenId, end: Timestamp) {
    for id in of(records, id).into_iter().chain([id]) {
        if let Some(record) = records.get_mut(&id) {
            record.expires = Some(record.expires.map_or(end, |it| it.min(end)));
        }
    }
}

/// Whether the token is never sent to other machines: see [`crate::TokenInfo::local`].
pub(crate) fn is_local(records: &Records, id: TokenId) -> bool {
    let mut next = Some(id);
    // Limited, so that a circle in a file that was changed by hand ends, too.
    for _ in 0..=records.len() {
        let Some(record) = next.and_then(|it| records.get(&it)) else { return false };
        if record.first_admin || record.local {
            return true;
        }
        next = record.parent;
    }
    false
}

/// Ends each shared token at the end of the token that it is derived from, if that is earlier: a
/// machine may derive a token before it learns that another one ended the parent. Returns whether
/// that changed anything.
pub(crate) fn close(records: &mut Records) -> bool {
    let mut children = children(records);
    let roots = records.iter().filter(|(id, it)| {
        it.parent.is_none_or(|parent| !records.contains_key(&parent)) && !is_local(records, **id)
    });
    let mut open: Vec<TokenId> = roots.map(|(id, _)| *id).collect();
    let mut changed = false;
    while let Some(id) = open.pop() {
        let Some(end) = records.get(&id).map(End::of) else { continue };
        for child in children.remove(&id).unwrap_or_default() {
            changed |= records.get_mut(&child).is_some_and(|it| end.bound(it));
            open.push(child);
        }
    }
    changed
}

/// When a token ends, or ended. Both only ever become earlier: no order of changes and no repetition
/// makes a token valid again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) revoked: Option<Timestamp>,
    pub(crate) expires: Option<Timestamp>,
}

impl End {
    pub(crate) fn of(record: &Record) -> Self {
        Self { revoked: record.revoked, expires: record.expires }
    }

    /// Ends the token at this end, if that is earlier. Returns whether it is.
    pub(crate) fn bound(self, record: &mut Record) -> bool {
        let revoked = record.revoked.into_iter().chain(self.revoked).min();
        let expires = record.expires.into_iter().chain(self.expires).min();
        let changed = (revoked, expires) != (record.revoked, record.expires);
        record.revoked = revoked;
        record.expires = expires;
        changed
    }
}

fn children(records: &Records) -> BTreeMap<TokenId, Vec<TokenId>> {
    let mut children: BTreeMap<TokenId, Vec<TokenId>> = BTreeMap::new();
    for (child, record) in records {
        if let Some(parent) = record.parent {
            children.entry(parent).or_default().push(*child);
        }
    }
    children
}

/// The tokens that are derived from one, directly or not.
fn of(records: &Records, id: TokenId) -> Vec<TokenId> {
    let mut children = children(records);
    let mut found = Vec::new();
    let mut open = vec![id];
    while let Some(parent) = open.pop() {
        // Taken out, so that a circle in a file that was changed by hand ends, too.
        let direct = children.remove(&parent).unwrap_or_default();
        open.extend(&direct);
        found.extend(direct);
    }
    found
}
