//! Finds the best `k` without scoring every document: MaxScore, by windows where postings are
//! dense, by single documents where they are sparse.
//!
//! Howard Turtle, James Flood: *Query Evaluation: Strategies and Optimizations*, 1995 (MaxScore);
//! Shuai Ding, Torsten Suel: *Faster Top-k Document Retrieval Using Block-Max Indexes*, 2011
//! (bounds by block). The lists are ordered by their upper bounds. Lists that together cannot reach
//! the worst of the best `k` so far contribute no new candidates; they are only probed for the
//! candidates of the others.
//!
//! Scores and bounds are whole units (see `bm25`), so the order of summation does not matter, and a
//! bound that is one unit lower is lower.

use super::cursor::{Cursor, END};
use super::dictionary::TermId;
use super::sealed::Home;
use super::search::TextSearch;
use super::segment::Postings;
use super::window::Window;
use crate::Slot;
use crate::top::Top;

/// Required lists are sparse if they have fewer than one posting in this many slots.
const SPARSE: u64 = 16;

/// The origin of a list of lists: distinguishes current postings from old ones, and determines the
/// hits' part.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) part: usize,
    /// `None` if every posting is current.
    pub(super) home: Option<Home>,
}

/// How many of the lists, sorted by bound, are optional: a document with only those stays below
/// `least`. Also returns the sum of their bounds.
pub(super) fn optional(bounds: impl Iterator<Item = u32>, least: u32) -> (usize, u32) {
    let (mut count, mut sum) = (0, 0);
    for bound in bounds {
        if sum + bound >= least {
            break;
        }
        sum += bound;
        count += 1;
    }
    (count, sum)
}

/// Buffers reused from one list of lists to the next.
#[derive(Default)]
struct Scratch<'a> {
    /// A list's upper bound, its term, the list.
    lists: Vec<(u32, usize, Postings<'a>)>,
    cursors: Vec<Cursor<'a>>,
    window: Option<Window>,
}

impl TextSearch<'_> {
    /// The `k` best documents with at least one of the terms, best first, ties by id. Documents and
    /// scores are the same as without pruning.
    pub fn top(&self, k: usize) -> Vec<crate::Hit> {
        if k == 0 {
            return Vec::new();
        }
        let mut top = Top::new(k);
        let mut scratch = Scratch::default();
        for part in 0..self.parts.len() {
            let index = self.parts[part].index;
            for sealed in &index.sealed {
                let place = Place { part, home: Some(sealed.home) };
                let list = |term| sealed.postings.list(term);
                self.search_lists(place, list, &mut top, &mut scratch);
            }
            let list = |term| index.tail.list(term).map(Postings::Open);
            self.search_lists(Place { part, home: None }, list, &mut top, &mut scratch);
        }
        top.into_hits(|units| self.scorer.score(units))
    }

    fn search_lists<'b>(
        &self,
        place: Place,
        list: impl Fn(TermId) -> Option<Postings<'b>>,
        top: &mut Top,
        scratch: &mut Scratch<'b>,
    ) {
        let Scratch { lists, cursors, window } = scratch;
        lists.clear();
        for (term, id) in self.ids[place.part].iter().enumerate() {
            let Some(postings) = id.and_then(&list) else { continue };
            let (count_max, length_min) = postings.list_bounds();
            lists.push((self.scorer.units_max(term, count_max, length_min), term, postings));
        }
        let all: u32 = lists.iter().map(|list| list.0).sum();
        if lists.is_empty() || all < top.key_min() {
            return;
        }
        lists.sort_by_key(|list| list.0);
        for (at, &(most, term, postings)) in lists.iter().enumerate() {
            match cursors.get_mut(at) {
                Some(cursor) => cursor.begin(term, postings, most),
                None => cursors.push(Cursor::new(term, postings, most)),
            }
        }
        let cursors = &mut cursors[..lists.len()];
        let mut start = 0;
        loop {
            let (count, _) = optional(cursors.iter().map(|cursor| cursor.most), top.key_min());
            let required = &cursors[count..];
            let extents = required.iter().map(Cursor::extent);
            let (postings, spread) =
                extents.fold((0, 0), |all, it| (all.0 + it.0, it.1.max(all.1)));
            if postings * SPARSE < spread {
                return self.search_documents(place, start, cursors, top);
            }
            let next = required.iter().filter_map(|required| required.next_slot(start)).min();
            let Some(base) = next else { return };
            let window = window.get_or_insert_default();
            let last = self.search_window(place, base, cursors, top, window);
            let Some(next) = last.checked_add(1) else { return };
            start = next;
        }
    }

    /// Visits the documents of the required lists from `start` on.
    fn search_documents(
        &self,
        place: Place,
        start: Slot,
        cursors: &mut [Cursor<'_>],
        top: &mut Top,
    ) {
        let all: u32 = cursors.iter().map(|cursor| cursor.most).sum();
        let mut least = top.key_min();
        let (mut count, mut bound) = optional(cursors.iter().map(|cursor| cursor.most), least);
        for cursor in &mut cursors[count..] {
            cursor.seek(start, least.saturating_sub(all - cursor.most), &self.scorer);
        }
        loop {
            let required = &cursors[count..];
            let slot = required.iter().map(|required| required.slot).min().unwrap_or(END);
            let Ok(wanted) = Slot::try_from(slot) else { return };
            let here = required.iter().filter(|required| required.slot == slot);
            let most = here.fold(bound, |sum, it| sum + it.present_most());
            if most >= least
                && let Some(units) = self.add_up(place, wanted, cursors, (count, most), least)
                && let Some(id) = self.parts[place.part].slots.id(wanted)
            {
                top.offer(units, id, place.part as u32, wanted);
                least = top.key_min();
                (count, bound) = optional(cursors.iter().map(|cursor| cursor.most), least);
            }
            for cursor in cursors[count..].iter_mut().filter(|cursor| cursor.slot == slot) {
                cursor.advance(least.saturating_sub(all - cursor.most), &self.scorer);
            }
        }
    }

    /// The score of the document at the required lists' position; none if it is below `least`, not
    /// current or filtered out. `optional`: how many lists, and the upper bound of the score.
    ///
    /// Lengths, homes and filters are far apart in memory, so they are checked last.
    fn add_up(
        &self,
        place: Place,
        slot: Slot,
        cursors: &mut [Cursor<'_>],
        (optional, mut most): (usize, u32),
        least: u32,
    ) -> Option<u32> {
        let (optional, required) = cursors.split_at_mut(optional);
        for cursor in optional.iter_mut().rev() {
            let bound = cursor.probe(slot, (most - cursor.most, least), &self.scorer);
            most = most - cursor.most + bound;
            if most < least {
                return None;
            }
        }
        if !self.counts(place, slot) {
            return None;
        }
        let length = self.parts[place.part].index.lengths[slot as usize];
        let here = required.iter().filter(|required| required.slot == u64::from(slot));
        let here = here.map(|here| (here.term, here.present_count()));
        let beside = optional
            .iter()
            .map(|optional| (optional.term, optional.probed))
            .filter(|pair| pair.1 > 0);
        let units = here.chain(beside).map(|here| self.scorer.units(here.0, here.1, length)).sum();
        (units >= least).then_some(units)
    }

    /// Whether a slot's posting is current and its document passes the filter.
    pub(super) fn counts(&self, place: Place, slot: Slot) -> bool {
        let part = &self.parts[place.part];
        place.home.is_none_or(|home| part.index.homes[slot as usize] == home)
            && part.filter.is_none_or(|filter| filter(slot))
    }
}
