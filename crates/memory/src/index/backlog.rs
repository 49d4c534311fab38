//! What the index lacks while it is built beside the searches: the store opens with a part of the
//! index, or without any, and threads bring the rest in, piece by piece.

use parking_lot::Mutex;

use crate::{IndexProgress, MemoryId};

/// Memories that go into the index under one lock.
const AT_ONCE: usize = 256;

/// What the index lacks, until it is complete.
#[derive(Debug)]
pub(crate) struct Backlog(Mutex<Option<Left>>);

/// What the index still lacks.
#[derive(Debug)]
struct Left {
    /// In descending order, so that the oldest is taken first.
    ids: Vec<MemoryId>,
    /// Those that threads have taken and not brought in yet.
    in_flight: usize,
    total: u64,
}

impl Left {
    fn progress(&self) -> IndexProgress {
        let left = self.ids.len() + self.in_flight;
        IndexProgress { done: self.total.saturating_sub(left as u64), total: self.total }
    }
}

/// Memories that a thread is bringing in. Unless it [ends](Taken::end) so, by an error or a panic,
/// they are lacking again.
pub(crate) struct Taken<'a> {
    backlog: &'a Backlog,
    pub(crate) ids: Vec<MemoryId>,
    /// How many of those in flight are these.
    count: usize,
}

impl Taken<'_> {
    /// They are in the index. How far the index is then, and whether nothing more is lacking.
    pub(crate) fn end(mut self) -> Option<(IndexProgress, bool)> {
        self.ids.clear();
        self.give_back()
    }

    fn give_back(&mut self) -> Option<(IndexProgress, bool)> {
        let mut left = self.backlog.0.lock();
        let left = left.as_mut()?;
        left.in_flight -= std::mem::take(&mut self.count);
        left.ids.extend(self.ids.drain(..).rev());
        Some((left.progress(), left.in_flight == 0 && left.ids.is_empty()))
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if self.count > 0 {
            self.give_back();
        }
    }
}

impl Backlog {
    pub(crate) fn new(mut ids: Vec<MemoryId>) -> Self {
        ids.reverse();
        let total = ids.len() as u64;
        Self(Mutex::new((total > 0).then_some(Left { ids, in_flight: 0, total })))
    }

    /// Whether the index lacks nothing.
    pub(crate) fn is_complete(&self) -> bool {
        self.0.lock().is_none()
    }

    /// How far the index is; `None` if it is complete.
    pub(crate) fn progress(&self) -> Option<IndexProgress> {
        self.0.lock().as_ref().map(Left::progress)
    }

    /// Takes a bounded piece; `None` if there is none left.
    pub(crate) fn take(&self) -> Option<Taken<'_>> {
        let mut left = self.0.lock();
        let left = left.as_mut().filter(|it| !it.ids.is_empty())?;
        let from = left.ids.len().saturating_sub(AT_ONCE);
        let ids: Vec<MemoryId> = left.ids.drain(from..).rev().collect();
        left.in_flight += ids.len();
        Some(Taken { backlog: self, count: ids.len(), ids })
    }

    /// The index is complete.
    pub(crate) fn complete(&self) {
        *self.0.lock() = None;
    }
}
