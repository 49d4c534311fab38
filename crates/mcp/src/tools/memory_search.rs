//! `memory_search`.

use rmcp::model::JsonObject;
use serde_json::{Value, json};
use waypost_api::{ANSWERABLE_HEADER, ANSWERABLE_LEAST, Hit, STOP_WORDS_HEADER, SearchRequest};

use super::description::Description;
use crate::api::Api;
use crate::arguments;
use crate::outcome::{Answer, Failure};
use crate::service::Service;
use crate::text::{NOTICE, RESULT_TOKENS, count, fenced, head, line, plain, tokens};

/// Hits if a call does not say how many.
const LIMIT_DEFAULT: u64 = 8;
/// Hits at most: more lines would not fit into a result.
const LIMIT_MAX: u64 = 50;
/// Characters of a title in the list.
const TITLE_CHARS: usize = 100;
/// A shorter start of a content says too little.
const CONTENT_TOKENS_MIN: usize = 24;
/// Tokens left for the first line and the notes.
const FRAME_TOKENS: usize = 140;

pub(super) fn description() -> Description {
    Description {
        text: "Use when earlier decisions, preferences, facts or work may matter, before asking the user or guessing: searches stored memories by meaning and words. Says if nothing answers.",
        schema: json!({
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "question or keywords"},
                "limit": {"type": "integer", "description": "1-50, default 8"},
                "type": {"type": "array", "items": {"type": "string"}},
                "tags": {"type": "array", "items": {"type": "string"}, "description": "all of them"},
                "space": {"type": "string"},
                "since": {"type": "string", "description": "RFC 3339"},
                "until": {"type": "string"},
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
    let mut asked: SearchRequest = arguments::read(schema, given)?;
    let limit = asked.limit.unwrap_or(LIMIT_DEFAULT);
    if limit > LIMIT_MAX {
        let message = format!("must be between 1 and {LIMIT_MAX}, not {limit}");
        return Err(Failure::argument("limit", message, arguments::valid(schema)));
    }
    asked.limit = Some(limit);
    let found = api.post::<Vec<Hit>>("/api/memory/search", &asked).await?;
    let answerable = found.header::<f64>(ANSWERABLE_HEADER);
    let only_stop_words = found.header::<String>(STOP_WORDS_HEADER).is_some();
    Ok(render(&found.value, answerable, only_stop_words))
}

/// The hits, one line each, then as much of their contents as fits.
fn render(hits: &[Hit], answerable: Option<f64>, only_stop_words: bool) -> Answer {
    let mut verdict = verdict(hits, answerable);
    if only_stop_words {
        verdict.push_str(" The query has only stop words: use the words that carry its meaning.");
    }
    let mut structured = json!({ "verdict": verdict, "hits": [], "notice": NOTICE });
    if let Some(it) = answerable {
        structured["answerable"] = json!(it);
    }
    if hits.is_empty() {
        return Answer { text: verdict, structured };
    }
    let mut left = RESULT_TOKENS - FRAME_TOKENS;
    let mut lines: Vec<String> = Vec::new();
    let mut items = Vec::new();
    for hit in hits {
        let line = summary(hit);
        let Some(rest) = left.checked_sub(tokens(&line) + 1) else { break };
        left = rest;
        lines.push(line);
        items.push(item(hit));
    }
    let (contents, is_cut) = contents(&hits[..lines.len()], left, &mut items);
    let mut text = format!("{verdict} {NOTICE}\n{}", fenced("memories", &lines.join("\n")));
    for it in contents {
        text.push('\n');
        text.push_str(&it);
    }
    let mut notes = Vec::new();
    let missing = hits.len() - lines.len();
    if missing > 0 {
        notes.push(format!("{} did not fit: narrow the query.", count(missing, "hit", "hits")));
    }
    if is_cut {
        notes.push("Texts were cut: memory_get with ids returns them whole.".to_owned());
    }
    if !notes.is_empty() {
        let note = notes.join(" ");
        text.push('\n');
        text.push_str(&note);
        structured["note"] = json!(note);
    }
    structured["hits"] = Value::Array(items);
    Answer { text, structured }
}

fn verdict(hits: &[Hit], answerable: Option<f64>) -> String {
    let found = count(hits.len(), "memory", "memories");
    match answerable {
        _ if hits.is_empty() => "Nothing stored matches the query.".to_owned(),
        Some(it) if it < ANSWERABLE_LEAST => format!(
            "Probably nothing stored answers this (answerable {it:.2}, below {ANSWERABLE_LEAST:.2}). The nearest {found}:"
        ),
        Some(it) => format!("{found}, best first (answerable {it:.2})."),
        None => format!("{found}, best first."),
    }
}

/// `#12 0.66 2026-11-02 decision: Title`. The title is last: nothing in it can pass for another field.
fn summary(hit: &Hit) -> String {
    let memory = &hit.memory;
    let mut marks = Vec::new();
    if let Some(newer) = memory.superseded_by {
        marks.push(format!("superseded by #{newer}"));
    }
    if !hit.contradicts.is_empty() {
        let ids: Vec<_> = hit.contradicts.iter().map(|id| format!("#{id}")).collect();
        marks.push(format!("contradicts {}", ids.join(" ")));
    }
    let marks = if marks.is_empty() { String::new() } else { format!(" ({})", marks.join(", ")) };
    let created = memory.created_at.to_string();
    let day = created.split('T').next().unwrap_or_default();
    let title = line(&memory.title, TITLE_CHARS);
    format!("#{} {:.2} {day} {}{marks}: {title}", memory.id, hit.score, memory.kind)
}

fn item(hit: &Hit) -> Value {
    let memory = &hit.memory;
    let mut item = json!({
        "id": memory.id,
        "score": (hit.score * 100.0).round() / 100.0,
        "type": memory.kind,
        "createdAt": memory.created_at,
        "title": line(&memory.title, TITLE_CHARS),
    });
    if let Some(newer) = memory.superseded_by {
        item["supersededBy"] = json!(newer);
    }
    if !hit.contradicts.is_empty() {
        item["contradicts"] = json!(hit.contradicts);
    }
    item
}

/// The contents that say more than the titles, each between fences, with the budget divided evenly; and whether any
/// was cut.
fn contents(hits: &[Hit], mut left: usize, items: &mut [Value]) -> (Vec<String>, bool) {
    let says_more = |hit: &Hit| hit.memory.content.trim() != hit.memory.title.trim();
    let mut waiting = hits.iter().filter(|it| says_more(it)).count();
    let (mut shown, mut is_cut) = (Vec::new(), false);
    for (hit, item) in hits.iter().zip(items) {
        if !says_more(hit) {
            continue;
        }
        let share = left / waiting;
        waiting -= 1;
        let label = format!("#{}", hit.memory.id);
        let content = plain(hit.memory.content.trim());
        let frame = tokens(&fenced(&label, "")) + 2;
        let start = head(&content, share.saturating_sub(frame));
        is_cut |= start.len() < content.len();
        if start.len() < content.len() && share < CONTENT_TOKENS_MIN + frame {
            item["truncated"] = json!(true);
            continue;
        }
        item["content"] = json!(start);
        if start.len() < content.len() {
            item["truncated"] = json!(true);
        }
        let block = fenced(&label, start);
        left = left.saturating_sub(tokens(&block) + 1);
        shown.push(block);
    }
    (shown, is_cut)
}
