//! The types of 65,536 consecutive events.

use std::collections::BTreeMap;
use std::ops::{Bound, RangeInclusive};

use waypost_time::Timestamp;

use super::filter::{Filter, WORDS};
use super::{BLOCK_EVENTS, SPAN_EVENTS};
use crate::Pattern;
use crate::codec::{Input, Malformed, put_number, put_time};

/// If a pattern matches more types than this within a block, all events of the block are read,
/// which is bounded.
pub(crate) const TYPES_MAX: usize = 1024;
/// Maximum number of types that a summary counts.
const COUNTED_TYPES_MAX: usize = 64;

/// Events by type. Offsets are counted from the block's first id.
#[derive(Debug, Default)]
pub(crate) struct Block {
    kinds: BTreeMap<Box<str>, Vec<u16>>,
    /// The latest time in each span of 1,024 events.
    pub(crate) times: Vec<Timestamp>,
}

/// The part of a block that stays in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Summary {
    pub(crate) filter: Filter,
    pub(crate) times: Vec<Timestamp>,
    /// The most frequent types.
    pub(crate) counts: Vec<(Box<str>, u32)>,
    /// Events of all other types.
    pub(crate) others: u32,
    /// Number of events in the block: 65,536, unless some are missing from the log.
    pub(crate) events: u32,
    /// Number of types.
    pub(crate) kinds: u32,
}

/// The first or the last of some offsets.
#[derive(Debug)]
pub(crate) struct Pick<'a> {
    range: &'a RangeInclusive<u64>,
    count: usize,
    newest: bool,
    found: Vec<u16>,
}

impl<'a> Pick<'a> {
    pub(crate) fn new(range: &'a RangeInclusive<u64>, count: usize, newest: bool) -> Self {
        Self { range, count, newest, found: Vec::new() }
    }

    /// Searches the offsets of one type, which are in order.
    pub(crate) fn add(&mut self, offsets: &[u16]) {
        let start = offsets.partition_point(|offset| u64::from(*offset) < *self.range.start());
        let end = offsets.partition_point(|offset| u64::from(*offset) <= *self.range.end());
        let within = offsets.get(start..end).unwrap_or_default();
        let some = self.count.min(within.len());
        let at_end = within.len() - some;
        self.found.extend_from_slice(if self.newest { &within[at_end..] } else { &within[..some] });
    }

    /// The picked offsets, in the requested order.
    pub(crate) fn finish(mut self) -> Vec<u16> {
        self.found.sort_unstable();
        if self.newest {
            self.found.reverse();
        }
        self.found.truncate(self.count);
        self.found
    }
}

impl Block {
    /// Adds the event at `offset`, which is behind all others.
    pub(crate) fn push(&mut self, offset: u64, kind: &str, time: Timestamp) {
        let offset = u16::try_from(offset).expect("a block has 65,536 events");
        match self.kinds.get_mut(kind) {
            Some(offsets) => offsets.push(offset),
            None => drop(self.kinds.insert(kind.into(), vec![offset])),
        }
        let span = usize::from(offset) / SPAN_EVENTS as usize;
        if self.times.len() <= span {
            self.times.resize(span + 1, Timestamp::EPOCH);
        }
        self.times[span] = self.times[span].max(time);
    }

    /// The types that match a pattern, in order.
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

    /// The first or the last `count` events within `range` that match a pattern; `None` if too many
    /// types match.
    pub(crate) fn find(
        &self,
        pattern: &Pattern,
        range: &RangeInclusive<u64>,
        count: usize,
        newest: bool,
    ) -> Option<Vec<u16>> {
        let mut pick = Pick::new(range, count, newest);
        for (at, offsets) in self.selected(pattern).enumerate() {
            if at == TYPES_MAX {
                return None;
            }
            pick.add(offsets);
        }
        Some(pick.finish())
    }

    /// The types and their events, in order.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = (&str, &[u16])> {
        self.kinds.iter().map(|(kind, offsets)| (&**kind, offsets.as_slice()))
    }

    pub(crate) fn summary(&self) -> Summary {
        let mut counts: Vec<(&str, u32)> =
            self.kinds.iter().map(|(kind, offsets)| (&**kind, offsets.len() as u32)).collect();
        counts.sort_unstable_by_key(|count| std::cmp::Reverse(count.1));
        let (events, kinds) = (counts.iter().map(|count| count.1).sum(), counts.len() as u32);
        let others = counts.iter().skip(COUNTED_TYPES_MAX).map(|count| count.1).sum();
        counts.truncate(COUNTED_TYPES_MAX);
        Summary {
            filter: Filter::of(self.kinds.keys().map(|key| &**key)),
            times: self.times.clone(),
            counts: counts.into_iter().map(|(kind, count)| (kind.into(), count)).collect(),
            others,
            events,
            kinds,
        }
    }
}

impl Summary {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(2048);
        self.filter.words().iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
        put_number(&mut out, self.times.len() as u64);
        self.times.iter().for_each(|time| put_time(&mut out, *time));
        put_number(&mut out, self.counts.len() as u64);
        for (kind, count) in &self.counts {
            put_number(&mut out, kind.len() as u64);
            out.extend_from_slice(kind.as_bytes());
            put_number(&mut out, u64::from(*count));
        }
        for number in [self.others, self.events, self.kinds] {
            put_number(&mut out, u64::from(number));
        }
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut input = Input(bytes);
        let mut words = Box::new([0; WORDS]);
        for word in words.iter_mut() {
            *word = u64::from_le_bytes(input.array()?);
        }
        let spans = input.number()?;
        if spans > BLOCK_EVENTS / SPAN_EVENTS {
            return Err(Malformed("too many spans"));
        }
        let times = (0..spans).map(|_| input.time()).collect::<Result<_, _>>()?;
        let counted = input.number()?;
        if counted > COUNTED_TYPES_MAX as u64 {
            return Err(Malformed("too many types"));
        }
        let mut counts = Vec::with_capacity(counted as usize);
        for _ in 0..counted {
            let kind = input.text(2 * crate::NAME_BYTES_MAX + 1)?;
            counts.push((kind.into(), small(input.number()?)?));
        }
        let filter = Filter::from_words(words);
        let (others, events, kinds) =
            (small(input.number()?)?, small(input.number()?)?, small(input.number()?)?);
        Ok(Self { filter, times, counts, others, events, kinds })
    }
}

fn small(number: u64) -> Result<u32, Malformed> {
    u32::try_from(number).map_err(|_| Malformed("a count is too large"))
}
