//! Cursor: one message per line, what the user typed in an element `user_query`.

use serde::Deserialize;

use super::texts::{Texts, inside, without};
use super::{Line, Role};

#[derive(Deserialize)]
struct Record {
    role: Option<String>,
    message: Option<Message>,
    /// Of the messages in Cursor's own store.
    content: Option<Texts>,
    timestamp: Option<String>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    content: Texts,
}

/// What Cursor adds to a prompt.
const ADDED: [&str; 9] = [
    "user_info",
    "system_reminder",
    "system-reminder",
    "attached_files",
    "open_and_recently_viewed_files",
    "additional_data",
    "project_layout",
    "git_status",
    "rules",
];

pub(super) fn line(line: &[u8]) -> Line {
    let Ok(record) = serde_json::from_slice::<Record>(line) else { return Line::Unknown };
    let role = match record.role.as_deref() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some(_) => return Line::Other,
        None => return Line::Unknown,
    };
    let Some(content) = record.message.map(|message| message.content).or(record.content) else {
        return Line::Other;
    };
    let joined = content.joined();
    let text = match role {
        _ if content.has_result => return Line::Other,
        Role::User => without(inside(&joined, "user_query"), &ADDED),
        Role::Assistant => joined.replace("[REDACTED]", ""),
    };
    Line::said(role, &text, record.timestamp, &[])
}
