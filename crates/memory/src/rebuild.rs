//! Building the index beside the searches: the store opens with a part of it, or without any, and
//! whoever has a thread to spare brings the rest in, piece by piece.

use std::sync::atomic::Ordering;

use crate::record::Body;
use crate::store::Store;
use crate::view::Prepared;
use crate::{Filter, IndexProgress, Memory, MemoryId, Result};

/// Memories that go into the index under one lock.
const AT_ONCE: usize = 256;

/// What the index still lacks.
#[derive(Debug, Default)]
pub(crate) struct Lacking {
    /// In descending order, so that the oldest is taken first.
    ids: Vec<MemoryId>,
    /// Those that threads have taken and not brought in yet.
    in_flight: usize,
    total: u64,
}

impl Lacking {
    /// `None` if nothing is lacking.
    pub(crate) fn new(mut ids: Vec<MemoryId>) -> Option<Self> {
        ids.reverse();
        let total = ids.len() as u64;
        (total > 0).then_some(Self { ids, in_flight: 0, total })
    }

    fn progress(&self) -> IndexProgress {
        let left = self.ids.len() + self.in_flight;
        IndexProgress { done: self.total.saturating_sub(left as u64), total: self.total }
    }
}

/// Memories that a thread is bringing in. What is still in `ids` when this is dropped, by an error
/// or a panic, is lacking again.
struct Taken<'a> {
    store: &'a Store,
    ids: Vec<MemoryId>,
    /// How many of those in flight are these.
    count: usize,
}

impl Taken<'_> {
    /// How far the index is then, and whether nothing more is lacking.
    fn give_back(&mut self) -> Option<(IndexProgress, bool)> {
        let mut lacking = self.store.lacking.lock();
        let left = lacking.as_mut()?;
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

impl Store {
    /// How far the index is, if it is being built anew. What is not in it yet can be read and
    /// changed, and is not found.
    pub fn index_progress(&self) -> Option<IndexProgress> {
        self.lacking.lock().as_ref().map(Lacking::progress)
    }

    /// Brings a bounded piece of what the index lacks into it; `None` when there is no more to do.
    /// Several threads may call it at once, and each does its own piece.
    pub fn build_index(&self) -> Result<Option<IndexProgress>> {
        let Some(mut taken) = self.take_lacking() else { return Ok(None) };
        self.bring_in(&taken.ids)?;
        taken.ids.clear();
        let Some((progress, is_last)) = taken.give_back() else { return Ok(None) };
        drop(taken);
        self.keep_up_text();
        if is_last {
            self.complete_index();
        }
        Ok(Some(progress))
    }

    fn take_lacking(&self) -> Option<Taken<'_>> {
        let mut lacking = self.lacking.lock();
        let left = lacking.as_mut().filter(|it| !it.ids.is_empty())?;
        let from = left.ids.len().saturating_sub(AT_ONCE);
        let ids: Vec<MemoryId> = left.ids.drain(from..).rev().collect();
        left.in_flight += ids.len();
        Some(Taken { store: self, count: ids.len(), ids })
    }

    fn bring_in(&self, ids: &[MemoryId]) -> Result<()> {
        let mut prepared: Vec<(MemoryId, Prepared)> = Vec::with_capacity(ids.len());
        for id in ids {
            prepared.extend(self.prepare(*id, None)?.map(|it| (*id, it)));
        }
        let mut view = self.view.write();
        for (id, prepared) in prepared {
            // Who changed or deleted it meanwhile brings the change in, and waits for the lock.
            let head = self.live_head(id)?;
            if head.is_some_and(|it| it.version == prepared.version) {
                view.refresh(id, Some(prepared));
            }
        }
        self.changes.since_snapshot.fetch_add(ids.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Takes in the vectors of what came after the model.
    fn complete_index(&self) {
        let in_flight = self.embedding.lock();
        let present = self.model.read().clone();
        if let Some(present) = &present {
            self.install_stored(present, &mut |install| install(&mut self.view.write()));
        }
        *self.lacking.lock() = None;
        drop(in_flight);
    }

    /// The first memories after `after` that meet a filter, by the state: the index lacks some.
    pub(crate) fn list_by_state(
        &self,
        filter: &Filter,
        after: Option<MemoryId>,
        limit: usize,
    ) -> Result<Vec<Memory>> {
        let mut found = Vec::new();
        let mut next = after.map_or(1, |it| it.get() + 1);
        while found.len() < limit {
            let Some((after, heads)) = self.state.heads_from(next)? else { break };
            for (id, head) in heads {
                if found.len() == limit || head.deleted_at.is_some() {
                    continue;
                }
                let body = self.body(id, head.version)?;
                if let Some(body) = body.filter(|it| meets(filter, it)) {
                    let memory = crate::commit::memory(id, head.version, head.updated_at, body);
                    found.push(self.complete(memory));
                }
            }
            next = after;
        }
        Ok(found)
    }
}

fn meets(filter: &Filter, body: &Body) -> bool {
    let Some(text) = &body.text else { return false };
    (filter.kinds.is_empty() || filter.kinds.contains(&text.kind))
        && filter.tags.iter().all(|it| text.tags.contains(it))
        && filter.space.as_ref().is_none_or(|it| *it == body.space)
        && filter.session.as_ref().is_none_or(|it| text.session.as_ref() == Some(it))
        && filter.since.is_none_or(|it| body.created_at >= it)
        && filter.until.is_none_or(|it| body.created_at < it)
}
