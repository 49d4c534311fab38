use crate::Document;

/// The number of hashes of a signature: the estimate has a standard error of at most 0.073.
pub(super) const HASHES: usize = 48;
/// The number of hashes in a band. See [`Signature::bands`].
const ROWS: usize = 3;
pub(super) const BANDS: usize = HASHES / ROWS;
/// The size of an encoded signature.
pub(super) const BYTES: usize = HASHES * 2;

/// 2^64 divided by the golden ratio, the step of SplitMix64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

const SEEDS: [u64; HASHES] = {
    let mut seeds = [0; HASHES];
    let mut at = 0;
    while at < HASHES {
        seeds[at] = mix(STEP.wrapping_mul(at as u64 + 1));
        at += 1;
    }
    seeds
};

/// A MinHash signature of a document's set of terms, after Andrei Broder: *On the resemblance and
/// containment of documents*, 1997.
///
/// The set is that of the distinct terms, not of word sequences: memories are mostly one sentence,
/// and one changed word changes three of the five 3-word sequences of a sentence of seven words. The
/// order of the words counts when the texts are [compared](crate::Analyzer::compare).
///
/// 16 bits of each minimum are kept, after Ping Li and Christian König: *b-Bit Minwise Hashing*,
/// 2010.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature([u16; HASHES]);

impl Signature {
    /// Changes when a text gets another signature: stored ones must be computed again.
    pub const VERSION: u32 = 1;

    /// The signature of a document; `None` if it has no terms.
    pub fn of(document: &Document) -> Option<Self> {
        if document.terms.is_empty() {
            return None;
        }
        let mut least = [u32::MAX; HASHES];
        for term in &document.terms {
            let hash = hash(term.term.as_bytes());
            for (least, seed) in least.iter_mut().zip(&SEEDS) {
                *least = (*least).min(((hash ^ seed).wrapping_mul(STEP) >> 32) as u32);
            }
        }
        // The high bits of the minimum of many hashes are zeros.
        Some(Self(least.map(|least| (least.wrapping_mul(STEP as u32) >> 16) as u16)))
    }

    /// An estimate of the Jaccard similarity of the two sets of terms: the share of their union
    /// that is in both.
    pub fn similarity(&self, other: &Self) -> f32 {
        let same = self.0.iter().zip(&other.0).filter(|(one, other)| one == other).count();
        same as f32 / HASHES as f32
    }

    /// The hashes of its bands. Two documents of similarity `s` have one in common with a probability
    /// of 1 − (1 − s³)¹⁶: 0.88 for 0.5, 0.98 for 0.6, 0.999 for 0.7, and 0.02 for 0.1. See Jure
    /// Leskovec, Anand Rajaraman and Jeffrey Ullman: *Mining of Massive Datasets*, chapter 3.
    pub(super) fn bands(&self) -> [u32; BANDS] {
        let mut bands = [0; BANDS];
        for (number, (band, rows)) in bands.iter_mut().zip(self.0.chunks_exact(ROWS)).enumerate() {
            let rows = rows.iter().fold(number as u64, |all, row| all << 16 | u64::from(*row));
            *band = (mix(rows) >> 32) as u32;
        }
        bands
    }

    pub(super) fn to_bytes(self) -> impl Iterator<Item = u8> {
        self.0.into_iter().flat_map(u16::to_le_bytes)
    }

    pub(super) fn from_bytes(bytes: [u8; BYTES]) -> Self {
        let mut hashes = [0; HASHES];
        for (hash, bytes) in hashes.iter_mut().zip(bytes.as_chunks::<2>().0) {
            *hash = u16::from_le_bytes(*bytes);
        }
        Self(hashes)
    }
}

/// FNV-1a, mixed: signatures are stored, so the hash must never change.
fn hash(bytes: &[u8]) -> u64 {
    let fnv = bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    mix(fnv)
}

/// The finaliser of SplitMix64.
const fn mix(mut hash: u64) -> u64 {
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}
