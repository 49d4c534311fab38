//! The frames of a page, and what it keeps in memory.

use std::fs;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::chrome::{Chrome, Tab};

const SCRIPT: &str = include_str!("frames.js");

/// Begins to count frames.
pub(crate) fn count(chrome: &mut Chrome, tab: &Tab) {
    chrome.value(tab, SCRIPT);
}

/// The counts since then.
pub(crate) fn counted(chrome: &mut Chrome, tab: &Tab) -> Value {
    chrome.value(tab, "counted")
}

/// What a page keeps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kept {
    /// Bytes of objects of its scripts.
    pub(crate) heap: u64,
    /// Nodes of documents, with those that were removed and not collected yet.
    pub(crate) nodes: u64,
    /// Bytes of memory of its process, without files.
    pub(crate) process: u64,
}

/// What the page keeps now; with what is not collected yet.
pub(crate) fn kept(chrome: &mut Chrome, tab: &Tab, process: u64) -> Result<Kept> {
    let found = chrome.call(Some(tab), "Performance.getMetrics", &json!({}));
    let metric = |name: &str| {
        let metrics = found["metrics"].as_array().into_iter().flatten();
        let mut values = metrics
            .filter(|metric| metric["name"] == name)
            .filter_map(|metric| metric["value"].as_f64());
        values.next().map(|value| value as u64).with_context(|| format!("Chromium has no {name}"))
    };
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let kib = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kib = kib.and_then(|kib| kib.trim().split(' ').next()).context("RssAnon")?;
    Ok(Kept {
        heap: metric("JSHeapUsedSize")?,
        nodes: metric("Nodes")?,
        process: kib.parse::<u64>()? << 10,
    })
}

/// Collects garbage.
pub(crate) fn collect(chrome: &mut Chrome, tab: &Tab) {
    // What ends in one collection can release more.
    for _ in 0..3 {
        chrome.call(Some(tab), "HeapProfiler.collectGarbage", &json!({}));
    }
}

/// The process of the page: the one of all pages that used the processor most.
pub(crate) fn process(chrome: &mut Chrome) -> Result<u64> {
    let found = chrome.call(None, "SystemInfo.getProcessInfo", &json!({}));
    let all = found["processInfo"].as_array().into_iter().flatten();
    all.filter(|value| value["type"] == "renderer")
        .max_by(|a, b| {
            a["cpuTime"].as_f64().unwrap_or(0.0).total_cmp(&b["cpuTime"].as_f64().unwrap_or(0.0))
        })
        .and_then(|value| value["id"].as_u64())
        .context("Chromium has no process of a page")
}
