//! Simulates many stores on many machines, and prints the tables of docs/scale.md.
//!
//! `placement [SEED]` (default 1). 10,000 stores on 40 machines: where each store lives, which stores
//! are in memory, how long requests wait for one that is not, and what the loss of machines does.
//! The same seed gives the same tables.

mod costs;
mod events;
mod journals;
mod memory;
mod metrics;
mod place;
mod random;
mod report;
mod simulation;
mod stores;

use anyhow::{Context as _, Result};

fn main() -> Result<()> {
    let seed = std::env::args().nth(1).map_or(Ok(1), |argument| argument.parse::<u64>());
    let seed = seed.context("the seed must be a number")?;
    report::print(&mut std::io::stdout().lock(), seed)
}
