//! Calls between two peers of one machine, alone and beside a listener that does not listen.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::json;
use waypost_mesh::{Mesh, Pattern, Settings};

use crate::table::{Row, Times};

/// Calls that are not counted: threads and buffers come with the first.
const WARM_UP: usize = 200;
const CALLS: usize = 5_000;
/// Between two clicks of a person who is fast.
const CLICK_EVERY: Duration = Duration::from_millis(10);
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn measure() -> Result<Vec<Row>> {
    let folder = tempfile::tempdir()?;
    let meeting = folder.path().join("mesh");
    let relay = Mesh::open(&Settings::new(&meeting, "browser"))?;
    let _serving = relay.serve("browser.relay", |call| Ok(call.argument))?;
    let agent = Mesh::open(&Settings::new(&meeting, "agent"))?;
    times(&agent, WARM_UP)?;
    let alone = times(&agent, CALLS)?;
    let slow = Mesh::open(&Settings::new(&meeting, "slow"))?;
    let unheard = slow.listen(&Pattern::parse("*")?);
    let is_over = AtomicBool::new(false);
    let (beside, clicks) = thread::scope(|scope| {
        let clicking = scope.spawn(|| click(&relay, &is_over));
        let beside = times(&agent, CALLS);
        is_over.store(true, Ordering::Relaxed);
        (beside, clicking.join())
    });
    let clicks = clicks.map_err(|_| anyhow::anyhow!("clicking failed"))??;
    let figure = format!(
        "{}; {clicks} clicks, of which the listener lost {}",
        beside?.percentiles(),
        unheard.dropped()
    );
    Ok(vec![
        Row::new("a small call of the mesh", "p50 ≤ 200 µs, p99 ≤ 1 ms", alone.percentiles()),
        Row::new(
            "the same beside 100 clicks a second and a listener that never listens",
            "none delayed by more than 5 ms",
            figure,
        ),
    ])
}

fn times(agent: &Mesh, calls: usize) -> Result<Times> {
    let argument = json!({ "selector": "#b" });
    let mut times = Vec::with_capacity(calls);
    for _ in 0..calls {
        let begun = Instant::now();
        agent.call("browser.relay", "click", &argument, PATIENCE)?;
        times.push(begun.elapsed());
    }
    Ok(Times::new(times))
}

/// Clicks until it is over; how often.
fn click(relay: &Mesh, is_over: &AtomicBool) -> Result<u64> {
    let event = json!({
        "type": "human_click",
        "element": { "tag": "button", "class": "buy", "text": "Buy", "selector": "#b" },
    });
    let mut clicks = 0;
    while !is_over.load(Ordering::Relaxed) {
        relay.broadcast("browser.relay", &event)?;
        clicks += 1;
        thread::sleep(CLICK_EVERY);
    }
    Ok(clicks)
}
