//! `memory_get`.

use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};
use waypost_api::{Check, Faults, Link, Memory, Scalar, Scope, Vocabulary, limits};

use super::{Description, Tool, reads};
use crate::http::failure::Failure as Refused;
use crate::http::routes::mcp::arguments;
use crate::http::routes::mcp::asker::Asker;
use crate::http::routes::mcp::outcome::{Answer, Failure};
use crate::http::routes::mcp::text::{
    NOTICE, RESULT_TOKENS, RESULT_TOKENS_MAX, count, fenced, head, line, plain, single, tokens,
};
use crate::http::scoped::Scoped;
use crate::http::wire;

/// Memories of a call.
const IDS_MAX: usize = 50;
/// Links of a memory that are shown.
const LINKS_MAX: usize = 20;
/// Characters of a metadata value that are shown.
const VALUE_CHARS: usize = 200;
/// Tokens left for the first line and the note.
const FRAME_TOKENS: usize = 100;

pub(super) static TOOL: Tool = Tool {
    name: "memory_get",
    scopes: &[Scope::MemoryRead],
    is_in_spaces: true,
    describe: |_| Description {
        text: "Use when a search hit or a link names ids whose whole text, metadata or links you need.",
        annotations: reads(),
        schema: json!({
            "type": "object",
            "properties": {
                "ids": {"type": "array", "items": {"type": "integer"}},
                "offset": {"type": "integer", "description": "character to start at, for one id"},
                "maxTokens": {"type": "integer", "description": "default 2000"},
            },
            "required": ["ids"],
        }),
    },
    call: |asker, schema, given| Box::pin(call(asker, schema, given)),
};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Asked {
    ids: Vec<u64>,
    #[serde(default)]
    offset: usize,
    max_tokens: Option<u64>,
}

impl Check for Asked {
    fn check(&self, faults: &mut Faults) {
        if self.ids.is_empty() || self.ids.len() > IDS_MAX {
            faults.add("ids", format!("must have 1 to {IDS_MAX} ids, not {}", self.ids.len()));
        }
        for (at, id) in self.ids.iter().enumerate() {
            if !(1..=limits::ID_MAX).contains(id) {
                faults.add(&format!("ids/{at}"), format!("must be the id of a memory, not {id}"));
            }
        }
        if self.offset > 0 && self.ids.len() > 1 {
            faults.add("offset", "is for one id: call once for each");
        }
        if let Some(it) = self.max_tokens
            && !(100..=RESULT_TOKENS_MAX).contains(&it)
        {
            let rule = format!("must be between 100 and {RESULT_TOKENS_MAX}, not {it}");
            faults.add("maxTokens", rule);
        }
    }
}

async fn call(asker: &Asker, schema: &JsonObject, given: JsonObject) -> Result<Answer, Failure> {
    let asked: Asked = arguments::read(schema, given)?;
    let budget =
        asked.max_tokens.and_then(|token| usize::try_from(token).ok()).unwrap_or(RESULT_TOKENS);
    render(asker, asked.ids, asked.offset, budget).await
}

/// A memory with its links.
struct Found {
    memory: Memory,
    links: Vec<Link>,
}

/// The memories with these ids; those that do not exist are named.
pub(crate) async fn render(
    asker: &Asker,
    ids: Vec<u64>,
    offset: usize,
    budget: usize,
) -> Result<Answer, Failure> {
    let scoped = asker.app.scoped(&asker.caller);
    let read = move || {
        let (mut found, mut missing, mut refused) = (Vec::new(), Vec::new(), None);
        for (at, id) in ids.iter().enumerate() {
            if ids[..at].contains(id) {
                continue;
            }
            match find(&scoped, *id) {
                Ok(memory) => found.push(memory),
                Err(failure) if failure.status() == 404 => {
                    missing.push(*id);
                    refused = Some(failure);
                }
                Err(failure) => return Err(failure),
            }
        }
        match refused {
            Some(failure) if found.is_empty() => Err(failure),
            _ => Ok(show(&found, &missing, offset, budget)),
        }
    };
    Ok(asker.app.reads.run(read).await??)
}

fn find(scoped: &Scoped, id: u64) -> Result<Found, Refused> {
    let id = wire::id(id)?;
    let (memory, links) = (scoped.get(id)?, scoped.links(id, 1)?);
    Ok(Found { memory, links })
}

fn show(found: &[Found], missing: &[u64], offset: usize, budget: usize) -> Answer {
    let mut left = budget.saturating_sub(FRAME_TOKENS);
    let mut text = format!("{}. {NOTICE}", count(found.len(), "memory", "memories"));
    let mut items = Vec::new();
    let mut notes = Vec::new();
    for (at, it) in found.iter().enumerate() {
        let header = header(it);
        let share = left / (found.len() - at);
        let content = plain(&it.memory.content);
        let rest = content.char_indices().nth(offset).map_or("", |(start, _)| &content[start..]);
        let label = format!("#{}", it.memory.id);
        let frame = tokens(&header) + tokens(&fenced(&label, "")) + 4;
        let start = head(rest, share.saturating_sub(frame));
        let block = format!("{}\n{}", fenced("memory", &header), fenced(&label, start));
        left = left.saturating_sub(tokens(&block) + 2);
        text.push('\n');
        text.push_str(&block);
        let mut item = item(it, start);
        if start.len() < rest.len() {
            let next = offset + start.chars().count();
            item["nextOffset"] = json!(next);
            notes.push(format!("#{} continues at offset {next}.", it.memory.id));
        }
        items.push(item);
    }
    if !missing.is_empty() {
        let ids: Vec<_> = missing.iter().map(|id| format!("#{id}")).collect();
        notes.push(format!("Not found: {}.", ids.join(" ")));
    }
    let mut structured = json!({ "memories": items, "notice": NOTICE });
    if !missing.is_empty() {
        structured["notFound"] = json!(missing);
    }
    Answer { text, structured }.with_notes(&notes)
}

/// Everything but the content, in lines of `name: value`.
fn header(it: &Found) -> String {
    let Found { memory, links } = it;
    let mut lines = vec![
        format!("#{}", memory.id),
        format!("title: {}", single(&memory.title)),
        format!("type: {}", memory.kind),
        format!("space: {}", single(&memory.space)),
        format!("created: {}", memory.created_at),
    ];
    if memory.updated_at != memory.created_at {
        lines.push(format!("updated: {}", memory.updated_at));
    }
    if !memory.tags.is_empty() {
        let tags: Vec<_> = memory.tags.iter().map(|tag| single(tag)).collect();
        lines.push(format!("tags: {}", tags.join(", ")));
    }
    for (name, value) in [
        ("valid from", memory.valid_from),
        ("valid until", memory.valid_until),
        ("expires", memory.expires_at),
    ] {
        lines.extend(value.map(|value| format!("{name}: {value}")));
    }
    if memory.pinned {
        lines.push("pinned: true".to_owned());
    }
    lines.extend(memory.superseded_by.map(|by| format!("superseded by: #{by}")));
    for (name, value) in &memory.metadata {
        let value = match shown(value) {
            Scalar::String(it) => it,
            Scalar::Number(it) => it.to_string(),
            Scalar::Bool(it) => it.to_string(),
        };
        lines.push(format!("metadata {}: {value}", single(name)));
    }
    for it in links.iter().take(LINKS_MAX) {
        lines.push(format!("link: #{} {} #{}", it.from, it.kind.as_str(), it.to));
    }
    if links.len() > LINKS_MAX {
        lines.push(format!("links: {} more", links.len() - LINKS_MAX));
    }
    lines.join("\n")
}

fn shown(value: &Scalar) -> Scalar {
    match value {
        Scalar::String(it) => Scalar::String(line(it, VALUE_CHARS)),
        other => other.clone(),
    }
}

fn item(it: &Found, content: &str) -> Value {
    let Found { memory, links } = it;
    let metadata = memory.metadata.iter().map(|(name, value)| (single(name), shown(value)));
    let mut item = json!(Memory { metadata: metadata.collect(), ..memory.clone() });
    for value in item.as_object_mut().into_iter().flat_map(|fields| fields.values_mut()) {
        match value {
            Value::String(text) => *text = single(text),
            Value::Array(tags) => {
                for tag in tags {
                    *tag = tag.as_str().map(single).into();
                }
            }
            _ => {}
        }
    }
    item["content"] = json!(content);
    let links: Vec<_> = links
        .iter()
        .take(LINKS_MAX)
        .map(|link| json!({ "from": link.from, "type": link.kind, "to": link.to }))
        .collect();
    if !links.is_empty() {
        item["links"] = Value::Array(links);
    }
    item
}
