//! How long a reader waits for the first result of a search.

use anyhow::{Context as _, Result};
use serde_json::json;

use crate::chrome::{Chrome, Tab};
use crate::fill::Random;

const SCRIPT: &str = include_str!("search.js");
const SEARCHES: usize = 40;

/// Milliseconds from the start of a search to the frame with its first result, the shortest first.
pub(crate) fn times(chrome: &mut Chrome, tab: &Tab, seed: u64) -> Result<Vec<f64>> {
    chrome.value(tab, "location.hash = '#/search'");
    chrome.until(tab, "document.querySelector('.hits') && !document.querySelector('[aria-busy]')");
    let mut random = Random(seed);
    let mut times = Vec::new();
    for _ in 0..SEARCHES {
        let query = random.words(4);
        let took = chrome.value(tab, &format!("({SCRIPT})({})", json!(query)));
        times.push(took.as_f64().context("a time")?);
    }
    times.sort_by(f64::total_cmp);
    Ok(times)
}
