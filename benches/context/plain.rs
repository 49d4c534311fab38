//! Plain BM25 over the contents of the same files, for comparison.

use std::path::Path;

use anyhow::Result;
use waypost_context::{Discovery, Root, Rules, read, walk};
use waypost_ranking::{Analyzer, Bm25, Slots, TextIndex, TextPart, TextSearch};

use crate::Pair;
use crate::measure::{Measures, Table};

pub(crate) fn measure(root: &Path, name: &str, pairs: &[Pair], table: &mut Table) -> Result<()> {
    let (root, rules) = (Root::open(root)?, Rules::new(&Discovery::default())?);
    let analyzer = Analyzer::english();
    let (mut slots, mut index) = (Slots::default(), TextIndex::default());
    let mut paths = Vec::new();
    for found in walk(&root, &rules, &|| false)?.found {
        let Ok((bytes, _)) = read(&root, &found, rules.limits()) else { continue };
        let document = analyzer.document("", &String::from_utf8_lossy(&bytes));
        index.insert(slots.assign(paths.len() as u64), &document);
        paths.push(found.path);
    }
    let parts = [TextPart { slots: &slots, index: &index, filter: None }];
    for pair in pairs {
        let query = analyzer.query(&pair.query);
        let hits = TextSearch::new(&parts, &query, Bm25 { k1: 1.2, b: 0.75 }).top(30);
        let found: Vec<String> = hits.iter().map(|hit| paths[hit.id as usize].clone()).collect();
        table.add(
            "BM25 over contents",
            &["all", &pair.kind, name],
            Measures::of(&found, &pair.files),
        );
    }
    Ok(())
}
