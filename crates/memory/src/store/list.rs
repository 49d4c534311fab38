//! Listing memories, and the versions of one.

use crate::check;
use crate::index::condition::Condition;
use crate::state::keys::Head;
use crate::store::exact::Exact;
use crate::store::{Store, missing_version};
use crate::{Error, Filter, Memory, MemoryId, Outline, Result, Version};

impl Store {
    /// Memories ordered by id, from the first after `after`.
    pub fn list(
        &self,
        filter: &Filter,
        after: Option<MemoryId>,
        limit: usize,
    ) -> Result<Vec<Memory>> {
        self.read_all(self.outline(filter, after, limit)?)
    }

    /// Outlines of the same memories, for callers that read one text after the other.
    pub fn outline(
        &self,
        filter: &Filter,
        after: Option<MemoryId>,
        limit: usize,
    ) -> Result<Vec<Outline>> {
        check_list(filter, limit)?;
        if !self.index.backlog.is_complete() {
            return self.list_by_state(filter, after, limit);
        }
        let ids: Vec<MemoryId> = {
            let view = self.index.view.read();
            let condition = Condition::new(filter, &view);
            let meets = |id: &MemoryId| {
                view.place(*id).is_some_and(|(name, space, slot)| {
                    filter.space.as_deref().is_none_or(|space| space == name)
                        && space.fact(slot).is_some_and(|fact| condition.holds(fact))
                })
            };
            match filter.pinned {
                Some(true) => view.pinned_after(after).filter(meets).take(limit).collect(),
                _ => view.ids_after(after).filter(meets).take(limit).collect(),
            }
        };
        self.outline_of(&ids, filter)
    }

    /// The memory of an outline, in the version that the outline has; `None` if its text was removed
    /// since.
    pub fn read_text(&self, outline: Outline) -> Result<Option<Memory>> {
        let (id, version) = (outline.id, outline.version);
        let memory = self.records.read_text(outline)?;
        if memory.is_none()
            && self.records.live_head(id)?.is_some_and(|head| head.version == version)
        {
            return Err(missing_version(id, version));
        }
        Ok(memory)
    }

    pub(super) fn read_all(&self, outlines: Vec<Outline>) -> Result<Vec<Memory>> {
        outlines.into_iter().filter_map(|outline| self.read_text(outline).transpose()).collect()
    }

    /// Outlines of the memories with these ids that still exist.
    pub(super) fn outline_of(&self, ids: &[MemoryId], filter: &Filter) -> Result<Vec<Outline>> {
        let mut outlines = Vec::with_capacity(ids.len());
        for id in ids {
            if let Some(head) = self.records.live_head(*id)? {
                outlines.push(self.outlined(*id, &head, filter));
            }
        }
        Ok(outlines)
    }

    /// The outline of a memory, as a reader of the filter's space sees it.
    pub(super) fn outlined(&self, id: MemoryId, head: &Head, filter: &Filter) -> Outline {
        let (version, updated_at) = (head.version, head.updated_at);
        let outline = Outline { id, version, updated_at, embedded: false, superseded_by: None };
        self.seen(self.index.outlined(outline), filter)
    }

    /// Outlines of the first memories after `after` that match a filter, from the state, because the index is
    /// incomplete.
    fn list_by_state(
        &self,
        filter: &Filter,
        after: Option<MemoryId>,
        limit: usize,
    ) -> Result<Vec<Outline>> {
        let exact = Exact::new(filter);
        let mut found = Vec::new();
        let mut next = after.map_or(1, |after| after.get() + 1);
        while found.len() < limit {
            let Some((after, heads)) = self.records.state.heads_from(next)? else { break };
            for (id, head) in heads {
                if found.len() == limit || head.deleted_at.is_some() {
                    continue;
                }
                let body = self.records.body(id, head.version)?;
                if body.is_some_and(|body| exact.holds(&body)) {
                    found.push(self.outlined(id, &head, filter));
                }
            }
            next = after;
        }
        Ok(found)
    }

    /// All versions of a memory, oldest first. A version ends with a deletion, or with the next
    /// version.
    pub fn history(&self, id: MemoryId) -> Result<Vec<Version>> {
        self.versions(id)?.into_iter().map(|version| self.read_version(version)).collect()
    }

    /// The same versions without what they say, for callers that read one after the other.
    pub fn versions(&self, id: MemoryId) -> Result<Vec<Version>> {
        let head = self.records.head(id)?.ok_or(Error::NotFound(id))?;
        let mut versions: Vec<Version> = Vec::new();
        for (number, stored) in self.records.stored_versions(id)? {
            let (valid_from, deleted_at) = (stored.valid_from, stored.deleted_at);
            if let Some(last) = versions.last_mut() {
                last.ended_at = Some(last.deleted_at.unwrap_or(valid_from));
            }
            let memory = stored.into_body(None).memory(id, number, valid_from);
            versions.push(Version { memory, has_text: false, ended_at: None, deleted_at });
        }
        if let Some(last) = versions.last_mut() {
            (last.ended_at, last.deleted_at) = (head.deleted_at, head.deleted_at);
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

    /// A version of [`Store::versions`] with what it says, unless that was removed.
    pub fn read_version(&self, version: Version) -> Result<Version> {
        let Memory { id, version: number, updated_at, .. } = version.memory;
        let Some(body) = self.records.body(id, number)? else { return Ok(version) };
        let has_text = body.text.is_some();
        Ok(Version { memory: body.memory(id, number, updated_at), has_text, ..version })
    }
}

pub(super) fn check_list(filter: &Filter, limit: usize) -> Result<()> {
    check::limit(limit)?;
    check::check(filter)
}
