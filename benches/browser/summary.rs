//! Summaries of large pages, from the command to its answer.

use std::time::Instant;

use anyhow::{Result, anyhow};
use serde_json::{Value, json};

use crate::pages;
use crate::serve::{self, Reply};
use crate::table::{Row, Times};
use crate::world::World;

/// What of a summary must have been kept.
const PAGES: &[(&str, &str, &str)] = &[
    ("/article", "summary of an article of 25,000 elements", "≤ 100 ms, ≤ 4,000 tokens"),
    ("/shop", "summary of a shop's page of 3,000 elements", "≤ 10 ms"),
    ("/rows", "summary of a table of 60,000 rows", "≤ 1 s"),
];

/// Serves the made-up pages, and gives the port.
pub(crate) fn serve() -> Result<u16> {
    serve::start(|asked| {
        Reply::page(match asked.path.as_str() {
            "/article" => pages::article(),
            "/shop" => pages::shop(),
            "/rows" => pages::rows(),
            _ => String::new(),
        })
    })
}

pub(crate) async fn measure(runs: usize) -> Result<Vec<Row>> {
    let port = serve()?;
    let world = World::start().await?;
    let mut rows = Vec::new();
    for (path, what, reach) in PAGES {
        world.go(&format!("http://127.0.0.1:{port}{path}")).await?;
        world.ask("wait", json!({ "networkIdle": true, "timeout": 60_000 })).await?;
        let mut times = Vec::new();
        let mut summary = Value::Null;
        for _ in 0..runs {
            let begun = Instant::now();
            summary = world.ask("read", json!({})).await?;
            times.push(begun.elapsed());
        }
        let first = times[0];
        let told = described(&Times::new(times), &summary)?;
        rows.push(Row::new(*what, reach, format!("first {first:.3?}, {told}")));
    }
    world.end().await?;
    Ok(rows)
}

/// The times, and how much of the page there is.
fn described(times: &Times, summary: &Value) -> Result<String> {
    let dom = &summary["dom_summary"];
    let count = |list: &str| dom[list].as_array().map_or(0, Vec::len);
    let tokens = summary["tokens"].as_u64().ok_or_else(|| anyhow!("no tokens: {summary}"))?;
    Ok(format!(
        "{}; {tokens} tokens, {} headings, {} links, {} controls, {} tables",
        times.percentiles(),
        count("headings"),
        count("links"),
        count("interactive"),
        count("tables")
    ))
}
