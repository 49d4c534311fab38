//! `context`.

use rmcp::model::JsonObject;
use serde_json::{Value, json};
use waypost_api::{
    ContextAnswer, ContextItem, ContextRequest, ContextSource, ContextTask, Scope, TokenGrants,
    Vocabulary,
};

use super::description::Description;
use crate::api::Api;
use crate::arguments;
use crate::outcome::{Answer, Failure};
use crate::service::Service;
use crate::text::{
    NOTICE, RESULT_TOKENS, RESULT_TOKENS_MAX, count, fenced, head, line, plain, tokens,
};

/// Items if a call does not say how many.
const ITEMS_DEFAULT: u64 = 12;
/// Characters of a path and of a title in the list.
const NAME_CHARS: usize = 120;
/// Tokens left for the first line and the note.
const FRAME_TOKENS: usize = 120;
/// A shorter start of a section says too little.
const CONTENT_TOKENS_MIN: usize = 24;

pub(super) fn description(grants: &TokenGrants) -> Description {
    let may_read = grants.allows(Scope::MemoryRead);
    let sources = ContextSource::ALL.iter().filter(|it| may_read || **it != ContextSource::Memory);
    let sources: Vec<&str> = sources.map(|it| it.as_str()).collect();
    let tasks: Vec<&str> = ContextTask::ALL.iter().map(|it| it.as_str()).collect();
    Description {
        text: "Use when starting a task in this project, before reading many files: finds the documents, decisions, history and code signatures that matter for it, with paths and lines.",
        schema: json!({
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "the task, names or paths"},
                "taskType": {"type": "string", "enum": tasks},
                "sources": {"type": "array", "items": {"type": "string", "enum": sources}},
                "paths": {"type": "array", "items": {"type": "string"}, "description": "globs"},
                "maxItems": {"type": "integer", "description": "default 12"},
                "maxTokens": {"type": "integer", "description": "default 2000"},
            },
            "required": ["query"],
        }),
    }
}

pub(super) async fn call<S: Service>(
    api: Api<'_, S>,
    schema: &JsonObject,
    given: &JsonObject,
) -> Result<Answer, Failure> {
    let mut asked: ContextRequest = arguments::read(schema, given)?;
    let budget = asked.max_tokens.unwrap_or(RESULT_TOKENS as u64);
    if !(200..=RESULT_TOKENS_MAX).contains(&budget) {
        let message = format!("must be between 200 and {RESULT_TOKENS_MAX}, not {budget}");
        return Err(Failure::argument("maxTokens", message, arguments::valid(schema)));
    }
    asked.max_tokens = Some(budget);
    asked.max_items.get_or_insert(ITEMS_DEFAULT);
    render(api, &asked).await
}

/// The items for a task, one line each, then as much of their texts as fits.
pub(crate) async fn render<S: Service>(
    api: Api<'_, S>,
    asked: &ContextRequest,
) -> Result<Answer, Failure> {
    let budget = asked.max_tokens.and_then(|it| usize::try_from(it).ok()).unwrap_or(RESULT_TOKENS);
    let found = api.post::<ContextAnswer>("/api/context", asked).await?.value;
    Ok(show(&found, budget))
}

fn show(found: &ContextAnswer, budget: usize) -> Answer {
    let mut left = budget.saturating_sub(FRAME_TOKENS);
    let (mut lines, mut items) = (Vec::new(), Vec::new());
    for (at, it) in found.items.iter().enumerate() {
        let line = summary(at + 1, it);
        let Some(rest) = left.checked_sub(tokens(&line) + 1) else { break };
        left = rest;
        lines.push(line);
        items.push(item(at + 1, it));
    }
    let mut blocks = Vec::new();
    let mut is_cut = found.truncated || lines.len() < found.items.len();
    for (at, (it, item)) in found.items.iter().zip(&mut items).enumerate() {
        let label = (at + 1).to_string();
        let frame = tokens(&fenced(&label, "")) + 2;
        let content = plain(it.content.trim());
        let start = head(&content, left.saturating_sub(frame));
        let is_short = start.len() < content.len();
        is_cut |= is_short || it.truncated;
        if is_short || it.truncated {
            item["truncated"] = json!(true);
        }
        if is_short && tokens(start) < CONTENT_TOKENS_MIN {
            continue;
        }
        item["content"] = json!(start);
        let block = fenced(&label, start);
        left = left.saturating_sub(tokens(&block) + 1);
        blocks.push(block);
    }
    let mut notes = Vec::new();
    if is_cut {
        notes.push(
            "Texts were cut: read the files, or call again with a larger maxTokens.".to_owned(),
        );
    }
    if found.pending > 0 {
        notes.push(format!(
            "{} not indexed yet.",
            count(count_of(found.pending), "file is", "files are")
        ));
    }
    let mut structured = json!({ "items": items, "notice": NOTICE });
    let mut text = if lines.is_empty() {
        "Nothing in the project matches.".to_owned()
    } else {
        let items = count(lines.len(), "item", "items");
        format!("{items}, best first. {NOTICE}\n{}", fenced("items", &lines.join("\n")))
    };
    for it in blocks {
        text.push('\n');
        text.push_str(&it);
    }
    if !notes.is_empty() {
        let note = notes.join(" ");
        text.push('\n');
        text.push_str(&note);
        structured["note"] = json!(note);
    }
    Answer { text, structured }
}

fn count_of(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// `1 docs/a.md:3-9 decision: Title`
fn summary(number: usize, it: &ContextItem) -> String {
    let title = line(&it.title, NAME_CHARS);
    format!("{number} {} {}: {title}", place(it), it.kind)
}

fn place(it: &ContextItem) -> String {
    let path = line(&it.path, NAME_CHARS);
    match (it.line, it.end_line) {
        (Some(first), Some(last)) if last > first => format!("{path}:{first}-{last}"),
        (Some(first), _) => format!("{path}:{first}"),
        _ => path,
    }
}

fn item(number: usize, it: &ContextItem) -> Value {
    let mut item = json!({
        "number": number,
        "path": line(&it.path, NAME_CHARS),
        "type": it.kind,
        "title": line(&it.title, NAME_CHARS),
    });
    if let Some(first) = it.line {
        item["line"] = json!(first);
    }
    if let Some(last) = it.end_line {
        item["endLine"] = json!(last);
    }
    item
}
