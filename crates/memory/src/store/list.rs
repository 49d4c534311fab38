//! Listing memories, and the versions of one.

use crate::check;
use crate::index::condition::Condition;
use crate::limits::LIST_LIMIT_MAX;
use crate::state::keys::StoredVersion;
use crate::store::Store;
use crate::store::exact::Exact;
use crate::{Error, Filter, Memory, MemoryId, Result, Version};

impl Store {
    /// Memories ordered by id, from the first after `after`.
    pub fn list(
        &self,
        filter: &Filter,
        after: Option<MemoryId>,
        limit: usize,
    ) -> Result<Vec<Memory>> {
        check_list(filter, limit)?;
        if !self.index.backlog.is_complete() {
            return self.list_by_state(filter, after, limit);
        }
        let ids: Vec<MemoryId> = {
            let view = self.index.view.read();
            let condition = Condition::new(filter, &view);
            let meets = |id: &MemoryId| {
                view.place(*id).is_some_and(|(name, space, slot)| {
                    filter.space.as_deref().is_none_or(|it| it == name)
                        && space.fact(slot).is_some_and(|it| condition.holds(it))
                })
            };
            match filter.is_pinned {
                Some(true) => view.pinned_after(after).filter(meets).take(limit).collect(),
                _ => view.ids_after(after).filter(meets).take(limit).collect(),
            }
        };
        self.read_all(&ids, filter)
    }

    /// The memories of these ids that still exist, as a reader of the filter's space sees them.
    pub(super) fn read_all(&self, ids: &[MemoryId], filter: &Filter) -> Result<Vec<Memory>> {
        let mut memories = Vec::with_capacity(ids.len());
        for id in ids {
            match self.get(*id) {
                Ok(memory) => memories.push(self.seen(memory, filter)),
                Err(Error::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(memories)
    }

    /// The first memories after `after` that match a filter, from the state, because the index is
    /// incomplete.
    fn list_by_state(
        &self,
        filter: &Filter,
        after: Option<MemoryId>,
        limit: usize,
    ) -> Result<Vec<Memory>> {
        let exact = Exact::new(filter);
        let mut found = Vec::new();
        let mut next = after.map_or(1, |it| it.get() + 1);
        while found.len() < limit {
            let Some((after, heads)) = self.records.state.heads_from(next)? else { break };
            for (id, head) in heads {
                if found.len() == limit || head.deleted_at.is_some() {
                    continue;
                }
                let body = self.records.body(id, head.version)?;
                if let Some(body) = body.filter(|it| exact.holds(it)) {
                    let memory = Memory::of(id, head.version, head.updated_at, body);
                    found.push(self.seen(self.index.complete(memory), filter));
                }
            }
            next = after;
        }
        Ok(found)
    }

    /// All versions of a memory, oldest first. A version ends with a deletion, or with the next
    /// version.
    pub fn history(&self, id: MemoryId) -> Result<Vec<Version>> {
        let head = self.records.head(id)?.ok_or(Error::NotFound(id))?;
        let mut versions: Vec<Version> = Vec::new();
        for (number, stored) in self.records.stored_versions(id)? {
            if let Some(last) = versions.last_mut() {
                last.valid_until = Some(last.deleted_at.unwrap_or(stored.valid_from));
            }
            versions.push(self.version(number, stored)?);
        }
        if let Some(last) = versions.last_mut() {
            (last.valid_until, last.deleted_at) = (head.deleted_at, head.deleted_at);
        }
        Ok(versions)
    }

    /// Whether the text that a memory was added with is removed, or will be by the next
    /// [purge](crate::Compaction): the memory is deleted, or the text of its first version is gone.
    /// `false` for an id that was never used.
    pub fn is_forgotten(&self, id: MemoryId) -> Result<bool> {
        let Some(head) = self.records.head(id)? else { return Ok(false) };
        if head.deleted_at.is_some() || head.version == 1 {
            return Ok(head.deleted_at.is_some());
        }
        let versions = self.records.stored_versions(id)?;
        Ok(versions.first().is_some_and(|(_, it)| it.sequence.is_none()))
    }

    fn version(&self, version: u32, stored: StoredVersion) -> Result<Version> {
        let (valid_from, deleted_at) = (stored.valid_from, stored.deleted_at);
        let body = self.records.whole_body(stored)?;
        Ok(Version { deleted_at, ..Version::of(version, valid_from, body) })
    }
}

pub(super) fn check_list(filter: &Filter, limit: usize) -> Result<()> {
    if !(1..=LIST_LIMIT_MAX).contains(&limit) {
        let reason = format!("is {limit}; expected 1 to {LIST_LIMIT_MAX}");
        return Err(Error::invalid("limit", reason));
    }
    check::filter(filter)
}
