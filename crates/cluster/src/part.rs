//! The parts of a store.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

/// The number of parts.
pub const PARTS: usize = 4;

/// A part of a store. Each has its own log on every machine; their records share one journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Memories, links, and their history.
    Memory,
    /// The event bus.
    Events,
    /// Runs of flows. Only the machine with the lease appends to it.
    Flows,
    /// What machines tell each other: tokens, retention points, digests. It has no log: a machine
    /// applies its records again after a start.
    Notices,
}

/// The number of the last record of each part, in the order of [`Part::ALL`].
pub type Places = [u64; PARTS];

impl Part {
    /// All parts, in the order of their numbers.
    pub const ALL: [Self; PARTS] = [Self::Memory, Self::Events, Self::Flows, Self::Notices];

    /// Its number in the journal.
    pub fn number(self) -> u8 {
        self.index() as u8 + 1
    }

    /// The part with a number.
    pub fn of_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.number() == number)
    }

    /// The places with the numbers of their parts, as a snapshot has them.
    pub fn numbered(places: &Places) -> Vec<(u8, u64)> {
        Self::ALL.into_iter().map(|it| (it.number(), places[it.index()])).collect()
    }

    /// Its index in [`Places`].
    pub fn index(self) -> usize {
        match self {
            Self::Memory => 0,
            Self::Events => 1,
            Self::Flows => 2,
            Self::Notices => 3,
        }
    }

    /// Its name in files and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Events => "events",
            Self::Flows => "flows",
            Self::Notices => "notices",
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The parts that were not compared yet.
#[derive(Debug)]
pub(crate) struct Uncompared(AtomicU8);

impl Uncompared {
    pub(crate) fn new(parts: &[Part]) -> Self {
        Self(AtomicU8::new(parts.iter().fold(0, |bits, it| bits | bit(*it))))
    }

    pub(crate) fn remove(&self, part: Part) {
        self.0.fetch_and(!bit(part), Ordering::AcqRel);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.load(Ordering::Acquire) == 0
    }
}

fn bit(part: Part) -> u8 {
    1 << part.index()
}
