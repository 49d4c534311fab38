//! A binary encoding: numbers in LEB128, texts with a length prefix. A reader allocates at most a
//! small multiple of its input.

use waypost_time::Timestamp;

/// Why bytes could not be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

type Read<T> = Result<T, Malformed>;

/// Appends encoded values.
#[derive(Debug, Default)]
pub(crate) struct Writer(pub(crate) Vec<u8>);

impl Writer {
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// A signed number; small absolute values take few bytes.
    pub(crate) fn signed(&mut self, value: i64) {
        self.number((value.wrapping_shl(1) ^ (value >> 63)) as u64);
    }

    pub(crate) fn flag(&mut self, value: bool) {
        self.0.push(u8::from(value));
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.raw(bytes);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// A time, in whole seconds.
    pub(crate) fn time(&mut self, value: Timestamp) {
        self.signed(value.as_secs());
    }

    pub(crate) fn optional_time(&mut self, value: Option<Timestamp>) {
        self.flag(value.is_some());
        if let Some(value) = value {
            self.time(value);
        }
    }
}

/// Reads values from a slice.
#[derive(Debug, Clone)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn take(&mut self, count: usize) -> Read<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Malformed("it is truncated"))?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Read<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Malformed("it is truncated"))?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(crate) fn number(&mut self) -> Read<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed("a number has too many bytes"))
    }

    pub(crate) fn small(&mut self) -> Read<u32> {
        u32::try_from(self.number()?).map_err(|_| Malformed("a number is too large"))
    }

    pub(crate) fn signed(&mut self) -> Read<i64> {
        let value = self.number()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    pub(crate) fn flag(&mut self) -> Read<bool> {
        match self.array()? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(Malformed("a flag is neither 0 nor 1")),
        }
    }

    /// A count of things, each of at least one byte.
    pub(crate) fn count(&mut self) -> Read<usize> {
        let count = usize::try_from(self.number()?).unwrap_or(usize::MAX);
        if count <= self.0.len() { Ok(count) } else { Err(Malformed("a count is too large")) }
    }

    pub(crate) fn bytes(&mut self) -> Read<&'a [u8]> {
        let count = self.count()?;
        self.take(count)
    }

    pub(crate) fn text(&mut self) -> Read<&'a str> {
        str::from_utf8(self.bytes()?).map_err(|_| Malformed("a text is not UTF-8"))
    }

    pub(crate) fn time(&mut self) -> Read<Timestamp> {
        self.signed().map(Timestamp::from_secs)
    }

    pub(crate) fn optional_time(&mut self) -> Read<Option<Timestamp>> {
        if self.flag()? { self.time().map(Some) } else { Ok(None) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn end(&self) -> Read<()> {
        if self.is_empty() { Ok(()) } else { Err(Malformed("trailing bytes")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_back() {
        let times = [Some(Timestamp::MIN), Some(Timestamp::from_secs(1_780_000_000)), None];
        let mut out = Writer::default();
        for value in [0, 1, -1, 63, -64, i64::MAX, i64::MIN] {
            out.signed(value);
        }
        for time in times {
            out.optional_time(time);
        }
        out.text("wörd");
        let mut input = Reader::new(&out.0);
        for value in [0, 1, -1, 63, -64, i64::MAX, i64::MIN] {
            assert_eq!(input.signed(), Ok(value));
        }
        for time in times {
            assert_eq!(input.optional_time(), Ok(time));
        }
        assert_eq!(input.text(), Ok("wörd"));
        assert_eq!(input.end(), Ok(()));
    }

    #[test]
    fn a_length_that_lies_is_refused() {
        let mut out = Writer::default();
        out.number(1 << 40);
        assert!(Reader::new(&out.0).bytes().is_err());
        assert!(Reader::new(&[0x80; 12]).number().is_err());
    }
}
