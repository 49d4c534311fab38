//! A cache of results, for callers that repeat a query: a reloaded page, the next step of an agent.
//! With 100,000 memories, a cached result takes 8 µs and ranking takes about 3 ms, more than the
//! 1.5 ms that a repeated query may take over HTTP (`docs/benchmarks.md`).
//!
//! A result depends on the query, the options, the model, the index and the state. Every write
//! changes the index after the state and before it is acknowledged, so a cached result is valid as
//! long as the index has not changed since the result was ranked, and the same memories have expired.

use std::collections::VecDeque;

use parking_lot::Mutex;

use crate::index::view::day_of;
use crate::{Filter, Memory, SearchOptions, SearchResult, Timestamp};

/// Maximum number of cached results.
const ANSWERS_MAX: usize = 64;
/// Maximum text of a cached result: all results together take at most 4 MiB.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// A query with everything that its result depends on, except for the index.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question<'a> {
    pub(super) query: &'a str,
    pub(super) options: &'a SearchOptions,
    /// The hash of the model that computed the query's vector, if there is one.
    pub(super) model: Option<[u8; 16]>,
    /// When the last memory expired that has expired by the time of the query: this, and not the
    /// time, tells which memories are hidden.
    pub(super) expired_until: Option<Timestamp>,
}

#[derive(Debug)]
struct Answer {
    query: String,
    options: SearchOptions,
    model: Option<[u8; 16]>,
    expired_until: Option<Timestamp>,
    result: SearchResult,
}

/// Results that were ranked at the same number of changes of the index, the newest last.
#[derive(Debug, Default)]
pub(crate) struct Answers(Mutex<(u64, VecDeque<Answer>)>);

impl Answers {
    /// The cached result, if it was ranked when the index had changed `changes` times.
    pub(super) fn find(&self, question: Question<'_>, changes: u64) -> Option<SearchResult> {
        let kept = self.0.lock();
        let (at, answers) = &*kept;
        let same = answers.iter().find(|answer| *at == changes && answer.answers(question));
        same.map(|same| same.result.clone())
    }

    /// Clears the cache.
    pub(crate) fn forget(&self) {
        self.0.lock().1.clear();
    }

    /// Caches a result that was ranked when the index had changed `changes` times.
    pub(super) fn keep(&self, question: Question<'_>, changes: u64, result: &SearchResult) {
        let bytes: usize = result.hits.iter().map(|hit| bytes(&hit.memory)).sum();
        let has_outlines = result.hits.iter().any(|hit| hit.memory.content.is_empty());
        // Explained results are requested only once.
        if has_outlines
            || question.options.explain
            || bytes + question.query.len() > ANSWER_BYTES_MAX
        {
            return;
        }
        let answer = Answer {
            query: question.query.to_owned(),
            options: question.options.clone(),
            model: question.model,
            expired_until: question.expired_until,
            result: result.clone(),
        };
        let mut kept = self.0.lock();
        let (at, answers) = &mut *kept;
        if *at > changes {
            return;
        }
        if *at < changes {
            *at = changes;
            answers.clear();
        }
        if answers.len() == ANSWERS_MAX {
            answers.pop_front();
        }
        answers.push_back(answer);
    }
}

impl Answer {
    fn answers(&self, question: Question<'_>) -> bool {
        let Self { query, options, model, expired_until, result: _ } = self;
        query == question.query
            && is_same(options, question.options)
            && (*model, *expired_until) == (question.model, question.expired_until)
    }
}

/// Whether options are the same except for the present time: of that of the question, only the day
/// counts.
fn is_same(one: &SearchOptions, other: &SearchOptions) -> bool {
    let SearchOptions { limit, filter, mode, explain, min_score, include_superseded, .. } = one;
    let times = |options: &SearchOptions| {
        (options.recency, options.valid_at, options.as_of, options.now.map(day_of))
    };
    let Filter { kinds, tags, tags_any, metadata, space, session, since, until, pinned, now: _ } =
        filter;
    let wanted = &other.filter;
    (limit, mode, explain) == (&other.limit, &other.mode, &other.explain)
        && (min_score, include_superseded) == (&other.min_score, &other.include_superseded)
        && times(one) == times(other)
        && (kinds, tags, space) == (&wanted.kinds, &wanted.tags, &wanted.space)
        && (tags_any, metadata) == (&wanted.tags_any, &wanted.metadata)
        && (session, since, until) == (&wanted.session, &wanted.since, &wanted.until)
        && *pinned == wanted.pinned
}

/// The approximate size of a memory's texts in bytes.
fn bytes(memory: &Memory) -> usize {
    let tags: usize = memory.tags.iter().map(String::len).sum();
    let metadata: usize = memory
        .metadata
        .iter()
        .map(|(key, value)| {
            let text = match value {
                crate::Scalar::String(text) => text.len(),
                _ => 0,
            };
            key.len() + text + size_of::<crate::Scalar>()
        })
        .sum();
    size_of::<Memory>() + memory.title.len() + memory.content.len() + tags + metadata
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Rerank, SearchMode};

    fn question<'a>(query: &'a str, options: &'a SearchOptions) -> Question<'a> {
        Question { query, options, model: None, expired_until: None }
    }

    fn nothing() -> SearchResult {
        let (mode, rerank) = (SearchMode::Lexical, Rerank::Off);
        let only_stop_words = false;
        SearchResult {
            hits: Vec::new(),
            answerable: 0.0,
            mode,
            rerank,
            forgotten: 0,
            only_stop_words,
        }
    }

    #[test]
    fn an_answer_is_given_again_to_the_same_question_until_something_changes() {
        let (answers, options) = (Answers::default(), SearchOptions::default());
        let nothing = nothing();
        let other = SearchOptions { limit: 3, ..SearchOptions::default() };
        answers.keep(question("cat", &options), 7, &nothing);
        assert_eq!(answers.find(question("cat", &options), 7), Some(nothing.clone()));
        assert_eq!(answers.find(question("cat", &options), 8), None);
        assert_eq!(answers.find(question("dog", &options), 7), None);
        assert_eq!(answers.find(question("cat", &other), 7), None);
        let by_meaning = Question { model: Some([1; 16]), ..question("cat", &options) };
        assert_eq!(answers.find(by_meaning, 7), None);
        let later = Question { expired_until: Some(Timestamp::EPOCH), ..question("cat", &options) };
        assert_eq!(answers.find(later, 7), None);
        let at_another_time =
            SearchOptions::default().with_filter(Filter::default().with_now(Timestamp::EPOCH));
        assert!(answers.find(question("cat", &at_another_time), 7).is_some());
        // A result that was ranked before the last change is not cached.
        answers.keep(question("dog", &options), 8, &nothing);
        answers.keep(question("cat", &options), 7, &nothing);
        assert_eq!(answers.find(question("cat", &options), 7), None);
        assert_eq!(answers.find(question("dog", &options), 8), Some(nothing));
    }

    #[test]
    fn the_oldest_answers_make_room() {
        let (answers, options) = (Answers::default(), SearchOptions::default());
        let nothing = nothing();
        for at in 0..=ANSWERS_MAX {
            answers.keep(question(&at.to_string(), &options), 0, &nothing);
        }
        assert_eq!(answers.find(question("0", &options), 0), None);
        assert!(answers.find(question("1", &options), 0).is_some());
        assert_eq!(answers.0.lock().1.len(), ANSWERS_MAX);
    }
}
