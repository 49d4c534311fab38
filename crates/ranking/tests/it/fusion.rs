//! Fusion, feedback and explanations.

use proptest::prelude::*;
use waypost_ranking::{
    Analyzer, Bm25, Feedback, Hit, Neighbours, Query, Range, Signal, Slots, TextIndex, TextPart,
    TextSearch, VectorFeedback, VectorIndex, VectorPart, VectorSearch, explain_fused, fuse,
    reciprocal_rank_fusion,
};

fn hits(scores: &[(u64, f32)]) -> Vec<Hit> {
    let mut hits: Vec<Hit> =
        scores.iter().map(|&(id, score)| Hit { id, part: 0, slot: id as u32, score }).collect();
    hits.sort_unstable_by(Hit::by_rank);
    hits
}

proptest! {
    #[test]
    fn fused_scores_are_explained_to_the_bit(
        text in proptest::collection::btree_map(0u64..30, 0.0f32..20.0, 0..20),
        vector in proptest::collection::btree_map(0u64..30, -1.0f32..1.0, 0..20),
        weight in 0.0f32..1.0,
    ) {
        let text = hits(&text.into_iter().collect::<Vec<_>>());
        let vector = hits(&vector.into_iter().collect::<Vec<_>>());
        let signals = [
            Signal::new("text", weight, Range::from_zero(&text), &text),
            Signal::new("vector", 1.0 - weight, Range::distribution(&vector), &vector),
        ];
        let fused = fuse(&signals);
        prop_assert!(fused.is_sorted_by(|a, b| Hit::by_rank(a, b).is_lt()));
        for hit in &fused {
            prop_assert!((0.0..=1.000_001).contains(&hit.score));
            let explanation = explain_fused(&signals, hit.id);
            prop_assert_eq!(explanation.value.to_bits(), hit.score.to_bits());
            for child in &explanation.children {
                let product: f32 = child.children.iter().map(|it| it.value).product();
                prop_assert_eq!(child.value.to_bits(), product.to_bits());
            }
        }
    }
}

#[test]
fn scores_count_by_how_far_apart_they_are_and_ranks_do_not() {
    let text = hits(&[(1, 10.0), (2, 9.9), (3, 0.1)]);
    let vector = hits(&[(2, 0.9), (3, 0.89), (1, 0.1)]);
    let signals = [
        Signal::new("text", 0.5, Range::min_max(&text), &text),
        Signal::new("vector", 0.5, Range::min_max(&vector), &vector),
    ];
    let ids = |hits: &[Hit]| hits.iter().map(|hit| hit.id).collect::<Vec<_>>();
    assert_eq!(ids(&fuse(&signals)), [2, 1, 3]);
    // By rank, 1 (1st and 3rd) is a little better than 3 (3rd and 2nd).
    let ranked = reciprocal_rank_fusion(&[(1.0, &text), (1.0, &vector)]);
    assert_eq!(ids(&ranked), [2, 1, 3]);
    assert!((ranked[0].score - (1.0 / 62.0 + 1.0 / 61.0)).abs() < 1e-6);
}

#[test]
fn ranges_without_extent_or_hits_do_no_harm() {
    let one = hits(&[(1, 3.0)]);
    for range in [Range::min_max(&one), Range::distribution(&one), Range::from_zero(&one)] {
        assert_eq!(range.apply(3.0), 1.0);
    }
    for range in [Range::min_max(&[]), Range::from_zero(&[]), Range::distribution(&[])] {
        assert!((0.0..=1.0).contains(&range.apply(0.5)));
    }
    assert!(fuse(&[]).is_empty());
}

#[test]
fn feedback_adds_what_the_first_results_have_in_common() {
    let analyzer = Analyzer::english();
    let (mut slots, mut index) = (Slots::default(), TextIndex::default());
    let texts = [
        "sourdough needs a starter",
        "sourdough starter wants flour",
        "a starter lives on flour",
        "the train was late",
        "coffee and cake",
        "flour dust everywhere",
    ];
    for (id, text) in texts.iter().enumerate() {
        index.insert(slots.assign(id as u64), &analyzer.document("", text));
    }
    let parts = [TextPart { slots: &slots, index: &index, filter: None }];
    let query = analyzer.query("sourdough");
    let search = TextSearch::new(&parts, &query, Bm25::default());
    let first = search.top(5);
    let wider = Feedback::default().with_terms(6).expand(&search, &search, &first);
    assert_eq!(wider, Feedback::default().with_terms(6).expand(&search, &search, &first));
    assert!(wider.terms()[0].weight > 1.0 && wider.terms()[0].term == "sourdough");
    assert!(wider.terms()[1..].iter().all(|term| term.weight > 0.0 && term.weight <= 0.2));
    let found: Vec<u64> =
        TextSearch::new(&parts, &wider, Bm25::default()).top(3).iter().map(|hit| hit.id).collect();
    assert_eq!(found.len(), 3);
    assert!(found.contains(&2), "{found:?} {wider:?}");
    let none = analyzer.query("zebra");
    let search = TextSearch::new(&parts, &none, Bm25::default());
    assert_eq!(Feedback::default().expand(&search, &search, &search.top(5)), none);
}

#[test]
fn feedback_weighs_at_most_as_much_as_the_query() {
    let analyzer = Analyzer::english();
    let (mut slots, mut index) = (Slots::default(), TextIndex::default());
    for id in 0..200 {
        // All but ten have the word, and each has words that few others have.
        let topic = if id % 20 == 0 { "room" } else { "waypost" };
        let text = format!("{topic} lantern{} harbour{} anchor{}", id % 7, id % 11, id % 13);
        index.insert(slots.assign(id), &analyzer.document("", &text));
    }
    let parts = [TextPart { slots: &slots, index: &index, filter: None }];
    let idf = |term: &str| {
        let query = Query::new([(term.to_owned(), 1.0)]);
        let with = TextSearch::new(&parts, &query, Bm25::default()).exhaustive(200).len() as f64;
        (1.0 + (200.0 - with + 0.5) / (with + 0.5)).ln()
    };
    for (text, is_bounded) in [("waypost", true), ("lantern1 harbour2 anchor3", false)] {
        let query = analyzer.query(text);
        let own = TextSearch::new(&parts, &query, Bm25::default());
        let once = Feedback::default().expand(&own, &own, &own.top(5));
        let first = TextSearch::new(&parts, &once, Bm25::default());
        let twice = Feedback::default().expand(&own, &first, &first.top(5));
        let is_own = |text: &str| query.terms().iter().any(|own| own.term == text);
        let weigh = |query: &Query, is_asked: bool| -> f64 {
            let terms = query.terms().iter().filter(|term| is_own(&term.term) == is_asked);
            terms.map(|term| f64::from(term.weight) * idf(&term.term)).sum()
        };
        let asked = weigh(&query, true);
        let [once, twice] = [&once, &twice].map(|it| weigh(it, false));
        assert!(once > 0.0 && twice > once);
        assert!(
            once <= asked * 1.000_1 && twice <= 2.0 * asked * 1.000_1,
            "{once} {twice} {asked}"
        );
        assert_eq!(once > asked * 0.999, is_bounded, "{text}: {once}, asked {asked}");
    }
}

#[test]
fn vector_feedback_moves_towards_the_first_results() {
    let mut slots = Slots::default();
    let mut index = VectorIndex::new(2).unwrap();
    index.insert(slots.assign(1), &[0.6, 0.8]).unwrap();
    let parts = [VectorPart { slots: &slots, index: &index, filter: None }];
    let search = VectorSearch::new(&parts, &[1.0, 0.0]).unwrap();
    let moved = VectorFeedback::default()
        .with_documents(1)
        .with_weight(0.5)
        .expand(&search, &search.top(1).hits);
    assert!((moved[0] - 1.3).abs() < 1e-3 && (moved[1] - 0.4).abs() < 1e-3);
}

#[test]
fn neighbours_lend_by_distance_and_not_beyond_the_ends() {
    let lent = Neighbours { shares: vec![0.5, 0.25] }.lent(&[1.0, 0.0, 0.0, 0.0, 4.0]);
    assert_eq!(lent, [0.0, 0.5, 1.25, 2.0, 0.0]);
    assert!(Neighbours::default().lent(&[]).is_empty());
}
