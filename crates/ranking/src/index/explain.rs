use super::search::TextSearch;
use crate::{Explanation, Slot};

impl TextSearch<'_> {
    /// Explains the score of a document: its value is the score, to the bit. Without any of the
    /// terms the value is 0 and there are no children.
    pub fn explain(&self, part: u32, slot: Slot) -> Explanation {
        let average = self.collection.length_average();
        let terms = self.matches(part, slot).into_iter().map(|matched| {
            let term = &self.query.terms()[matched.term];
            let with = self.frequencies[matched.term];
            let norm = f64::from(self.bm25.k1)
                * (1.0 - f64::from(self.bm25.b)
                    + f64::from(self.bm25.b) * f64::from(matched.length) / average.max(1.0));
            let saturation = f64::from(matched.count) * (f64::from(self.bm25.k1) + 1.0)
                / (f64::from(matched.count) + norm);
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
                            "saturation: {} times in {} terms, {average:.2} on average, k1 {}, b {}",
                            matched.count, matched.length, self.bm25.k1, self.bm25.b
                        ),
                    ),
                ],
            )
        });
        Explanation::sum("BM25, sum over the terms", terms.collect())
    }

    /// The query's terms that a document has, in the query's order.
    pub fn matched_terms(&self, part: u32, slot: Slot) -> Vec<&str> {
        let terms = self.query.terms();
        self.matches(part, slot).iter().map(|matched| terms[matched.term].term.as_str()).collect()
    }
}
