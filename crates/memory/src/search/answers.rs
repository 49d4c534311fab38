//! The last answers, for callers that repeat a query: a page that is reloaded, an agent in its next
//! step. With 100,000 memories, an answer from here takes 8 µs, and ranking again about 3 ms: more
//! than the 1.5 ms that a repeated query may take over HTTP (`docs/benchmarks.md`).
//!
//! An answer depends on the query, the options, the model, and on what the index and the state
//! hold. Every write changes the index after the state and before it is answered, so an answer is
//! given again only while the index has not been changed since it was ranked.

use std::collections::VecDeque;

use parking_lot::Mutex;

use crate::{Memory, SearchOptions, SearchResult};

/// So many answers are remembered.
const ANSWERS_MAX: usize = 64;
/// An answer with more text is not: together they take 4 MiB at most.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// What was asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Question<'a> {
    pub(super) query: &'a str,
    pub(super) options: &'a SearchOptions,
    /// The hash of the model that made the query's vector, if it has one.
    pub(super) model: Option<[u8; 16]>,
}

#[derive(Debug)]
struct Answer {
    query: String,
    options: SearchOptions,
    model: Option<[u8; 16]>,
    result: SearchResult,
}

/// Answers that were ranked at one count of changes of the index, the latest last.
#[derive(Debug, Default)]
pub(crate) struct Answers(Mutex<(u64, VecDeque<Answer>)>);

impl Answers {
    /// The answer, if it was given before and the index has been changed `changes` times still.
    pub(super) fn find(&self, question: Question<'_>, changes: u64) -> Option<SearchResult> {
        let kept = self.0.lock();
        let (at, answers) = &*kept;
        let same = answers.iter().find(|it| *at == changes && it.answers(question));
        same.map(|it| it.result.clone())
    }

    /// Lets go of all texts.
    pub(crate) fn forget(&self) {
        self.0.lock().1.clear();
    }

    /// Remembers an answer that was ranked when the index had been changed `changes` times.
    pub(super) fn keep(&self, question: Question<'_>, changes: u64, result: &SearchResult) {
        let bytes: usize = result.hits.iter().map(|it| bytes(&it.memory)).sum();
        // What explains itself is asked for once.
        if question.options.explain || bytes + question.query.len() > ANSWER_BYTES_MAX {
            return;
        }
        let answer = Answer {
            query: question.query.to_owned(),
            options: question.options.clone(),
            model: question.model,
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
        let Self { query, options, model, .. } = self;
        Question { query, options, model: *model } == question
    }
}

/// Bytes that a memory's texts take, about.
fn bytes(memory: &Memory) -> usize {
    let tags: usize = memory.tags.iter().map(String::len).sum();
    let metadata: usize = memory
        .metadata
        .iter()
        .map(|(key, value)| {
            let text = match value {
                crate::MetadataValue::Text(text) => text.len(),
                _ => 0,
            };
            key.len() + text + size_of::<crate::MetadataValue>()
        })
        .sum();
    size_of::<Memory>() + memory.title.len() + memory.content.len() + tags + metadata
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SearchMode;

    fn question<'a>(query: &'a str, options: &'a SearchOptions) -> Question<'a> {
        Question { query, options, model: None }
    }

    #[test]
    fn an_answer_is_given_again_to_the_same_question_until_something_changes() {
        let (answers, options) = (Answers::default(), SearchOptions::default());
        let nothing = SearchResult { hits: Vec::new(), answerable: 0.0, mode: SearchMode::Lexical };
        let other = SearchOptions { limit: 3, ..SearchOptions::default() };
        answers.keep(question("cat", &options), 7, &nothing);
        assert_eq!(answers.find(question("cat", &options), 7), Some(nothing.clone()));
        assert_eq!(answers.find(question("cat", &options), 8), None);
        assert_eq!(answers.find(question("dog", &options), 7), None);
        assert_eq!(answers.find(question("cat", &other), 7), None);
        let by_meaning = Question { model: Some([1; 16]), ..question("cat", &options) };
        assert_eq!(answers.find(by_meaning, 7), None);
        // One that was ranked before the last change comes too late.
        answers.keep(question("dog", &options), 8, &nothing);
        answers.keep(question("cat", &options), 7, &nothing);
        assert_eq!(answers.find(question("cat", &options), 7), None);
        assert_eq!(answers.find(question("dog", &options), 8), Some(nothing));
    }

    #[test]
    fn the_oldest_answers_make_room() {
        let (answers, options) = (Answers::default(), SearchOptions::default());
        let nothing = SearchResult { hits: Vec::new(), answerable: 0.0, mode: SearchMode::Lexical };
        for at in 0..=ANSWERS_MAX {
            answers.keep(question(&at.to_string(), &options), 0, &nothing);
        }
        assert_eq!(answers.find(question("0", &options), 0), None);
        assert!(answers.find(question("1", &options), 0).is_some());
        assert_eq!(answers.0.lock().1.len(), ANSWERS_MAX);
    }
}
