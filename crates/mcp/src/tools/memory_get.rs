//! `memory_get`.

use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};
use waypost_api::{Check, Faults, Link, LinksRequest, Memory, Scalar, Vocabulary, limits};

use super::description::Description;
use crate::api::Api;
use crate::arguments;
use crate::outcome::{Answer, Failure};
use crate::service::Service;
use crate::text::{
    NOTICE, RESULT_TOKENS, RESULT_TOKENS_MAX, count, fenced, head, line, plain, single, tokens,
};

/// Memories of a call.
const IDS_MAX: usize = 50;
/// Links of a memory that are shown.
const LINKS_MAX: usize = 20;
/// Characters of a metadata value that are shown.
const VALUE_CHARS: usize = 200;
/// Tokens left for the first line and the note.
const FRAME_TOKENS: usize = 100;

pub(super) fn description() -> Description {
    Description {
        text: "Use when a search hit or a link names ids whose whole text, metadata or links you need.",
        schema: json!({
            "type": "object",
            "properties": {
                "ids": {"type": "array", "items": {"type": "integer"}},
                "offset": {"type": "integer", "description": "character to start at, for one id"},
                "maxTokens": {"type": "integer", "description": "default 2000"},
            },
            "required": ["ids"],
        }),
    }
}

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

pub(super) async fn call<S: Service>(
    api: Api<'_, S>,
    schema: &JsonObject,
    given: &JsonObject,
) -> Result<Answer, Failure> {
    let asked: Asked = arguments::read(schema, given)?;
    let budget = asked.max_tokens.and_then(|it| usize::try_from(it).ok()).unwrap_or(RESULT_TOKENS);
    render(api, &asked.ids, asked.offset, budget).await
}

/// A memory with its links.
struct Found {
    memory: Memory,
    links: Vec<Link>,
}

/// The memories with these ids; those that do not exist are named.
pub(crate) async fn render<S: Service>(
    api: Api<'_, S>,
    ids: &[u64],
    offset: usize,
    budget: usize,
) -> Result<Answer, Failure> {
    let mut wanted = Vec::new();
    for id in ids {
        if !wanted.contains(id) {
            wanted.push(*id);
        }
    }
    let (mut found, mut missing, mut refused) = (Vec::new(), Vec::new(), None);
    for id in wanted {
        let memory = match api.get::<Memory>(&format!("/api/memory/{id}"), &()).await {
            Ok(it) => it.value,
            Err(failure) if failure.is_not_found() => {
                missing.push(id);
                refused = Some(failure);
                continue;
            }
            Err(failure) => return Err(failure),
        };
        let path = format!("/api/memory/{id}/links");
        let links = match api.get::<Vec<Link>>(&path, &LinksRequest::default()).await {
            Ok(it) => it.value,
            // It was deleted meanwhile.
            Err(failure) if failure.is_not_found() => Vec::new(),
            Err(failure) => return Err(failure),
        };
        found.push(Found { memory, links });
    }
    match refused {
        Some(failure) if found.is_empty() => Err(failure),
        _ => Ok(show(&found, &missing, offset, budget)),
    }
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
    if !notes.is_empty() {
        let note = notes.join(" ");
        text.push('\n');
        text.push_str(&note);
        structured["note"] = json!(note);
    }
    Answer { text, structured }
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
        let tags: Vec<_> = memory.tags.iter().map(|it| single(it)).collect();
        lines.push(format!("tags: {}", tags.join(", ")));
    }
    for (name, value) in [
        ("valid from", memory.valid_from),
        ("valid until", memory.valid_until),
        ("expires", memory.expires_at),
    ] {
        lines.extend(value.map(|it| format!("{name}: {it}")));
    }
    if memory.pinned {
        lines.push("pinned: true".to_owned());
    }
    lines.extend(memory.superseded_by.map(|it| format!("superseded by: #{it}")));
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
    let clean = Memory {
        title: single(&memory.title),
        content: content.to_owned(),
        space: single(&memory.space),
        session: memory.session.as_deref().map(single),
        tags: memory.tags.iter().map(|it| single(it)).collect(),
        metadata: memory
            .metadata
            .iter()
            .map(|(name, value)| (single(name), shown(value)))
            .collect(),
        ..memory.clone()
    };
    let mut item = json!(clean);
    let links: Vec<_> = links
        .iter()
        .take(LINKS_MAX)
        .map(|it| json!({ "from": it.from, "type": it.kind, "to": it.to }))
        .collect();
    if !links.is_empty() {
        item["links"] = Value::Array(links);
    }
    item
}
