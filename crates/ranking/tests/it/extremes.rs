//! Edge cases of text search: one term everywhere, sparse terms in many slots, equal documents,
//! huge queries and documents, and an index with most documents deleted.

use proptest::prelude::*;
use waypost_ranking::{
    Analyzer, Bm25, Document, Hit, Query, Slots, TextIndex, TextPart, TextSearch,
};

use crate::model::{document, essence, top};

/// Reproducible pseudo-random numbers (SplitMix64).
fn scatter(at: u64) -> u64 {
    let mut it = at.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    it = (it ^ (it >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    it = (it ^ (it >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    it ^ (it >> 31)
}

fn query(terms: &[&str]) -> Query {
    Query::new(terms.iter().map(|term| ((*term).to_owned(), 1.0)))
}

/// An index of `count` documents, each created by `of` from its number; the ids descend.
fn index<'a>(count: u64, of: impl Fn(u64) -> &'a Document) -> (Slots, TextIndex) {
    let (mut slots, mut index) = (Slots::default(), TextIndex::default());
    for at in 0..count {
        let slot = slots.assign(count - at);
        index.insert(slot, of(at));
        if at % 9_000 == 0 {
            index.maintain();
        }
    }
    (slots, index)
}

/// Documents whose terms range from everywhere to one in thousands, some repeated.
fn mixed() -> Vec<Document> {
    let mut documents = Vec::new();
    for at in 0..4096_u64 {
        let mut terms = vec!["everyq"; 1 + (scatter(at) % 3) as usize];
        for (term, one_in) in [("oftenq", 3), ("someq", 40), ("rareq", 700), ("leastq", 4000)] {
            if scatter(at * 31 + one_in).is_multiple_of(one_in) {
                terms.extend(vec![term; 1 + (scatter(at + one_in) % 5 / 4) as usize]);
            }
        }
        terms.extend(vec!["fillerq"; (scatter(at * 7) % 30) as usize]);
        documents.push(document(&terms));
    }
    documents
}

#[test]
fn pruning_changes_nothing_where_terms_are_sparse_and_dense() {
    let documents = mixed();
    let (slots, mut index) =
        index(150_000, |at| &documents[(scatter(at * 13) % documents.len() as u64) as usize]);
    let mut slots = slots;
    for id in (1..150_000).filter(|id| scatter(id * 3).is_multiple_of(11)) {
        let slot = slots.remove(id).unwrap();
        index.remove(slot);
    }
    let filter = |slot: u32| scatter(slot.into()).is_multiple_of(50);
    let all = TextPart { slots: &slots, index: &index, filter: None };
    for part in [all, TextPart { filter: Some(&filter), ..all }] {
        let parts = [part];
        for terms in [
            &["everyq", "oftenq", "someq", "rareq", "leastq"][..],
            &["someq", "rareq", "leastq"],
            &["oftenq", "leastq"],
            &["rareq", "leastq"],
            &["everyq"],
            &["rareq"],
            &["everyq", "rareq"],
        ] {
            let query = query(terms);
            let search = TextSearch::new(&parts, &query, Bm25::default());
            let wanted = search.exhaustive(200);
            assert!(!wanted.is_empty(), "{terms:?}");
            for k in [1, 10, 200] {
                let end = wanted.len().min(k);
                assert_eq!(search.top(k), wanted[..end], "{terms:?}, the best {k}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn pruning_changes_nothing_for_any_spread_of_terms(
        one_in in proptest::collection::vec(1u64..3000, 1..7),
        seed in any::<u32>(),
        weights in proptest::collection::vec(0.1f32..4.0, 7),
        k in 1usize..40,
    ) {
        let names = ["aq", "bq", "cq", "dq", "fq", "gq", "hq"];
        let documents: Vec<Document> = (0..2000_u64)
            .map(|at| {
                let mut terms = vec!["zq"; 1 + (scatter(at) % 20) as usize];
                for (name, one_in) in names.iter().zip(&one_in) {
                    let draw = scatter(at * 64 + one_in + u64::from(seed));
                    if draw.is_multiple_of(*one_in) {
                        terms.extend(vec![*name; 1 + (draw >> 60) as usize % 3]);
                    }
                }
                document(&terms)
            })
            .collect();
        let (slots, index) = index(20_000, |at| &documents[(scatter(at) % 2000) as usize]);
        let query = Query::new(
            names.iter().zip(&weights).map(|(name, weight)| ((*name).to_owned(), *weight)),
        );
        let parts = [TextPart { slots: &slots, index: &index, filter: None }];
        let search = TextSearch::new(&parts, &query, Bm25::default());
        prop_assert_eq!(search.top(k), search.exhaustive(k));
    }
}

#[test]
fn equal_documents_come_in_order_of_their_ids() {
    let equal = document(&["aq", "bq", "cq"]);
    let (slots, index) = index(100_000, |_| &equal);
    let parts = [TextPart { slots: &slots, index: &index, filter: None }];
    let query = query(&["aq", "cq"]);
    let hits = TextSearch::new(&parts, &query, Bm25::default()).top(100);
    let ids: Vec<u64> = hits.iter().map(|hit| hit.id).collect();
    assert_eq!(ids, (1..=100).collect::<Vec<u64>>());
    assert!(hits.iter().all(|hit| hit.score == hits[0].score && hit.score > 0.0));
}

#[test]
fn a_query_of_spaces_finds_nothing_and_one_of_500_terms_is_exact() {
    let analyzer = Analyzer::english();
    assert!(analyzer.query(&" ".repeat(1000)).is_empty());
    let name = |at: u64| {
        format!("t{}q", "xyzbcdfghk".chars().nth(at as usize % 10).unwrap())
            + &"m".repeat(at as usize / 10)
    };
    let documents: Vec<Document> = (0..1500)
        .map(|at| {
            let terms: Vec<String> =
                (0..20).map(|number| name(scatter(at * 20 + number) % 500)).collect();
            document(&terms.iter().map(String::as_str).collect::<Vec<_>>())
        })
        .collect();
    let (slots, index) = index(1500, |at| &documents[at as usize]);
    let query = Query::new((0..500).map(|at| (name(at), 1.0)));
    assert_eq!(query.terms().len(), 500);
    let parts = [TextPart { slots: &slots, index: &index, filter: None }];
    let search = TextSearch::new(&parts, &query, Bm25::default());
    assert_eq!(search.top(10), search.exhaustive(10));
    let nothing = analyzer.query(&" ".repeat(1000));
    assert!(TextSearch::new(&parts, &nothing, Bm25::default()).top(10).is_empty());
}

#[test]
fn a_document_of_a_mebibyte_is_found_by_its_rare_word() {
    let analyzer = Analyzer::english();
    let filler = "common words in a long text ".repeat(1 << 20 >> 5);
    let long = analyzer.document("", &format!("{filler} needle {filler}"));
    let short = document(&["common", "words"]);
    let (slots, index) = index(300, |at| if at == 7 { &long } else { &short });
    let hits =
        top(&[TextPart { slots: &slots, index: &index, filter: None }], &query(&["needl"]), 10);
    assert_eq!(hits.iter().map(|hit| hit.id).collect::<Vec<u64>>(), [293]);
}

#[test]
fn after_deleting_nine_of_ten_nothing_of_them_is_left() {
    let documents = mixed();
    let of = |id: u64| &documents[(scatter(id) % documents.len() as u64) as usize];
    let is_kept = |id: &u64| id.is_multiple_of(10);
    let (mut slots, mut index) = (Slots::default(), TextIndex::default());
    for id in 1..=40_000 {
        index.insert(slots.assign(id), of(id));
    }
    index.maintain();
    let before = index.stats().bytes;
    for id in (1..=40_000).filter(|id| !is_kept(id)) {
        let slot = slots.remove(id).unwrap();
        index.remove(slot);
    }
    index.maintain();
    let (mut fresh_slots, mut fresh) = (Slots::default(), TextIndex::default());
    for id in (1..=40_000).filter(is_kept) {
        fresh.insert(fresh_slots.assign(id), of(id));
    }
    fresh.maintain();
    let part = TextPart { slots: &slots, index: &index, filter: None };
    let fresh_part = TextPart { slots: &fresh_slots, index: &fresh, filter: None };
    for terms in [&["everyq", "rareq"][..], &["someq", "leastq"], &["oftenq"]] {
        let found: Vec<Hit> = top(&[part], &query(terms), 50);
        assert_eq!(essence(&found), essence(&top(&[fresh_part], &query(terms), 50)));
    }
    // Data by slot stays, because slots are reused.
    let by_slot = 40_000 * 24;
    let (before, after) = (before - by_slot, index.stats().bytes - by_slot);
    assert!(after < before / 5, "{after} of {before} bytes");
}
