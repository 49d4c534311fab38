//! Encodes and decodes little-endian bytes.
//!
//! Decoding never trusts a length: any bytes decode to a value or to [`Malformed`].

use serde_json::Number;

use crate::{Lifespan, LinkKind, Metadata, Scalar, Timestamp, Vocabulary};

/// Why bytes cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

/// The flags of a lifespan's fields.
const VALID_FROM: u8 = 1;
const VALID_UNTIL: u8 = 2;
const EXPIRES_AT: u8 = 4;
const PINNED: u8 = 8;

/// The code of a kind of links.
pub(crate) fn link_code(kind: LinkKind) -> u8 {
    match kind {
        LinkKind::Updates => 1,
        LinkKind::Contradicts => 2,
        LinkKind::RelatedTo => 3,
        LinkKind::CausedBy => 4,
        LinkKind::PartOf => 5,
    }
}

/// The kind of links with a code.
pub(crate) fn link_kind(code: u8) -> Option<LinkKind> {
    LinkKind::ALL.iter().copied().find(|kind| link_code(*kind) == code)
}

/// Appends values to a buffer.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(crate) fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn i64(&mut self, value: i64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn time(&mut self, value: Timestamp) {
        self.i64(value.as_millis());
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.u32(u32::try_from(bytes.len()).expect("the limits keep every value below 4 GiB"));
        self.raw(bytes);
    }

    /// Bytes that may be more than 4 GiB.
    pub(crate) fn long_bytes(&mut self, bytes: &[u8]) {
        self.u64(bytes.len() as u64);
        self.raw(bytes);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub(crate) fn optional_text(&mut self, text: Option<&str>) {
        match text {
            None => self.u8(0),
            Some(text) => {
                self.u8(1);
                self.text(text);
            }
        }
    }

    pub(crate) fn texts(&mut self, texts: &[String]) {
        self.u32(u32::try_from(texts.len()).expect("the limits keep every list short"));
        for text in texts {
            self.text(text);
        }
    }

    pub(crate) fn metadata(&mut self, metadata: &Metadata) {
        self.u32(u32::try_from(metadata.len()).expect("the limits keep every list short"));
        for (key, value) in metadata {
            self.text(key);
            match value {
                Scalar::String(text) => {
                    self.u8(0);
                    self.text(text);
                }
                Scalar::Number(number) => {
                    if let Some(number) = number.as_i64() {
                        self.u8(1);
                        self.i64(number);
                    } else {
                        self.u8(2);
                        self.u64(number.as_f64().unwrap_or_default().to_bits());
                    }
                }
                Scalar::Bool(value) => {
                    self.u8(3);
                    self.u8(u8::from(*value));
                }
            }
        }
    }

    /// A lifespan that is not the default one.
    pub(crate) fn lifespan(&mut self, lifespan: Lifespan) {
        let Lifespan { valid_from, valid_until, expires_at, pinned } = lifespan;
        let flag = |time: Option<Timestamp>, flag| if time.is_some() { flag } else { 0 };
        self.u8(flag(valid_from, VALID_FROM)
            | flag(valid_until, VALID_UNTIL)
            | flag(expires_at, EXPIRES_AT)
            | if pinned { PINNED } else { 0 });
        for time in [valid_from, valid_until, expires_at].into_iter().flatten() {
            self.time(time);
        }
    }
}

/// Reads values from a slice.
#[derive(Debug, Clone)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
}

type Read<T> = Result<T, Malformed>;

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    pub(crate) fn take(&mut self, count: usize) -> Read<&'a [u8]> {
        if count > self.bytes.len() {
            return Err(Malformed("it is truncated"));
        }
        let (taken, rest) = self.bytes.split_at(count);
        self.bytes = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Read<[u8; N]> {
        let taken = self.take(N)?;
        Ok(taken.try_into().expect("take gives as many bytes as asked for"))
    }

    pub(crate) fn u8(&mut self) -> Read<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn u32(&mut self) -> Read<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Read<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(crate) fn i64(&mut self) -> Read<i64> {
        Ok(i64::from_le_bytes(self.array()?))
    }

    pub(crate) fn flag(&mut self) -> Read<bool> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed("a flag is neither 0 nor 1")),
        }
    }

    pub(crate) fn time(&mut self) -> Read<Timestamp> {
        let millis = self.i64()?;
        let time = Timestamp::from_millis(millis);
        if time.as_millis() == millis { Ok(time) } else { Err(Malformed("a time is out of range")) }
    }

    pub(crate) fn bytes(&mut self) -> Read<&'a [u8]> {
        let count = self.u32()? as usize;
        self.take(count)
    }

    pub(crate) fn long_bytes(&mut self) -> Read<&'a [u8]> {
        let count = usize::try_from(self.u64()?).map_err(|_| Malformed("a length is too long"))?;
        self.take(count)
    }

    pub(crate) fn text(&mut self) -> Read<String> {
        let bytes = self.bytes()?;
        std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| Malformed("a text is not UTF-8"))
    }

    pub(crate) fn optional_text(&mut self) -> Read<Option<String>> {
        if self.flag()? { self.text().map(Some) } else { Ok(None) }
    }

    pub(crate) fn texts(&mut self) -> Read<Vec<String>> {
        let count = self.u32()? as usize;
        // Every text takes at least four bytes, so a wrong length causes an error, not an
        // allocation.
        if count > self.bytes.len() / 4 {
            return Err(Malformed("a list is truncated"));
        }
        (0..count).map(|_| self.text()).collect()
    }

    pub(crate) fn metadata(&mut self) -> Read<Metadata> {
        let count = self.u32()? as usize;
        let mut metadata = Metadata::new();
        for _ in 0..count {
            let key = self.text()?;
            if metadata.last_key_value().is_some_and(|(last, _)| *last >= key) {
                return Err(Malformed("metadata keys are not in order"));
            }
            let value = match self.u8()? {
                0 => Scalar::String(self.text()?),
                1 => Scalar::from(self.i64()?),
                2 => Number::from_f64(f64::from_bits(self.u64()?))
                    .map(Scalar::Number)
                    .ok_or(Malformed("a number is not finite"))?,
                3 => Scalar::Bool(self.flag()?),
                _ => return Err(Malformed("a metadata value has an unknown form")),
            };
            metadata.insert(key, value);
        }
        Ok(metadata)
    }

    /// A lifespan that is not the default one.
    pub(crate) fn lifespan(&mut self) -> Read<Lifespan> {
        let flags = self.u8()?;
        if !(1..=VALID_FROM | VALID_UNTIL | EXPIRES_AT | PINNED).contains(&flags) {
            return Err(Malformed("the flags of a lifespan are unknown"));
        }
        let mut time = |flag: u8| (flags & flag != 0).then(|| self.time()).transpose();
        Ok(Lifespan {
            valid_from: time(VALID_FROM)?,
            valid_until: time(VALID_UNTIL)?,
            expires_at: time(EXPIRES_AT)?,
            pinned: flags & PINNED != 0,
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Everything up to the end.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.bytes)
    }

    pub(crate) fn end(&self) -> Read<()> {
        if self.is_empty() { Ok(()) } else { Err(Malformed("trailing bytes")) }
    }
}
