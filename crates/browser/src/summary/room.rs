//! Which part of a page fits into the budget, before all of it is read.
//!
//! Describing an entry costs a page's process more than counting it. Only some of a long page's
//! entries fit into a budget, and their numbers show which.

use super::budget::{cost, grants};
use super::extract::{Extract, List};
use crate::protocol::ReadScope;

/// The approximate cost of an entry of each list, in tokens.
const EACH: [usize; 6] = [8, 24, 20, 16, 20, 16];
/// More than any budget.
const ALL: usize = 1 << 40;

/// How many entries of each list, in the order of [`LISTS`](super::extract::LISTS), and how much of the text
/// to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) items: [usize; 6],
    pub(crate) characters: usize,
}

/// What is known of a list.
struct Known {
    total: usize,
    kept: usize,
    /// The cost of the entries that were kept.
    cost: usize,
}

impl Room {
    /// The room for a page of which only the totals are known.
    pub(crate) fn first(reach: &ReadScope, counted: &Extract) -> Self {
        let known = known(counted);
        let wants = std::array::from_fn(|at| known[at].total * EACH[at]);
        Self::of(reach, &wants, &EACH)
    }

    /// More room, if less was read than fits because entries were hidden or short.
    pub(crate) fn more(&self, reach: &ReadScope, read: &Extract) -> Option<Self> {
        let known = known(read);
        let is_cut =
            |at: usize| known[at].kept >= self.items[at] && known[at].total > known[at].kept;
        let each = std::array::from_fn(|at| {
            let it = &known[at];
            it.cost.checked_div(it.kept).map_or(EACH[at], |each| each.max(4))
        });
        let wants = std::array::from_fn(|at| {
            let it = &known[at];
            it.cost + if is_cut(at) { (it.total - it.kept) * each[at] } else { 0 }
        });
        let is_text_cut = read.letters > read.text.chars().count() as u64;
        let more = Self::of(reach, &wants, &each);
        let grows = |old: usize, new: usize| new > old + old / 5 + 4;
        let has_more = (0..5).any(|at| is_cut(at) && grows(self.items[at], more.items[at]))
            || (is_text_cut && grows(self.characters, more.characters));
        has_more.then_some(more)
    }

    fn of(reach: &ReadScope, wants: &[usize; 6], each: &[usize; 6]) -> Self {
        let Some(tokens) = reach.tokens_max else {
            return Self { items: [reach.items_max; 6], characters: reach.characters_max };
        };
        let items = std::array::from_fn(|at| {
            let mut wants = *wants;
            wants[at] = ALL;
            (grants(tokens, &wants, 0).0[at] / each[at] + 4).min(reach.items_max)
        });
        let for_text = grants(tokens, wants, ALL).1;
        Self { items, characters: (for_text * 4 + 64).min(reach.characters_max) }
    }
}

fn known(extract: &Extract) -> [Known; 6] {
    let know = |list: &List| Known {
        total: usize::try_from(list.total).unwrap_or(usize::MAX),
        kept: list.entries.len(),
        cost: list.entries.iter().map(|entry| cost(&entry.shown)).sum(),
    };
    std::array::from_fn(|at| know(&extract.lists[at]))
}
