//! Compares the texts of memories that the index has found to be similar, and says what may be done
//! about them. Nothing here changes a memory or a link.

mod candidates;

use std::collections::BTreeSet;

use waypost_ranking::{Comparison, Difference, Verdict, periods};

use self::candidates::{Candidate, Extent, Scope};
use crate::body::BodyText;
use crate::check;
use crate::index::{Index, own_title};
use crate::records::Records;
use crate::{
    Error, Lifespan, MemoryId, Result, Suggestion, SuggestionKind, SuggestionOptions, Suggestions,
    Timestamp,
};

/// How many others a memory is compared with, the most similar first, if the caller names it …
const COMPARED_WITH_ONE_MAX: usize = 16;
/// … and if all memories are compared: of a hundred thousand copies, each is then reported beside
/// some of those before it.
const COMPARED_WITH_EACH_MAX: usize = 3;
/// How many memories are looked up in one call, the newest first.
const MEMORIES_MAX: usize = 100_000;
/// How many memories are looked up while writes wait.
const MEMORIES_AT_ONCE: usize = 64;
/// How many pairs of texts are compared in one call.
const PAIRS_MAX: usize = 1_000;
/// How many bytes of text are read in one call …
const BYTES_MAX: usize = 16 * 1024 * 1024;
/// … and for one memory with those that it is compared with, so that an add need not wait for long.
const BYTES_WITH_ONE_MAX: usize = 4 * 1024 * 1024;
/// Texts that are too long to be compared are duplicates from this similarity of their terms on.
const LONG_SIMILARITY_MIN: f32 = 0.9;
/// Memories with different titles need this share of common words in their contents to be about the
/// same subject.
const UNTITLED_SIMILARITY_MIN: f32 = 0.75;

/// A memory as it is now.
struct Read {
    id: MemoryId,
    created_at: Timestamp,
    title: String,
    content: String,
    lifespan: Lifespan,
}

/// What the titles of two memories say about their subjects.
#[derive(Debug, Clone, Copy)]
enum Labels {
    /// The titles are the same, or the beginnings of the contents: they belong to the texts.
    Same,
    /// They differ: only the contents are compared.
    Other,
    /// One names a date that the other does not: the memories say what held then.
    Dated,
}

impl Labels {
    fn of(newer: &Read, older: &Read) -> Self {
        let title = |read: &Read| own_title(&read.title, &read.content).to_owned();
        let (newer, older) = (title(newer), title(older));
        if newer == older {
            Self::Same
        } else if periods(&newer, Some(0)) == periods(&older, Some(0)) {
            Self::Other
        } else {
            Self::Dated
        }
    }
}

/// Compares memories, up to the limits of one call.
struct Comparing<'a> {
    records: &'a Records,
    index: &'a Index,
    /// The pairs of texts that were compared: the lower id, the higher one.
    compared: BTreeSet<(MemoryId, MemoryId)>,
    bytes_left: usize,
    found: Suggestions,
}

/// The suggestions that the options select.
pub(crate) fn suggestions(
    records: &Records,
    index: &Index,
    options: &SuggestionOptions,
) -> Result<Suggestions> {
    let limit = options.limit;
    check::limit(limit)?;
    let found = Suggestions { truncated: !index.backlog.is_complete(), ..Suggestions::default() };
    let mut comparing =
        Comparing { records, index, compared: BTreeSet::new(), bytes_left: BYTES_MAX, found };
    match options.id {
        Some(id) => comparing.one(id, options)?,
        None => comparing.all(options)?,
    }
    let mut found = comparing.found;
    found.suggestions.sort_by(|one, other| {
        let ids = |suggestion: &Suggestion| (suggestion.from, suggestion.to);
        other.score.total_cmp(&one.score).then_with(|| ids(other).cmp(&ids(one)))
    });
    found.truncated |= found.suggestions.len() > limit;
    found.suggestions.truncate(limit);
    Ok(found)
}

/// Whether the index may know memories whose words are similar to those of a memory: also if it is
/// being changed. Reads no texts and does not wait.
pub(crate) fn may_have_similar(index: &Index, id: MemoryId, now: Option<Timestamp>) -> bool {
    index.view.try_read().is_none_or(|view| Scope { view: &view, now }.has_similar(id))
}

impl Comparing<'_> {
    /// Compares one memory with all others.
    fn one(&mut self, id: MemoryId, options: &SuggestionOptions) -> Result<()> {
        let head = self.records.live_head(id)?.ok_or(Error::NotFound(id))?;
        let stored = self.records.stored_version(id, head.version)?;
        let in_space = |name: &str| stored.as_ref().is_some_and(|stored| stored.space == name);
        if let Some(space) = options.space.as_deref().filter(|space| !in_space(space)) {
            return Err(Error::NotInSpace { id, space: space.to_owned() });
        }
        let found = {
            let view = self.index.view.read();
            let scope = Scope { view: &view, now: options.now };
            scope.candidates(id, Extent::Around, COMPARED_WITH_ONE_MAX)
        };
        self.found.truncated |= found.is_cut;
        self.bytes_left = BYTES_WITH_ONE_MAX;
        self.compare(id, &found.candidates)
    }

    /// Compares all memories with older ones, the newest first.
    fn all(&mut self, options: &SuggestionOptions) -> Result<()> {
        let (mut before, mut looked_up) = (options.before, 0);
        loop {
            let (mut last_looked_up, mut similar) = (None, Vec::new());
            {
                let view = self.index.view.read();
                let scope = Scope { view: &view, now: options.now };
                let ids: Vec<MemoryId> = view.ids_before(before).take(MEMORIES_AT_ONCE).collect();
                let Some(last) = ids.last() else {
                    self.found.next = None;
                    return Ok(());
                };
                before = Some(*last);
                for id in ids {
                    if !view.is_in(id, options.space.as_deref()) {
                        continue;
                    }
                    last_looked_up = Some(id);
                    looked_up += 1;
                    let found = scope.candidates(id, Extent::Older, COMPARED_WITH_EACH_MAX);
                    self.found.truncated |= found.is_cut;
                    if !found.candidates.is_empty() {
                        similar.push((id, found.candidates));
                    }
                }
            }
            for (id, candidates) in similar {
                if self.is_spent() {
                    self.found.truncated = true;
                    return Ok(());
                }
                self.compare(id, &candidates)?;
                self.found.next = Some(id);
            }
            self.found.next = last_looked_up.or(self.found.next);
            if looked_up >= MEMORIES_MAX {
                self.found.truncated = true;
                return Ok(());
            }
        }
    }

    /// Whether another memory may exceed a limit.
    fn is_spent(&self) -> bool {
        self.compared.len() + COMPARED_WITH_EACH_MAX > PAIRS_MAX
            || self.bytes_left < BYTES_WITH_ONE_MAX
    }

    fn compare(&mut self, id: MemoryId, candidates: &[Candidate]) -> Result<()> {
        if candidates.is_empty() {
            return Ok(());
        }
        let Some(one) = self.read(id)? else { return Ok(()) };
        for candidate in candidates {
            if self.bytes_left == 0 {
                self.found.truncated = true;
                return Ok(());
            }
            if !self.compared.insert((id.min(candidate.id), id.max(candidate.id))) {
                continue;
            }
            let Some(other) = self.read(candidate.id)? else { continue };
            let is_newer = (one.created_at, one.id) > (other.created_at, other.id);
            let (newer, older) = if is_newer { (&one, &other) } else { (&other, &one) };
            self.found.suggestions.extend(self.judge(newer, older, *candidate));
        }
        Ok(())
    }

    /// A memory as it is now, which may have changed since the index was read; `None` if it was
    /// deleted.
    fn read(&mut self, id: MemoryId) -> Result<Option<Read>> {
        let Some(head) = self.records.live_head(id)? else { return Ok(None) };
        let Some(body) = self.records.body(id, head.version)? else { return Ok(None) };
        let created_at = body.created_at;
        let Some(BodyText { title, content, lifespan, .. }) = body.text else { return Ok(None) };
        self.bytes_left = self.bytes_left.saturating_sub(content.len());
        Ok(Some(Read { id, created_at, title, content, lifespan }))
    }

    fn judge(&self, newer: &Read, older: &Read, candidate: Candidate) -> Option<Suggestion> {
        let labels = Labels::of(newer, older);
        let text = |read: &Read| match labels {
            Labels::Same => format!("{}\n{}", own_title(&read.title, &read.content), read.content),
            Labels::Other | Labels::Dated => read.content.clone(),
        };
        let (old, new) = (text(older), text(newer));
        let (kind, score, reason) = match self.index.analyzer.compare(&old, &new) {
            Some(compared) => judged(&compared, candidate.cosine)?,
            None if candidate.similarity >= LONG_SIMILARITY_MIN => {
                let share = percent(candidate.similarity);
                let reason = format!("about {share} of their terms are the same");
                (SuggestionKind::Duplicate, candidate.similarity, reason)
            }
            None => return None,
        };
        let is_same_subject = match labels {
            Labels::Same => true,
            Labels::Other => score >= UNTITLED_SIMILARITY_MIN,
            Labels::Dated => false,
        };
        let kind = match kind {
            SuggestionKind::Updates if newer.created_at == older.created_at => {
                SuggestionKind::Contradicts
            }
            kind => kind,
        };
        let holds_later = |one: &Read, other: &Read| {
            let (from, until) = (one.lifespan.valid_from, other.lifespan.valid_until);
            from.zip(until).is_some_and(|(from, until)| from >= until)
        };
        // Different values at different times are both true.
        let are_apart = holds_later(newer, older) || holds_later(older, newer);
        if kind != SuggestionKind::Duplicate && (are_apart || !is_same_subject) {
            return None;
        }
        Some(Suggestion {
            kind,
            from: newer.id,
            to: older.id,
            from_title: newer.title.clone(),
            to_title: older.title.clone(),
            score: f64::from(score.clamp(0.0, 1.0)),
            reason,
        })
    }
}

/// The kind, the score and the reason for two texts; `None` if they are not similar enough.
fn judged(compared: &Comparison<'_>, cosine: Option<f32>) -> Option<(SuggestionKind, f32, String)> {
    let verdict = match cosine {
        Some(_) => compared.verdict_by_meaning(),
        None => compared.verdict(),
    };
    let share = compared.similarity();
    let score = cosine.map_or(share, |cosine| cosine.max(share));
    let (kind, reason) = match verdict {
        Verdict::Unlike => return None,
        Verdict::Same if compared.is_equal() => {
            (SuggestionKind::Duplicate, "the texts are equal".to_owned())
        }
        Verdict::Same => {
            let reason = match cosine.filter(|cosine| *cosine > share) {
                Some(cosine) => format!("they mean nearly the same (cosine {cosine:.2})"),
                None => format!("{} of their words are the same", percent(share)),
            };
            (SuggestionKind::Duplicate, reason)
        }
        Verdict::Differ(Difference::Values(values)) => {
            let pairs = values.iter().map(|(old, new)| format!("\"{old}\" → \"{new}\""));
            let pairs: Vec<String> = pairs.collect();
            (SuggestionKind::Updates, format!("differs in {}", pairs.join(", ")))
        }
        Verdict::Differ(Difference::Ended(word)) => {
            (SuggestionKind::Updates, format!("the newer one says \"{word}\""))
        }
        Verdict::Differ(Difference::Negation(word)) => {
            (SuggestionKind::Contradicts, format!("only one of them says \"{word}\""))
        }
    };
    Some((kind, score, reason))
}

fn percent(share: f32) -> String {
    // Rounded down: only equal texts have all words in common.
    format!("{:.0}%", (share * 100.0).floor())
}
