//! The records of the recall log as bytes; docs/formats.md describes them.

use std::sync::Arc;

use waypost_time::Timestamp;

use crate::codec::Field;
use crate::limits::{NAMED_MAX, SESSION_BYTES_MAX};
use crate::{Entry, Error, Moment, Result, SessionKey};

/// The version of every payload that this release writes.
const VERSION: u8 = 1;
const ENTRY: u8 = 1;
const RECORDED: u8 = 2;
const COMPACTED: u8 = 3;

/// A record of the log.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Record {
    /// A session got something, or nothing. The log has the entry's id.
    Entry(Entry),
    /// Turns were recorded, up to that offset of the transcript.
    Recorded { key: SessionKey, harness: Arc<str>, at: Timestamp, offset: u64 },
    /// The conversation is being compacted.
    Compacted { key: SessionKey, harness: Arc<str>, at: Timestamp },
}

impl Record {
    /// The kind and the version of its payload.
    pub(crate) fn tag(&self) -> (u8, u8) {
        let kind = match self {
            Self::Entry(_) => ENTRY,
            Self::Recorded { .. } => RECORDED,
            Self::Compacted { .. } => COMPACTED,
        };
        (kind, VERSION)
    }

    /// When it was written.
    pub(crate) fn at(&self) -> Timestamp {
        match self {
            Self::Entry(Entry { at, .. })
            | Self::Recorded { at, .. }
            | Self::Compacted { at, .. } => *at,
        }
    }

    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        let (Self::Entry(Entry { key, harness, at, .. })
        | Self::Recorded { key, harness, at, .. }
        | Self::Compacted { key, harness, at }) = self;
        let space = key.space.as_deref().unwrap_or("");
        for (what, text) in
            [("the session", &*key.session), ("the harness", harness), ("the space", space)]
        {
            check(what, text.len(), "bytes", SESSION_BYTES_MAX)?;
        }
        let mut out = Vec::new();
        at.put(&mut out);
        key.put(&mut out);
        harness.put(&mut out);
        match self {
            Self::Entry(entry) => {
                let named = entry.used.len() + entry.withheld.len();
                check("an entry of the recall log", named, "memories", NAMED_MAX)?;
                put_entry(entry, &mut out);
            }
            Self::Recorded { offset, .. } => offset.put(&mut out),
            Self::Compacted { .. } => {}
        }
        Ok(out)
    }

    /// The record of a payload, unless it is malformed or has another kind or version.
    pub(crate) fn decode(kind: u8, version: u8, payload: &[u8]) -> Option<Self> {
        let mut input = payload;
        if version != VERSION {
            return None;
        }
        let at = Field::take(&mut input)?;
        let (key, harness) = (Field::take(&mut input)?, Field::take(&mut input)?);
        let record = match kind {
            ENTRY => Self::Entry(take_entry((key, harness, at), &mut input)?),
            RECORDED => Self::Recorded { key, harness, at, offset: Field::take(&mut input)? },
            COMPACTED => Self::Compacted { key, harness, at },
            _ => return None,
        };
        input.is_empty().then_some(record)
    }
}

/// Whether this release reads records of that kind and version.
pub(crate) fn can_read(kind: u8, version: u8) -> bool {
    (ENTRY..=COMPACTED).contains(&kind) && version == VERSION
}

/// Decodes a record and encodes it again, for tests with arbitrary bytes. `None` if the bytes are no
/// record.
pub fn check_record(kind: u8, version: u8, payload: &[u8]) -> Option<Vec<u8>> {
    Record::decode(kind, version, payload)?.encode().ok()
}

/// What follows the session, the harness and the time.
fn put_entry(entry: &Entry, out: &mut Vec<u8>) {
    match entry.moment {
        Moment::Start => 1_u8.put(out),
        Moment::Prompt => 2_u8.put(out),
        Moment::Compact => 3_u8.put(out),
        Moment::Refused { before, why } => {
            4_u8.put(out);
            before.put(out);
            why.put(out);
        }
    }
    entry.is_fresh.put(out);
    entry.answerable.put(out);
    entry.threshold.put(out);
    entry.used.put(out);
    entry.withheld.put(out);
    match entry.silence {
        None => 0_u8.put(out),
        Some(silence) => silence.put(out),
    }
}

fn take_entry(
    (key, harness, at): (SessionKey, Arc<str>, Timestamp),
    input: &mut &[u8],
) -> Option<Entry> {
    let moment = match u8::take(input)? {
        1 => Moment::Start,
        2 => Moment::Prompt,
        3 => Moment::Compact,
        4 => Moment::Refused { before: Field::take(input)?, why: Field::take(input)? },
        _ => return None,
    };
    let mut entry = Entry { at, harness, ..Entry::new(key, "", moment) };
    entry.is_fresh = Field::take(input)?;
    entry.answerable = Field::take(input)?;
    entry.threshold = Field::take(input)?;
    entry.used = Field::take(input)?;
    entry.withheld = Field::take(input)?;
    entry.silence = match input.split_first()? {
        (0, rest) => {
            *input = rest;
            None
        }
        _ => Some(Field::take(input)?),
    };
    (entry.used.len() + entry.withheld.len() <= NAMED_MAX).then_some(entry)
}

fn check(what: &'static str, len: usize, unit: &'static str, limit: usize) -> Result<()> {
    if len <= limit { Ok(()) } else { Err(Error::TooLong { what, len, unit, limit }) }
}

#[cfg(test)]
mod tests;
