use std::sync::Arc;

use super::dictionary::TermId;
use super::inverted::TextIndex;
use super::sealed::{Home, Sealed, Source};
use super::segment::{Postings, Segment};
use crate::Slot;

/// Segments of similar size that are merged into one. Every document is rewritten once per power of
/// it, and a search visits fewer than three times that many powers.
const FAN_IN: usize = 4;

/// A planned merge of a [`TextIndex`]: some of its sealed parts become one, without the documents
/// that have left them.
#[derive(Debug)]
pub struct Merge {
    sources: Vec<(Home, Source)>,
    /// From `slot_base` on: the position in `sources`, plus one, of the part that contains a
    /// document; 0 if none does.
    places: Vec<u8>,
    lengths: Vec<u32>,
    slot_base: Slot,
}

/// The result of a [`Merge`].
#[derive(Debug)]
pub struct Merged {
    sources: Vec<Home>,
    segment: Segment,
}

impl Merge {
    /// Runs the merge. It takes time proportional to the parts' size.
    pub fn run(self) -> Merged {
        let mut segment = Segment::default();
        let mut lists: Vec<(TermId, u32, u32)> = Vec::new();
        for (place, (_, source)) in self.sources.iter().enumerate() {
            let place = place as u32;
            match source {
                Source::Closed(tail, _) => lists.extend(tail.terms().map(|term| (term, place, 0))),
                Source::Packed(segment) => {
                    let terms = segment.terms().iter().enumerate();
                    lists.extend(terms.map(|(at, &term)| (term, place, at as u32)));
                }
            }
        }
        lists.sort_unstable();
        let mut postings: Vec<(Slot, u32)> = Vec::new();
        for group in lists.chunk_by(|a, b| a.0 == b.0) {
            postings.clear();
            for &(term, place, at) in group {
                let list = match &self.sources[place as usize].1 {
                    Source::Closed(tail, _) => tail.list(term).map(Postings::Open),
                    Source::Packed(segment) => Some(segment.list_at(at as usize)),
                };
                if let Some(list) = list {
                    list.for_each(|slot, count| {
                        if u32::from(self.places[(slot - self.slot_base) as usize]) == place + 1 {
                            postings.push((slot, count));
                        }
                    });
                }
            }
            if !postings.is_sorted() {
                postings.sort_unstable();
            }
            if !postings.is_empty() {
                let base = self.slot_base;
                segment.push(group[0].0, &postings, |slot| self.lengths[(slot - base) as usize]);
            }
        }
        let live = self.places.iter().enumerate().filter(|&(_, &place)| place > 0);
        segment.slots = live.map(|(at, _)| self.slot_base + at as Slot).collect();
        segment.shrink();
        Merged { sources: self.sources.iter().map(|&(home, _)| home).collect(), segment }
    }
}

impl TextIndex {
    /// The next piece of maintenance, if any: it makes searches faster and changes no result.
    ///
    /// [`Merge::run`] needs no access to the index, so the index can be searched and changed until
    /// [`install`](Self::install) takes the result. Use one `Merge` at a time.
    pub fn plan(&mut self) -> Option<Merge> {
        if self.tail.live >= self.tail_documents_max {
            self.close_tail();
        }
        self.sealed.retain(|part| part.live > 0);
        let chosen = self.crowded_level().or_else(|| {
            let alone = self.sealed.iter().position(|part| {
                matches!(part.postings, Source::Closed(..)) || part.live * 2 < part.documents
            });
            alone.map(|at| vec![at])
        })?;
        let sources: Vec<(Home, Source)> = chosen
            .into_iter()
            .map(|at| (self.sealed[at].home, self.sealed[at].postings.clone()))
            .collect();
        let slots = || sources.iter().flat_map(|(_, source)| source.slots());
        let slot_base = slots().min().copied().unwrap_or(0);
        let slot_end = slots().max().map_or(0, |&slot| slot as usize + 1);
        let mut places = vec![0; slot_end - slot_base as usize];
        for (place, (home, source)) in sources.iter().enumerate() {
            for &slot in source.slots() {
                if self.homes[slot as usize] == *home {
                    places[(slot - slot_base) as usize] = place as u8 + 1;
                }
            }
        }
        let lengths = self.lengths[slot_base as usize..slot_end].to_vec();
        Some(Merge { sources, places, lengths, slot_base })
    }

    /// Installs the result of a [`Merge`]. Documents removed or replaced since it was planned stay
    /// so. False if the index cannot use it, because another was installed in between.
    pub fn install(&mut self, merged: Merged) -> bool {
        let is_source = |part: &Sealed| merged.sources.contains(&part.home);
        let found = self.sealed.iter().filter(|part| is_source(part)).count();
        if found < merged.sources.len() {
            return false;
        }
        self.sealed.retain(|part| !is_source(part));
        self.seal(merged.segment, |home| merged.sources.contains(&home));
        true
    }

    /// Runs all pending maintenance.
    pub fn maintain(&mut self) {
        while let Some(merge) = self.plan() {
            let merged = merge.run();
            if !self.install(merged) {
                return;
            }
        }
    }

    /// Adds a sealed part. It takes over its documents that are now in a part that `moves` accepts.
    pub(super) fn seal(&mut self, segment: Segment, moves: impl Fn(Home) -> bool) {
        let home = self.next_home();
        let mut live = 0;
        for &slot in &segment.slots {
            let place = &mut self.homes[slot as usize];
            if moves(*place) {
                *place = home;
                live += 1;
            }
        }
        let documents = segment.slots.len();
        self.sealed.push(Sealed {
            home,
            postings: Source::Packed(Arc::new(segment)),
            live,
            documents,
        });
    }

    fn close_tail(&mut self) {
        let home = self.tail_home;
        let homes = self.homes.iter().enumerate();
        let slots: Vec<Slot> =
            homes.filter(|&(_, &place)| place == home).map(|(slot, _)| slot as Slot).collect();
        self.tail_home = self.next_home();
        let tail = std::mem::take(&mut self.tail);
        self.sealed.push(Sealed {
            home,
            live: slots.len(),
            documents: slots.len(),
            postings: Source::Closed(Arc::new(tail), Arc::new(slots)),
        });
    }

    /// The parts of the smallest size class that has enough of them to merge.
    fn crowded_level(&self) -> Option<Vec<usize>> {
        let level = |part: &Sealed| (part.live / self.tail_documents_max).max(1).ilog(FAN_IN);
        let highest = self.sealed.iter().map(level).max()?;
        (0..=highest).find_map(|wanted| {
            let parts = self.sealed.iter().enumerate().filter(|(_, part)| level(part) == wanted);
            let chosen: Vec<usize> = parts.map(|(at, _)| at).take(2 * FAN_IN).collect();
            (chosen.len() >= FAN_IN).then_some(chosen)
        })
    }
}
