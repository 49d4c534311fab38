//! What is found in eleven languages by words alone: no vectors, no language is told.
//!
//! `languages.tsv` has twelve memories in each language, and for each a query of two or three words,
//! most of them in another form (number, case, tense, with an article or another suffix). The
//! sentences were written for this test. `docs/quality.md` has the table.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use expect_test::expect;
use waypost_ranking::{Analyzer, Bm25, Slots, TextIndex, TextPart, TextSearch};

#[derive(Default)]
struct Found {
    questions: usize,
    first: usize,
    third: usize,
    nothing: usize,
}

#[test]
fn memories_are_found_in_eleven_languages() {
    let lines = include_str!("../data/languages.tsv").lines();
    let rows: Vec<[&str; 3]> = lines
        .map(|line| {
            let columns: Vec<&str> = line.split('\t').collect();
            columns.try_into().expect("a language, a query and a memory")
        })
        .collect();
    let analyzer = Analyzer::english();
    let (mut slots, mut index) = (Slots::default(), TextIndex::default());
    for (id, [_, _, memory]) in rows.iter().enumerate() {
        index.insert(slots.assign(id as u64), &analyzer.document("", memory));
    }
    let mut languages: BTreeMap<&str, Found> = BTreeMap::new();
    for (id, [language, query, _]) in rows.iter().enumerate() {
        let query = analyzer.query(query);
        let parts = [TextPart { slots: &slots, index: &index, filter: None }];
        let hits = TextSearch::new(&parts, &query, Bm25::default()).top(3);
        let place = hits.iter().position(|hit| hit.id == id as u64);
        let found = languages.entry(language).or_default();
        found.questions += 1;
        found.first += usize::from(place == Some(0));
        found.third += usize::from(place.is_some());
        found.nothing += usize::from(hits.is_empty());
    }
    let mut table = "language: first, in the first three, nothing found\n".to_owned();
    for (language, Found { questions, first, third, nothing }) in languages {
        writeln!(table, "{language}: {first}, {third}, {nothing} of {questions}")
            .expect("a String takes everything");
    }
    expect![[r"
        language: first, in the first three, nothing found
        Arabic: 11, 11, 1 of 12
        Chinese: 12, 12, 0 of 12
        French: 12, 12, 0 of 12
        German: 7, 7, 4 of 12
        Greek: 12, 12, 0 of 12
        Hebrew: 12, 12, 0 of 12
        Hindi: 12, 12, 0 of 12
        Japanese: 12, 12, 0 of 12
        Korean: 12, 12, 0 of 12
        Russian: 12, 12, 0 of 12
        Thai: 12, 12, 0 of 12
    "]]
    .assert_eq(&table);
}
