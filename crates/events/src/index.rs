//! The index of events by type, with which the cost of a pattern depends on what it returns.
//!
//! The index partitions events by id into blocks of 65,536. A block contains the ids of each of its
//! types; a finished one also has a filter over its types and namespaces, and never changes again.
//! So a pattern reads only the blocks that may match, and memory and work per block are bounded for
//! any number of types.

mod block;
mod block_store;
mod filter;

use std::collections::{BTreeMap, VecDeque};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) use self::block::{Block, Summary};
pub(crate) use self::block_store::{BlockStore, Found, Kept};
use waypost_time::Timestamp;

use crate::Pattern;

/// Events in a block.
pub(crate) const BLOCK_EVENTS: u64 = 1 << 16;
/// Events that share one entry in the list of latest times.
pub(crate) const SPAN_EVENTS: u64 = 1 << 10;

/// The number of the block that contains an event.
pub(crate) fn block_of(id: u64) -> u64 {
    id.saturating_sub(1) / BLOCK_EVENTS
}

/// The ids of a block.
pub(crate) fn ids_of(number: u64) -> RangeInclusive<u64> {
    number * BLOCK_EVENTS + 1..=(number + 1) * BLOCK_EVENTS
}

/// The index of all blocks.
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
    summary: Arc<Summary>,
    /// `None` if it is in the block store.
    block: Option<Arc<Block>>,
    /// Whether the stored block was found to be complete.
    is_checked: AtomicBool,
}

/// The result of looking up a pattern and a time in one block.
#[derive(Debug)]
pub(crate) enum Look {
    /// No event matches.
    Nothing,
    /// These events match, in the requested order; all, up to the requested count.
    Ids(Vec<u64>),
    /// Every event may match, or there are too many types: read the events.
    All,
    /// Look in the block store. Contains the summary until the block was found to be complete.
    Stored(Option<Arc<Summary>>),
}

impl Look {
    fn of(base: u64, offsets: Vec<u16>) -> Self {
        if offsets.is_empty() {
            return Self::Nothing;
        }
        Self::Ids(offsets.into_iter().map(|offset| base + u64::from(offset)).collect())
    }
}

/// What to look up in a block.
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
    /// An index that continues after the stored blocks, or at the event `first` without any.
    pub(crate) fn new(first_block: u64, stored: Vec<Summary>, first: u64) -> Self {
        if stored.is_empty() {
            return Self { number: block_of(first), ..Self::default() };
        }
        let number = first_block + stored.len() as u64;
        let finished = stored.into_iter().map(|stored| Finished {
            summary: Arc::new(stored),
            block: None,
            is_checked: AtomicBool::new(false),
        });
        Self { finished: finished.collect(), number, ..Self::default() }
    }

    /// The first finished block that is not in the block store.
    pub(crate) fn first_unstored(&self) -> Option<(u64, Arc<Block>, Arc<Summary>)> {
        let first = self.number - self.finished.len() as u64;
        (first..).zip(&self.finished).find_map(|(number, it)| {
            Some((number, Arc::clone(it.block.as_ref()?), Arc::clone(&it.summary)))
        })
    }

    /// The block is now in the block store.
    pub(crate) fn mark_stored(&mut self, number: u64) {
        if let Some(at) = self.position(number) {
            self.finished[at].block = None;
            // It was just written from memory.
            self.finished[at].is_checked = AtomicBool::new(true);
        }
    }

    /// The stored block was found to be complete.
    pub(crate) fn checked(&self, number: u64) {
        if let Some(at) = self.position(number) {
            self.finished[at].is_checked.store(true, Ordering::Release);
        }
    }

    /// The last event of the blocks in the block store, 0 for none.
    pub(crate) fn stored_to(&self) -> u64 {
        let first = self.number - self.finished.len() as u64;
        let count =
            self.finished.iter().take_while(|finished| finished.block.is_none()).count() as u64;
        if count == 0 { 0 } else { *ids_of(first + count - 1).end() }
    }

    /// Takes the event `id` in, whose place is behind all others. Tells whether a block was
    /// finished by that.
    pub(crate) fn push(&mut self, id: u64, kind: &str, time: Timestamp) -> bool {
        let is_next = block_of(id) > self.number;
        while block_of(id) > self.number {
            let block = std::mem::take(&mut self.current);
            self.finished.push_back(Finished {
                summary: Arc::new(block.summary()),
                block: Some(Arc::new(block)),
                is_checked: AtomicBool::new(true),
            });
            self.number += 1;
        }
        self.current.push((id - 1) % BLOCK_EVENTS, kind, time);
        is_next
    }

    /// Looks up the block `number`, with bounded work.
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
            Some(Finished { block: Some(block), .. }) => block,
            Some(it) => {
                let is_checked = it.is_checked.load(Ordering::Acquire)
                    || it.summary.kinds as usize > block::TYPES_MAX;
                return Look::Stored((!is_checked).then(|| Arc::clone(&it.summary)));
            }
            None if number == self.number => &self.current,
            None => return Look::Nothing,
        };
        let found = block.find(pattern, &range, wanted.count, wanted.newest);
        found.map_or(Look::All, |offsets| Look::of(base, offsets))
    }

    /// Whether an event from the same span as `id` may be as late as `since`.
    pub(crate) fn may_be_since(&self, id: u64, since: Timestamp) -> bool {
        let number = block_of(id);
        let times = match self.finished_block(number) {
            Some(it) => &it.summary.times,
            None if number == self.number => &self.current.times,
            None => return true,
        };
        let span = (id - 1) % BLOCK_EVENTS / SPAN_EVENTS;
        times.get(span as usize).is_none_or(|time| *time >= since)
    }

    fn finished_block(&self, number: u64) -> Option<&Finished> {
        self.finished.get(self.position(number)?)
    }

    fn position(&self, number: u64) -> Option<usize> {
        let first = self.number - self.finished.len() as u64;
        let at = usize::try_from(number.checked_sub(first)?).ok()?;
        (at < self.finished.len()).then_some(at)
    }

    /// Drops the blocks that end before the event `first`.
    pub(crate) fn forget_before(&mut self, first: u64) {
        let gone = block_of(first).saturating_sub(self.number - self.finished.len() as u64);
        self.finished.drain(..(gone as usize).min(self.finished.len()));
    }

    /// The number of events by type, in whole blocks, and the number of events whose types are too
    /// rare in their block to be counted.
    pub(crate) fn counts(&self) -> (BTreeMap<String, u64>, u64) {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        let mut others = 0;
        let current = self.current.summary();
        for summary in self.finished.iter().map(|finished| &*finished.summary).chain([&current]) {
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
