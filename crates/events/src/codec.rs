//! The encoding of an event in the log.
//!
//! Decoding any bytes returns an event or [`Malformed`], and encoding a decoded event returns the
//! same bytes. `docs/formats.md` describes them for readers.

use waypost_time::Timestamp;

use crate::event::{LINEAGE_FLOWS_MAX, LINEAGE_NAME_BYTES_MAX, SOURCE_BYTES_MAX, SPACE_BYTES_MAX};
use crate::{Data, Event, EventType, IdempotencyKey, Lineage, Number, Value};

/// The record kind of an event.
pub(crate) const EVENT_KIND: u8 = 1;
/// The newest version of its payload that this release reads and writes. An event without a space
/// is written as version 1, which has none.
pub(crate) const EVENT_VERSION: u8 = 2;

const HAS_KEY: u8 = 1;
const HAS_LINEAGE: u8 = 2;
/// From version 2 on.
const HAS_SPACE: u8 = 4;

const TEXT: u8 = 0;
const WHOLE: u8 = 1;
const NEGATIVE: u8 = 2;
const FLOAT: u8 = 3;

/// Why bytes are not a valid event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub(crate) &'static str);

/// Whether this release reads a record of the log.
pub(crate) fn can_read(kind: u8, version: u8) -> bool {
    kind == EVENT_KIND && (1..=EVENT_VERSION).contains(&version)
}

/// Why a record of a newer release cannot be read.
const NEWER_KIND: &str = "a newer release wrote it: its kind is unknown";
pub(crate) const NEWER_VERSION: &str = "a newer release wrote it: its version is unknown";
const NEWER_FLAG: &str = "a newer release wrote it: one of its flags is unknown";
const NEWER_FORM: &str = "a newer release wrote it: a value has an unknown form";

impl Malformed {
    /// Whether the bytes appear to come from a newer release.
    pub fn is_newer(self) -> bool {
        [NEWER_KIND, NEWER_VERSION, NEWER_FLAG, NEWER_FORM].contains(&self.0)
    }
}

type Read<T> = Result<T, Malformed>;

/// The fields that every reader of an event needs; the rest is decoded on request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stored<'a> {
    pub(crate) time: Timestamp,
    pub(crate) kind: &'a str,
    pub(crate) key: Option<&'a str>,
    pub(crate) space: Option<&'a str>,
    has_lineage: bool,
    rest: &'a [u8],
}

/// Encodes an event without its id, which is its sequence in the log.
pub(crate) fn encode(event: &Event, key: Option<&IdempotencyKey>) -> Vec<u8> {
    let Event { kind, data, time, source, lineage, space, .. } = event;
    let has_lineage = *lineage != Lineage::default();
    let mut out = Vec::with_capacity(64 + kind.as_str().len() + source.len() + data.bytes());
    let flag = |it: bool, flag: u8| if it { flag } else { 0 };
    let flags = flag(key.is_some(), HAS_KEY) | flag(has_lineage, HAS_LINEAGE);
    out.push(flags | flag(space.is_some(), HAS_SPACE));
    put_time(&mut out, *time);
    put_text(&mut out, kind.as_str());
    if let Some(key) = key {
        put_text(&mut out, key.as_str());
    }
    if let Some(space) = space {
        put_text(&mut out, space);
    }
    put_text(&mut out, source);
    if has_lineage {
        put_number(&mut out, lineage.root.unwrap_or(0));
        out.push(lineage.depth);
        out.push(u8::from(lineage.cause.is_some()));
        if let Some(cause) = &lineage.cause {
            put_text(&mut out, cause);
        }
        put_number(&mut out, lineage.flows.len() as u64);
        for flow in &lineage.flows {
            put_text(&mut out, flow);
        }
    }
    put_number(&mut out, data.len() as u64);
    for (key, value) in data.iter() {
        put_pair(&mut out, key, value);
    }
    out
}

/// The version of what [`encode`] writes.
pub(crate) fn version_of(event: &Event) -> u8 {
    if event.space.is_some() { EVENT_VERSION } else { 1 }
}

/// What two drafts with the same idempotency key must have in common: type and data, in any order
/// of names.
pub(crate) fn canonical(kind: &EventType, data: &Data) -> Vec<u8> {
    let mut pairs: Vec<(&str, &Value)> = data.iter().collect();
    pairs.sort_unstable_by_key(|pair| pair.0);
    let mut out = Vec::with_capacity(32 + data.bytes());
    put_text(&mut out, kind.as_str());
    for (key, value) in pairs {
        put_pair(&mut out, key, value);
    }
    out
}

fn put_pair(out: &mut Vec<u8>, key: &str, value: &Value) {
    put_text(out, key);
    match value {
        Value::Text(text) => {
            out.push(TEXT);
            put_text(out, text);
        }
        Value::Number(number) => {
            if let Some(it) = number.whole() {
                let (tag, size) = if it < 0 { (NEGATIVE, -1 - it) } else { (WHOLE, it) };
                out.push(tag);
                put_number(out, u64::try_from(size).expect("a whole number is an i64 or a u64"));
            } else {
                out.push(FLOAT);
                out.extend_from_slice(&number.float().to_bits().to_le_bytes());
            }
        }
    }
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put_number(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Milliseconds since 1970; earlier times are not published.
pub(crate) fn put_time(out: &mut Vec<u8>, time: Timestamp) {
    put_number(out, u64::try_from(time.as_millis()).unwrap_or(0));
}

/// Seven bits a byte, the lowest first; the highest bit says that more follow.
pub(crate) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

impl<'a> Stored<'a> {
    /// Decodes the first fields of a record of the log.
    pub(crate) fn read(kind: u8, version: u8, payload: &'a [u8]) -> Read<Self> {
        if !can_read(kind, version) {
            return Err(Malformed(if kind == EVENT_KIND { NEWER_VERSION } else { NEWER_KIND }));
        }
        let mut input = Input(payload);
        let flags = input.byte()?;
        let known = HAS_KEY | HAS_LINEAGE | if version == 1 { 0 } else { HAS_SPACE };
        if flags & !known != 0 {
            return Err(Malformed(NEWER_FLAG));
        }
        let time = input.time()?;
        let kind = input.text(2 * crate::NAME_BYTES_MAX + 1)?;
        let key = if flags & HAS_KEY != 0 {
            Some(input.text(crate::event::IDEMPOTENCY_KEY_BYTES_MAX)?)
        } else {
            None
        };
        let space = if flags & HAS_SPACE != 0 { Some(input.text(SPACE_BYTES_MAX)?) } else { None };
        if space == Some("") {
            return Err(Malformed("empty space name"));
        }
        let has_lineage = flags & HAS_LINEAGE != 0;
        Ok(Self { time, kind, key, space, has_lineage, rest: input.0 })
    }

    /// The whole event.
    pub(crate) fn event(&self, id: u64) -> Read<Event> {
        let kind = self.kind.parse().map_err(|_| Malformed("invalid event type"))?;
        let mut input = Input(self.rest);
        let source = input.text(SOURCE_BYTES_MAX)?.to_owned();
        let lineage = if self.has_lineage { input.lineage()? } else { Lineage::default() };
        let data = input.data()?;
        if !input.0.is_empty() {
            return Err(Malformed("trailing bytes"));
        }
        let space = self.space.map(str::to_owned);
        Ok(Event { id, kind, data, time: self.time, source, lineage, space })
    }

    /// The idempotency key that it was published with.
    pub(crate) fn idempotency_key(&self) -> Read<Option<IdempotencyKey>> {
        self.key
            .map(|key| key.parse().map_err(|_| Malformed("invalid idempotency key")))
            .transpose()
    }
}

/// Reads values from a slice.
pub(crate) struct Input<'a>(pub(crate) &'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, count: usize) -> Read<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Malformed("it is truncated"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Read<u8> {
        Ok(self.take(1)?[0])
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Read<[u8; N]> {
        Ok(self.take(N)?.try_into().expect("as many bytes were taken"))
    }

    pub(crate) fn time(&mut self) -> Read<Timestamp> {
        let out_of_range = Malformed("time out of range");
        let ms = i64::try_from(self.number()?).map_err(|_| out_of_range)?;
        let time = Timestamp::from_millis(ms);
        if time.as_millis() == ms { Ok(time) } else { Err(out_of_range) }
    }

    pub(crate) fn number(&mut self) -> Read<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return Err(Malformed("a number is too large"));
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                // Each number has exactly one encoding.
                return if byte == 0 && shift > 0 {
                    Err(Malformed("a number has a non-minimal encoding"))
                } else {
                    Ok(number)
                };
            }
        }
        Err(Malformed("a number is too large"))
    }

    pub(crate) fn text(&mut self, len_max: usize) -> Read<&'a str> {
        let len = self.number()?;
        if len > len_max as u64 {
            return Err(Malformed("a text is too long"));
        }
        let bytes = self.take(len as usize)?;
        std::str::from_utf8(bytes).map_err(|_| Malformed("a text is not UTF-8"))
    }

    fn lineage(&mut self) -> Read<Lineage> {
        let root = Some(self.number()?).filter(|number| *number > 0);
        let depth = self.byte()?;
        let cause = match self.byte()? {
            0 => None,
            1 => Some(self.text(LINEAGE_NAME_BYTES_MAX)?.to_owned()),
            _ => return Err(Malformed("a flag is neither 0 nor 1")),
        };
        let count = self.number()?;
        if count > LINEAGE_FLOWS_MAX as u64 {
            return Err(Malformed("a lineage has too many flows"));
        }
        let flows = (0..count).map(|_| Ok(self.text(LINEAGE_NAME_BYTES_MAX)?.to_owned()));
        let flows = flows.collect::<Read<_>>()?;
        let lineage = Lineage { root, cause, depth, flows };
        if lineage == Lineage::default() {
            return Err(Malformed("empty lineage"));
        }
        Ok(lineage)
    }

    fn data(&mut self) -> Read<Data> {
        let count = self.number()?;
        if count > crate::KEYS_MAX as u64 {
            return Err(Malformed("too many keys"));
        }
        let mut data = Data::with_capacity(count as usize);
        for _ in 0..count {
            let key = self.text(crate::KEY_BYTES_MAX)?;
            let value = match self.byte()? {
                TEXT => Value::from(self.text(crate::VALUE_BYTES_MAX)?),
                WHOLE => Number::from(self.number()?).into(),
                NEGATIVE => {
                    let size = i64::try_from(self.number()?);
                    let size = size.map_err(|_| Malformed("a number is too small"))?;
                    Number::from(-1 - size).into()
                }
                FLOAT => Number::from_float(f64::from_bits(u64::from_le_bytes(self.array()?)))
                    .ok_or(Malformed("a number is not finite"))?
                    .into(),
                _ => return Err(Malformed(NEWER_FORM)),
            };
            data.insert(key, value).map_err(|_| Malformed("invalid data"))?;
        }
        Ok(data)
    }
}

/// Decodes a record of the log and encodes it again: returns the same bytes, or why they are not a
/// valid event. For fuzzing and for checking a log; complexity is linear in the bytes.
pub fn check_record(kind: u8, version: u8, payload: &[u8]) -> Result<Vec<u8>, Malformed> {
    let stored = Stored::read(kind, version, payload)?;
    let key = stored.idempotency_key()?;
    Ok(encode(&stored.event(1)?, key.as_ref()))
}

#[cfg(test)]
mod tests;
