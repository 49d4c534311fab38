//! What a prompt gets.

use crate::block::Block;
use crate::limits::{
    PROMPT_CHARS_MIN, PROMPT_ITEMS_MAX, PROMPT_TOKENS_MAX, PROMPT_UNITS_MAX, QUERY_CHARS_MAX,
};
use crate::{Candidate, Part, Reason, Session, SessionKey, Silence, Used, Withheld};

const INTRO: &str = "Memories that fit this prompt.";

/// What a session is told, and why.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Told {
    /// The text; empty for none.
    pub text: String,
    /// The memories in it.
    pub used: Vec<Used>,
    /// The memories that were left out.
    pub withheld: Vec<Withheld>,
    /// Why the text is empty.
    pub silence: Option<Silence>,
}

impl Told {
    /// Nothing, for that reason.
    pub fn nothing(silence: Silence) -> Self {
        Self { silence: Some(silence), ..Self::default() }
    }

    pub(crate) fn withhold(&mut self, memory: &Candidate, reason: Reason) {
        let score = memory.score.map(|score| score as f32);
        self.withheld.push(Withheld { id: memory.id, score, reason });
    }

    pub(crate) fn have(&mut self, memory: &Candidate, part: Part) {
        let score = memory.score.map(|score| score as f32);
        self.used.push(Used { id: memory.id, score, part });
    }
}

/// What to search for a prompt; `None` if it is too short to be searched. Of a long prompt, the
/// beginning and the end: people put the question before or after what they paste.
pub fn query_of(prompt: &str) -> Option<String> {
    let prompt = prompt.trim();
    let chars = prompt.chars().count();
    if chars < PROMPT_CHARS_MIN {
        return None;
    }
    if chars <= QUERY_CHARS_MAX {
        return Some(prompt.to_owned());
    }
    let tail = QUERY_CHARS_MAX / 4;
    let (first, last) = (QUERY_CHARS_MAX - tail - 1, chars - tail);
    let start = prompt.chars().take(first);
    Some(start.chain([' ']).chain(prompt.chars().skip(last)).collect())
}

/// Chooses, from the hits of a search, what a prompt gets. `found` is sorted, best first, and each
/// hit has its score.
///
/// Nothing is chosen if `answerable` is below `threshold`: the memory probably has no answer, so its
/// best hits would only distract. Else each hit is chosen whose score reaches the threshold, unless
/// the session has it, said it itself, or a newer memory updates it.
pub fn decide(
    found: &[Candidate],
    answerable: f64,
    threshold: f64,
    session: &Session,
    key: &SessionKey,
) -> Told {
    let mut told = Told::default();
    let mut block = Block::new(INTRO, PROMPT_TOKENS_MAX, PROMPT_UNITS_MAX);
    for memory in found {
        let score = memory.score.unwrap_or(0.0);
        let is_below = answerable < threshold || score < threshold;
        let reason = is_below.then_some(Reason::BelowThreshold);
        let reason = reason.or_else(|| session.has(key, memory)).or_else(|| {
            let has_room = told.used.len() < PROMPT_ITEMS_MAX && block.add(None, memory);
            (!has_room).then_some(Reason::Budget)
        });
        match reason {
            Some(reason) => told.withhold(memory, reason),
            None => told.have(memory, Part::Answer),
        }
    }
    told.text = block.finish();
    if told.used.is_empty() {
        told.silence = Some(match found {
            [] => Silence::NothingFound,
            _ if answerable < threshold => Silence::NotAnswerable,
            _ => Silence::AllWithheld,
        });
    }
    told
}
