use super::search::TextSearch;
use crate::Slot;

/// How a document's title matches the query, beside the titles of others; see
/// [`TextSearch::titles`].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Titled {
    /// Whether the title contains a term of the query.
    pub has_term: bool,
    /// The inverse document frequencies of the query's labels that the title contains, relative to
    /// the document with the most, 0 to 1.
    pub labels: f32,
}

impl TextSearch<'_> {
    /// How the titles of some documents match the query, in the order of the documents.
    ///
    /// A term of the query is a *label* if at least half of the documents that contain it have it in
    /// the title: a speaker, a date, a project, not a subject that titles and contents share.
    pub fn titles(&self, documents: impl IntoIterator<Item = (u32, Slot)>) -> Vec<Titled> {
        let labels: Vec<f64> = (0..self.frequencies.len())
            .map(|number| if self.is_label(number) { self.weight(number) } else { 0.0 })
            .collect();
        let mut terms = Vec::new();
        let titled = documents.into_iter().map(|(part, slot)| {
            terms.clear();
            terms.extend(self.title_terms(part, slot));
            // Sums in the order of the query, whatever the numbers of the terms are.
            terms.sort_unstable();
            let sum: f64 = terms.iter().map(|term| labels[*term]).sum();
            Titled { has_term: !terms.is_empty(), labels: sum as f32 }
        });
        let mut titled: Vec<Titled> = titled.collect();
        let most = titled.iter().map(|titled| titled.labels).fold(0.0, f32::max);
        if most > 0.0 {
            for it in &mut titled {
                it.labels /= most;
            }
        }
        titled
    }

    fn is_label(&self, term: usize) -> bool {
        let ids = self.parts.iter().zip(&self.ids).filter_map(|(part, ids)| {
            let id = ids[term]?;
            Some(part.index.dictionary.titles(id))
        });
        let titles: u64 = ids.sum();
        titles > 0 && 2 * titles >= self.frequencies[term]
    }

    /// The query terms in a document's title.
    fn title_terms(&self, part: u32, slot: Slot) -> impl Iterator<Item = usize> {
        let index = self.parts.get(part as usize).map(|part| part.index);
        // Most have no title, and need no lookup.
        let index =
            index.filter(|index| index.titled.get(slot as usize).is_some_and(|titled| *titled));
        let terms = index
            .and_then(|index| index.forward(slot))
            .into_iter()
            .flat_map(|forward| forward.iter());
        let titles = terms.filter(|&(_, _, in_title)| in_title);
        titles.filter_map(move |(id, _, _)| self.place_of(part, id))
    }
}
