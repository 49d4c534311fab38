//! How many of an article's words are in the text that is read, on the pages of mozilla/readability.
//!
//! The pages are those of `test/test-pages` in a copy of it: `source.html` as it was saved, and
//! `expected.html` with the article alone. The browser itself says which words that has.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use serde_json::json;

use crate::exchange::Exchange;
use crate::serve::{self, Reply};
use crate::world::World;

/// The article as the browser shows it.
const TELL: &str = "<!doctype html><meta charset=utf-8><script>addEventListener('load', () =>
  fetch(`/words${location.pathname}`, { method: 'POST', body: document.body.innerText }))</script>";
/// More than any of the pages needs.
const TOKENS: usize = 500_000;

/// Reads all pages of a folder. What is told of the worst, and then of all.
pub(crate) async fn measure(folder: &Path) -> Result<Vec<String>> {
    let pages = folder.join("test/test-pages");
    let mut names: Vec<String> = fs::read_dir(&pages)
        .with_context(|| format!("{}: no pages", pages.display()))?
        .filter_map(|context| context.ok()?.file_name().into_string().ok())
        .filter(|text| pages.join(text).join("expected.html").exists())
        .collect();
    names.sort();
    let exchange = Arc::new(Exchange::default());
    let said = Arc::clone(&exchange);
    let port = serve::start(move |asked| {
        let path = asked.path.trim_start_matches('/');
        if let Some(name) = path.strip_prefix("words/") {
            said.say(name.to_owned(), asked.body.clone());
            return Reply::page("");
        }
        let page = fs::read(pages.join(path)).unwrap_or_default();
        if path.ends_with("expected.html") {
            return Reply::page([TELL.as_bytes(), page.as_slice()].concat());
        }
        Reply::still(page)
    })?;
    let world = World::start().await?;
    let mut recalls = Vec::new();
    for name in &names {
        let url = |part: &str| format!("http://127.0.0.1:{port}/{name}/{part}.html");
        world.go(&url("expected")).await?;
        let told = exchange.hear(&format!("{name}/expected.html"));
        let expected = words(&told.with_context(|| format!("{name}: no words came"))?);
        world.go(&url("source")).await?;
        let summary = world.ask("read", json!({ "budget": TOKENS })).await?;
        let text = &summary["dom_summary"]["text_content"];
        let found = words(text.as_str().unwrap_or_default());
        recalls.push((recall(&expected, &found), name));
    }
    world.end().await?;
    recalls.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut lines: Vec<String> =
        recalls.iter().take(15).map(|(recall, name)| format!("- {name}: {recall:.3}")).collect();
    let mean = recalls.iter().map(|recall| recall.0).sum::<f64>() / recalls.len() as f64;
    lines.push(format!(
        "recall of the words of {} articles: {mean:.3} on average, p5 {:.3}, worst {:.3}",
        recalls.len(),
        recalls[recalls.len() / 20].0,
        recalls[0].0
    ));
    Ok(lines)
}

/// How often each word occurs. Where a script puts no spaces between words, each letter is one: what
/// stands beside it is up to the layout.
fn words(text: &str) -> HashMap<String, u64> {
    let mut words = HashMap::new();
    for run in text.split(|c: char| !c.is_alphanumeric()) {
        let mut begun = 0;
        for (at, letter) in run.char_indices().filter(|at| has_no_spaces(at.1)) {
            let end = at + letter.len_utf8();
            for word in [&run[begun..at], &run[at..end]] {
                *words.entry(word.to_lowercase()).or_default() += 1;
            }
            begun = end;
        }
        *words.entry(run[begun..].to_lowercase()).or_default() += 1;
    }
    words.remove("");
    words
}

/// Thai to Lao, Burmese, Khmer, and what Chinese and Japanese are written in.
fn has_no_spaces(letter: char) -> bool {
    matches!(letter,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

/// The share of the expected words that were found, each as often as it is expected.
fn recall(expected: &HashMap<String, u64>, found: &HashMap<String, u64>) -> f64 {
    let all: u64 = expected.values().sum();
    let hit: u64 = expected
        .iter()
        .map(|(word, count)| found.get(word).map_or(0, |found| *found.min(count)))
        .sum();
    if all == 0 { 1.0 } else { hit as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use super::{recall, words};

    #[test]
    fn words_count_as_often_as_they_are_expected() {
        let expected = words("The harbour, the harbour: 1949年 松(まつ)");
        assert_eq!(expected.values().sum::<u64>(), 9);
        assert_eq!((expected["harbour"], expected["1949"], expected["松"]), (2, 1, 1));
        assert_eq!(recall(&expected, &words("松 まつ 1949 年 THE\nharbour the harbour")), 1.0);
        assert_eq!(recall(&expected, &words("The harbour 1949年松まつ")), 7.0 / 9.0);
        assert_eq!(recall(&expected, &words("")), 0.0);
        assert_eq!(recall(&words(""), &words("")), 1.0);
    }
}
