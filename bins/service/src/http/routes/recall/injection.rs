//! What is injected into a session at its start and for a prompt.

use waypost_api as api;
use waypost_memory::{Filter, SearchOptions};
use waypost_recall::{
    Candidate, Entry, Material, Moment, Session, SessionKey, Silence, Thread, Told, decide,
    query_of,
};

use super::THRESHOLD;
use crate::clock::now;
use crate::http::failure::Failure;
use crate::http::scoped::Scoped;
use crate::http::wire::recall::{DECISION, TURN, candidate, candidate_of_hit, recalled, role_of};
use crate::recall::Recall;

/// Hits that a prompt chooses from: turns of the session itself are among the best, and left out.
const PROMPT_HITS: usize = 24;
/// Hits that a brief chooses from.
const TASK_HITS: usize = 8;
const PINNED_MAX: usize = 10;
const DECISIONS_MAX: usize = 12;
/// Turns among which the ends of sessions are looked for.
const TURNS_MAX: usize = 100;
const THREADS_MAX: usize = 3;

/// Injects memories into one session.
pub(super) struct Injection<'a> {
    pub(super) scoped: Scoped,
    pub(super) recall: &'a Recall,
    pub(super) key: SessionKey,
    pub(super) harness: &'a str,
}

impl Injection<'_> {
    /// The brief of a session that starts, for that reason.
    pub(super) fn start(&self, source: Option<&str>) -> Result<api::Recalled, Failure> {
        let mut session = self.session();
        let is_compaction = source == Some("compact");
        if is_compaction && !session.is_compacted {
            // Without a hook before the compaction.
            self.recall.log.compacted(self.key.clone(), self.harness, now())?;
            session = self.session();
        }
        // A session that is resumed or forked still has its conversation.
        let goes_on = matches!(source, Some("resume" | "fork")) && !session.is_compacted;
        let (told, entry) = self.brief(&session, !goes_on)?;
        Ok(recalled(told, entry))
    }

    /// What a prompt gets; after a compaction, the brief comes before it.
    pub(super) fn prompt(&self, prompt: &str) -> Result<api::Recalled, Failure> {
        let session = self.session();
        let again = if session.is_compacted { Some(self.brief(&session, true)?.0) } else { None };
        let entry = Entry::new(self.key.clone(), self.harness, Moment::Prompt);
        let (mut told, entry) = match query_of(prompt) {
            None => (Told::nothing(Silence::ShortPrompt), entry),
            Some(query) => {
                let (found, answerable) = self.search(&query, PROMPT_HITS)?;
                let told = decide(&found, answerable, THRESHOLD, &self.session(), &self.key);
                (told, entry.with_search(answerable, THRESHOLD))
            }
        };
        let id = self.recall.log.append(entry.with_told(&told), now())?;
        if let Some(again) = again.filter(|again| !again.text.is_empty()) {
            let both = format!("{}\n\n{}", again.text, told.text);
            both.trim_end().clone_into(&mut told.text);
            told.used.splice(0..0, again.used);
            told.silence = None;
        }
        Ok(recalled(told, id))
    }

    fn session(&self) -> Session {
        self.recall.log.session(&self.key).unwrap_or_default()
    }

    /// Makes a brief and logs it. `is_fresh` says that the session has nothing of what was injected
    /// before.
    fn brief(&self, session: &Session, is_fresh: bool) -> Result<(Told, u64), Failure> {
        let mut has = session.clone();
        if is_fresh {
            has.injected.clear();
        }
        let told = waypost_recall::brief(&self.material(session)?, &has, &self.key);
        let moment = if session.is_compacted { Moment::Compact } else { Moment::Start };
        let entry = Entry { is_fresh, ..Entry::new(self.key.clone(), self.harness, moment) };
        let id = self.recall.log.append(entry.with_told(&told), now())?;
        Ok((told, id))
    }

    fn material(&self, session: &Session) -> Result<Material, Failure> {
        let newest = |filter: Filter, limit| {
            let filter = self.within(filter);
            self.scoped.list_newest(filter, None, limit)
        };
        let candidates = |memories: Vec<_>| memories.into_iter().map(candidate).collect();
        let pinned = newest(Filter::default().with_pinned(true), PINNED_MAX)?;
        let decisions = newest(Filter::default().with_kinds([DECISION]), DECISIONS_MAX)?;
        let turns = newest(Filter::default().with_kinds([TURN]), TURNS_MAX)?;
        let turns = turns.into_iter().filter_map(|other| {
            let role = role_of(&other)?;
            let turn = candidate(other);
            (!session.says(&self.key, &turn)).then_some((turn, role))
        });
        let threads = Thread::ends_of(turns, THREADS_MAX);
        let task = match threads.first() {
            Some(last) => self.task(last)?,
            None => Vec::new(),
        };
        let (pinned, decisions) = (candidates(pinned), candidates(decisions));
        Ok(Material { pinned, threads, decisions, task })
    }

    /// Memories that answer what a session ended with.
    fn task(&self, last: &Thread) -> Result<Vec<Candidate>, Failure> {
        let said: Vec<&str> = last.turns.iter().map(|turn| turn.content.as_str()).collect();
        let Some(query) = query_of(&said.join("\n")) else { return Ok(Vec::new()) };
        let (mut found, answerable) = self.search(&query, TASK_HITS)?;
        found.retain(|found| {
            answerable >= THRESHOLD && found.score.is_some_and(|score| score >= THRESHOLD)
        });
        Ok(found)
    }

    fn search(&self, query: &str, limit: usize) -> Result<(Vec<Candidate>, f64), Failure> {
        let options = SearchOptions::default()
            .with_limit(limit)
            .with_filter(self.within(Filter::default()))
            .with_min_score(0.0)
            .with_now(now());
        let found = self.scoped.search(query, options)?;
        Ok((found.hits.into_iter().map(candidate_of_hit).collect(), found.answerable))
    }

    fn within(&self, mut filter: Filter) -> Filter {
        filter.space = self.key.space.as_deref().map(str::to_owned);
        filter
    }
}
