//! `context`.

use rmcp::model::JsonObject;
use serde_json::{Value, json};
use waypost_api::{
    ContextAnswer, ContextItem, ContextRequest, ContextSource, ContextTask, Scope, TokenGrants,
    Vocabulary,
};

use super::{Description, Tool, reads};
use crate::http::routes::context::{answer, check};
use crate::http::routes::mcp::arguments;
use crate::http::routes::mcp::asker::Asker;
use crate::http::routes::mcp::outcome::{Answer, Failure};
use crate::http::routes::mcp::text::{
    Entries, NOTICE, RESULT_TOKENS, RESULT_TOKENS_MAX, count, fenced, head, line, plain, tokens,
};

/// Items if a call does not say how many.
const ITEMS_DEFAULT: u64 = 12;
/// Characters of a path and of a title in the list.
const NAME_CHARS: usize = 120;
/// A shorter start of a section says too little.
const CONTENT_TOKENS_MIN: usize = 24;

pub(super) static TOOL: Tool = Tool {
    name: "context",
    scopes: &[Scope::ContextRead],
    is_in_spaces: true,
    describe,
    call: |asker, schema, given| Box::pin(call(asker, schema, given)),
};

fn describe(grants: &TokenGrants) -> Description {
    let may_read = grants.allows(Scope::MemoryRead);
    let sources = ContextSource::ALL.iter().filter(|it| may_read || **it != ContextSource::Memory);
    let sources: Vec<&str> = sources.map(|source| source.as_str()).collect();
    let tasks: Vec<&str> = ContextTask::ALL.iter().map(|it| it.as_str()).collect();
    Description {
        text: "Use when starting a task in this project, before reading many files: finds the documents, decisions, history and code signatures that matter for it, with paths and lines.",
        annotations: reads(),
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

async fn call(asker: &Asker, schema: &JsonObject, given: JsonObject) -> Result<Answer, Failure> {
    let mut asked: ContextRequest = arguments::read_with(schema, given, check)?;
    let budget = asked.max_tokens.unwrap_or(RESULT_TOKENS as u64);
    if !(200..=RESULT_TOKENS_MAX).contains(&budget) {
        let message = format!("must be between 200 and {RESULT_TOKENS_MAX}, not {budget}");
        return Err(Failure::argument("maxTokens", message, schema));
    }
    asked.max_tokens = Some(budget);
    asked.max_items.get_or_insert(ITEMS_DEFAULT);
    render(asker, asked).await
}

/// The items for a task, one line each, then as much of their texts as fits.
pub(crate) async fn render(asker: &Asker, asked: ContextRequest) -> Result<Answer, Failure> {
    let budget =
        asked.max_tokens.and_then(|token| usize::try_from(token).ok()).unwrap_or(RESULT_TOKENS);
    let found = answer(&asker.app, &asker.caller, asked, move |found| show(&found, budget));
    Ok(found.await?.1)
}

fn show(found: &ContextAnswer, budget: usize) -> Answer {
    let mut shown = Entries::new(budget);
    let numbered = found.items.iter().enumerate();
    let missing = numbered.skip_while(|(at, it)| shown.add(summary(at + 1, it), item(at + 1, it)));
    let missing = missing.count();
    let Entries { lines, mut items, mut left } = shown;
    let mut blocks = Vec::new();
    let mut is_cut = found.truncated || missing > 0;
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
        let pending = usize::try_from(found.pending).unwrap_or(usize::MAX);
        notes.push(format!("{} not indexed yet.", count(pending, "file is", "files are")));
    }
    let structured = json!({ "items": items, "notice": NOTICE });
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
    Answer { text, structured }.with_notes(&notes)
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
