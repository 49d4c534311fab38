//! Queries.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use waypost_time::Timestamp;

use super::Context;
use super::serve::Server;
use crate::rank::{Ask, Candidate, Commits, Now, Selection, below_tested, candidates, fit, lanes};
use crate::{Answer, Query, Result};

impl Context {
    /// Returns the project context for a task.
    ///
    /// The file of every item is checked before the item is returned: deleted ones are left out,
    /// and changed ones are read again. So an answer never contains a text that no longer exists,
    /// whatever the index says. A query waits for a scan no longer than it takes to insert one
    /// file.
    ///
    /// # Errors
    /// If the query asks for too many items, or a glob is invalid.
    pub fn query(&self, query: &Query, now: Timestamp) -> Result<Answer> {
        let mut ask = Ask::new(query, &self.analyzer)?;
        let candidates = self.find(&mut ask, now);
        let weights = &self.options.weights;
        let selection = Selection::new(candidates, weights, ask.task, query.max_items);
        let mut items = Server::new(self, now).serve(selection);
        let truncated = query.max_tokens.is_some_and(|token| fit(&mut items, token));
        Ok(Answer {
            items,
            indexed_at: self.survey.read().indexed_at,
            pending: self.pending.load(Ordering::Relaxed),
            truncated,
            skipped: self.skipped(),
        })
    }

    fn find(&self, ask: &mut Ask<'_>, now: Timestamp) -> Vec<Candidate> {
        let weights = &self.options.weights;
        let commits = self.commits();
        if ask.is_empty() {
            let changed = self.past.read().changed.clone();
            let now = Now { time: now, changed: &changed, commits: commits.as_deref() };
            return lanes(&self.index.read(), ask, now);
        }
        if let Some(commits) = &commits {
            ask.weigh(commits);
        }
        let index = self.index.read();
        let mut found = candidates(&index, ask, commits.as_deref(), weights, now);
        below_tested(&index, ask, &mut found);
        drop(index);
        if let Some(commits) = commits.filter(|_| Commits::are_wanted(ask)) {
            let most = found.iter().map(|found| found.score).fold(0.0, f32::max);
            let most = if most > 0.0 { most } else { 1.0 };
            found.extend(commits.candidates(ask, weights, most, now));
        }
        found
    }

    /// The words of the commits, computed on first use.
    pub(super) fn commits(&self) -> Option<Arc<Commits>> {
        let (history, known) = {
            let past = self.past.read();
            (past.history.clone()?, past.commits.clone())
        };
        if known.is_some() {
            return known;
        }
        let made = Arc::new(Commits::new(&self.analyzer, Arc::clone(&history)));
        let mut past = self.past.write();
        let is_same = past.history.as_ref().is_some_and(|other| Arc::ptr_eq(other, &history));
        if is_same {
            past.commits = Some(Arc::clone(&made));
        }
        Some(made)
    }
}
