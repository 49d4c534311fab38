//! Records prompts and answers as memories.

use http::StatusCode;
use waypost_api as api;
use waypost_memory::{Added, Addition, Draft, Lifespan, Scalar};
use waypost_recall::{Entry, Moment, SessionKey, clean};
use waypost_time::Timestamp;

use crate::clock::now;
use crate::http::failure::Failure;
use crate::http::scoped::Scoped;
use crate::http::wire::recall::{HARNESS, ROLE, TURN, refusal, role, role_name};
use crate::recall::Recall;

/// Records what was not recorded before: the store knows equal texts of a session, and the offset
/// is raised only when everything up to it is on disk. So any part may be repeated after a crash.
pub(super) fn record(
    scoped: &Scoped,
    recall: &Recall,
    asked: &api::RecallTurnsRequest,
) -> Result<api::RecallTurns, Failure> {
    let now = now();
    let key = SessionKey::new(&asked.session, asked.space.as_deref());
    let offset = recall.log.session(&key).map_or(0, |session| session.offset);
    if asked.from > offset && !asked.restart {
        let detail = format!(
            "from: is {}, but the session's turns are recorded up to {offset}; read the transcript from there",
            asked.from
        );
        return Err(Failure::new(StatusCode::CONFLICT, detail));
    }
    let sent = asked.turns.len() as u64;
    if asked.to <= offset && !asked.restart {
        return Ok(api::RecallTurns { recorded: Vec::new(), skipped: sent, offset });
    }
    if asked.restart && offset > 0 {
        // First, so that what comes after it counts as read again, also after a crash.
        recall.log.recorded(key.clone(), &asked.harness, 0, now)?;
    }
    // What was said up to then may have been recorded, and deleted since.
    let again = recall.log.session(&key).and_then(|session| session.before_restart);
    let known = recall.log.forgotten().max(again);
    let new = asked.turns.iter().filter(|turn| turn.at.is_none() || turn.at > known);
    let drafts = new.filter_map(|turn| draft(turn, asked, recall, now));
    let drafts: Vec<Addition> = drafts.map(|draft| scoped.addition(draft, None)).collect();
    let mut recorded = Vec::new();
    for added in scoped.adding().add_batch(drafts, now) {
        if let Added::New(memory) = added? {
            recorded.push(memory.id.get());
        }
    }
    if let Some(why) = asked.refused {
        let moment = Moment::Refused { before: asked.to, why: refusal(why) };
        recall.log.append(Entry::new(key.clone(), &asked.harness, moment), now)?;
    }
    recall.log.recorded(key, &asked.harness, asked.to, now)?;
    let skipped = sent - recorded.len() as u64;
    Ok(api::RecallTurns { recorded, skipped, offset: asked.to })
}

/// The memory of a turn; `None` if nothing of it is to be recorded.
fn draft(
    turn: &api::RecallTurn,
    asked: &api::RecallTurnsRequest,
    recall: &Recall,
    now: Timestamp,
) -> Option<Draft> {
    let text = clean(&turn.text)?;
    let expires_at = recall.keep_turns.map(|turn| now.saturating_add(turn));
    let metadata = [
        (ROLE.to_owned(), Scalar::from(role_name(role(turn.role)))),
        (HARNESS.to_owned(), Scalar::from(asked.harness.as_str())),
    ];
    let mut draft = Draft::new(text)
        .with_kind(TURN)
        .with_metadata(metadata.into())
        .with_session(asked.session.as_str())
        .with_lifespan(Lifespan::default().with_expires_at(expires_at));
    draft.space.clone_from(&asked.space);
    draft.created_at = turn.at.map(|at| at.min(now));
    Some(draft)
}
