//! The records of the recall log as bytes; docs/formats.md describes them.

use std::sync::Arc;

use waypost_time::Timestamp;

use crate::codec::{Malformed, Reader, Writer};
use crate::limits::{NAMED_MAX, SESSION_BYTES_MAX};
use crate::{
    Error, Moment, NewEntry, Part, Reason, Refusal, Result, SessionKey, Silence, Used, Withheld,
};

/// The version of every payload that this release writes.
const VERSION: u8 = 1;
const ENTRY: u8 = 1;
const RECORDED: u8 = 2;
const COMPACTED: u8 = 3;

/// A record of the log.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Record {
    /// A session got something, or nothing.
    Entry(NewEntry, Timestamp),
    /// Turns were recorded, up to that offset of the transcript.
    Recorded { key: SessionKey, harness: Arc<str>, at: Timestamp, offset: u64 },
    /// The conversation is being compacted.
    Compacted { key: SessionKey, harness: Arc<str>, at: Timestamp },
}

impl Record {
    /// The kind and the version of its payload.
    pub(crate) fn tag(&self) -> (u8, u8) {
        let kind = match self {
            Self::Entry(..) => ENTRY,
            Self::Recorded { .. } => RECORDED,
            Self::Compacted { .. } => COMPACTED,
        };
        (kind, VERSION)
    }

    /// When it was written.
    pub(crate) fn at(&self) -> Timestamp {
        match self {
            Self::Entry(_, at) | Self::Recorded { at, .. } | Self::Compacted { at, .. } => *at,
        }
    }

    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        let mut out = Writer::default();
        match self {
            Self::Entry(entry, at) => write_entry(&mut out, entry, *at)?,
            Self::Recorded { key, harness, at, offset } => {
                write_head(&mut out, key, harness, *at)?;
                out.u64(*offset);
            }
            Self::Compacted { key, harness, at } => write_head(&mut out, key, harness, *at)?,
        }
        Ok(out.into_bytes())
    }

    pub(crate) fn decode(kind: u8, version: u8, payload: &[u8]) -> Result<Self, Malformed> {
        if version != VERSION {
            return Err(Malformed);
        }
        let mut input = Reader::new(payload);
        let (key, harness, at) = read_head(&mut input)?;
        let record = match kind {
            ENTRY => Self::Entry(read_entry(&mut input, key, harness)?, at),
            RECORDED => Self::Recorded { key, harness, at, offset: input.u64()? },
            COMPACTED => Self::Compacted { key, harness, at },
            _ => return Err(Malformed),
        };
        input.end()?;
        Ok(record)
    }
}

/// Whether this release reads records of that kind and version.
pub(crate) fn can_read(kind: u8, version: u8) -> bool {
    (ENTRY..=COMPACTED).contains(&kind) && version == VERSION
}

/// Decodes a record and encodes it again, for tests with arbitrary bytes. `None` if the bytes are no
/// record.
pub fn check_record(kind: u8, version: u8, payload: &[u8]) -> Option<Vec<u8>> {
    Record::decode(kind, version, payload).ok()?.encode().ok()
}

fn write_head(out: &mut Writer, key: &SessionKey, harness: &str, at: Timestamp) -> Result<()> {
    let space = key.space.as_deref();
    for (what, text) in [
        ("the session", &*key.session),
        ("the harness", harness),
        ("the space", space.unwrap_or("")),
    ] {
        short(what, text.len(), "bytes", SESSION_BYTES_MAX)?;
    }
    out.time(at);
    out.text(&key.session);
    out.maybe_text(space);
    out.text(harness);
    Ok(())
}

fn read_head(input: &mut Reader<'_>) -> Result<(SessionKey, Arc<str>, Timestamp), Malformed> {
    let at = input.time()?;
    let session = input.text()?;
    let space = input.maybe_text()?;
    let harness = input.text()?;
    if [session, harness, space.unwrap_or("")].iter().any(|it| it.len() > SESSION_BYTES_MAX) {
        return Err(Malformed);
    }
    Ok((SessionKey::new(session, space), harness.into(), at))
}

fn write_entry(out: &mut Writer, entry: &NewEntry, at: Timestamp) -> Result<()> {
    let named = entry.used.len() + entry.withheld.len();
    short("an entry of the recall log", named, "memories", NAMED_MAX)?;
    write_head(out, &entry.key, &entry.harness, at)?;
    write_moment(out, entry.moment);
    out.u8(u8::from(entry.is_fresh));
    out.maybe_f32(entry.answerable);
    out.maybe_f32(entry.threshold);
    out.len(entry.used.len());
    for it in &entry.used {
        out.u64(it.id);
        out.u8(code(PARTS, it.part));
        out.maybe_f32(it.score);
    }
    out.len(entry.withheld.len());
    for it in &entry.withheld {
        out.u64(it.id);
        out.u8(code(REASONS, it.reason));
        out.maybe_f32(it.score);
    }
    out.u8(entry.silence.map_or(0, |it| code(SILENCES, it)));
    Ok(())
}

/// The fewest bytes of a memory in an entry: its id, a code, and that it has no score.
const NAMED_BYTES_MIN: usize = 10;

fn read_entry(
    input: &mut Reader<'_>,
    key: SessionKey,
    harness: Arc<str>,
) -> Result<NewEntry, Malformed> {
    let mut entry = NewEntry { harness, ..NewEntry::new(key, "", read_moment(input)?) };
    entry.is_fresh = input.flag()?;
    entry.answerable = input.maybe_f32()?;
    entry.threshold = input.maybe_f32()?;
    for _ in 0..input.count(NAMED_BYTES_MIN)? {
        let (id, part) = (input.u64()?, of_code(PARTS, input.u8()?)?);
        entry.used.push(Used { id, part, score: input.maybe_f32()? });
    }
    for _ in 0..input.count(NAMED_BYTES_MIN)? {
        let (id, reason) = (input.u64()?, of_code(REASONS, input.u8()?)?);
        entry.withheld.push(Withheld { id, reason, score: input.maybe_f32()? });
    }
    if entry.used.len() + entry.withheld.len() > NAMED_MAX {
        return Err(Malformed);
    }
    entry.silence = match input.u8()? {
        0 => None,
        code => Some(of_code(SILENCES, code)?),
    };
    Ok(entry)
}

fn write_moment(out: &mut Writer, moment: Moment) {
    match moment {
        Moment::Start => out.u8(1),
        Moment::Prompt => out.u8(2),
        Moment::Compact => out.u8(3),
        Moment::Refused { before, why } => {
            out.u8(4);
            out.u64(before);
            out.u8(code(REFUSALS, why));
        }
    }
}

fn read_moment(input: &mut Reader<'_>) -> Result<Moment, Malformed> {
    Ok(match input.u8()? {
        1 => Moment::Start,
        2 => Moment::Prompt,
        3 => Moment::Compact,
        4 => Moment::Refused { before: input.u64()?, why: of_code(REFUSALS, input.u8()?)? },
        _ => return Err(Malformed),
    })
}

// The code of a value is its position from 1: values are only ever added at the end.
const REFUSALS: &[Refusal] = &[Refusal::Malformed, Refusal::TooLarge, Refusal::Invalid];
const PARTS: &[Part] = &[Part::Pinned, Part::Decision, Part::Thread, Part::Task, Part::Answer];
const REASONS: &[Reason] = &[
    Reason::BelowThreshold,
    Reason::AlreadyInjected,
    Reason::SameSession,
    Reason::Budget,
    Reason::Superseded,
];
const SILENCES: &[Silence] =
    &[Silence::ShortPrompt, Silence::NothingFound, Silence::NotAnswerable, Silence::AllWithheld];

fn code<T: PartialEq + Copy>(values: &[T], value: T) -> u8 {
    let at = values.iter().position(|it| *it == value).expect("the tables have every value");
    u8::try_from(at + 1).expect("the tables are short")
}

fn of_code<T: Copy>(values: &[T], code: u8) -> Result<T, Malformed> {
    usize::from(code).checked_sub(1).and_then(|it| values.get(it)).copied().ok_or(Malformed)
}

fn short(what: &'static str, len: usize, unit: &'static str, limit: usize) -> Result<()> {
    if len <= limit { Ok(()) } else { Err(Error::TooLong { what, len, unit, limit }) }
}

#[cfg(test)]
mod tests;
