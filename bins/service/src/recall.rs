//! The recall log: opening it, and its upkeep.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use parking_lot::Mutex;
use waypost_project::RecallSettings;
use waypost_recall::{LogOptions, RecallLog};

use crate::clock::now;
use crate::error::chain;
use crate::pace::Pace;

/// How often entries are checked for their age.
const RETAIN_EVERY: Duration = Duration::from_secs(600);

/// The recall log, and how long recorded turns are kept.
#[derive(Debug)]
pub(crate) struct Recall {
    pub(crate) log: RecallLog,
    /// `None` if turns do not expire.
    pub(crate) keep_turns: Option<Duration>,
    /// Of requests that add to the log and need a scope that only reads.
    pub(crate) pace: Pace,
    retained: Mutex<Instant>,
}

impl Recall {
    /// Opens the log in the store's folder, which is known to have `reached` that record, and logs the
    /// result.
    pub(crate) fn open(
        data_dir: &Path,
        settings: RecallSettings,
        reached: u64,
    ) -> anyhow::Result<Self> {
        let options =
            LogOptions::default().with_retention(settings.log_retention).with_reached(reached);
        let dir = data_dir.join("recall/log");
        let (log, opened) =
            RecallLog::open(&dir, &options, now()).context("failed to open the recall log")?;
        if opened.unreadable > 0 {
            tracing::warn!(
                records = opened.unreadable,
                "skipped unreadable records of the recall log"
            );
        }
        tracing::debug!(entries = opened.entries, "opened the recall log");
        let keep_turns = Some(settings.retention).filter(|retention| !retention.is_zero());
        Ok(Self { log, keep_turns, pace: Pace::default(), retained: Mutex::new(Instant::now()) })
    }

    /// Drops entries beyond the retention, from time to time.
    pub(crate) fn maintain(&self) {
        let mut retained = self.retained.lock();
        if retained.elapsed() < RETAIN_EVERY {
            return;
        }
        *retained = Instant::now();
        if let Err(error) = self.log.retain(now()) {
            tracing::warn!(error = chain(&error), "failed to drop old entries of the recall log");
        }
    }
}
