//! `memory_link`.

use rmcp::model::JsonObject;
use serde_json::json;
use waypost_api::{Link, LinkKind, LinkRequest, Vocabulary};

use super::description::Description;
use crate::api::Api;
use crate::arguments;
use crate::outcome::{Answer, Failure};
use crate::service::Service;

pub(super) fn description() -> Description {
    let kinds: Vec<&str> = LinkKind::ALL.iter().map(|it| it.as_str()).collect();
    Description {
        text: "Use when a memory replaces (updates), contradicts, or belongs to another. An updated memory ranks lower.",
        schema: json!({
            "type": "object",
            "properties": {
                "from": {"type": "integer", "description": "id; the newer one for updates"},
                "to": {"type": "integer"},
                "type": {"type": "string", "enum": kinds},
            },
            "required": ["from", "to", "type"],
        }),
    }
}

pub(super) async fn call<S: Service>(
    api: Api<'_, S>,
    schema: &JsonObject,
    given: &JsonObject,
) -> Result<Answer, Failure> {
    let asked: LinkRequest = arguments::read(schema, given)?;
    let linked = api.post::<Link>("/api/memory/link", &asked).await?;
    let (is_new, link) = (linked.status == 201, linked.value);
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
