//! The end of a token is the end of those derived from it.

use std::collections::BTreeMap;

use waypost_time::Timestamp;

use crate::error::{Error, Result};
use crate::record::Records;
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

/// The tokens that are derived from one, directly or not.
fn of(records: &Records, id: TokenId) -> Vec<TokenId> {
    let mut children: BTreeMap<TokenId, Vec<TokenId>> = BTreeMap::new();
    for (child, record) in records {
        if let Some(parent) = record.parent {
            children.entry(parent).or_default().push(*child);
        }
    }
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
