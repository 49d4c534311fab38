//! The tags and the metadata of a memory, in one slice of 32-bit words.
//!
//! Tags come first, one word each. A facet of a metadata value takes three: the number of its key,
//! with the kind of facet in the highest four bits, and the 64 bits of the facet. A fact of a memory
//! without metadata is as large as without this, and a value takes 12 bytes, whether other memories
//! have it or not (24 if it is a time).

use crate::facet::{Facet, FacetKind};

/// The largest number of a name: the bits above it tell facets from tags.
pub(crate) const NUMBER_MAX: u32 = (1 << KIND_SHIFT) - 1;
const KIND_SHIFT: u32 = 28;
/// Set in the first word of a facet.
const FACET: u32 = 1 << 31;
/// Words of a facet.
const FACET_WORDS: usize = 3;

/// The tags and the metadata of a memory. Names and keys are the numbers of
/// [`Names`](super::view::Names).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Labels(Box<[u32]>);

impl Labels {
    pub(crate) fn new(
        tags: impl IntoIterator<Item = u32>,
        facets: impl IntoIterator<Item = (u32, Facet)>,
    ) -> Self {
        let mut words: Vec<u32> = tags.into_iter().collect();
        for (key, Facet { kind, bits }) in facets {
            let key = FACET | (kind as u32) << KIND_SHIFT | key;
            words.extend([key, bits as u32, (bits >> 32) as u32]);
        }
        Self(words.into())
    }

    pub(crate) fn tags(&self) -> &[u32] {
        let end = self.0.iter().position(|it| it & FACET != 0);
        &self.0[..end.unwrap_or(self.0.len())]
    }

    /// The facets and the numbers of their keys.
    pub(crate) fn facets(&self) -> impl ExactSizeIterator<Item = (u32, Facet)> {
        let words = &self.0[self.tags().len()..];
        words.chunks_exact(FACET_WORDS).map(|chunk| {
            let kind = FacetKind::of_code((chunk[0] & !FACET) >> KIND_SHIFT);
            let bits = u64::from(chunk[1]) | u64::from(chunk[2]) << 32;
            let kind = kind.expect("`new` stores only kinds");
            (chunk[0] & NUMBER_MAX, Facet { kind, bits })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::view::Fact;

    #[test]
    fn tags_and_facets_are_kept_apart_whatever_their_bits_are() {
        let facets = [
            (0, Facet { kind: FacetKind::Integer, bits: u64::MAX }),
            (NUMBER_MAX, Facet { kind: FacetKind::Time, bits: 0 }),
            (7, Facet { kind: FacetKind::Text, bits: 0x8000_0000_0000_0000 }),
        ];
        for tags in [&[][..], &[0, NUMBER_MAX]] {
            for count in 0..=facets.len() {
                let labels = Labels::new(tags.iter().copied(), facets[..count].iter().copied());
                assert_eq!(labels.tags(), tags);
                assert_eq!(labels.facets().collect::<Vec<_>>(), facets[..count]);
            }
        }
    }

    #[test]
    fn a_fact_without_metadata_takes_no_more_memory() {
        assert_eq!(size_of::<Labels>(), size_of::<Box<[u32]>>());
        assert_eq!(size_of::<Option<Fact>>(), 80);
    }
}
