//! The memories that the index lacks while it is built in the background: the store opens with a
//! part of the index, or with none, and threads add the rest in bounded pieces.

use parking_lot::Mutex;

use crate::{IndexProgress, MemoryId};

/// Number of memories that are indexed under one lock.
const AT_ONCE: usize = 256;

/// The missing memories, until the index is complete.
#[derive(Debug)]
pub(crate) struct Backlog(Mutex<Option<Left>>);

/// The memories that are still missing.
#[derive(Debug)]
struct Left {
    /// In descending order, so that the oldest is taken first.
    ids: Vec<MemoryId>,
    /// Number of memories that threads have taken but not indexed yet.
    in_flight: usize,
    total: u64,
}

impl Left {
    fn progress(&self) -> IndexProgress {
        let left = self.ids.len() + self.in_flight;
        IndexProgress { done: self.total.saturating_sub(left as u64), total: self.total }
    }
}

/// Memories that a thread is indexing. Unless it [ends](Taken::end) successfully, they are missing
/// again.
pub(crate) struct Taken<'a> {
    backlog: &'a Backlog,
    pub(crate) ids: Vec<MemoryId>,
    /// Their number among those in flight.
    count: usize,
}

impl Taken<'_> {
    /// Marks them as indexed. Returns the progress, and whether the index is complete.
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

    /// Whether the index is complete.
    pub(crate) fn is_complete(&self) -> bool {
        self.0.lock().is_none()
    }

    /// The progress of the index; `None` if it is complete.
    pub(crate) fn progress(&self) -> Option<IndexProgress> {
        self.0.lock().as_ref().map(Left::progress)
    }

    /// Takes a bounded piece; `None` if there is none left.
    pub(crate) fn take(&self) -> Option<Taken<'_>> {
        let mut left = self.0.lock();
        let left = left.as_mut().filter(|left| !left.ids.is_empty())?;
        let from = left.ids.len().saturating_sub(AT_ONCE);
        let ids: Vec<MemoryId> = left.ids.drain(from..).rev().collect();
        left.in_flight += ids.len();
        Some(Taken { backlog: self, count: ids.len(), ids })
    }

    /// Marks the index as complete.
    pub(crate) fn complete(&self) {
        *self.0.lock() = None;
    }
}
