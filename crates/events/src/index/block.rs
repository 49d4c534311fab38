//! The types of 65,536 neighbouring events.

use std::collections::BTreeMap;
use std::ops::{Bound, RangeInclusive};

use super::SPAN_EVENTS;
use super::filter::Filter;
use crate::Pattern;

/// A pattern that selects more types than these within a block selects so many of its events that
/// they are read one after another: that is bounded by the block.
const TYPES_MAX: usize = 1024;
/// A summary counts so many types at most.
const COUNTED_TYPES_MAX: usize = 64;

/// Events by type. Offsets are counted from the block's first id.
#[derive(Debug, Default)]
pub(crate) struct Block {
    kinds: BTreeMap<Box<str>, Vec<u16>>,
    /// The latest time in each span of 1,024 events.
    pub(crate) times: Vec<u64>,
}

/// What stays in memory of every block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Summary {
    pub(crate) filter: Filter,
    pub(crate) times: Vec<u64>,
    /// The most frequent types.
    pub(crate) counts: Vec<(Box<str>, u32)>,
    /// Events of all other types.
    pub(crate) others: u32,
}

/// The events that a pattern selects.
#[derive(Debug)]
pub(crate) enum Found {
    /// In the order asked for, as many as asked for if there are.
    Offsets(Vec<u16>),
    TooManyTypes,
}

impl Block {
    /// Adds the event at `offset`, which is behind all others.
    pub(crate) fn push(&mut self, offset: u64, kind: &str, time_ms: u64) {
        let offset = u16::try_from(offset).expect("a block has 65,536 events");
        match self.kinds.get_mut(kind) {
            Some(offsets) => offsets.push(offset),
            None => drop(self.kinds.insert(kind.into(), vec![offset])),
        }
        let span = usize::from(offset) / SPAN_EVENTS as usize;
        if self.times.len() <= span {
            self.times.resize(span + 1, 0);
        }
        self.times[span] = self.times[span].max(time_ms);
    }

    /// The types that a pattern selects, in order.
    fn selected<'a>(&'a self, pattern: &'a Pattern) -> impl Iterator<Item = &'a [u16]> {
        let from = Bound::Included(pattern.literal());
        self.kinds
            .range::<str, _>((from, Bound::Unbounded))
            .take_while(move |(kind, _)| {
                if pattern.is_exact() {
                    ***kind == *pattern.literal()
                } else {
                    kind.starts_with(pattern.literal())
                }
            })
            .map(|(_, offsets)| offsets.as_slice())
    }

    /// The first or the last `count` events within `range` that a pattern selects.
    pub(crate) fn find(
        &self,
        pattern: &Pattern,
        range: &RangeInclusive<u64>,
        count: usize,
        newest: bool,
    ) -> Found {
        let mut found = Vec::new();
        for (at, offsets) in self.selected(pattern).enumerate() {
            if at == TYPES_MAX {
                return Found::TooManyTypes;
            }
            let start = offsets.partition_point(|it| u64::from(*it) < *range.start());
            let end = offsets.partition_point(|it| u64::from(*it) <= *range.end());
            let within = offsets.get(start..end).unwrap_or_default();
            let some = count.min(within.len());
            found.extend_from_slice(if newest {
                &within[within.len() - some..]
            } else {
                &within[..some]
            });
        }
        found.sort_unstable();
        if newest {
            found.reverse();
        }
        found.truncate(count);
        Found::Offsets(found)
    }

    pub(crate) fn summary(&self) -> Summary {
        let mut counts: Vec<(&str, u32)> =
            self.kinds.iter().map(|(kind, offsets)| (&**kind, offsets.len() as u32)).collect();
        counts.sort_unstable_by_key(|it| std::cmp::Reverse(it.1));
        let others = counts.iter().skip(COUNTED_TYPES_MAX).map(|it| it.1).sum();
        counts.truncate(COUNTED_TYPES_MAX);
        Summary {
            filter: Filter::of(self.kinds.keys().map(|it| &**it)),
            times: self.times.clone(),
            counts: counts.into_iter().map(|(kind, count)| (kind.into(), count)).collect(),
            others,
        }
    }
}
