use super::search::TextSearch;
use crate::{Explanation, Slot};

impl TextSearch<'_> {
    /// Explains the score of a document: its value is the score, to the bit. If the document
    /// contains none of the terms, the value is 0 and there are no children.
    pub fn explain(&self, part: u32, slot: Slot) -> Explanation {
        let (k1, b) = self.bm25.checked();
        let average = self.collection.length_average();
        let terms = self.matches(part, slot).into_iter().map(|matched| {
            let term = &self.query.terms()[matched.term];
            let with = self.frequencies[matched.term];
            let norm = k1 * (1.0 - b + b * f64::from(matched.length) / average.max(1.0));
            let count = f64::from(matched.count);
            let saturation = count * (k1 + 1.0) / (count + norm);
            Explanation::computed(
                self.scorer.score(matched.units),
                format!("{}: weight × idf × saturation, rounded to the score's unit", term.term),
                vec![
                    Explanation::leaf(term.weight, "weight in the query"),
                    Explanation::leaf(
                        self.collection.idf(with) as f32,
                        format!("idf: {with} of {} documents have it", self.collection.documents),
                    ),
                    Explanation::leaf(
                        saturation as f32,
                        format!(
                            "saturation: {} times in {} terms, {average:.2} on average, k1 {k1:.3}, b {b:.3}",
                            matched.count, matched.length
                        ),
                    ),
                ],
            )
        });
        Explanation::sum("BM25, sum over the terms", terms.collect())
    }

    /// The query terms that a document contains, in the query's order.
    pub fn matched_terms(&self, part: u32, slot: Slot) -> Vec<&str> {
        let terms = self.query.terms();
        self.matches(part, slot).iter().map(|matched| terms[matched.term].term.as_str()).collect()
    }
}
