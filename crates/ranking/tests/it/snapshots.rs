//! Snapshots: they round-trip; anything else is an error, never a panic.

use proptest::prelude::*;
use waypost_ranking::{Analyzer, Error, ErrorKind, Slots, TextIndex, VectorIndex};

fn samples() -> [Vec<u8>; 3] {
    let analyzer = Analyzer::english();
    let (mut slots, mut text) = (Slots::default(), TextIndex::default());
    let mut vectors = VectorIndex::new(3).expect("3 dimensions are few enough");
    for id in 1..40u64 {
        let slot = slots.assign(id * 1000);
        text.insert(slot, &analyzer.document("Nets", &format!("number {id} of {}", id % 7)));
        vectors.insert(slot, &[1.0, id as f32, -2.0]).expect("it has a direction");
    }
    for id in [3, 9, 39] {
        let slot = slots.remove(id * 1000).expect("it was assigned");
        assert!(text.remove(slot) && vectors.remove(slot));
    }
    [slots.encode(), text.encode(), vectors.encode()]
}

/// Decodes as every kind; encodes accepted input again.
fn decode_all(bytes: &[u8]) -> [Result<Vec<u8>, Error>; 3] {
    [
        Slots::decode(bytes).map(|decoded| decoded.encode()),
        TextIndex::decode(bytes).map(|decoded| decoded.encode()),
        VectorIndex::decode(bytes).map(|decoded| decoded.encode()),
    ]
}

fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.len().saturating_sub(4);
    bytes.truncate(end);
    bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
    bytes
}

#[test]
fn each_kind_reads_its_own_and_refuses_the_others() {
    for (at, sample) in samples().iter().enumerate() {
        for (other, decoded) in decode_all(sample).into_iter().enumerate() {
            if at == other {
                assert_eq!(decoded.as_ref(), Ok(sample));
            } else {
                assert_eq!(decoded, Err(Error::NotASnapshot));
            }
        }
    }
}

#[test]
fn every_cut_and_every_flipped_bit_is_noticed() {
    for sample in samples() {
        for end in 0..sample.len() {
            assert!(decode_all(&sample[..end]).iter().all(Result::is_err), "cut at {end}");
        }
        for bit in 0..sample.len() * 8 {
            let mut flipped = sample.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            for result in decode_all(&flipped) {
                assert_eq!(result.unwrap_err().kind(), ErrorKind::UnusableSnapshot);
            }
        }
    }
}

#[test]
fn a_newer_version_is_named() {
    for sample in samples() {
        let mut newer = sample;
        newer[4] = 9;
        let newer = with_checksum(newer);
        let error = Error::SnapshotTooNew { version: 9, version_max: 1 };
        assert!(decode_all(&newer).contains(&Err(error)));
    }
}

#[test]
fn removed_slots_are_handed_out_again_after_reading() {
    let mut slots = Slots::decode(&samples()[0]).unwrap();
    assert_eq!(slots.len(), 36);
    let bound = slots.bound();
    assert_eq!([1, 2, 3].map(|id| slots.assign(id)), [2, 8, 38]);
    assert_eq!(slots.bound(), bound);
    assert_eq!((slots.slot(2), slots.id(8)), (Some(8), Some(2)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// The checksum is recomputed, so that the decoders themselves see the damage.
    #[test]
    fn damage_under_a_right_checksum_does_no_harm(
        sample in 0usize..3,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = samples()[sample].clone();
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()).max(12));
        }
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        for decoded in decode_all(&with_checksum(bytes)).into_iter().flatten() {
            let again = decode_all(&decoded);
            prop_assert!(again.contains(&Ok(decoded)));
        }
    }
}
