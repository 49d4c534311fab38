//! `events`.

use rmcp::model::JsonObject;
use serde_json::{Map, Value, json};
use waypost_api::{
    Event, EventData, EventsRequest, NEXT_AFTER_HEADER, PublishRequest, Published, Scalar, Scope,
    TokenGrants,
};

use super::description::{Description, action, only};
use crate::api::{Api, Reply};
use crate::arguments;
use crate::outcome::{Answer, Failure};
use crate::service::Service;
use crate::text::{NOTICE, RESULT_TOKENS, count, fenced, line, single, tokens};

/// Events if a call does not say how many.
const LIMIT_DEFAULT: u64 = 20;
/// Events at most.
const LIMIT_MAX: u64 = 100;
/// Characters of a value that are shown.
const VALUE_CHARS: usize = 240;
/// Tokens left for the first line and the note.
const FRAME_TOKENS: usize = 100;

pub(super) fn description(grants: &TokenGrants) -> Description {
    let (mut actions, mut properties) = (Vec::new(), Map::new());
    if grants.allows(Scope::EventsRead) {
        actions.push("list");
        properties.insert(
            "pattern".to_owned(),
            json!({"type": "string", "description": "type or prefix*"}),
        );
        properties.insert(
            "after".to_owned(),
            json!({"type": "integer", "description": "id; default: the newest"}),
        );
        properties.insert(
            "limit".to_owned(),
            json!({"type": "integer", "description": "1-100, default 20"}),
        );
    }
    if grants.allows(Scope::EventsPublish) {
        actions.push("publish");
        properties
            .insert("type".to_owned(), json!({"type": "string", "description": "namespace:name"}));
        properties.insert(
            "data".to_owned(),
            json!({"type": "object", "description": "strings and numbers"}),
        );
    }
    properties.insert("action".to_owned(), json!({"type": "string", "enum": actions}));
    Description {
        text: "Use when you need to know what happened (builds, commits, messages of other agents), or to tell them and trigger flows.",
        schema: json!({
            "type": "object",
            "properties": properties,
            "required": ["action"],
        }),
    }
}

pub(super) async fn call<S: Service>(
    api: Api<'_, S>,
    schema: &JsonObject,
    given: &JsonObject,
) -> Result<Answer, Failure> {
    let (action, rest) = action(schema, given)?;
    if action == "publish" {
        let schema = only(schema, &["type", "data"], &["type"]);
        let asked: PublishRequest = arguments::read(&schema, &rest)?;
        let published = api.post::<Published>("/api/events", &asked).await?.value;
        let text = format!(
            "Published event {} ({}).",
            published.event.id,
            line(&published.event.kind, 200)
        );
        let structured = json!({ "id": published.event.id, "type": published.event.kind, "time": published.event.time });
        return Ok(Answer { text, structured });
    }
    let schema = only(schema, &["pattern", "after", "limit"], &[]);
    let mut asked: EventsRequest = arguments::read(&schema, &rest)?;
    let limit = asked.limit.unwrap_or(LIMIT_DEFAULT);
    if limit > LIMIT_MAX {
        let message = format!("must be between 1 and {LIMIT_MAX}, not {limit}");
        return Err(Failure::argument("limit", message, arguments::valid(&schema)));
    }
    asked.limit = Some(limit);
    let found = api.get::<Vec<Event>>("/api/events", &asked).await?;
    Ok(show(&found, asked.after.is_some()))
}

/// The events, one line each: the newest, or those after a cursor from the oldest on.
fn show(found: &Reply<Vec<Event>>, is_after: bool) -> Answer {
    let next: Option<u64> = found.header(NEXT_AFTER_HEADER);
    let mut left = RESULT_TOKENS - FRAME_TOKENS;
    let (mut lines, mut items) = (Vec::new(), Vec::new());
    let mut next = next.or(found.value.last().map(|it| it.id));
    let mut take = |it: &Event| {
        let data = shortened(&it.data);
        let said = format!(
            "{} {} {} {} {}",
            it.id,
            it.time,
            it.kind,
            line(&it.source, 80),
            Value::Object(data.clone())
        );
        let said = single(&said);
        let Some(rest) = left.checked_sub(tokens(&said) + 1) else { return false };
        left = rest;
        lines.push(said);
        items.push(json!({ "id": it.id, "time": it.time, "type": it.kind, "source": it.source, "data": data }));
        true
    };
    let mut is_cut = false;
    if is_after {
        for (at, it) in found.value.iter().enumerate() {
            if !take(it) {
                is_cut = true;
                next = at.checked_sub(1).and_then(|it| found.value.get(it)).map(|it| it.id);
                break;
            }
        }
    } else {
        is_cut = !found.value.iter().rev().all(take);
        lines.reverse();
        items.reverse();
    }
    let mut structured = json!({ "events": items, "notice": NOTICE });
    let mut text = if lines.is_empty() {
        "No events.".to_owned()
    } else {
        let events = count(lines.len(), "event", "events");
        format!(
            "{events}, oldest first: id, time, type, source, data. {NOTICE}\n{}",
            fenced("events", &lines.join("\n"))
        )
    };
    let mut notes = Vec::new();
    if is_cut {
        notes.push("Not all of them fit.".to_owned());
    }
    if let Some(next) = next {
        notes.push(format!("Later events: after {next}."));
        structured["nextAfter"] = json!(next);
    }
    if !notes.is_empty() {
        let note = notes.join(" ");
        text.push('\n');
        text.push_str(&note);
        structured["note"] = json!(note);
    }
    Answer { text, structured }
}

/// An event's data with long texts cut.
fn shortened(data: &EventData) -> Map<String, Value> {
    let values = data.0.iter().map(|(name, value)| {
        let value = match value {
            Scalar::String(text) => json!(line(text, VALUE_CHARS)),
            other => json!(other),
        };
        (line(name, 64), value)
    });
    values.collect()
}
