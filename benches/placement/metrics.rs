//! What a run has seen.

use crate::events::{SECOND, Time};

/// A client gives up after this time.
pub(crate) const PATIENCE: Time = 30 * SECOND;

#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Metrics {
    pub(crate) requests: u64,
    /// Requests whose store was open where they arrived first.
    pub(crate) at_once: u64,
    /// Requests that were answered later, with the seconds they waited.
    pub(crate) waits: Vec<f64>,
    /// Requests that waited longer than clients do.
    pub(crate) failed: u64,
    pub(crate) loads: u64,
    /// Appends to journals in each second.
    pub(crate) appends: Vec<u64>,
    /// Seconds of processor time of each machine.
    pub(crate) busy: Vec<f64>,
}

impl Metrics {
    pub(crate) fn new(machines: usize) -> Self {
        Self { busy: vec![0.0; machines], ..Self::default() }
    }

    /// A request is answered.
    pub(crate) fn answer(&mut self, arrived: Time, now: Time) {
        self.requests += 1;
        if now == arrived {
            self.at_once += 1;
        } else if now - arrived > PATIENCE {
            self.failed += 1;
        } else {
            self.waits.push((now - arrived) as f64 / SECOND as f64);
        }
    }

    pub(crate) fn append(&mut self, since: Time) {
        let second = (since / SECOND) as usize;
        if self.appends.len() <= second {
            self.appends.resize(second + 1, 0);
        }
        self.appends[second] += 1;
    }

    pub(crate) fn waited_share(&self) -> f64 {
        self.waits.len() as f64 / self.requests.max(1) as f64
    }

    pub(crate) fn failed_share(&self) -> f64 {
        self.failed as f64 / self.requests.max(1) as f64
    }
}

/// The value that a share of all values do not exceed; 0 if there are none.
pub(crate) fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Metrics, PATIENCE, quantile};

    #[test]
    fn a_request_is_counted_once() {
        let mut metrics = Metrics::new(1);
        metrics.answer(5, 5);
        metrics.answer(5, 5 + PATIENCE);
        metrics.answer(5, 6 + PATIENCE);
        assert_eq!((metrics.requests, metrics.at_once, metrics.failed), (3, 1, 1));
        assert_eq!(metrics.waits, [30.0]);
    }

    #[test]
    fn quantiles_are_values() {
        let values = [4.0, 1.0, 3.0, 2.0];
        assert_eq!([0.0, 0.5, 0.51, 1.0].map(|it| quantile(&values, it)), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(quantile(&[], 0.5), 0.0);
    }
}
