//! Frames of large pages as the terminal asks for them, and what many of them leave in memory.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde_json::json;
use waypost_browser::{Act, Direction, Relay, View};

use crate::summary;
use crate::table::{Row, Times};
use crate::world::World;

const PAGES: &[(&str, &str, &str)] = &[
    ("/article", "an article of 25,000 elements", "p50 ≤ 10 ms, p99 ≤ 50 ms"),
    ("/shop", "a shop's page of 3,000 elements", "p50 ≤ 10 ms, p99 ≤ 50 ms"),
    ("/rows", "a table of 60,000 rows", "≤ 100 ms"),
];
/// Frames for each run that is asked for: they take little.
const FRAMES: usize = 20;

pub(crate) async fn measure(runs: usize) -> Result<Vec<Row>> {
    let port = summary::serve()?;
    let world = World::start().await?;
    let view = View::new(120, 40, 100).with_pictures(true);
    let mut rows = Vec::new();
    for (path, what, reach) in PAGES {
        let relay = world.relay();
        relay.hand_back();
        world.go(&format!("http://127.0.0.1:{port}{path}")).await?;
        world.ask("wait", json!({ "networkIdle": true, "timeout": 60_000 })).await?;
        relay.frame(view, None).await?;
        let before = kibibytes()?;
        let (mut still, mut scrolled) = (Vec::new(), Vec::new());
        for turn in 0..runs * FRAMES {
            still.push(once(relay, view).await?);
            let direction = if turn % 20 < 10 { Direction::Down } else { Direction::Up };
            relay.human(Act::Scroll(direction, 0.1)).await?;
            scrolled.push(once(relay, view).await?);
        }
        let grown = kibibytes()?.saturating_sub(before);
        let count = 2 * runs * FRAMES;
        let figure = format!(
            "{}; after a scroll {}; {grown} KiB more after {count} frames",
            Times::new(still).percentiles(),
            Times::new(scrolled).percentiles()
        );
        rows.push(Row::new(format!("a frame of 120 × 40 cells of {what}"), reach, figure));
    }
    world.end().await?;
    Ok(rows)
}

/// From asking until the frame is there.
async fn once(relay: &Relay, view: View) -> Result<Duration> {
    let begun = Instant::now();
    relay.frame(view, None).await?.context("a frame that nobody has seen")?;
    Ok(begun.elapsed())
}

/// What this process has in memory.
fn kibibytes() -> Result<usize> {
    let text = fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
