//! Converts what an engine found to the wire format.

use serde_json::{Map, Value, json};

use super::budget::{cost, cut_text, fit, grants, tokens_in};
use super::diff::{Known, reduce};
use super::{Extract, Mode, Place};
use crate::clean::unseen;
use crate::engine::{Capabilities, Reach, TabId, Target};
use crate::{clean, clean_line};

/// The lists of `dom_summary`.
pub(super) const LISTS: [&str; 6] =
    ["headings", "forms", "links", "tables", "interactive", "errors"];
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

/// What is known besides the page.
pub(crate) struct Around<'a> {
    pub(crate) mode: Mode,
    pub(crate) tokens: usize,
    pub(crate) tab: TabId,
    pub(crate) capabilities: Capabilities,
    pub(crate) auth: Value,
    /// Masks what was typed into secret fields.
    pub(crate) mask: &'a dyn Fn(&str) -> String,
    /// The page as it was last read.
    pub(crate) before: Option<&'a Known>,
}

/// Which part of a page is worth reading for this mode and budget.
pub(crate) fn reach(mode: Mode, tokens: usize, scope: Option<Target>, viewport: bool) -> Reach {
    // An entry costs some 20 tokens, a token is some four letters; a diff compares more than it
    // shows.
    let characters_max = match mode {
        Mode::Outline | Mode::Interactive => 0,
        Mode::Full => tokens * 5,
        Mode::Diff => tokens * 10,
    };
    let tokens_max = (mode != Mode::Diff).then_some(tokens);
    let items_max = (tokens / 20).clamp(40, 5_000);
    Reach { scope, viewport, items_max, characters_max, tokens_max }
}

/// The lists of a summary before they are truncated.
#[derive(Debug, Clone, Default)]
pub(super) struct Parts {
    pub(super) lists: [Vec<Value>; 6],
    /// How important each entry is.
    importance: [Vec<u8>; 6],
    /// The number of entries on the page.
    pub(super) totals: [u64; 6],
    /// Which entries existed before, and are not in view.
    pub(super) met: [Vec<bool>; 6],
    pub(super) text: String,
    /// The approximate number of letters in the whole text.
    pub(super) letters: u64,
}

impl Parts {
    pub(super) fn retain(&mut self, list: usize, kept: &[bool]) {
        let mut is_kept = kept.iter();
        self.lists[list].retain(|_| is_kept.next() == Some(&true));
        let mut is_kept = kept.iter();
        self.importance[list].retain(|_| is_kept.next() == Some(&true));
    }
}

/// The summary, and the page to compare the next reading with.
pub(crate) fn show(extract: &Extract, around: &Around<'_>) -> (Value, Known) {
    let text = |text: &str| (around.mask)(&clean(text));
    let line = |text: &str| -> String {
        (around.mask)(&clean_line(text)).chars().take(LINE_MAX).collect()
    };
    let mut parts = parts(extract, around.mask);
    let url = line(&extract.url);
    let known = Known { url: url.clone(), parts: parts.clone() };
    let mut removed = None;
    if around.mode == Mode::Diff
        && let Some(before) = around.before.filter(|it| it.url == url)
    {
        removed = Some(reduce(&mut parts, &before.parts));
        // Entries that are left out here were shown before: they are not missing.
        parts.totals = std::array::from_fn(|at| parts.lists[at].len() as u64);
        parts.letters = 0;
    }
    let is_left_out = |at: usize| match around.mode {
        Mode::Outline => matches!(LISTS[at], "links" | "interactive"),
        _ => false,
    };
    for at in (0..LISTS.len()).filter(|it| is_left_out(*it)) {
        parts.lists[at].clear();
    }
    if matches!(around.mode, Mode::Outline | Mode::Interactive) {
        parts.text.clear();
        parts.letters = 0;
    }

    let mut summary = json!({
        "url": url,
        "title": line(&extract.title),
        "dom_summary": {},
        "tab": around.tab,
        "mode": around.mode,
        "engine": around.capabilities.engine,
        "trust": "untrusted",
        "truncated": {},
        "frames": extract.frames,
        "dialogs": extract.dialogs,
        "downloads": extract.downloads,
        "auth": around.auth,
        "flags": flags(extract),
        "tokens": 0,
    });
    if let Some(status) = extract.status {
        summary["status"] = status.into();
    }
    if extract.loading {
        summary["loading"] = true.into();
    }
    if let Some(removed) = removed {
        summary["removed"] = removed;
    }
    scrub(&mut summary, &text);
    fill(&mut summary, parts, extract, around);
    (summary, known)
}

/// Everything in `dom_summary`, cleaned and masked.
fn parts(extract: &Extract, mask: &dyn Fn(&str) -> String) -> Parts {
    let value = |it: &dyn erased::Shown| it.shown();
    let mut parts = Parts::default();
    parts.lists[0] = extract.headings.kept.iter().map(|it| json!(it.text)).collect();
    parts.lists[1] = extract.forms.kept.iter().map(|it| value(it)).collect();
    parts.lists[2] = extract.links.kept.iter().map(|it| value(it)).collect();
    parts.lists[3] = extract.tables.kept.iter().map(|it| value(it)).collect();
    parts.lists[4] = extract.controls.kept.iter().map(|it| value(it)).collect();
    parts.lists[5] = extract.errors.iter().map(|it| value(it)).collect();
    parts.importance[0] = extract.headings.kept.iter().map(|it| 6 - it.level.min(6)).collect();
    parts.importance[2] = extract.links.kept.iter().map(|it| u8::from(it.place.in_view)).collect();
    let weight = |view: bool, text: &str| u8::from(view) * 2 + u8::from(!text.is_empty());
    parts.importance[4] =
        extract.controls.kept.iter().map(|it| weight(it.place.in_view, &it.text)).collect();
    for at in [1, 3, 5] {
        parts.importance[at] = vec![0; parts.lists[at].len()];
    }
    parts.totals = [
        extract.headings.total,
        extract.forms.total,
        extract.links.total,
        extract.tables.total,
        extract.controls.total,
        extract.errors.len() as u64,
    ];
    for entry in parts.lists.iter_mut().flatten() {
        scrub(entry, &|it| mask(&clean_line(it)));
    }
    let met = |place: &Place| place.met && !place.in_view;
    parts.met[2] = extract.links.kept.iter().map(|it| met(&it.place)).collect();
    parts.met[4] = extract.controls.kept.iter().map(|it| met(&it.place)).collect();
    parts.text = mask(&clean(&extract.text));
    parts.letters = extract.letters;
    parts
}

/// Adds what fits to the summary, and reports what did not.
fn fill(summary: &mut Value, mut parts: Parts, extract: &Extract, around: &Around<'_>) {
    // The names of the lists and the report of what was left out also have a cost.
    let reserve = tokens_in(&summary.to_string()) + 110;
    let tokens = around.tokens.saturating_sub(reserve);
    let costs: [Vec<usize>; 6] =
        std::array::from_fn(|at| parts.lists[at].iter().map(cost).collect());
    let wants = std::array::from_fn(|at| costs[at].iter().sum());
    let in_json = tokens_in(&Value::from(parts.text.as_str()).to_string());
    let (granted, for_text) = grants(tokens, &wants, in_json);
    let mut truncated = Map::new();
    let mut lists = Map::new();
    for (at, name) in LISTS.iter().enumerate() {
        let kept = fit(&costs[at], &parts.importance[at], granted[at]);
        parts.retain(at, &kept);
        let shown = parts.lists[at].len() as u64;
        if shown < parts.totals[at] {
            truncated.insert((*name).to_owned(), json!({ "shown": shown, "of": parts.totals[at] }));
        }
        lists.insert((*name).to_owned(), std::mem::take(&mut parts.lists[at]).into());
    }
    let text = cut_text(&parts.text, for_text);
    let letters = |it: &str| it.chars().count() as u64;
    let (shown, of) = (letters(text), parts.letters.max(letters(&parts.text)));
    if shown < of {
        truncated.insert("text_content".to_owned(), json!({ "shown": shown, "of": of }));
    }
    if let Some(limit) = &extract.truncated {
        truncated.insert("limit".to_owned(), limit.as_str().into());
    }
    lists.insert("text_content".to_owned(), text.into());
    summary["dom_summary"] = lists.into();
    summary["truncated"] = truncated.into();
    summary["tokens"] = tokens_in(&summary.to_string()).into();
}

/// Hints at what a reader would not notice. They are not a security boundary.
fn flags(extract: &Extract) -> Value {
    let mut flags: Vec<Value> = Vec::new();
    for (reason, count) in &extract.left {
        flags.push(json!({ "type": "hidden_text", "reason": reason, "count": count }));
    }
    let count = unseen(&extract.text);
    if count > 0 {
        flags.push(json!({ "type": "unseen_characters", "count": count }));
    }
    let lower = extract.text.to_lowercase();
    if ADDRESSED.iter().any(|it| lower.contains(it)) {
        flags.push(json!({ "type": "addresses_assistants" }));
    }
    flags.into()
}

/// Changes every text in a value. A selector that would change is left out: it would find another
/// element, or none.
pub(crate) fn scrub(value: &mut Value, change: &dyn Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = change(text),
        Value::Array(entries) => entries.iter_mut().for_each(|it| scrub(it, change)),
        Value::Object(members) => {
            let is_broken =
                |it: &Value| it.as_str().is_some_and(|text| change(text).trim() != text.trim());
            if members.get("selector").is_some_and(is_broken) {
                members.remove("selector");
            }
            members.values_mut().for_each(|it| scrub(it, change));
        }
        _ => {}
    }
}

/// The form in which each kind of entry is shown.
mod erased {
    use serde_json::{Value, json};

    use super::super::{Control, Form, Link, PageError, Table};

    pub(super) trait Shown {
        fn shown(&self) -> Value;
    }

    macro_rules! as_it_is {
        ($($kind:ty),*) => {$(
            impl Shown for $kind {
                fn shown(&self) -> Value {
                    // These are objects of texts and numbers: serializing them cannot fail.
                    serde_json::to_value(self).unwrap_or_default()
                }
            }
        )*};
    }
    as_it_is!(Control, Link, PageError);

    impl Shown for Form {
        fn shown(&self) -> Value {
            let names: Vec<&str> = self.fields.iter().map(|it| it.name.as_str()).collect();
            let refs: Vec<&str> =
                self.fields.iter().map(|it| it.place.reference.as_str()).collect();
            let selectors: Vec<Option<&str>> =
                self.fields.iter().map(|it| it.place.selector.as_deref()).collect();
            json!({
                "id": self.id,
                "fields": names,
                "refs": refs,
                "selectors": selectors,
                "ref": self.place.reference,
                "selector": self.place.selector,
            })
        }
    }

    impl Shown for Table {
        fn shown(&self) -> Value {
            let mut shown = json!({
                "id": self.id,
                "rows": self.rows,
                "ref": self.place.reference,
                "selector": self.place.selector,
            });
            if !self.columns.is_empty() {
                shown["columns"] = json!(self.columns);
            }
            if !self.caption.is_empty() {
                shown["caption"] = json!(self.caption);
            }
            shown
        }
    }
}
