use super::dictionary::TermId;
use crate::codec::push;

/// The terms of one document, sorted by number, compactly: for each the delta to the previous
/// number, then its count doubled, plus one if the title contains it; both as LEB128.
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

    pub(super) fn iter(&self) -> Terms<'_> {
        Terms { rest: &self.0, last: 0 }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// A document's terms: number, count, whether the title contains it.
#[derive(Debug)]
pub(super) struct Terms<'a> {
    rest: &'a [u8],
    last: TermId,
}

impl Iterator for Terms<'_> {
    type Item = (TermId, u32, bool);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.last += pull_step(&mut self.rest)? as TermId;
        let count = pull(&mut self.rest)?;
        Some((self.last, (count >> 1) as u32, count & 1 == 1))
    }
}

/// A number that mostly takes one byte.
#[inline]
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

/// A number below 2^28, of one to four bytes: their number is unpredictable, so it is read without
/// branches.
#[inline]
fn pull_step(bytes: &mut &[u8]) -> Option<u64> {
    if let Some(word) = bytes.first_chunk().map(|chunk| u32::from_le_bytes(*chunk)) {
        let ends = !word & 0x8080_8080;
        if ends != 0 {
            // All bits up to and including the one that ends the number.
            let word = word & (ends ^ (ends - 1));
            let pairs = (word & 0x007f_007f) | (word & 0x7f00_7f00) >> 1;
            *bytes = &bytes[ends.trailing_zeros() as usize / 8 + 1..];
            return Some(u64::from((pairs & 0x3fff) | pairs >> 16 << 14));
        }
    }
    pull(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn terms_come_back(
            steps in prop::collection::vec((0u32..40).prop_flat_map(|bits| {
                (1..=(1u64 << bits.min(29)) as u32, any::<u32>(), any::<bool>())
            }), 0..7),
        ) {
            let mut last = 0;
            let postings: Vec<(TermId, u32, bool)> = steps
                .into_iter()
                .map(|(step, count, in_title)| {
                    last += step;
                    (last, count, in_title)
                })
                .collect();
            let read: Vec<_> = Forward::new(&postings).iter().collect();
            prop_assert_eq!(read, postings);
        }
    }
}
