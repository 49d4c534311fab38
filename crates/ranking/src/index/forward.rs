use super::TermId;
use crate::codec::push;

/// The terms of one document, sorted by number, in few bytes: for each the distance to the number
/// before, then its count doubled, plus one if the title has it; both as LEB128.
#[derive(Debug, Clone)]
pub(super) struct Forward(Box<[u8]>);

impl Forward {
    pub(super) fn new(postings: &[(TermId, u32, bool)]) -> Self {
        let mut bytes = Vec::with_capacity(postings.len() * 3);
        let mut last = 0;
        for &(term, count, in_title) in postings {
            push(&mut bytes, u64::from(term - last));
            push(&mut bytes, u64::from(count) << 1 | u64::from(in_title));
            last = term;
        }
        Self(bytes.into())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (TermId, u32, bool)> + '_ {
        let mut rest = &*self.0;
        let mut last = 0;
        std::iter::from_fn(move || {
            last += pull(&mut rest)? as TermId;
            let count = pull(&mut rest)?;
            Some((last, (count >> 1) as u32, count & 1 == 1))
        })
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

fn pull(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    Some(value)
}
