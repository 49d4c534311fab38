//! `events`.

use rmcp::model::JsonObject;
use serde_json::{Map, Value, json};
use waypost_api::{Event, EventData, EventsRequest, PublishRequest, Scalar, Scope, TokenGrants};
use waypost_events::Page;

use super::{Description, Tool, action, only, reads};
use crate::http::failure::Failure as Refused;
use crate::http::routes::events::{check_list, find, publish_event, read};
use crate::http::routes::mcp::arguments;
use crate::http::routes::mcp::asker::Asker;
use crate::http::routes::mcp::outcome::{Answer, Failure};
use crate::http::routes::mcp::text::{Entries, NOTICE, RESULT_TOKENS, count, fenced, line, single};
use crate::http::scoped::Scoped;

/// Events if a call does not say how many, and at most.
const LIMITS: (u64, u64) = (20, 100);
/// Characters of a value that are shown.
const VALUE_CHARS: usize = 240;

pub(super) static TOOL: Tool = Tool {
    name: "events",
    scopes: &[Scope::EventsRead, Scope::EventsPublish],
    is_in_spaces: true,
    describe,
    call: |asker, schema, given| Box::pin(call(asker, schema, given)),
};

fn describe(grants: &TokenGrants) -> Description {
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
        annotations: reads().read_only(!grants.allows(Scope::EventsPublish)),
        schema: json!({
            "type": "object",
            "properties": properties,
            "required": ["action"],
        }),
    }
}

async fn call(
    asker: &Asker,
    schema: &JsonObject,
    mut given: JsonObject,
) -> Result<Answer, Failure> {
    if action(schema, &mut given)? == "publish" {
        asker.require(Scope::EventsPublish)?;
        let schema = only(schema, &["type", "data"], &["type"]);
        let asked: PublishRequest = arguments::read(&schema, given)?;
        let published = publish_event(&asker.app, &asker.caller, asked, asker.key.clone()).await?;
        let Event { id, kind, time, .. } = published.event;
        let text = format!("Published event {id} ({}).", line(&kind, 200));
        return Ok(Answer { text, structured: json!({ "id": id, "type": kind, "time": time }) });
    }
    asker.require(Scope::EventsRead)?;
    let schema = only(schema, &["pattern", "after", "limit"], &[]);
    let mut asked: EventsRequest = arguments::read_with(&schema, given, check_list)?;
    asked.limit = Some(arguments::limit(asked.limit, LIMITS, &schema)?);
    let scoped = asker.app.scoped(&asker.caller);
    let list = move || show(&scoped, find(&scoped, &asked)?, asked.after.is_some());
    Ok(asker.app.reads.run(list).await??)
}

/// The events, one line each: the newest, or those after a cursor from the oldest on.
fn show(scoped: &Scoped, mut page: Page, is_after: bool) -> Result<Answer, Refused> {
    let mut events = std::mem::take(&mut page.events);
    if !is_after {
        events.reverse();
    }
    let (mut shown, mut last, mut is_cut) = (Entries::new(RESULT_TOKENS), None, false);
    for event in events {
        let Some(event) = read(scoped, &page, event)? else { continue };
        let (id, (said, item)) = (event.id, entry(&event));
        if !shown.add(said, item) {
            is_cut = true;
            break;
        }
        last = Some(id);
    }
    let next = if is_cut && is_after { last } else { Some(page.next_after) };
    let Entries { mut lines, mut items, .. } = shown;
    if !is_after {
        lines.reverse();
        items.reverse();
    }
    let mut structured = json!({ "events": items, "notice": NOTICE });
    let text = if lines.is_empty() {
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
    Ok(Answer { text, structured }.with_notes(&notes))
}

fn entry(event: &Event) -> (String, Value) {
    let Event { id, time, kind, .. } = event;
    let data = shortened(&event.data);
    let source = line(&event.source, 80);
    let said = single(&format!("{id} {time} {kind} {source} {}", Value::Object(data.clone())));
    let item =
        json!({ "id": id, "time": time, "type": kind, "source": event.source, "data": data });
    (said, item)
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
