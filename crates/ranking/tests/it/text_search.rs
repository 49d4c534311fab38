//! BM25 search: equal to its definition, pruned or not, whatever the index's history.

use proptest::prelude::*;
use waypost_ranking::{Bm25, Explanation, Hit, Query, TextIndex, TextPart, TextSearch};

use crate::model::{Space, essence, naive, top};

#[derive(Debug, Clone)]
enum Step {
    Put(u64, Vec<String>),
    Delete(u64),
    /// Plans maintenance; the next one installs it, so that changes happen in between.
    Plan,
    Maintain,
}

/// A term by rank; low ranks are common. None is a stop word, and stemming changes none.
fn term(rank: u32) -> String {
    format!("{}x{}q", char::from(b'a' + (rank % 26) as u8), "z".repeat((rank / 26) as usize))
}

fn terms(count: impl Into<proptest::collection::SizeRange>) -> impl Strategy<Value = Vec<String>> {
    // The square makes low ranks common.
    proptest::collection::vec((0u32..8).prop_map(|rank| term(rank * rank)), count)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        12 => (0u64..60, terms(0..12)).prop_map(|(id, terms)| Step::Put(id, terms)),
        4 => (0u64..60).prop_map(Step::Delete),
        4 => Just(Step::Plan),
        1 => Just(Step::Maintain),
    ];
    proptest::collection::vec(step, 1..120)
}

fn query() -> impl Strategy<Value = Query> {
    proptest::collection::vec(((0u32..8).prop_map(|rank| term(rank * rank)), 0.1f32..3.0), 0..8)
        .prop_map(Query::new)
}

fn apply(space: &mut Space, steps: &[Step], with_upkeep: bool) {
    let mut planned = None;
    for step in steps {
        match step {
            Step::Put(id, terms) => space.put(*id, terms),
            Step::Delete(id) => space.delete(*id),
            Step::Plan if with_upkeep => {
                if let Some(merge) = planned.take() {
                    space.index.install(merge);
                }
                planned = space.index.plan().map(waypost_ranking::Merge::run);
            }
            Step::Maintain if with_upkeep => space.index.maintain(),
            Step::Plan | Step::Maintain => {}
        }
    }
}

/// A space with `count` documents of about `length` terms whose frequencies fall with rank.
fn zipf(count: u64, length: u64, mut seed: u64) -> Space {
    let mut space = Space::default();
    let mut random = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    for id in 0..count {
        let length = 1 + random() % (2 * length);
        let terms: Vec<String> = (0..length)
            .map(|_| {
                let uniform = (random() % 1_000_000) as f64 / 1_000_000.0;
                term((400f64.powf(uniform) - 1.0) as u32)
            })
            .collect();
        // Ids descend while slots ascend, so that ties show which of them decides.
        space.put(1_000_000 - id, &terms);
    }
    space
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_score_is_bm25_and_pruning_changes_nothing(
        first in steps(), second in steps(), query in query(), k in 0usize..30, mask in any::<u64>(),
    ) {
        let mut spaces = [Space::sealing_at(3), Space::sealing_at(5)];
        apply(&mut spaces[0], &first, true);
        apply(&mut spaces[1], &second.iter().map(|step| match step {
            Step::Put(id, terms) => Step::Put(id + 100, terms.clone()),
            Step::Delete(id) => Step::Delete(id + 100),
            other => other.clone(),
        }).collect::<Vec<_>>(), true);
        let expected = naive(&spaces, &query, Bm25::default());

        let documents: u64 = spaces.iter().map(|space| space.documents.len() as u64).sum();
        prop_assert_eq!(spaces.iter().map(|space| space.index.stats().documents).sum::<u64>(), documents);
        let parts = spaces.each_ref().map(Space::part);
        let search = TextSearch::new(&parts, &query, Bm25::default());
        let all = search.top(1000);
        prop_assert_eq!(all.len(), expected.len());
        for hit in &all {
            let naive = expected[&hit.id];
            prop_assert!((f64::from(hit.score) - naive).abs() < 1e-4 * naive.max(1.0));
            prop_assert_eq!(search.score(hit.part, hit.slot).to_bits(), hit.score.to_bits());
        }
        for part in 0..2 {
            let slots: Vec<u32> = (0..80).filter(|slot| mask >> (slot % 64) & 1 == 1).collect();
            let each: Vec<f32> = slots.iter().map(|&slot| search.score(part, slot)).collect();
            let documents: Vec<(u32, u32)> = slots.iter().map(|slot| (part, *slot)).collect();
            prop_assert_eq!(search.scores(part, &slots), each.clone());
            prop_assert_eq!(search.scores_of(&documents), each);
        }
        prop_assert!(all.is_sorted_by(|a, b| Hit::by_rank(a, b).is_lt()));
        prop_assert_eq!(&search.top(k)[..], &all[..k.min(all.len())]);
        prop_assert_eq!(search.exhaustive(1000), all);

        let filter = |slot: u32| mask >> (slot % 64) & 1 == 1;
        let filtered = parts.map(|part| TextPart { filter: Some(&filter), ..part });
        let search = TextSearch::new(&filtered, &query, Bm25::default());
        let wanted: Vec<Hit> = search.exhaustive(1000).into_iter().take(k).collect();
        prop_assert!(wanted.iter().all(|hit| filter(hit.slot)));
        prop_assert_eq!(search.top(k), wanted);
        let only = |slot: u32| slot as usize == k;
        let filtered = parts.map(|part| TextPart { filter: Some(&only), ..part });
        for term in query.terms() {
            let one = Query::new([(term.term.clone(), term.weight)]);
            let search = TextSearch::new(&filtered, &one, Bm25::default());
            let is_found = !search.exhaustive(1).is_empty();
            prop_assert_eq!(search.known(), if is_found { 1.0 } else { 0.0 });
        }
    }

    #[test]
    fn upkeep_and_history_leave_no_trace(steps in steps(), query in query()) {
        let mut kept = Space::sealing_at(2);
        apply(&mut kept, &steps, true);
        let mut plain = Space::default();
        apply(&mut plain, &steps, false);
        let mut fresh = Space::default();
        for (id, counts) in kept.documents.clone().into_iter().rev() {
            let terms: Vec<String> = counts
                .into_iter()
                .flat_map(|(term, count)| std::iter::repeat_n(term, count as usize))
                .collect();
            fresh.put(id, &terms);
        }
        let expected = essence(&top(&[fresh.part()], &query, 20));
        prop_assert_eq!(&essence(&top(&[kept.part()], &query, 20)), &expected);
        prop_assert_eq!(&essence(&top(&[plain.part()], &query, 20)), &expected);
        prop_assert_eq!(kept.index.encode(), plain.index.encode());
        let decoded = TextIndex::decode(&kept.index.encode()).unwrap();
        let part = TextPart { index: &decoded, ..kept.part() };
        prop_assert_eq!(&essence(&top(&[part], &query, 20)), &expected);
        let (before, after) = (kept.index.stats(), decoded.stats());
        prop_assert_eq!(
            (before.documents, before.terms, before.length_total),
            (after.documents, after.terms, after.length_total)
        );
    }

    #[test]
    fn an_explanation_adds_up_to_the_score(steps in steps(), query in query()) {
        let mut space = Space::sealing_at(3);
        apply(&mut space, &steps, true);
        let parts = [space.part()];
        let search = TextSearch::new(&parts, &query, Bm25::default());
        for hit in search.top(5) {
            let explanation: Explanation = search.explain(hit.part, hit.slot);
            prop_assert_eq!(explanation.value.to_bits(), hit.score.to_bits());
            let sum: f32 = explanation.children.iter().map(|child| child.value).sum();
            prop_assert_eq!(sum.to_bits(), hit.score.to_bits());
            prop_assert_eq!(explanation.children.len(), search.matched_terms(hit.part, hit.slot).len());
        }
    }
}

#[test]
fn pruning_changes_nothing_over_many_segments() {
    let mut space = zipf(9_000, 12, 42);
    let check = |space: &Space| {
        for start in 0..40u32 {
            let ranks = [0, 1, start, start * 3 + 7, start * 9 + 30];
            let query =
                Query::new(ranks[(start % 3) as usize..].iter().map(|&rank| (term(rank), 1.0)));
            let parts = [space.part()];
            let search = TextSearch::new(&parts, &query, Bm25::default());
            let all = search.exhaustive(usize::MAX);
            for k in [1, 10, 100] {
                assert_eq!(search.top(k), all[..k.min(all.len())], "{start} {k}");
            }
            // Of few documents, all terms are read; of all, the postings of the query's terms.
            for count in [3, all.len()] {
                let hits = &all[..count.min(all.len())];
                let documents: Vec<(u32, u32)> =
                    hits.iter().map(|hit| (hit.part, hit.slot)).collect();
                let scores: Vec<f32> = hits.iter().map(|hit| hit.score).collect();
                assert_eq!(search.scores_of(&documents), scores, "{start} {count}");
            }
            let filter = |slot: u32| slot % 100 == 3;
            let filtered = [TextPart { filter: Some(&filter), ..space.part() }];
            let search = TextSearch::new(&filtered, &query, Bm25::default());
            assert_eq!(search.top(10), search.exhaustive(10), "{start} filtered");
        }
    };
    check(&space);
    space.index.maintain();
    check(&space);
    for id in 0..9_000 {
        if id % 10 != 0 {
            space.delete(1_000_000 - id);
        }
    }
    check(&space);
    let large = space.index.stats().bytes;
    space.index.maintain();
    check(&space);
    assert!(space.index.stats().bytes < large);
    assert_eq!(space.index.stats().documents, 900);
}

#[test]
fn changes_during_upkeep_win() {
    let mut space = zipf(5_000, 6, 7);
    while let Some(merge) = space.index.plan() {
        for id in 0..400 {
            let id = 1_000_000 - id * 12;
            match id % 3 {
                0 => space.delete(id),
                1 => space.put(id, &["newq".to_owned(), term(1)]),
                _ => {}
            }
        }
        let merged = merge.run();
        space.put(999_000_000, &["lateq".to_owned()]);
        assert!(space.index.install(merged));
        let query = Query::new([(term(0), 1.0), (term(1), 1.0), ("newq".to_owned(), 1.0)]);
        let expected = naive(std::slice::from_ref(&space), &query, Bm25::default());
        let parts = [space.part()];
        let hits = TextSearch::new(&parts, &query, Bm25::default()).top(usize::MAX);
        assert_eq!(hits.len(), expected.len());
        assert!(hits.iter().all(|hit| (f64::from(hit.score) - expected[&hit.id]).abs() < 1e-4));
    }
}

#[test]
fn equal_documents_come_by_id() {
    let mut space = Space::default();
    for id in (0..20_000).rev() {
        space.put(id, &[term(1), term(2)]);
    }
    space.index.maintain();
    let query = Query::new([(term(1), 1.0), (term(2), 1.0)]);
    let hits = top(&[space.part()], &query, 5);
    assert_eq!(hits.iter().map(|hit| hit.id).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
}

#[test]
fn a_query_of_five_hundred_terms_is_answered() {
    let space = zipf(3_000, 20, 3);
    let query = Query::new((0..500).map(|rank| (term(rank), 1.0 + rank as f32 / 100.0)));
    let parts = [space.part()];
    let search = TextSearch::new(&parts, &query, Bm25::default());
    assert_eq!(search.top(10), search.exhaustive(10));
}

#[test]
fn extreme_weights_and_parameters_do_no_harm() {
    let mut space = zipf(50, 5, 9);
    space.put(1, &[]);
    let parts = [space.part()];
    for weight in [f32::MIN_POSITIVE, 1e-30, 1e30, f32::MAX] {
        let query = Query::new((0..20).map(|rank| (term(rank), weight)));
        for bm25 in [
            Bm25 { k1: 0.0, b: 0.0 },
            Bm25 { k1: 1e30, b: 1.0 },
            Bm25 { k1: f32::NAN, b: f32::INFINITY },
        ] {
            let search = TextSearch::new(&parts, &query, bm25);
            assert_eq!(search.top(10), search.exhaustive(10));
        }
    }
    for weight in [0.0, -1.0, f32::NAN, f32::NEG_INFINITY] {
        assert!(Query::new([(term(0), weight)]).is_empty());
    }
}
