//! Which events have which type: what makes a pattern cost what it returns.
//!
//! Events are counted off in blocks of 65,536 by their ids. A block knows the ids of each of its
//! types; a finished one also has a filter over its types and namespaces, and is never changed
//! again. So a pattern looks at the blocks that may have it, whatever lies between them, and the
//! memory and work for a block are bounded however many types somebody invents.

mod block;
mod filter;

use std::collections::{BTreeMap, VecDeque};
use std::ops::RangeInclusive;
use std::sync::Arc;

use self::block::Summary;
pub(crate) use self::block::{Block, Found};
use crate::Pattern;

/// Events in a block.
pub(crate) const BLOCK_EVENTS: u64 = 1 << 16;
/// Events that share one entry in the list of latest times.
pub(crate) const SPAN_EVENTS: u64 = 1 << 10;

/// The number of the block that has an event.
pub(crate) fn block_of(id: u64) -> u64 {
    id.saturating_sub(1) / BLOCK_EVENTS
}

/// The ids of a block.
pub(crate) fn ids_of(number: u64) -> RangeInclusive<u64> {
    number * BLOCK_EVENTS + 1..=(number + 1) * BLOCK_EVENTS
}

/// What is known of all blocks.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// Finished blocks, the oldest first, without gaps.
    finished: VecDeque<Finished>,
    /// The one that events are added to.
    current: Block,
    /// Its number.
    number: u64,
}

#[derive(Debug)]
struct Finished {
    summary: Summary,
    block: Arc<Block>,
}

/// What one block says about a pattern and a time.
#[derive(Debug)]
pub(crate) enum Look {
    /// None of its events is wanted.
    Nothing,
    /// These are, in the order asked for; all up to the count asked for.
    Ids(Vec<u64>),
    /// Every one, or too many types to tell: read the events themselves.
    All,
}

/// What is looked for in a block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    /// `None` for every type.
    pub(crate) pattern: Option<&'a Pattern>,
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) count: usize,
    /// From the last one backwards.
    pub(crate) newest: bool,
}

impl Index {
    /// An index whose first event will be `first`.
    pub(crate) fn starting_at(first: u64) -> Self {
        Self { number: block_of(first), ..Self::default() }
    }

    /// Takes the event `id` in, whose place is behind all others.
    pub(crate) fn push(&mut self, id: u64, kind: &str, time_ms: u64) {
        while block_of(id) > self.number {
            let block = Arc::new(std::mem::take(&mut self.current));
            self.finished.push_back(Finished { summary: block.summary(), block });
            self.number += 1;
        }
        self.current.push((id - 1) % BLOCK_EVENTS, kind, time_ms);
    }

    /// What the block `number` says. Bounded work, whatever it holds.
    pub(crate) fn look(&self, number: u64, wanted: &Wanted<'_>) -> Look {
        let Some(pattern) = wanted.pattern else { return Look::All };
        let (base, end) = ids_of(number).into_inner();
        let (from, to) = (wanted.from.max(base), wanted.to.min(end));
        if from > to {
            return Look::Nothing;
        }
        let range = from - base..=to - base;
        let block = match self.finished_block(number) {
            Some(it) if !it.summary.filter.may_have(pattern) => return Look::Nothing,
            Some(it) => &*it.block,
            None if number == self.number => &self.current,
            None => return Look::Nothing,
        };
        match block.find(pattern, &range, wanted.count, wanted.newest) {
            Found::TooManyTypes => Look::All,
            Found::Offsets(offsets) if offsets.is_empty() => Look::Nothing,
            Found::Offsets(offsets) => {
                Look::Ids(offsets.into_iter().map(|it| base + u64::from(it)).collect())
            }
        }
    }

    /// Whether an event from the same span as `id` may be as late as `since_ms`.
    pub(crate) fn may_be_since(&self, id: u64, since_ms: u64) -> bool {
        let number = block_of(id);
        let times = match self.finished_block(number) {
            Some(it) => &it.summary.times,
            None if number == self.number => &self.current.times,
            None => return true,
        };
        let span = (id - 1) % BLOCK_EVENTS / SPAN_EVENTS;
        times.get(span as usize).is_none_or(|it| *it >= since_ms)
    }

    fn finished_block(&self, number: u64) -> Option<&Finished> {
        let first = self.number - self.finished.len() as u64;
        self.finished.get(usize::try_from(number.checked_sub(first)?).ok()?)
    }

    /// Forgets the blocks that end before the event `first`.
    pub(crate) fn forget_before(&mut self, first: u64) {
        let gone = block_of(first).saturating_sub(self.number - self.finished.len() as u64);
        self.finished.drain(..(gone as usize).min(self.finished.len()));
    }

    /// How many events of which type there are, in whole blocks, and how many of types that are
    /// too rare in their block to be counted.
    pub(crate) fn counts(&self) -> (BTreeMap<String, u64>, u64) {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        let mut others = 0;
        let current = self.current.summary();
        for summary in self.finished.iter().map(|it| &it.summary).chain([&current]) {
            for (kind, count) in &summary.counts {
                match counts.get_mut(&**kind) {
                    Some(it) => *it += u64::from(*count),
                    None => drop(counts.insert(kind.to_string(), u64::from(*count))),
                }
            }
            others += u64::from(summary.others);
        }
        (counts, others)
    }
}

#[cfg(test)]
mod tests;
