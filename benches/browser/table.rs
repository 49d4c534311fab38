//! Figures as a table.

use std::time::Duration;

/// A line of the table.
pub(crate) struct Row {
    what: String,
    reach: &'static str,
    figure: String,
}

impl Row {
    pub(crate) fn new(what: impl Into<String>, reach: &'static str, figure: String) -> Self {
        Self { what: what.into(), reach, figure }
    }
}

pub(crate) fn of(rows: &[Row]) -> Vec<String> {
    let mut lines = vec!["| what | reach | figure |".to_owned(), "|---|---|---|".to_owned()];
    lines.extend(
        rows.iter().map(|row| format!("| {} | {} | {} |", row.what, row.reach, row.figure)),
    );
    lines
}

/// Times, from the shortest.
pub(crate) struct Times(Vec<Duration>);

impl Times {
    pub(crate) fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    /// The time that this share of them does not exceed.
    pub(crate) fn at(&self, share: f64) -> Duration {
        let place = ((self.0.len() as f64 * share).ceil() as usize).clamp(1, self.0.len());
        self.0[place - 1]
    }

    /// Median, slowest hundredth, slowest.
    pub(crate) fn percentiles(&self) -> String {
        let shown = |share| format!("{:.3?}", self.at(share));
        format!("p50 {}, p99 {}, most {}", shown(0.5), shown(0.99), shown(1.0))
    }
}
