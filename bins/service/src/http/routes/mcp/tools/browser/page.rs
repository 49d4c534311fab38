//! Pages as text: a line for each entry, with the reference by which an action names it. All of it is untrusted.

use serde_json::{Map, Value, json};

use super::entry::{array, cleaned, lists, member, members, quoted, text};
use crate::http::routes::mcp::outcome::Answer;
use crate::http::routes::mcp::text::{PAGE_NOTICE as NOTICE, fenced, head, plain, tokens};

/// Members of a page that a structured result has as well.
const NAMES: [&str; 11] = [
    "mode",
    "url",
    "title",
    "tab",
    "status",
    "loading",
    "flags",
    "auth",
    "reloaded",
    "reordered",
    "partial",
];
/// Tokens left for the first line and the note.
const FRAME_TOKENS: usize = 160;

/// What an action did.
#[derive(Debug)]
pub(super) struct Done {
    action: String,
    lines: Vec<String>,
    /// See [`surprises`].
    surprises: Vec<String>,
    item: Value,
}

/// Lines as far as they fit.
struct Fitting {
    left: usize,
    lines: Vec<String>,
    /// The fences that these lines need.
    fences: usize,
    is_cut: bool,
}

impl Fitting {
    fn new(left: usize) -> Self {
        Self { left, lines: Vec::new(), fences: fences(""), is_cut: false }
    }

    /// Adds a line if it fits, with the fences that it needs.
    fn add(&mut self, line: String) -> bool {
        let fences = fences(&line).max(self.fences);
        match self.left.checked_sub(tokens(&line) + 1 + fences - self.fences) {
            Some(rest) if !self.is_cut => {
                self.left = rest;
                self.fences = fences;
                self.lines.push(line);
            }
            _ => self.is_cut = true,
        }
        !self.is_cut
    }
}

/// The tokens of the fences around a text.
fn fences(text: &str) -> usize {
    tokens(&fenced("", text)).saturating_sub(tokens(text))
}

/// What the browser said of an action.
pub(super) fn done(action: &str, answer: &Value) -> Done {
    let mut lines = Vec::new();
    let element = &answer["element"];
    if !element.is_null() {
        lines.push(format!("on: {} {}", text(&element["tag"]), quoted(&element["text"])));
    }
    let names = ["matches", "closed", "chosen", "x", "y", "xMax", "yMax", "popups", "fileChoosers"];
    let said: Vec<String> = names.iter().filter_map(|name| member(answer, name)).collect();
    if !said.is_empty() {
        lines.push(said.join(" "));
    }
    let surprises = surprises(answer);
    Done { action: action.to_owned(), lines, surprises, item: cleaned(answer) }
}

/// The tabs.
pub(super) fn tabs(answer: &Value, budget: usize) -> Answer {
    let mut shown = Fitting::new(budget.saturating_sub(FRAME_TOKENS));
    let mut items = Vec::new();
    for it in array(&answer["tabs"]) {
        let current = if it["tab"] == answer["current"] { " (current)" } else { "" };
        let (title, url) = (quoted(&it["title"]), quoted(&it["url"]));
        if shown.add(format!("tab {}{current} {title} {url}", text(&it["tab"]))) {
            items.push(cleaned(it));
        }
    }
    Answer {
        text: format!("The tabs. {NOTICE}\n{}", fenced("tabs", &shown.lines.join("\n"))),
        structured: json!({ "tabs": items, "current": cleaned(&answer["current"]), "notice": NOTICE }),
    }
}

/// The page as the browser summarised it, and what was done before.
pub(super) fn show(page: &Value, done: Option<Done>, budget: usize) -> Answer {
    let mut intro = introduction(page, done.is_some()).to_owned();
    let mut structured = json!({ "notice": NOTICE });
    for name in NAMES {
        if let Some(it) = page.get(name) {
            structured[name] = cleaned(it);
        }
    }
    let mut place = vec![format!("url: {}", text(&page["url"]))];
    place.push(format!("title: {}", text(&page["title"])));
    place
        .extend(page["removed"].get("title").map(|page| format!("title before: {}", quoted(page))));
    if array(&page["reordered"]).next().is_some() {
        let parts: Vec<String> = array(&page["reordered"]).map(text).collect();
        place.push(format!("in another order: {}", parts.join(", ")));
    }
    // A page may open dialogs without end: they get a part of the budget.
    let mut unasked = Fitting::new(budget / 4);
    if let Some(Done { action, lines, surprises, item }) = done {
        intro = format!("`{action}` is done. {intro}");
        place.extend(lines);
        for it in surprises {
            unasked.add(it);
        }
        structured["done"] = item;
    }
    place.extend(member(page, "loading"));
    for it in surprises(page) {
        unasked.add(it);
    }
    place.append(&mut unasked.lines);
    place.extend(login(&page["auth"]));
    place.extend(array(&page["flags"]).map(|array| format!("flag: {}", members(array))));
    let content = page["dom_summary"]["text_content"].as_str().unwrap_or_default();
    let content = plain(content.trim());
    let left = budget.saturating_sub(FRAME_TOKENS + tokens(&fenced("", &place.join("\n"))));
    // Neither the entries nor the text displace the other.
    let for_text = tokens(&content).min(left / 3);
    let mut shown = Fitting::new(left.saturating_sub(for_text));
    removed(page, &mut shown, &mut structured);
    entries(page, &mut shown, &mut structured);
    place.append(&mut shown.lines);
    let mut text = format!("{intro} {NOTICE}\n{}", fenced("page", &place.join("\n")));
    let frame = tokens(&fenced("text", "")) + 1;
    let room = (shown.left + for_text).saturating_sub(frame);
    let mut start = head(&content, room);
    if tokens(start) + fences(start) > room + fences("") {
        // Each of the fences is at most as long as the text, and one more.
        start = head(&content, room / 3);
    }
    if !start.is_empty() {
        text.push('\n');
        text.push_str(&fenced("text", start));
        structured["text"] = json!(start);
    }
    if let Some(note) =
        left_out(page, unasked.is_cut || shown.is_cut || start.len() < content.len())
    {
        text.push('\n');
        text.push_str(&note);
        structured["note"] = json!(note);
    }
    Answer { text, structured }
}

/// What the result has of the page.
fn introduction(page: &Value, is_after: bool) -> &'static str {
    match page["mode"].as_str() {
        Some("full") => "The page.",
        Some("outline") => {
            "A page that is new to you, in outline; `read` with `whole` returns all of it."
        }
        _ if page["reloaded"] == true => {
            "The page was loaded again, and every earlier `ref` is gone. What changed, and all elements:"
        }
        _ if !is_same(page) => "What changed on the page since your last call.",
        _ if array(&page["partial"]).next().is_some() => {
            "Nothing changed on the page, as far as it was compared with your last call."
        }
        _ if is_after => "Nothing changed on the page.",
        _ => "Nothing changed on the page since your last call.",
    }
}

/// Whether a comparison found nothing.
fn is_same(page: &Value) -> bool {
    let mut lists = page["dom_summary"].as_object().into_iter().flatten();
    let is_empty = |value: &Value| value.as_array().map_or(value == "", Vec::is_empty);
    let is_in_order = array(&page["reordered"]).next().is_none();
    page["removed"].as_object().is_some_and(Map::is_empty)
        && is_in_order
        && lists.all(|list| is_empty(list.1))
}

/// Adds the entries of the lists as far as they fit.
fn entries(page: &Value, shown: &mut Fitting, structured: &mut Value) {
    for (list, said) in lists() {
        let found = array(&page["dom_summary"][list]);
        let items: Vec<_> = found.filter(|found| shown.add(said(found))).map(cleaned).collect();
        if !items.is_empty() {
            structured[list] = items.into();
        }
    }
}

/// Adds what is gone as far as it fits.
fn removed(page: &Value, shown: &mut Fitting, structured: &mut Value) {
    for list in parts() {
        let names: Vec<Value> = match &page["removed"][list] {
            Value::String(lines) => lines.lines().map(Value::from).collect(),
            other => array(other).cloned().collect(),
        };
        let line = |value: &Value| format!("gone from {list}: {}", text(value));
        let items: Vec<_> =
            names.iter().filter(|name| shown.add(line(name))).map(cleaned).collect();
        if !items.is_empty() {
            structured["removed"][list] = items.into();
        }
    }
    for name in ["title", "more"] {
        if let Some(it) = page["removed"].get(name) {
            structured["removed"][name] = cleaned(it);
        }
    }
    if let Some(more) = page["removed"].get("more") {
        shown.add(format!("gone: {} more", text(more)));
    }
}

/// What is missing from a result.
fn left_out(page: &Value, is_cut: bool) -> Option<String> {
    let counts = parts().filter_map(|part| {
        let cut = &page["truncated"][part];
        Some(format!("{} of {} {part}", cut["shown"].as_u64()?, cut["of"].as_u64()?))
    });
    let counts: Vec<String> = counts.collect();
    if counts.is_empty() && !is_cut {
        return None;
    }
    let shown = match &counts[..] {
        [] => String::new(),
        counts => format!(": {}", counts.join(", ")),
    };
    Some(format!("Not everything is here{shown}. For more, `read` with `whole` and maxTokens."))
}

/// The parts of a page.
fn parts() -> impl Iterator<Item = &'static str> {
    lists().into_iter().map(|list| list.0).chain(["text_content"])
}

/// Dialogs and downloads, which the browser has answered.
fn surprises(of: &Value) -> Vec<String> {
    let lines =
        [("dialog", "dialogs"), ("download", "downloads")].into_iter().flat_map(|(one, many)| {
            array(&of[many]).map(move |array| format!("{one}: {}", members(array)))
        });
    lines.collect()
}

/// A login that has changed.
fn login(auth: &Value) -> Option<String> {
    let ago = auth.get("changedMsAgo")?;
    Some(format!("login: {}, changed {} ms ago", text(&auth["state"]), text(ago)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_with_any_backticks_is_within_its_budget() {
        let dialogs = |message: &str| {
            let one = json!({ "type": "alert", "message": message, "accepted": true });
            Value::from(vec![one; 40])
        };
        for (message, heading, content) in [
            ("`".repeat(160), "a".to_owned(), "word ".repeat(9_000)),
            ("x".repeat(160), "`".repeat(160), "`".repeat(9_000)),
            ("`x".repeat(80), "`x".repeat(80), "`x`".repeat(9_000)),
        ] {
            let page = json!({
                "mode": "full", "url": "http://a.example/", "title": "A", "dialogs": dialogs(&message),
                "dom_summary": { "headings": vec![heading; 90], "text_content": content },
            });
            let answer = json!({ "dialogs": dialogs(&message) });
            for budget in [400, 2_000] {
                let shown = show(&page, Some(done("click", &answer)), budget).text;
                assert!(tokens(&shown) <= budget, "{} of {budget}: {shown}", tokens(&shown));
                assert!(shown.contains("Not everything is here"), "{shown}");
                assert!(budget == 400 || shown.contains("dialog: "), "{shown}");
            }
        }
    }
}
