//! `memory_add`.

use rmcp::model::JsonObject;
use serde_json::{Value, json};
use waypost_api::{AddRequest, AddedMemory, Vocabulary};

use super::description::Description;
use crate::api::Api;
use crate::arguments;
use crate::outcome::{Answer, Failure};
use crate::service::Service;
use crate::text::{NOTICE, fenced, line, single};

pub(super) fn description() -> Description {
    Description {
        text: "Use when the user states or decides something worth knowing in later sessions, or you finish work or find a cause. One self-contained fact per memory; no secrets. Names similar memories.",
        schema: json!({
            "type": "object",
            "properties": {
                "content": {"type": "string"},
                "title": {"type": "string"},
                "type": {"type": "string", "description": "such as decision, preference, fact; default note"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "space": {"type": "string"},
                "session": {"type": "string"},
                "expiresAt": {"type": "string", "description": "RFC 3339"},
                "pinned": {"type": "boolean"},
            },
            "required": ["content"],
        }),
    }
}

pub(super) async fn call<S: Service>(
    api: Api<'_, S>,
    schema: &JsonObject,
    given: &JsonObject,
) -> Result<Answer, Failure> {
    let asked: AddRequest = arguments::read(schema, given)?;
    let added = api.post::<AddedMemory>("/api/memory/add", &asked).await?;
    Ok(render(added.status == 201, &added.value))
}

fn render(is_new: bool, added: &AddedMemory) -> Answer {
    let AddedMemory { memory, suggestions } = added;
    let mut text = if is_new {
        format!("Stored as #{}.", memory.id)
    } else {
        format!("Already stored as #{}; nothing was added.", memory.id)
    };
    let mut structured = json!({
        "id": memory.id,
        "new": is_new,
        "title": single(&memory.title),
        "type": memory.kind,
        "space": memory.space,
        "createdAt": memory.created_at,
    });
    if suggestions.is_empty() {
        return Answer { text, structured };
    }
    let (mut lines, mut items): (Vec<String>, Vec<Value>) = (Vec::new(), Vec::new());
    for it in suggestions {
        let (other, named) = if it.from == memory.id {
            (it.to, single(&it.to_title))
        } else {
            (it.from, single(&it.from_title))
        };
        let kind = it.kind.as_str();
        lines.push(format!("#{other} {:.2} {kind}: {}", it.score, line(&named, 100)));
        items.push(json!({ "id": other, "score": it.score, "type": kind, "title": named }));
    }
    let advice = "Similar memories: if this replaces one, call memory_link from the new to the old with type updates.";
    let similar = fenced("memories", &lines.join("\n"));
    text = format!("{text} {advice} {NOTICE}\n{similar}");
    structured["similar"] = Value::Array(items);
    structured["note"] = json!(advice);
    structured["notice"] = json!(NOTICE);
    Answer { text, structured }
}
