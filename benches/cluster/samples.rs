//! Measured values of one kind.

use std::fmt;

/// Values of which medians and other quantiles are wanted.
#[derive(Debug, Default, Clone)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    pub(crate) fn add(&mut self, value: f64) {
        self.0.push(value);
    }

    pub(crate) fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The value below which the share `of` (0 to 1) lies.
    pub(crate) fn quantile(&self, of: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let place = ((sorted.len().max(1) - 1) as f64 * of).round() as usize;
        sorted.get(place).copied().unwrap_or(f64::NAN)
    }

    pub(crate) fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// Each value divided by that of the same round.
    pub(crate) fn per(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(ours, theirs)| ours / theirs).collect())
    }

    /// The median and the range of rounds, with so many digits after the point.
    pub(crate) fn rounds(&self, digits: usize) -> String {
        let (median, least, most) = (self.median(), self.quantile(0.0), self.quantile(1.0));
        format!("{median:.digits$} ({least:.digits$}–{most:.digits$})")
    }
}

impl fmt::Display for Samples {
    /// Times in milliseconds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |share| self.quantile(share) * 1e3;
        write!(f, "p50 {:.2} ms, p99 {:.2} ms, of {}", at(0.5), at(0.99), self.len())
    }
}
