//! The records of request keys.
//!
//! | kind | name | payload, little-endian |
//! |---|---|---|
//! | 11 | key | key 16 bytes, request 16 bytes, at i64, outcome |
//! | 12 | forget keys | below u64: the keys of earlier records are forgotten |
//!
//! An outcome is a tag u8 and its values:
//!
//! | tag | outcome | values |
//! |---|---|---|
//! | 0 | none: the key is free again | |
//! | 1 | added | id u64 |
//! | 2 | existed | id u64, version u32 |
//! | 3 | changed | id u64, version u32 |
//! | 4 | deleted | |
//! | 5 | linked | flag: whether the link is new; at i64 |
//! | 6 | unlinked | flag: whether there was a link |
//! | 7 | imported | flag: whether it is new; id u64 in this store, or 0 |
//! | 8 | begun, outside of the store | |
//! | 9 | answered, outside of the store | the answer, to the end |

use crate::codec::{Malformed, Reader, Writer};
use crate::key::RequestKey;
use crate::record::read_id;
use crate::{MemoryId, Timestamp};

pub(crate) const KEY_KIND: u8 = 11;
pub(crate) const FORGET_KEYS_KIND: u8 = 12;

/// What the first command with a key did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Done {
    Added { id: MemoryId },
    Existed { id: MemoryId, version: u32 },
    Changed { id: MemoryId, version: u32 },
    Deleted,
    Linked { is_new: bool, at: Timestamp },
    Unlinked(bool),
    Imported { is_new: bool, here: Option<MemoryId> },
    Begun,
    Answered(Vec<u8>),
}

/// A key with its outcome; none makes the key free again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyRecord {
    pub(crate) key: RequestKey,
    pub(crate) at: Timestamp,
    pub(crate) done: Option<Done>,
}

impl KeyRecord {
    pub(crate) fn encode(&self, out: &mut Writer) {
        out.raw(&self.key.id);
        out.raw(&self.key.request);
        out.time(self.at);
        match &self.done {
            None => out.u8(0),
            Some(done) => done.encode(out),
        }
    }

    pub(crate) fn decode(input: &mut Reader<'_>) -> Result<Self, Malformed> {
        let key = RequestKey { id: input.array()?, request: input.array()? };
        Ok(Self { key, at: input.time()?, done: Done::decode(input)? })
    }
}

impl Done {
    pub(crate) fn encode(&self, out: &mut Writer) {
        match self {
            Self::Added { id } => {
                out.u8(1);
                out.u64(id.get());
            }
            Self::Existed { id, version } => {
                out.u8(2);
                out.u64(id.get());
                out.u32(*version);
            }
            Self::Changed { id, version } => {
                out.u8(3);
                out.u64(id.get());
                out.u32(*version);
            }
            Self::Deleted => out.u8(4),
            Self::Linked { is_new, at } => {
                out.u8(5);
                out.u8(u8::from(*is_new));
                out.time(*at);
            }
            Self::Unlinked(was_there) => {
                out.u8(6);
                out.u8(u8::from(*was_there));
            }
            Self::Imported { is_new, here } => {
                out.u8(7);
                out.u8(u8::from(*is_new));
                out.u64(here.map_or(0, MemoryId::get));
            }
            Self::Begun => out.u8(8),
            Self::Answered(answer) => {
                out.u8(9);
                out.raw(answer);
            }
        }
    }

    pub(crate) fn decode(input: &mut Reader<'_>) -> Result<Option<Self>, Malformed> {
        Ok(Some(match input.u8()? {
            0 => return Ok(None),
            1 => Self::Added { id: read_id(input)? },
            2 => Self::Existed { id: read_id(input)?, version: input.u32()? },
            3 => Self::Changed { id: read_id(input)?, version: input.u32()? },
            4 => Self::Deleted,
            5 => Self::Linked { is_new: input.flag()?, at: input.time()? },
            6 => Self::Unlinked(input.flag()?),
            7 => {
                let is_new = input.flag()?;
                let here = match input.u64()? {
                    0 => None,
                    id => Some(MemoryId::new(id).ok_or(Malformed("an id is out of range"))?),
                };
                Self::Imported { is_new, here }
            }
            8 => Self::Begun,
            9 => Self::Answered(input.rest().to_vec()),
            _ => return Err(Malformed("the outcome of a request is unknown")),
        }))
    }
}
