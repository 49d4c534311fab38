//! Summaries of large pages, from the command to its answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use serde_json::{Value, json};
use waypost_browser::{
    Allow, Chromium, ChromiumSettings, Deadline, Engine, Policy, Relay, RelaySettings,
    find_chromium,
};

use crate::serve;
use crate::table::{Row, Times};

/// What of a summary must have been kept.
const PAGES: &[(&str, &str, &str)] = &[
    ("/article", "summary of an article of 25,000 elements", "≤ 100 ms, ≤ 4,000 tokens"),
    ("/shop", "summary of a shop's page of 3,000 elements", "≤ 10 ms"),
    ("/rows", "summary of a table of 60,000 rows", "≤ 1 s"),
];

pub(crate) async fn measure(runs: usize) -> Result<Vec<Row>> {
    let port = serve::start()?;
    let folder = tempfile::tempdir()?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program = find_chromium(&path).context("there is no Chromium in PATH")?;
    let policy = Arc::new(Policy::new(vec![Allow::Private], []));
    let settings = ChromiumSettings {
        sandbox: false,
        ..ChromiumSettings::new(program, folder.path().to_owned())
    };
    let engine: Arc<dyn Engine> = Arc::new(Chromium::start(settings, Arc::clone(&policy)).await?);
    let relay = Relay::new(Arc::clone(&engine), policy, &RelaySettings::default());
    let mut rows = Vec::new();
    for (path, what, reach) in PAGES {
        let url = format!("http://127.0.0.1:{port}{path}");
        relay.handle("navigate", json!({ "url": url })).await?;
        relay.handle("wait", json!({ "networkIdle": true, "timeout": 60_000 })).await?;
        let mut times = Vec::new();
        let mut summary = Value::Null;
        for _ in 0..runs {
            let begun = Instant::now();
            summary = relay.handle("read", json!({})).await?;
            times.push(begun.elapsed());
        }
        rows.push(Row::new(*what, reach, told(&Times::new(times), &summary)?));
    }
    engine.end(Deadline::after(Duration::from_secs(10))).await?;
    Ok(rows)
}

/// The times, and how much of the page there is.
fn told(times: &Times, summary: &Value) -> Result<String> {
    let dom = &summary["dom_summary"];
    let count = |list: &str| dom[list].as_array().map_or(0, Vec::len);
    let tokens = summary["tokens"].as_u64().ok_or_else(|| anyhow!("no tokens: {summary}"))?;
    Ok(format!(
        "{}; {tokens} tokens, {} headings, {} links, {} controls, {} tables",
        times.told(),
        count("headings"),
        count("links"),
        count("interactive"),
        count("tables")
    ))
}
