//! Little-endian bytes. Decoding trusts no length: any bytes decode to a value or to [`Malformed`].

use waypost_time::Timestamp;

/// Bytes are not what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

/// Appends values to a buffer.
#[derive(Debug, Default)]
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub(crate) fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn time(&mut self, value: Timestamp) {
        self.0.extend_from_slice(&value.as_millis().to_le_bytes());
    }

    /// A length that is checked to be far below 4 Gi.
    pub(crate) fn len(&mut self, value: usize) {
        self.u32(u32::try_from(value).expect("the limits keep every length below 4 Gi"));
    }

    pub(crate) fn text(&mut self, value: &str) {
        self.len(value.len());
        self.0.extend_from_slice(value.as_bytes());
    }

    pub(crate) fn maybe_text(&mut self, value: Option<&str>) {
        self.u8(u8::from(value.is_some()));
        if let Some(value) = value {
            self.text(value);
        }
    }

    pub(crate) fn maybe_f32(&mut self, value: Option<f32>) {
        self.u8(u8::from(value.is_some()));
        if let Some(value) = value {
            self.u32(value.to_bits());
        }
    }
}

/// Takes values from bytes.
#[derive(Debug)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Fails if bytes are left.
    pub(crate) fn end(&self) -> Result<(), Malformed> {
        if self.0.is_empty() { Ok(()) } else { Err(Malformed) }
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, rest) = self.0.split_first_chunk::<N>().ok_or(Malformed)?;
        self.0 = rest;
        Ok(*head)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        self.take::<1>().map(|[it]| it)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        self.take().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Malformed> {
        self.take().map(u64::from_le_bytes)
    }

    pub(crate) fn flag(&mut self) -> Result<bool, Malformed> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed),
        }
    }

    pub(crate) fn time(&mut self) -> Result<Timestamp, Malformed> {
        let millis = self.take().map(i64::from_le_bytes)?;
        let time = Timestamp::from_millis(millis);
        if time.as_millis() == millis { Ok(time) } else { Err(Malformed) }
    }

    /// The number of elements of at least `bytes_min` bytes each, as far as the bytes can have them.
    pub(crate) fn count(&mut self, bytes_min: usize) -> Result<usize, Malformed> {
        let count = self.u32()? as usize;
        if count.checked_mul(bytes_min).is_some_and(|it| it <= self.0.len()) {
            Ok(count)
        } else {
            Err(Malformed)
        }
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, Malformed> {
        let len = self.u32()? as usize;
        let (head, rest) = self.0.split_at_checked(len).ok_or(Malformed)?;
        self.0 = rest;
        std::str::from_utf8(head).map_err(|_| Malformed)
    }

    pub(crate) fn maybe_text(&mut self) -> Result<Option<&'a str>, Malformed> {
        if self.flag()? { self.text().map(Some) } else { Ok(None) }
    }

    pub(crate) fn maybe_f32(&mut self) -> Result<Option<f32>, Malformed> {
        if self.flag()? { self.u32().map(|it| Some(f32::from_bits(it))) } else { Ok(None) }
    }
}
