//! Counting memories.

use std::collections::BTreeMap;

use crate::check;
use crate::index::condition::Condition;
use crate::index::view::Names;
use crate::store::Store;
use crate::store::exact::Exact;
use crate::{Counts, Filter, Result};

impl Store {
    /// Counts the memories that match a filter, also by kind, tag and space.
    ///
    /// Takes time in proportion to the memories in the filter's space.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for a filter out of range.
    pub fn count(&self, filter: &Filter) -> Result<Counts> {
        check::check(filter)?;
        if !self.index.backlog.is_complete() {
            return self.count_by_state(filter);
        }
        let view = self.index.view.read();
        let condition = Condition::new(filter, &view);
        let mut counts = Counts::default();
        let mut kinds = vec![0; view.names.len()];
        let mut tags = kinds.clone();
        let is_wanted = |name: &str| filter.space.as_deref().is_none_or(|space| space == name);
        for (name, space) in view.spaces.iter().filter(|(name, _)| is_wanted(name)) {
            let mut count = 0;
            for fact in space.facts.iter().flatten().filter(|fact| condition.holds(fact)) {
                count += 1;
                kinds[fact.kind as usize] += 1;
                for tag in fact.labels.tags() {
                    tags[*tag as usize] += 1;
                }
            }
            counts.memories += count;
            counts.by_space.extend((count > 0).then(|| (name.clone(), count)));
        }
        counts.by_kind = named(&kinds, &view.names);
        counts.by_tag = named(&tags, &view.names);
        Ok(counts)
    }

    /// The same from the state, because the index is incomplete.
    fn count_by_state(&self, filter: &Filter) -> Result<Counts> {
        let exact = Exact::new(filter);
        let mut counts = Counts::default();
        self.records.state.heads(&mut |id, head| {
            if head.deleted_at.is_some() {
                return Ok(());
            }
            let body = self.records.body(id, head.version)?;
            let Some(body) = body.filter(|body| exact.holds(body)) else { return Ok(()) };
            let text = body.text.unwrap_or_default();
            counts.memories += 1;
            *counts.by_space.entry(body.space).or_default() += 1;
            *counts.by_kind.entry(text.kind).or_default() += 1;
            for tag in text.tags {
                *counts.by_tag.entry(tag).or_default() += 1;
            }
            Ok(())
        })?;
        Ok(counts)
    }
}

/// The counts above 0, by name.
fn named(counts: &[u64], names: &Names) -> BTreeMap<String, u64> {
    let above = (0..).zip(counts).filter(|(_, count)| **count > 0);
    above.map(|(number, count)| (names.name(number).to_owned(), *count)).collect()
}
