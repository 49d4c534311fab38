//! Lexical and semantic ranking of texts, with `waypost-ranking` only.

use std::io::Write;

use anyhow::{Result, ensure};
use waypost_ranking::{
    Analyzer, Bm25, Range, Signal, Slots, TextIndex, TextPart, TextSearch, VectorIndex, VectorPart,
    VectorSearch, fuse,
};

fn main() -> Result<()> {
    // The caller provides ids, titles, contents and vectors; these vectors stand for a model's.
    let documents = [
        (7, "Parser", "parseHttpURL splits an address into its parts", [1.0, 0.1, 0.0]),
        (9, "Cats", "the cat sleeps on the keyboard", [0.0, 1.0, 0.2]),
    ];
    let analyzer = Analyzer::english();
    let mut slots = Slots::default();
    let mut words = TextIndex::default();
    let mut vectors = VectorIndex::new(3)?;
    for (id, title, content, vector) in documents {
        let slot = slots.assign(id);
        words.insert(slot, &analyzer.document(title, content));
        vectors.insert(slot, &vector)?;
    }

    let query = analyzer.query("parse a URL");
    let parts = [TextPart { slots: &slots, index: &words, filter: None }];
    let by_words = TextSearch::new(&parts, &query, Bm25::default()).top(10);
    let parts = [VectorPart { slots: &slots, index: &vectors, filter: None }];
    let by_meaning = VectorSearch::new(&parts, &[0.9, 0.2, 0.0])?.top(10);
    let ranked = fuse(&[
        Signal::new("words", 0.5, Range::from_zero(&by_words), &by_words),
        Signal::new("meaning", 0.5, Range::min_max(&by_meaning.hits), &by_meaning.hits),
    ]);

    for hit in &ranked {
        writeln!(std::io::stdout(), "{:.3}  document {}", hit.score, hit.id)?;
    }
    ensure!(ranked.first().is_some_and(|it| it.id == 7), "the parser ranks first");
    Ok(())
}

#[test]
fn what_it_shows_holds() -> Result<()> {
    main()
}
