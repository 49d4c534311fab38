//! What a session gets when it starts.

use std::collections::BTreeSet;

use crate::block::Block;
use crate::limits::{BRIEF_TOKENS_MAX, BRIEF_UNITS_MAX};
use crate::{Candidate, Part, Reason, Session, SessionKey, Silence, Told};

const INTRO: &str = "What the memory of this project has for this session.";

/// What a brief may be made of, each list in order of importance.
#[derive(Debug, Clone, Default)]
pub struct Material {
    /// Pinned memories.
    pub pinned: Vec<Candidate>,
    /// What earlier sessions ended with, the last one first.
    pub threads: Vec<Thread>,
    /// Decisions, the newest first.
    pub decisions: Vec<Candidate>,
    /// Memories that fit what was done last, best first.
    pub task: Vec<Candidate>,
}

/// The end of a session: its last prompt and its last answer.
#[derive(Debug, Clone, Default)]
pub struct Thread {
    /// The session.
    pub session: String,
    /// The last prompt, then the last answer, as far as they were recorded.
    pub turns: Vec<Candidate>,
}

impl Thread {
    /// The ends of sessions, from turns of several sessions, the newest first, each with who said it:
    /// of the last `sessions_max` sessions, the last turn of each role.
    pub fn ends_of(
        newest_first: impl IntoIterator<Item = (Candidate, crate::Role)>,
        sessions_max: usize,
    ) -> Vec<Self> {
        let mut threads: Vec<(Self, BTreeSet<crate::Role>)> = Vec::new();
        for (turn, role) in newest_first {
            let Some(session) = turn.session.clone() else { continue };
            let at = threads.iter().position(|(it, _)| it.session == session);
            let at = match at {
                Some(at) => at,
                None if threads.len() < sessions_max => {
                    threads.push((Self { session, turns: Vec::new() }, BTreeSet::new()));
                    threads.len() - 1
                }
                None => continue,
            };
            let (thread, roles) = &mut threads[at];
            if roles.insert(role) {
                // The newest comes first, and is to be last.
                thread.turns.insert(0, turn);
            }
        }
        threads.into_iter().map(|(it, _)| it).collect()
    }
}

/// The shares of the lists in the tokens of a brief, in the order in which they are filled. What a
/// list leaves is for those after it.
const SHARES: [(Part, usize, &str); 4] = [
    (Part::Pinned, 300, "Pinned"),
    (Part::Thread, 450, "Earlier sessions ended with"),
    (Part::Decision, 450, "Recent decisions"),
    (Part::Task, 300, "Fits what was done last"),
];

/// Makes the brief of a session that starts, or that goes on after a compaction.
///
/// `session` says what the session already has: for one whose conversation is new or was compacted,
/// the default.
pub fn brief(material: &Material, session: &Session, key: &SessionKey) -> Told {
    let mut told = Told::default();
    let mut block = Block::new(INTRO, BRIEF_TOKENS_MAX, BRIEF_UNITS_MAX);
    let mut seen = BTreeSet::new();
    let (mut allowed, mut spent) = (0, 0);
    for (part, share, heading) in SHARES {
        allowed += share;
        let mut heading = Some(heading);
        for memory in of_part(material, part) {
            if !seen.insert(memory.id) {
                continue;
            }
            let cost = waypost_quote::tokens(&memory.content).min(crate::limits::ITEM_TOKENS_MAX);
            let reason = session.has(key, memory).or_else(|| {
                let has_room = spent + cost <= allowed && block.add(heading, memory);
                (!has_room).then_some(Reason::Budget)
            });
            if let Some(reason) = reason {
                told.withhold(memory, reason);
            } else {
                told.have(memory, part);
                heading = None;
                spent += cost;
            }
        }
    }
    told.text = block.finish();
    if told.used.is_empty() {
        let is_empty = told.withheld.is_empty();
        told.silence = Some(if is_empty { Silence::NothingFound } else { Silence::AllWithheld });
    }
    told
}

fn of_part(material: &Material, part: Part) -> Vec<&Candidate> {
    match part {
        Part::Pinned => material.pinned.iter().collect(),
        Part::Thread => material.threads.iter().flat_map(|thread| &thread.turns).collect(),
        Part::Decision => material.decisions.iter().collect(),
        Part::Task | Part::Answer => material.task.iter().collect(),
    }
}
