//! A filter in the numbers of a view, which needs no text of a memory.

use crate::facet::Test;
use crate::index::view::{Fact, View};
use crate::{Filter, Timestamp};

/// The number of a name that no memory has.
const UNKNOWN: u32 = u32::MAX;

/// A filter in the view's numbers.
#[derive(Debug)]
pub(crate) struct Condition {
    /// `None` means any; an empty list means none.
    kinds: Option<Vec<u32>>,
    /// `None` means that a tag is unknown, so no memory has it.
    tags: Option<Vec<u32>>,
    /// `None` means any; an empty list means none.
    tags_any: Option<Vec<u32>>,
    /// Tests by the number of the key. `None` means that a key is unknown, so no memory has it.
    metadata: Option<Vec<(u32, Test)>>,
    session: Option<u32>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    pinned: Option<bool>,
    /// Excludes what has expired by this time; `None` if nothing has.
    now: Option<Timestamp>,
}

impl Condition {
    pub(crate) fn new(filter: &Filter, view: &View) -> Self {
        let names = &view.names;
        let known = |all: &[String]| all.iter().filter_map(|item| names.find(item)).collect();
        let any = |all: &[String]| (!all.is_empty()).then(|| known(all));
        let tests = filter.metadata.iter();
        Self {
            kinds: any(&filter.kinds),
            tags: filter.tags.iter().map(|tag| names.find(tag)).collect(),
            tags_any: any(&filter.tags_any),
            metadata: tests.map(|(key, it)| Some((names.find(key)?, Test::new(it)))).collect(),
            session: filter
                .session
                .as_deref()
                .map(|session| names.find(session).unwrap_or(UNKNOWN)),
            since: filter.since,
            until: filter.until,
            pinned: filter.pinned,
            now: filter.now.filter(|now| view.expired(*now).next().is_some()),
        }
    }

    /// Whether every memory matches it.
    pub(crate) fn is_any(&self) -> bool {
        self.kinds.is_none()
            && self.tags.as_ref().is_some_and(Vec::is_empty)
            && self.tags_any.is_none()
            && self.metadata.as_ref().is_some_and(Vec::is_empty)
            && self.session.is_none()
            && self.since.is_none()
            && self.until.is_none()
            && self.pinned.is_none()
            && self.now.is_none()
    }

    pub(crate) fn holds(&self, fact: &Fact) -> bool {
        self.kinds.as_ref().is_none_or(|kind| kind.contains(&fact.kind))
            && self.has_tags(fact)
            && self
                .metadata
                .as_ref()
                .is_some_and(|metadata| metadata.iter().all(|it| passes(fact, it)))
            && self.session.is_none_or(|session| fact.session == Some(session))
            && self.since.is_none_or(|since| fact.created_at >= since)
            && self.until.is_none_or(|until| fact.created_at < until)
            && self.pinned.is_none_or(|pinned| fact.lifespan().pinned == pinned)
            && self.now.is_none_or(|now| !fact.lifespan().has_expired(now))
    }

    fn has_tags(&self, fact: &Fact) -> bool {
        let has = |tag: &u32| fact.labels.tags().contains(tag);
        self.tags.as_ref().is_some_and(|tag| tag.iter().all(has))
            && self.tags_any.as_ref().is_none_or(|any| any.iter().any(has))
    }
}

fn passes(fact: &Fact, (key, test): &(u32, Test)) -> bool {
    fact.labels.facets().any(|(own, facet)| own == *key && test.holds(facet))
}
