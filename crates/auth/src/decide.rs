//! What a request does to the tokens, without a file. The end of a token is the end of those derived
//! from it, and a token that is derived from a local one is local.

use std::collections::BTreeMap;
use std::time::Duration;

use waypost_time::Timestamp;

use crate::error::{Error, Result};
use crate::info::{NewToken, Revocation, TokenInfo};
use crate::record::{Record, Records, Table};
use crate::token::{Digest, Secret, Token, TokenId};

/// The file is rewritten as a whole at each change, so it must stay small.
const TOKENS_MAX: usize = 10_000;
/// How long an expired or revoked token is still listed.
const ENDED_KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Creates a token; `new` has been checked. The admin token of the first start replaces earlier
/// ones.
pub(crate) fn create(
    table: &mut Table,
    new: &NewToken,
    first_admin: bool,
    now: Timestamp,
) -> Result<(Secret, TokenInfo)> {
    forget_of(table, now);
    let records = &mut table.records;
    if first_admin {
        let earlier = records.iter().filter(|(_, it)| it.first_admin);
        let earlier: Vec<_> = earlier.map(|(id, _)| *id).collect();
        for id in earlier {
            end_all(records, id, now)?;
        }
    }
    let mut expires = new.expires;
    if let Some(id) = new.parent {
        let parent = active(records, id, now)?;
        expires = expires.into_iter().chain(parent.expires).min();
    }
    let (secret, id, digest) = generate(records)?;
    let record = Record {
        id,
        digest,
        scopes: new.scopes,
        created: now,
        expires,
        space: new.space.clone(),
        note: new.note.clone(),
        last_used: None,
        revoked: None,
        first_admin,
        local: false,
        parent: new.parent,
    };
    records.insert(id, record);
    Ok((secret, info(records, id)?))
}

/// Revokes a token and those derived from it.
pub(crate) fn revoke(records: &mut Records, id: TokenId, now: Timestamp) -> Result<Revocation> {
    let derived = end_all(records, id, now)?;
    Ok(Revocation { token: info(records, id)?, derived })
}

/// Creates a token with the same permissions, and ends the old one after `grace`.
pub(crate) fn rotate(
    table: &mut Table,
    id: TokenId,
    grace: Duration,
    now: Timestamp,
) -> Result<(Secret, TokenInfo)> {
    let records = &mut table.records;
    let old = active(records, id, now)?.clone();
    let local = table.shared && is_local(records, id);
    if grace.is_zero() {
        end_all(records, id, now)?;
    } else {
        expire(records, id, now.saturating_add(grace));
    }
    let (secret, id, digest) = generate(records)?;
    let new =
        Record { id, digest, created: now, last_used: None, first_admin: false, local, ..old };
    records.insert(id, new);
    Ok((secret, info(records, id)?))
}

/// Removes tokens that ended long ago. Returns whether there were any.
pub(crate) fn forget(records: &mut Records, now: Timestamp) -> bool {
    let before = records.len();
    records.retain(|_, record| is_listed(record, now));
    records.len() != before
}

/// The same for this machine's tokens: shared ones are forgotten with a [`crate::TokenChange`].
fn forget_of(table: &mut Table, now: Timestamp) {
    let Table { records, shared } = table;
    let is_over =
        |record: &&Record| !is_listed(record, now) && (!*shared || is_local(records, record.id));
    let over: Vec<TokenId> = records.values().filter(is_over).map(|value| value.id).collect();
    for id in over {
        records.remove(&id);
    }
}

fn is_listed(record: &Record, now: Timestamp) -> bool {
    let ended = record.revoked.into_iter().chain(record.expires).min();
    ended.is_none_or(|ended| ended.saturating_add(ENDED_KEPT) > now)
}

/// The information about one token.
pub(crate) fn info(records: &Records, id: TokenId) -> Result<TokenInfo> {
    let record = records.get(&id).ok_or(Error::NotFound { id })?;
    Ok(TokenInfo {
        id,
        scopes: record.scopes,
        created: record.created,
        expires: record.expires,
        space: record.space.clone(),
        note: record.note.clone(),
        last_used: record.last_used,
        revoked: record.revoked,
        parent: record.parent,
        local: is_local(records, id),
    })
}

fn active(records: &Records, id: TokenId, now: Timestamp) -> Result<&Record> {
    let record = records.get(&id).ok_or(Error::NotFound { id })?;
    if record.revoked.is_some() || record.expires.is_some_and(|expires| now >= expires) {
        return Err(Error::Ended { id });
    }
    Ok(record)
}

/// Generates a token with a new id.
fn generate(records: &Records) -> Result<(Secret, TokenId, Digest)> {
    if records.len() >= TOKENS_MAX {
        let reason = format!(
            "there are already {TOKENS_MAX} tokens; revoked ones are removed after 30 days"
        );
        return Err(Error::Invalid { field: "tokens", reason });
    }
    loop {
        let secret = Secret::generate()?;
        let token = Token::parse(secret.expose()).expect("a generated token has the form of one");
        let (id, digest) = (token.id(), token.digest());
        if !records.contains_key(&id) {
            return Ok((secret, id, digest));
        }
    }
}

/// Revokes a token and those derived from it; returns the latter as far as they were valid.
fn end_all(records: &mut Records, id: TokenId, now: Timestamp) -> Result<Vec<TokenId>> {
    let record = records.get_mut(&id).ok_or(Error::NotFound { id })?;
    record.revoked.get_or_insert(now);
    let mut revoked = Vec::new();
    for id in derived(records, id) {
        let Some(record) = records.get_mut(&id) else { continue };
        if record.revoked.is_none() && record.expires.is_none_or(|expiry| now < expiry) {
            record.revoked = Some(now);
            revoked.push(id);
        }
    }
    Ok(revoked)
}

/// Lets a token and those derived from it expire at that time, or when they do anyway.
fn expire(records: &mut Records, id: TokenId, end: Timestamp) {
    let end = End { revoked: None, expires: Some(end) };
    for id in derived(records, id).into_iter().chain([id]) {
        records.get_mut(&id).map(|record| end.bound(record));
    }
}

/// Whether the token is never sent to other machines: see [`crate::TokenInfo::local`].
pub(crate) fn is_local(records: &Records, id: TokenId) -> bool {
    let mut next = Some(id);
    // Limited, so that a circle in a file that was changed by hand ends, too.
    for _ in 0..=records.len() {
        let Some(record) = next.and_then(|next| records.get(&next)) else { return false };
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
            changed |= records.get_mut(&child).is_some_and(|record| end.bound(record));
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
fn derived(records: &Records, id: TokenId) -> Vec<TokenId> {
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
