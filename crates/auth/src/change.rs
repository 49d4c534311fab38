//! What one machine tells the others about its tokens.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use waypost_time::{Timestamp, millis};

use crate::decide::{self, End};
use crate::error::InvalidChange;
use crate::record::{Record, Records};
use crate::token::TokenId;

const VERSION: u32 = 1;
/// Tokens of one change in [`TokenChange::parts`]: at most some hundred kilobytes.
const PART_TOKENS: usize = 256;

/// What a creation, a revocation or a rotation did to the tokens that several machines share: the
/// complete records of the tokens that it created or ended, with digests and without secrets.
///
/// A machine that applies the same changes as another one has the same tokens, in whatever order and
/// however often it applies them: the end of a token only ever becomes earlier.
#[derive(Clone)]
pub struct TokenChange {
    at: Timestamp,
    records: Records,
}

#[derive(Deserialize)]
struct AnyVersion {
    version: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Document {
    version: u32,
    #[serde(with = "millis")]
    at: Timestamp,
    tokens: Vec<Record>,
}

impl TokenChange {
    /// When it was made, by the clock of its machine.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// The ids of its tokens.
    pub fn ids(&self) -> impl Iterator<Item = TokenId> {
        self.records.keys().copied()
    }

    /// The bytes for the shared journal.
    pub fn encode(&self) -> Vec<u8> {
        let tokens = self.records.values().cloned().collect();
        let document = Document { version: VERSION, at: self.at, tokens };
        serde_json::to_vec(&document).expect("plain structs always serialise")
    }

    /// Reads what [`Self::encode`] wrote, and nothing else: a change has one form.
    ///
    /// # Errors
    /// [`InvalidChange`].
    pub fn decode(bytes: &[u8]) -> Result<Self, InvalidChange> {
        let damaged = |reason: String| InvalidChange::Damaged { reason };
        let json = |error: serde_json::Error| damaged(error.to_string());
        let any: AnyVersion = serde_json::from_slice(bytes).map_err(json)?;
        if any.version > VERSION {
            return Err(InvalidChange::Newer { found: any.version, known: VERSION });
        }
        let document: Document = serde_json::from_slice(bytes).map_err(json)?;
        let mut records = Records::new();
        for token in document.tokens {
            if token.first_admin || token.local || token.last_used.is_some() {
                let reason = format!("token {} has fields that its machine keeps", token.id);
                return Err(damaged(reason));
            }
            records.insert(token.id, token);
        }
        let change = Self { at: document.at, records };
        // Another version, order, number or spelling.
        if change.encode() != bytes {
            return Err(damaged("it is not in its only form".to_owned()));
        }
        Ok(change)
    }

    /// What a change of this machine's tokens means for others.
    pub(crate) fn between(before: &Records, after: &Records, at: Timestamp) -> Self {
        let differs = |id: &TokenId, it: &Record| {
            before.get(id).is_none_or(|before| End::of(before) != End::of(it))
        };
        let shared = shared(after).filter(|(id, it)| differs(id, it));
        let changed: BTreeMap<TokenId, &Record> = shared.collect();
        // Who applies the end of a token also ends those derived from it.
        let follows = |id: &TokenId, it: &Record| {
            before.contains_key(id) && it.parent.is_some_and(|parent| changed.contains_key(&parent))
        };
        let records = changed
            .iter()
            .filter(|(id, it)| !follows(id, it))
            .map(|(id, it)| (*id, for_others(it)))
            .collect();
        Self { at, records }
    }

    /// All shared tokens, in changes of a moderate size; at least one.
    pub(crate) fn parts(records: &Records, at: Timestamp) -> Vec<Self> {
        let mut parts = vec![Self { at, records: Records::new() }];
        for (id, record) in shared(records) {
            if parts.last().is_some_and(|part| part.records.len() == PART_TOKENS) {
                parts.push(Self { at, records: Records::new() });
            }
            if let Some(part) = parts.last_mut() {
                part.records.insert(id, for_others(record));
            }
        }
        parts
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Changes the tokens of this machine; returns whether anything is different now. Tokens are
    /// forgotten by the time of the change, so that all machines do it alike, but never before this
    /// machine's own clock says so.
    pub(crate) fn merge(&self, records: &mut Records, now: Timestamp) -> bool {
        let mut changed = false;
        for (id, theirs) in &self.records {
            // An id is never given twice, except by a coincidence that is practically impossible.
            if decide::is_local(records, *id) {
                continue;
            }
            let Some(ours) = records.get_mut(id) else {
                records.insert(*id, theirs.clone());
                changed = true;
                continue;
            };
            if identity(theirs) < identity(ours) {
                let end = End::of(ours);
                *ours = Record { last_used: ours.last_used, ..theirs.clone() };
                end.bound(ours);
                changed = true;
            }
            changed |= End::of(theirs).bound(ours);
        }
        changed |= decide::close(records);
        changed | decide::forget(records, self.at.min(now))
    }
}

impl PartialEq for TokenChange {
    fn eq(&self, other: &Self) -> bool {
        self.encode() == other.encode()
    }
}

impl Eq for TokenChange {}

impl fmt::Debug for TokenChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<_> = self.ids().collect();
        f.debug_struct("TokenChange")
            .field("at", &self.at)
            .field("ids", &ids)
            .finish_non_exhaustive()
    }
}

fn shared(records: &Records) -> impl Iterator<Item = (TokenId, &Record)> {
    let others = records.iter().filter(|(id, _)| !decide::is_local(records, **id));
    others.map(|(id, record)| (*id, record))
}

fn for_others(record: &Record) -> Record {
    Record { last_used: None, ..record.clone() }
}

/// What never changes about a token. Of two tokens with one id, all machines keep the lesser.
fn identity(record: &Record) -> impl Ord {
    (
        record.digest.0,
        record.created,
        record.scopes.iter().collect::<Vec<_>>(),
        record.space.clone(),
        record.note.clone(),
        record.parent,
    )
}
