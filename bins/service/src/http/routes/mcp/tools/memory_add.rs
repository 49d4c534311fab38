//! `memory_add`.

use http::StatusCode;
use rmcp::model::JsonObject;
use serde_json::{Value, json};
use waypost_api::{AddRequest, AddedMemory, Scope, Vocabulary};

use super::{Description, Tool, adds};
use crate::http::routes::mcp::arguments;
use crate::http::routes::mcp::asker::Asker;
use crate::http::routes::mcp::outcome::{Answer, Failure};
use crate::http::routes::mcp::text::{NOTICE, fenced, line, single};
use crate::http::routes::memory::add_memory;

pub(super) static TOOL: Tool = Tool {
    name: "memory_add",
    scopes: &[Scope::MemoryWrite],
    is_in_spaces: true,
    describe: |_| Description {
        text: "Use when the user states or decides something worth knowing in later sessions, or you finish work or find a cause. One self-contained fact per memory; no secrets. Names similar memories.",
        annotations: adds(),
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
    },
    call: |asker, schema, given| Box::pin(call(asker, schema, given)),
};

async fn call(asker: &Asker, schema: &JsonObject, given: JsonObject) -> Result<Answer, Failure> {
    let key = asker.key_of(TOOL.name, &given);
    let asked: AddRequest = arguments::read(schema, given)?;
    let bytes = asked.content.len();
    let added = add_memory(&asker.app, asker.caller.clone(), bytes, move || Ok((asked, key)));
    let (status, added) = added.await?;
    Ok(render(status == StatusCode::CREATED, &added))
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
