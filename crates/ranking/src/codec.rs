//! Snapshots: a kind, a version, a body, a CRC-32C over all of it. All numbers are little-endian or
//! LEB128. A decoder allocates at most a small multiple of its input.

use crate::Error;

const HEADER_BYTES: usize = 4 + 2 + 2;
const CHECKSUM_BYTES: usize = 4;

/// The kind and version of a snapshot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Format {
    pub(crate) magic: [u8; 4],
    pub(crate) version: u16,
}

impl Format {
    pub(crate) fn encode(self, write_body: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut bytes = self.magic.to_vec();
        bytes.extend(self.version.to_le_bytes());
        bytes.extend([0, 0]);
        write_body(&mut bytes);
        bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
        bytes
    }

    /// The body, after checking everything around it.
    pub(crate) fn decode(self, bytes: &[u8]) -> Result<Reader<'_>, Error> {
        if !bytes.starts_with(&self.magic) {
            return Err(Error::NotASnapshot);
        }
        let end = bytes.len().checked_sub(CHECKSUM_BYTES).filter(|&end| end >= HEADER_BYTES);
        let (checked, checksum) = bytes.split_at(end.ok_or(damaged("it is cut short"))?);
        let version = u16::from_le_bytes([checked[4], checked[5]]);
        // The version is checked first: a newer format may have another checksum.
        if version > self.version {
            return Err(Error::SnapshotTooNew { version, version_max: self.version });
        }
        if crc32c::crc32c(checked).to_le_bytes() != checksum {
            return Err(damaged("its checksum is wrong"));
        }
        Ok(Reader(&checked[HEADER_BYTES..]))
    }
}

pub(crate) fn damaged(what: &'static str) -> Error {
    Error::SnapshotDamaged { what }
}

pub(crate) fn push(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// The rest of a body.
#[derive(Debug)]
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(damaged("it ends too early"))?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn number(&mut self) -> Result<u64, Error> {
        let mut value: u64 = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return Err(damaged("a number is too large"));
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(damaged("a number has too many bytes"))
    }

    pub(crate) fn number_u32(&mut self) -> Result<u32, Error> {
        u32::try_from(self.number()?).map_err(|_| damaged("a number is too large"))
    }

    /// A count of things, each of at least one byte.
    pub(crate) fn count(&mut self) -> Result<usize, Error> {
        usize::try_from(self.number()?)
            .ok()
            .filter(|&count| count <= self.0.len())
            .ok_or(damaged("a count is larger than what follows"))
    }

    pub(crate) fn end(&self) -> Result<(), Error> {
        if self.0.is_empty() { Ok(()) } else { Err(damaged("something follows its end")) }
    }
}
