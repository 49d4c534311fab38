//! Listing memories, the newest first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use waypost_ranking::Slot;

use crate::index::condition::Condition;
use crate::state::keys::Head;
use crate::store::Store;
use crate::store::exact::Exact;
use crate::store::list::check_list;
use crate::{Error, Filter, Memory, MemoryId, Outline, Result, Timestamp};

/// A memory's place in the list; the highest place comes first.
type Place = (Timestamp, MemoryId);

impl Store {
    /// Memories in descending order of their creation, then of their ids, from the first after the
    /// place of `after`: the last id of the previous call, also if that memory was deleted since. A
    /// memory that is added meanwhile moves none between the pages.
    ///
    /// Takes time in proportion to the memories in the filter's space.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a limit or a filter out of range, and if the store, or the filter's
    /// space, never had a memory `after`.
    pub fn list_newest(
        &self,
        filter: &Filter,
        after: Option<MemoryId>,
        limit: usize,
    ) -> Result<Vec<Memory>> {
        self.read_all(self.outline_newest(filter, after, limit)?)
    }

    /// Outlines of the same memories, as by [`Store::outline`].
    ///
    /// # Errors
    /// As [`Store::list_newest`].
    pub fn outline_newest(
        &self,
        filter: &Filter,
        after: Option<MemoryId>,
        limit: usize,
    ) -> Result<Vec<Outline>> {
        check_list(filter, limit)?;
        let before = after.map(|after| self.place_of(after, filter)).transpose()?;
        if !self.index.backlog.is_complete() {
            return self.newest_by_state(filter, before, limit);
        }
        let ids = self.newest_by_index(filter, before, limit);
        self.outline_of(&ids, filter)
    }

    /// The place of a memory that was listed with this filter.
    fn place_of(&self, id: MemoryId, filter: &Filter) -> Result<Place> {
        let head = self.records.head(id)?;
        let stored = head.map(|head| self.records.stored_version(id, head.version)).transpose()?;
        let is_within = |space: &str| filter.space.as_deref().is_none_or(|other| other == space);
        let found = stored.flatten().filter(|stored| is_within(&stored.space));
        let found = found.ok_or_else(|| {
            let reason = format!("is {id}; expected the last id of the previous page");
            Error::invalid("after", reason)
        })?;
        Ok((found.created_at, id))
    }

    fn newest_by_index(
        &self,
        filter: &Filter,
        before: Option<Place>,
        limit: usize,
    ) -> Vec<MemoryId> {
        let view = self.index.view.read();
        let condition = Condition::new(filter, &view);
        let is_wanted = |name: &str| filter.space.as_deref().is_none_or(|space| space == name);
        // The newest so far, the oldest of them on top.
        let mut newest: BinaryHeap<Reverse<Place>> = BinaryHeap::with_capacity(limit + 1);
        for (_, space) in view.spaces.iter().filter(|(name, _)| is_wanted(name)) {
            for (slot, fact) in space.facts.iter().enumerate() {
                let Some(fact) = fact else { continue };
                let oldest = newest.peek().map(|newest| newest.0).filter(|_| newest.len() == limit);
                let is_too_old = oldest.is_some_and(|oldest| fact.created_at < oldest.0);
                if is_too_old || before.is_some_and(|before| fact.created_at > before.0) {
                    continue;
                }
                let Some(id) = space.slots.id(slot as Slot).and_then(MemoryId::new) else {
                    continue;
                };
                let place = (fact.created_at, id);
                if oldest.is_some_and(|oldest| place < oldest)
                    || before.is_some_and(|before| place >= before)
                    || !condition.holds(fact)
                {
                    continue;
                }
                newest.push(Reverse(place));
                if newest.len() > limit {
                    newest.pop();
                }
            }
        }
        newest.into_sorted_vec().into_iter().map(|Reverse((_, id))| id).collect()
    }

    /// The same from the state, because the index is incomplete.
    fn newest_by_state(
        &self,
        filter: &Filter,
        before: Option<Place>,
        limit: usize,
    ) -> Result<Vec<Outline>> {
        let mut places: Vec<(Place, Head)> = Vec::new();
        self.records.state.heads(&mut |id, head| {
            if head.deleted_at.is_none()
                && let Some(stored) = self.records.stored_version(id, head.version)?
            {
                let place = (stored.created_at, id);
                places.extend(before.is_none_or(|before| place < before).then_some((place, head)));
            }
            Ok(())
        })?;
        places.sort_unstable_by_key(|place| Reverse(place.0));
        let exact = Exact::new(filter);
        let mut found = Vec::new();
        for ((_, id), head) in places {
            if found.len() == limit {
                break;
            }
            let body = self.records.body(id, head.version)?;
            if body.is_some_and(|body| exact.holds(&body)) {
                found.push(self.outlined(id, &head, filter));
            }
        }
        Ok(found)
    }
}
