//! Conversions of recall.

use waypost_api as api;
use waypost_memory::{Hit, Memory, Scalar};
use waypost_recall::{
    Candidate, Entry, Moment, Part, Reason, Refusal, Role, Session, SessionKey, Silence, Told,
    Used, Withheld,
};

/// The type of recorded turns.
pub(crate) const TURN: &str = "turn";
/// The type of memories that are decisions.
pub(crate) const DECISION: &str = "decision";
/// The metadata of a recorded turn that says who said it.
pub(crate) const ROLE: &str = "role";
/// The metadata of a recorded turn that names the program of its session.
pub(crate) const HARNESS: &str = "harness";

/// A memory that may be injected. Of a recorded turn, the type is its role.
pub(crate) fn candidate(memory: Memory) -> Candidate {
    let kind = match role_of(&memory) {
        Some(role) => role_name(role).to_owned(),
        None => memory.kind,
    };
    Candidate {
        id: memory.id.get(),
        score: None,
        title: memory.title,
        content: memory.content,
        kind,
        created_at: memory.created_at,
        session: memory.session,
        is_superseded: memory.superseded_by.is_some(),
    }
}

pub(crate) fn candidate_of_hit(hit: Hit) -> Candidate {
    Candidate { score: Some(hit.score), ..candidate(hit.memory) }
}

/// Who said a recorded turn; `None` for other memories.
pub(crate) fn role_of(memory: &Memory) -> Option<Role> {
    match memory.metadata.get(ROLE) {
        Some(Scalar::String(role)) if memory.kind == TURN => match role.as_str() {
            "user" => Some(Role::User),
            "assistant" => Some(Role::Assistant),
            _ => None,
        },
        _ => None,
    }
}

pub(crate) fn role_name(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
    }
}

/// Functions from a vocabulary to one that has the same values.
macro_rules! conversions {
    ($($vis:vis fn $name:ident($from:ty) -> $to:ty { $($value:ident),+ })+) => {$(
        $vis fn $name(it: $from) -> $to {
            match it {
                $(<$from>::$value => <$to>::$value,)+
            }
        }
    )+};
}

conversions! {
    pub(crate) fn role(api::RecallRole) -> Role { User, Assistant }
    pub(crate) fn refusal(api::RecallRefusal) -> Refusal { Malformed, TooLarge, Invalid }
    fn refused(Refusal) -> api::RecallRefusal { Malformed, TooLarge, Invalid }
    pub(crate) fn reason(Reason) -> api::RecallReason {
        BelowThreshold, AlreadyInjected, SameSession, Budget, Superseded
    }
    fn part(Part) -> api::RecallPart { Pinned, Decision, Thread, Task, Answer }
    fn silence(Silence) -> api::RecallSilence {
        ShortPrompt, NothingFound, NotAnswerable, AllWithheld
    }
}

pub(crate) fn recalled(told: Told, entry: u64) -> api::Recalled {
    api::Recalled {
        text: told.text,
        used: told.used.into_iter().map(used).collect(),
        withheld: told.withheld.into_iter().map(withheld).collect(),
        reason: told.silence.map(silence),
        entry,
    }
}

pub(crate) fn entry(it: Entry) -> api::RecallEntry {
    api::RecallEntry {
        id: it.id,
        at: it.at,
        session: it.key.session.to_string(),
        harness: it.harness.to_string(),
        moment: match it.moment {
            Moment::Start => api::RecallMoment::Start,
            Moment::Prompt => api::RecallMoment::Prompt,
            Moment::Compact => api::RecallMoment::Compact,
            Moment::Refused { .. } => api::RecallMoment::Refused,
        },
        space: it.key.space.map(|space| space.to_string()),
        answerable: it.answerable.map(number),
        threshold: it.threshold.map(number),
        used: it.used.into_iter().map(used).collect(),
        withheld: it.withheld.into_iter().map(withheld).collect(),
        reason: it.silence.map(silence),
        refused: match it.moment {
            Moment::Refused { before, why } => {
                Some(api::RecallRefused { before, reason: refused(why) })
            }
            Moment::Start | Moment::Prompt | Moment::Compact => None,
        },
    }
}

pub(crate) fn session(key: &SessionKey, it: &Session) -> api::RecallSession {
    api::RecallSession {
        session: key.session.to_string(),
        harness: it.harness.to_string(),
        space: key.space.as_deref().map(str::to_owned),
        offset: it.offset,
        injected: it.injected.iter().copied().collect(),
        compacted: it.is_compacted,
        at: it.at,
    }
}

fn used(it: Used) -> api::RecallUsed {
    api::RecallUsed { id: it.id, score: it.score.map(number), part: part(it.part) }
}

fn withheld(it: Withheld) -> api::RecallWithheld {
    api::RecallWithheld { id: it.id, score: it.score.map(number), reason: reason(it.reason) }
}

/// A score with the four digits that it means, not with those of its conversion.
fn number(score: f32) -> f64 {
    (f64::from(score) * 10_000.0).round() / 10_000.0
}
