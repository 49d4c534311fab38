//! The scores of given documents.

use std::hint::black_box;

use super::cursor::Cursor;
use super::inverted::TextIndex;
use super::sealed::Home;
use super::search::TextSearch;
use super::segment::Postings;
use crate::Slot;

/// In an index with more slots, sums of all documents would take long to clear.
const SUMMED_SLOTS_MAX: usize = 16 * 1024;

/// The time to read all terms of a document, in postings that are read in that time.
const POSTINGS_PER_DOCUMENT: u64 = 64;

impl TextSearch<'_> {
    /// The score of one document, as a search returns it; 0 if it contains none of the terms.
    pub fn score(&self, part: u32, slot: Slot) -> f32 {
        let index = self.parts.get(part as usize).map(|part| part.index);
        index.map_or(0.0, |index| self.score_in(index, part, slot))
    }

    fn score_in(&self, index: &TextIndex, part: u32, slot: Slot) -> f32 {
        let Some(forward) = index.forward(slot) else { return 0.0 };
        let length = index.lengths[slot as usize];
        let units = forward.iter().filter_map(|(id, count, _)| {
            let term = self.place_of(part, id)?;
            Some(self.scorer.units(term, count, length))
        });
        self.scorer.score(units.sum())
    }

    /// The scores of some documents, in their order: the same as [`score`](Self::score) returns for
    /// each, in less time.
    pub fn scores_of(&self, documents: &[(u32, Slot)]) -> Vec<f32> {
        let mut scores = vec![0.0; documents.len()];
        for (at, part) in self.parts.iter().enumerate() {
            let of_part =
                documents.iter().zip(&mut scores).filter(|((part, _), _)| *part == at as u32);
            let of_part: Vec<(Slot, &mut f32)> =
                of_part.map(|((_, slot), score)| (*slot, score)).collect();
            if self.has_fewer_postings(at, of_part.len()) {
                let sums = self.sums(at);
                for (slot, score) in of_part {
                    *score = self.scorer.score(sums.get(slot as usize).copied().unwrap_or(0));
                }
            } else {
                // Reads the beginnings and ends of all lists first: the processor waits for memory
                // once for many of them, and not once for each.
                let ends = of_part.iter().filter_map(|(slot, _)| {
                    let bytes = part.index.forward(*slot)?.as_bytes();
                    Some(bytes.first()? ^ bytes.last()?)
                });
                black_box(ends.fold(0, |all, it| all ^ it));
                for (slot, score) in of_part {
                    *score = self.score_in(part.index, at as u32, slot);
                }
            }
        }
        scores
    }

    /// Whether the postings of the query's terms take less time to read than all terms of so many
    /// documents.
    fn has_fewer_postings(&self, part: usize, documents: usize) -> bool {
        let index = self.parts[part].index;
        let terms = self.ids[part].iter().flatten();
        let postings: u64 = terms.map(|id| index.dictionary.frequency(*id)).sum();
        index.lengths.len() <= SUMMED_SLOTS_MAX
            && postings <= POSTINGS_PER_DOCUMENT * documents as u64
    }

    /// The units of all documents of a part, by slot.
    fn sums(&self, part: usize) -> Vec<u32> {
        let index = self.parts[part].index;
        let mut sums = vec![0; index.lengths.len()];
        let mut add = |home: Home, lists: &[(usize, Postings<'_>)]| {
            for (term, postings) in lists {
                postings.for_each(|slot, count| {
                    let slot = slot as usize;
                    if index.homes[slot] == home {
                        sums[slot] += self.scorer.units(*term, count, index.lengths[slot]);
                    }
                });
            }
        };
        for sealed in &index.sealed {
            add(sealed.home, &self.lists(part, |term| sealed.postings.list(term)));
        }
        add(index.tail_home, &self.lists(part, |term| index.tail.list(term).map(Postings::Open)));
        sums
    }

    /// The scores of many documents, given in slot order: the same as [`score`](Self::score)
    /// returns for each. It reads only the postings of the query's terms, not all terms of the
    /// documents.
    pub fn scores(&self, part: u32, slots: &[Slot]) -> Vec<f32> {
        let mut units = vec![0; slots.len()];
        if let Some(index) = self.parts.get(part as usize).map(|part| part.index) {
            let mut cursor = None;
            for sealed in &index.sealed {
                let lists = self.lists(part as usize, |term| sealed.postings.list(term));
                self.add_postings(index, sealed.home, &lists, (slots, &mut units), &mut cursor);
            }
            let lists = self.lists(part as usize, |term| index.tail.list(term).map(Postings::Open));
            self.add_postings(index, index.tail_home, &lists, (slots, &mut units), &mut cursor);
        }
        units.into_iter().map(|unit| self.scorer.score(unit)).collect()
    }

    /// Adds the contributions of postings to the documents in one part of an index.
    fn add_postings<'b>(
        &self,
        index: &TextIndex,
        home: Home,
        lists: &[(usize, Postings<'b>)],
        (slots, units): (&[Slot], &mut [u32]),
        cursor: &mut Option<Cursor<'b>>,
    ) {
        for &(term, postings) in lists {
            let cursor = match cursor {
                Some(cursor) => {
                    cursor.begin(term, postings, 0);
                    cursor
                }
                None => cursor.insert(Cursor::new(term, postings, 0)),
            };
            for (units, &slot) in units.iter_mut().zip(slots) {
                if index.homes.get(slot as usize) == Some(&home) {
                    let count = cursor.count(slot);
                    if count > 0 {
                        *units += self.scorer.units(term, count, index.lengths[slot as usize]);
                    }
                }
            }
        }
    }
}
