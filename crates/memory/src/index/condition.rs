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
        let known = |all: &[String]| all.iter().filter_map(|it| names.find(it)).collect();
        let any = |all: &[String]| (!all.is_empty()).then(|| known(all));
        let tests = filter.metadata.iter();
        Self {
            kinds: any(&filter.kinds),
            tags: filter.tags.iter().map(|it| names.find(it)).collect(),
            tags_any: any(&filter.tags_any),
            metadata: tests.map(|(key, it)| Some((names.find(key)?, Test::new(it)))).collect(),
            session: filter.session.as_deref().map(|it| names.find(it).unwrap_or(UNKNOWN)),
            since: filter.since,
            until: filter.until,
            pinned: filter.pinned,
            now: filter.now.filter(|it| view.expired(*it).next().is_some()),
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
        self.kinds.as_ref().is_none_or(|it| it.contains(&fact.kind))
            && self.has_tags(fact)
            && self.metadata.as_ref().is_some_and(|it| it.iter().all(|it| passes(fact, it)))
            && self.session.is_none_or(|it| fact.session == Some(it))
            && self.since.is_none_or(|it| fact.created_at >= it)
            && self.until.is_none_or(|it| fact.created_at < it)
            && self.pinned.is_none_or(|it| fact.lifespan().pinned == it)
            && self.now.is_none_or(|it| !fact.lifespan().has_expired(it))
    }

    fn has_tags(&self, fact: &Fact) -> bool {
        let has = |tag: &u32| fact.labels.tags().contains(tag);
        self.tags.as_ref().is_some_and(|it| it.iter().all(has))
            && self.tags_any.as_ref().is_none_or(|it| it.iter().any(has))
    }
}

fn passes(fact: &Fact, (key, test): &(u32, Test)) -> bool {
    fact.labels.facets().any(|(own, facet)| own == *key && test.holds(facet))
}
