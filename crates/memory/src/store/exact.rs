//! Filters on what the state and the log have, for memories that the index lacks.

use crate::body::Body;
use crate::facet::{Facet, Test};
use crate::{Filter, Metadata};

/// A filter on bodies, for memories that the index lacks.
pub(super) struct Exact<'a> {
    filter: &'a Filter,
    tests: Vec<(&'a str, Test)>,
}

impl<'a> Exact<'a> {
    pub(super) fn new(filter: &'a Filter) -> Self {
        let tests = filter.metadata.iter().map(|(key, it)| (key.as_str(), Test::new(it)));
        Self { filter, tests: tests.collect() }
    }

    pub(super) fn holds(&self, body: &Body) -> bool {
        let Some(text) = &body.text else { return false };
        let filter = self.filter;
        let any_of = |wanted: &[String], own: &[String]| {
            wanted.is_empty() || wanted.iter().any(|wanted| own.contains(wanted))
        };
        any_of(&filter.kinds, std::slice::from_ref(&text.kind))
            && filter.tags.iter().all(|tag| text.tags.contains(tag))
            && any_of(&filter.tags_any, &text.tags)
            && filter.space.as_ref().is_none_or(|space| *space == body.space)
            && filter.session.as_ref().is_none_or(|session| text.session.as_ref() == Some(session))
            && filter.since.is_none_or(|since| body.created_at >= since)
            && filter.until.is_none_or(|until| body.created_at < until)
            && filter.pinned.is_none_or(|pinned| text.lifespan.pinned == pinned)
            && filter.now.is_none_or(|now| !text.lifespan.has_expired(now))
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
