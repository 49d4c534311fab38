//! `memory_search`.

use rmcp::model::JsonObject;
use serde_json::{Value, json};
use waypost_api::{ANSWERABLE_LEAST, Hit, Scope, SearchRequest};

use super::{Description, Tool, reads};
use crate::clock::now;
use crate::http::failure::Failure as Refused;
use crate::http::routes::mcp::arguments;
use crate::http::routes::mcp::asker::Asker;
use crate::http::routes::mcp::outcome::{Answer, Failure};
use crate::http::routes::mcp::text::{
    Entries, NOTICE, RESULT_TOKENS, count, fenced, head, line, plain, tokens,
};
use crate::http::routes::search::find;

/// Hits if a call does not say how many, and at most: more lines would not fit into a result.
const LIMITS: (u64, u64) = (8, 50);
/// Characters of a title in the list.
const TITLE_CHARS: usize = 100;
/// A shorter start of a content says too little.
const CONTENT_TOKENS_MIN: usize = 24;

pub(super) static TOOL: Tool = Tool {
    name: "memory_search",
    scopes: &[Scope::MemoryRead],
    is_in_spaces: true,
    describe: |_| Description {
        text: "Use when earlier decisions, preferences, facts or work may matter, before asking the user or guessing: searches stored memories by meaning and words. Says if nothing answers.",
        annotations: reads(),
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
    },
    call: |asker, schema, given| Box::pin(call(asker, schema, given)),
};

async fn call(asker: &Asker, schema: &JsonObject, given: JsonObject) -> Result<Answer, Failure> {
    let mut asked: SearchRequest = arguments::read(schema, given)?;
    asked.limit = Some(arguments::limit(asked.limit, LIMITS, schema)?);
    asker.caller.narrow(&mut asked.space)?;
    let scoped = asker.app.scoped(&asker.caller);
    let search = move || {
        let (found, hits) = find(&scoped, &asked)?;
        let mut read = Vec::new();
        for hit in hits {
            if let Some(mut hit) = hit.read(&scoped, now())? {
                // More does not fit into a result.
                let start = head(hit.memory.content.trim(), RESULT_TOKENS).to_owned();
                hit.memory.content = start;
                read.push(hit);
            }
        }
        let answerable = (found.answerable * 1000.0).round() / 1000.0;
        Ok::<_, Refused>(render(&read, answerable, found.only_stop_words))
    };
    Ok(asker.app.reads.run(search).await??)
}

/// The hits, one line each, then as much of their contents as fits.
fn render(hits: &[Hit], answerable: f64, only_stop_words: bool) -> Answer {
    let mut verdict = verdict(hits, answerable);
    if only_stop_words {
        verdict.push_str(" The query has only stop words: use the words that carry its meaning.");
    }
    let mut structured =
        json!({ "verdict": verdict, "hits": [], "notice": NOTICE, "answerable": answerable });
    if hits.is_empty() {
        return Answer { text: verdict, structured };
    }
    let mut shown = Entries::new(RESULT_TOKENS);
    let missing = hits.iter().skip_while(|hit| shown.add(summary(hit), item(hit))).count();
    let fitting = &hits[..shown.lines.len()];
    let (contents, is_cut) = contents(fitting, shown.left, &mut shown.items);
    let mut text = format!("{verdict} {NOTICE}\n{}", fenced("memories", &shown.lines.join("\n")));
    for content in contents {
        text.push('\n');
        text.push_str(&content);
    }
    let mut notes = Vec::new();
    if missing > 0 {
        notes.push(format!("{} did not fit: narrow the query.", count(missing, "hit", "hits")));
    }
    if is_cut {
        notes.push("Texts were cut: memory_get with ids returns them whole.".to_owned());
    }
    structured["hits"] = Value::Array(shown.items);
    Answer { text, structured }.with_notes(&notes)
}

fn verdict(hits: &[Hit], answerable: f64) -> String {
    let found = count(hits.len(), "memory", "memories");
    if hits.is_empty() {
        "Nothing stored matches the query.".to_owned()
    } else if answerable < ANSWERABLE_LEAST {
        format!(
            "Probably nothing stored answers this (answerable {answerable:.2}, below {ANSWERABLE_LEAST:.2}). The nearest {found}:"
        )
    } else {
        format!("{found}, best first (answerable {answerable:.2}).")
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
    let mut waiting = hits.iter().filter(|hit| says_more(hit)).count();
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
