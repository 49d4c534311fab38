//! Fits a page into a token budget.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::budget::{cost, cut_text, fit, grants, tokens_in};
use super::diff::{Known, reduce};
use super::extract::{CONTROLS, Entry, Extract, HEADINGS, LINKS, LISTS, TEXT};
use crate::clean::unseen;
use crate::protocol::{ReadScope, TabId, Target};
use crate::scrub::scrub;
use crate::{clean, clean_line};

/// The longest address and title in a summary, in letters.
const LINE_MAX: usize = 500;
/// Phrases of a text that is addressed to a program and not to a reader.
const ADDRESSED: &[&str] = &[
    "ignore all previous",
    "ignore previous instructions",
    "ignore the above",
    "disregard all previous",
    "disregard previous",
    "you are an ai",
    "as an ai",
    "system prompt",
    "ai assistant",
    "ai agent",
];

/// How much a summary contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    /// Headings, forms, tables and errors.
    Outline,
    /// Usable elements: forms, controls, links.
    Interactive,
    /// Everything.
    #[default]
    Full,
    /// What is new since the same page was last read, and what is gone.
    Diff,
}

/// What is known besides the page.
pub(crate) struct Around<'a> {
    pub(crate) mode: Mode,
    pub(crate) tokens: usize,
    pub(crate) tab: TabId,
    /// The name of the engine.
    pub(crate) engine: &'static str,
    /// Whether someone is logged in.
    pub(crate) auth: Value,
    /// Masks what was typed into secret fields.
    pub(crate) mask: &'a dyn Fn(&str) -> String,
    /// The page as it was last read.
    pub(crate) before: Option<&'a Known>,
    /// Whether a diff without an earlier reading is an outline, and not the whole page.
    pub(crate) is_brief: bool,
}

/// Which part of a page is worth reading for this mode and budget.
pub(crate) fn reach(mode: Mode, tokens: usize, scope: Option<Target>, viewport: bool) -> ReadScope {
    // An entry costs some 20 tokens, a token is some four letters; a diff compares more than it
    // shows.
    let characters_max = match mode {
        Mode::Outline | Mode::Interactive => 0,
        Mode::Full => tokens * 5,
        Mode::Diff => tokens * 10,
    };
    let tokens_max = (mode != Mode::Diff).then_some(tokens);
    let items_max = (tokens / 20).clamp(40, 5_000);
    ReadScope { scope, viewport, items_max, characters_max, tokens_max, known: Vec::new() }
}

/// The summary, and the page to compare the next reading with.
pub(crate) fn show(mut extract: Extract, around: &Around<'_>) -> (Value, Known) {
    let line = |text: &str| (around.mask)(&clean_line(text));
    let short = |text: &str| -> String { line(text).chars().take(LINE_MAX).collect() };
    (extract.url, extract.title) = (short(&extract.url), short(&extract.title));
    let flags = flags(&extract);
    for entry in extract.lists.iter_mut().flat_map(|list| &mut list.entries) {
        scrub(&mut entry.shown, &line);
    }
    for control in &mut extract.lists[CONTROLS].entries {
        // Pages choose it, unlike the types of other things.
        scrub(&mut control.shown["type"], &line);
    }
    extract.text = (around.mask)(&clean(&extract.text));
    if !extract.text_cut {
        // A mask changes the length: only what is known to be cut has more letters.
        extract.letters = 0;
    }
    if extract.truncated.is_some() {
        extract.text_cut = true;
        extract.lists.iter_mut().for_each(|list| list.cut = true);
    }
    let known = Known::of(&extract);
    let mut mode = around.mode;
    let mut delta = Map::new();
    if mode == Mode::Diff {
        if let Some(before) = around.before.filter(|before| before.url == extract.url) {
            delta = reduce(&mut extract, before, &known);
            // Entries that are left out here were shown before: they are not missing.
            extract.lists.iter_mut().for_each(|list| list.total = list.entries.len() as u64);
            extract.letters = 0;
        } else if around.is_brief {
            mode = Mode::Outline;
        }
    }
    if mode == Mode::Outline {
        extract.lists[LINKS].entries.clear();
        extract.lists[CONTROLS].entries.clear();
    }
    if matches!(mode, Mode::Outline | Mode::Interactive) {
        extract.text.clear();
        extract.letters = 0;
    }
    let mut summary = json!({
        "url": extract.url,
        "title": extract.title,
        "dom_summary": {},
        "tab": around.tab,
        "mode": mode,
        "engine": around.engine,
        "trust": "untrusted",
        "truncated": {},
        "frames": extract.frames,
        "dialogs": extract.dialogs,
        "downloads": extract.downloads,
        "auth": around.auth,
        "flags": flags,
        "tokens": 0,
    });
    if let Some(status) = extract.status {
        summary["status"] = status.into();
    }
    if extract.loading {
        summary["loading"] = true.into();
    }
    for (name, value) in delta {
        summary[name] = value;
    }
    scrub(&mut summary, &|text| (around.mask)(&clean(text)));
    fill(&mut summary, extract, around.tokens);
    (summary, known)
}

/// Adds what fits to the summary, and reports what did not.
fn fill(summary: &mut Value, mut extract: Extract, tokens: usize) {
    // The names of the lists and the report of what was left out also have a cost.
    let reserve = tokens_in(&summary.to_string()) + 110;
    let tokens = tokens.saturating_sub(reserve);
    let costs: [Vec<usize>; 6] = std::array::from_fn(|at| {
        extract.lists[at].entries.iter().map(|entry| cost(&entry.shown)).collect()
    });
    let wants = std::array::from_fn(|at| costs[at].iter().sum());
    let in_json = tokens_in(&Value::from(extract.text.as_str()).to_string());
    let (granted, for_text) = grants(tokens, &wants, in_json);
    let (mut content, mut truncated) = (Map::new(), Map::new());
    let mut add = |name: &str, value: Value, shown: u64, of: u64| {
        content.insert(name.to_owned(), value);
        if shown < of {
            truncated.insert(name.to_owned(), json!({ "shown": shown, "of": of }));
        }
    };
    for (at, (list, name)) in extract.lists.iter_mut().zip(LISTS).enumerate() {
        let importance: Vec<u8> = list.entries.iter().map(|entry| importance(at, entry)).collect();
        let kept = fit(&costs[at], &importance, granted[at]);
        list.retain(&kept);
        let shown: Vec<Value> = list.entries.drain(..).map(|entry| entry.shown).collect();
        let count = shown.len() as u64;
        add(name, shown.into(), count, list.total);
    }
    let text = cut_text(&extract.text, for_text);
    let letters = |text: &str| text.chars().count() as u64;
    add(TEXT, text.into(), letters(text), extract.letters.max(letters(&extract.text)));
    if let Some(limit) = extract.truncated {
        truncated.insert("limit".to_owned(), limit.into());
    }
    summary["dom_summary"] = content.into();
    summary["truncated"] = truncated.into();
    summary["tokens"] = tokens_in(&summary.to_string()).into();
}

/// How important an entry of a list is.
fn importance(list: usize, entry: &Entry) -> u8 {
    let in_view = u8::from(entry.in_view);
    match list {
        HEADINGS => 6 - entry.level.unwrap_or(6).min(6),
        LINKS => in_view,
        CONTROLS => in_view * 2 + u8::from(entry.shown["text"] != ""),
        _ => 0,
    }
}

/// Hints at what a reader of the page would not notice. They are no security boundary.
fn flags(extract: &Extract) -> Vec<Value> {
    let hidden =
        |(reason, count)| json!({ "type": "hidden_text", "reason": reason, "count": count });
    let mut flags: Vec<Value> = extract.left.iter().map(hidden).collect();
    let count = unseen(&extract.text);
    if count > 0 {
        flags.push(json!({ "type": "unseen_characters", "count": count }));
    }
    let lower = extract.text.to_lowercase();
    if ADDRESSED.iter().any(|addressed| lower.contains(addressed)) {
        flags.push(json!({ "type": "addresses_assistants" }));
    }
    flags
}
