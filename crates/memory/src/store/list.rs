//! Listing memories, and the versions of one.

use crate::check;
use crate::facet::{Facet, Test};
use crate::index::condition::Condition;
use crate::limits::LIST_LIMIT_MAX;
use crate::record::Body;
use crate::state::keys::StoredVersion;
use crate::store::Store;
use crate::{Error, Filter, Memory, MemoryId, Metadata, Result, Version};

impl Store {
    /// Memories ordered by id, from the first after `after`.
    pub fn list(
        &self,
        filter: &Filter,
        after: Option<MemoryId>,
        limit: usize,
    ) -> Result<Vec<Memory>> {
        if !(1..=LIST_LIMIT_MAX).contains(&limit) {
            let reason = format!("is {limit}; expected 1 to {LIST_LIMIT_MAX}");
            return Err(Error::invalid("limit", reason));
        }
        check::filter(filter)?;
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
        let mut memories = Vec::with_capacity(ids.len());
        for id in ids {
            match self.get(id) {
                Ok(memory) => memories.push(memory),
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
                    found.push(self.index.complete(memory));
                }
            }
            next = after;
        }
        Ok(found)
    }

    /// All versions of a memory, oldest first. The last version of a deleted memory ends with its
    /// deletion.
    pub fn history(&self, id: MemoryId) -> Result<Vec<Version>> {
        let head = self.records.head(id)?.ok_or(Error::NotFound(id))?;
        let mut versions: Vec<Version> = Vec::new();
        for (number, stored) in self.records.stored_versions(id)? {
            if let Some(last) = versions.last_mut() {
                last.valid_until = Some(stored.valid_from);
            }
            versions.push(self.version(number, stored)?);
        }
        if let Some(last) = versions.last_mut() {
            last.valid_until = head.deleted_at;
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
        let valid_from = stored.valid_from;
        Ok(Version::of(version, valid_from, self.records.whole_body(stored)?))
    }
}

/// A filter on bodies, for memories that the index lacks.
struct Exact<'a> {
    filter: &'a Filter,
    tests: Vec<(&'a str, Test)>,
}

impl<'a> Exact<'a> {
    fn new(filter: &'a Filter) -> Self {
        let tests = filter.metadata.iter().map(|(key, it)| (key.as_str(), Test::new(it)));
        Self { filter, tests: tests.collect() }
    }

    fn holds(&self, body: &Body) -> bool {
        let Some(text) = &body.text else { return false };
        let filter = self.filter;
        let any_of = |wanted: &[String], own: &[String]| {
            wanted.is_empty() || wanted.iter().any(|it| own.contains(it))
        };
        any_of(&filter.kinds, std::slice::from_ref(&text.kind))
            && filter.tags.iter().all(|it| text.tags.contains(it))
            && any_of(&filter.tags_any, &text.tags)
            && filter.space.as_ref().is_none_or(|it| *it == body.space)
            && filter.session.as_ref().is_none_or(|it| text.session.as_ref() == Some(it))
            && filter.since.is_none_or(|it| body.created_at >= it)
            && filter.until.is_none_or(|it| body.created_at < it)
            && filter.is_pinned.is_none_or(|it| text.lifespan.is_pinned == it)
            && filter.now.is_none_or(|it| !text.lifespan.has_expired(it))
            && self.passes(&text.metadata)
    }

    fn passes(&self, metadata: &Metadata) -> bool {
        if self.tests.is_empty() {
            return true;
        }
        let facets = Facet::all(metadata);
        let passes = |(key, test): &(&str, Test)| {
            facets.iter().any(|(own, it)| own == key && test.holds(*it))
        };
        self.tests.iter().all(passes)
    }
}
