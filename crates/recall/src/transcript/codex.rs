//! Codex: a rollout has two logs in one file. `event_msg` has what the user saw, `response_item`
//! what the model gets, with instructions and files in messages of the user. The former is read.
//! Rollouts of 2025 have only the items, without an envelope.

use serde::Deserialize;

use super::texts::Texts;
use super::{Line, Role};

#[derive(Deserialize)]
struct Record {
    #[serde(rename = "type")]
    kind: Option<String>,
    timestamp: Option<String>,
    payload: Option<Payload>,
    // Of an item without an envelope.
    role: Option<String>,
    content: Option<Texts>,
}

#[derive(Deserialize)]
struct Payload {
    #[serde(rename = "type")]
    kind: Option<String>,
    /// The text of an event; other payloads have other things there.
    message: Option<Texts>,
    /// Whether an answer is one, or a remark during the work.
    phase: Option<String>,
}

/// How messages of the user begin that the user did not type.
const NOT_TYPED: [&str; 7] = [
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "<turn_aborted>",
    "<skill>",
    "<subagent_notification>",
    "# AGENTS.md instructions",
];

pub(super) fn line(line: &[u8]) -> Line {
    let Ok(record) = serde_json::from_slice::<Record>(line) else { return Line::Unknown };
    let (role, texts) = match (record.kind.as_deref(), record.payload) {
        (Some("event_msg"), Some(payload)) => {
            let role = match payload.kind.as_deref() {
                Some("user_message") => Role::User,
                Some("agent_message") if payload.phase.as_deref() != Some("commentary") => {
                    Role::Assistant
                }
                _ => return Line::Other,
            };
            (role, payload.message)
        }
        (Some("message"), None) => {
            let role = match record.role.as_deref() {
                Some("user") => Role::User,
                Some("assistant") => Role::Assistant,
                _ => return Line::Other,
            };
            (role, record.content)
        }
        (Some(_), _) => return Line::Other,
        (None, _) => return Line::Unknown,
    };
    Line::said(role, &texts.unwrap_or_default().joined(), record.timestamp, &NOT_TYPED)
}
