//! What a request does to the tokens, without a file.

use std::time::Duration;

use waypost_time::Timestamp;

use crate::derived;
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
            derived::revoke(records, id, now)?;
        }
    }
    let mut expires = new.expires;
    if let Some(id) = new.parent {
        let parent = active(records, id, now)?;
        expires = expires.into_iter().chain(parent.expires).min();
    }
    let record = Record {
        digest: Digest([0; 32]),
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
    insert(records, record)
}

/// Revokes a token and those derived from it.
pub(crate) fn revoke(records: &mut Records, id: TokenId, now: Timestamp) -> Result<Revocation> {
    let derived = derived::revoke(records, id, now)?;
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
    let local = table.shared && derived::is_local(records, id);
    let new = Record { created: now, last_used: None, first_admin: false, local, ..old };
    if grace.is_zero() {
        derived::revoke(records, id, now)?;
    } else {
        derived::expire(records, id, now.saturating_add(grace));
    }
    insert(records, new)
}

/// Removes tokens that ended long ago. Returns whether there were any.
pub(crate) fn forget(records: &mut Records, now: Timestamp) -> bool {
    let before = records.len();
    records.retain(|_, record| is_listed(record, now));
    records.len() != before
}

/// The same for this machine's tokens: shared ones are forgotten with a [`crate::TokenChange`].
fn forget_of(table: &mut Table, now: Timestamp) {
    if !table.shared {
        forget(&mut table.records, now);
        return;
    }
    let over =
        |id: TokenId, it: &Record| !is_listed(it, now) && derived::is_local(&table.records, id);
    let over: Vec<_> =
        table.records.iter().filter(|(id, it)| over(**id, it)).map(|(id, _)| *id).collect();
    for id in over {
        table.records.remove(&id);
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
        local: derived::is_local(records, id),
    })
}

fn active(records: &Records, id: TokenId, now: Timestamp) -> Result<&Record> {
    let record = records.get(&id).ok_or(Error::NotFound { id })?;
    if record.revoked.is_some() || record.expires.is_some_and(|expires| now >= expires) {
        return Err(Error::Ended { id });
    }
    Ok(record)
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
        records.insert(id, record);
        return Ok((secret, info(records, id)?));
    }
}
