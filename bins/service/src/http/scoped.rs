//! What a caller may see and change in the store and on the bus.
//!
//! [`Scoped`] is created from an authenticated caller and is the only way for a route to a memory,
//! a link, a count or an event; [`Whole`] accesses all of them at once, for callers that are not
//! bound to a space. Visibility is decided only here. A test ensures that no route bypasses this
//! module.

use std::sync::Arc;

use waypost_api::ListOrder;
use waypost_auth::Scope;
use waypost_events::{Bus, Event, Page, Pattern, Published, Query, Tail};
use waypost_memory::{
    Addition, Counts, Draft, Error, Filter, Link, LinkKind, Linked, Memory, MemoryId, Outline,
    Patch, Request, RequestKey, SearchOptions, SearchResult, Status, Store, SuggestionOptions,
    Suggestions, Version,
};
use waypost_time::Timestamp;

use crate::app::App;
use crate::clock::now;
use crate::events::broadcast::Frame;
use crate::http::failure::Failure;
use crate::http::guard::Caller;
use crate::memory::publisher::{About, Publisher};

/// The store and the bus as one caller sees them.
#[derive(Debug, Clone)]
pub(crate) struct Scoped {
    store: Arc<Store>,
    bus: Arc<Bus>,
    caller: Caller,
    publisher: Arc<Publisher>,
}

/// The whole store and the whole bus.
#[derive(Debug, Clone)]
pub(crate) struct Whole {
    pub(crate) store: Arc<Store>,
    pub(crate) bus: Arc<Bus>,
}

impl App {
    /// The store, for the keys of requests that change something else.
    pub(crate) fn keys(&self) -> &Arc<Store> {
        &self.store
    }

    /// The caller's view of the store and the bus.
    pub(crate) fn scoped(&self, caller: &Caller) -> Scoped {
        Scoped {
            store: Arc::clone(&self.store),
            bus: Arc::clone(&self.events),
            caller: caller.clone(),
            publisher: Arc::clone(&self.publisher),
        }
    }

    /// The whole store and bus; 403 for a caller that is bound to a space.
    pub(crate) fn whole(&self, caller: &Caller) -> Result<Whole, Failure> {
        caller.require_all_spaces()?;
        Ok(Whole { store: Arc::clone(&self.store), bus: Arc::clone(&self.events) })
    }
}

impl Scoped {
    fn space(&self) -> Option<&str> {
        self.caller.space()
    }

    /// Whether data of that space is visible to the caller. Data without a space is visible to
    /// callers of all spaces.
    fn sees(&self, space: Option<&str>) -> bool {
        self.space().is_none_or(|own| space == Some(own))
    }

    fn visible(&self, id: MemoryId) -> Result<Memory, Error> {
        let memory = self.store.get(id)?;
        let is_visible = self.sees(Some(&memory.space)) && !memory.lifespan().has_expired(now());
        if is_visible { Ok(memory) } else { Err(Error::NotFound(id)) }
    }

    /// The store for one request about memories. It does not change memories that the caller may not
    /// see, but repeats the outcome of an earlier request with the same key.
    fn request(&self, key: Option<RequestKey>, ids: &[MemoryId]) -> Result<Request<'_>, Error> {
        let mut hidden = None;
        for id in ids {
            match self.visible(*id) {
                Ok(_) => {}
                Err(Error::NotFound(id)) => hidden = hidden.or(Some(id)),
                Err(error) => return Err(error),
            }
        }
        Ok(self.store.request(key).with_hidden(hidden))
    }

    /// A memory without its references to memories that the caller does not see.
    fn shown(&self, mut memory: Memory) -> Memory {
        if memory.superseded_by.is_some() {
            memory.superseded_by = self.store.superseded_by(memory.id, self.space(), Some(now()));
        }
        memory
    }

    /// The filter, restricted to the caller's space and to memories that have not expired.
    fn within(&self, filter: &mut Filter) {
        filter.now = Some(now());
        if let Some(own) = self.space() {
            filter.space = Some(own.to_owned());
        }
    }

    /// A draft in the caller's space, with the note from which its event is published.
    pub(crate) fn addition(&self, mut draft: Draft, key: Option<RequestKey>) -> Addition {
        if let Some(own) = self.space() {
            draft.space = Some(own.to_owned());
        }
        let note = self.publisher.note(&self.caller.lineage(), About::Memory);
        Addition::from(draft).with_note(note).with_key(key)
    }

    /// The store, for adding drafts from [`Self::addition`].
    pub(crate) fn adding(&self) -> &Arc<Store> {
        &self.store
    }

    pub(crate) fn get(&self, id: MemoryId) -> Result<Memory, Failure> {
        Ok(self.shown(self.visible(id)?))
    }

    /// What to return for an existing memory that an add found.
    pub(crate) fn added(&self, memory: Memory) -> Memory {
        let memory = self.shown(memory);
        if self.caller.may(Scope::MemoryRead) { memory } else { memory.as_sent() }
    }

    /// What to return for a memory that the caller has added before, with the same key.
    pub(crate) fn added_before(&self, memory: Memory) -> Memory {
        self.shown(memory)
    }

    pub(crate) fn update(
        &self,
        id: MemoryId,
        patch: Patch,
        key: Option<RequestKey>,
    ) -> Result<Memory, Failure> {
        Ok(self.changed(self.request(key, &[id])?.update(id, patch, now())?))
    }

    /// What to return for a memory that the caller has changed: a change is no way to read it.
    fn changed(&self, memory: Memory) -> Memory {
        let memory = self.shown(memory);
        if self.caller.may(Scope::MemoryRead) { memory } else { memory.without_text() }
    }

    /// Merges two memories.
    pub(crate) fn merge(
        &self,
        (into, from): (MemoryId, MemoryId),
        patch: Patch,
        key: Option<RequestKey>,
    ) -> Result<Memory, Failure> {
        let merged = self.request(key, &[into, from])?.merge(into, from, patch, now());
        let pointer = |field: &str| match field {
            "into" | "from" => format!("/{field}"),
            of_patch => format!("/set/{of_patch}"),
        };
        Ok(self.changed(merged.map_err(|error| Failure::of_store(error, pointer))?))
    }

    /// Gives a memory the fields of an earlier version.
    pub(crate) fn revert(
        &self,
        id: MemoryId,
        version: u32,
        key: Option<RequestKey>,
    ) -> Result<Memory, Failure> {
        Ok(self.changed(self.request(key, &[id])?.revert(id, version, now())?))
    }

    /// Restores a deleted memory.
    pub(crate) fn undelete(
        &self,
        id: MemoryId,
        key: Option<RequestKey>,
    ) -> Result<Memory, Failure> {
        // If an import deleted it, its space is unknown.
        if self.space().is_some() && !self.sees(self.store.space_of(id)?.as_deref()) {
            return Err(Error::NotFound(id).into());
        }
        Ok(self.changed(self.store.request(key).undelete(id, now())?))
    }

    pub(crate) fn delete(&self, id: MemoryId, key: Option<RequestKey>) -> Result<(), Failure> {
        Ok(self.request(key, &[id])?.delete(id, now())?)
    }

    /// The versions of a memory, also of a deleted one, without what they say.
    pub(crate) fn versions(&self, id: MemoryId) -> Result<Vec<Version>, Failure> {
        let versions = self.store.versions(id)?;
        if !versions.iter().all(|version| self.sees(Some(&version.memory.space))) {
            return Err(Error::NotFound(id).into());
        }
        // If an import deleted it, its space is unknown.
        if versions.is_empty() && self.space().is_some() {
            return Err(Error::NotFound(id).into());
        }
        Ok(versions)
    }

    /// A version of [`Self::versions`] with what it says.
    pub(crate) fn read_version(&self, version: Version) -> Result<Version, Failure> {
        Ok(self.store.read_version(version)?)
    }

    /// The memory of an outline of this view, unless its text was removed, or it has expired by a time.
    pub(crate) fn read_text(
        &self,
        outline: Outline,
        time: Timestamp,
    ) -> Result<Option<Memory>, Failure> {
        let memory = self.store.read_text(outline)?;
        Ok(memory.filter(|memory| !memory.lifespan().has_expired(time)))
    }

    pub(crate) fn list(
        &self,
        mut filter: Filter,
        after: Option<MemoryId>,
        limit: usize,
    ) -> Result<Vec<Memory>, Failure> {
        self.within(&mut filter);
        Ok(self.store.list(&filter, after, limit)?)
    }

    /// The same, the newest first.
    pub(crate) fn list_newest(
        &self,
        mut filter: Filter,
        after: Option<MemoryId>,
        limit: usize,
    ) -> Result<Vec<Memory>, Failure> {
        self.within(&mut filter);
        Ok(self.store.list_newest(&filter, after, limit)?)
    }

    /// Outlines of memories, in one of the two orders.
    pub(crate) fn outline(
        &self,
        mut filter: Filter,
        (after, limit): (Option<MemoryId>, usize),
        order: ListOrder,
    ) -> Result<Vec<Outline>, Failure> {
        self.within(&mut filter);
        let listed = match order {
            ListOrder::Id => self.store.outline(&filter, after, limit),
            ListOrder::Newest => self.store.outline_newest(&filter, after, limit),
        };
        listed.map_err(|error| match order {
            ListOrder::Id => error.into(),
            ListOrder::Newest => Failure::of_store(error, |field| format!("?{field}")),
        })
    }

    pub(crate) fn count(&self, mut filter: Filter) -> Result<Counts, Failure> {
        self.within(&mut filter);
        Ok(self.store.count(&filter)?)
    }

    pub(crate) fn search(
        &self,
        query: &str,
        mut options: SearchOptions,
    ) -> Result<SearchResult, Failure> {
        self.within(&mut options.filter);
        Ok(self.store.search(query, &options)?)
    }

    pub(crate) fn link(
        &self,
        (from, to): (MemoryId, MemoryId),
        kind: LinkKind,
        key: Option<RequestKey>,
    ) -> Result<Linked, Failure> {
        let request = self.request(key, &[from, to])?;
        // A link between two spaces belongs to neither.
        let (one, other) = (self.store.space_of(from)?, self.store.space_of(to)?);
        let space = one.filter(|one| other.as_ref() == Some(one));
        let about = About::Link { from, to, kind, space };
        let note = self.publisher.note(&self.caller.lineage(), about);
        Ok(request.link(from, to, kind, now(), note)?)
    }

    /// Removes a link; returns `false` if it did not exist.
    pub(crate) fn unlink(
        &self,
        (from, to): (MemoryId, MemoryId),
        kind: LinkKind,
        key: Option<RequestKey>,
    ) -> Result<bool, Failure> {
        Ok(self.request(key, &[from, to])?.unlink(from, to, kind, now())?)
    }

    /// The links around a memory, over memories that the caller may see only.
    pub(crate) fn links(&self, id: MemoryId, depth: u32) -> Result<Vec<Link>, Failure> {
        self.visible(id)?;
        Ok(self.store.links_seen(id, depth, self.space(), Some(now()))?)
    }

    /// Suggestions about memories that the caller may see; both memories of each are of one space.
    pub(crate) fn suggestions(
        &self,
        mut options: SuggestionOptions,
    ) -> Result<Suggestions, Failure> {
        if let Some(id) = options.id {
            self.visible(id)?;
        }
        options.now = Some(now());
        if let Some(own) = self.space() {
            options.space = Some(own.to_owned());
        }
        Ok(self.store.suggestions(&options)?)
    }

    /// Whether there may be suggestions about a memory that the caller has added. A caller that may
    /// not read memories learns of no others.
    pub(crate) fn may_have_similar(&self, id: MemoryId) -> bool {
        self.caller.may(Scope::MemoryRead) && self.store.may_have_similar(id, Some(now()))
    }

    pub(crate) fn status(&self) -> Result<Status, Failure> {
        Ok(match self.space() {
            Some(own) => self.store.counts_in(own)?,
            None => self.store.counts()?,
        })
    }

    /// Queues a draft from [`Self::publishing`].
    pub(crate) fn publish(
        &self,
        draft: waypost_events::Draft,
        now: Timestamp,
        then: Box<dyn FnOnce(waypost_events::Result<Published>) + Send>,
    ) -> waypost_events::Result<()> {
        self.bus.queue(draft, now, then)
    }

    /// The caller's draft of an event, with its source and space.
    pub(crate) fn publishing(&self, draft: waypost_events::Draft) -> waypost_events::Draft {
        let mut draft = draft.with_source(self.caller.source()).with_lineage(self.caller.lineage());
        draft.space = self.space().map(str::to_owned);
        draft
    }

    pub(crate) fn event(&self, id: u64) -> Result<Event, Failure> {
        self.find_event(id)?.ok_or_else(|| Failure::not_found(format!("no event {id}")))
    }

    pub(crate) fn find_event(&self, id: u64) -> Result<Option<Event>, Failure> {
        Ok(self.bus.get(id)?.filter(|bus| self.sees(bus.space.as_deref())))
    }

    pub(crate) fn events(&self, mut query: Query) -> waypost_events::Result<Page> {
        query.space = self.space().map(str::to_owned);
        self.bus.read(&query)
    }

    /// The last event of all spaces: the highest valid cursor.
    pub(crate) fn last_event(&self) -> u64 {
        self.bus.last()
    }

    pub(crate) fn tail(&self, pattern: Option<Pattern>, after: u64) -> Tail {
        let space = self.space().map(str::to_owned);
        Tail::new(Arc::clone(&self.bus), pattern, after).in_space(space)
    }

    /// Whether the caller may see a new event.
    pub(crate) fn receives(&self, frame: &Frame) -> bool {
        self.sees(frame.space.as_deref())
    }
}
