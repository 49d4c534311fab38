//! `memory_link`.

use http::StatusCode;
use rmcp::model::JsonObject;
use serde_json::json;
use waypost_api::{LinkKind, LinkRequest, Scope, Vocabulary};

use super::{Description, Tool, adds};
use crate::http::routes::mcp::arguments;
use crate::http::routes::mcp::asker::Asker;
use crate::http::routes::mcp::outcome::{Answer, Failure};
use crate::http::routes::memory::add_link;

pub(super) static TOOL: Tool = Tool {
    name: "memory_link",
    scopes: &[Scope::MemoryWrite],
    is_in_spaces: true,
    describe: |_| Description {
        text: "Use when a memory replaces (updates), contradicts, or belongs to another. An updated memory ranks lower.",
        annotations: adds(),
        schema: json!({
            "type": "object",
            "properties": {
                "from": {"type": "integer", "description": "id; the newer one for updates"},
                "to": {"type": "integer"},
                "type": {"type": "string", "enum": kinds()},
            },
            "required": ["from", "to", "type"],
        }),
    },
    call: |asker, schema, given| Box::pin(call(asker, schema, given)),
};

fn kinds() -> Vec<&'static str> {
    LinkKind::ALL.iter().map(|kind| kind.as_str()).collect()
}

async fn call(asker: &Asker, schema: &JsonObject, given: JsonObject) -> Result<Answer, Failure> {
    let key = asker.key_of(TOOL.name, &given);
    let asked: LinkRequest = arguments::read(schema, given)?;
    let scoped = asker.app.scoped(&asker.caller);
    let linked = asker.app.writes.run(move || add_link(&scoped, &asked, key)).await;
    let (status, link) = linked??;
    let is_new = status == StatusCode::CREATED;
    let said = if is_new { "Linked" } else { "The link exists already" };
    let text = format!("{said}: #{} {} #{}.", link.from, link.kind.as_str(), link.to);
    let structured = json!({
        "from": link.from,
        "to": link.to,
        "type": link.kind,
        "new": is_new,
        "createdAt": link.created_at,
    });
    Ok(Answer { text, structured })
}
