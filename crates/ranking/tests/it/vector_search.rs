//! Vector search: equal to a full scan, on every kernel.

use std::collections::BTreeMap;

use proptest::prelude::*;
use waypost_ranking::{Error, Slots, VectorIndex, VectorPart, VectorSearch};

fn vector(dimensions: usize) -> impl Strategy<Value = Vec<f32>> {
    proptest::collection::vec(-1.0f32..1.0, dimensions)
        .prop_filter("has a direction", |it| it.iter().any(|component| component.abs() > 1e-3))
}

/// Ids descend while slots ascend, so that ties show which of them decides.
fn numbered(count: usize) -> Slots {
    let mut slots = Slots::default();
    for at in 0..count as u64 {
        slots.assign(10_000 - at);
    }
    slots
}

fn random(seed: &mut u64) -> f32 {
    // The sum of uniform numbers is close enough to a normal one.
    (0..4).fold(0.0, |sum, _| {
        *seed =
            seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        sum + (*seed >> 40) as f32 / (1 << 24) as f32 - 0.5
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn the_two_passes_find_what_the_full_scan_finds(
        (vectors, query) in (1usize..150).prop_flat_map(|dimensions| (
            proptest::collection::vec(vector(dimensions), 1..80), vector(dimensions),
        )),
        repeats in 1usize..3, removed in proptest::collection::vec(any::<prop::sample::Index>(), 0..30),
        k in 0usize..20, mask in any::<u64>(),
    ) {
        let mut index = VectorIndex::new(query.len()).unwrap();
        let slots = numbered(vectors.len() * repeats);
        for at in 0..vectors.len() * repeats {
            index.insert(at as u32, &vectors[at % vectors.len()]).unwrap();
        }
        for at in &removed {
            index.remove(at.index(vectors.len()) as u32);
        }
        let filter = |slot: u32| mask >> (slot % 64) & 1 == 1;
        let portable = index.clone().with_portable_kernel();
        let decoded = VectorIndex::decode(&index.encode()).unwrap();
        prop_assert_eq!(decoded.encode(), index.encode());
        let part = VectorPart { slots: &slots, index: &index, filter: None };
        let parts = [part];
        let search = VectorSearch::new(&parts, &query).unwrap();
        let found = search.top(k);
        let expected = search.exact(k);
        prop_assert_eq!(&found.hits, &expected.hits);
        prop_assert_eq!(found.low.to_bits(), expected.low.to_bits());
        let others = [&portable, &decoded].map(|it| {
            let parts = [VectorPart { index: it, ..part }];
            VectorSearch::new(&parts, &query).unwrap().top(k)
        });
        // Even the work is the same for the same rows.
        prop_assert_eq!(&others[0], &found);
        prop_assert_eq!((&others[1].hits, others[1].low), (&found.hits, found.low));
        let parts = [VectorPart { filter: Some(&filter), ..part }];
        let search = VectorSearch::new(&parts, &query).unwrap();
        prop_assert!(search.top(k).hits.iter().all(|hit| filter(hit.slot)));
        let (found, expected) = (search.top(k), search.exact(k));
        prop_assert_eq!(&found.hits, &expected.hits);
        prop_assert_eq!(found.low.to_bits(), expected.low.to_bits());
    }
}

#[test]
fn recall_against_full_precision_is_above_99_percent() {
    const DIMENSIONS: usize = 384;
    let mut seed = 5;
    let centres: Vec<Vec<f32>> =
        (0..20).map(|_| (0..DIMENSIONS).map(|_| random(&mut seed)).collect()).collect();
    let near = |seed: &mut u64, at: usize| -> Vec<f32> {
        centres[at % 20].iter().map(|component| component + random(seed)).collect()
    };
    let unit = |vector: &[f32]| -> Vec<f64> {
        let length = vector.iter().map(|vector| f64::from(*vector).powi(2)).sum::<f64>().sqrt();
        vector.iter().map(|vector| f64::from(*vector) / length).collect()
    };
    let mut index = VectorIndex::new(DIMENSIONS).unwrap();
    let slots = numbered(2_000);
    let mut units = Vec::new();
    for at in 0..2_000 {
        let vector = near(&mut seed, at);
        index.insert(at as u32, &vector).unwrap();
        units.push(unit(&vector));
    }
    let parts = [VectorPart { slots: &slots, index: &index, filter: None }];
    let (mut found, mut wanted) = (0, 0);
    for at in 0..50 {
        let query = near(&mut seed, at);
        let unit_query = unit(&query);
        let cosine =
            |slot: usize| -> f64 { units[slot].iter().zip(&unit_query).map(|(a, b)| a * b).sum() };
        let mut exact: Vec<usize> = (0..units.len()).collect();
        exact.sort_by(|&a, &b| cosine(b).total_cmp(&cosine(a)));
        let hits = VectorSearch::new(&parts, &query).unwrap().top(10).hits;
        assert!(
            hits.iter().all(|hit| (f64::from(hit.score) - cosine(hit.slot as usize)).abs() < 1e-3)
        );
        found += hits.iter().filter(|hit| exact[..10].contains(&(hit.slot as usize))).count();
        wanted += 10;
    }
    assert!(found * 100 >= wanted * 99, "{found} of {wanted}");
}

/// Filters of all kinds, over several chunks of rows, some of them removed and their slots reused.
#[test]
fn a_filtered_search_is_the_full_scan_of_what_passes() {
    const DIMENSIONS: usize = 48;
    let (mut seed, count) = (11, 3_000u32);
    let mut index = VectorIndex::new(DIMENSIONS).unwrap();
    let slots = numbered(count as usize);
    let near = |seed: &mut u64, at: u32| -> Vec<f32> {
        let topic = (at / 300) as usize;
        let lean = |place: usize| if place % 10 == topic { 1.0 } else { 0.0 };
        (0..DIMENSIONS).map(|place| random(seed) + lean(place)).collect()
    };
    for slot in 0..count {
        index.insert(slot, &near(&mut seed, slot)).unwrap();
    }
    for slot in (0..count).filter(|slot| slot % 7 < 3) {
        assert!(index.remove(slot));
    }
    for slot in (0..count).filter(|slot| slot % 7 == 1) {
        index.insert(slot, &near(&mut seed, slot)).unwrap();
    }
    let filters: [(&str, &(dyn Fn(u32) -> bool + Sync)); 6] = [
        ("all", &|_| true),
        ("none", &|_| false),
        ("one", &|slot| slot == 1_234),
        ("1 in 100", &|slot| slot % 100 == 5),
        ("every other", &|slot| slot % 2 == 0),
        ("a run", &|slot| (1_000..1_150).contains(&slot)),
    ];
    let portable = index.clone().with_portable_kernel();
    for (name, filter) in filters {
        let part = VectorPart { slots: &slots, index: &index, filter: Some(filter) };
        for at in 0..20 {
            let query = near(&mut seed, at * 150);
            for k in [0, 1, 10, 200] {
                let parts = [part];
                let search = VectorSearch::new(&parts, &query).unwrap();
                let (found, expected) = (search.top(k), search.exact(k));
                assert_eq!(found.hits, expected.hits, "{name}, {k}");
                assert_eq!(found.low.to_bits(), expected.low.to_bits(), "{name}, {k}");
                let parts = [VectorPart { index: &portable, ..part }];
                assert_eq!(VectorSearch::new(&parts, &query).unwrap().top(k), found, "{name}, {k}");
            }
        }
    }
}

/// Vectors whose codes are imprecise, and whose bounds are tight: nothing is missed.
#[test]
fn nothing_is_left_out_where_codes_are_poor() {
    const DIMENSIONS: usize = 40;
    let mut seed = 3;
    let mut index = VectorIndex::new(DIMENSIONS).unwrap();
    let mut vectors: Vec<Vec<f32>> = Vec::new();
    for at in 0..DIMENSIONS {
        // One component; one large and many small; all equal; the same with noise; opposites.
        let one = |value: f32, rest: f32| -> Vec<f32> {
            (0..DIMENSIONS).map(|number| if number == at { value } else { rest }).collect()
        };
        let noise: Vec<f32> = (0..DIMENSIONS).map(|_| 1.0 + 0.01 * random(&mut seed)).collect();
        let opposite = noise.iter().map(|noise| -noise).collect();
        vectors.extend([one(1.0, 0.0), one(1.0, 0.01), one(1e-7, 1.0), noise, opposite]);
    }
    for (slot, vector) in vectors.iter().enumerate() {
        index.insert(slot as u32, vector).unwrap();
    }
    let slots = numbered(vectors.len());
    let parts = [VectorPart { slots: &slots, index: &index, filter: None }];
    for query in &vectors {
        let search = VectorSearch::new(&parts, query).unwrap();
        for k in [1, 3, 50] {
            let (found, expected) = (search.top(k), search.exact(k));
            assert_eq!((found.hits, found.low), (expected.hits, expected.low));
        }
    }
}

#[test]
fn several_indexes_are_searched_as_one() {
    let mut slots = [Slots::default(), Slots::default()];
    let mut indexes = [VectorIndex::new(2).unwrap(), VectorIndex::new(2).unwrap()];
    let mut cosines = BTreeMap::new();
    for id in 0..40u64 {
        let (space, angle) = ((id % 2) as usize, id as f32 / 20.0);
        let slot = slots[space].assign(id);
        indexes[space].insert(slot, &[angle.cos(), angle.sin()]).unwrap();
        cosines.insert(id, angle.cos());
    }
    let parts =
        [0, 1].map(|at| VectorPart { slots: &slots[at], index: &indexes[at], filter: None });
    let hits = VectorSearch::new(&parts, &[3.0, 0.0]).unwrap().top(4).hits;
    assert_eq!(
        hits.iter().map(|hit| (hit.id, hit.part)).collect::<Vec<_>>(),
        [(0, 0), (1, 1), (2, 0), (3, 1)]
    );
    assert!(hits.iter().all(|hit| (hit.score - cosines[&hit.id]).abs() < 1e-3));
}

#[test]
fn unusable_vectors_are_refused_and_change_nothing() {
    let mut index = VectorIndex::new(3).unwrap();
    index.insert(0, &[1.0, 2.0, 3.0]).unwrap();
    let before = index.encode();
    for (vector, error) in [
        (vec![1.0, 2.0], Error::WrongDimensions { expected: 3, found: 2 }),
        (vec![], Error::WrongDimensions { expected: 3, found: 0 }),
        (vec![1.0, f32::NAN, 0.0], Error::NotFinite { position: 1 }),
        (vec![1.0, 0.0, f32::NEG_INFINITY], Error::NotFinite { position: 2 }),
        (vec![0.0, -0.0, 0.0], Error::NoDirection),
        (vec![1e-45, 0.0, 0.0], Error::NoDirection),
    ] {
        assert_eq!(index.insert(0, &vector), Err(error.clone()));
        let slots = numbered(1);
        let parts = [VectorPart { slots: &slots, index: &index, filter: None }];
        assert_eq!(VectorSearch::new(&parts, &vector).unwrap_err(), error);
    }
    assert_eq!(index.encode(), before);
    index.insert(0, &[f32::MAX, f32::MAX, f32::MIN]).unwrap();
    assert!((index.vector(0).unwrap()[2] + 0.577).abs() < 1e-3);
    assert!(VectorIndex::new(0).is_err() && VectorIndex::new(16_385).is_err());
}
