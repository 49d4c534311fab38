//! The links around a memory.

use crate::check::check_with;
use crate::index::visible_links::Sight;
use crate::limits::DEPTH_MAX;
use crate::store::Store;
use crate::{Error, Filter, Link, MemoryId, Outline, Result, Timestamp};

impl Store {
    /// Links in both directions around a memory, breadth first, each once, up to `depth` steps
    /// away (1 to [`DEPTH_MAX`]) and at most
    /// [`LINKS_RETURNED_MAX`](crate::limits::LINKS_RETURNED_MAX).
    pub fn links(&self, id: MemoryId, depth: u32) -> Result<Vec<Link>> {
        self.links_seen(id, depth, None, None)
    }

    /// The same over the links that a reader sees: those whose both memories are in `space`, if it is
    /// limited to one, and have not expired by `now`. The memory itself must be one of these.
    pub fn links_seen(
        &self,
        id: MemoryId,
        depth: u32,
        space: Option<&str>,
        now: Option<Timestamp>,
    ) -> Result<Vec<Link>> {
        check_with(|faults| faults.range("depth", Some(depth.into()), DEPTH_MAX))?;
        self.records.live_head(id)?.ok_or(Error::NotFound(id))?;
        Ok(self.with_sight(space, now, |it| it.walk(id, depth)))
    }

    /// The newest memory that updates this one, by the links that a reader sees; see
    /// [`links_seen`](Self::links_seen).
    pub fn superseded_by(
        &self,
        id: MemoryId,
        space: Option<&str>,
        now: Option<Timestamp>,
    ) -> Option<MemoryId> {
        self.with_sight(space, now, |it| it.superseded_by(id))
    }

    /// An outline as a reader of the filter's space sees it.
    pub(super) fn seen(&self, mut outline: Outline, filter: &Filter) -> Outline {
        if outline.superseded_by.is_some() {
            outline.superseded_by =
                self.superseded_by(outline.id, filter.space.as_deref(), filter.now);
        }
        outline
    }

    fn with_sight<T>(
        &self,
        space: Option<&str>,
        now: Option<Timestamp>,
        read: impl FnOnce(Sight<'_>) -> T,
    ) -> T {
        let view = self.index.view.read();
        let is_complete = self.index.backlog.is_complete();
        let beyond = |id| !is_complete && self.is_stored(id, space, now);
        read(Sight::new(&view, space, now).with_beyond(&beyond))
    }

    /// Whether a memory exists in a space, or in any, and has not expired, by the state and the log.
    fn is_stored(&self, id: MemoryId, space: Option<&str>, now: Option<Timestamp>) -> bool {
        let head = self.records.live_head(id).ok().flatten();
        let body = head.and_then(|head| self.records.body(id, head.version).ok().flatten());
        body.is_some_and(|body| {
            let lifespan = body.text.unwrap_or_default().lifespan;
            space.is_none_or(|space| space == body.space)
                && !now.is_some_and(|now| lifespan.has_expired(now))
        })
    }
}
